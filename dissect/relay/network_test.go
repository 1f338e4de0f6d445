package relay_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

var (
	began    = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)
	hostAddr = netip.MustParseAddrPort("192.0.2.1:22101")
)

// step is how far simulated time goes at once.
const step = 10 * time.Millisecond

// A world is a host, clients, and a network between them, in simulated time.
type world struct {
	t       testing.TB
	now     time.Time
	rand    *rand.Rand
	host    *relay.Host
	network relay.Network
	trouble relay.Trouble
	clients []*player
	byAddr  map[netip.AddrPort]*player
	events  []relay.Event

	fails    func() bool                                // whether the host's socket fails now; nil for never
	tap      func(from netip.AddrPort, datagram []byte) // called for each datagram that reaches the host, unless it is nil
	from, to map[netip.AddrPort]int                     // bytes that an address sent to the host and got
	password string                                     // the game's password
}

// A player is a client in a world, with its records of others.
type player struct {
	*relaytest.Client
	addr    netip.AddrPort
	calm    bool // datagrams to and from it meet no trouble
	mute    bool // nothing that it sends arrives
	damaged bool // it may be given anything
	silent  bool // it answers no challenges
	frames  int  // it sends a datagram in each of so many steps, as the game does in each frame; 0 for at once
	instant bool // it answers each datagram at once, in separate datagrams
	inGame  bool // it has been sent the mission
	seen    [3]map[string]run
	updates int
}

// A run are numbers of messages that came one after another.
type run struct{ first, last int }

func newWorld(tb testing.TB, seed uint64, cfg relay.Config) *world {
	tb.Helper()
	w := &world{
		t: tb, now: began, rand: rand.New(rand.NewPCG(seed, 0)), byAddr: map[netip.AddrPort]*player{},
		from: map[netip.AddrPort]int{}, to: map[netip.AddrPort]int{}, password: cfg.Password,
	}
	w.network.Rand = w.rand
	cfg.Name, cfg.Mission, cfg.Map = "Test", "Multiplayer.Episode.Mission1.Mission1", "DM"
	cfg.System, cfg.TimeLimit, cfg.FragLimit = 1, msg.Unlimited, msg.Unlimited
	cfg.Report = func(e relay.Event) { w.events = append(w.events, e) }
	cfg.Random, cfg.Public = w.rand.Uint32, true
	w.host = relay.NewHost(cfg)
	return w
}

// add adds a client, which has not connected yet.
func (w *world) add(openBC bool) *player {
	n := len(w.clients) + 1
	p := &player{
		Client: relaytest.NewClient(relaytest.Options{
			Name: fmt.Sprintf("P%d", n), Nonce: uint32(n), OpenBC: openBC, First: 10000 * (n % 20),
			Claimed: [4]byte{10, 0, 0, byte(n)}, Password: w.password,
		}),
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(n)}), uint16(4000+n)),
	}
	for i := range p.seen {
		p.seen[i] = map[string]run{}
	}
	p.Deliver = func(_ time.Time, m *arq.Message) { w.delivered(p, m) }
	w.clients = append(w.clients, p)
	w.byAddr[p.addr] = p
	return p
}

// delivered checks a message to a client: that it should get it, and that no
// reliable message is missing, doubled or out of order.
func (w *world) delivered(p *player, m *arq.Message) {
	if p.damaged {
		return
	}
	if m.Body[0] == 0x35 {
		p.inGame = true
	}
	if m.Body[0] == 0x1C {
		p.updates++
		if !p.inGame || bytes.Equal(m.Body[1:5], idBytes(p)) {
			w.t.Errorf("%s was sent an update of its own, or before it was in the game", p.Name)
		}
	}
	stream, slot, name, number, ok := relaytest.Numbered(m.Body)
	if !ok {
		return
	}
	from := name
	if stream != relaytest.Chat {
		from = fmt.Sprintf("slot %d from %d", slot, number/10000*10000)
	}
	switch {
	case stream == relaytest.Consume:
		w.t.Errorf("%s was sent what only the host gets: % x", p.Name, m.Body)
	case stream == relaytest.Forward && slot == p.Slot && number/10000 == p.First/10000:
		w.t.Errorf("%s was sent its own message: % x", p.Name, m.Body)
	case !p.inGame:
		w.t.Errorf("%s was sent a message before it was in the game: % x", p.Name, m.Body)
	case !m.Reliable:
		w.t.Errorf("%s was sent a message that was reliable, and is no longer: % x", p.Name, m.Body)
	}
	r, ok := p.seen[stream][from]
	if ok && number != r.last+1 {
		w.t.Errorf("%v: %s got number %d of %s after %d", w.now.Sub(began), p.Name, number, from, r.last)
	}
	if !ok {
		r.first = number
	}
	r.last = number
	p.seen[stream][from] = r
}

