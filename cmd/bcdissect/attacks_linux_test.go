package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// A crowd counts what goes to and comes from strangers' sockets.
type crowd struct {
	*siege
	conns     []*net.UDPConn
	sent, got atomic.Int64
	most      int64 // bytes that may come in addition to four times what was sent
}

// crowd opens sockets at addresses of a network.
func (s *siege) crowd(sockets, addresses int) *crowd {
	const answer = 400 // bytes
	c := &crowd{siege: s, most: answer}
	for n := range sockets {
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 9, 9, byte(1+n%addresses))}, net.UDPAddrFromAddrPort(s.host.at))
		if err != nil {
			s.t.Fatal(err)
		}
		c.counts(conn)
		c.conns = append(c.conns, conn)
	}
	return c
}

// counts counts what comes to a socket.
func (c *crowd) counts(conn *net.UDPConn) {
	c.t.Cleanup(func() { _ = conn.Close() })
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

// anywhere returns a function that sends a datagram from the n-th address of loopback.
func (c *crowd) anywhere() func(n int, d []byte) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.counts(conn)
	to := net.UDPAddrFromAddrPort(c.host.at)
	return func(n int, d []byte) {
		from := unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: [4]byte{127, byte(64 + n>>16%64), byte(n >> 8), byte(n)}})
		size, _, _ := conn.WriteMsgUDP(d, from, to) // loopback reports what the host refused
		c.sent.Add(int64(size))
	}
}

func (c *crowd) write(n int, d []byte) {
	conn := c.conns[n%len(c.conns)]
	size, _ := conn.Write(d) // loopback reports what the host refused
	c.sent.Add(int64(size))
}

// A loopSiege is a siege of two players who talk and one who says nothing. A fourth comes
// later, 80 ms away.
type loopSiege struct {
	*siege
	players []*chatter
	victims []*udpClient // the first player and the one who says nothing
	late    *udpClient
	crowd   *crowd
	asks    func(c *chatter)       // more that a talking player does every tenth of a second, or nil
	holds   func(t *testing.T)     // checks more at the end, or nil
	refused map[decode.Opcode]bool // opcodes that they must not be sent
}

// A loopAttack is an attack on a host over loopback.
type loopAttack struct {
	name   string
	forges bool     // it writes the players' addresses
	args   []string // flags of the host
	begin  func(s *loopSiege)
}

// sweep sends a datagram for every id in the victims' names.
func (s *loopSiege) sweep(plain func(id uint8) []byte) {
	for _, v := range s.victims {
		wrong := uint8(2)
		if v.ID == wrong {
			wrong++
		}
		_, _ = v.conn.Write(plain(wrong)) // a first guess that is right, one in 124, is believed
		s.sweepAs(v, plain)
	}
}

// sweepAs sends a datagram for every id in the name of a client.
func (s *loopSiege) sweepAs(v *udpClient, plain func(id uint8) []byte) {
	for id := uint8(126); id > 1; id-- {
		if id != '\\' {
			_, _ = v.conn.Write(plain(id)) // loopback reports what the host refused
		}
	}
}

// sweeping returns an attack that tries all ids twice a second.
func sweeping(name string, plain func(id uint8) []byte) loopAttack {
	return loopAttack{name: name, forges: true, begin: func(s *loopSiege) {
		s.attack(500*time.Millisecond, func(int) { s.sweep(plain) })
	}}
}

// guessing returns an attack in which many addresses connect, guess ids and go on.
func guessing(name string, guesses int, every time.Duration, then func(id uint8) []byte) loopAttack {
	return loopAttack{name: name, begin: func(s *loopSiege) {
		c := s.gather(250, 250)
		s.attack(every, func(round int) {
			c.write(round, request(uint32(0x30000+round)))
			for n := range guesses {
				c.write(round, then(uint8(2+(17*round+n)%125)))
			}
		})
	}}
}

// gather makes the attack's crowd.
func (s *loopSiege) gather(sockets, addresses int) *crowd {
	s.crowd = s.siege.crowd(sockets, addresses)
	return s.crowd
}

