package capture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/fixtures"
)

// bothWays is what pcapgo's readers and our sources have in common.
type bothWays interface {
	gopacket.PacketDataSource
	gopacket.ZeroCopyPacketDataSource
}

// ownSource is a source of ours.
type ownSource interface {
	bothWays
	LinkType() LinkType
}

// byPcapgo opens a capture with gopacket's own readers, unpacked: gopacket unpacks
// pcap in gzip only.
func byPcapgo(name string) (src bothWays, link layers.LinkType, err error) {
	f, err := os.ReadFile(fixtures.Path(name))
	if err != nil {
		return nil, 0, err
	}
	return pcapgoFrom(f)
}

func pcapgoFrom(capture []byte) (src bothWays, link layers.LinkType, err error) {
	b := newBuffer(bytes.NewReader(capture))
	r := bufio.NewReader(b)
	if inner, err := unpack(b); inner != nil || err != nil {
		r = bufio.NewReader(inner)
	}
	if magic, _ := r.Peek(4); string(magic) == "\x0a\x0d\x0d\x0a" {
		ng, err := pcapgo.NewNgReader(r, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, 0, err
		}
		return ng, 0, nil // each packet has its own
	}
	p, err := pcapgo.NewReader(r)
	if err != nil {
		return nil, 0, err
	}
	return p, p.LinkType(), nil
}

// Each capture among the fixtures gives the same datagrams through pcapgo, with
// these exceptions.
func TestThroughPcapgo(t *testing.T) {
	exceptions := map[string]string{
		"captures/variants/join_flow-filecut.pcap": "pcapgo says io.ErrUnexpectedEOF, and we say where",
		"captures/variants/join_flow-sll2.pcap":    "the link type 276 has more than the 8 bits of layers.LinkType",
	}
	for _, name := range everyCapture(t) {
		t.Run(name, func(t *testing.T) {
			want, stats, wantErr := readFixture(t, name)
			src, link, err := byPcapgo(name)
			if err != nil {
				t.Fatal(err)
			}
			number := uint16(link)
			switch exceptions[name] {
			case "":
			case exceptions["captures/variants/join_flow-sll2.pcap"]:
				if link != linkSLL2&0xff {
					t.Errorf("pcapgo has link type %d", link)
				}
				number = linkSLL2 // which one who knows it can say
			default:
				if !errors.Is(wantErr, ErrCut) {
					t.Errorf("got %v, want %v", wantErr, ErrCut)
				}
				wantErr = io.ErrUnexpectedEOF
			}
			p := FromPackets(src, number)
			got, err := datagrams(t, p)
			for i := range got {
				got[i].Digits = want[min(i, len(want)-1)].Digits // FromPackets does not know them
			}
			if !errors.Is(err, wantErr) || !alike(got, want) || p.Stats().Frames != stats.Frames {
				t.Errorf("got %d datagrams of %d packets and %v by pcapgo, %d of %d and %v without", len(got), p.Stats().Frames, err, len(want), stats.Frames, wantErr)
			}
		})
	}
}