func idBytes(p *player) []byte {
	id := uint32(p.Ship())
	return []byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}
}

// forward names the stream of a client's messages that others get.
func (p *player) forward() string { return fmt.Sprintf("slot %d from %d", p.Slot, p.First) }

// without returns a datagram without challenges if the client answers none.
func (p *player) without(datagram []byte) []byte {
	if !p.silent {
		return datagram
	}
	plain := cipher.Decrypt(nil, datagram)
	split, err := transport.Split(plain)
	rest := []byte{plain[0], 0}
	for err == nil {
		var m transport.Message
		var ok bool
		if m, ok, err = split.Next(); err != nil || !ok {
			break
		}
		challenge, _ := msg.IsChallenge(m.Body)
		challenge = challenge && m.Type == transport.Standard && m.HasSeq
		if longer, err := transport.Append(rest, &m.Header, m.Body); err == nil && !challenge {
			rest = longer
			rest[1]++
		}
	}
	return cipher.Encrypt(nil, rest)
}

// send sends a datagram to the host.
func (w *world) send(from netip.AddrPort, datagram []byte, t *relay.Trouble) {
	w.network.Send(w.now, from, hostAddr, datagram, t)
}

// advance lets time pass; each is called at every step.
func (w *world) advance(d time.Duration, each func(tick int)) {
	end := w.now.Add(d)
	for tick := 0; w.now.Before(end); tick++ {
		w.now = w.now.Add(step)
		if each != nil {
			each(tick)
		}
		for {
			a, ok := w.network.Receive(w.now)
			if !ok {
				break
			}
			if a.To == hostAddr && w.fails != nil && w.fails() {
				continue
			}
			if a.To == hostAddr {
				w.from[a.From] += len(a.Datagram)
				if w.tap != nil {
					w.tap(a.From, a.Datagram)
				}
				w.host.Receive(w.now, a.From, a.Datagram)
			} else if p := w.byAddr[a.To]; p != nil {
				p.Receive(w.now, p.without(a.Datagram))
				if p.instant {
					w.drain(p)
				}
			}
		}
		w.host.Advance(w.now)
		for {
			to, datagram, ok := w.host.Send()
			if !ok {
				break
			}
			if w.fails != nil && w.fails() {
				continue
			}
			w.to[to] += len(datagram)
			if len(datagram) > 512 && datagram[0] != '\\' {
				w.t.Errorf("a datagram of %d bytes", len(datagram))
			}
			w.network.Send(w.now, hostAddr, to, datagram, w.troubleOf(w.byAddr[to]))
		}
		for _, p := range w.clients {
			if p.frames == 0 || tick%p.frames == 0 {
				w.drain(p)
			}
		}
	}
}

// drain sends what a client has to send: in one datagram if it sends in frames.
func (w *world) drain(p *player) {
	for {
		datagram, ok := p.Datagram(w.now)
		if !ok {
			return
		}
		if !p.mute {
			w.send(p.addr, datagram, w.troubleOf(p))
		}
		if p.frames > 0 {
			return
		}
	}
}

func (w *world) troubleOf(p *player) *relay.Trouble {
	if p != nil && p.calm {
		return &relay.Trouble{}
	}
	return &w.trouble
}

// join has clients join, one after another, and create ships.
func (w *world) join(players ...*player) {
	w.t.Helper()
	for _, p := range players {
		// A connect of OpenBC has no nonce: a second copy would begin anew.
		p.calm = p.OpenBC
		p.Connect(w.now)
		for waited := 0; p.Phase != relaytest.Playing; waited++ {
			w.advance(100*time.Millisecond, nil)
			if waited == 600 {
				w.t.Fatalf("%s has not joined in a minute: phase %d, reason %d; %v", p.Name, p.Phase, p.Reason, w.events)
			}
		}
		p.calm = false
		p.CreateShip(w.now)
	}
}

