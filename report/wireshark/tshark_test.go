package wireshark

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
)

// The same filters select the same frames.
func TestTsharkFilters(t *testing.T) {
	const each = 17 // for 51 filters in all
	d := newDesk(t)
	rnd := rand.New(rand.NewPCG(16, 1)) //nolint:gosec // a fixed seed gives the same filters in every run
	selected := 0
	for _, name := range []string{"stock_client.pcap", "opcode_tour.pcap", "forged_small.pcap"} {
		raw := fixtures.Path("captures/" + name)
		file := d.annotated(t, raw)
		var leaves []item
		annotate(t, name, Options{}, func(_ *dissect.Datagram, frame []byte, _ string) {
			if frame != nil {
				items, _, _ := parse(t, frame)
				leaves = appendLeaves(leaves, items)
			}
		})
		byName := map[string][]item{}
		for _, it := range leaves {
			byName[it.name] = append(byName[it.name], it)
		}
		names := slices.Sorted(maps.Keys(byName))
		var all []string
		for range each {
			expr := ""
			for expr == "" {
				of := byName[names[rnd.IntN(len(names))]]
				expr = expression(rnd, of[rnd.IntN(len(of))])
			}
			if rnd.IntN(3) == 0 {
				if other := expression(rnd, leaves[rnd.IntN(len(leaves))]); other != "" {
					expr = "(" + expr + ") || " + other
				}
			}
			if rnd.IntN(3) == 0 {
				expr = "(" + expr + ") && frame.number > 20 && ip.src == 127.0.0.1"
			}
			all = append(all, expr)
		}
		at := d.tapped(t, file, all)
		for i, expr := range all {
			want := slices.Compact(strings.Fields(string(d.run(t, "read", raw, "--no-progress", "-Y", expr, "-T", "fields", "-e", "frame"))))
			if got := at[i]; !slices.Equal(got, want) {
				t.Errorf("%s: %s: tshark selects %v, read %v", name, expr, got, want)
			}
			selected += len(want)
			if os.Getenv("BCDISSECT_LONG") == "" && i > 0 {
				continue // each of the others takes another run
			}
			if got := strings.Fields(d.tshark(t, true, "-r", file, "-T", "fields", "-e", "frame.number", "-Y", expr)); !slices.Equal(got, want) {
				t.Errorf("%s: %s: as a display filter it selects %v, read %v", name, expr, got, want)
			}
		}
	}
	if selected < 500 {
		t.Errorf("the filters select only %d frames", selected)
	}
}

// tapped returns the numbers of the frames that each filter selects, in one run of
// tshark.
func (d *desk) tapped(tb testing.TB, file string, filters []string) [][]string {
	tb.Helper()
	var taps strings.Builder // the fields are not known before init
	taps.WriteString("local p, begun = Proto('taps', 'taps'), false\nfunction p.init()\nif begun then return end\nbegun = true\n")
	for i, expr := range filters {
		fmt.Fprintf(&taps, "Listener.new('frame', %q).packet = function(p) print(%d, p.number) end\n", expr, i)
	}
	taps.WriteString("end\n")
	name := filepath.Join(d.dir, "taps.lua")
	if err := os.WriteFile(name, []byte(taps.String()), 0o644); err != nil { //nolint:gosec // another user reads it
		tb.Fatal(err)
	}
	at := make([][]string, len(filters))
	for line := range strings.Lines(d.tshark(tb, true, "-X", "lua_script:"+name, "-q", "-r", file)) {
		if number, frame, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			i, err := strconv.Atoi(number)
			if err != nil {
				tb.Fatal(err)
			}
			at[i] = append(at[i], frame)
		}
	}
	return at
}

// appendLeaves appends the items with values.
func appendLeaves(all, items []item) []item {
	for _, it := range items {
		if it.value != "" && it.value != "null" && it.name != "player" && it.name != "author" {
			all = append(all, it)
		}
		all = appendLeaves(all, it.children)
	}
	return all
}