// enter has a client join, which plays until the siege is over.
func (s *loopSiege) enter(from, n int, name string) *udpClient {
	p := newUDPClientFrom(s.t, local(from), s.host.at, n, &relay.Trouble{})
	p.joinWith(s.t, func(o *relaytest.Options) { o.Name = name })
	if p.Phase != relaytest.Playing {
		s.t.Fatalf("%s: phase %d, reason %d", p.Name, p.Phase, p.Reason)
	}
	s.plays(p)
	return p
}

// An actor is a message in which an object acts.
type actor interface{ Actor() wire.ObjectID }

// actsOf returns the game's messages in which an object acts, with the object.
func actsOf(t *testing.T, object wire.ObjectID) map[decode.Opcode][]byte {
	t.Helper()
	all := map[decode.Opcode][]byte{}
	for _, m := range messages.All(t) {
		spec := m.SpecIn(msg.Catalog())
		if m.Dialect != decode.Stock || spec == nil || spec.Relay != decode.RelayForward && spec.Code != msg.OpExplosion {
			continue
		}
		acts, ok := decode.NewDecoder().Read(spec, m.Payload, m.Dialect, m).Message.(actor)
		if !ok {
			continue
		}
		from := binary.LittleEndian.AppendUint32(nil, uint32(acts.Actor()))
		all[spec.Code] = bytes.ReplaceAll(m.Payload, from, binary.LittleEndian.AppendUint32(nil, uint32(object)))
	}
	return all
}

var idleAs = func(id uint8) []byte { return cipher.Encrypt(nil, []byte{id, 1, byte(transport.DoNothing)}) }

// chatAs returns a line of chat that no player has said.
func chatAs(id uint8) []byte {
	const text = "forged: 1"
	return append([]byte{byte(msg.OpChat), id, 0, 0, 0, byte(len(text)), 0}, text...)
}

