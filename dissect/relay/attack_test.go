package relay_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A chatter is a player who says something once a second and looks how long it
// takes until it comes back.
type chatter struct {
	*player
	said     map[int]time.Time // messages that have not come back
	next     int
	echoes   []time.Duration
	lastLine time.Time // any line of chat
	longest  time.Duration
	lines    map[int32]int // by sender
}

// A siege is a world in which players chat while others attack.
type siege struct {
	*world
	chatters []*chatter
	nonce    uint32
	random   []byte
}

// besiege lets players of the stock game join and chat.
func besiege(t *testing.T, players int, cfg relay.Config) *siege {
	t.Helper()
	return besiegeMixed(t, make([]bool, players), cfg)
}

// besiegeMixed lets players join and chat, as OpenBC's clients where openBC is true. The silent
// ones, by index, answer no challenges.
func besiegeMixed(t *testing.T, openBC []bool, cfg relay.Config, silent ...int) *siege {
	t.Helper()
	cfg.Mode = relay.Playable
	s := &siege{world: newWorld(t, 1, cfg)}
	s.trouble = relay.Trouble{Delay: 5 * time.Millisecond}
	for i, openBC := range openBC {
		c := &chatter{player: s.add(openBC), said: map[int]time.Time{}, lines: map[int32]int{}}
		c.silent = slices.Contains(silent, i)
		s.chatters = append(s.chatters, c)
		s.join(c.player)
		c.Deliver = func(now time.Time, m *arq.Message) { s.checkLine(c, now, m) }
	}
	s.settle()
	return s
}

// checkLine checks a line of chat: who says it must be who it says it is.
func (s *siege) checkLine(c *chatter, now time.Time, m *arq.Message) {
	for _, o := range s.chatters {
		if decode.Opcode(m.Body[0]) == msg.OpDestroyObject && len(m.Body) == 5 && bytes.Equal(m.Body[1:], idBytes(o.player)) {
			s.t.Errorf("%s was told that the ship of %s is gone", c.Name, o.Name)
		}
	}
	if decode.Opcode(m.Body[0]) != msg.OpChat {
		return
	}
	res := decode.NewDecoder().Read(msg.Catalog().Lookup(msg.OpChat), m.Body, decode.Stock, nil)
	chat, ok := res.Message.(*msg.Chat)
	if !ok {
		s.t.Fatalf("% x", m.Body)
	}
	c.lines[chat.Sender]++
	if bytes.ContainsFunc(chat.Text, unicode.IsControl) {
		s.t.Errorf("%s is shown %q", c.Name, chat.Text)
	}
	var name string
	var n int
	if _, err := fmt.Sscanf(string(chat.Text), "%s %d", &name, &n); err != nil {
		return
	}
	for _, o := range s.chatters {
		if o.Name != name {
			continue
		}
		if int32(o.ID) != chat.Sender {
			s.t.Errorf("%s is shown %q as said by id %d; %s has id %d", c.Name, chat.Text, chat.Sender, name, o.ID)
		}
		if !c.lastLine.IsZero() {
			c.longest = max(c.longest, now.Sub(c.lastLine))
		}
		c.lastLine = now
		if o == c {
			c.echoes = append(c.echoes, now.Sub(c.said[n]))
			delete(c.said, n)
		}
	}
}

// chat has all chatters say something once a second for a while, each at a
// different time. The function meanwhile is called a hundred times a second.
func (s *siege) chat(d time.Duration, meanwhile func(tick int)) {
	for _, c := range s.chatters {
		c.lastLine = s.now
	}
	s.advance(d, func(tick int) {
		for i, c := range s.chatters {
			if (tick+i*17)%100 == 0 {
				c.next++
				c.said[c.next] = s.now
				sender := int(c.ID)
				if c.OpenBC {
					sender = c.Slot
				}
				c.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(sender), Text: fmt.Appendf(nil, "%s %d", c.Name, c.next)})
			}
		}
		if meanwhile != nil {
			meanwhile(tick)
		}
	})
	for _, c := range s.chatters {
		c.longest = max(c.longest, s.now.Sub(c.lastLine))
	}
	s.advance(3*time.Second, nil)
}