// expression returns a filter that holds for the item, "" if there is none that
// means the same in both programs.
func expression(rnd *rand.Rand, it item) string {
	f := fields.byName[it.name]
	name := prefix + it.name
	if rnd.IntN(8) == 0 {
		return name
	}
	choose := func(forms ...string) string { return forms[rnd.IntN(len(forms))] }
	switch f.form {
	case formUint, formHex, formByte, formInt, formFrame:
		return choose(name+" == "+it.value, name+" >= "+it.value, name+" < "+it.value, name+" in {"+it.value+", 7}")
	case formFloat:
		return choose(name+" == "+it.value, name+" > "+it.value, name+" <= "+it.value)
	case formText:
		if strings.ContainsAny(it.value, "\"\\") || len(it.value) < 3 {
			return ""
		}
		if it.name == "kind" || it.name == "dir" || it.name == "name" || it.name == "status" || it.name == "dialect" || it.name == "ack.kind" {
			return name + ` == "` + it.value + `"`
		}
		return choose(name+` == "`+it.value+`"`, name+` contains "`+it.value[1:]+`"`)
	case formIPv4:
		return name + " == " + it.value
	case formBool, formBytes, formGroup:
		return name
	}
	return ""
}

// writeProfile installs the profile for tshark.
func (d *desk) writeProfile(tb testing.TB) {
	tb.Helper()
	folder := filepath.Join(d.dir, "wireshark", "profiles", ProfileName)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // another user reads it
		tb.Fatal(err)
	}
	for name, text := range Profile() {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
			tb.Fatal(err)
		}
	}
}

// tshark takes the columns and the filters of the profile.
func TestTsharkProfile(t *testing.T) {
	d := newDesk(t)
	file := d.annotated(t, fixtures.Path("captures/stock_client.pcap"))
	d.writeProfile(t)
	if out := d.tshark(t, true, "-C", ProfileName, "-r", file, "-Y", "frame.number == 19"); !strings.Contains(out, " Cady2 s2c ") || !strings.Contains(out, " duplicate ") {
		t.Errorf("the columns are not those of the profile: %s", out)
	}
	var rules []string
	for _, c := range colours() {
		rules = append(rules, c.filter)
	}
	seen := 0
	for _, frames := range d.tapped(t, file, rules) {
		if len(frames) > 0 {
			seen++
		}
	}
	if seen < 6 {
		t.Errorf("only %d colour rules hold for any frame", seen)
	}
	var want []string
	names := map[string][]string{}
	for line := range strings.Lines(string(d.run(t, "read", file, "--no-progress", "-T", "fields", "-e", "frame", "-e", "name"))) {
		frame, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if len(want) == 0 || want[len(want)-1] != frame {
			want = append(want, frame)
		}
		if name != "" {
			names[frame] = append(names[frame], name)
		}
	}
	all := len(want)
	want = slices.DeleteFunc(want, func(frame string) bool {
		updates := slices.DeleteFunc(slices.Clone(names[frame]), func(name string) bool { return name != "StateUpdate" })
		return len(updates) > 0 && len(updates) == len(names[frame])
	})
	if left := strings.Fields(d.tshark(t, true, "-r", file, "-Y", noUpdates, "-T", "fields", "-e", "frame.number")); !slices.Equal(left, want) || len(want) < 100 || len(want) == all {
		t.Errorf("without updates there are %d frames of %d, want %d", len(left), all, len(want))
	}
}

// The plugin names the messages of a raw capture whatever columns are shown, with
// the engine and without it. It passes over frames of a port that the user gives to
// another dissector, and ICMP errors that quote a
// datagram.
func TestTsharkColumns(t *testing.T) {
	all := map[string][]string{
		"standard": nil,
		"profile":  {"-C", ProfileName},
		"info":     {"-o", `gui.column.format:"No.","%m","Info","%i"`},
		"none":     {"-T", "fields", "-e", "frame.number", "-e", "bc.name"},
	}
	t.Run("engine", func(t *testing.T) { showColumns(t, newEngineDesk(t), all) })
	if os.Getenv("BCDISSECT_LONG") == "" { // without the engine, each call takes five times as long
		delete(all, "info")
		delete(all, "profile")
	}
	t.Run("names only", func(t *testing.T) { showColumns(t, newDesk(t), all) })
}

