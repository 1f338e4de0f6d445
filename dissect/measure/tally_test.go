package measure

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// part is a record of a transport message; from makes it come from a datagram.
func part(frame, n int, dir dissect.Dir, h transport.Header, payload string) *dissect.Record {
	r := &dissect.Record{Datagram: &dissect.Datagram{Number: frame}, Part: n, Dir: dir, Transport: h}
	if payload != "" {
		r.Payload = []byte(payload)
	}
	return r
}

func TestTally(t *testing.T) {
	var (
		reliable = transport.Header{Type: transport.Standard, Reliable: true}
		plain    = transport.Header{Type: transport.Standard}
		piece    = transport.Header{Type: transport.Standard, Reliable: true, Fragment: true}
		ackPiece = transport.Header{Type: transport.Acknowledge, Fragment: true}
		with     = func(r *dissect.Record, s dissect.Status, rest string) *dissect.Record {
			r.Status, r.Rest = s, []byte(rest)
			return r
		}
		malformed = func(frame, n int, cut bool) *dissect.Record {
			return &dissect.Record{
				Datagram: &dissect.Datagram{Number: frame}, Kind: dissect.KindMalformed, Part: n,
				Status: dissect.StatusMalformed, Cut: cut, Rest: []byte("xyz"),
			}
		}
		update = "\x1c________\x9e_"
	)
	var tally Tally
	for _, r := range []*dissect.Record{
		// A datagram of three messages: an acknowledgement of a
		// fragment, and two opcodes, one with bytes left over.
		part(1, 0, dissect.ToHost, ackPiece, ""),
		part(1, 1, dissect.ToHost, plain, update),
		with(part(1, 2, dissect.ToHost, reliable, "\x2cabc"), dissect.StatusTrailing, "bc"),
		// The last of them again: a duplicate.
		with(part(2, 0, dissect.ToHost, reliable, "\x2cabc"), dissect.StatusDuplicate, ""),
		// A message in two fragments; the first is repeated.
		with(part(3, 0, dissect.FromHost, piece, ""), dissect.StatusPending, ""),
		with(part(4, 0, dissect.FromHost, piece, ""), dissect.StatusDuplicate, ""),
		part(5, 0, dissect.FromHost, piece, "\x21fragmented"),
		// One that was never completed.
		{Datagram: &dissect.Datagram{Number: 5}, Kind: dissect.KindEvicted, Transport: piece},
		// The other direction, another flag; one too short for flags;
		// one of unknown direction.
		part(6, 0, dissect.FromHost, plain, "\x1c________\x20"),
		part(6, 1, dissect.FromHost, plain, "\x1c________"),
		part(7, 0, dissect.DirUnknown, plain, update),
		// A message that makes no sense.
		with(part(8, 0, dissect.ToHost, reliable, "\x19a"), dissect.StatusMalformed, "a"),
		// A datagram that splits only at first, one that does not, and one that
		// the capture cut.
		part(9, 0, dissect.ToHost, plain, update),
		malformed(9, 1, false),
		malformed(10, 0, false),
		part(11, 0, dissect.ToHost, plain, update),
		malformed(11, 1, true),
		// Another capture begins with the same number.
		part(11, 0, dissect.ToHost, plain, update),
		malformed(11, 0, false),
		malformed(11, 0, false),
		{Datagram: &dissect.Datagram{Number: 12}, Kind: dissect.KindGameSpy},
	} {
		if err := tally.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := tally.Close(); err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name      string
		got, want int64
	}{
		{"game", tally.Game, 10}, // frames 1 to 8, 11 and the second 11
		{"gamespy", tally.GameSpy, 1},
		{"malformed", tally.Malformed, 4}, // frames 9, 10, and twice 11 of the other
		{"messages", tally.Messages, 14},
		{"acks", tally.Types[transport.Acknowledge], 1},
		{"standard", tally.Types[transport.Standard], 13},
		{"reliable", tally.Reliable, 6},
		{"unreliable", tally.Unreliable, 8},
		{"duplicates", tally.Duplicates, 2},
		{"fragments", tally.Fragments, 3},
		{"reassembled", tally.Reassembled, 1},
		{"incomplete", tally.Incomplete, 1},
		{"counted", tally.Counted, 10},
		{"1C", tally.Opcodes[0x1C].Total, 7},
		{"1C to the host", tally.Opcodes[0x1C].ToHost, 4},
		{"1C from the host", tally.Opcodes[0x1C].FromHost, 2},
		{"1C bytes", tally.Opcodes[0x1C].Bytes, 5*11 + 10 + 9},
		{"21", tally.Opcodes[0x21].Total, 1},
		{"2C", tally.Opcodes[0x2C].Total, 1},
		{"19", tally.Opcodes[0x19].Total, 1},
		{"9E to the host", tally.Flags[dissect.ToHost][0x9E], 4},
		{"20 from the host", tally.Flags[dissect.FromHost][0x20], 1},
		{"flags to the host", tally.Flags[dissect.ToHost].Total(), 4},
		{"flags from the host", tally.Flags[dissect.FromHost].Total(), 1},
		{"flags of no direction", tally.Flags[dissect.DirUnknown].Total(), 0},
		{"payload bytes", tally.PayloadBytes, 5*11 + 10 + 9 + 4 + 11 + 2},
		{"residue bytes", tally.ResidueBytes, 3},
		{"errors", tally.Errors, 5}, // a message, and four datagrams that are not cut
	} {
		if test.got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, test.got, test.want)
		}
	}

	var order []string
	for _, o := range tally.ByCount() {
		order = append(order, o.Opcode.String())
	}
	if got := strings.Join(order, " "); got != "0x1C 0x19 0x21 0x2C" {
		t.Errorf("order: got %s", got)
	}
	if got := tally.Share(tally.Opcodes[0x1C].Total); got != 0.7 {
		t.Errorf("share: got %v, want 0.7", got)
	}
	if got := new(Tally).Share(0); got != 0 {
		t.Errorf("share of nothing: got %v, want 0", got)
	}
}

func TestTallyDoesNotAllocate(t *testing.T) {
	var tally Tally
	r := part(1, 0, dissect.ToHost, transport.Header{Type: transport.Standard}, "\x1c________\x9e_")
	if n := testing.AllocsPerRun(100, func() { _ = tally.Record(r) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkTally(b *testing.B) {
	var tally Tally
	r := part(1, 0, dissect.ToHost, transport.Header{Type: transport.Standard}, "\x1c________\x9e_")
	b.ReportAllocs()
	for b.Loop() {
		_ = tally.Record(r)
	}
}

func TestFlagNames(t *testing.T) {
	for flags, want := range map[uint8]string{
		0:    "none",
		0x20: "SUBSYSTEMS",
		0x9D: "POSITION|FORWARD|UP|SPEED|POWER",
		0xFF: "POSITION|DELTA|FORWARD|UP|SPEED|SUBSYSTEMS|CLOAK|POWER",
	} {
		if got := string(AppendFlagNames(nil, flags)); got != want {
			t.Errorf("0x%02X: got %s, want %s", flags, got, want)
		}
	}
}
