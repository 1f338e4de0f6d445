package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A chatter is a client that says something once a second and measures how long
// it takes until it comes back. One goroutine uses it.
type chatter struct {
	*udpClient
	said   map[int]time.Time // lines that have not come back
	next   int
	ids    map[string]uint8 // player IDs of all chatters by name
	echoes []time.Duration
	heard  time.Time     // the last line of anybody
	gap    time.Duration // the longest without one
}

// hears takes a game message.
func (c *chatter) hears(now time.Time, m *arq.Message) {
	if decode.Opcode(m.Body[0]) != msg.OpChat || len(m.Body) < 7 {
		return
	}
	name, number, _ := strings.Cut(string(m.Body[7:]), ": ")
	var n int
	if _, err := fmt.Sscanf(number, "%d", &n); err != nil {
		c.faults = append(c.faults, fmt.Sprintf("%s heard %q", c.Name, m.Body[7:]))
		return
	}
	speaks := false // it is a chatter that is shown as the author
	for _, id := range c.ids {
		speaks = speaks || m.Body[1] == id
	}
	if !speaks {
		return
	}
	if m.Body[1] != c.ids[name] {
		c.faults = append(c.faults, fmt.Sprintf("%s is shown %q as said by id %d", c.Name, m.Body[7:], m.Body[1]))
	}
	c.gap, c.heard = max(c.gap, now.Sub(c.heard)), now
	if name == c.Name {
		c.echoes = append(c.echoes, now.Sub(c.said[n]))
		delete(c.said, n)
	}
}

// A siege is a host, and attackers on loopback addresses.
type siege struct {
	t    *testing.T
	host *hostProcess
	over chan struct{}
	all  sync.WaitGroup
}

// local returns a loopback address that differs from the host's.
func local(n int) *net.UDPAddr { return &net.UDPAddr{IP: net.IPv4(127, 0, 0, byte(n))} }

// socket returns a socket at a loopback address.
func (s *siege) socket(from int) *net.UDPConn {
	s.t.Helper()
	conn, err := net.DialUDP("udp4", local(from), net.UDPAddrFromAddrPort(s.host.at))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// attack calls each again and again until the siege is over.
func (s *siege) attack(pause time.Duration, each func(round int)) {
	s.all.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for round := 0; ; round++ {
			select {
			case <-s.over:
				return
			case <-ticker.C:
				each(round)
			}
		}
	})
}

// request is a connect with a nonce.
func request(nonce uint32) []byte {
	plain := []byte{transport.UnassignedPeer, 1, byte(transport.Connect), 15, 0xC0, 0, 0, 10, 10, 10, 239}
	plain = append(plain, byte(nonce), byte(nonce>>8), byte(nonce>>16), byte(nonce>>24), 0, 0)
	return cipher.Encrypt(nil, plain)
}

// renames returns a datagram full of new names of a client.
func renames(id uint8, seq *uint16) []byte {
	return fill(id, func(int) (transport.Header, []byte) {
		*seq++
		return transport.Header{Type: transport.NameChange, Priority: true, Seq: *seq + 1}, []byte{id, 1, 2, 3, 4, byte(*seq), byte(*seq >> 8), 0, 0}
	})
}

// one returns a datagram with one message.
func one(id uint8, h transport.Header, body []byte) []byte {
	plain, err := transport.Append([]byte{id, 1}, &h, body)
	if err != nil {
		panic(err) // the test's own message
	}
	return cipher.Encrypt(nil, plain)
}

// reliable returns the header of a game message of a client that has joined and
// sent no ship.
func reliable(n int) transport.Header {
	const before = 6 // five answers, and that it is ready
	return transport.Header{Type: transport.Standard, Reliable: true, Seq: uint16(before + n)}
}

