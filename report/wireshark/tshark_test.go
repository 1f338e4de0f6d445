package wireshark

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A desk is a place to run bcdissect and tshark.
type desk struct {
	dir     string
	program string // bcdissect
	plugin  string
}

// nobody is the user that tshark runs as in place of root: as root it ignores Lua
// files without a word.
const nobody = "65534"

// newEngineDesk returns a desk whose plugin finds the engine beside it.
func newEngineDesk(tb testing.TB) *desk {
	tb.Helper()
	d := newDesk(tb)
	build := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(d.dir, "bcdissect-engine.so"), "../../cmd/engine")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		if _, missing := exec.LookPath("gcc"); missing != nil {
			tb.Skip("the engine needs a C compiler, and gcc is not installed")
		}
		tb.Fatalf("%v: %s", err, out)
	}
	return d
}

// newDesk builds the program and writes the plugin.
func newDesk(tb testing.TB) *desk {
	tb.Helper()
	fixtures.System(tb)
	if _, err := exec.LookPath("tshark"); err != nil {
		tb.Skip("tshark is not installed")
	}
	dir, err := os.MkdirTemp("", "bcdissect-wireshark-*") //nolint:usetesting // another user can enter it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // another user writes here
		tb.Fatal(err)
	}
	d := &desk{dir: dir, program: filepath.Join(dir, "bcdissect"), plugin: filepath.Join(dir, "bc.lua")}
	if out, err := exec.Command("go", "build", "-o", d.program, "../../cmd/bcdissect").CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	var lua bytes.Buffer
	if err := Plugin(&lua, "test", ""); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(d.plugin, lua.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
	if out := d.tshark(tb, false, "-G", "fields", "-X", "lua_script:"+d.plugin); !strings.Contains(out, "\tbc.StateUpdate.speed\t") {
		tb.Fatal("tshark did not load the plugin")
	}
	return d
}

// tshark runs tshark as an ordinary user, with the plugin or without.
func (d *desk) tshark(tb testing.TB, plugin bool, args ...string) string {
	tb.Helper()
	if plugin {
		args = append([]string{"-X", "lua_script:" + d.plugin}, args...)
	}
	name := "tshark"
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=" + nobody, "--regid=" + nobody, "--clear-groups", name}, args...)
		name = "setpriv"
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+d.dir, "TZ=UTC")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	cut := strings.Contains(said.String(), "cut short")
	if err != nil && !cut || strings.Contains(said.String(), "Lua") {
		tb.Fatalf("%v: %v: %s", cmd.Args, err, said.String())
	}
	return string(out)
}