// gopacket's programs get the packets that pcapgo reads, and decode them by the
// link type.
func TestPacketDataSource(t *testing.T) {
	for _, name := range everyCapture(t) {
		t.Run(name, func(t *testing.T) {
			f, err := Open(fixtures.Path(name), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			comparePackets(t, name, f)
			s, err := OpenAll([]string{fixtures.Path(name)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			comparePackets(t, name, s)

			want, _, _ := readFixture(t, name)
			s, err = OpenAll([]string{fixtures.Path(name)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			src := gopacket.NewPacketSource(s, s.LinkType())
			if strings.HasSuffix(name, "two-interfaces.pcapng") || len(want) == 0 {
				return // a PacketSource has one link type
			}
			for i := range min(len(want), 1000) {
				p, err := src.NextPacket()
				if err != nil {
					t.Fatal(err)
				}
				if udp, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP); !ok || !bytes.Equal(udp.Payload, want[i].Payload) {
					t.Fatalf("packet %d: got %v", i+1, p)
				}
			}
		})
	}
}

// comparePackets compares the packets of a source with the ones that pcapgo reads.
func comparePackets(t *testing.T, name string, got ownSource) {
	t.Helper()
	want, link, err := byPcapgo(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		w, wi, err := want.ReadPacketData()
		if err != nil {
			if _, _, err := got.ReadPacketData(); !errors.Is(err, io.EOF) && !errors.Is(err, ErrCut) {
				t.Errorf("got %v at the end", err)
			}
			return
		}
		if len(wi.AncillaryData) > 0 {
			link = wi.AncillaryData[0].(layers.LinkType)
		}
		next := got.LinkType()
		read := got.ReadPacketData
		if n%2 == 0 {
			read = got.ZeroCopyReadPacketData
		}
		g, gi, err := read()
		if err != nil || !bytes.Equal(g, w) || gi.CaptureLength != len(g) || gi.Length != wi.Length || gi.InterfaceIndex != wi.InterfaceIndex ||
			!gi.Timestamp.Equal(wi.Timestamp) || gi.AncillaryData[0] != next || layers.LinkType(next) != link {
			t.Fatalf("packet %d: got %+v, %x and %v, want %+v, %x", n, gi, g, err, wi, w)
		}
	}
}

// A source of packets may have its own timeouts, link types, and times.
func TestFromPackets(t *testing.T) {
	s := newScript(step{}, step{payload: "one"}, step{payload: "two"}, step{err: errEnd})
	p := FromPackets(foreign{s}, linkRaw)
	all, err := datagrams(t, p)
	if len(all) != 2 || string(all[1].Payload) != "two" || !errors.Is(err, errEnd) || p.Close() != nil || s.closed != 0 {
		t.Errorf("got %+v and %v", all, err)
	}
	for _, link := range []any{layers.LinkTypeRaw, LinkType(linkRaw)} {
		p := FromPackets(foreign{newScript(step{payload: "x"}, step{err: errEnd})}, linkEthernet)
		if p.linkOf(&gopacket.CaptureInfo{AncillaryData: []any{"other", link}}) != linkRaw {
			t.Errorf("%T is not taken for a link type", link)
		}
	}
}

// foreign is a source without more than gopacket asks for.
type foreign struct{ s *script }

func (f foreign) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	return f.s.ZeroCopyReadPacketData()
}

// The packets of a live capture, and of a log.
func TestPacketsOfOthers(t *testing.T) {
	l := scripted(newScript(numberedSteps(2)...), 0)
	l.link, l.most = linkRaw, 2
	b, ci, err := l.ReadPacketData()
	if err != nil || !bytes.Equal(b, udp4([]byte("0"))) || ci.Length != len(b) || l.LinkType() != linkRaw {
		t.Errorf("got %x, %+v and %v", b, ci, err)
	}
	if d, err := l.Next(); err != nil || string(d.Payload) != "1" {
		t.Errorf("got %v and %v, want the next packet", d, err)
	}
	if _, _, err := l.ZeroCopyReadPacketData(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}

	logs, packets := fixtures.Glob(t, "logs/*"), 0
	for _, name := range logs {
		f, err := Open(fixtures.Path(name), nil)
		if err != nil {
			continue // no log
		}
		src := gopacket.NewPacketSource(f, f.LinkType())
		for {
			p, err := src.NextPacket()
			if err != nil {
				break
			}
			if p.TransportLayer() == nil || p.TransportLayer().LayerType() != layers.LayerTypeUDP {
				t.Fatalf("%s: got %v", name, p)
			}
			packets++
		}
		f.Close()
	}
	if packets == 0 {
		t.Errorf("no packets in %d logs", len(logs))
	}

	// gopacket takes the timeout of a device for a temporary error, and goes on.
	var d any = new(device.Device)
	if _, ok := d.(bothWays); !ok {
		t.Error("a device is no source of packets")
	}
	var timeout net.Error
	if !errors.As(os.ErrDeadlineExceeded, &timeout) || !timeout.Temporary() { //nolint:staticcheck // gopacket asks for it
		t.Error("a timeout is not temporary")
	}
}

// Reading packets does not allocate.
func TestPacketAllocations(t *testing.T) {
	b := fixtures.Read(t, "captures/variants/join_flow-sll2.pcap")
	f, err := NewReader("test", &endless{rest: b, all: b, header: pcapHeader})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if _, _, err := f.ZeroCopyReadPacketData(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations a packet, want 0", n)
	}
}

// everyCapture returns all captures among the fixtures.
func everyCapture(t *testing.T) (names []string) {
	t.Helper()
	root := fixtures.Path("captures")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(fixtures.Dir(), path)
		if strings.Contains(d.Name(), ".pcap") && !strings.HasSuffix(path, ".json") {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || len(names) < 20 {
		t.Fatalf("got %d captures and %v", len(names), err)
	}
	return names
}
