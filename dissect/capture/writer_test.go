package capture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func options() *WriterOptions {
	return &WriterOptions{
		Link: linkRaw, SnapLen: 262144, Start: start, Hardware: "amd64", System: "linux", Application: "bcdissect 1.2",
		Interface: "eth0", Description: "card", Filter: "udp port 22101",
	}
}

// packetOf returns a packet with an IPv4 datagram.
func packetOf(at time.Time, payload []byte) (gopacket.CaptureInfo, []byte) {
	b := udp4(payload)
	return gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(b), Length: len(b)}, b
}

// The bytes of a whole file, worked out by hand from the format specification
// (draft-ietf-opsawg-pcapng).
func TestWriterBytes(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter("x", &out, &WriterOptions{
		Link: 276, SnapLen: 0x40000, Start: time.Unix(1, 5), Hardware: "amd64", System: "linux", Application: "bcd 1",
		Interface: "any", Filter: "udp",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0x12345678, 0), Length: 9}, []byte{1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(Counters{Counters: device.Counters{Received: 3, Dropped: 2}, Time: time.Unix(2, 0)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := fixtures.Unhex(t, `
		0a0d0d0a 44000000  4d3c2b1a 0100 0000  ffffffff ffffffff # section, of unknown length
		0200 0500 616d6436 34000000                              # hardware
		0300 0500 6c696e75 78000000                              # system
		0400 0500 62636420 31000000                              # application
		0000 0000 44000000

		01000000 30000000  1401 0000 00000400                    # interface: link type, snap length
		0200 0300 616e7900                                       # name
		0900 0100 09000000                                       # nanoseconds
		0b00 0400 00756470                                       # filter, as text
		0000 0000 30000000

		06000000 28000000  00000000                              # packet of interface 0
		c6113d04 00b06af8                                        # 305419896 s, in nanoseconds
		05000000 09000000 01020304 05000000 28000000

		05000000 4c000000  00000000 00000000 00943577            # statistics, at 2 s
		0200 0800 00000000 05ca9a3b                              # start
		0300 0800 00000000 00943577                              # end
		0400 0800 03000000 00000000                              # received
		0500 0800 02000000 00000000                              # dropped
		0000 0000 4c000000`)
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("got  % x\nwant % x", out.Bytes(), want)
	}
	if w.size != int64(out.Len()) {
		t.Errorf("got size %d, want %d", w.size, out.Len())
	}
}

// sameDatagrams compares all but numbers and times.
func sameDatagrams(t *testing.T, got, want []packet.Datagram) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d datagrams, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.Src != w.Src || g.Dst != w.Dst || g.Full != w.Full || !bytes.Equal(g.Payload, w.Payload) {
			t.Fatalf("datagram %d: got %v to %v with % x, want %v to %v with % x", i, g.Src, g.Dst, g.Payload, w.Src, w.Dst, w.Payload)
		}
	}
}

// Written packets are read back unchanged, whichever reader was used.
func TestWriterRoundTrip(t *testing.T) {
	for _, name := range []string{"battle_mix.pcap.gz", "battle_mix-s96.pcap.gz", "variants/join_flow-sll2.pcap"} {
		t.Run(name, func(t *testing.T) {
			b := fixtures.Read(t, "captures/"+name)
			want, wantStats := mustRead(t, b)
			f, err := NewReader(name, bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			var w *Writer
			for {
				var one frame
				if err := f.open[0].frames.next(&one); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if w == nil {
					o := options()
					o.Link = one.Link
					if w, err = NewWriter("x", &out, o); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: one.Time, Length: one.Full}, one.Data); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, gotStats := mustRead(t, out.Bytes())
			sameDatagrams(t, got, want)
			for i := range got {
				if !got[i].Time.Equal(want[i].Time) || got[i].Digits != 9 || got[i].Number != want[i].Number {
					t.Fatalf("datagram %d: got %+v, want %+v", i, got[i], want[i])
				}
			}
			if gotStats.Frames != wantStats.Frames {
				t.Errorf("got %d frames, want %d", gotStats.Frames, wantStats.Frames)
			}
		})
	}
}

// A calls stores the argument of each call of Write.
type calls [][]byte

func (c *calls) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

// A crash leaves a file without its last packets, but not a damaged one: every
// write ends with a block.
func TestWriterCrash(t *testing.T) {
	var out calls
	w, err := NewWriter("x", &out, options())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if err := w.WritePacket(packetOf(start, numbers(i))); err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			if err := w.Flush(Counters{}); err != nil {
				t.Fatal(err)
			}
			if all, _ := mustRead(t, bytes.Join(out, nil)); len(all) != 11 {
				t.Errorf("got %d packets after a flush, want all 11", len(all))
			}
		}
	}
	if len(out) < 10 {
		t.Errorf("got %d writes, want many", len(out))
	}
	last := 0
	for n := range out {
		all, _ := mustRead(t, bytes.Join(out[:n+1], nil)) // fails if it is cut
		if len(all) < last {
			t.Errorf("got %d packets after %d writes, and %d before", len(all), n+1, last)
		}
		last = len(all)
	}
	if len(out[len(out)-1]) > writeSize {
		t.Errorf("got %d bytes in one write, want at most %d", len(out[len(out)-1]), writeSize)
	}
}

