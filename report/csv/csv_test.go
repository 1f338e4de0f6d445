package csv

import (
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

func record(tb testing.TB, frame int, payload string) *dissect.Record {
	tb.Helper()
	b, err := hex.DecodeString(payload)
	if err != nil {
		tb.Fatal(err)
	}
	r := &dissect.Record{
		Datagram: &dissect.Datagram{Number: frame, Time: time.Unix(int64(frame), 0)},
		Dir:      dissect.ToHost, Payload: b, Spec: msg.Catalog().Lookup(decode.Opcode(b[0])),
	}
	r.SetMessage(decode.NewDecoder().Read(r.Spec, b, decode.Stock, nil), b, 1)
	return r
}

func TestColumns(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"frame", "name", "target", "TorpedoFire.firing_player", "fields.direction", "text"}, Form{}, ndjson.Options{})
	for _, r := range []*dissect.Record{
		record(t, 1, "190d0000400201df8711ffff03400088d85c"),
		record(t, 2, "1a77000040027f000001"),
		record(t, 3, "2c020000000c0073617920226869222c206f6b"), // say "hi", ok
	} {
		if err := s.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "frame,name,target,TorpedoFire.firing_player,fields.direction,text\n" +
		"1,TorpedoFire,1074003967,2,\"[-0.25984251,-0.9527559,0.13385826]\",\n" +
		"2,PulseFire,,,\"[1.0,0.0,0.0]\",\n" +
		"3,Chat,,,,\"say \"\"hi\"\", ok\"\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if err := s.Record(record(t, 4, "13")); !errors.Is(err, report.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Messages go by all of their names, in upper or lower case, and vectors have
// components.
func TestNames(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"chat.text", "CHAT.text", "direction.x", "pulsefire.direction[0]", "direction.w"}, Form{}, ndjson.Options{})
	for _, payload := range []string{"1a77000040027f000001", "2c020000000200686f"} {
		if err := s.Record(record(t, 1, payload)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	constant := msg.Catalog().Lookup(0x2C).Constant
	if want := "chat.text,CHAT.text,direction.x,pulsefire.direction[0],direction.w\n,,1.0,1.0,\nho,ho,,,\n"; out.String() != want || constant != "CHAT" {
		t.Errorf("got %q, want %q; the constant is %s", out.String(), want, constant)
	}
}

// A key that can be compared but has no value cannot be a column.
func TestCheck(t *testing.T) {
	names := []string{"Chat", "frame", "position", "forward", "text"}
	for _, name := range []string{"frame", "text", "forward[2]", "StateUpdate.position[2]", "error.reason", "chat.text", "position.x", "fields.text"} {
		if err := Check(name, names); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "frame == 1", "not frame", "(frame)", " frame", "Chat", "chat", "port", "addr", "a.#.b", "a|@pretty", "flags & 1", "5", "a..b", "é"} {
		if Check(name, names) == nil {
			t.Errorf("%q is a column", name)
		}
	}
}

// A path through a list means the field in every element.
func TestLists(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"updates.score"}, Form{}, ndjson.Options{})
	// Player 3 killed player 2, and player 4 got 200 points.
	if err := s.Record(record(t, 1, "360300000002000000901a000002000000030000000204000000c80000000500000064000000")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "updates.score\n\"[200,100]\"\n" {
		t.Errorf("got %q", out.String())
	}
}