// unharmed checks that no chatter was thrown out, cut off or deceived.
func (s *siege) unharmed() {
	s.t.Helper()
	for _, c := range s.chatters {
		if c.Phase != relaytest.Playing || c.Err != nil {
			s.t.Errorf("%s: phase %d, reason %d, %v", c.Name, c.Phase, c.Reason, c.Err)
		}
		if c.longest > 2*time.Second {
			s.t.Errorf("%s heard nothing for %v", c.Name, c.longest)
		}
		if len(c.said) > 0 || len(c.echoes) != c.next {
			s.t.Errorf("%d of %d lines of %s have not come back", len(c.said), c.next, c.Name)
		}
	}
	for _, e := range s.events {
		if p := s.byAddr[e.Addr]; p == nil || !slices.ContainsFunc(s.chatters, func(c *chatter) bool { return c.player == p }) {
			continue
		}
		switch e.Kind {
		case relay.Kicked, relay.Overloaded, relay.TimedOut, relay.Left, relay.Replaced, relay.Limited:
			s.t.Errorf("%v: %v %v: %s", e.Time.Sub(began), e.Addr, e.Kind, e.Text)
		}
	}
}

// echo returns the mean and the longest time that lines took to come back.
func (s *siege) echo() (mean, longest time.Duration) {
	n := 0
	for _, c := range s.chatters {
		for _, d := range c.echoes {
			mean += d
			longest = max(longest, d)
			n++
		}
	}
	return mean / time.Duration(max(n, 1)), longest
}

// forged returns an address that does not exist.
func (s *siege) forged(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)}), 53)
}

// inject has the host receive a datagram in its deciphered form.
func (s *siege) inject(from netip.AddrPort, plain []byte) {
	s.send(from, cipher.Encrypt(nil, plain), &relay.Trouble{})
}

// connect returns a request to be let in.
func (s *siege) connect() []byte {
	s.nonce++
	d := []byte{transport.UnassignedPeer, 1, byte(transport.Connect), 15, 0xC0, 0, 0, 10, 10, 10, 239}
	d = binary.LittleEndian.AppendUint32(d, 0x10000+s.nonce)
	return append(d, 0, 0)
}

// intruders joins clients that will do harm.
func (s *siege) intruders(n int) (list []*player) {
	for range n {
		p := s.add(false)
		p.damaged = true
		s.join(p)
		list = append(list, p)
	}
	return list
}

// An anAttack is an attack of strangers, or of malicious players, on a host.
// Begin begins it and returns a function that goes on with it.
type anAttack struct {
	name  string
	begin func(s *siege) func(tick int)
}

