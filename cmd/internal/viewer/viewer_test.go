package viewer

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/fixtures"
)

const battle = "captures/battle_mix.pcap.gz"

func newList(t *testing.T, names ...string) *List {
	t.Helper()
	l, err := NewList(names)
	if err != nil {
		t.Fatal(err)
	}
	for l.Step() {
	}
	return l
}

// TestDetails compares the details of every hundredth row, forwards and
// backwards, with the record itself.
func TestDetails(t *testing.T) {
	name := fixtures.Path(battle)
	var want []*dissect.Record
	for r, err := range dissect.File(name) {
		if err != nil {
			t.Fatal(err)
		}
		if len(want)%100 == 0 {
			want = append(want, r.Clone())
		} else {
			want = append(want, nil)
		}
	}
	l := newList(t, name)
	if shown, all, left := l.Len(); shown != len(want) || all != len(want) || left != 0 {
		t.Fatalf("the list has %d of %d rows and leaves out %d; the capture has %d records", shown, all, left, len(want))
	}
	check := func(row int) {
		t.Helper()
		r, d := want[row], l.Detail(row)
		data := r.Bytes
		if len(r.Pieces) > 0 {
			data = r.Payload
		}
		if d == nil || d.Frame != r.Datagram.Number || d.Bytes != hex.EncodeToString(data) {
			t.Fatalf("row %d: %+v, not frame %d, %x", row, d, r.Datagram.Number, data)
		}
		cells := strings.Split(l.Rows(row, row+1), "\t")
		if len(cells) != 8 || cells[5] != d.Name {
			t.Fatalf("row %d: the list has %q, and the details are of %s", row, cells, d.Name)
		}
		for i, b := range d.Branches {
			if b.Off < 0 || b.End > len(data) || b.Off > b.End {
				t.Fatalf("row %d: the bytes of field %d are %d to %d of %d", row, i, b.Off, b.End, len(data))
			}
		}
	}
	for row := 0; row < len(want); row += 100 {
		check(row)
	}
	for row := (len(want) - 1) / 100 * 100; row >= 0; row -= 1700 {
		check(row)
	}
	if d := l.Detail(len(want)); d != nil {
		t.Errorf("a row behind the last one has details: %+v", d)
	}
}

// TestFilter compares the rows in a filtered list with those that the filter
// matches, and removes the filter again.
func TestFilter(t *testing.T) {
	name := fixtures.Path(battle)
	f, err := filter.Compile("TorpedoFire or Chat", nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []uint32
	n := uint32(0)
	for r, err := range dissect.File(name) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Match(r) {
			want = append(want, n)
		}
		n++
	}
	l := newList(t, name)
	if err := l.Filter("TorpedoFire or Chat"); err != nil {
		t.Fatal(err)
	}
	for l.Step() {
	}
	shown, all, _ := l.Len()
	if shown != len(want) || all != int(n) || shown < 50 {
		t.Fatalf("the filter keeps %d rows of %d, not %d of %d", shown, all, len(want), n)
	}
	for i, row := range want {
		if l.rowAt(i) != int(row) || l.Place(int(row)) != i {
			t.Fatalf("place %d is row %d, not %d, which is at %d", i, l.rowAt(i), row, l.Place(int(row)))
		}
	}
	if l.Place(int(n)) != -1 {
		t.Error("a row behind all is in the list")
	}
	err = l.Filter("TorpedoFire and")
	var mistake *filter.Error
	if !errors.As(err, &mistake) {
		t.Fatalf("the error is %v", err)
	}
	if m := NewMistake(err); m.Column != 16 || !strings.HasPrefix(m.Caret, "TorpedoFire and\n") {
		t.Errorf("the mistake is %+v", m)
	}
	if err := l.Filter(" "); err != nil {
		t.Fatal(err)
	}
	if shown, all, _ := l.Len(); shown != all {
		t.Errorf("without a filter %d of %d rows are shown", shown, all)
	}
}