// fight has clients fight for a while.
func (w *world) fight(d time.Duration, players ...*player) {
	w.advance(d, func(tick int) {
		for i, p := range players {
			if p.Phase == relaytest.Playing && (tick+i)%10 == 0 { // ten times a second, not all at once
				p.Fight(w.now, tick/10)
			}
		}
	})
}

// settle lets time pass in which everything can be repeated ten times. When all
// is acknowledged cannot be waited for: OpenBC's clients do not acknowledge
// control messages.
func (w *world) settle() { w.advance(40*time.Second, nil) }

// emptied checks that the host has forgotten all clients after a while.
func (w *world) emptied() {
	w.t.Helper()
	w.advance(2*arq.SilenceLimit, nil)
	for p := range w.host.Peers() {
		w.t.Errorf("the host still knows %v, %v", p.Addr, p.Phase)
	}
	if next := w.host.Advance(w.now); !next.IsZero() {
		w.t.Errorf("an empty host wants to be called again in %v", next.Sub(w.now))
	}
}

// fine checks that nothing went wrong with the clients.
func (w *world) fine() {
	w.t.Helper()
	for _, p := range w.clients {
		if p.Err != nil {
			w.t.Error(p.Err)
		}
	}
	for _, e := range w.events {
		switch e.Kind {
		case relay.Ignored, relay.Limited, relay.Overloaded, relay.Kicked, relay.Replaced:
			w.t.Errorf("%v: %v %v: %s", e.Time.Sub(began), e.Addr, e.Kind, e.Text)
		}
	}
}

// rough is the trouble of the worst networks.
var rough = relay.Trouble{
	Loss: 0.05, Duplicate: 0.05, Reorder: 0.1, Cut: 0.02, Delay: 20 * time.Millisecond, Jitter: 40 * time.Millisecond,
}

// Whatever the network does, between clients that stay every reliable message
// is delivered once and in order.
func TestExactlyOnce(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed, relay.Config{Mode: relay.Playable, Collisions: true})
			w.trouble = rough
			stay := []*player{w.add(false), w.add(false), w.add(true), w.add(false)}
			w.join(stay...)
			w.fight(30*time.Second, stay...)
			w.settle()
			for _, a := range stay {
				for _, b := range stay {
					want := run{a.First + 1, a.Last(relaytest.Forward)}
					got, ok := b.seen[relaytest.Forward][a.forward()]
					if a != b && got != want || a == b && ok {
						t.Errorf("%s got %v of %s, want %v", b.Name, got, a.Name, want)
					}
					want.last = a.Last(relaytest.Chat)
					if got := b.seen[relaytest.Chat][a.Name]; got != want {
						t.Errorf("%s got %v of the chat of %s, want %v", b.Name, got, a.Name, want)
					}
				}
				if a.updates < 3*300*8/10 {
					t.Errorf("%s got %d updates", a.Name, a.updates)
				}
			}

			// One leaves, one falls silent, and two come: clients that are not
			// there all the time see no holes either.
			late := []*player{w.add(false), w.add(false)}
			stay[1].Leave(w.now)
			stay[2].mute = true
			w.join(late...)
			all := append(slices.Clone(stay), late...)
			w.fight(50*time.Second, all...) // longer than anybody may be silent
			w.settle()
			for _, a := range []*player{stay[0], stay[3]} {
				for _, b := range late {
					if got := b.seen[relaytest.Forward][a.forward()]; got.last != a.Last(relaytest.Forward) {
						t.Errorf("%s got up to %d of %s, want %d", b.Name, got.last, a.Name, a.Last(relaytest.Forward))
					}
					if got := a.seen[relaytest.Forward][b.forward()]; got != (run{b.First + 1, b.Last(relaytest.Forward)}) {
						t.Errorf("%s got %v of %s", a.Name, got, b.Name)
					}
				}
			}
			w.fine()
			if got := w.kinds(relay.TimedOut); !slices.Equal(got, []string{stay[2].Name}) {
				t.Errorf("timed out: %v, want %s", got, stay[2].Name)
			}
			for _, p := range []*player{stay[0], stay[3], late[0], late[1]} {
				p.Leave(w.now)
			}
			w.emptied()
		})
	}
}