// attacks are those that the host is known to have fallen to.
var attacks = []anAttack{
	{"names", func(s *siege) func(int) { // 131 datagrams with 140 names each, once a second
		var all []*player
		seq := map[*player]uint16{}
		for range 2 {
			p := s.add(false)
			p.damaged, p.silent = true, true // or what has no sign would not count against it
			s.join(p)
			all = append(all, p)
		}
		return func(tick int) {
			if tick%100 != 0 {
				return
			}
			for _, p := range all {
				for range 131 {
					s.inject(p.addr, relaytest.Fill(p.ID, func(int) (transport.Header, []byte) {
						seq[p]++
						return transport.Header{Type: transport.NameChange, Priority: true, Seq: seq[p] + 1}, []byte{p.ID, 1, 2, 3, 4, byte(seq[p]), byte(seq[p] >> 8), 0, 0}
					}))
				}
			}
		}
	}},
	{"chat", func(s *siege) func(int) {
		all := s.intruders(4)
		seq := map[*player]uint16{}
		for _, p := range all {
			seq[p] = 7 // after five answers, the readiness and the ship
		}
		return func(int) {
			for _, p := range all {
				for range 3 {
					s.inject(p.addr, relaytest.Fill(p.ID, func(int) (transport.Header, []byte) {
						seq[p]++
						return transport.Header{Type: transport.Standard, Reliable: true, Seq: seq[p] - 1}, []byte{byte(msg.OpChat), p.ID, 0, 0, 0, 1, 0, 'x'}
					}))
				}
			}
		}
	}},
	{"creations", func(s *siege) func(int) {
		all := s.intruders(4)
		return func(tick int) {
			for _, p := range all {
				if tick%3 == 0 {
					p.CreateShip(s.now)
				}
			}
		}
	}},
	{"impersonation", func(s *siege) func(int) {
		p := s.intruders(1)[0]
		return func(tick int) {
			if tick%10 != 0 {
				return
			}
			victim := s.chatters[tick/10%len(s.chatters)]
			p.Send(s.now, arq.Message{Type: transport.NameChange, Body: append([]byte{victim.ID, 1, 2, 3, 4}, byte(tick), 1, 0, 0)})
			for _, sender := range []int32{int32(victim.ID), transport.HostPeer} {
				p.Say(s.now, msg.OpChat, &msg.Chat{Sender: sender, Text: fmt.Appendf(nil, "cheat %d", tick)})
				p.Say(s.now, msg.OpTeamChat, &msg.TeamChat{Chat: msg.Chat{Sender: sender, Text: []byte("cheat")}})
			}
			own := p.Slot
			p.Slot = victim.Slot
			p.CreateShip(s.now)
			p.Slot = own
		}
	}},
	{"forged connects and leaves", func(s *siege) func(int) {
		return func(tick int) {
			victim := s.chatters[tick%len(s.chatters)]
			if tick%10 == 0 {
				s.inject(victim.addr, s.connect())
			}
			s.inject(victim.addr, []byte{transport.UnassignedPeer, 1, byte(transport.Leave), 2})
			id := byte(s.rand.IntN(127))
			for id == victim.ID { // one of 124 would be right
				id = byte(s.rand.IntN(127))
			}
			s.inject(victim.addr, []byte{id, 1, byte(transport.Leave), 2})
		}
	}},
	{"idle sockets", func(s *siege) func(int) { // they use their ids, and do no more
		socket := func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.MustParseAddr("192.0.2.77"), uint16(5000+i))
		}
		return func(tick int) {
			if tick%100 != 0 {
				return
			}
			for i := range 20 {
				s.inject(socket(i), s.connect())
			}
			for p := range s.host.Peers() {
				if p.Addr.Addr() == socket(0).Addr() {
					s.inject(p.Addr, []byte{p.ID, 1, byte(transport.DoNothing)})
				}
			}
		}
	}},
	{"deaf clients and bogus acknowledgements", func(s *siege) func(int) {
		all := s.intruders(4)
		for _, p := range all {
			s.byAddr[p.addr] = nil // it gets nothing any more
		}
		return func(tick int) {
			for _, p := range all {
				s.inject(p.addr, relaytest.Fill(p.ID, func(n int) (transport.Header, []byte) {
					return transport.Header{Type: transport.Acknowledge, Seq: uint16(tick*127 + n)}, nil
				}))
			}
		}
	}},
	{"early fragments", func(s *siege) func(int) {
		all := s.intruders(4)
		seq := map[*player]uint16{}
		return func(int) {
			for _, p := range all {
				s.inject(p.addr, relaytest.Fill(p.ID, func(int) (transport.Header, []byte) {
					seq[p]++
					return transport.Header{Type: transport.Standard, Reliable: true, Fragment: true, Index: 254, Seq: 100 + seq[p]%0x3000}, []byte{1}
				}))
			}
		}
	}},
	{"blind joins", func(s *siege) func(int) { // a recorded join, sent in the name of many
		recorded := [][]byte{
			{2, 1, byte(transport.DoNothing)},
			{2, 1, 0x32, 7, 0x80, 5, 0, 0x2A, 0x20},
			{77, 1, byte(transport.DoNothing)},
			{2, 2, 1, 0, 0, 2, 1, 0, 0, 0},
			{9, 1, byte(transport.DoNothing)},
		}
		return func(tick int) {
			victim := s.forged(tick / 100)
			switch tick % 20 {
			case 0:
				s.inject(victim, s.connect())
			case 4, 8, 12, 16:
				s.inject(victim, recorded[s.rand.IntN(len(recorded))])
			}
		}
	}},
	{"garbage", func(s *siege) func(int) {
		s.random = make([]byte, 600)
		return func(tick int) {
			for n := range 50 {
				for i := range s.random {
					s.random[i] = byte(s.rand.Uint32())
				}
				if s.random[0] == '\\' {
					continue
				}
				s.send(s.forged(tick*50+n), s.random[:s.rand.IntN(len(s.random))], &relay.Trouble{})
			}
		}
	}},
}

