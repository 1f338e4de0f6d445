package reading

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// rawIPv4 returns a capture of IPv4 packets with these protocols and nothing in
// them.
func rawIPv4(protocols ...byte) []byte {
	const linkRaw = 101
	b := binary.LittleEndian.AppendUint32(nil, 0xA1B2C3D4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, linkRaw, 0, 0, 0)
	for i, p := range protocols {
		b = binary.LittleEndian.AppendUint32(b, 1000+uint32(i))
		b = append(b, 0, 0, 0, 0, 28, 0, 0, 0, 28, 0, 0, 0)
		b = append(b, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, p, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
		b = append(b, 0, 80, 0, 81, 0, 8, 0, 0) // as of an empty UDP datagram
	}
	return b
}

// A capture without the game says which traffic it holds.
func TestNothing(t *testing.T) {
	const icmp, tcp, udp = 1, 6, 17
	for want, capture := range map[string][]byte{
		"bcdissect: 3 frames, none of the game (3 TCP)\n":                                 rawIPv4(tcp, tcp, tcp),
		"bcdissect: 4 frames, none of the game (1 other UDP, 2 TCP, 1 other protocols)\n": rawIPv4(tcp, icmp, tcp, udp),
		"bcdissect: 1 frame, none of the game (1 other UDP)\n":                            rawIPv4(udp),
		"bcdissect: no frames\n":                                                          rawIPv4(),
	} {
		name := filepath.Join(t.TempDir(), "a.pcap")
		if err := os.WriteFile(name, capture, 0o600); err != nil {
			t.Fatal(err)
		}
		var out, said bytes.Buffer
		f := cli.Common{Jobs: 1}
		err := Captures(&f, cli.Streams{Out: &out, Err: &said}, []string{name}, func(*cli.Output, time.Time) (report.Sink, func(*Counts) error) {
			return new(measure.Tally), nil
		})
		if err != nil || said.String() != want {
			t.Errorf("got %q and %v, want %q", said.String(), err, want)
		}
	}
}