func showColumns(t *testing.T, d *desk, all map[string][]string) {
	t.Helper()
	d.writeProfile(t)
	raw := fixtures.Path("captures/stock_client.pcap")
	const frames, gameport = 345, "29904" // stock_client.truth.json: all are of the game
	quoted := filepath.Join(d.dir, "quoted.pcap")
	if err := os.WriteFile(quoted, inError(fixtures.Read(t, "captures/stock_client.pcap")), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	for name, columns := range all {
		t.Run(name, func(t *testing.T) {
			shown := func(file string, more ...string) string {
				return d.tshark(t, true, slices.Concat([]string{"-r", file, "-Y", "bc"}, columns, more)...)
			}
			text := shown(raw)
			if n := strings.Count(text, "\n"); n != frames {
				t.Errorf("got %d frames of the game, want %d", n, frames)
			}
			if !strings.Contains(text, "ChecksumResponse") {
				t.Errorf("no message has its name: %.300s", text)
			}
			if text := shown(raw, "-d", "udp.port=="+gameport+",echo"); text != "" {
				t.Errorf("frames of another dissector are shown: %.300s", text)
			}
			if text := shown(quoted); text != "" {
				t.Errorf("ICMP errors are shown as messages: %.300s", text)
			}
		})
	}
}

// inError returns a capture of Ethernet frames in which each IP packet is quoted
// by an ICMP error (port unreachable).
func inError(capture []byte) []byte {
	const file, record, ether, ipv4, icmp = 24, 16, 14, 20, 8
	out := bytes.Clone(capture[:file])
	for at := file; at < len(capture); {
		size := int(binary.LittleEndian.Uint32(capture[at+8:]))
		head, frame := bytes.Clone(capture[at:][:record]), capture[at+record:][:size]
		longer := binary.LittleEndian.AppendUint32(nil, uint32(size+ipv4+icmp)) //nolint:gosec // below 1,600
		copy(head[8:], longer)
		copy(head[12:], longer)
		ip := bytes.Clone(frame[ether:][:ipv4])
		binary.BigEndian.PutUint16(ip[2:], uint16(size-ether+ipv4+icmp)) //nolint:gosec // below 1,600
		ip[9] = 1                                                        // ICMP
		out = slices.Concat(out, head, frame[:ether], ip, []byte{3, 3, 0, 0, 0, 0, 0, 0}, frame[ether:])
		at += record + size
	}
	return out
}

// Addresses have the names of their players. The addresses of this capture are
// replaced, since one computer recorded it.
func TestTsharkNames(t *testing.T) {
	d := newDesk(t)
	moved := filepath.Join(d.dir, "moved.pcap")
	all := fixtures.Read(t, "captures/stock_client.pcap")
	for at := 24; at < len(all); { // in place of the client: 127.0.0.2
		size := int(binary.LittleEndian.Uint32(all[at+8:]))
		p := all[at+16:][:size]
		for _, of := range []struct{ addr, port int }{{26, 34}, {30, 36}} {
			if binary.BigEndian.Uint16(p[of.port:]) != 29904 {
				p[of.addr+3] = 2
			}
		}
		at += 16 + size
	}
	if err := os.WriteFile(moved, all, 0o600); err != nil {
		t.Fatal(err)
	}
	out := d.tshark(t, true, "-r", d.annotated(t, moved), "-N", "n", "-Y", "frame.number == 12", "-T", "fields", "-e", "ip.src_host", "-e", "ip.dst_host")
	if !strings.HasPrefix(out, "Cady2") || !strings.Contains(out, "\t127.0.0.1") {
		t.Errorf("the hosts are %q", out)
	}
}

// seconds returns the least processor time of three runs.
func (d *desk) seconds(tb testing.TB, plugin bool, args ...string) float64 {
	tb.Helper()
	least := math.Inf(1)
	for range 3 {
		cmd := d.command(plugin, args...)
		if err := cmd.Run(); err != nil {
			tb.Fatalf("%v: %v", cmd.Args, err)
		}
		least = min(least, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	}
	return least
}

// Raw captures open fast with the engine, long ones too, and annotated ones are not
// slower.
func TestTsharkSpeed(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("compares times, which other work disturbs: set BCDISSECT_LONG")
	}
	d := newEngineDesk(t)
	mix := filepath.Join(d.dir, "mix.pcap")
	d.run(t, "read", fixtures.Path("captures/battle_mix.pcap.gz"), "-w", mix, "-F", "pcap", "--no-progress")
	once, err := os.ReadFile(mix)
	if err != nil {
		t.Fatal(err)
	}
	const header = 24
	repeated := func(n int) string {
		name := filepath.Join(d.dir, strconv.Itoa(n)+".pcap")
		text := slices.Concat(once, bytes.Repeat(once[header:], n-1))
		if err := os.WriteFile(name, text, 0o644); err != nil { //nolint:gosec // another user reads it
			t.Fatal(err)
		}
		return name
	}
	raw := repeated(6)
	none := d.seconds(t, false, "-r", raw)
	opened := d.seconds(t, true, "-r", raw)
	filtered := d.seconds(t, true, "-r", raw, "-Y", "bc.StateUpdate.speed > 50")
	annotated := d.seconds(t, true, "-r", d.annotated(t, raw))
	long := d.seconds(t, true, "-r", repeated(60))
	t.Logf("without the plugin %.2f s, with it %.2f s, with a filter %.2f s; annotated %.2f s; ten times as long %.2f s", none, opened, filtered, annotated, long)
	if opened > 2*none {
		t.Errorf("the list takes %.2f s, without the plugin %.2f s", opened, none)
	}
	if filtered > 3*none {
		t.Errorf("a filter takes %.2f s, opening without the plugin %.2f s", filtered, none)
	}
	if annotated > 4*none {
		t.Errorf("the annotated capture takes %.2f s, the raw one without the plugin %.2f s", annotated, none)
	}
	if long > 12*opened {
		t.Errorf("ten times the capture takes %.2f s, one %.2f s", long, opened)
	}
}

// Damaged trailers do not hold tshark up.
func TestTsharkDamaged(t *testing.T) {
	d := newDesk(t)
	file := d.annotated(t, fixtures.Path("captures/opcode_tour.pcap"))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(16, 2)) //nolint:gosec // a fixed seed gives the same damage in every run
	for at := 0; ; at++ {
		n := bytes.Index(b[at:], []byte(magic))
		if n < 0 {
			break
		}
		at += n
		size := int(binary.LittleEndian.Uint32(b[at-footerSize+len(magic):]))
		if size <= footerSize || size > at+len(magic) || string(b[at+len(magic)-size:][:len(magic)]) != magic {
			continue // the mark at the beginning of a trailer
		}
		for range 1 + rnd.IntN(3) {
			b[at-1-rnd.IntN(min(max(size-40, 30), 300))] = byte(rnd.Uint32())
		}
	}
	if err := os.WriteFile(file, b, 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-V", "-O", "bc"}, {"-Y", "bc.name == \"Chat\" || bc.StateUpdate.speed > 1"}, {}} {
		cmd := d.command(true, append([]string{"-r", file}, args...)...)
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // it may have ended
		out, err := cmd.Output()
		late.Stop()
		if err != nil || len(out) < 1000 {
			t.Errorf("%v: %v, %d bytes of output", args, err, len(out))
		}
	}
}

