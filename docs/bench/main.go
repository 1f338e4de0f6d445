// Command bench compares bcdissect, as a whole program, with other programs
// that read captures, and with itself: go run ./docs/bench. It produces the
// numbers of docs/performance.md.
//
// Programs take turns, round by round. The result is the median over the rounds
// of the ratio of processor times, the only useful measure on a busy machine.
// Before any timing, the programs' counts must agree.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A bench holds the state shared by all comparisons.
type bench struct {
	out    io.Writer
	dir    string // of captures and the program
	rounds int
	n      int      // datagrams of the capture for bcdissect
	few    int      // and of the capture for slow programs
	own    string   // a capture of the user's, measured like the others
	missed []string // goals
}

func main() {
	b := bench{out: os.Stdout}
	fl := flag.NewFlagSet("bench", flag.ExitOnError)
	fl.StringVar(&b.dir, "dir", filepath.Join(os.TempDir(), "bcdissect-bench"), "where captures are made")
	fl.IntVar(&b.rounds, "rounds", 7, "how often each program runs")
	fl.IntVar(&b.n, "n", 1_000_000, "datagrams of the large capture")
	fl.StringVar(&b.own, "file", "", "a capture of yours to measure as well")
	fl.IntVar(&b.few, "few", 20_000, "datagrams of the capture that slow programs read")
	fl.Usage = func() {
		fmt.Fprintf(fl.Output(), "usage: go run ./docs/bench [flags] [%s]\n", strings.Join(names(), " | "))
		fl.PrintDefaults()
	}
	_ = fl.Parse(os.Args[1:]) // it exits
	if err := b.run(fl.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// profile is that of release builds.
const profile = "cmd/bcdissect/packaging/release.pgo"

// parts are the comparisons, in the order of execution.
var parts = []struct {
	name string
	f    func(*bench) error
}{
	{"floor", (*bench).floor},
	{"start", (*bench).starting},
	{"tshark", (*bench).tshark},
	{"jobs", (*bench).jobs},
	{"costs", (*bench).costs},
	{"replay", (*bench).replay},
	{"growth", (*bench).growth},
	{"hostile", (*bench).hostile},
	{"instructions", (*bench).instructions},
}

func names() (list []string) {
	for _, p := range parts {
		list = append(list, p.name)
	}
	return list
}

func (b *bench) run(wanted []string) error {
	for _, w := range wanted {
		if !slices.Contains(names(), w) {
			return fmt.Errorf("there is no part %q, only %s", w, strings.Join(names(), ", "))
		}
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-pgo="+profile, "-ldflags", "-s -w", "-o", b.program(), "./cmd/bcdissect")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	for _, p := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, p.name) {
			continue
		}
		if err := p.f(b); errors.Is(err, errSkipped) {
			fmt.Fprintf(b.out, "\n%s: %v\n", p.name, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for _, m := range b.missed {
		fmt.Fprintf(b.out, "\nmissed: %s", m)
	}
	if len(b.missed) > 0 {
		fmt.Fprintf(b.out, "\n")
	}
	return nil
}

// A goal is a limit of a measurement.
type goal struct {
	words string // at most or at least
	limit float64
}

func atMost(limit float64) goal  { return goal{"at most", limit} }
func atLeast(limit float64) goal { return goal{"at least", limit} }

// must compares a measurement with its goal.
func (b *bench) must(name string, got float64, want goal) {
	line := fmt.Sprintf("%s: %.4g, %s %.4g", name, got, want.words, want.limit)
	met := got <= want.limit
	if want.words == "at least" {
		met = got >= want.limit
	}
	verdict := "met"
	if !met {
		verdict = "missed"
		b.missed = append(b.missed, line)
	}
	fmt.Fprintf(b.out, "%s: %s\n", line, verdict)
}

// A mix is a capture of play with its goal for stats against the floor.
type mix struct {
	name, file string
	n          int // datagrams
	most       float64
}

// The last mix is a captured battle, ten times.
const (
	battles     = 10
	battleLarge = 80_992 // frames
)

// mixes returns the captures of play, the heaviest last.
func (b *bench) mixes() (all []mix, err error) {
	all = []mix{
		{name: "play", n: b.n, most: 1.7},
		{name: "skirmish", n: b.n / 2, most: 1.8},
		{name: "battle", n: b.n / 2, most: 2.2},
		{name: "captured", n: battles * battleLarge, most: 2.2},
	}
	for i := range all {
		if all[i].file, err = b.capture(all[i].name, all[i].n); err != nil {
			return nil, err
		}
	}
	if b.own == "" {
		return all, nil
	}
	var out strings.Builder
	if _, err := b.ours(b.own, 0, "stats", "-T", "json").once(b.own, &out); err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`"datagrams":\{"game":(\d+)`).FindStringSubmatch(out.String())
	if found == nil {
		return nil, fmt.Errorf("%s: no datagrams of the game", b.own)
	}
	n, err := strconv.Atoi(found[1])
	return append(all, mix{name: filepath.Base(b.own), file: b.own, n: n, most: 2.2}), err
}

func (b *bench) program() string { return filepath.Join(b.dir, "bcdissect") }

// errSkipped means that something cannot be measured here.
var errSkipped = errors.New("skipped")

func need(tools ...string) error {
	for _, t := range tools {
		if _, err := exec.LookPath(t); err != nil {
			return fmt.Errorf("%w: %s is not installed", errSkipped, t)
		}
	}
	return nil
}

// capture returns the name of a capture, and makes it if necessary.
func (b *bench) capture(kind string, n int) (string, error) {
	name := filepath.Join(b.dir, fmt.Sprintf("%s-%d.pcap", kind, n))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	fmt.Fprintf(b.out, "making %s\n", name)
	said, err := exec.Command("go", "run", "./fixtures/synth/bcsynth", "-kind", kind, "-n", strconv.Itoa(n), "-o", name+".part").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return name, os.Rename(name+".part", name)
}

// A subject is a measured program.
type subject struct {
	name string
	args []string
	env  []string
	n    int // datagrams that it reads; for slow programs those after the first few

	start string // a tiny capture; its time is subtracted
	file  string

	runs []usage
}

// A usage is the cost of a run.
type usage struct {
	cpu, wall time.Duration
	peak      int64 // bytes, 0 if unknown on this system
}

// once runs a program on a file.
func (s *subject) once(file string, out io.Writer) (u usage, err error) {
	args := slices.Clone(s.args)
	if file != "" {
		args = append(args, file)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), s.env...)
	var said strings.Builder
	c.Stdout, c.Stderr = out, &said
	began := time.Now() //nolint:forbidigo // this measures
	if err := c.Run(); err != nil {
		return u, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	u.wall = time.Since(began)
	u.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	u.peak = peak(c.ProcessState)
	return u, nil
}

// measure runs all subjects in turn.
func (b *bench) measure(subjects ...*subject) error {
	for range b.rounds {
		for _, s := range subjects {
			u, err := s.once(s.file, nil)
			if err != nil {
				return err
			}
			if s.start != "" {
				idle, err := s.once(s.start, nil)
				if err != nil {
					return err
				}
				u.cpu, u.wall = u.cpu-idle.cpu, u.wall-idle.wall
			}
			s.runs = append(s.runs, u)
		}
	}
	return nil
}

// median returns the median of f over the runs.
func median[T cmp.Ordered](n int, f func(run int) T) T {
	all := make([]T, n)
	for i := range all {
		all[i] = f(i)
	}
	slices.Sort(all)
	return all[n/2]
}

func (s *subject) cpu() time.Duration {
	return median(len(s.runs), func(i int) time.Duration { return s.runs[i].cpu })
}

func (s *subject) wall() time.Duration {
	return median(len(s.runs), func(i int) time.Duration { return s.runs[i].wall })
}

// best returns the wall time of the least disturbed round.
func (s *subject) best() time.Duration {
	return slices.MinFunc(s.runs, func(a, b usage) int { return cmp.Compare(a.wall, b.wall) }).wall
}

func (s *subject) peak() float64 {
	return float64(median(len(s.runs), func(i int) int64 { return s.runs[i].peak })) / (1 << 20)
}

func (s *subject) perDatagram(i int) float64 {
	return float64(s.runs[i].cpu.Nanoseconds()) / float64(s.n)
}

// over returns the ratio of processor times per datagram to another subject.
func (s *subject) over(other *subject) float64 {
	return median(len(s.runs), func(i int) float64 { return s.perDatagram(i) / other.perDatagram(i) })
}

// table writes the measurements, with ratios to one of the subjects.
func (b *bench) table(title string, to *subject, subjects ...*subject) {
	fmt.Fprintf(b.out, "\n%s (%d rounds)\n%-44s %10s %10s %10s %9s %8s\n", title, b.rounds, "", "CPU s", "wall s", "ns/dgram", "peak MiB", "ratio")
	for _, s := range subjects {
		fmt.Fprintf(b.out, "%-44s %10.3f %10.3f %10.0f %9.1f %8.2f\n", s.name, s.cpu().Seconds(), s.wall().Seconds(),
			median(len(s.runs), s.perDatagram), s.peak(), s.over(to))
	}
}

// ours returns bcdissect as a subject.
func (b *bench) ours(file string, n int, args ...string) *subject {
	return &subject{
		name: "bcdissect " + strings.Join(args, " "), args: append([]string{b.program()}, args...),
		file: file, n: n,
	}
}

// floor compares the program with the minimum work for a capture.
func (b *bench) floor() error {
	mixes, err := b.mixes()
	if err != nil {
		return err
	}
	for _, m := range mixes {
		ours := []*subject{
			b.ours(m.file, m.n, "stats", "-j", "1"), b.ours(m.file, m.n, "stats"), b.ours(m.file, m.n, "stats", "-j", "1", "--verify"),
			b.ours(m.file, m.n, "read", "-T", "json", "-j", "1", "-o", os.DevNull), b.ours(m.file, m.n, "read", "-j", "1", "-o", os.DevNull),
		}
		if err := need("tcpdump"); err != nil {
			if err := b.measure(ours...); err != nil {
				return err
			}
			b.table(m.name+", without a floor: tcpdump is not installed", ours[0], ours...)
			continue
		}
		floor := &subject{name: "tcpdump -w " + os.DevNull, args: []string{"tcpdump", "-w", os.DevNull, "-r"}, file: m.file, n: m.n}
		all := append([]*subject{floor}, ours...)
		if err := b.measure(all...); err != nil {
			return err
		}
		b.table(m.name+", against tcpdump, which only reads and writes", floor, all...)
		b.must(m.name+": stats -j 1 against tcpdump", ours[0].over(floor), atMost(m.most))
	}
	return nil
}

// starting compares the start of the program with that of another one.
func (b *bench) starting() error {
	if err := need("tcpdump"); err != nil {
		return err
	}
	ours := &subject{name: "bcdissect version", args: []string{b.program(), "version"}, n: 1}
	other := &subject{name: "tcpdump --version", args: []string{"tcpdump", "--version"}, n: 1}
	if err := b.measure(other, ours); err != nil {
		return err
	}
	b.table("Starting", other, other, ours)
	b.must("start, ms", ours.cpu().Seconds()*1e3, atMost(8))
	b.must("start against tcpdump", ours.over(other), atMost(8./7))
	return nil
}

const script = "docs/bench/bc.lua"

// tshark compares the program with tshark, alone and with a dissector.
func (b *bench) tshark() error {
	if err := need("tshark"); err != nil {
		return err
	}
	few, err := b.capture("play", b.few)
	if err != nil {
		return err
	}
	none, err := b.capture("play", 10)
	if err != nil {
		return err
	}
	large, err := b.capture("play", b.n)
	if err != nil {
		return err
	}
	stats, json, table := b.ours(large, b.n, "stats", "-j", "1"), b.ours(large, b.n, "read", "-T", "json", "-j", "1", "-o", os.DevNull),
		b.ours(large, b.n, "read", "-j", "1", "-o", os.DevNull)
	theirs := func(name, form string, args ...string) *subject {
		return &subject{
			name: name, args: append(append([]string{"tshark", "-n"}, args...), "-r"), env: []string{"BC_CIPHER=" + form},
			file: few, start: none, n: b.few - 10,
		}
	}
	lua := []string{"-q", "-X", "lua_script:" + script}
	plain, tabled := theirs("tshark and Lua, cipher as described", "plain", lua...), theirs("tshark and Lua, cipher by tables", "table", lua...)
	fields, ek := theirs("tshark -T fields -e udp.length", "", "-T", "fields", "-e", "udp.length"), theirs("tshark -T ek", "", "-T", "ek")

	for _, t := range []*subject{plain, tabled} {
		if err := b.agree(few, t); err != nil {
			return err
		}
	}
	if err := b.measure(stats, json, table, plain, tabled, fields, ek); err != nil {
		return err
	}
	b.table("Against tshark; its start is taken off", stats, stats, json, table, plain, tabled, fields, ek)
	for _, g := range []struct {
		name         string
		theirs, ours *subject
		least        float64
	}{
		{"stats against Lua as described", plain, stats, 300},
		{"stats against Lua by tables", tabled, stats, 100},
		{"stats against -T fields", fields, stats, 60},
		{"read -T json against -T ek", ek, json, 80},
		{"read against Lua by tables", tabled, table, 20},
	} {
		b.must(g.name, g.theirs.over(g.ours), atLeast(g.least))
	}
	return nil
}

// agree checks that a program counts as many ship updates as bcdissect.
func (b *bench) agree(file string, other *subject) error {
	count := func(s *subject, pattern string) (string, error) {
		var out strings.Builder
		if _, err := s.once(file, &out); err != nil {
			return "", err
		}
		found := regexp.MustCompile(pattern).FindStringSubmatch(out.String())
		if found == nil {
			return "", fmt.Errorf("%s does not count ship updates", s.name)
		}
		return found[1], nil
	}
	want, err := count(b.ours(file, 0, "stats", "-T", "json"), `"name":"StateUpdate",[^}]*"total":(\d+)`)
	if err != nil {
		return err
	}
	got, err := count(other, `0x1C (\d+)`)
	if err == nil && got != want {
		err = fmt.Errorf("%s counts %s ship updates, bcdissect %s", other.name, got, want)
	}
	return err
}

// jobs compares several processors with one.
func (b *bench) jobs() error {
	mixes, err := b.mixes()
	if err != nil {
		return err
	}
	for _, m := range mixes {
		for _, args := range [][]string{{"stats"}, {"read", "-T", "json", "-o", os.DevNull}, {"read", "-o", os.DevNull}} {
			one, two := b.ours(m.file, m.n, append(args, "-j", "1")...), b.ours(m.file, m.n, append(args, "-j", "2")...)
			if err := b.measure(one, two); err != nil {
				return err
			}
			b.table(m.name+", with two processors; wall time means something on an idle machine only", one, one, two)
			fmt.Fprintf(b.out, "faster by %.2f, the best rounds of both\n", one.best().Seconds()/two.best().Seconds())
			b.must(m.name+": "+two.name+" against one processor", two.over(one), atMost(1.15))
			if args[0] == "stats" {
				b.must(m.name+": "+two.name+" against one processor, wall time", two.best().Seconds()/one.best().Seconds(), atMost(0.65))
			}
		}
	}
	return nil
}

// costs measures the commands that have a time for a datagram as their goal.
func (b *bench) costs() error {
	mixes, err := b.mixes()
	if err != nil {
		return err
	}
	for _, m := range mixes {
		verify := b.ours(m.file, m.n, "stats", "-j", "1", "--verify")
		columns := b.ours(m.file, m.n, "read", "-j", "1", "-T", "csv", "-e", "frame", "-e", "StateUpdate.speed", "-o", os.DevNull)
		all := b.ours(m.file, m.n, "read", "-j", "1", "-V", "-o", os.DevNull)
		if err := b.measure(verify, columns, all); err != nil {
			return err
		}
		b.table(m.name+"; processor time for a datagram", verify, verify, columns, all)
		for _, g := range []struct {
			s    *subject
			most float64
		}{{verify, 2500}, {columns, 1200}, {all, 4000}} {
			b.must(m.name+": "+g.s.name+", ns", median(len(g.s.runs), g.s.perDatagram), atMost(g.most))
		}
	}
	return nil
}

// replay measures a comparison of a host with a model. The host of the captured
// battle conforms.
func (b *bench) replay() error {
	for _, n := range []int{1, battles} {
		file, err := b.capture("captured", n*battleLarge)
		if err != nil {
			return err
		}
		s := b.ours(file, n*battleLarge, "replay", "--against", "openbc")
		if err := b.measure(s); err != nil {
			return err
		}
		name := fmt.Sprintf("replay, %d captured battles", n)
		b.table(name, s, s)
		b.must(name+", ns", median(len(s.runs), s.perDatagram), atMost(5000))
		b.must(name+", MiB", s.peak(), atMost(64))
	}
	return nil
}

// growth measures time and memory for captures that grow tenfold.
func (b *bench) growth() error {
	var all []*subject
	for n := 10_000; n <= 10*b.n; n *= 10 {
		file, err := b.capture("play", n)
		if err != nil {
			return err
		}
		s := b.ours(file, n, "stats", "-j", "1")
		s.name = fmt.Sprintf("%s, %d datagrams", s.name, n)
		all = append(all, s)
	}
	if err := b.measure(all...); err != nil {
		return err
	}
	b.table("Growth; the ratio is that for a datagram", all[len(all)-1], all...)
	if last := len(all) - 1; last > 0 {
		fmt.Fprintf(b.out, "the largest takes %.2f times as long as the one before, and %.1f MiB more\n",
			all[last].over(all[last-1])*float64(all[last].n)/float64(all[last-1].n), all[last].peak()-all[last-1].peak())
	}
	return nil
}

// hostile measures time per byte and memory for captures that fill a reader's
// state.
func (b *bench) hostile() error {
	play, err := b.capture("play", b.n)
	if err != nil {
		return err
	}
	all := []*subject{b.ours(play, b.n, "stats", "-j", "1")}
	for _, k := range []struct {
		kind string
		n    int
	}{{"orphans", b.n}, {"flows", b.n}, {"records", max(b.n/200, 1)}, {"crowds", max(b.n/10, 1)}} {
		file, err := b.capture(k.kind, k.n)
		if err != nil {
			return err
		}
		s := b.ours(file, k.n, "stats", "-j", "1")
		s.name = fmt.Sprintf("%s, %d %s", s.name, k.n, k.kind)
		all = append(all, s)
	}
	for _, s := range all { // per byte, not per datagram
		info, err := os.Stat(s.file)
		if err != nil {
			return err
		}
		s.n = int(info.Size())
	}
	if err := b.measure(all...); err != nil {
		return err
	}
	b.table("Hostile captures; per byte of the file, not per datagram", all[0], all...)
	return nil
}

// instructions counts instructions with valgrind, as the difference between two
// captures. The count does not depend on the load of the machine.
func (b *bench) instructions() error {
	if err := need("valgrind"); err != nil {
		return err
	}
	const n = 20_000
	var counts [2]int
	for i := range counts {
		file, err := b.capture("play", n*(i+1))
		if err != nil {
			return err
		}
		// The runtime's signals confuse valgrind.
		c := exec.Command("valgrind", "--tool=callgrind", "--callgrind-out-file="+os.DevNull, b.program(), "stats", "-j", "1", file)
		c.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
		var said strings.Builder
		c.Stderr = &said
		if err := c.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, said.String())
		}
		found := regexp.MustCompile(`Collected : (\d+)`).FindStringSubmatch(said.String())
		if found == nil {
			return errors.New("valgrind does not say how many it collected")
		}
		if counts[i], err = strconv.Atoi(found[1]); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\nInstructions of stats for a datagram: %d\n", (counts[1]-counts[0])/n)
	return nil
}