// A flood of names gets no receiver of the names thrown out, however long the
// receivers' acknowledgements travel.
func TestNameFlood(t *testing.T) {
	for _, trip := range []time.Duration{0, 60 * time.Millisecond, 150 * time.Millisecond} {
		t.Run(trip.String(), func(t *testing.T) {
			s := besiege(t, 4, relay.Config{})
			s.trouble = relay.Trouble{Delay: trip / 2}
			goOn := attacks[0].begin(s)
			flood := s.clients[len(s.clients)-1]
			s.chat(10*time.Second, goOn)
			s.unharmed()
			if flood.Phase != relaytest.Gone || !slices.Contains(s.kinds(relay.Kicked), flood.Name) {
				t.Errorf("the one who does it: phase %d; kicked: %v", flood.Phase, s.kinds(relay.Kicked))
			}
		})
	}
}

// Whatever others do, players who chat are not thrown out, cut off or deceived,
// and memory is bounded. A sender that has proved nothing is sent at most four
// times the bytes that came from its address. The test runs with four clients and
// for a short while. If BCDISSECT_LONG is set, it also runs with eight, and for a
// minute.
func TestAttacks(t *testing.T) {
	sides := []struct {
		name   string
		openBC []bool
	}{
		{"four of both dialects", []bool{false, true, false, true}},
		{"eight", make([]bool, 8)},
		{"eight of both dialects", []bool{false, true, false, true, false, true, false, true}},
	}
	lasts := time.Minute
	if !long() {
		sides, lasts = sides[:1], 10*time.Second
	}
	for _, a := range append(attacks, moreAttacks...) {
		for _, side := range sides {
			t.Run(a.name+"/"+side.name, func(t *testing.T) {
				t.Parallel()
				attack(t, a.begin, side.openBC, lasts)
			})
		}
	}
}

// attack lets clients chat under an attack.
func attack(t *testing.T, begin func(*siege) func(int), openBC []bool, lasts time.Duration) {
	t.Helper()
	s := besiegeMixed(t, openBC, relay.Config{Players: relay.MaxPlayers})
	goOn := begin(s)
	s.events = nil
	lucky := map[netip.AddrPort]bool{} // who has guessed the right one of 124 ids
	s.chat(lasts, func(tick int) {
		goOn(tick)
		for p := range s.host.Peers() {
			lucky[p.Addr] = lucky[p.Addr] || p.Proved
		}
	})
	s.unharmed()
	mean, longest := s.echo()
	if mean > 50*time.Millisecond || longest > 100*time.Millisecond {
		t.Errorf("a line takes %v to come back, %v at worst", mean, longest)
	}
	for addr, out := range s.to {
		most := 4 * s.from[addr]
		if lucky[addr] {
			most += 1 << 10
		}
		if s.byAddr[addr] == nil && addr.Port() == 53 && out > most {
			t.Errorf("%v sent %d bytes and got %d", addr, s.from[addr], out)
		}
	}
	s.undeceived()
	// Whoever comes now or during the attack gets in.
	late := s.add(false)
	late.Name = "late"
	s.join(late)
	t.Logf("echo %v, at worst %v; %+v", mean, longest, s.host.Stats().Dropped)
}

// undeceived checks that those who chat know who is there and who speaks.
func (s *siege) undeceived() {
	s.t.Helper()
	for _, c := range s.chatters {
		for _, o := range s.chatters {
			if got := c.lines[int32(o.ID)]; got != o.next {
				s.t.Errorf("%s heard %d lines of %s, who said %d", c.Name, got, o.Name, o.next)
			}
			if name, ok := c.Known[o.ID]; ok && name != o.Name {
				s.t.Errorf("%s was told that %s is called %q", c.Name, o.Name, name)
			}
			if slices.Contains(c.Lost, o.ID) {
				s.t.Errorf("%s was told that %s has left", c.Name, o.Name)
			}
			for id, name := range c.Known {
				if id != o.ID && strings.EqualFold(name, o.Name) {
					s.t.Errorf("%s was told that id %d is called %q, too", c.Name, id, name)
				}
			}
		}
		if n := c.lines[transport.HostPeer]; n > 0 {
			s.t.Errorf("%s heard the host speak", c.Name)
		}
		for _, name := range c.Known {
			if name == "" || strings.ContainsFunc(name, unicode.IsControl) {
				s.t.Errorf("%s was told of the name %q", c.Name, name)
			}
		}
	}
}