// Every client is told every client's name once, in whatever order the clients
// come.
func TestNames(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, relay.Config{Players: 16})
		w.trouble = rough
		for range 6 {
			w.add(false).Connect(w.now)
			w.advance(time.Duration(w.rand.IntN(3))*step, nil)
		}
		w.settle()
		for _, p := range w.clients {
			slices.Sort(p.Names)
			if want := []string{"P1", "P2", "P3", "P4", "P5", "P6"}; !slices.Equal(p.Names, want) {
				t.Errorf("seed %d: %s was told %v", seed, p.Name, p.Names)
			}
		}
	}
}

// kinds returns the names of the clients that something happened to.
func (w *world) kinds(k relay.EventKind) (names []string) {
	for _, e := range w.events {
		if e.Kind == k {
			name := "?"
			if p := w.byAddr[e.Addr]; p != nil {
				name = p.Name
			}
			names = append(names, name)
		}
	}
	return names
}

// Strangers who send rubbish, in a player's name or in none, do not harm the
// players.
func TestStrangers(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed, relay.Config{Mode: relay.Playable, Players: 16})
			w.trouble = rough
			stay := []*player{w.add(false), w.add(false), w.add(false)}
			w.join(stay...)
			strangers := make([]netip.AddrPort, 40)
			for i := range strangers {
				strangers[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i / 2)}), uint16(5000+i%2))
			}
			var overheard []byte
			w.advance(30*time.Second, func(tick int) {
				for i, p := range stay {
					if (tick+i)%10 == 0 {
						p.Fight(w.now, tick/10)
					}
				}
				for range 3 {
					from := strangers[w.rand.IntN(len(strangers))]
					d := w.rubbish(&overheard)
					w.send(from, d, &relay.Trouble{Flip: 0.3, Cut: 0.1})
				}
			})
			w.settle()
			for _, a := range stay {
				for _, b := range stay {
					want := run{a.First + 1, a.Last(relaytest.Forward)}
					if got := b.seen[relaytest.Forward][a.forward()]; a != b && got != want {
						t.Errorf("%s got %v of %s, want %v", b.Name, got, a.Name, want)
					}
				}
				a.Leave(w.now)
			}
			queries := w.host.Stats().Queries
			for _, s := range strangers {
				// 5 browser replies a second of less than 400 bytes and 10 at once,
				// shared by all ports of an address.
				const browser = (30*5 + 10) * 400
				if got, sent := w.to[s], w.from[s]; got > 4*sent+browser {
					t.Errorf("%v sent %d bytes and got %d", s, sent, got)
				}
			}
			if queries == 0 {
				t.Error("no query was answered: the test does not test what it should")
			}
			w.emptied()
		})
	}
}

