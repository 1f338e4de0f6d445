package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A crowd counts what goes to and comes from strangers' sockets.
type crowd struct {
	*siege
	conns     []*net.UDPConn
	sent, got atomic.Int64
}

// crowd opens sockets at addresses of a network.
func (s *siege) crowd(sockets, addresses int) *crowd {
	c := &crowd{siege: s}
	for n := range sockets {
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 9, 9, byte(1+n%addresses))}, net.UDPAddrFromAddrPort(s.host.at))
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = conn.Close() })
		c.conns = append(c.conns, conn)
		go func() {
			b := make([]byte, 2048)
			for {
				size, err := conn.Read(b)
				if err != nil {
					return
				}
				c.got.Add(int64(size))
			}
		}()
	}
	return c
}

func (c *crowd) write(n int, d []byte) {
	conn := c.conns[n%len(c.conns)]
	size, _ := conn.Write(d) // loopback reports what the host refused
	c.sent.Add(int64(size))
}

// A loopAttack is an attack on a host over loopback. Sweep sends a datagram for each id in the
// name of the first player, and of one who says nothing.
type loopAttack struct {
	name  string
	begin func(s *siege, sweep func(plain func(id uint8) []byte)) *crowd
}

// sweeping returns an attack that tries all ids twice a second.
func sweeping(name string, plain func(id uint8) []byte) loopAttack {
	return loopAttack{name, func(s *siege, sweep func(func(uint8) []byte)) *crowd {
		s.attack(500*time.Millisecond, func(int) { sweep(plain) })
		return nil
	}}
}

// guessing returns an attack in which many addresses connect, guess ids and go on.
func guessing(name string, guesses int, every time.Duration, then func(id uint8) []byte) loopAttack {
	return loopAttack{name, func(s *siege, _ func(func(uint8) []byte)) *crowd {
		c := s.crowd(250, 250)
		s.attack(every, func(round int) {
			c.write(round, request(uint32(0x30000+round)))
			for n := range guesses {
				c.write(round, then(uint8(2+(17*round+n)%125)))
			}
		})
		return c
	}}
}

var idleAs = func(id uint8) []byte { return cipher.Encrypt(nil, []byte{id, 1, byte(transport.DoNothing)}) }