// All attacks at once take no more memory than a small machine has.
func TestAttackMemory(t *testing.T) {
	const most = 48 << 20 // bytes, out of 64 MiB for the process
	s := besiege(t, 4, relay.Config{Players: relay.MaxPlayers})
	p := s.intruders(12)
	before := heap()
	seq := make([]uint16, len(p))
	for range 300 { // three seconds in which nothing is sent out
		s.now = s.now.Add(step)
		for i, p := range p {
			for range 5 {
				d := relaytest.Fill(p.ID, func(n int) (transport.Header, []byte) {
					seq[i]++
					switch n % 3 {
					case 0:
						return transport.Header{Type: transport.Standard, Reliable: true, Fragment: true, Index: 254, Seq: 100 + seq[i]%0x3000}, []byte{1}
					case 1:
						return transport.Header{Type: transport.Standard, Reliable: true, Seq: 7 + seq[i]/3}, append([]byte{byte(msg.OpChat), p.ID, 0, 0, 0, 100, 0}, make([]byte, 100)...)
					}
					return transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStartFiring)}, make([]byte, 30)...)
				})
				s.host.Receive(s.now, p.addr, cipher.Encrypt(nil, d))
			}
		}
		s.host.Advance(s.now)
	}
	after := heap()
	if after > before+most {
		t.Errorf("%d MiB are in use, %d before", after>>20, before>>20)
	}
	t.Logf("%.1f MiB are in use, %.1f before", float64(after)/(1<<20), float64(before)/(1<<20))
	runtime.KeepAlive(s)
}

// On an idle network a line comes back at once; where datagrams get lost, soon.
func TestEchoLatency(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trouble relay.Trouble
		most    time.Duration
	}{
		{"idle", relay.Trouble{Delay: 5 * time.Millisecond}, 50 * time.Millisecond},
		{"loss", relay.Trouble{Delay: 20 * time.Millisecond, Loss: 0.05}, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := besiege(t, 8, relay.Config{})
			s.trouble = tt.trouble
			s.chat(time.Minute, nil)
			s.advance(20*time.Second, nil)
			s.unharmed()
			mean, longest := s.echo()
			if mean > tt.most {
				t.Errorf("a line takes %v on average to come back, want %v at most", mean, tt.most)
			}
			t.Logf("%v on average, %v at worst", mean, longest)
		})
	}
}

// A battle of sixteen on a bad network: nothing is lost, doubled or out of
// order. It lasts ten minutes if BCDISSECT_LONG is set.
func TestSixteen(t *testing.T) {
	d := 20 * time.Second
	if long() {
		d = 10 * time.Minute
	}
	for _, tt := range []struct {
		loss  float64
		proof bool
	}{{0, false}, {0.05, false}, {0.15, false}, {0, true}, {0.05, true}, {0.15, true}} {
		t.Run(fmt.Sprintf("%.0f %% lost, proof %v", 100*tt.loss, tt.proof), func(t *testing.T) {
			t.Parallel()
			sixteen(t, d, tt.loss, tt.proof)
		})
	}
}

// sixteen has sixteen players fight on a network that loses, doubles and reorders.
func sixteen(t *testing.T, d time.Duration, loss float64, proof bool) {
	t.Helper()
	w := newWorld(t, 3, relay.Config{Mode: relay.Playable, Players: relay.MaxPlayers, Proof: proof})
	w.trouble = relay.Trouble{Loss: loss, Duplicate: 0.05, Reorder: 0.1, Delay: 20 * time.Millisecond, Jitter: 20 * time.Millisecond}
	var all []*player
	for range relay.MaxPlayers {
		all = append(all, w.add(false))
	}
	w.join(all...)
	w.fight(d, all...)
	w.settle()
	for _, a := range all {
		for _, b := range all {
			if got := b.seen[relaytest.Forward][a.forward()]; a != b && got.last != a.Last(relaytest.Forward) {
				t.Errorf("%s got up to %d of %s, want %d", b.Name, got.last, a.Name, a.Last(relaytest.Forward))
			}
			if got := b.seen[relaytest.Chat][a.Name]; got.last != a.Last(relaytest.Chat) {
				t.Errorf("%s got chat up to %d of %s, want %d", b.Name, got.last, a.Name, a.Last(relaytest.Chat))
			}
		}
	}
	w.fine()
}