// Records without any of the values have no row. The header is always written.
func TestNothing(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"Chat.text"}, Form{}, ndjson.Options{})
	if err := s.Record(record(t, 1, "13")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "Chat.text\n" {
		t.Errorf("got %q", out.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestWriteError(t *testing.T) {
	s := New(broken{}, []string{"frame"}, Form{}, ndjson.Options{})
	r := record(t, 1, "13")
	var err error
	for i := 0; i < 10000 && err == nil; i++ {
		err = s.Record(r)
	}
	if err == nil {
		err = s.Close()
	}
	if err == nil || err.Error() != "the disk is full" {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRecord(b *testing.B) {
	s := New(io.Discard, []string{"frame", "name", "target", "TorpedoFire.firing_player"}, Form{}, ndjson.Options{})
	r := record(b, 1, "190d0000400201df8711ffff03400088d85c")
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Record(r); err != nil {
			b.Fatal(err)
		}
	}
}

// Text from the network is escaped for a terminal and cannot become a formula.
// Numbers are not changed.
func TestHostileText(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1":             "'=1+1",
		"+1":               "'+1",
		"-1":               "'-1",
		"@SUM(A1)":         "'@SUM(A1)",
		"1=1":              "1=1",
		"\x1b]0;pwn\x07":   `\x1b]0;pwn\x07`,
		"\r\n=1":           `\x0d\x0a=1`,
		"a,b":              `"a,b"`,
		`say "hi"`:         `"say ""hi"""`,
		`"`:                `""""`,
		" x":               `" x"`,
		"=HYPERLINK(\",\"": `"'=HYPERLINK("","""`,
		"\x80":             "€", // Windows-1252
	} {
		var out strings.Builder
		s := New(&out, []string{"text"}, Form{}, ndjson.Options{})
		payload := hex.EncodeToString([]byte{0x2C, 2, 0, 0, 0, byte(len(text)), 0}) + hex.EncodeToString([]byte(text))
		if err := errors.Join(s.Record(record(t, 1, payload)), s.Close()); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(out.String(), "text\n"); got != want+"\n" {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	var out strings.Builder
	s := New(&out, []string{"direction.x"}, Form{}, ndjson.Options{})
	if err := errors.Join(s.Record(record(t, 1, "190d0000400201df8711ffff03400088d85c")), s.Close()); err != nil {
		t.Fatal(err)
	}
	if out.String() != "direction.x\n-0.25984251\n" {
		t.Errorf("got %q", out.String())
	}
}

// Floats that JSON has no number for.
func TestSpecialFloats(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"duration", "exit.y", "exit"}, Form{}, ndjson.Options{})
	// A WarpEvent with the numbers 1, -Inf, NaN and NaN.
	const warp = "102a810000ec00800000000000ffffff3f" + "00" + "0000803f" + "000080ff" + "0000c07f" + "0000c07f"
	err := errors.Join(s.Record(record(t, 1, warp)), s.Close())
	if err != nil || out.String() != "duration,exit.y,exit\nNaN,-Inf,\"[1.0,null,null]\"\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// Rows are made without allocation.
func TestAllocation(t *testing.T) {
	s := New(io.Discard, []string{"frame", "ts", "src", "name", "target", "direction", "TorpedoFire.target_offset", "direction.x"}, Form{}, ndjson.Options{})
	r := record(t, 1, "190d0000400201df8711ffff03400088d85c")
	if n := testing.AllocsPerRun(200, func() {
		if err := s.Record(r); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a row", n)
	}
}

// The forms of rows: separators, quotes, JSON.
func TestForms(t *testing.T) {
	chat := func(text string) *dissect.Record {
		return record(t, 3, "2c02000000"+hex.EncodeToString([]byte{byte(len(text)), 0})+hex.EncodeToString([]byte(text)))
	}
	for _, test := range []struct {
		form Form
		text string
		want string
	}{
		{Form{}, `say "hi", ok`, "frame,text,speed\n3,\"say \"\"hi\"\", ok\",\n"},
		{Form{}, "=1+1", "frame,text,speed\n3,'=1+1,\n"},
		{Form{Raw: true, NoHeader: true}, "=1+1", "3,=1+1,\n"},
		{Form{Separator: '\t', NoHeader: true, Quote: QuoteNone}, `say "hi", ok`, "3\tsay \"hi\", ok\t\n"},
		{Form{Separator: '\t', NoHeader: true, Quote: QuoteNone}, "a\tb", "3\ta\\x09b\t\n"},
		{Form{Separator: ';'}, "a;b,c", "frame;text;speed\n3;\"a;b,c\";\n"},
		{Form{Quote: QuoteDouble, NoHeader: true}, `a"b`, "\"3\",\"a\"\"b\",\"\"\n"},
		{Form{Quote: QuoteSingle, NoHeader: true}, `it's`, "'3','it''s',''\n"},
		{Form{JSON: true}, `say "hi", \o/`, `{"frame":3,"text":"say \"hi\", \\o/"}` + "\n"},
		{Form{JSON: true}, "=1+1", `{"frame":3,"text":"=1+1"}` + "\n"},
	} {
		var out strings.Builder
		s := New(&out, []string{"frame", "text", "speed"}, test.form, ndjson.Options{})
		if err := errors.Join(s.Record(chat(test.text)), s.Close()); err != nil {
			t.Fatal(err)
		}
		if out.String() != test.want {
			t.Errorf("%+v: got %q, want %q", test.form, out.String(), test.want)
		}
	}
}

// Rows share the cells of their datagram, and no others: frames of several
// captures may have the same number.
func TestPlaces(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"frame", "capture", "src", "msg"}, Form{}, ndjson.Options{})
	a, b := record(t, 7, "13"), record(t, 7, "13")
	b.Datagram.Capture, b.Datagram.Src = "b,c", netip.MustParseAddrPort("192.0.2.7:22101")
	a.Transport.Len, b.Transport.Len, b.Part = 1, 1, 1
	for _, r := range []*dissect.Record{a, b, b, a, record(t, 8, "13")} {
		if err := s.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := "frame,capture,src,msg\n7,,,0\n" + strings.Repeat("7,\"b,c\",192.0.2.7:22101,1\n", 2) + "7,,,0\n8,,,\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Numbers are in quotes where a part of them separates cells.
func TestNumbersInQuotes(t *testing.T) {
	for separator, want := range map[byte]string{'.': "\"1.0\".26\n", '2': "1.02\"26\"\n", '-': "1.0-26\n", ';': "1.0;26\n"} {
		var out strings.Builder
		s := New(&out, []string{"direction.x", "opcode"}, Form{Separator: separator, NoHeader: true}, ndjson.Options{})
		if err := errors.Join(s.Record(record(t, 1, "1a77000040027f000001")), s.Close()); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("separator %c: got %q, want %q", separator, out.String(), want)
		}
	}
}
