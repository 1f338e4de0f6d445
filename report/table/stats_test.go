package table

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

func counted() *measure.Tally {
	t := &measure.Tally{
		Frames: 1500, Duration: 94312 * time.Millisecond, Other: 7,
		Game: 900, GameSpy: 3, Malformed: 1,
		Messages: 1100, Reliable: 101, Unreliable: 999, Duplicates: 4,
		Fragments: 6, Reassembled: 2, Incomplete: 1,
		Counted: 901, PayloadBytes: 25000, ResidueBytes: 2, Errors: 1,
	}
	t.Opcodes[0x1C] = measure.OpcodeCount{Name: "StateUpdate", ToHost: 500, FromHost: 300, Total: 800, Bytes: 24000}
	t.Opcodes[0x2C] = measure.OpcodeCount{Name: "Chat", Topic: decode.TopicTalk, ToHost: 60, FromHost: 40, Total: 100, Bytes: 998}
	t.Opcodes[0x2B] = measure.OpcodeCount{Total: 1, Bytes: 2}
	t.Flags[dissect.ToHost][0x9E] = 450
	t.Flags[dissect.ToHost][0x80] = 50
	return t
}

func TestStats(t *testing.T) {
	var out bytes.Buffer
	if err := Stats(&out, counted(), Options{ASCII: true}); err != nil {
		t.Fatal(err)
	}
	want := `frames     1500 in 94.312 s
datagrams  900 of the game, 3 of GameSpy, 1 malformed, 7 other
messages   1100: 101 reliable, 999 unreliable, 4 duplicate, 1 with errors
fragments  6: 2 reassembled, 1 incomplete
game       901 messages, 25000 bytes, 2 undecoded

 opcode  name         -> host  host ->  total  bytes   share
-------------------------------------------------------------
 0x1C    StateUpdate      500      300    800  24000  88.79%
 0x2C    Chat              60       40    100    998  11.10%
 0x2B    unknown            0        0      1      2   0.11%

 flags  ship updates, client -> host  total   share
----------------------------------------------------
 0x9E   DELTA|FORWARD|UP|SPEED|POWER    450  90.00%
 0x80   POWER                            50  10.00%
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStatsInColor(t *testing.T) {
	var out bytes.Buffer
	if err := Stats(&out, counted(), Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		" 0x2C    \x1b[32mChat\x1b[0m             60      40    100    998  11.10%\n",
		"──────",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestStatsErrors(t *testing.T) {
	if err := Stats(closedWriter{}, counted(), Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
