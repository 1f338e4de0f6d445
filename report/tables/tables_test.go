package tables

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// A name has one type in all tables, and stands once in each.
func TestTypes(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	type typed struct{ sql, where string }
	types, names := map[string]typed{}, map[string]bool{}
	for _, table := range Tables(nil) {
		if low := strings.ToLower(table.Name); names[low] {
			t.Errorf("%s: two tables", low)
		} else {
			names[low] = true
		}
		if table.Doc == "" {
			t.Errorf("%s: not described", table.Name)
		}
		columns := map[string]bool{}
		for _, c := range table.Columns {
			at := table.Name + "." + c.Name
			if columns[c.Name] || !plain.MatchString(c.Name) || c.Doc == "" || c.List && c.Full {
				t.Errorf("%s: twice, not a plain name, not described, or a list that is never absent", at)
			}
			columns[c.Name] = true
			if other := types[c.Name]; other.sql == "" {
				types[c.Name] = typed{c.SQL(), at}
			} else if other.sql != c.SQL() {
				t.Errorf("%s: %s, but %s is %s", at, c.SQL(), other.where, other.sql)
			}
		}
	}
	for _, name := range []string{"captures", "matches", "players", "lives", "kills", "scores", "chat", "shots", "records", "updates", "subsystems", "links", "messages/chat"} {
		if !names[name] {
			t.Errorf("no table %s", name)
		}
	}
}

// docs/tables.md has the columns of each table.
func TestPage(t *testing.T) {
	const begin, end = "<!-- tables: written by make golden -->\n", "<!-- /tables -->\n"
	head, rest, ok := strings.Cut(string(fixtures.Read(t, "../docs/tables.md")), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("docs/tables.md has no place for the tables")
	}
	fixtures.Golden(t, "../../docs/tables.md", []byte(head+begin+page()+end+tail))
}

// page returns the description of the tables.
func page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This is schema %d.\n", Schema)
	own := len(headers)
	rest := false
	for _, t := range Tables(nil) {
		if !strings.HasPrefix(t.Name, messages) {
			fmt.Fprintf(&b, "\n### %s\n\nA row is %s.\n\n| column | type | meaning |\n|---|---|---|\n", t.Name, t.Doc)
			for i := range t.Columns {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", t.Columns[i].Name, t.Columns[i].SQL(), t.Columns[i].Doc)
			}
			continue
		}
		if !rest {
			rest = true
			b.WriteString("\n### messages/NAME\n\nA row is a message. The columns `" + strings.Join(headers, "`, `") + "` are those of `records`; the table has the others.\n\n" +
				"| table | columns |\n|---|---|\n")
		}
		var all []string
		for i := range t.Columns[own:] {
			c := &t.Columns[own+i]
			all = append(all, "`"+c.Name+"` "+c.SQL())
		}
		fmt.Fprintf(&b, "| %s | %s |\n", t.Name, strings.Join(all, ", "))
	}
	return b.String()
}

// A buffer is a file in memory.
type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

// write returns the files of a capture's tables.
func write(tb testing.TB, name string, asCSV bool) (map[string]*buffer, *Sink) {
	tb.Helper()
	files := map[string]*buffer{}
	start := time.Time{}
	origin := Origin{Capture: "x", Schema: Schema, Files: []File{{Name: name, SHA256: "00", Size: 1}}}
	s := NewSink(Options{CSV: asCSV, Start: start, Origin: origin, Create: func(table string) (io.WriteCloser, error) {
		files[table] = new(buffer)
		return files[table], nil
	}})
	stats := recorded.Records(tb, name, dissect.Config{}, func(r *dissect.Record) {
		if err := s.Record(r); err != nil {
			tb.Fatal(err)
		}
	})
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	s.Tally().Frames = int64(stats.Frames)
	if err := s.WriteCapture(&Capture{Name: name}); err != nil {
		tb.Fatal(err)
	}
	return files, s
}

// A reader reads a Parquet table.
type reader struct {
	columns      map[string]int
	lists, times map[string]bool
	rows         [][][]parquet.Value // by row and column
}

