package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// TestLive captures one session that this test sends on the loopback interface.
// Its counts equal the counts of the file with the session.
func TestLive(t *testing.T) {
	fixtures.System(t)
	file := filepath.Join(t.TempDir(), "live.pcapng")
	host, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	port := host.LocalAddr().(*net.UDPAddr).AddrPort()
	want := counted(t, filepath.Join(fixtures.Dir(), "captures", "networked_battle.pcap"))
	all := strconv.Itoa(want.Datagrams.Game + want.Datagrams.GameSpy)

	var out bytes.Buffer
	errs := &spoken{until: "capturing on lo", said: make(chan struct{})}
	ended := make(chan int)
	go func() {
		_, number, _ := net.SplitHostPort(port.String())
		ended <- run([]string{
			"live", "-i", "lo", "-f", "udp port " + number, "-a", "packets:" + all, "-a", "duration:60", "-w", file, "-T", "histogram",
		}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: errs})
	}()
	var code, sent int
	select {
	case <-errs.said:
		sent = sendAgain(t, host, port)
		code = <-ended
	case code = <-ended:
	}
	if strings.Contains(errs.String(), "no permission to capture") {
		t.Skip("this user may not capture")
	}
	if code != cli.ExitOK {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	if !strings.Contains(errs.String(), "0 dropped by the system, 0 not in the report") {
		t.Errorf("got %s", errs.String())
	}
	got := counted(t, file)
	if sent < 4000 || got.Datagrams != want.Datagrams || got.Messages.Total != want.Messages.Total || got.Payload != want.Payload {
		t.Errorf("the file of -w: got %+v, want %+v", got, want)
	}
	if !strings.Contains(out.String(), "0x1C StateUpdate") {
		t.Errorf("the report: got %s", out.String())
	}
}

// TestLiveLarge captures a battle of eight players in a network namespace, at
// ten times the speed it was recorded with, which is 14,000 packets a second.
// The file of -w must hold all of them, and the report all but those that it counts as
// missing.
func TestLiveLarge(t *testing.T) {
	fixtures.System(t)
	sent, times := battleLarge(t)
	send := cable(t)
	const faster = 10

	var out bytes.Buffer
	errs := &spoken{until: "capturing on v0", said: make(chan struct{})}
	go func() {
		<-errs.said
		began := time.Now()
		for n, frame := range sent {
			time.Sleep(time.Until(began.Add(times[n].Sub(times[0]) / faster)))
			if err := send(frame); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%d packets sent at %.0f a second", len(sent), float64(len(sent))/time.Since(began).Seconds())
	}()
	file := filepath.Join(t.TempDir(), "live.pcapng")
	code := run([]string{
		"live", "-i", "v0", "-w", file, "-T", "json", "-a", fmt.Sprintf("packets:%d", len(sent)), "-a", "duration:120",
	}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: errs})
	said := regexp.MustCompile(`bcdissect: (\d+) packets captured, 0 dropped by the system, (\d+) not in the report because it was too slow\n`).FindStringSubmatch(errs.String())
	if code != cli.ExitOK || said == nil || said[1] != strconv.Itoa(len(sent)) {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	// This host uses 8-bit numbers, so repetitions are also recognised by time,
	// which is compressed here. All other results are equal.
	got := statsOf(t, file)
	want := statsOf(t, pcapOf(t, sent, times))
	for _, key := range []string{"frames", "datagrams", "messages", "errors"} {
		if want[key] == nil || !reflect.DeepEqual(got[key], want[key]) {
			t.Errorf("%s in stats of the file of -w: got %v, want %v", key, got[key], want[key])
		}
	}
	// On a slow machine the report lacks some, and says how many.
	missing, err := strconv.Atoi(said[2])
	if err != nil {
		t.Fatal(err)
	}
	shown, messages := map[int]bool{}, 0
	for line := range bytes.Lines(out.Bytes()) {
		var rec struct {
			Frame int
			Kind  string
		}
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatal(err)
		}
		if shown[rec.Frame] = true; rec.Kind != "gamespy" {
			messages++
		}
	}
	if len(shown) != len(sent)-missing {
		t.Errorf("got %d packets in the report, want %d but %d", len(shown), len(sent), missing)
	}
	var truth struct {
		Messages struct{ Total int }
	}
	if err := json.Unmarshal(fixtures.Read(t, "captures/clear/battle_large.truth.json"), &truth); err != nil {
		t.Fatal(err)
	}
	if missing == 0 && messages != truth.Messages.Total || messages > truth.Messages.Total {
		t.Errorf("got %d messages in the report, want %d", messages, truth.Messages.Total)
	}
	tshark(t, file, len(sent))
}

// statsOf returns the statistics of a capture without its duration.
func statsOf(t *testing.T, file string) (v map[string]any) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run([]string{"stats", "-T", "json", file}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
		t.Fatalf("stats %s: exit status %d: %s", file, code, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "duration")
	return v
}