// rubbish returns a datagram that a stranger might send.
func (w *world) rubbish(overheard *[]byte) []byte {
	r := w.rand
	random := func(n int) []byte {
		b := make([]byte, r.IntN(n))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	switch r.IntN(7) {
	case 0:
		return random(600)
	case 1: // random messages
		return cipher.Encrypt(nil, append([]byte{0xFF, byte(r.IntN(4))}, random(100)...))
	case 2: // a new client connects
		c := relaytest.NewClient(relaytest.Options{Nonce: r.Uint32(), OpenBC: r.IntN(2) == 0})
		c.Connect(w.now)
		d, _ := c.Datagram(w.now)
		return d
	case 3:
		return []byte(`\status\`)
	case 4:
		return append([]byte(`\packets\\secure\`), random(300)...)
	case 5: // a client's datagram, from elsewhere
		p := w.clients[r.IntN(len(w.clients))]
		c := relaytest.NewClient(p.Options)
		c.Connect(w.now)
		d, _ := c.Datagram(w.now)
		*overheard = slices.Clone(d)
		return d
	default:
		return *overheard
	}
}

// An address that has not proved that it receives is sent no more than a few
// times the bytes that came from it.
func TestAmplification(t *testing.T) {
	w := newWorld(t, 1, relay.Config{Players: 16})
	victims := make([]netip.AddrPort, 300)
	for i := range victims {
		victims[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}), 53)
	}
	nonce := uint32(0)
	w.advance(60*time.Second, func(tick int) {
		for range 5 {
			nonce++
			c := relaytest.NewClient(relaytest.Options{Nonce: nonce, OpenBC: nonce%3 == 0})
			c.Connect(w.now)
			d, _ := c.Datagram(w.now)
			w.send(victims[w.rand.IntN(len(victims))], d, &relay.Trouble{Duplicate: 0.5})
		}
	})
	w.advance(60*time.Second, nil)
	total, got := 0, 0
	for _, v := range victims {
		total += w.from[v]
		got += w.to[v]
		if w.to[v] > 4*w.from[v] {
			t.Errorf("%v sent %d bytes and got %d", v, w.from[v], w.to[v])
		}
	}
	if got > 2*total || got == 0 {
		t.Errorf("%d bytes came and %d were sent", total, got)
	}
	w.emptied()
}

// Server browsers are answered, but not more often than a rate, which all ports
// of an address share.
func TestBrowserRate(t *testing.T) {
	w := newWorld(t, 1, relay.Config{})
	w.host = relay.NewHost(relay.Config{Name: "Test"})
	one := netip.MustParseAddr("203.0.113.7")
	answers := func() (n int) {
		for range 65535 {
			_, d, ok := w.host.Send()
			if !ok {
				break
			}
			if !bytes.HasPrefix(d, []byte(`\gamename\bcommander\`)) {
				t.Errorf("got %q", d)
			}
			n++
		}
		return n
	}
	for i := range 1000 {
		w.host.Receive(w.now, netip.AddrPortFrom(one, uint16(i+1)), []byte(`\status\`))
	}
	if n := answers(); n != 10 {
		t.Errorf("got %d answers at once, want 10", n)
	}
	w.host.Receive(w.now, netip.MustParseAddrPort("203.0.113.8:1"), []byte(`\status\`))
	if n := answers(); n != 1 {
		t.Error("another address is not answered")
	}
	w.now = w.now.Add(time.Second)
	for i := range 1000 {
		w.host.Receive(w.now, netip.AddrPortFrom(one, uint16(i+1)), []byte(`\status\`))
	}
	if n := answers(); n != 5 {
		t.Errorf("got %d answers a second later, want 5", n)
	}
	// Many addresses share a separate rate.
	n := 0
	w.now = w.now.Add(10 * time.Second)
	for i := range 5000 {
		w.host.Receive(w.now, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 1), []byte(`\status\`))
		n += answers()
	}
	if n != 200 {
		t.Errorf("got %d answers to 5000 addresses, want 200", n)
	}
}

// A public host sends a network one full answer in ten seconds, and else four
// times the bytes of its queries, and still answers others.
func TestReflection(t *testing.T) {
	w := newWorld(t, 1, relay.Config{})
	browser := netip.MustParseAddrPort("203.0.113.7:6500")
	forged := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(n >> 8), byte(n), 9}), 53)
	}
	in, out := map[netip.Prefix]int{}, map[netip.Prefix]int{}
	network := func(a netip.AddrPort) netip.Prefix { return netip.PrefixFrom(a.Addr(), 24).Masked() }
	ask := func(from netip.AddrPort, query string) (n int) {
		w.host.Receive(w.now, from, []byte(query))
		in[network(from)] += len(query)
		for to, d, ok := w.host.Send(); ok; to, d, ok = w.host.Send() {
			out[network(to)] += len(d)
			n += len(d)
		}
		return n
	}
	full := ask(browser, `\packets\`)
	if full < 200 {
		t.Fatalf("%d bytes in a full answer", full)
	}
	for n := range 20000 { // for 20 seconds
		w.now = w.now.Add(time.Millisecond)
		ask(forged(0), `\status\`)
		ask(netip.AddrPortFrom(forged(1).Addr(), uint16(1+n%60000)), `\basic\\rules\`)
		ask(netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, 0, 2, byte(n)}), 53), `\players\`)
		ask(forged(3+n%5000), `\status\`)
		if n%2000 == 1999 {
			fresh := netip.AddrPortFrom(netip.AddrFrom4([4]byte{99, byte(n >> 8), byte(n), 1}), 6500)
			if got := ask(fresh, `\status\`); got == 0 {
				t.Errorf("after %d ms a browser is not answered", n)
			}
		}
		if n%10000 == 9999 {
			for a, size := range out {
				if size > 4*in[a]+full {
					t.Errorf("in ten seconds %v is sent %d bytes for %d", a, size, in[a])
				}
			}
			clear(in)
			clear(out)
			w.now = w.now.Add(20 * time.Second)
		}
	}
	here := netip.MustParseAddrPort("127.0.0.1:6500")
	for n := range 20 { // a browser on this computer, whose address can't be forged from elsewhere
		got := ask(here, `\status\`)
		if second := ask(netip.AddrPortFrom(here.Addr(), uint16(7000+n)), `\status\`); got == 0 || second == 0 {
			t.Errorf("query %d of this computer is answered with %d and %d bytes", n, got, second)
		}
		w.now = w.now.Add(time.Second)
	}
	if got := ask(forged(0), `\echo\`+strings.Repeat("x", 100)); got == 0 || got > 4*106 {
		t.Errorf("%d bytes for an echo", got)
	}
}

// A client that floods the host does not harm the others, whatever becomes of
// itself.
func TestFlood(t *testing.T) {
	for _, tt := range []struct {
		name     string
		reliable bool
		body     []byte
	}{
		{"reliable", true, []byte{0x09}},
		{"unreliable", false, []byte{0x09}},
		{"long", true, append([]byte{0x09}, make([]byte, 390)...)},
		{"ready", true, []byte{0x2A, 0x20}},
		{"chat", true, []byte{0x2C, 4, 0, 0, 0, 1, 0, 'x'}},
		{"objects", true, []byte{0x1E, 0xFF, 0xFF, 0xFF, 0x3F}},
		{"hashes", true, []byte{0x21, 0x02}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, relay.Config{Mode: relay.Playable})
			w.trouble = relay.Trouble{Delay: 50 * time.Millisecond, Jitter: 10 * time.Millisecond}
			stay := []*player{w.add(false), w.add(false)}
			flood := w.add(false)
			w.join(append(stay, flood)...)
			w.advance(time.Second, nil)
			flood.damaged = true
			seq := uint16(7) // after five answers, 0x2A and 0x03
			w.advance(4*time.Second, func(tick int) {
				for i, p := range stay {
					if (tick+i)%10 == 0 {
						p.Fight(w.now, tick/10)
					}
				}
				for range 20 { // 2,000 datagrams a second
					plain := []byte{flood.ID, 0}
					for plain[1] < 100 {
						longer, err := transport.Append(plain, &transport.Header{Type: transport.Standard, Reliable: tt.reliable, Seq: seq}, tt.body)
						if err != nil {
							t.Fatal(err)
						}
						if len(longer) > transport.MaxDatagram {
							break
						}
						plain = longer
						plain[1]++
						seq++
					}
					w.send(flood.addr, cipher.Encrypt(nil, plain), &relay.Trouble{})
				}
			})
			w.settle()
			for i, p := range stay {
				other := stay[1-i]
				want := run{other.First + 1, other.Last(relaytest.Forward)}
				if got := p.seen[relaytest.Forward][other.forward()]; got != want {
					t.Errorf("%s got %v of %s, want %v", p.Name, got, other.Name, want)
				}
				if p.Phase != relaytest.Playing {
					t.Errorf("%s is no longer in the game: phase %d, reason %d", p.Name, p.Phase, p.Reason)
				}
			}
			for _, e := range w.events {
				if e.Kind == relay.Overloaded && e.Addr != flood.addr {
					t.Errorf("%v %v: %s", e.Addr, e.Kind, e.Text)
				}
			}
			if n := 1000 + 400*4 + 100; len(w.events) > n || w.host.Stats().Copies > 2*n+2000 {
				t.Errorf("%d events, %d copies", len(w.events), w.host.Stats().Copies)
			}
		})
	}
}

// A client that sends damaged datagrams harms itself at most.
func TestDamage(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed, relay.Config{Mode: relay.Playable})
			stay := []*player{w.add(false), w.add(false)}
			odd := w.add(false)
			w.join(append(stay, odd)...)
			w.trouble.Flip = 0.2
			for _, p := range stay {
				p.calm = true
			}
			odd.damaged = true
			w.advance(40*time.Second, func(tick int) {
				for i, p := range stay {
					if (tick+i)%10 == 0 {
						p.Fight(w.now, tick/10)
					}
				}
				if tick%5 == 0 { // a body that a flipped bit does not turn into another player's message
					odd.SendBody(w.now, tick%10 == 0, append([]byte{0x09}, bytes.Repeat([]byte{0xEE}, 30)...))
				}
			})
			w.settle()
			for i, p := range stay {
				other := stay[1-i]
				want := run{other.First + 1, other.Last(relaytest.Forward)}
				if got := p.seen[relaytest.Forward][other.forward()]; got != want || p.Phase != relaytest.Playing {
					t.Errorf("%s got %v of %s, want %v; phase %d", p.Name, got, other.Name, want, p.Phase)
				}
				p.Leave(w.now)
			}
			odd.mute = true
			w.emptied()
		})
	}
}

// guestAddr returns an address that no other client has.
func (w *world) guestAddr(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), uint16(20000+n%40000))
}

// Players learn within the second that the program waits that the host leaves, although
// it is lost once and they are far away.
func TestGoodbyeIsRepeated(t *testing.T) {
	w := newWorld(t, 1, relay.Config{Mode: relay.Playable})
	w.trouble = relay.Trouble{Delay: 450 * time.Millisecond}
	all := []*player{w.add(false), w.add(false)}
	w.join(all...)
	w.settle()
	w.host.Shutdown(w.now)
	w.fails = func() bool { return true }
	w.advance(50*time.Millisecond, nil)
	w.fails = nil
	w.advance(950*time.Millisecond, nil)
	for _, p := range all {
		if p.Phase != relaytest.Gone {
			t.Errorf("%s does not know that the host has left", p.Name)
		}
	}
}

// A player whose game ends without a leave, and begins again at its address and port, gets in,
// however soon. One who vanishes while joining keeps its slot from the next one for a short
// while if it was asked for its files, and for as long as the game's host waits if it was loading.
func TestBeginAgain(t *testing.T) {
	for _, mode := range []relay.Mode{relay.Playable, relay.Strict} {
		for _, kind := range []string{"answers", "silent", "OpenBC"} {
			for _, pause := range []time.Duration{0, 500 * time.Millisecond, time.Second, 3 * time.Second} {
				w := newWorld(t, 1, relay.Config{Mode: mode})
				w.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
				other, gone := w.add(false), w.add(kind == "OpenBC")
				gone.silent = kind == "silent"
				w.join(other, gone)
				w.fight(10*time.Second, other, gone)
				again := &player{
					Client: relaytest.NewClient(relaytest.Options{Name: gone.Name, Nonce: 777, OpenBC: gone.OpenBC}),
					addr:   gone.addr, damaged: true, silent: gone.silent,
				}
				w.clients, w.byAddr[again.addr] = []*player{other, again}, again
				w.advance(pause, nil)
				again.Connect(w.now)
				took := w.until(again, 12*time.Second)
				if again.Phase != relaytest.Playing || again.Client.Client.Name != gone.Name {
					t.Errorf("%v, %s, after %v: phase %d as %q", mode, kind, pause, again.Phase, again.Client.Client.Name)
				}
				t.Logf("%v, %s, after %v: in after %v", mode, kind, pause, took)
			}
		}
		for _, phase := range []relay.Phase{relay.Checking, relay.Loading} {
			w := newWorld(t, 1, relay.Config{Mode: mode, Players: 2})
			w.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
			other, gone, next := w.add(false), w.add(false), w.add(false)
			w.join(other)
			gone.Connect(w.now)
			w.advance(5*time.Second, func(int) {
				for p := range w.host.Peers() {
					gone.mute = gone.mute || p.Addr == gone.addr && p.Proved && p.Phase == phase
				}
			})
			began := w.now
			for next.Phase != relaytest.Playing && w.now.Sub(began) < time.Minute {
				next.Client = relaytest.NewClient(relaytest.Options{Name: next.Name, Nonce: uint32(w.now.Unix())})
				next.Connect(w.now)
				w.until(next, 2*time.Second)
			}
			took := w.now.Sub(began)
			if most := map[relay.Phase]time.Duration{relay.Checking: 2 * time.Second, relay.Loading: arq.SilenceLimit}[phase]; took > most {
				t.Errorf("%v: one vanished in the phase %v, and the next one is in after %v", mode, phase, took)
			}
			t.Logf("%v, %v: in after %v", mode, phase, took)
		}
	}
}

// until lets time pass until a player is in the game or is refused.
func (w *world) until(p *player, most time.Duration) time.Duration {
	from := w.now
	for w.now.Sub(from) < most && p.Phase != relaytest.Playing && p.Phase != relaytest.Gone {
		w.advance(step, nil)
	}
	return w.now.Sub(from)
}