func read(tb testing.TB, b *buffer) *reader {
	tb.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		tb.Fatal(err)
	}
	r := &reader{columns: map[string]int{}, lists: map[string]bool{}, times: map[string]bool{}}
	for i, path := range f.Schema().Columns() {
		r.columns[path[0]], r.lists[path[0]] = i, len(path) > 1
		leaf, _ := f.Schema().Lookup(path...)
		r.times[path[0]] = strings.HasPrefix(leaf.Node.Type().String(), "TIMESTAMP")
	}
	for _, g := range f.RowGroups() {
		if n := g.NumRows(); n > groupRows {
			tb.Errorf("a row group has %d rows", n)
		}
		rows := g.Rows()
		for buf := make([]parquet.Row, 64); ; {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				kept := make([][]parquet.Value, len(r.columns))
				row.Clone().Range(func(column int, values []parquet.Value) bool {
					kept[column] = values
					return true
				})
				r.rows = append(r.rows, kept)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return r
}

// value returns the first value of a column in a row.
func (r *reader) value(row [][]parquet.Value, column string) parquet.Value {
	return row[r.columns[column]][0]
}

// Counts computed from the tables equal the counts of stats.
func TestCounts(t *testing.T) {
	for _, name := range fixtures.Glob(t, "captures/*.pcap*") {
		if strings.HasSuffix(name, ".json") || strings.Contains(name, "battle_mix.") { // TestStable reads that
			continue
		}
		name = strings.TrimPrefix(name, "captures/")
		t.Run(name, func(t *testing.T) {
			var want measure.Tally
			recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) { _ = want.Record(r) })
			files, s := write(t, name, false)
			r := read(t, files[records])
			var got measure.Tally
			opcodes := map[string]int64{}
			for _, row := range r.rows {
				countRow(&got, r, row, opcodes)
			}
			got.Incomplete = want.Incomplete // evictions at the end have no frame
			for _, n := range []struct {
				name      string
				got, want int64
			}{
				{"messages", got.Messages, want.Messages},
				{"reliable", got.Reliable, want.Reliable},
				{"duplicates", got.Duplicates, want.Duplicates},
				{"fragments", got.Fragments, want.Fragments},
				{"reassembled", got.Reassembled, want.Reassembled},
				{"gamespy", got.GameSpy, want.GameSpy},
				{"game messages", got.Counted, want.Counted},
				{"payload bytes", got.PayloadBytes, want.PayloadBytes},
				{"residue bytes", got.ResidueBytes, want.ResidueBytes},
			} {
				if n.got != n.want {
					t.Errorf("%s: got %d, want %d", n.name, n.got, n.want)
				}
			}
			if got.Types != want.Types {
				t.Errorf("types: got %v, want %v", got.Types, want.Types)
			}
			byName := map[string]int64{}
			for _, o := range want.ByCount() {
				byName[o.Name] += o.Total
			}
			for name, n := range byName {
				if opcodes[name] != n {
					t.Errorf("%s: got %d records, want %d", name, opcodes[name], n)
				}
				table := messages + name
				if name == "StateUpdate" {
					table = updates
				}
				if got := s.Rows()[table]; got != n && name != "" && (got != 0 || files[table] != nil) {
					t.Errorf("%s: got %d rows, want %d", table, got, n)
				}
			}
			for table, n := range s.Rows() {
				if got := len(read(t, files[table]).rows); int64(got) != n {
					t.Errorf("%s: read %d rows, want %d", table, got, n)
				}
			}
			c := read(t, files[Captures])
			if n := c.value(c.rows[0], "game_messages").Int64(); n != want.Counted {
				t.Errorf("game_messages: got %d, want %d", n, want.Counted)
			}
		})
	}
}

// countRow counts a row of the records, as SQL would.
func countRow(n *measure.Tally, r *reader, row [][]parquet.Value, opcodes map[string]int64) {
	is := func(column, text string) bool { return string(r.value(row, column).ByteArray()) == text }
	switch duplicate := is("status", "duplicate"); {
	case is("kind", "gamespy"):
		n.GameSpy++
		return
	case r.value(row, "type").IsNull():
		return
	default:
		n.Messages++
		n.Types[r.value(row, "type").Int64()]++
		if r.value(row, "reliable").Boolean() {
			n.Reliable++
		}
		if duplicate {
			n.Duplicates++
		}
		if !r.value(row, "fragment_index").IsNull() && is("kind", "standard") {
			n.Fragments++
			if !duplicate && r.value(row, "payload_len").Int64() > 0 {
				n.Reassembled++
			}
		}
		if size := r.value(row, "payload_len").Int64(); !duplicate && size > 0 {
			n.Counted++
			n.PayloadBytes += size
			n.ResidueBytes += int64(len(r.value(row, "residue").ByteArray()) / 2)
			opcodes[string(r.value(row, "name").ByteArray())]++
		}
	}
}