// tshark has Wireshark read a file, if it is there.
func tshark(t *testing.T, file string, packets int) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Log("tshark is missing")
		return
	}
	c := exec.Command("tshark", "-r", file, "-T", "fields", "-e", "frame.number")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil || strings.Count(string(out), "\n") != packets {
		t.Errorf("tshark reads %d packets of %d: %v: %s", strings.Count(string(out), "\n"), packets, err, said.String())
	}
}

// battleLarge returns the original frames and times of the capture that is
// deciphered in the fixtures.
func battleLarge(t *testing.T) (frames [][]byte, times []time.Time) {
	t.Helper()
	const headers = 14 + 20 + 8 // Ethernet, IPv4 without options and UDP
	for _, name := range []string{"captures/clear/battle_large-1.pcap.zst", "captures/clear/battle_large-2.pcap.zst"} {
		z, err := zstd.NewReader(bytes.NewReader(fixtures.Read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r, err := pcapgo.NewReader(z)
		if err != nil {
			t.Fatal(err)
		}
		for {
			frame, info, err := r.ReadPacketData()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			cipher.Encrypt(frame[:headers], frame[headers:]) // in place
			frames, times = append(frames, frame), append(times, info.Timestamp)
		}
	}
	b, err := os.ReadFile(pcapOf(t, frames, times))
	if err != nil {
		t.Fatal(err)
	}
	const digest = "96c72f0937dce96d092494bdfb0ae4616c218ef6fad13ec3e6544970c0376cb7"
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("got another capture, with the sha256 %x", sum)
	}
	return frames, times
}

// pcapOf returns the name of a file that holds frames.
func pcapOf(t *testing.T, frames [][]byte, times []time.Time) string {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(262144, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for n, f := range frames {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: times[n], CaptureLength: len(f), Length: len(f)}, f); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "battle_large.pcap")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLiveBrowse shows packets on a terminal while they come: the list grows, stays
// where the user reads, filters what comes later, and can be saved in the current
// directory. Every user can write the one above it, but Landlock refuses that.
func TestLiveBrowse(t *testing.T) {
	fixtures.System(t)
	exe := program(t)
	send := cable(t)
	frames := framesOf(t, fixtures.Read(t, "captures/stock_client.pcap"))
	sendAll := func(frames [][]byte) {
		t.Helper()
		for _, frame := range frames {
			if err := send(frame); err != nil {
				t.Fatal(err)
			}
		}
	}
	x := newTerminal(t, 100, 30)
	before := x.settings()
	file := filepath.Join(publicDir(t), "chat.pcapng")
	x.keys(fmt.Sprintf("cd '%s'; clear; SUDO_UID= '%s' live -i v0 --browse; echo status=$?", filepath.Dir(file), exe), "Enter")
	x.await("bcdissect  v0", "no traffic of the game so far")
	threads(t, x.running()) // it captures now: the browser draws before
	sendAll(frames[:120])
	x.await("▸  120 ", "of ", "messages", "Chat")
	x.keys("k", "k")
	x.await("▸  118 ")
	x.keys("m")
	x.await("✓  118 ", "marked; marks of live traffic last until you quit")
	x.keys("-l", "YChat")
	x.keys("Enter")
	x.await("filter Chat")
	sendAll(frames[120:])
	x.await("of 16 (535 messages)")
	if hasLandlock() {
		x.keys("w")
		x.keys("-l", "../x.pcapng")
		x.keys("Enter")
		x.await("../x.pcapng: permission denied; save in the current directory")
	}
	x.keys("w")
	x.keys("-l", file)
	x.keys("Enter")
	x.await("datagrams written")
	x.keys("q")
	x.restored(before)
	x.keys("clear; '"+exe+"' read '"+file+"' -T fields -e name | sort | uniq -c; echo status=$?", "Enter")
	x.await("16 Chat", "status=0")
}

// cable gives the test its own network with the interfaces v0 and v1, and
// returns a function that sends frames from one to the other. The test's thread
// is not used again afterwards.
func cable(t *testing.T) (send func(frame []byte) error) {
	t.Helper()
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
	for _, args := range []string{
		"link add v0 type veth peer name v1",
		"link set v0 addrgenmode none", // else IPv6 greets its neighbours
		"link set v1 addrgenmode none",
		"link set v0 up",
		"link set v1 up",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %v: %s", args, err, out)
		}
	}
	v1, err := net.InterfaceByName("v1")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return func(frame []byte) error { return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: v1.Index}) }
}

// A spoken holds written text, and signals when it contains until.
type spoken struct {
	until string
	said  chan struct{} // closed when until was written

	mu   sync.Mutex
	text strings.Builder
	once sync.Once
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if strings.Contains(s.text.String(), s.until) {
		s.once.Do(func() { close(s.said) })
	}
	return len(p), nil
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
