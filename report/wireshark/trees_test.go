package wireshark

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"html"
	"maps"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/table"
)

// trees calls each with the tree of every frame that tshark shows as the game's.
func (d *desk) trees(tb testing.TB, each func(number int, items []item), args ...string) {
	tb.Helper()
	var said bytes.Buffer
	cmd := d.command(true, append(args, "-T", "pdml", "-J", "bc")...)
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := passed(cmd.Wait(), said.String()); err != nil && !tb.Failed() {
			tb.Fatalf("%v: %v", cmd.Args, err)
		}
	}()
	defer out.Close()
	number, inside := 0, false
	open := [][]item{nil} // indexes of each level
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := bytes.TrimLeft(lines.Bytes(), " ")
		switch {
		case !inside && bytes.HasPrefix(line, []byte(`<field name="num"`)):
			number, _ = strconv.Atoi(attribute(line, "show"))
		case !inside:
			inside = bytes.HasPrefix(line, []byte(`<proto name="bc"`)) && !bytes.HasSuffix(line, []byte("/>"))
		case bytes.HasPrefix(line, []byte("</proto>")):
			each(number, open[0])
			open, inside = [][]item{nil}, false
		case bytes.HasPrefix(line, []byte("</field>")):
			last, above := len(open)-1, len(open)-2
			open[above][len(open[above])-1].children = open[last]
			open = open[:last]
		default:
			last := len(open) - 1
			open[last] = append(open[last], item{
				name: attribute(line, "name"), value: attribute(line, "show"), label: attribute(line, "showname"), bytes: attribute(line, "value"),
			})
			if !bytes.HasSuffix(line, []byte("/>")) {
				open = append(open, nil)
			}
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
}

// attribute returns an attribute of an element of PDML.
func attribute(line []byte, key string) string {
	_, rest, _ := bytes.Cut(line, []byte(" "+key+`="`))
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	if bytes.IndexByte(value, '&') >= 0 {
		return html.UnescapeString(string(value))
	}
	return string(value)
}

// normal converts values of tshark's items to the form of [parse].
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

// tshark shows the same fields of every message as JSON, both for annotated
// captures without the engine and for unannotated captures with it. For
// unannotated captures, the shown text and the bytes that belong to it equal
// the output of read -V.
func TestTsharkTrees(t *testing.T) {
	t.Run("annotated", func(t *testing.T) { agree(t, newDesk(t), true) })
	t.Run("raw", func(t *testing.T) { agree(t, newEngineDesk(t), false) })
}

// A tally counts the items of each form whose bytes hold their values.
type tally [formFrame + 1]int

// left tells why a capture is only compared at night, "" if it isn't.
func left(name string, annotated bool) string {
	switch {
	case os.Getenv("BCDISSECT_LONG") != "":
		return ""
	case strings.HasPrefix(name, "clear/") || strings.HasPrefix(name, "battle_mix"):
		return "takes as long as all others: set BCDISSECT_LONG"
	case strings.Contains(name, "variants/") && !strings.Contains(name, "ng") && !strings.Contains(name, "cut") && !strings.Contains(name, "snap") && !strings.Contains(name, "sll2"):
		return "only the link or the order of bytes is another one, which Wireshark reads: set BCDISSECT_LONG"
	case strings.Contains(name, "reliability/") || strings.Contains(name, "field/"):
		return "the messages are those of other fixtures: set BCDISSECT_LONG"
	case annotated && strings.Contains(name, "battle"):
		return "its trailers are compared without tshark: set BCDISSECT_LONG"
	}
	return ""
}