// TestLimit has more records than the list can have. The list counts the
// others, and a filter does not show them.
func TestLimit(t *testing.T) {
	name := fixtures.Path("captures/stock_client.pcap")
	_, records, _ := newList(t, name).Len()
	l, err := NewList([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	if l.most != 4_194_304 {
		t.Errorf("a list holds %d records", l.most)
	}
	l.most = records - 100
	for _, c := range []struct {
		filter string
		want   int
	}{{"", records - 100}, {"frame == 0", 0}, {"frame > 0", records - 100}} {
		if err := l.Filter(c.filter); err != nil {
			t.Fatal(err)
		}
		for l.Step() {
		}
		if shown, all, left := l.Len(); shown != c.want || all != records-100 || left != 100 {
			t.Errorf("%q: %d of %d rows, and %d left out, of %d records", c.filter, shown, all, left, records)
		}
	}
	if last := records - 101; l.Place(last) != last || l.Place(last+1) != -1 || l.Rows(last+1, records) != "" {
		t.Error("a record that was left out has a row")
	}
}

// TestFind finds a kill: frame 11454 at 72.590 s after 2026-11-21 02:02:36 UTC.
func TestFind(t *testing.T) {
	l := newList(t, fixtures.Path(battle))
	row := l.Frame(0, 11454)
	if got := l.Rows(row, row+1); !strings.Contains(got, "\t11454\t72.590\t") || !strings.Contains(got, "DestroyObject") {
		t.Errorf("frame 11454 is %q", got)
	}
	// In a list of two captures the frame has another number.
	both := newList(t, fixtures.Path(battle), fixtures.Path("captures/stock_client.pcap"))
	row = both.Frame(0, 11454)
	if got := both.Rows(row, row+1); !strings.Contains(got, "DestroyObject") || both.Detail(row).Time != l.Detail(l.Frame(0, 11454)).Time {
		t.Errorf("frame 11454 of two captures is %q", got)
	}
	if l.Frame(0, 1<<30) != -1 {
		t.Error("a frame behind all has a row")
	}
}

// split writes the frames of a little-endian pcap file into several files.
func split(t *testing.T, whole []byte, parts int) (names []string) {
	t.Helper()
	const header, head = 24, 16
	var cuts []int
	for at := header; at < len(whole); at += head + int(binary.LittleEndian.Uint32(whole[at+8:])) {
		cuts = append(cuts, at)
	}
	cuts = append(cuts, len(whole))
	n := len(cuts) - 1
	for i := range parts {
		name := filepath.Join(t.TempDir(), fmt.Sprintf("part%d.pcap", i))
		part := append(bytes.Clone(whole[:header]), whole[cuts[n*i/parts]:cuts[n*(i+1)/parts]]...)
		if err := os.WriteFile(name, part, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestParts opens a recording in three parts, in any order and with a copy, as one
// recording. Its matches, counts and frames equal the whole file's.
func TestParts(t *testing.T) {
	whole := fixtures.Path("captures/networked_battle.pcap")
	parts := split(t, fixtures.Read(t, "captures/networked_battle.pcap"), 3)
	again := filepath.Join(t.TempDir(), "copy.pcap")
	b, err := os.ReadFile(parts[1])
	if err != nil || os.WriteFile(again, b, 0o600) != nil {
		t.Fatal(err)
	}
	want := reports(t, whole)
	for _, order := range [][]string{parts, {parts[2], parts[0], again, parts[1]}} {
		r := reports(t, order...)
		if len(r.Files) != 1 || !bytes.Equal(r.Stats, want.Stats) || !bytes.Equal(r.Network, want.Network) || !bytes.Equal(r.Columns, want.Columns) {
			t.Errorf("%q: %d matches, %s, not %s", order, len(r.Files), r.Stats, want.Stats)
		}
		if copies := len(order) - len(parts); len(r.Remarks) != copies || copies > 0 && !strings.Contains(r.Remarks[0], "copy.pcap") {
			t.Errorf("%q: the remarks are %q", order, r.Remarks)
		}
	}

	// The frames of a recording count on, also next to another recording.
	l := newList(t, whole)
	both := newList(t, parts[2], fixtures.Path("captures/stock_client.pcap"), parts[0], parts[1])
	group := slices.IndexFunc(both.groups, func(names []string) bool { return len(names) == 3 })
	for _, frame := range []int{1, 2000, 4143} {
		if got, want := both.Detail(both.Frame(group, frame)), l.Detail(l.Frame(0, frame)); got.Time != want.Time || got.Bytes != want.Bytes {
			t.Errorf("frame %d is %+v, not %+v", frame, got, want)
		}
	}
}

// reports returns the report of captures.
func reports(t *testing.T, names ...string) *Report {
	t.Helper()
	r, err := NewReport(names, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPlaces opens the recordings of one match at the host and at the players. It is
// one match, and its kills lead to messages in the host's recording.
func TestPlaces(t *testing.T) {
	host, client := fixtures.Path("captures/field/c21.host.pcap.gz"), fixtures.Path("captures/field/c21.client.pcap.gz")
	r := reports(t, client, host)
	var page struct {
		Matches []struct {
			Places []struct{ Host bool }
			Kills  []struct {
				T     float64
				Frame int
			}
		}
	}
	if err := json.Unmarshal(r.Page, &page); err != nil || len(page.Matches) != 1 || len(page.Matches[0].Places) != 2 || !page.Matches[0].Places[0].Host {
		t.Fatalf("%v; the matches are %+v", err, page.Matches)
	}
	both, alone := newList(t, client, host), newList(t, host)
	kills := page.Matches[0].Kills
	if len(kills) < 5 {
		t.Errorf("there are %d kills", len(kills))
	}
	for _, k := range kills {
		if got, want := both.Detail(both.Frame(r.Files[0], k.Frame)), alone.Detail(alone.Frame(0, k.Frame)); got.Time != want.Time || got.Bytes != want.Bytes || got.Name != want.Name {
			t.Errorf("frame %d is %+v, not %+v", k.Frame, got, want)
		}
	}
	var saved bytes.Buffer
	if _, err := Save(&saved, Choice{Form: FormSession}, []string{client, host}, nil); err != nil {
		t.Fatal(err)
	}
	var session struct{ Matches []struct{} }
	if err := json.Unmarshal(saved.Bytes(), &session); err != nil || len(session.Matches) != 1 {
		t.Errorf("%d matches are saved, %v", len(session.Matches), err)
	}
}

// TestUnreadable has a file that is not a capture between two captures. The page shows
// what it can read, or the error, in any order of the names.
func TestUnreadable(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.pcap")
	if err := os.WriteFile(bad, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{fixtures.Path(battle), bad}, {bad, fixtures.Path(battle)}} {
		r, err := NewReport(names, func(int64, int64) {})
		switch {
		case err != nil && !strings.Contains(err.Error(), "bad.pcap"):
			t.Errorf("the error is %v", err)
		case err == nil && (len(r.Files) != 1 || len(r.Remarks) == 0):
			t.Errorf("%d matches, the remarks are %q", len(r.Files), r.Remarks)
		}
	}
}

// TestDamaged has a capture that is cut, and one that is none.
func TestDamaged(t *testing.T) {
	whole, err := os.ReadFile(fixtures.Path("captures/networked_battle.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "cut.pcap")
	if err := os.WriteFile(name, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := NewReport([]string{name}, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Remarks) != 1 || !strings.Contains(r.Remarks[0], "cut short") || !r.Game {
		t.Errorf("the remarks are %q", r.Remarks)
	}
	var stats struct{ Frames int }
	if err := json.Unmarshal(r.Stats, &stats); err != nil || stats.Frames < 1000 {
		t.Errorf("%d frames were read: %v", stats.Frames, err)
	}
	if err := os.WriteFile(name, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReport([]string{name}, nil); err == nil {
		t.Error("a text is read as a capture")
	}
	if _, err := NewList([]string{name}); err == nil {
		t.Error("a text is listed as a capture")
	}
	if _, err := Save(new(bytes.Buffer), Choice{Form: FormPage}, []string{name}, nil); err == nil {
		t.Error("a text is saved as a page")
	}
}