// run runs bcdissect.
func (d *desk) run(tb testing.TB, args ...string) []byte {
	tb.Helper()
	var said bytes.Buffer
	cmd := exec.Command(d.program, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !strings.Contains(said.String(), "cut short") {
		tb.Fatalf("%v: %v %v: %s", cmd.Args, err, exit, said.String())
	}
	return out
}

// annotated returns the name of the annotated copy of captures.
func (d *desk) annotated(tb testing.TB, args ...string) string {
	tb.Helper()
	file, err := os.CreateTemp(d.dir, "*.pcapng")
	if err != nil {
		tb.Fatal(err)
	}
	_ = file.Close()
	d.run(tb, append(append([]string{"read"}, args...), "-w", file.Name(), "--annotate", "--force", "--no-progress")...)
	if err := os.Chmod(file.Name(), 0o644); err != nil { //nolint:gosec // another user reads it
		tb.Fatal(err)
	}
	return file.Name()
}

// frames calls each with the tree of every frame in tshark's JSON that has one.
func frames(tb testing.TB, text string, each func(number int, items []item)) {
	tb.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	number := 0
	var walk func(name string) []item
	walk = func(name string) (items []item) {
		tok, err := dec.Token()
		if err != nil {
			tb.Fatal(err)
		}
		delim, ok := tok.(json.Delim)
		if !ok {
			value, _ := tok.(string)
			if name == "frame.number" {
				number, _ = strconv.Atoi(value)
			}
			return []item{{name: name, value: value}}
		}
		var members []item
		for dec.More() {
			key := ""
			if delim == '{' {
				tok, _ := dec.Token()
				key = tok.(string)
			}
			if of, ok := strings.CutSuffix(key, "_tree"); ok && len(members) > 0 && members[len(members)-1].name == of {
				members[len(members)-1].children = walk("")
				continue
			}
			below := walk(key)
			if key == "" || strings.HasPrefix(key, "_") && key != "_source" {
				continue
			}
			members = append(members, below...)
		}
		_, _ = dec.Token()
		switch name {
		case "":
			return members
		case "bc":
			each(number, members)
		}
		return []item{{name: name, children: members}}
	}
	walk("")
}

// normal makes values of tshark's items those of [parse].
func normal(tb testing.TB, items []item) []item {
	tb.Helper()
	var all []item
	for _, it := range items {
		f := fields.byName[strings.TrimPrefix(it.name, prefix)]
		if f == nil || !strings.HasPrefix(it.name, prefix) {
			continue
		}
		it.name = f.name
		switch f.form {
		case formUint, formHex, formByte, formFrame, formInt:
			n, err := strconv.ParseInt(it.value, 0, 64)
			if err != nil {
				tb.Fatal(err)
			}
			it.value = strconv.FormatInt(n, 10)
		case formFloat:
			v, err := strconv.ParseFloat(it.value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			it.value = number(v)
		case formBool:
			it.value = strconv.FormatBool(it.value == "1" || strings.EqualFold(it.value, "true"))
		case formBytes:
			it.value = strings.ReplaceAll(it.value, ":", "")
		case formGroup:
			it.value = ""
		case formText, formIPv4:
		}
		it.children = normal(tb, it.children)
		all = append(all, it)
	}
	return all
}

// tshark shows every field of every message as JSON has it, of annotated captures
// without the engine and of raw ones with it.
func TestTsharkAgreesWithJSON(t *testing.T) {
	t.Run("annotated", func(t *testing.T) { agreeWithJSON(t, newDesk(t), true) })
	t.Run("raw", func(t *testing.T) { agreeWithJSON(t, newEngineDesk(t), false) })
}

func agreeWithJSON(t *testing.T, d *desk, annotated bool) {
	t.Helper()
	for _, name := range append(captures(t), "clear/battle_large-1.pcap.zst") {
		t.Run(name, func(t *testing.T) {
			args := []string{fixtures.Path("captures/" + name)}
			clear := strings.HasPrefix(name, "clear/")
			if os.Getenv("BCDISSECT_LONG") == "" && (clear || name == "battle_mix.pcapng.gz") {
				t.Skip("takes as long as all others: set BCDISSECT_LONG")
			}
			if os.Getenv("BCDISSECT_LONG") == "" && strings.Contains(name, "reliability/") {
				t.Skip("the messages are those of other fixtures: set BCDISSECT_LONG")
			}
			if annotated && os.Getenv("BCDISSECT_LONG") == "" && (strings.Contains(name, "field/") || strings.Contains(name, "battle")) {
				t.Skip("its trailers are compared without tshark: set BCDISSECT_LONG")
			}
			t.Parallel()
			if clear {
				args = append(args, "--clear", "--frames", "1-8000")
			}
			file := args[0]
			switch {
			case annotated:
				file = d.annotated(t, args...)
			case clear:
				file = filepath.Join(d.dir, "clear.pcap")
				d.run(t, "read", args[0], "--frames", "1-8000", "-w", file, "-F", "pcap", "--no-progress")
				if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // another user reads it
					t.Fatal(err)
				}
			}
			want := lines(t, bytes.NewReader(d.run(t, append(append([]string{"read"}, args...), "-T", "json", "--no-progress")...)))
			cut := annotated && (strings.Contains(name, "s96") || strings.Contains(name, "snap"))
			numbers, n := slices.Sorted(maps.Keys(want)), 0
			shown := map[string]string{} // frames that read names, as tshark counts
			frames(t, d.tshark(t, true, "-r", file, "-T", "json", "-J", "frame bc"), func(frame int, items []item) {
				switch {
				case cut && (len(items) == 0 || items[0].name != prefix+"player" && items[0].name != prefix+"dir"):
					return // its fields are in a comment
				case !cut && n < len(numbers): // tshark counts a custom block as a frame
					shown[strconv.Itoa(numbers[n])] = strconv.Itoa(frame)
					frame = numbers[n]
				}
				if !annotated {
					renumber(want[frame], shown)
				}
				n++
				if m := want[frame]; clear && len(m) == 1 && slices.Contains(m[0], "kind=gamespy") {
					return // its text was deciphered, too, and is nothing but noise
				}
				compare(t, frame, messages(normal(t, items)), want[frame])
			})
			if n != len(numbers) && !cut {
				t.Errorf("tshark shows %d frames, want %d", n, len(numbers))
			}
		})
	}
}

// renumber replaces the numbers of frames in messages.
func renumber(all []message, shown map[string]string) {
	for _, m := range all {
		for i, line := range m {
			key, value, _ := strings.Cut(line, "=")
			if n := shown[value]; n != "" && (key == "copy_of" || key == "reassembled") {
				m[i] = key + "=" + n
			}
		}
	}
}

// Where tshark places a field, there are the bytes that hold its value.
func TestTsharkPlaces(t *testing.T) {
	d := newDesk(t)
	checked := map[form]int{}
	for _, name := range []string{"forged_small.pcap", "stock_client.pcap", "opcode_tour.pcap", "gamespy.pcap", "variants/join_flow-vlan.pcap"} {
		text := d.tshark(t, true, "-r", d.annotated(t, fixtures.Path("captures/"+name)), "-T", "pdml", "-J", "bc")
		for line := range strings.Lines(text) {
			places(t, name, line, checked)
		}
	}
	for _, f := range []form{formUint, formHex, formByte, formInt, formFloat, formBool, formText, formBytes, formIPv4} {
		if checked[f] == 0 {
			t.Errorf("no field of form %s was checked", formNames[f])
		}
	}
}

// places checks a line of PDML.
func places(tb testing.TB, name, line string, checked map[form]int) {
	tb.Helper()
	at, ok := strings.CutPrefix(strings.TrimSpace(line), `<field name="bc.`)
	if !ok {
		return
	}
	attribute := func(key string) string {
		_, rest, _ := strings.Cut(line, " "+key+`="`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	at, _, _ = strings.Cut(at, `"`)
	f := fields.byName[at]
	raw, err := hex.DecodeString(attribute("value"))
	show := attribute("show")
	if f == nil || f.onParent || err != nil || len(raw) == 0 {
		return
	}
	little := func() (n uint64) {
		for i, c := range raw {
			n |= uint64(c) << (8 * i)
		}
		return n
	}
	ok = true
	switch f.form {
	case formUint, formHex, formByte, formInt:
		n, err := strconv.ParseInt(show, 0, 64)
		if f.name == "len" || strings.HasPrefix(f.name, "error") || strings.HasPrefix(f.name, "fragment") || len(raw) > 4 {
			return // the length shares its bytes with flags
		}
		shift := 64 - 8*len(raw)
		ok = err == nil && (uint64(n) == little() || n == int64(little()<<shift)>>shift)
	case formText:
		plain := strings.NewReplacer("&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(show)
		text := wire.Text(bytes.ReplaceAll(raw, []byte{0}, nil))
		if strings.Contains(plain, `\`) || isKey(f.name) {
			return
		}
		ok = strings.Contains(text.Raw(), plain)
	case formBool:
		ok = show == "0" || show == "1" || strings.EqualFold(show, "true") || strings.EqualFold(show, "false")
	case formBytes:
		ok = strings.ReplaceAll(show, ":", "") == hex.EncodeToString(raw)
	case formIPv4:
		var parts []string
		for _, c := range raw {
			parts = append(parts, strconv.Itoa(int(c)))
		}
		ok = strings.Join(parts, ".") == show
	case formFloat:
		v, err := strconv.ParseFloat(show, 64)
		ok = err == nil && holdsFloat(raw, v)
	case formGroup, formFrame:
		return
	}
	if !ok {
		tb.Errorf("%s: %s is at bytes that do not hold it", name, strings.TrimSpace(line))
	}
	checked[f.form]++
}

var (
	once    sync.Once
	keyName map[string]bool
)

// isKey reports whether a field is one of a record, not of a message.
func isKey(name string) bool {
	once.Do(func() {
		keyName = map[string]bool{}
		for _, k := range fields.keys {
			keyName[k.name] = true
		}
	})
	return keyName[name]
}

// holdsFloat reports whether bytes hold a float in one of the forms with bytes of
// its own; it takes any for those with more than one meaning.
func holdsFloat(raw []byte, v float64) bool {
	switch len(raw) {
	case 1:
		c := float64(raw[0])
		s := float64(int8(raw[0]))
		near := func(x float64) bool { return x-v < 0.006 && v-x < 0.006 }
		return near(c/255) || near(s/127) || near(c*100/204)
	case 4:
		bits := uint32(raw[0]) | uint32(raw[1])<<8 | uint32(raw[2])<<16 | uint32(raw[3])<<24
		return number(shortest(math.Float32frombits(bits))) == number(v)
	}
	return true
}

// The same filters select the same frames.
func TestTsharkFilters(t *testing.T) {
	const each = 17 // for 51 filters in all
	d := newDesk(t)
	rnd := rand.New(rand.NewPCG(16, 1)) //nolint:gosec // the same filters in every run
	selected := 0
	for _, name := range []string{"stock_client.pcap", "opcode_tour.pcap", "forged_small.pcap"} {
		raw := fixtures.Path("captures/" + name)
		file := d.annotated(t, raw)
		var all []item
		annotate(t, name, Options{}, func(_ *dissect.Datagram, frame []byte, _ string) {
			if frame != nil {
				items, _, _ := parse(t, frame)
				all = appendLeaves(all, items)
			}
		})
		byName := map[string][]item{}
		for _, it := range all {
			byName[it.name] = append(byName[it.name], it)
		}
		names := slices.Sorted(maps.Keys(byName))
		for range each {
			var expr string
			for expr == "" {
				of := byName[names[rnd.IntN(len(names))]]
				expr = expression(rnd, of[rnd.IntN(len(of))])
			}
			if rnd.IntN(3) == 0 {
				if other := expression(rnd, all[rnd.IntN(len(all))]); other != "" {
					expr = "(" + expr + ") || " + other
				}
			}
			if rnd.IntN(3) == 0 {
				expr = "(" + expr + ") && frame.number > 20 && ip.src == 127.0.0.1"
			}
			want := slices.Compact(strings.Fields(string(d.run(t, "read", raw, "--no-progress", "-Y", expr, "-T", "fields", "-e", "frame"))))
			got := strings.Fields(d.tshark(t, true, "-r", file, "-T", "fields", "-e", "frame.number", "-Y", expr))
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s: tshark selects %v, read %v", name, expr, got, want)
			}
			selected += len(want)
		}
	}
	if selected < 500 {
		t.Errorf("the filters select only %d frames", selected)
	}
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
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { //nolint:gosec // the same
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
	seen := 0
	for _, c := range colours() {
		if out := d.tshark(t, true, "-r", file, "-Y", c.filter, "-T", "fields", "-e", "frame.number"); out != "" {
			seen++
		}
	}
	if seen < 6 {
		t.Errorf("only %d colour rules hold for any frame", seen)
	}
}

// The plugin names the messages of a raw capture whatever columns are shown, with
// the engine and without it. It passes over frames of a port that the user gives to
// another dissector, and ICMP errors that quote a
// datagram.
func TestTsharkColumns(t *testing.T) {
	t.Run("names only", func(t *testing.T) { showColumns(t, newDesk(t)) })
	t.Run("engine", func(t *testing.T) { showColumns(t, newEngineDesk(t)) })
}

func showColumns(t *testing.T, d *desk) {
	t.Helper()
	d.writeProfile(t)
	raw := fixtures.Path("captures/stock_client.pcap")
	const frames, gameport = 345, "29904" // stock_client.truth.json: all are of the game
	quoted := filepath.Join(d.dir, "quoted.pcap")
	if err := os.WriteFile(quoted, inError(fixtures.Read(t, "captures/stock_client.pcap")), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	for name, columns := range map[string][]string{
		"standard": nil,
		"profile":  {"-C", ProfileName},
		"info":     {"-o", `gui.column.format:"No.","%m","Info","%i"`},
		"none":     {"-T", "fields", "-e", "frame.number", "-e", "bc.name"},
	} {
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
func (d *desk) seconds(tb testing.TB, plugin string, args ...string) float64 {
	tb.Helper()
	least := math.Inf(1)
	for range 3 {
		if plugin != "" {
			args = append([]string{"-X", "lua_script:" + plugin}, args...)
		}
		name, all := "tshark", args
		if os.Getuid() == 0 {
			name, all = "setpriv", append([]string{"--reuid=" + nobody, "--regid=" + nobody, "--clear-groups", "tshark"}, args...)
		}
		cmd := exec.Command(name, all...)
		cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+d.dir)
		if err := cmd.Run(); err != nil {
			tb.Fatalf("%v: %v", cmd.Args, err)
		}
		least = min(least, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if plugin != "" {
			args = args[2:]
		}
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
	none := d.seconds(t, "", "-r", raw)
	opened := d.seconds(t, d.plugin, "-r", raw)
	filtered := d.seconds(t, d.plugin, "-r", raw, "-Y", "bc.StateUpdate.speed > 50")
	annotated := d.seconds(t, d.plugin, "-r", d.annotated(t, raw))
	long := d.seconds(t, d.plugin, "-r", repeated(60))
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
	rnd := rand.New(rand.NewPCG(16, 2)) //nolint:gosec // the same damage in every run
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
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		name, all := "tshark", append([]string{"-X", "lua_script:" + d.plugin, "-r", file}, args...)
		if os.Getuid() == 0 {
			name, all = "setpriv", append([]string{"--reuid=" + nobody, "--regid=" + nobody, "--clear-groups", "tshark"}, all...)
		}
		cmd := exec.CommandContext(ctx, name, all...)
		cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+d.dir)
		out, err := cmd.Output()
		stop()
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
		like    []string // the same for the raw capture
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
