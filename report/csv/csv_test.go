package csv

import (
	"encoding/hex"
	"errors"
	"io"
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
	s := New(&out, []string{"frame", "name", "target", "TorpedoFire.firing_player", "fields.direction", "text"}, ndjson.Options{})
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
		"2,PulseFire,,,\"[1,0,0]\",\n" +
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
	s := New(&out, []string{"chat.text", "CHAT.text", "direction.x", "pulsefire.direction[0]", "direction.w"}, ndjson.Options{})
	for _, payload := range []string{"1a77000040027f000001", "2c020000000200686f"} {
		if err := s.Record(record(t, 1, payload)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	constant := msg.Catalog().Lookup(0x2C).Constant
	if want := "chat.text,CHAT.text,direction.x,pulsefire.direction[0],direction.w\n,,1,1,\nho,ho,,,\n"; out.String() != want || constant != "CHAT" {
		t.Errorf("got %q, want %q; the constant is %s", out.String(), want, constant)
	}
}

// What can be compared but has no value of its own is no column.
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

// A path through a list is that of the field in every element.
func TestLists(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"updates.score"}, ndjson.Options{})
	// Player 3 killed player 2; player 4 got 200 points.
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

// Records without any of the values make no row; the header is always there.
func TestNothing(t *testing.T) {
	var out strings.Builder
	s := New(&out, []string{"Chat.text"}, ndjson.Options{})
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
	s := New(broken{}, []string{"frame"}, ndjson.Options{})
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
	s := New(io.Discard, []string{"frame", "name", "target", "TorpedoFire.firing_player"}, ndjson.Options{})
	r := record(b, 1, "190d0000400201df8711ffff03400088d85c")
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Record(r); err != nil {
			b.Fatal(err)
		}
	}
}