var loopAttacks = []loopAttack{
	sweeping("leaves", func(id uint8) []byte {
		return one(id, transport.Header{Type: transport.Disconnect, Priority: true, Seq: 2}, []byte{id, 10, 0, 0, 1})
	}),
	sweeping("short leaves", func(id uint8) []byte { return cipher.Encrypt(nil, []byte{id, 1, byte(transport.Leave), 2}) }),
	sweeping("kicks", func(id uint8) []byte {
		return one(id, transport.Header{Type: transport.BootPlayer, Priority: true, Seq: 2}, []byte{transport.BootKicked, id})
	}),
	sweeping("names", func(id uint8) []byte {
		name := wire.AppendWideTextOf([]byte{id, 10, 0, 0, 1}, "forged")
		return one(id, transport.Header{Type: transport.NameChange, Priority: true, Seq: 2}, append(name, 0, 0))
	}),
	sweeping("next numbers, filled with rubbish", func(id uint8) []byte { return one(id, reliable(0), []byte{0xEE, 1, 2, 3}) }),
	sweeping("acknowledgements", func(id uint8) []byte {
		plain := []byte{id, 0}
		for plain[1] < 100 {
			plain, _ = transport.Append(plain, &transport.Header{Type: transport.Acknowledge, Seq: uint16(plain[1])}, nil) // it fits
			plain[1]++
		}
		return cipher.Encrypt(nil, plain)
	}),
	sweeping("connects, and every id", func(id uint8) []byte {
		if id%20 == 3 {
			return request(0x40000 + uint32(id))
		}
		return idleAs(id)
	}),
	guessing("connects and ids of a whole network", 62, 10*time.Millisecond, idleAs),
	guessing("connects and one id each, of a whole network", 1, time.Millisecond, idleAs),
	guessing("answers about files, of a whole network", 62, 10*time.Millisecond, func(id uint8) []byte {
		h := transport.Header{Type: transport.Standard, Reliable: true}
		return one(id, h, append([]byte{byte(msg.OpChecksumResponse), 0}, make([]byte, 20)...))
	}),
	{"slots of one address", func(s *siege, _ func(func(uint8) []byte)) *crowd {
		c := s.crowd(60, 1)
		s.attack(10*time.Millisecond, func(round int) {
			c.write(round, request(uint32(0x50000+round)))
			for id := uint8(2); id < 127; id++ {
				c.write(round, idleAs(id))
			}
		})
		return c
	}},
	{"queries", func(s *siege, _ func(func(uint8) []byte)) *crowd {
		c := s.crowd(20, 20)
		s.attack(10*time.Millisecond, func(round int) {
			for n := range 20 {
				_, _ = c.conns[n].Write([]byte(`\status\`)) // this computer gets answers, and TestReflection counts them for others
			}
		})
		return nil
	}},
}

// TestRelayAttacks tries the attacks of strangers, one after another, on the program: with
// sockets on loopback, where a datagram through a player's own socket bears its address.
// Two players talk, and one says nothing: nobody is thrown out or spoken for, a line comes back
// after 1.2 s at worst (a second until the game repeats it), and a newcomer gets in. Nobody who
// is not in the game is sent more than four times what came, and one answer.
func TestRelayAttacks(t *testing.T) {
	fixtures.System(t)
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip(`"make long" runs it`)
	}
	for _, tt := range loopAttacks {
		t.Run(tt.name, func(t *testing.T) { loopAttacked(t, tt) })
	}
}

func loopAttacked(t *testing.T, tt loopAttack) {
	t.Helper()
	const lasts = 8 * time.Second
	s := &siege{t: t, host: startHost(t, "--players", "8", "--per-address", "4", "--control", "none"), over: make(chan struct{})}
	ids := map[string]uint8{}
	var all []*chatter
	for n := range 3 {
		c := &chatter{udpClient: joinAs(t, local(10+n), s.host.at, n+1, false), said: map[int]time.Time{}, ids: ids}
		if c.Phase != relaytest.Playing {
			t.Fatalf("%s: phase %d, reason %d; %s", c.Name, c.Phase, c.Reason, s.host)
		}
		c.Deliver, c.frame = c.hears, 20*time.Millisecond
		ids[c.Name] = c.ID
		all = append(all, c)
	}
	victims := []*chatter{all[0], all[2]}
	crowd := tt.begin(s, func(plain func(id uint8) []byte) {
		for _, v := range victims {
			wrong := uint8(2)
			if v.ID == wrong {
				wrong++
			}
			_, _ = v.conn.Write(plain(wrong)) // a first guess that is right, one in 124, is believed
			for id := uint8(126); id > 1; id-- {
				if id != '\\' {
					_, _ = v.conn.Write(plain(id)) // loopback reports what the host refused
				}
			}
		}
	})
	began := time.Now()
	var playing sync.WaitGroup
	for i, c := range all {
		c.heard = began
		playing.Go(func() {
			c.play(began.Add(lasts), func(now time.Time, tick int) {
				if i < 2 && (tick+3*i)%5 == 4 && now.Sub(began) < lasts-2*time.Second {
					c.next++
					c.said[c.next] = now
					c.Say(now, msg.OpChat, &msg.Chat{Sender: int32(c.ID), Text: fmt.Appendf(nil, "%s: %d", c.Name, c.next)})
				}
			})
		})
	}
	time.Sleep(3 * time.Second)
	asked := time.Now()
	late := joinFrom(t, local(40), s.host.at, 9)
	took := time.Since(asked)
	playing.Wait()
	close(s.over)
	s.all.Wait()
	if late.Phase != relaytest.Playing {
		t.Errorf("a newcomer: phase %d, reason %d after %v", late.Phase, late.Reason, took)
	}
	worst := time.Duration(0)
	for i, c := range all {
		if c.Phase != relaytest.Playing || c.Err != nil || len(c.faults) > 0 || len(c.echoes) != c.next || i < 2 && c.next < 8 {
			t.Errorf("%s: phase %d, reason %d, %v, %q, %d of %d lines came back", c.Name, c.Phase, c.Reason, c.Err, c.faults, len(c.echoes), c.next)
		}
		for _, o := range all {
			if name, ok := c.Known[o.ID]; ok && name != o.Name {
				t.Errorf("%s was told that %s is called %q", c.Name, o.Name, name)
			}
			for _, id := range c.Lost {
				if id == o.ID {
					t.Errorf("%s was told that %s has left", c.Name, o.Name)
				}
			}
		}
		for _, d := range c.echoes {
			worst = max(worst, d)
		}
	}
	if worst > 1200*time.Millisecond {
		t.Errorf("a line took %v", worst)
	}
	told := strings.Contains(s.host.String(), `forged "Player 1"`)
	if told != (crowd == nil && tt.name != "queries") {
		t.Errorf("told of a forger: %v; %s", told, s.host)
	}
	times := ""
	if crowd != nil {
		const answer = 400 // bytes
		sent, got := crowd.sent.Load(), crowd.got.Load()
		if times = fmt.Sprintf("; %d bytes sent, %d came", sent, got); got > 4*sent+answer {
			t.Error("too much" + times)
		}
	}
	t.Logf("at worst %v; a newcomer is in after %v%s", worst, took, times)
	s.host.stop(t)
}