func agree(t *testing.T, d *desk, annotated bool) {
	t.Helper()
	var all tally
	var mu sync.Mutex
	t.Cleanup(func() {
		for f := range checks {
			if all[f] == 0 && !t.Failed() {
				t.Errorf("no field of form %s is where its value is", formNames[f])
			}
		}
	})
	for _, name := range append(captures(t), "clear/battle_large-1.pcap.zst") {
		t.Run(name, func(t *testing.T) {
			if why := left(name, annotated); why != "" {
				t.Skip(why)
			}
			t.Parallel()
			args := []string{fixtures.Path("captures/" + name)}
			clear := strings.HasPrefix(name, "clear/")
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
			var told map[int][][]row
			var checked tally
			if !annotated && !clear {
				told = branches(t, name)
			}
			d.trees(t, func(frame int, items []item) {
				items = normal(t, items)
				switch {
				case cut && (len(items) == 0 || items[0].name != "player" && items[0].name != "dir"):
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
					return // its text was also deciphered and is only noise
				}
				compare(t, frame, messages(items), want[frame])
				places(t, frame, items, &checked)
				if told != nil {
					compareRows(t, frame, items, told[frame])
				}
			}, "-r", file)
			mu.Lock()
			defer mu.Unlock()
			for f, n := range checked {
				all[f] += n
			}
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

// A row is a field or group of a message as people see it.
type row struct {
	depth int
	name  string // path of the field, with [0] for an element
	text  string
	bytes string // in hexadecimal, "" if it has none
}

// branches returns the rows of read -V, by frame and message.
func branches(tb testing.TB, name string) map[int][][]row {
	tb.Helper()
	all := map[int][][]row{}
	teller := table.NewTeller()
	recorded.Records(tb, name, dissect.Config{}, func(r *dissect.Record) {
		if r.Datagram == nil || r.Kind == dissect.KindEvicted {
			return
		}
		tree, data := teller.Tree(r)
		var rows []row
		for i := range tree {
			b := &tree[i]
			if b.Name == "transport" || b.Name == "opcode" || b.Name == "residue" || r.Kind == dissect.KindGameSpy {
				continue // which JSON has
			}
			rows = append(rows, row{b.Depth, b.Name, b.Value, hex.EncodeToString(data[b.Off:b.End])})
		}
		all[r.Datagram.Number] = append(all[r.Datagram.Number], rows)
	})
	return all
}

// rowsIn appends the rows below an item of a message.
func rowsIn(all []row, items []item, of string, depth int) []row {
	for i := range items {
		it := &items[i]
		f := fields.byName[it.name]
		name, inside := strings.CutPrefix(it.name, of+".")
		switch {
		case f.onParent:
			continue
		case f == fields.element:
			name = it.label
		case !inside:
			continue
		}
		text := valueOf(f, it)
		if f.unit == unitShares && i > 0 && items[i-1].name == it.name { // another element
			last := &all[len(all)-1]
			last.text, last.bytes = last.text+" "+text, last.bytes+it.bytes
			continue
		}
		all = append(all, row{depth, name[strings.LastIndexByte(name, '.')+1:], text, it.bytes})
		if f.form == formGroup && text == "" {
			all = rowsIn(all, it.children, of, depth+1)
		}
	}
	return all
}

// valueOf returns what people see of the value of an item, as read -V writes it: the
// title stands before it and the unit behind it.
func valueOf(f *field, it *item) string {
	text, titled := strings.CutPrefix(it.label, f.title+": ")
	if !titled && f.form != formText {
		return ""
	}
	switch f.form {
	case formBool:
		return map[string]string{"true": "yes", "false": "no"}[it.value]
	case formText:
		return it.value // a long label is cut
	case formBytes: // which read -V shows in hexadecimal, up to 8 of them
		if n := len(it.bytes) / 2; n > 8 {
			return strconv.Itoa(n) + " bytes"
		}
		return ""
	case formUint, formInt, formFloat, formGroup, formIPv4, formFrame, formHex, formByte:
	}
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		digits, note, named := strings.Cut(digits, " ")
		if text = "0x" + strings.ToUpper(digits); named {
			text += " " + note
		}
	}
	return strings.TrimSuffix(text, " "+f.unit)
}

// compareRows compares what people see of a frame's messages, and the bytes that
// belong to it.
func compareRows(tb testing.TB, frame int, items []item, want [][]row) {
	tb.Helper()
	n := 0
	for i := range items {
		of := &items[i]
		if slices.Contains(datagramKeys, of.name) || of.name == "player" {
			continue
		}
		if n == len(want) {
			tb.Fatalf("frame %d: more than %d messages", frame, n)
		}
		got := rowsIn(nil, of.children, of.name, 0)
		for k := range max(len(got), len(want[n])) {
			if k >= len(got) || k >= len(want[n]) || !got[k].like(want[n][k]) {
				tb.Fatalf("frame %d, message %d, row %d:\ngot  %+v\nwant %+v", frame, n, k, got[min(k, len(got)):min(k+1, len(got))], want[n][min(k, len(want[n])):min(k+1, len(want[n]))])
			}
		}
		n++
	}
}

// like reports whether a row of the window says what one of read -V says.
func (r row) like(v row) bool {
	if strings.HasSuffix(v.text, " elements") || v.text == "1 element" { // Wireshark has them below
		v.text = ""
	}
	text := strings.TrimSuffix(strings.TrimPrefix(v.text, `"`), `"`)
	return r.depth == v.depth && r.name == v.name && (r.text == text || r.text == v.text || sameNamed(r.text, v.text)) &&
		(r.bytes == v.bytes || v.bytes == "" || r.bytes == "" && strings.HasPrefix(r.text, "(")) // bits share their byte, and PDML shows no bytes of vectors
}

// sameNamed reports whether Wireshark's form of a named value, such as "Multi1
// (1)", has the same meaning as the form of read -V, "1 (Multi1)".
func sameNamed(window, v string) bool {
	number, name, ok := strings.Cut(strings.TrimSuffix(v, ")"), " (")
	if !ok {
		name = "Unknown"
	}
	shown, ok := strings.CutPrefix(window, name+" (")
	a, err := strconv.ParseUint(strings.TrimSuffix(shown, ")"), 0, 32)
	b, fault := strconv.ParseUint(number, 0, 32)
	return ok && err == nil && fault == nil && a == b
}

// checks tell whether bytes hold the value of an item with a form. They take any for
// the forms of which nothing can be said.
var checks = map[form]func(raw []byte, value string) bool{
	formUint: holdsInt, formHex: holdsInt, formByte: holdsInt, formInt: holdsInt,
	formText: func(raw []byte, value string) bool {
		return strings.Contains(value, `\`) || strings.Contains(wire.Text(bytes.ReplaceAll(raw, []byte{0}, nil)).Raw(), value)
	},
	formBool:  func(_ []byte, value string) bool { return value == "true" || value == "false" },
	formBytes: func(raw []byte, value string) bool { return value == hex.EncodeToString(raw) },
	formIPv4: func(raw []byte, value string) bool {
		return len(raw) == 4 && netip.AddrFrom4([4]byte(raw)).String() == value
	},
	formFloat: func(raw []byte, value string) bool {
		v, err := strconv.ParseFloat(value, 64)
		return value == "null" || err == nil && holdsFloat(raw, v)
	},
}

// places checks that the bytes of items hold their values, and counts the items.
func places(tb testing.TB, frame int, items []item, checked *tally) {
	tb.Helper()
	for i := range items {
		it := &items[i]
		places(tb, frame, it.children, checked)
		f := fields.byName[it.name]
		raw, err := hex.DecodeString(it.bytes)
		holds := checks[f.form]
		switch {
		case err != nil:
			tb.Fatalf("frame %d: %s has the bytes %q", frame, it.name, it.bytes)
		case len(raw) == 0 || f.onParent || holds == nil:
		case isKey(f.name) && f.form == formText || f.name == "len": // words instead of bytes, and the length shares its bytes with flags
		case strings.HasPrefix(f.name, "error") || strings.HasPrefix(f.name, "fragment"): // about them
		case holds(raw, it.value):
			checked[f.form]++
		default:
			tb.Fatalf("frame %d: %s is %s, at the bytes %x", frame, it.name, it.value, raw)
		}
	}
}

// holdsInt reports whether bytes hold a number, with a sign or without.
func holdsInt(raw []byte, value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || len(raw) > 4 {
		return err == nil
	}
	var little uint64
	for i, c := range raw {
		little |= uint64(c) << (8 * i)
	}
	shift := 64 - 8*len(raw)
	return uint64(n) == little || n == int64(little<<shift)>>shift //nolint:gosec // two's complement
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

// holdsFloat reports whether bytes contain a float in one of its encodings. For
// encodings that have several meanings it accepts any float.
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
