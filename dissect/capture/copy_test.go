package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

// copied returns a copy of captures.
func copied(t *testing.T, o CopyOptions, captures ...[]byte) ([]byte, CopyStats, error) {
	t.Helper()
	var names []string
	for i, b := range captures {
		names = append(names, filepath.Join(t.TempDir(), fmt.Sprintf("%d.pcap", i)))
		if err := os.WriteFile(names[i], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	c := NewCopy("copy", struct{ io.Writer }{&out}, o)
	s, err := OpenTapped(names, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for err == nil {
		_, err = s.Next()
		c.Release()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if e := c.Close(); e != nil {
		err = e
	}
	return out.Bytes(), c.Stats(), err
}

// TestCopyFixtures copies whole captures of every form: the copies give the same
// datagrams and counts.
func TestCopyFixtures(t *testing.T) {
	t.Parallel()
	for _, name := range allCaptures(t) {
		b := fixtures.Read(t, name)
		want, stats, wantErr := read(t, b)
		out, counts, err := copied(t, CopyOptions{}, b)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %v, reading %v", name, err, wantErr)
		}
		got, again := mustRead(t, out)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the copy has other datagrams", name)
		}
		stats.BytesRead, stats.Size, again.BytesRead, again.Size = 0, 0, 0, 0
		if !reflect.DeepEqual(again, stats) || counts.Frames != stats.Frames || counts.Lacking+counts.Blocks > 0 {
			t.Errorf("%s: the copy has %+v, want %+v; counts %+v", name, again, stats, counts)
		}
	}
}

// sectionWith returns a section header of version 1.0 with options.
func sectionWith(o order, options ...[]byte) []byte {
	b := o.AppendUint32(nil, ngMagic)
	b = o.AppendUint16(b, 1)
	b = o.AppendUint16(b, 0)
	return block(o, ngSection, b, bytes.Repeat([]byte{0xff}, 8), bytes.Join(options, nil))
}

// everything returns a capture with every kind of block and option that is
// copied, in one byte order.
func everything(tb testing.TB, o order) []byte {
	tb.Helper()
	end := option(o, 0)
	u32 := func(v uint32) []byte { return o.AppendUint32(nil, v) }
	u64 := func(v uint64) []byte { return o.AppendUint64(nil, v) }
	text := func(code uint16, s string) []byte { return option(o, code, []byte(s)...) }
	return join(
		sectionWith(o, text(1, "hello"), text(2, "a machine"), text(4, "a program"), end),
		iface(o, linkRaw, 96, text(2, "eth0"), option(o, 4, 10, 0, 0, 1, 255, 0, 0, 0), option(o, 8, u64(1_000_000_000)...),
			option(o, 9, 9), option(o, 10, u32(3600)...), option(o, 13, 4), option(o, 14, u64(7)...), option(o, 16, u64(11)...), end),
		enhanced(o, 0, 0x0102030405060708, udp4([]byte("abcdef")), 200,
			text(1, "odd"), option(o, 2, u32(0x01020304)...), option(o, 3, 2, 1, 2, 3), option(o, 4, u64(3)...),
			option(o, 5, u64(4)...), option(o, 6, u32(5)...), end),
		block(o, ngNames, o.AppendUint16(o.AppendUint16(nil, 1), 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"), u32(0), text(1, "names"), end),
		iface(o, linkEthernet, 0),
		enhanced(o, 1, 5, append(fixtures.Unhex(tb, macs+"08 00"), udp4([]byte("ghi"))...), 45),
		simple(o, udp4([]byte("jkl")), 31),
		block(o, ngStatistics, u32(1), u32(8), u32(9), option(o, 2, append(u32(1), u32(2)...)...), option(o, 4, u64(5)...), end),
		block(o, ngSecrets, u32(0x544c534b), u32(4), []byte("key!")),
		block(o, ngCustom, u32(32473), []byte("data")),
		block(o, 0x1234, []byte("unknown.")),
	)
}

// TestCopyBlocks copies blocks and options of both byte orders: the result is
// the output of a little-endian program.
func TestCopyBlocks(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]order{"little-endian": little, "big-endian": big} {
		secret := block(o, ngNoCopy, o.AppendUint32(nil, 32473), []byte("secret"))
		got, counts, err := copied(t, CopyOptions{}, join(everything(t, o), secret))
		if err != nil || counts != (CopyStats{Frames: 3}) {
			t.Errorf("%s: got %+v, %v", name, counts, err)
		}
		// A writer ends the options of each section and interface.
		want := bytes.Replace(everything(t, little), iface(little, linkEthernet, 0), iface(little, linkEthernet, 0, option(little, 0)), 1)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n% x\nwant\n% x", name, got, want)
		}
	}
}

// TestCopySections keeps the sections of one capture, and joins the sections of
// several captures.
func TestCopySections(t *testing.T) {
	t.Parallel()
	part := func(o order, hardware string) []byte {
		return join(sectionWith(o, option(o, 1, []byte("both")...), option(o, 2, []byte(hardware)...), option(o, 0)),
			iface(o, linkRaw, 0, option(o, 0)), enhanced(o, 0, 1, udp4([]byte(hardware)), 28+len(hardware)))
	}
	got, _, err := copied(t, CopyOptions{Comments: []string{"both"}}, join(part(little, "one"), part(big, "two")))
	if want := join(part(little, "one"), part(little, "two")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got % x, %v\nwant % x", got, err, want)
	}

	o := little
	options := func(hardware string) []byte {
		return join(option(o, 1, []byte("both")...), option(o, 2, []byte(hardware)...))
	}
	got, _, err = copied(t, CopyOptions{Sections: [][]byte{options("one"), options("two")}, Comments: []string{"new"}}, part(little, "one"), part(big, "two"))
	want := join(
		sectionWith(o, options("one"), option(o, 1, []byte("another input: two")...), option(o, 1, []byte("new")...), option(o, 0)),
		iface(o, linkRaw, 0, option(o, 0)), enhanced(o, 0, 1, udp4([]byte("one")), 31),
		iface(o, linkRaw, 0, option(o, 0)), enhanced(o, 1, 1, udp4([]byte("two")), 31),
	)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got % x, %v\nwant % x", got, err, want)
	}
}

func TestCopyPcap(t *testing.T) {
	t.Parallel()
	micro := pcapOf(linkRaw, udp4([]byte("a")), udp4([]byte("b")))
	anyLength := func(b []byte) []byte { // the copy allows any length
		b = bytes.Clone(b)
		little.PutUint32(b[16:], maxFrame)
		return b
	}
	nano := pcapAppend(pcapStart(little, pcapNano, maxFrame, linkRaw), little, 1000, 123456789, udp4([]byte("a")), 40)
	for name, in := range map[string][]byte{"microseconds": micro, "nanoseconds": nano} {
		got, _, err := copied(t, CopyOptions{Pcap: true}, in)
		if err != nil || !bytes.Equal(got, anyLength(in)) {
			t.Errorf("%s: got % x, %v", name, got, err)
		}
	}
	_, _, err := copied(t, CopyOptions{Pcap: true}, micro, pcapOf(linkEthernet, append(fixtures.Unhex(t, macs+"08 00"), udp4([]byte("ghi"))...)))
	if err == nil || !strings.Contains(err.Error(), "have 101 and 1") {
		t.Errorf("got %v", err)
	}
}

// TestCopyKeeps copies chosen frames. A datagram in IP fragments names the
// frames of the others.
func TestCopyKeeps(t *testing.T) {
	t.Parallel()
	pieces := fragments4(udp(numbers(100)), 7, 40)
	in := pcapOf(linkRaw, pieces[0], udp4([]byte("x")), pieces[2], pieces[1], udp4([]byte("y")))
	var others []int
	keep := func(f *Frame) bool {
		if f.Payload < 0 && f.Datagram != nil {
			others = slices.Clone(f.Pieces)
		}
		return f.Number == 2 || f.Number == 5
	}
	got, counts, err := copied(t, CopyOptions{Keep: keep}, in)
	all, _ := mustRead(t, got)
	if err != nil || counts.Frames != 2 || len(all) != 2 || string(all[0].Payload) != "x" || string(all[1].Payload) != "y" {
		t.Errorf("got %+v, %+v, %v", all, counts, err)
	}
	if !slices.Equal(others, []int{1, 3}) {
		t.Errorf("the datagram of frame 4 began in frames %v", others)
	}
}

// TestCopyDecrypted deciphers a payload: the checksum is the one that a network
// card would compute.
func TestCopyDecrypted(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		plain := append([]byte{2, 1}, numbers(n)...)
		build := func(payload []byte) []byte {
			ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, byte(n)}}
			u := &layers.UDP{SrcPort: layers.UDPPort(1000 + n), DstPort: 22101}
			if err := u.SetNetworkLayerForChecksum(ip); err != nil {
				t.Fatal(err)
			}
			buf := gopacket.NewSerializeBuffer()
			if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, u, gopacket.Payload(payload)); err != nil {
				t.Fatal(err)
			}
			return slices.Clone(buf.Bytes())
		}
		in, want := build(cipher.Encrypt(nil, plain)), build(plain)
		f := &Frame{Data: bytes.Clone(in), Payload: 28, Datagram: &packet.Datagram{Payload: cipher.Encrypt(nil, plain), Full: len(plain)}}
		f.SetPayload(plain)
		if !bytes.Equal(f.Data, want) {
			t.Errorf("%d bytes: got\n% x, want\n% x", n, f.Data, want)
		}
	}
}