// The same records make the same bytes.
func TestStable(t *testing.T) {
	first, _ := write(t, "battle_mix.pcap.gz", false)
	second, _ := write(t, "battle_mix.pcap.gz", false)
	if len(first) < 20 || !slices.Equal(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))) {
		t.Fatalf("got %d and %d tables", len(first), len(second))
	}
	for name, b := range first {
		if !bytes.Equal(b.Bytes(), second[name].Bytes()) {
			t.Errorf("%s differs", name)
		}
	}
}

// The short way of a ship update into its table makes the same rows as the walk.
func TestMotion(t *testing.T) {
	for _, name := range []string{"battle_mix.pcap.gz", "stock_client.pcap", "forged_small.pcap", "networked_battle.pcap"} {
		files := map[string][]*buffer{}
		for _, walk := range []bool{false, true} {
			s := NewSink(Options{Create: func(table string) (io.WriteCloser, error) {
				b := new(buffer)
				if table == updates || table == subsystems {
					files[table] = append(files[table], b)
				}
				return b, nil
			}})
			if walk {
				s.plans[msg.Catalog().Lookup(msg.OpStateUpdate)].motion = nil
			}
			recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) { _ = s.Record(r) })
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if n := s.Rows()[updates]; n < 10 {
				t.Errorf("%s: only %d updates", name, n)
			}
		}
		for table, b := range files {
			if !bytes.Equal(b[0].Bytes(), b[1].Bytes()) {
				t.Errorf("%s: the rows of %s differ", name, table)
			}
		}
	}
}

// A column keeps its texts apart, whichever way each of them comes.
func TestTexts(t *testing.T) {
	out := new(buffer)
	r := newRows(Table{Columns: []Column{of("ship", Text, "")}}, out, &Options{CSV: true, Origin: Origin{Capture: "x"}}, 8)
	for i, name := range []string{"Nebula", "Akira", "Nebula", "Nebula", "Akira"} {
		r.begin()
		if i%2 == 0 {
			r.text(0, name)
		} else {
			r.put(0, &display.Item{Type: decode.TypeText, Text: []byte(name)})
		}
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "ship,capture\nNebula,x\nAkira,x\nNebula,x\nNebula,x\nAkira,x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// CSV has the values of Parquet.
func TestCSV(t *testing.T) {
	for _, name := range []string{"forged_small.pcap", "stock_client.pcap", "opcode_tour.pcap"} {
		pq, _ := write(t, name, false)
		text, _ := write(t, name, true)
		for table, b := range pq {
			compare(t, name+" "+table, read(t, b), text[table].String())
		}
	}
}

// compare compares rows with their text. Texts are escaped in CSV, so of these
// only the plain ones are compared.
func compare(t *testing.T, name string, r *reader, text string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(lines) != len(r.rows)+1 {
		t.Fatalf("%s: %d lines for %d rows", name, len(lines), len(r.rows))
	}
	for i, row := range r.rows {
		for n, column := range lines[0] {
			cell := lines[i+1][n]
			values := row[r.columns[column]]
			v := values[0]
			want, plain := "", true
			switch {
			case v.DefinitionLevel() == 0 && v.IsNull():
			case r.lists[column]:
				isText := func(v parquet.Value) bool { return v.Kind() == parquet.ByteArray && !v.IsNull() }
				if plain = !slices.ContainsFunc(values, isText); plain {
					want = "[" + strings.Join(elements(values), ",") + "]"
				}
			case v.Kind() == parquet.ByteArray:
				want, plain = v.String(), regexp.MustCompile(`^[\w.: ]*$`).MatchString(v.String())
			default:
				want = number(v, r.times[column])
			}
			if plain && cell != want {
				t.Errorf("%s: row %d: %s: got %q, want %q", name, i, column, cell, want)
			}
		}
	}
}

// elements returns the elements of a list as JSON.
func elements(list []parquet.Value) (all []string) {
	for _, v := range list {
		switch {
		case v.DefinitionLevel() == 2:
			all = append(all, "null")
		case v.DefinitionLevel() == 3 && v.Kind() == parquet.Float:
			text := strconv.FormatFloat(float64(v.Float()), 'f', -1, 32)
			if !strings.Contains(text, ".") {
				text += ".0"
			}
			all = append(all, text)
		case v.DefinitionLevel() == 3:
			all = append(all, number(v, false))
		}
	}
	return all
}

// number returns a value as in CSV.
func number(v parquet.Value, clock bool) string {
	switch v.Kind() {
	case parquet.Int64:
		if clock {
			return time.UnixMicro(v.Int64()).UTC().Format("2006-01-02T15:04:05.000000Z")
		}
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	default:
		return strconv.FormatBool(v.Boolean())
	}
}
