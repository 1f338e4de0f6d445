package csv

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// values returns the values at a path in JSON, and whether there is a list of
// objects on the way.
func values(tb testing.TB, raw json.RawMessage, steps []string) (all []json.RawMessage, inList bool) {
	tb.Helper()
	if len(steps) == 0 {
		return []json.RawMessage{raw}, false
	}
	switch raw[0] {
	case '{':
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			tb.Fatal(err)
		}
		if v, ok := object[steps[0]]; ok {
			return values(tb, v, steps[1:])
		}
	case '[':
		var array []json.RawMessage
		if err := json.Unmarshal(raw, &array); err != nil {
			tb.Fatal(err)
		}
		if names := map[int]string{3: "xyz", 4: "wxyz"}[len(array)]; names != "" && array[0][0] != '{' {
			if i := strings.Index(names, steps[0]); i >= 0 && len(steps) == 1 {
				return array[i : i+1], false
			}
		}
		for _, e := range array {
			if e[0] == '{' {
				found, _ := values(tb, e, steps)
				all, inList = append(all, found...), true
			}
		}
	}
	return all, inList
}

// cellOf returns the cell of a column for a line of JSON, as docs/json.md
// defines it. If the line does not contain the value, ok is false.
func cellOf(tb testing.TB, line map[string]json.RawMessage, steps []string) (cell string, ok bool) {
	tb.Helper()
	first := steps[:1]
	if steps[0] == "fields" && len(steps) > 1 {
		first = steps[:2]
	}
	var all []json.RawMessage
	inList := false
	if raw := line[strings.Join(first, ".")]; raw != nil {
		all, inList = values(tb, raw, steps[len(first):])
	}
	if len(all) == 0 {
		return "", true
	}
	if inList {
		texts := make([]string, len(all))
		for i, v := range all {
			texts[i] = string(v)
		}
		return "[" + strings.Join(texts, ",") + "]", true
	}
	var text string
	if all[0][0] != '"' {
		return string(all[0]), string(all[0]) != "null"
	}
	if err := json.Unmarshal(all[0], &text); err != nil {
		tb.Fatal(err)
	}
	if text != "" && strings.Contains("=+-@", text[:1]) {
		text = "'" + text
	}
	return report.Escape(text), true
}

// parts returns the values of a line by key, and the values of its fields by
// path.
func parts(tb testing.TB, line []byte) map[string]json.RawMessage {
	tb.Helper()
	var all, fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		tb.Fatal(err)
	}
	if raw := all["fields"]; raw != nil {
		if err := json.Unmarshal(raw, &fields); err != nil {
			tb.Fatal(err)
		}
	}
	for name, v := range fields {
		all["fields."+name] = v
	}
	return all
}

// A checked is a column with the path that it has in JSON.
type checked struct {
	name    string
	message string
	steps   []string
}

// allColumns returns every name that can be a column.
func allColumns() []checked {
	var all []checked
	names := filter.Names(nil)
	for _, name := range names {
		if Check(name, names) != nil {
			continue
		}
		c := checked{name: name, steps: strings.Split(name, ".")}
		switch {
		case key.Find(name) != nil: // maybe by an alias
			c.steps = strings.Split(key.Find(name).Name, ".")
		case c.steps[0] == "fields":
		case isUpper(name[0]):
			c.message, c.steps = c.steps[0], append([]string{"fields"}, c.steps[1:]...)
		default:
			c.steps = append([]string{"fields"}, c.steps...)
		}
		all = append(all, c)
	}
	return all
}

// Every column has the value that JSON has.
func TestJSON(t *testing.T) {
	columns := allColumns()
	if len(columns) < 1000 {
		t.Fatalf("only %d columns", len(columns))
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	var out strings.Builder
	s := New(&out, names, Form{}, ndjson.Options{Payload: true})
	enc := ndjson.NewEncoder(ndjson.Options{Payload: true})
	filled := map[string]bool{}
	check := func(r *dissect.Record) error {
		out.Reset()
		if err := errors.Join(s.Record(r), s.Flush()); err != nil {
			return err
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		row, line := rows[len(rows)-1], enc.Append(nil, r)
		of := parts(t, line)
		name := ""
		if r.Spec != nil {
			name = r.Spec.Name
		}
		for i, c := range columns {
			want, ok := "", true
			if k := key.Find(c.name); k != nil && k.Scope == key.Column {
				want = beside(r, k.Name)
			} else if c.message == "" || c.message == name {
				want, ok = cellOf(t, of, c.steps)
			}
			if ok && row[i] != want {
				t.Errorf("%s: got %q, want %q\n%s", c.name, row[i], want, line)
			}
			filled[c.name] = filled[c.name] || row[i] != ""
		}
		if t.Failed() {
			t.FailNow()
		}
		return nil
	}
	for _, m := range messages.All(t) {
		r := record(t, 1, "13")
		r.Payload, r.Spec = m.Payload, msg.Catalog().Lookup(m.Opcode())
		r.SetMessage(decode.NewDecoder().Read(r.Spec, m.Payload, m.Dialect, m), m.Payload, 1)
		if err := check(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"stock_replay.pcap", "opcode_tour.pcap", "forged_small.pcap", "gamespy.pcap", "stock_client.pcap"} {
		src, err := capture.Open(fixtures.Path("captures/"+name), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := dissect.New(dissect.Config{})
		for range 300 {
			d, err := src.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err := errors.Join(err, p.Push(d, check)); err != nil {
				t.Fatal(err)
			}
		}
		src.Close()
	}
	if len(filled) < len(columns) || count(filled) < 600 {
		t.Errorf("%d of %d columns ever had a value", count(filled), len(columns))
	}
}

func count(of map[string]bool) (n int) {
	for _, is := range of {
		if is {
			n++
		}
	}
	return n
}

// beside returns the values of columns that JSON does not have.
func beside(r *dissect.Record, name string) string {
	ip := func(a netip.AddrPort) (string, string) {
		if !a.IsValid() {
			return "", "0"
		}
		text := a.String()
		at := strings.LastIndexByte(text, ':')
		return strings.Trim(text[:at], "[]"), text[at+1:]
	}
	src, srcPort := ip(r.Datagram.Src)
	dst, dstPort := ip(r.Datagram.Dst)
	frame := ""
	if n := r.Datagram.WireLen; n > 0 {
		frame = strconv.Itoa(n)
	}
	payload := ""
	if n := len(r.Payload); n > 0 {
		payload = strconv.Itoa(n)
	}
	return map[string]string{
		"payload_len": payload,
		"src_ip":      src, "src_port": srcPort, "dst_ip": dst, "dst_port": dstPort, "player_name": r.Client.Raw(), "frame_len": frame,
	}[name]
}