// TestClearMark reads a marked section, and an unmarked one behind it.
func TestClearMark(t *testing.T) {
	t.Parallel()
	pieces := fragments4(udp(numbers(100)), 7, 40)
	in := iface(little, linkRaw, 0)
	marked := sectionWith(little, option(little, 1, []byte(ClearMark)...))
	all, _ := mustRead(t, join(marked, in,
		enhanced(little, 0, 1, udp4([]byte("a")), 29), enhanced(little, 0, 1, pieces[0], len(pieces[0])),
		enhanced(little, 0, 1, pieces[1], len(pieces[1])), enhanced(little, 0, 1, pieces[2], len(pieces[2])),
		section(little), in, enhanced(little, 0, 1, udp4([]byte("b")), 29)))
	var forms []packet.Form
	for _, d := range all {
		forms = append(forms, d.Form)
	}
	if want := []packet.Form{packet.Clear, packet.Wire, packet.Wire}; !slices.Equal(forms, want) {
		t.Errorf("got forms %v, want %v", forms, want)
	}
}

// FuzzCopy copies arbitrary captures: the copy is whole and gives the same
// datagrams.
func FuzzCopy(f *testing.F) {
	for _, name := range allCaptures(f) {
		if b := fixtures.Read(f, name); len(b) < 20<<10 {
			f.Add(b[:min(len(b), 600)])
		}
	}
	f.Add(everything(f, little))
	f.Add(everything(f, big))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 4 && (isGzip(b[:4]) || isZstd(b[:4])) {
			t.Skip() // may hold more than memory does
		}
		s := &Series{stdin: bytes.NewReader(b), queue: []input{{name: "-"}}}
		var out bytes.Buffer
		c := NewCopy("copy", struct{ io.Writer }{&out}, CopyOptions{})
		s.tap = c
		s.advance()
		if len(s.open) == 0 {
			t.Skip()
		}
		var want []packet.Datagram
		for {
			d, err := s.Next()
			if err != nil {
				break
			}
			kept := *d
			kept.Payload = bytes.Clone(d.Payload)
			want = append(want, kept)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		got, _, err := read(t, out.Bytes())
		if err != nil && !errors.Is(err, ErrEmpty) {
			t.Fatal(err)
		}
		if c.Stats().Lacking > 0 { // then frames have other numbers
			t.Skip()
		}
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("the copy has other datagrams:\n%+v\nwant\n%+v", got, want)
		}
	})
}