// Annotated captures are known by their frames after other programs have copied
// them.
func TestAnnotatedCopies(t *testing.T) {
	d := newDesk(t)
	raw := fixtures.Path("captures/stock_client.pcap")
	file := d.annotated(t, raw)
	other := d.annotated(t, fixtures.Path("captures/lossy.pcap"))
	copied := filepath.Join(d.dir, "copied")
	shown := func(name string) string {
		return string(d.run(t, "read", name, "-T", "csv", "-e", "frame", "-e", "name", "-e", "status", "--no-progress"))
	}
	for name, test := range map[string]struct {
		command []string
		like    []string // command that does this to the unannotated capture
	}{
		"pcap":        {[]string{"editcap", "-F", "pcap", file, copied}, []string{"editcap", raw, copied}},
		"snap length": {[]string{"editcap", "-F", "pcap", "-s", "100", file, copied}, []string{"editcap", "-s", "100", raw, copied}},
		"shorter":     {[]string{"editcap", "-s", "60", file, copied}, []string{"editcap", "-s", "60", raw, copied}},
		"merged":      {[]string{"mergecap", "-a", "-w", copied, file, other}, []string{"mergecap", "-a", "-w", copied, raw, fixtures.Path("captures/lossy.pcap")}},
	} {
		var texts []string
		for _, command := range [][]string{test.command, test.like} {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip(command[0] + " is not installed")
			}
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", command, err, out)
			}
			texts = append(texts, shown(copied))
		}
		if texts[0] != texts[1] || strings.Count(texts[0], "\n") < 300 {
			t.Errorf("%s: read shows %d lines of the copy, want %d like the raw one's:\n%.600s\n%.600s", name, strings.Count(texts[0], "\n"), strings.Count(texts[1], "\n"), texts[0], texts[1])
		}
	}
}