func TestWriterLarge(t *testing.T) {
	var out bytes.Buffer
	o := options()
	o.Filter = strings.Repeat("x", 1<<17) // more than an option can hold
	w, err := NewWriter("x", &out, o)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, device.MaxSnapLen)
	for range 3 {
		if err := w.WritePacket(gopacket.CaptureInfo{Length: 1 << 20}, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, stats := mustRead(t, out.Bytes())
	if stats.Frames != 3 || !stats.FirstTime.Equal(time.Unix(0, 0)) {
		t.Errorf("got %+v, want 3 frames of 1970", stats)
	}
}

// A fullDisk accepts some bytes and no more.
type fullDisk int

func (f *fullDisk) Write(b []byte) (int, error) {
	if *f -= fullDisk(len(b)); *f < 0 {
		return 0, &os.PathError{Op: "write", Path: "x.pcapng", Err: errFull}
	}
	return len(b), nil
}

func TestWriterFails(t *testing.T) {
	none := fullDisk(0)
	if _, err := NewWriter("x.pcapng", &none, options()); err == nil || err.Error() != "x.pcapng: no space left" {
		t.Errorf("got %v, want the name and why", err)
	}
	some := fullDisk(1000)
	w, err := NewWriter("x.pcapng", &some, options())
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = w.WritePacket(packetOf(start, numbers(1000)))
	}
	for range 2 {
		if !errors.Is(err, errFull) || err.Error() != "x.pcapng: no space left" {
			t.Errorf("got %v, want the name and why", err)
		}
		err = w.Flush(Counters{})
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	dir := t.TempDir()
	if _, err := CreateWriter(dir, options()); err == nil || strings.Contains(err.Error(), "open") || !strings.HasPrefix(err.Error(), dir+": ") {
		t.Errorf("got %v, want the name and why", err)
	}
	c, err := CreateWriter(filepath.Join(dir, "x.pcapng"), options())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.WritePacket(packetOf(start, nil)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want %v", err, os.ErrClosed)
	}
}

// A smallDisk is a file on a disk with limited space; a write fills it up.
type smallDisk struct {
	*os.File
	room int
}

func (d *smallDisk) Write(b []byte) (int, error) {
	n, err := d.File.Write(b[:min(len(b), d.room)])
	if d.room -= n; err == nil && n < len(b) {
		err = errFull
	}
	return n, err
}

// A file truncated by a full disk can be read to its end.
func TestWriterDiskFull(t *testing.T) {
	headers := new(bytes.Buffer)
	if _, err := NewWriter("x", headers, options()); err != nil {
		t.Fatal(err)
	}
	block := packetBlock(len(udp4(numbers(100))))
	for _, extra := range []int{0, 1, 7, 8, block - 1} {
		path := filepath.Join(t.TempDir(), "small.pcapng")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(path, &smallDisk{f, headers.Len() + 3*block + extra}, options())
		if err != nil {
			t.Fatal(err)
		}
		for n := range 5 {
			if err := w.WritePacket(packetOf(start, numbers(100))); err != nil {
				t.Fatal(err)
			}
			if n == 0 { // the next write is not at the start of the file
				if err := w.Flush(Counters{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("got %v, want %v", err, errFull)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := mustRead(t, b)
		if len(all) != 3 || len(b) != headers.Len()+3*block {
			t.Errorf("%d more bytes: got %d datagrams in %d bytes, want three and nothing else", extra, len(all), len(b))
		}
	}
}

func TestWriterAllocations(t *testing.T) {
	w, err := NewWriter("x", io.Discard, options())
	if err != nil {
		t.Fatal(err)
	}
	ci, data := packetOf(start, numbers(101))
	if n := testing.AllocsPerRun(10000, func() { _ = w.WritePacket(ci, data) }); n != 0 {
		t.Errorf("got %v allocations a packet, want 0", n)
	}
}

// Wireshark's programs accept the file.
func TestWriterWireshark(t *testing.T) {
	fixtures.System(t)
	for _, name := range []string{"capinfos", "tshark"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is missing; it is in the package tshark", name)
		}
	}
	path := filepath.Join(t.TempDir(), "x.pcapng")
	w, err := CreateWriter(path, options())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := w.WritePacket(packetOf(start.Add(time.Duration(i)*1001), numbers(i))); err != nil {
			t.Fatal(err)
		}
	}
	// The file is readable before its end.
	if err := w.Flush(Counters{Counters: device.Counters{Received: 7, Dropped: 2}, Time: start.Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		var errs bytes.Buffer
		cmd := exec.Command(name, args...)
		cmd.Stderr = &errs
		out, err := cmd.Output()
		said := strings.ReplaceAll(errs.String(), "Running as user \"root\" and group \"root\". This could be dangerous.\n", "")
		if err != nil || said != "" {
			t.Errorf("%s: %v: %s", name, err, said)
		}
		return string(out)
	}
	lines := func() {
		t.Helper()
		got := run("tshark", "-r", path, "-n", "-T", "fields", "-e", "frame.time_epoch", "-e", "udp.length", "-e", "frame.interface_name")
		want := "1772366400.000000000\t8\teth0\n1772366400.000001001\t9\teth0\n1772366400.000002002\t10\teth0\n" +
			"1772366400.000003003\t11\teth0\n1772366400.000004004\t12\teth0\n"
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	lines()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lines()
	about := run("capinfos", path)
	for _, want := range []string{
		"pcapng", "Raw IP", "nanoseconds", "amd64", "linux", "bcdissect 1.2", "Name = eth0", "Description = card",
		"Capture length = 262144", "Time ticks per second = 1000000000", "Number of stat entries = 1", "Filter string = udp port 22101",
	} {
		if !strings.Contains(about, want) {
			t.Errorf("got no %q in %s", want, about)
		}
	}
	got := run("tshark", "-r", path, "-q", "-z", "io,stat,0")
	if !strings.Contains(got, "5") {
		t.Errorf("got %s, want 5 frames", got)
	}
}
