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
	{"floor", ofMixes((*bench).floor)},
	{"start", (*bench).starting},
	{"tshark", (*bench).tshark},
	{"jobs", ofMixes((*bench).jobs)},
	{"costs", ofMixes((*bench).costs)},
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
		fmt.Fprintf(b.out, "missed: %s\n", m)
	}
	return nil
}

// atMost compares a measurement with its goal.
func (b *bench) atMost(name string, got, limit float64) {
	b.verdict(fmt.Sprintf("%s: %.4g, at most %.4g", name, got, limit), got <= limit)
}

// atLeast does so for a goal that is to be exceeded.
func (b *bench) atLeast(name string, got, limit float64) {
	b.verdict(fmt.Sprintf("%s: %.4g, at least %.4g", name, got, limit), got >= limit)
}

func (b *bench) verdict(line string, met bool) {
	verdict := "met"
	if !met {
		verdict = "missed"
		b.missed = append(b.missed, line)
	}
	fmt.Fprintf(b.out, "%s: %s\n", line, verdict)
}

// A mix is a capture of play with its goal for stats against the floor.
type mix struct {
	name string
	file string // made if it is empty
	n    int    // datagrams
	most float64
}

// The last mix is a captured battle, ten times.
const (
	battles     = 10
	battleLarge = 80_992 // frames
)

// mixes returns the captures of play, the heaviest last.
func (b *bench) mixes() ([]mix, error) {
	all := []mix{
		{"play", "", b.n, 1.7},
		{"skirmish", "", b.n / 2, 1.8},
		{"battle", "", b.n / 2, 2.2},
		{"captured", "", battles * battleLarge, 2.2},
	}
	if b.own == "" {
		return all, nil
	}
	n, err := b.count(&subject{args: []string{b.program(), "stats", "-T", "json"}, file: b.own}, `"datagrams":\{"game":(\d+)`)
	return append(all, mix{filepath.Base(b.own), b.own, n, 2.2}), err
}

// count runs a program and returns the number in its output that a pattern finds.
func (b *bench) count(s *subject, pattern string) (int, error) {
	if err := b.prepare(s); err != nil {
		return 0, err
	}
	var out strings.Builder
	if _, err := s.once(s.file, &out); err != nil {
		return 0, err
	}
	return number(out.String(), pattern)
}

// number returns the number that a pattern finds in text.
func number(text, pattern string) (int, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("nothing in the output matches %s", pattern)
	}
	return strconv.Atoi(found[1])
}

// of returns bcdissect as a subject that reads a mix.
func (b *bench) of(m mix, args ...string) *subject {
	s := b.ours(m.name, m.n, args...)
	s.file = m.file
	return s
}

func (b *bench) program() string { return filepath.Join(b.dir, "bcdissect") }

// errSkipped means that something cannot be measured here.
var errSkipped = errors.New("skipped")