// Two passes show the same as one, even if the first pass drops frames and the
// frames of the second have other numbers. The only difference is that players
// have names earlier.
func TestTsharkPasses(t *testing.T) {
	d := newEngineDesk(t)
	names := []string{"stock_client.pcap", "lossy.pcap"}
	if os.Getenv("BCDISSECT_LONG") != "" {
		names = append(names, "battle_mix.pcap.gz", "networked_battle.pcap")
	}
	for _, name := range names {
		shown := func(args ...string) string {
			columns := []string{"-T", "fields", "-e", "bc.name", "-e", "bc.status", "-e", "bc.StateUpdate.position.x", "-e", "bc.StateUpdate.object_name"}
			return d.tshark(t, true, slices.Concat([]string{"-r", fixtures.Path("captures/" + name)}, args, columns)...)
		}
		once := shown()
		if twice := shown("-2"); twice != once || strings.Count(once, "\n") < 200 {
			t.Errorf("%s: two passes show something else", name)
		}
		const expr = `bc.name == "Chat" || bc.StateUpdate`
		want := shown("-Y", expr)
		if got := shown("-2", "-R", expr); got != want || strings.Count(want, "\n") < 3 {
			t.Errorf("%s: a read filter shows %d frames, a display filter %d", name, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
	}
}

// What Wireshark counts in a raw capture is what it counts without the plugin.
func TestTsharkStatistics(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("TestWindow compares one capture: set BCDISSECT_LONG for all")
	}
	d := newEngineDesk(t)
	for _, name := range captures(t) {
		t.Run(name, func(t *testing.T) {
			args := []string{
				"-n", "-r", fixtures.Path("captures/" + name), "-q", "-z", "conv,udp", "-z", "conv,ip", "-z", "io,stat,0,udp,ip",
				"-z", "plen,tree", "-z", "endpoints,ip", "-z", "endpoints,udp", "-z", "dests,tree",
			}
			if !strings.HasSuffix(name, ".pcapng") { // frames without a time make a graph from 1970 on
				args = append(args, "-z", "io,stat,10")
			}
			if with, without := d.tshark(t, true, args...), d.tshark(t, false, args...); with != without || !strings.Contains(with, "UDP Conversations") {
				t.Errorf("with the plugin: %s\nwithout: %s", with, without)
			}
		})
	}
}
