package histogram

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// counted is a tally of 800 ship updates, 100 lines of chat and a message
// without a name.
func counted() *measure.Tally {
	t := &measure.Tally{
		Frames: 1500, Duration: 94312 * time.Millisecond, Other: 7,
		Game: 900, GameSpy: 3, Malformed: 1,
		Messages: 1100, Reliable: 101, Unreliable: 999, Duplicates: 4,
		Fragments: 6, Reassembled: 2, Incomplete: 1,
		Counted: 901, PayloadBytes: 25000, ResidueBytes: 2, Errors: 1,
	}
	t.Opcodes[0x1C] = measure.OpcodeCount{Name: "StateUpdate", ToHost: 500, FromHost: 300, Total: 800, Bytes: 24000}
	t.Opcodes[0x2C] = measure.OpcodeCount{Name: "Chat", ToHost: 60, FromHost: 40, Total: 100, Bytes: 998}
	t.Opcodes[0x2B] = measure.OpcodeCount{Total: 1, Bytes: 2}
	t.Flags[dissect.ToHost][0x9E] = 450
	t.Flags[dissect.ToHost][0x80] = 50
	t.Flags[dissect.FromHost][0x20] = 300
	return t
}

const summary = `frames     1500 in 94.312 s
datagrams  900 of the game, 3 of GameSpy, 1 malformed, 7 other
messages   1100: 101 reliable, 999 unreliable, 4 duplicate, 1 with errors
fragments  6: 2 reassembled, 1 incomplete
game       901 messages, 25000 bytes, 2 undecoded
`

func TestAppend(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		// The numbers of the first plot take 56 columns with 2 after them, so there
		// are 24 for bars: 100 of 800 are 3.
		{"blocks", Options{Width: 80}, summary + `
game messages     count   share  bytes  → host  host →
0x1C StateUpdate    800  88.79%  24000     500     300  ████████████████████████
0x2C Chat           100  11.10%    998      60      40  ███
0x2B unknown          1   0.11%      2       0       0  ▏

ship updates, client → host        count   share
0x9E DELTA|FORWARD|UP|SPEED|POWER    450  90.00%  ██████████████████████████████
0x80 POWER                            50  10.00%  ███▍

ship updates, host → client  count    share
0x20 SUBSYSTEMS                300  100.00%  ███████████████████████████████████
`},
		{"number signs", Options{Width: 66, ASCII: true}, summary + `
game messages     count   share  bytes  -> host  host ->
0x1C StateUpdate    800  88.79%  24000      500      300  ########
0x2C Chat           100  11.10%    998       60       40  #
0x2B unknown          1   0.11%      2        0        0  #

ship updates, client -> host       count   share
0x9E DELTA|FORWARD|UP|SPEED|POWER    450  90.00%  ################
0x80 POWER                            50  10.00%  ##

ship updates, host -> client  count    share
0x20 SUBSYSTEMS                 300  100.00%  ####################
`},
		{"no room", Options{Width: 50}, summary + `
game messages     count   share  bytes  → host  host →
0x1C StateUpdate    800  88.79%  24000     500     300
0x2C Chat           100  11.10%    998      60      40
0x2B unknown          1   0.11%      2       0       0

ship updates, client → host        count   share
0x9E DELTA|FORWARD|UP|SPEED|POWER    450  90.00%
0x80 POWER                            50  10.00%

ship updates, host → client  count    share
0x20 SUBSYSTEMS                300  100.00%
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(Append(nil, counted(), test.o)); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestDefaultWidth(t *testing.T) {
	widest := 0
	for line := range strings.Lines(string(Append(nil, counted(), Options{}))) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	if widest != 100 {
		t.Errorf("got %d columns, want 100", widest)
	}
}

func TestColor(t *testing.T) {
	got := string(Append(nil, counted(), Options{Width: 66, ASCII: true, Color: true}))
	if !strings.Contains(got, "300  \x1b[36m########\x1b[0m\n") {
		t.Errorf("got %q", got)
	}
}

// What a tally has counted of records.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	var tally measure.Tally
	for i := range 3 {
		r := &dissect.Record{Datagram: &dissect.Datagram{Number: i + 1}, Dir: dissect.ToHost, Payload: []byte{0x2A, 0}}
		r.Transport = transport.Header{Type: transport.Standard, Reliable: true}
		if err := tally.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(&out, &tally, Options{ASCII: true, Width: 40}); err != nil {
		t.Fatal(err)
	}
	want := `datagrams  3 of the game, 0 of GameSpy, 0 malformed, 0 other
messages   3: 3 reliable, 0 unreliable, 0 duplicate, 0 with errors
fragments  0: 0 reassembled, 0 incomplete
game       3 messages, 6 bytes, 0 undecoded

game messages  count    share  bytes  -> host  host ->
0x2A unknown       3  100.00%      6        3        0
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNothing(t *testing.T) {
	got := string(Append(nil, new(measure.Tally), Options{}))
	if !strings.HasSuffix(got, "\n\ngame messages  count  share  bytes  → host  host →\n") {
		t.Errorf("got %q", got)
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestErrors(t *testing.T) {
	if err := Write(closedWriter{}, new(measure.Tally), Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	var t measure.Tally
	for op := range 60 {
		t.Opcodes[op] = measure.OpcodeCount{Name: "Some", Total: int64(1000 * op), Bytes: int64(op)}
		t.Counted += int64(1000 * op)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = Append(dst[:0], &t, Options{})
	}
}