// joinAndAcknowledge returns what a client sends until it plays, and acknowledgements of all that
// the host sends in the next seconds, without reading any of it.
func joinAndAcknowledge(id uint8) (all [][]byte) {
	for n, round := range []byte{0, 1, 2, 3, 0xFF} {
		h := transport.Header{Type: transport.Standard, Reliable: true, Seq: uint16(n)}
		all = append(all, one(id, h, append([]byte{byte(msg.OpChecksumResponse), round}, make([]byte, 20)...)))
	}
	all = append(all, one(id, transport.Header{Type: transport.Standard, Reliable: true, Seq: 5}, []byte{byte(msg.OpClientReady)}))
	for _, control := range []transport.Type{transport.Standard, transport.NameChange} {
		all = append(all, fill(id, func(n int) (transport.Header, []byte) {
			return transport.AckOf(&transport.Header{Type: control, Reliable: true, HasSeq: true, Seq: uint16(n)}), nil
		}))
	}
	return all
}

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
	sweeping("lines of chat with the next numbers", func(id uint8) []byte {
		return fill(id, func(n int) (transport.Header, []byte) { return reliable(n), chatAs(id) })
	}),
	sweeping("lines of chat without a number", func(id uint8) []byte {
		return one(id, transport.Header{Type: transport.Standard}, chatAs(id))
	}),
	{name: "ship updates and shots", forges: true, begin: func(s *loopSiege) {
		s.refused = map[decode.Opcode]bool{msg.OpStateUpdate: true}
		var all [][]byte
		for op, body := range actsOf(s.t, wire.FirstObject(0)) {
			s.refused[op] = true
			all = append(all, body)
		}
		all = append(all, append([]byte{byte(msg.OpStateUpdate)}, append(binary.LittleEndian.AppendUint32(nil, uint32(wire.FirstObject(0))), 0, 0, 0, 0, 0x80)...))
		s.attack(100*time.Millisecond, func(round int) {
			s.sweep(func(id uint8) []byte { return one(id, transport.Header{Type: transport.Standard}, all[round%len(all)]) })
		})
	}},
	sweeping("next numbers, filled with rubbish", func(id uint8) []byte {
		return fill(id, func(n int) (transport.Header, []byte) { return reliable(n), []byte{0xEE} })
	}),
	{name: "one guess every tenth of a second", forges: true, begin: func(s *loopSiege) {
		s.attack(100*time.Millisecond, func(round int) {
			for _, v := range s.victims {
				id := uint8(2 + round%125)
				if round == 0 && id == v.ID {
					id++
				}
				_, _ = v.conn.Write(one(id, transport.Header{Type: transport.Standard}, chatAs(id)))
			}
		})
	}},
	sweeping("acknowledgements", func(id uint8) []byte {
		return fill(id, func(n int) (transport.Header, []byte) {
			return transport.Header{Type: transport.Acknowledge, Seq: uint16(n)}, nil
		})
	}),
	sweeping("acknowledgements of what was never sent", func(id uint8) []byte {
		return fill(id, func(int) (transport.Header, []byte) {
			return transport.Header{Type: transport.Acknowledge, Seq: uint16(rand.Uint32())}, nil
		})
	}),
	sweeping("connects, and every id", func(id uint8) []byte {
		if id%20 == 3 {
			return request(0x40000 + uint32(id))
		}
		return idleAs(id)
	}),
	{name: "ids, names and rubbish for a player who is joining", begin: func(s *loopSiege) {
		s.attack(100*time.Millisecond, func(round int) {
			s.sweepAs(s.late, func(id uint8) []byte {
				switch round % 3 {
				case 0:
					return idleAs(id)
				case 1:
					return one(id, transport.Header{Type: transport.NameChange, Priority: true, Seq: 1}, append(wire.AppendWideTextOf([]byte{id, 10, 0, 0, 1}, "forged"), 0, 0))
				}
				return fill(id, func(n int) (transport.Header, []byte) {
					h := reliable(n)
					h.Seq = uint16(n)
					return h, []byte{0xEE}
				})
			})
		})
	}},
	{name: "wrong passwords for a player who is joining", args: []string{"--password", password}, begin: func(s *loopSiege) {
		s.attack(100*time.Millisecond, func(round int) { _, _ = s.late.conn.Write(request(0x60000 + uint32(round))) })
	}},
	guessing("connects and ids of a whole network", 62, 10*time.Millisecond, idleAs),
	guessing("connects and one id each, of a whole network", 1, time.Millisecond, idleAs),
	guessing("answers about files, of a whole network", 62, 10*time.Millisecond, func(id uint8) []byte {
		h := transport.Header{Type: transport.Standard, Reliable: true}
		return one(id, h, append([]byte{byte(msg.OpChecksumResponse), 0}, make([]byte, 20)...))
	}),
	{name: "blind joins, then blind acknowledgements", begin: func(s *loopSiege) {
		s.asks = (*chatter).fly
		c := s.gather(4, 4)
		s.attack(200*time.Millisecond, func(round int) {
			if round%10 < 4 {
				c.write(round, request(uint32(0x70000+round%4)))
			}
			for id := uint8(2); id < 127; id++ {
				for _, d := range joinAndAcknowledge(id) {
					c.write(round, d)
				}
			}
		})
	}},
	{name: "1,500 connects a second from everywhere", begin: func(s *loopSiege) {
		c := s.gather(0, 1)
		write := c.anywhere()
		s.attack(10*time.Millisecond, func(round int) {
			for n := range 15 {
				write(15*round+n, request(uint32(0x80000+15*round+n)))
			}
		})
	}},
	{name: "slots of one address, guessed", begin: func(s *loopSiege) {
		c := s.gather(60, 1)
		s.attack(10*time.Millisecond, func(round int) {
			c.write(round, request(uint32(0x50000+round)))
			for id := uint8(2); id < 127; id++ {
				c.write(round, idleAs(id))
			}
		})
	}},
	{name: "slots of one address", begin: func(s *loopSiege) {
		playing := 0
		for n := range 14 {
			p := newUDPClientFrom(s.t, local(30), s.host.at, 100+n, &relay.Trouble{})
			p.Connect(time.Now())
			p.play(time.Now().Add(700*time.Millisecond), func(time.Time, int) {})
			if p.Phase == relaytest.Playing {
				playing++
				s.plays(p)
			}
		}
		const perAddress = 4
		if playing != perAddress {
			s.t.Errorf("%d of 14 clients of one address play, want %d", playing, perAddress)
		}
	}},
	{name: "twelve who acknowledge nothing", args: []string{"--players", "16", "--per-address", "16"}, begin: func(s *loopSiege) {
		s.asks = (*chatter).fly
		c := s.gather(0, 1)
		for n := range 12 {
			p := newUDPClientFrom(s.t, local(50+n), s.host.at, 100+n, &relay.Trouble{})
			p.joinWith(s.t, func(o *relaytest.Options) {})
			if p.Phase != relaytest.Playing {
				s.t.Fatalf("%s: phase %d, reason %d", p.Name, p.Phase, p.Reason)
			}
			s.attack(6*time.Second, func(round int) { // the client never reads what came
				_, _ = p.conn.Write(one(p.ID, transport.Header{Type: transport.Acknowledge, Seq: uint16(30 + round)}, nil))
			})
			s.attack(time.Second, func(int) { _, _ = p.conn.Write(idleAs(p.ID)) })
			s.all.Go(func() {
				for {
					select {
					case d := <-p.arrived:
						c.got.Add(int64(len(d)))
					case <-s.over:
						return
					}
				}
			})
		}
		c.most = 12 * 80 << 10
	}},
	{name: "names that look alike", args: []string{"--players", "12"}, begin: func(s *loopSiege) {
		wanted := map[uint8]string{}
		for n, name := range [][2]string{
			{"Player 1\u3164", "Player 1 (2)"},
			{"\u0420layer 1", "\u0420layer 1 (3)"}, // a Cyrillic letter
			{"P\u2800layer 1", "Player 1 (4)"},
			{"\U0001D40Flayer 1", "\U0001D40Flayer 1 (5)"}, // a mathematical one
			{"\u3164\u2800", "Player 8"},
		} {
			p := s.enter(30+n, 100+n, name[0])
			wanted[p.ID] = name[1]
		}
		s.holds = func(t *testing.T) {
			t.Helper()
			for id, want := range wanted {
				if got := s.players[0].Known[id]; got != want {
					t.Errorf("id %d is called %q, want %q", id, got, want)
				}
			}
		}
	}},
	{name: "messages that act for another's ship", begin: func(s *loopSiege) {
		p := s.enter(30, 100, "Actor")
		acts := actsOf(s.t, wire.FirstObject(s.players[0].Slot))
		const kinds = 15 // 07 to 0C, 0E to 12, 19 to 1B, and 29
		if len(acts) != kinds {
			s.t.Errorf("%d kinds of messages act, want %d", len(acts), kinds)
		}
		s.refused = map[decode.Opcode]bool{}
		for op := range acts {
			s.refused[op] = true
		}
		s.attack(100*time.Millisecond, func(int) {
			for _, body := range acts {
				_, _ = p.conn.Write(one(p.ID, transport.Header{Type: transport.Standard}, body))
			}
		})
	}},
	{name: "queries", begin: func(s *loopSiege) {
		c := s.siege.crowd(20, 20)
		s.attack(10*time.Millisecond, func(round int) {
			for n := range 20 {
				_, _ = c.conns[n].Write([]byte(`\status\`)) // this computer gets answers, and TestRelayReflection counts them for others
			}
		})
		s.holds = func(t *testing.T) {
			t.Helper()
			if !answers(t, s.host.at) {
				t.Error("a server browser does not see the game")
			}
		}
	}},
	{name: "200 idle connections to the control socket", args: []string{"--control", "FOLDER/s"}, begin: func(s *loopSiege) {
		path := s.host.cmd.Args[len(s.host.cmd.Args)-1]
		var conns []net.Conn
		for range 200 {
			conn, err := net.Dial("unix", path)
			if err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() { _ = conn.Close() })
			conns = append(conns, conn)
		}
		s.holds = func(t *testing.T) {
			t.Helper()
			for _, conn := range conns {
				again, err := net.Dial("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				_ = conn.Close()
				t.Cleanup(func() { _ = again.Close() })
			}
			r := runIn(strings.NewReader(""), "relay", "ctl", "--control", path, "status")
			if r.status != cli.ExitOK || !strings.Contains(r.out, "in the game") {
				t.Errorf("status %d, %q, %q", r.status, r.out, r.errors)
			}
		}
	}},
}

// fly sends updates of the player's ship.
func (c *chatter) fly() {
	for n := range 20 {
		c.SayAs(time.Now(), msg.OpStateUpdate, &msg.StateUpdate{
			Object: c.Ship(), Flags: msg.DirtyPosition, Position: [3]wire.F32{wire.FloatBits(float32(n)), 0, 0},
		}, decode.Stock)
	}
}

// plays has a client go on until the siege is over.
func (s *loopSiege) plays(p *udpClient) {
	s.all.Go(func() { p.play(time.Now().Add(attackLasts), func(time.Time, int) {}) })
}

// attackLasts is how long an attack lasts at least.
const attackLasts = 8 * time.Second

// password is the game's password in attacks on a game with one.
const password = "tranya"

// longOnly skips a test that takes too long for every change.
func longOnly(t *testing.T) {
	t.Helper()
	fixtures.System(t)
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip(`"make long" runs it`)
	}
}

// TestRelayAttacks tries the attacks of strangers, one after another, on the program: with
// sockets on loopback, where a datagram through a player's own socket bears its address.
// Two players talk, and one says nothing. No player is thrown out or spoken for. A line comes
// back after 1.2 s at worst (a second until the game repeats it). A newcomer gets in. An
// address outside the game is sent at most four times what came, and one answer.
func TestRelayAttacks(t *testing.T) {
	longOnly(t)
	for _, tt := range loopAttacks {
		t.Run(tt.name, func(t *testing.T) { loopAttacked(t, tt) })
	}
}

// besieged starts a host with three players, and attacks it.
func besieged(t *testing.T, tt loopAttack) *loopSiege {
	t.Helper()
	args := []string{"--players", "8", "--per-address", "4", "--control", "none"}
	for _, arg := range tt.args {
		args = append(args, strings.ReplaceAll(arg, "FOLDER", t.TempDir()))
	}
	s := &loopSiege{siege: &siege{t: t, host: startHost(t, args...), over: make(chan struct{})}}
	ids := map[string]uint8{}
	options := func(o *relaytest.Options) {
		if len(tt.args) > 0 && tt.args[0] == "--password" {
			o.Password = password
		}
	}
	for n := range 3 {
		c := &chatter{udpClient: newUDPClientFrom(t, local(10+n), s.host.at, n+1, &relay.Trouble{}), said: map[int]time.Time{}, ids: ids}
		c.joinWith(t, options)
		if c.Phase != relaytest.Playing {
			t.Fatalf("%s: phase %d, reason %d; %s", c.Name, c.Phase, c.Reason, s.host)
		}
		c.frame = 20 * time.Millisecond
		c.Deliver = func(now time.Time, m *arq.Message) {
			if s.refused[decode.Opcode(m.Body[0])] {
				c.faults = append(c.faults, fmt.Sprintf("%s was sent % x", c.Name, m.Body))
			}
			c.hears(now, m)
		}
		ids[c.Name] = c.ID
		s.players = append(s.players, c)
	}
	s.victims = []*udpClient{s.players[0].udpClient, s.players[2].udpClient}
	s.late = newUDPClientFrom(t, local(40), s.host.at, 9, &relay.Trouble{Delay: 40 * time.Millisecond})
	s.late.frame = 20 * time.Millisecond
	options(&s.late.Options)
	tt.begin(s)
	return s
}

func loopAttacked(t *testing.T, tt loopAttack) {
	t.Helper()
	s := besieged(t, tt)
	began := time.Now()
	var playing sync.WaitGroup
	for i, c := range s.players {
		c.heard = began
		playing.Go(func() {
			c.play(began.Add(attackLasts), func(now time.Time, tick int) {
				if i < 2 && (tick+3*i)%5 == 4 && now.Sub(began) < attackLasts-2*time.Second {
					c.next++
					c.said[c.next] = now
					c.Say(now, msg.OpChat, &msg.Chat{Sender: int32(c.ID), Text: fmt.Appendf(nil, "%s: %d", c.Name, c.next)})
				}
				if i < 2 && s.asks != nil {
					s.asks(c)
				}
			})
		})
	}
	time.Sleep(3 * time.Second)
	took := s.lateJoins(t)
	playing.Wait()
	if s.holds != nil {
		s.holds(t)
	}
	close(s.over)
	s.all.Wait()
	if s.late.Phase != relaytest.Playing {
		t.Errorf("a newcomer: phase %d, reason %d after %v; %s", s.late.Phase, s.late.Reason, took, s.host)
	}
	worst := s.unharmed(t)
	if told := strings.Contains(s.host.String(), `forged "Player 1"`); told != tt.forges {
		t.Errorf("told of a forger: %v; %s", told, s.host)
	}
	times := ""
	if c := s.crowd; c != nil {
		sent, got := c.sent.Load(), c.got.Load()
		if times = fmt.Sprintf("; %d bytes sent, %d came", sent, got); got > 4*sent+c.most {
			t.Error("too much" + times)
		}
	}
	t.Logf("at worst %v; a newcomer is in after %v%s", worst, took, times)
	s.host.stop(t)
}

// lateJoins has the newcomer join, and returns how long that took.
func (s *loopSiege) lateJoins(t *testing.T) time.Duration {
	t.Helper()
	asked := time.Now()
	for range 2 { // one join in 125 is refused if others write a wrong password at that moment
		for len(s.late.arrived) > 0 {
			<-s.late.arrived // it does not listen before it asks
		}
		s.late.joinWith(t, func(*relaytest.Options) {})
		if s.late.Phase == relaytest.Playing {
			break
		}
	}
	return time.Since(asked)
}

// unharmed checks that no player was thrown out, silenced or spoken for. It returns the longest
// time that a line took.
func (s *loopSiege) unharmed(t *testing.T) (worst time.Duration) {
	t.Helper()
	for i, c := range s.players {
		if c.Phase != relaytest.Playing || c.Err != nil || len(c.faults) > 0 || len(c.echoes) != c.next || i < 2 && c.next < 8 {
			t.Errorf("%s: phase %d, reason %d, %v, %q, %d of %d lines came back", c.Name, c.Phase, c.Reason, c.Err, c.faults, len(c.echoes), c.next)
		}
		for _, o := range s.players {
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
	return worst
}

// TestRelayReflection asks the program 1,000 times a second in the name of a victim, in a network
// namespace, from addresses that aren't this computer's. The victim is sent one full answer and at most
// four times what was asked. A browser elsewhere sees the game.
func TestRelayReflection(t *testing.T) {
	longOnly(t)
	runtime.LockOSThread() // the thread ends with the test, and with it the namespace
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("network namespaces need root: %v", err)
	}
	for _, args := range []string{"link set lo up", "route add local 198.18.0.0/15 dev lo"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	host := startProgram(t, exec.Command("bcdissect", "relay", "--listen", "198.18.0.1:0", "--control", "none"), ` on (198\.18\.0\.1:\d+) `)
	socket := func(from ...byte) *net.UDPConn {
		t.Helper()
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: from}, net.UDPAddrFromAddrPort(host.at))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	read := func(conn *net.UDPConn, d time.Duration) (n int) {
		b := make([]byte, 2048)
		for {
			if err := conn.SetReadDeadline(time.Now().Add(d)); err != nil {
				t.Fatal(err)
			}
			size, err := conn.Read(b)
			if err != nil {
				return n
			}
			n += size
		}
	}
	first := socket(198, 19, 1, 1)
	defer first.Close()
	if _, err := first.Write([]byte(`\status\`)); err != nil {
		t.Fatal(err)
	}
	full := read(first, 2*time.Second)
	if full < 200 {
		t.Fatalf("%d bytes in a full answer; %s", full, host)
	}
	victim := socket(198, 19, 2, 1)
	defer victim.Close()
	const queries, lasts = 8000, 8 * time.Second
	sent, got := 0, 0
	for began, n := time.Now(), 0; n < queries; n++ {
		size, _ := victim.Write([]byte(`\status\`))
		sent += size
		if n%100 == 99 {
			got += read(victim, time.Until(began.Add(lasts*time.Duration(n+1)/queries)))
		}
	}
	got += read(victim, 500*time.Millisecond)
	if got == 0 || got > 4*sent+2*full { // a second full answer after ten seconds, on a slow machine
		t.Errorf("%d bytes for %d, a full answer has %d", got, sent, full)
	}
	browser := socket(198, 19, 3, 1)
	defer browser.Close()
	if _, err := browser.Write([]byte(`\status\`)); err != nil {
		t.Fatal(err)
	}
	if n := read(browser, 2*time.Second); n < full {
		t.Errorf("a browser elsewhere is sent %d bytes", n)
	}
	t.Logf("%d bytes for %d, a full answer has %d", got, sent, full)
	host.stop(t)
}