// harm has players attack who are in the game: with early fragments of many
// messages, with ship updates, with messages too long to be passed on, and with
// the names of others.
func (s *siege) harm(early, shooter, long, twin *udpClient, victims []*chatter) {
	s.attack(10*time.Millisecond, func(round int) {
		for n := range 4 {
			h := reliable((4*round + n) % 8000)
			h.Fragment, h.Index = true, 254
			_, _ = early.conn.Write(one(early.ID, h, make([]byte, 400)))
			h.Seq, h.Index, h.Count = 6, uint8(n), 255*uint8(1-min(n, 1))
			_, _ = early.conn.Write(one(early.ID, h, make([]byte, 400)))
		}
		for range 10 {
			_, _ = shooter.conn.Write(one(shooter.ID, transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStartFiring)}, make([]byte, 400)...)))
		}
	})
	s.attack(50*time.Millisecond, func(round int) {
		if round == 20 {
			name := append([]byte{long.ID, 1, 2, 3, 4}, make([]byte, 900)...)
			_, _ = long.conn.Write(one(long.ID, transport.Header{Type: transport.NameChange, Priority: true, Seq: 2}, name))
		}
		h := reliable(round / 255)
		if h.Fragment, h.Index = true, uint8(round%255); h.Index == 0 {
			h.Count = 255
		}
		_, _ = long.conn.Write(one(long.ID, h, append([]byte{byte(msg.OpStartFiring)}, make([]byte, 900)...)))
	})
	s.attack(1100*time.Millisecond, func(round int) {
		name := wire.AppendWideTextOf([]byte{twin.ID, 1, 2, 3, 4}, victims[round%len(victims)].Name)
		_, _ = twin.conn.Write(one(twin.ID, transport.Header{Type: transport.NameChange, Priority: true, Seq: uint16(2 + round)}, append(name, 0, 0)))
		text := victims[round%len(victims)].Name + ": 1"
		body := append([]byte{byte(msg.OpChat), victims[round%len(victims)].ID, 0, 0, 0, byte(len(text)), 0}, text...)
		_, _ = twin.conn.Write(one(twin.ID, reliable(round), body))
	})
}

