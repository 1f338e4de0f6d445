package capture

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// Frames can become longer: nothing limits them, and they are read as before.
func TestLongerCopy(t *testing.T) {
	for _, name := range []string{"join_flow-snap60.pcap", "join_flow-rawip.pcap", "join_flow-two-interfaces.pcapng", "join_flow-vlan.pcap"} {
		var out bytes.Buffer
		c := NewCopy("copy", &out, CopyOptions{Hold: true, Longer: true})
		src, err := OpenTapped([]string{fixtures.Path("captures/variants/" + name)}, nil, c)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for {
			d, err := src.Next()
			if err != nil {
				break
			}
			f := c.Held()
			if string(f.Data[f.Payload:][:len(d.Payload)]) != string(d.Payload) {
				t.Fatalf("%s: frame %d: the payload is not at %d", name, f.Number, f.Payload)
			}
			if !d.Truncated() {
				f.Extend(bytes.Repeat([]byte{0xEE}, 70000))
			}
			want = append(want, d.Src.String()+hex.EncodeToString(d.Payload))
			c.Release()
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_ = src.Close()
		tap := &longer{}
		again, err := OpenTapped([]string{"-"}, &out, tap)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			d, err := again.Next()
			if err != nil {
				if n != len(want) || n == 0 {
					t.Errorf("%s: %d datagrams, want %d", name, n, len(want))
				}
				break
			}
			if got := d.Src.String() + hex.EncodeToString(d.Payload); got != want[n] {
				t.Fatalf("%s: datagram %d: got %s, want %s", name, n, got, want[n])
			}
		}
		if tap.snap != 0 || tap.frames != len(want) && name == "join_flow-rawip.pcap" {
			t.Errorf("%s: snap length %d, %d long frames of %d", name, tap.snap, tap.frames, len(want))
		}
	}
}

// A longer is a tap that counts long frames and looks for a snap length.
type longer struct {
	snap   uint32
	frames int
}

func (*longer) File(int)       {}
func (*longer) Section([]byte) {}
func (l *longer) Interface(i *Interface) {
	l.snap = max(l.snap, i.SnapLen)
}
func (*longer) Block(uint32, []byte) {}
func (l *longer) Frame(f *Frame) {
	if len(f.Data) > 70000 && f.Full == len(f.Data) {
		l.frames++
	}
}

// Names of addresses are blocks of type 4, as in the description of pcapng,
// section 4.5.
func TestName(t *testing.T) {
	var out bytes.Buffer
	c := NewCopy("copy", &out, CopyOptions{})
	c.Name(netip.MustParseAddr("10.0.0.2"), "too early")
	c.File(0)
	c.Section(nil)
	c.Interface(&Interface{Link: linkEthernet})
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	c.Name(netip.MustParseAddr("10.0.0.2"), "Cady")
	c.Name(netip.MustParseAddr("fe80::1%eth0"), "Kirk")
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "04000000" + "20000000" + "0100" + "0900" + "0a000002" + "4361647900" + "000000" + "00000000" + "20000000" +
		"04000000" + "2c000000" + "0200" + "1500" + "fe800000000000000000000000000001" + "4b69726b00" + "000000" + "00000000" + "2c000000"
	if got := hex.EncodeToString(out.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
