//go:build !(libpcap && cgo)

// libpcap has other names for link types.

package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

// namespace gives the test a network namespace, which is isolated and
// disappears with it. Its thread is not reused.
func namespace(t *testing.T) {
	t.Helper()
	fixtures.System(t)
	if os.Getuid() != 0 {
		t.Skip("only root can make a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is missing; it is in the package iproute2")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	ip(t, "link set lo up")
}

func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// veth makes two connected interfaces, v0 and v1; each receives only the
// packets of the other.
func veth(t *testing.T) {
	t.Helper()
	namespace(t)
	if out, err := exec.Command("ip", strings.Fields("link add v0 type veth peer name v1")...).CombinedOutput(); err != nil {
		t.Skipf("no veth pair: %v: %s", err, out)
	}
	for _, name := range []string{"v0", "v1"} {
		ip(t, "link set "+name+" addrgenmode none") // prevents IPv6 neighbour discovery
		ip(t, "link set "+name+" up")
	}
}

// openLive opens an interface, and closes it at the end of the test.
func openLive(t *testing.T, o device.Options) *Live {
	t.Helper()
	l, err := OpenLive(LiveOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// sender returns a function that sends whole frames through an interface.
func sender(t *testing.T, name string) func([]byte) {
	t.Helper()
	i, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	to := &unix.SockaddrLinklayer{Ifindex: i.Index}
	return func(frame []byte) {
		if err := unix.Sendto(fd, frame, 0, to); err != nil {
			t.Error(err)
		}
	}
}

// talker returns a function that sends datagrams to a port of this machine.
func talker(t *testing.T, port int) func(string) {
	t.Helper()
	// A listener prevents ICMP errors.
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func(text string) {
		if _, err := c.WriteTo([]byte(text), c.LocalAddr()); err != nil {
			t.Error(err)
		}
	}
}

// until reads datagrams up to one with the payload "end".
func until(t *testing.T, s packet.Source) []string {
	t.Helper()
	var got []string
	for {
		d, err := s.Next()
		if err != nil {
			t.Fatalf("got %v after %q", err, got)
		}
		if string(d.Payload) == "end" {
			return got
		}
		got = append(got, string(d.Payload))
	}
}

// framesOf returns the frames of a capture.
func framesOf(t *testing.T, name string) (all [][]byte) {
	t.Helper()
	f, err := NewReader(name, bytes.NewReader(fixtures.Read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	for {
		var one frame
		if err := f.open[0].frames.next(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if one.Link != linkEthernet {
			t.Fatalf("got link type %d", one.Link)
		}
		all = append(all, bytes.Clone(one.Data))
	}
}

// TestLiveBattle sends a battle at full speed, many times faster than a game.
// Everything must arrive, in Next and in the file.
func TestLiveBattle(t *testing.T) {
	veth(t)
	const name = "captures/battle_mix.pcap.gz"
	want, _ := mustRead(t, fixtures.Read(t, name))
	sent := framesOf(t, name)
	send := sender(t, "v1")
	l := openLive(t, device.Options{Interface: "v0"})
	path := filepath.Join(t.TempDir(), "battle.pcapng")
	o := l.WriterOptions()
	o.Application = "test"
	w, err := CreateWriter(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	l.Tee(w)

	began := time.Now()
	go func() {
		for _, f := range sent {
			send(f)
		}
		t.Logf("%d packets sent at %.0f a second", len(sent), float64(len(sent))/time.Since(began).Seconds())
	}()
	var got []packet.Datagram
	for range want {
		d, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		c := *d
		c.Payload = bytes.Clone(d.Payload)
		got = append(got, c)
	}
	t.Logf("%d datagrams read at %.0f a second", len(got), float64(len(got))/time.Since(began).Seconds())
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	c := l.Counters()
	if c.Received != uint64(len(sent)) || c.Read != c.Received || c.Dropped != 0 || c.Overflowed != 0 {
		t.Errorf("got %+v, want %d packets and none lost", c, len(sent))
	}
	if l.LinkType() != linkEthernet {
		t.Errorf("got link type %d, want Ethernet", l.LinkType())
	}
	sameDatagrams(t, got, want)
	for i := range got {
		if age := got[i].Time.Sub(began); age < -time.Second || age > 10*time.Minute || got[i].Digits != 9 {
			t.Fatalf("datagram %d: got time %v and %d digits", i, got[i].Time, got[i].Digits)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	written, _ := mustRead(t, b)
	sameDatagrams(t, written, got)
	for i := range written {
		if written[i].Number != got[i].Number || !written[i].Time.Equal(got[i].Time) {
			t.Fatalf("datagram %d: got %+v, want %+v", i, written[i], got[i])
		}
	}
}

// The kernel removes VLAN tags from packets.
func TestLiveVLAN(t *testing.T) {
	veth(t)
	l := openLive(t, device.Options{Interface: "v0", SnapLen: 64})
	sent := framesOf(t, "captures/variants/join_flow-vlan.pcap")
	path := filepath.Join(t.TempDir(), "vlan.pcapng")
	o := l.WriterOptions()
	w, err := CreateWriter(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	l.Tee(w)
	send := sender(t, "v1")
	for _, f := range sent {
		send(f)
	}
	var last int
	for last < len(sent) {
		d, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		last = d.Number
	}
	if err := errors.Join(l.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewReader(path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range sent {
		var got frame
		if err := f.open[0].frames.next(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Data, want[:min(64, len(want))]) || got.Full != len(want) {
			t.Fatalf("frame %d: got % x (%d), want % x (%d)", i, got.Data, got.Full, want, len(want))
		}
	}
}

// Packets of a machine to itself pass the loopback twice, out and in.
func TestLiveLoopback(t *testing.T) {
	for _, name := range []string{"lo", "any"} {
		t.Run(name, func(t *testing.T) {
			namespace(t)
			l := openLive(t, device.Options{Interface: name})
			say := talker(t, 22101)
			for _, text := range []string{"one", "two", "three", "end"} {
				say(text)
			}
			if got := until(t, l); fmt.Sprint(got) != "[one two three]" {
				t.Errorf("got %q, want one, two and three", got)
			}
		})
	}
}

func TestLiveAny(t *testing.T) {
	veth(t)
	l := openLive(t, device.Options{Interface: "any"})
	if l.LinkType() != linkSLL2 {
		t.Errorf("got link type %d, want %d", l.LinkType(), linkSLL2)
	}
	var written frames
	l.Tee(&written)
	ethernet := join(bytes.Repeat([]byte{2}, 6), bytes.Repeat([]byte{4}, 6), []byte{8, 0})
	sender(t, "v1")(join(ethernet, udp4([]byte("over the wire"))))
	talker(t, 22101)("end")
	// It leaves one interface and arrives at the other.
	if got := until(t, l); fmt.Sprint(got) != "[over the wire over the wire]" {
		t.Errorf("got %q, want it from both ends", got)
	}
	_ = l.Close()
	kinds := map[byte]int{}
	for _, b := range written {
		kinds[b[10]]++
		if i, err := net.InterfaceByIndex(int(big.Uint32(b[4:]))); err != nil || b[10] == unix.PACKET_HOST && i.Name != "lo" {
			t.Errorf("got % x, which is of %v: %v", b[:20], i, err)
		}
	}
	if len(written) != 3 || kinds[unix.PACKET_HOST] != 1 || kinds[unix.PACKET_OUTGOING] != 1 || kinds[unix.PACKET_OTHERHOST] != 1 {
		t.Errorf("got %v, want one that came, one that left and one for somebody else", kinds)
	}
	if got := written[0]; !bytes.Equal(got[11:20], []byte{6, 4, 4, 4, 4, 4, 4, 0, 0}) || be16(got) != uint16(layers.EthernetTypeIPv4) || be16(got[8:]) != unix.ARPHRD_ETHER {
		t.Errorf("got % x, want the sender's address", got[:20])
	}
}

// toPort returns a filter for IPv4 datagrams to a port, for link types with the
// protocol and the packet at these header offsets.
func toPort(port uint32, protocol, header uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: protocol, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(layers.EthernetTypeIPv4), SkipTrue: 6},
		bpf.LoadAbsolute{Off: header + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(layers.IPProtocolUDP), SkipTrue: 4},
		bpf.LoadMemShift{Off: header},
		bpf.LoadIndirect{Off: header + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: port, SkipTrue: 1},
		bpf.RetConstant{Val: 65535},
		bpf.RetConstant{Val: 0},
	}
}

func TestLiveFilter(t *testing.T) {
	tests := []struct {
		name     string
		on       string
		filter   []bpf.Instruction
		link     uint16
		received uint64 // in the kernel's count
	}{
		{"in the kernel", "lo", toPort(22101, 12, 14), linkEthernet, 3},
		{"in the kernel, any", "any", toPort(22101, 0, 20), linkSLL2, 6}, // both directions
		// It tests the length, which the kernel knows without the header, so the
		// kernel accepts everything.
		{"here, any", "any", append([]bpf.Instruction{
			bpf.LoadExtension{Num: bpf.ExtLen},
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 20 + 28, SkipTrue: 8},
		}, toPort(22101, 0, 20)...), linkSLL2, 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			namespace(t)
			l := openLive(t, device.Options{Interface: tt.on, Filter: func(link uint16) ([]bpf.RawInstruction, error) {
				if link != tt.link {
					t.Errorf("got link type %d, want %d", link, tt.link)
				}
				return bpf.Assemble(tt.filter)
			}})
			yes, no := talker(t, 22101), talker(t, 22102)
			for _, text := range []string{"one", "two", "end"} {
				no("not " + text)
				yes(text)
			}
			if got := until(t, l); fmt.Sprint(got) != "[one two]" {
				t.Errorf("got %q, want one and two", got)
			}
			_ = l.Close()
			if c := l.Counters(); c.Received != tt.received || c.Read != 3 {
				t.Errorf("got %+v, want %d received and 3 read", c, tt.received)
			}
		})
	}
}

func TestLiveFilterRefused(t *testing.T) {
	namespace(t)
	_, err := OpenLive(LiveOptions{Options: device.Options{Interface: "lo", Filter: func(uint16) ([]bpf.RawInstruction, error) {
		return nil, errors.New("no such port")
	}}})
	if err == nil || err.Error() != "no such port" {
		t.Errorf("got %v, want what the filter said", err)
	}
	_, err = OpenLive(LiveOptions{Options: device.Options{Interface: "lo", Filter: func(uint16) ([]bpf.RawInstruction, error) {
		return []bpf.RawInstruction{{Op: 0xffff}}, nil
	}}})
	if err == nil || !strings.HasPrefix(err.Error(), "lo: the filter cannot be run: ") {
		t.Errorf("got %v, want that it cannot be run", err)
	}
}

// Close must end a Next that waits without traffic.
func TestLiveClose(t *testing.T) {
	namespace(t)
	l := openLive(t, device.Options{Interface: "lo"})
	end := make(chan error)
	go func() {
		_, err := l.Next()
		end <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-end; !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveDown(t *testing.T) {
	for _, tt := range []struct{ do, want string }{
		{"link set v0 down", "v0: the interface went down"},
		{"link del v0", "v0: the interface went down and is no longer there"},
	} {
		t.Run(tt.do, func(t *testing.T) {
			veth(t)
			l := openLive(t, device.Options{Interface: "v0"})
			ethernet := join(bytes.Repeat([]byte{2}, 12), []byte{8, 0})
			sender(t, "v1")(join(ethernet, udp4([]byte("one"))))
			ip(t, tt.do)
			d, err := l.Next()
			if err != nil || string(d.Payload) != "one" {
				t.Fatalf("got %v and %v, want what was sent before", d, err)
			}
			for range 2 {
				if _, err = l.Next(); !errors.Is(err, device.ErrDown) || err.Error() != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			}
			if c := l.Counters(); c.Received != 1 || c.Read != 1 {
				t.Errorf("got %+v, want one", c)
			}
		})
	}
}

func TestLiveOpenFails(t *testing.T) {
	veth(t)
	ip(t, "link set v0 down")
	for name, want := range map[string]string{
		"v0":   "v0: it is down: sudo ip link set v0 up",
		"eth9": "eth9: no such interface; there are lo, v1, v0, any",
	} {
		_, err := OpenLive(LiveOptions{Options: device.Options{Interface: name}})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := OpenLive(LiveOptions{Options: device.Options{Interface: "lo", SnapLen: device.MaxSnapLen + 1}})
	if err == nil || !strings.Contains(err.Error(), "the maximum is 262144") {
		t.Errorf("got %v, want the limit", err)
	}
}

// A tunnel has packets without a link layer.
func TestLiveTunnel(t *testing.T) {
	namespace(t)
	if out, err := exec.Command("ip", strings.Fields("tuntap add t0 mode tun")...).CombinedOutput(); err != nil {
		t.Skipf("no tunnel: %v: %s", err, out)
	}
	ip(t, "addr add 10.9.0.1/24 dev t0")
	ip(t, "link set t0 up")
	l := openLive(t, device.Options{Interface: "t0"})
	if l.LinkType() != linkRaw {
		t.Errorf("got link type %d, want raw IP", l.LinkType())
	}
}

func TestInterfacesLinux(t *testing.T) {
	veth(t)
	ip(t, "addr add 10.9.0.1/24 dev v0")
	ip(t, "link set v1 down")
	all, err := device.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]device.Interface{}
	for _, i := range all {
		got[i.Name] = i
	}
	if i := got["lo"]; !i.Loopback || !i.Up || i.Description != "loopback" || i.Problem != "" {
		t.Errorf("got %+v, want the loopback", i)
	}
	if i := got["v0"]; i.Loopback || !i.Up || fmt.Sprint(i.Addresses) != "[10.9.0.1/24]" {
		t.Errorf("got %+v, want it up with its address", i)
	}
	if i := got["v1"]; i.Up || i.Problem != "it is down: sudo ip link set v1 up" {
		t.Errorf("got %+v, want it down", i)
	}
	if _, ok := got["any"]; !ok {
		t.Error("got no any")
	}
}

func TestDefaultInterface(t *testing.T) {
	veth(t)
	if name, err := device.Default(); err == nil || !strings.Contains(err.Error(), "choose one of lo, v1, v0") {
		t.Errorf("got %q and %v, want a choice", name, err)
	}
	ip(t, "addr add 10.9.0.1/24 dev v0")
	if name, err := device.Default(); name != "v0" || err != nil {
		t.Errorf("got %q and %v, want the only one that has an address", name, err)
	}
	ip(t, "addr add 10.9.1.1/24 dev v1")
	ip(t, "route add default via 10.9.1.2")
	if name, err := device.Default(); name != "v1" || err != nil {
		t.Errorf("got %q and %v, want where the route leads", name, err)
	}
}