func need(tool string) error {
	if _, err := exec.LookPath(tool); err != nil {
		return fmt.Errorf("%w: %s is not installed", errSkipped, tool)
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

	kind  string // of the capture that is made for it
	file  string
	start string // a tiny capture; its time is subtracted

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

// prepare makes the capture of a subject.
func (b *bench) prepare(s *subject) (err error) {
	if s.file == "" && s.kind != "" {
		s.file, err = b.capture(s.kind, s.n)
	}
	return err
}

// compare runs all subjects in turn, and writes the measurements with ratios to the
// first.
func (b *bench) compare(title string, subjects ...*subject) error {
	for _, s := range subjects {
		if err := b.prepare(s); err != nil {
			return err
		}
	}
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
	b.table(title, subjects)
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

// cost returns the processor time for a datagram in nanoseconds.
func (s *subject) cost() float64 { return median(len(s.runs), s.perDatagram) }

// over returns the ratio of processor times per datagram to another subject.
func (s *subject) over(other *subject) float64 {
	return median(len(s.runs), func(i int) float64 { return s.perDatagram(i) / other.perDatagram(i) })
}

// table writes the measurements, with ratios to the first of the subjects.
func (b *bench) table(title string, subjects []*subject) {
	fmt.Fprintf(b.out, "\n%s (%d rounds)\n%-44s %10s %10s %10s %9s %8s\n", title, b.rounds, "", "CPU s", "wall s", "ns/dgram", "peak MiB", "ratio")
	for _, s := range subjects {
		fmt.Fprintf(b.out, "%-44s %10.3f %10.3f %10.0f %9.1f %8.2f\n", s.name, s.cpu().Seconds(), s.wall().Seconds(),
			s.cost(), s.peak(), s.over(subjects[0]))
	}
}

// ours returns bcdissect as a subject that reads a capture of a kind.
func (b *bench) ours(kind string, n int, args ...string) *subject {
	return &subject{name: "bcdissect " + strings.Join(args, " "), args: append([]string{b.program()}, args...), kind: kind, n: n}
}

// floor compares the program with the minimum work for a capture.
func (b *bench) floor(m mix) error {
	ours := []*subject{
		b.of(m, "stats", "-j", "1"), b.of(m, "stats"), b.of(m, "stats", "-j", "1", "--verify"),
		b.of(m, "read", "-T", "json", "-j", "1", "-o", os.DevNull), b.of(m, "read", "-j", "1", "-o", os.DevNull),
	}
	if need("tcpdump") != nil {
		return b.compare(m.name+", without a floor: tcpdump is not installed", ours...)
	}
	floor := &subject{name: "tcpdump -w " + os.DevNull, args: []string{"tcpdump", "-w", os.DevNull, "-r"}, kind: m.name, file: m.file, n: m.n}
	if err := b.compare(m.name+", against tcpdump, which only reads and writes", append([]*subject{floor}, ours...)...); err != nil {
		return err
	}
	b.atMost(m.name+": stats -j 1 against tcpdump", ours[0].over(floor), m.most)
	return nil
}

// starting compares the start of the program with that of another one.
func (b *bench) starting() error {
	if err := need("tcpdump"); err != nil {
		return err
	}
	ours := &subject{name: "bcdissect version", args: []string{b.program(), "version"}, n: 1}
	other := &subject{name: "tcpdump --version", args: []string{"tcpdump", "--version"}, n: 1}
	if err := b.compare("Starting", other, ours); err != nil {
		return err
	}
	b.atMost("start, ms", ours.cpu().Seconds()*1e3, 8)
	b.atMost("start against tcpdump", ours.over(other), 8./7)
	return nil
}

const script = "docs/bench/bc.lua"

// tshark compares the program with tshark, alone and with a dissector.
func (b *bench) tshark() error {
	if err := need("tshark"); err != nil {
		return err
	}
	none, err := b.capture("play", 10)
	if err != nil {
		return err
	}
	few, err := b.capture("play", b.few)
	if err != nil {
		return err
	}
	stats, json, table := b.ours("play", b.n, "stats", "-j", "1"), b.ours("play", b.n, "read", "-T", "json", "-j", "1", "-o", os.DevNull),
		b.ours("play", b.n, "read", "-j", "1", "-o", os.DevNull)
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
		if err := b.agree(t); err != nil {
			return err
		}
	}
	if err := b.compare("Against tshark; its start is taken off", stats, json, table, plain, tabled, fields, ek); err != nil {
		return err
	}
	b.atLeast("stats against Lua as described", plain.over(stats), 300)
	b.atLeast("stats against Lua by tables", tabled.over(stats), 100)
	b.atLeast("stats against -T fields", fields.over(stats), 60)
	b.atLeast("read -T json against -T ek", ek.over(json), 80)
	b.atLeast("read against Lua by tables", tabled.over(table), 20)
	return nil
}

// agree checks that a program counts as many ship updates as bcdissect.
func (b *bench) agree(other *subject) error {
	want, err := b.count(b.ours("play", b.few, "stats", "-T", "json"), `"name":"StateUpdate",[^}]*"total":(\d+)`)
	if err != nil {
		return err
	}
	got, err := b.count(other, `0x1C (\d+)`)
	if err == nil && got != want {
		err = fmt.Errorf("%s counts %d ship updates, bcdissect %d", other.name, got, want)
	}
	return err
}

// jobs compares several processors with one.
func (b *bench) jobs(m mix) error {
	for _, args := range [][]string{{"stats"}, {"read", "-T", "json", "-o", os.DevNull}, {"read", "-o", os.DevNull}} {
		one, two := b.of(m, append(args, "-j", "1")...), b.of(m, append(args, "-j", "2")...)
		if err := b.compare(m.name+", with two processors; wall time means something on an idle machine only", one, two); err != nil {
			return err
		}
		fmt.Fprintf(b.out, "faster by %.2f, the best rounds of both\n", one.best().Seconds()/two.best().Seconds())
		b.atMost(m.name+": "+two.name+" against one processor", two.over(one), 1.15)
		if args[0] == "stats" {
			b.atMost(m.name+": "+two.name+" against one processor, wall time", two.best().Seconds()/one.best().Seconds(), 0.65)
		}
	}
	return nil
}

// costs measures the commands that have a time for a datagram as their goal.
func (b *bench) costs(m mix) error {
	verify := b.of(m, "stats", "-j", "1", "--verify")
	columns := b.of(m, "read", "-j", "1", "-T", "csv", "-e", "frame", "-e", "StateUpdate.speed", "-o", os.DevNull)
	all := b.of(m, "read", "-j", "1", "-V", "-o", os.DevNull)
	if err := b.compare(m.name+"; processor time for a datagram", verify, columns, all); err != nil {
		return err
	}
	b.atMost(m.name+": "+verify.name+", ns", verify.cost(), 2500)
	b.atMost(m.name+": "+columns.name+", ns", columns.cost(), 1200)
	b.atMost(m.name+": "+all.name+", ns", all.cost(), 4000)
	return nil
}

// ofMixes does a comparison for each mix.
func ofMixes(f func(*bench, mix) error) func(*bench) error {
	return func(b *bench) error {
		mixes, err := b.mixes()
		for i := 0; i < len(mixes) && err == nil; i++ {
			err = f(b, mixes[i])
		}
		return err
	}
}

// replay measures a comparison of a host with a model. The host of the captured
// battle conforms.
func (b *bench) replay() error {
	for _, n := range []int{1, battles} {
		s := b.ours("captured", n*battleLarge, "replay", "--against", "openbc")
		name := fmt.Sprintf("replay, %d captured battles", n)
		if err := b.compare(name, s); err != nil {
			return err
		}
		b.atMost(name+", ns", s.cost(), 5000)
		b.atMost(name+", MiB", s.peak(), 64)
	}
	return nil
}

// growth measures time and memory for captures that grow tenfold.
func (b *bench) growth() error {
	var all []*subject
	for n := 10 * b.n; n >= 10_000; n /= 10 {
		s := b.ours("play", n, "stats", "-j", "1")
		s.name = fmt.Sprintf("%s, %d datagrams", s.name, n)
		all = append(all, s)
	}
	if err := b.compare("Growth, the largest first; the ratio is that for a datagram", all...); err != nil {
		return err
	}
	if len(all) > 1 {
		fmt.Fprintf(b.out, "the largest takes %.2f times as long as the one before, and %.1f MiB more\n",
			all[0].over(all[1])*float64(all[0].n)/float64(all[1].n), all[0].peak()-all[1].peak())
	}
	return nil
}

// hostile measures time per byte and memory for captures that fill a reader's
// state.
func (b *bench) hostile() error {
	all := []*subject{b.ours("play", b.n, "stats", "-j", "1")}
	for _, k := range []struct {
		kind string
		n    int
	}{{"orphans", b.n}, {"flows", b.n}, {"records", max(b.n/200, 1)}, {"crowds", max(b.n/10, 1)}} {
		s := b.ours(k.kind, k.n, "stats", "-j", "1")
		s.name = fmt.Sprintf("%s, %d %s", s.name, k.n, k.kind)
		all = append(all, s)
	}
	for _, s := range all { // per byte, not per datagram
		if err := b.prepare(s); err != nil {
			return err
		}
		info, err := os.Stat(s.file)
		if err != nil {
			return err
		}
		s.n = int(info.Size())
	}
	return b.compare("Hostile captures; per byte of the file, not per datagram", all...)
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
		if counts[i], err = number(said.String(), `Collected : (\d+)`); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\nInstructions of stats for a datagram: %d\n", (counts[1]-counts[0])/n)
	return nil
}