// TestRelaySiege has eight clients of both dialects chat at the program while it
// is under attack, and records. All at once, it is flooded with
//   - names, garbage and queries,
//   - connects and leaves in the name of those eight,
//   - joins that are never finished,
//   - fragments, ship updates and messages too long to be passed on,
//   - false names.
//
// It lasts fifteen seconds, or a minute if BCDISSECT_LONG is set.
func TestRelaySiege(t *testing.T) {
	fixtures.System(t)
	lasts := 15 * time.Second
	if os.Getenv("BCDISSECT_LONG") != "" {
		lasts = time.Minute
	}
	s := &siege{t: t, host: startHost(t, "--players", "16", "--control", "none", "-w", filepath.Join(t.TempDir(), "siege.pcapng")), over: make(chan struct{})}
	var chatters []*chatter
	ids := map[string]uint8{}
	for n := range 8 {
		c := &chatter{udpClient: joinAs(t, local(10+n), s.host.at, n+1, n%2 == 1), said: map[int]time.Time{}, ids: ids}
		if c.Phase != relaytest.Playing {
			t.Fatalf("%s: phase %d, reason %d; %s", c.Name, c.Phase, c.Reason, s.host)
		}
		c.Deliver = c.hears
		ids[c.Name] = c.ID
		chatters = append(chatters, c)
	}
	var intruders []*udpClient
	for n := range 5 {
		// The first one, which floods names, answers no challenge: without a sign they would not count against it.
		p := joinAs(t, local(20+n), s.host.at, 9+n, n == 0)
		if p.Phase != relaytest.Playing {
			t.Fatalf("intruder %d: phase %d, reason %d; %s", n, p.Phase, p.Reason, s.host)
		}
		intruders = append(intruders, p)
	}
	intruder := intruders[0]
	s.harm(intruders[1], intruders[2], intruders[3], intruders[4], chatters)

	// A failed send does not fail the test, since a loopback socket reports
	// datagrams that the host has rejected.
	var seq uint16
	s.attack(time.Second, func(int) {
		for range 131 {
			_, _ = intruder.conn.Write(renames(intruder.ID, &seq))
		}
	})
	var noise []*net.UDPConn
	for n := range 8 {
		noise = append(noise, s.socket(30+n))
	}
	garbage := rand.New(rand.NewPCG(1, 2))
	s.attack(10*time.Millisecond, func(round int) {
		for n := range 30 {
			b := make([]byte, garbage.IntN(600))
			for i := range b {
				b[i] = byte(garbage.Uint32())
			}
			_, _ = noise[(round+n)%len(noise)].Write(b)
		}
	})
	browser := s.socket(40)
	s.attack(10*time.Millisecond, func(int) {
		for range 20 {
			_, _ = browser.Write([]byte(`\status\`))
		}
	})
	// A datagram through a client's own socket bears its address.
	forger := rand.New(rand.NewPCG(3, 4))
	s.attack(10*time.Millisecond, func(round int) {
		victim := chatters[round%len(chatters)]
		if round%10 == 0 {
			_, _ = victim.conn.Write(request(0x10000 + uint32(round)))
		}
		_, _ = victim.conn.Write(cipher.Encrypt(nil, []byte{transport.UnassignedPeer, 1, byte(transport.Leave), 2}))
		id := byte(forger.IntN(127))
		if id != victim.ID {
			_, _ = victim.conn.Write(cipher.Encrypt(nil, []byte{id, 1, byte(transport.Leave), 2}))
		}
	})
	var idle []*net.UDPConn
	for n := range 60 {
		idle = append(idle, s.socket(50+n%3))
	}
	s.attack(time.Second, func(round int) {
		for n, conn := range idle {
			_, _ = conn.Write(request(0x20000 + uint32(round*len(idle)+n)))
		}
	})

	began := time.Now()
	var chats sync.WaitGroup
	for i, c := range chatters {
		c.heard = began
		chats.Go(func() {
			c.play(began.Add(lasts), func(now time.Time, tick int) {
				if (tick+3*i)%10 == 0 && now.Sub(began) < lasts-2*time.Second {
					c.next++
					c.said[c.next] = now
					sender := int(c.ID)
					if c.OpenBC {
						sender = c.Slot
					}
					c.Say(now, msg.OpChat, &msg.Chat{Sender: int32(sender), Text: fmt.Appendf(nil, "%s: %d", c.Name, c.next)})
				}
			})
		})
	}
	chats.Wait()
	for _, c := range chatters {
		c.until(func() bool { return len(c.said) == 0 || c.isGone() }) // the last line may be under way
	}
	memory := peakOf(t, s.host.cmd.Process.Pid)
	if err := s.host.cmd.Process.Signal(syscall.SIGTERM); err != nil { // the attacks go on
		t.Fatal(err)
	}
	asked := time.Now()
	<-s.host.done
	err := s.host.cmd.Wait()
	took := time.Since(asked)
	close(s.over)
	s.all.Wait()
	if err != nil {
		t.Errorf("%v: %s", err, s.host)
	}
	if !raceDetector && took > 2*time.Second { // it makes the program many times slower
		t.Errorf("it ended %v after SIGTERM", took)
	}

	var sum time.Duration
	lines := 0
	var longest, gap time.Duration
	for _, c := range chatters {
		if c.Phase != relaytest.Playing || c.Err != nil || len(c.faults) > 0 {
			t.Errorf("%s: phase %d, reason %d, %v, %q", c.Name, c.Phase, c.Reason, c.Err, c.faults)
		}
		if c.next < 10 || len(c.echoes) != c.next {
			t.Errorf("%s: %d of %d lines came back", c.Name, len(c.echoes), c.next)
		}
		for id, name := range c.Known {
			if own, ok := ids[name]; ok && own != id {
				t.Errorf("%s was told that id %d is called %q, too", c.Name, id, name)
			}
		}
		if gap = max(gap, c.gap); c.gap > 2*time.Second {
			t.Errorf("%s heard nothing for %v", c.Name, c.gap)
		}
		for _, d := range c.echoes {
			sum += d
			longest = max(longest, d)
			lines++
		}
	}
	mean := sum / time.Duration(max(lines, 1))
	if mean > 100*time.Millisecond {
		t.Errorf("a line takes %v on average to come back", mean)
	}
	const most = 64 << 20
	if !raceDetector && (memory == 0 || memory > most) {
		t.Errorf("it needed %.1f MiB of memory", float64(memory)/(1<<20))
	}
	said := s.host.String()
	if !regexp.MustCompile(`(?m)^bcdissect: .*127\.0\.0\.20:\d+.* kicked`).MatchString(said) {
		t.Errorf("the one that floods names was not put out: %s", said)
	}
	t.Logf("%d lines, %v on average, %v at worst; silence %v; SIGTERM %v; %.1f MiB; %s", lines, mean, longest, gap, took, float64(memory)/(1<<20), said[max(0, len(said)-400):])
}

// peakOf returns the peak resident memory of a running process in bytes. The
// number that wait returns can belong to the parent process.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	if peak == nil {
		t.Fatalf("no peak in %s", status)
	}
	kib, err := strconv.ParseInt(string(peak[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
