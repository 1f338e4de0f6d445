package conform_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A session is played by a host and clients in simulated time, recorded, and
// compared.
type session struct {
	t        testing.TB
	now      time.Time
	host     *relay.Host // nil if it is dead
	addr     netip.AddrPort
	clients  []*guest
	pipeline *dissect.Pipeline
	hosts    *conform.Hosts
	frames   int
	joined   byte
	password string
	hidden   bool                                           // all datagrams except those from and to one client
	only     netip.AddrPort                                 // this one
	alter    func(from netip.AddrPort, plain []byte) []byte // if not nil, changes recorded datagrams
	tap      func(*dissect.Datagram)                        // if not nil, takes recorded datagrams
	lose     func(from netip.AddrPort, plain []byte) bool   // if not nil, tells whether the network loses a datagram: before the capture, or behind it
}

// A guest is a client of a session.
type guest struct {
	*relay.Client
	addr netip.AddrPort
}

func newSession(tb testing.TB, cfg relay.Config) *session {
	tb.Helper()
	s := &session{
		t: tb, now: time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC), addr: netip.MustParseAddrPort("192.0.2.1:22101"),
		pipeline: dissect.New(dissect.Config{Ports: []uint16{22101}, Catalog: cfg.Catalog}),
		hosts:    conform.NewHosts(conform.Config{Game: relay.Config{Mode: cfg.Mode}, Catalog: cfg.Catalog}),
	}
	s.start(cfg)
	return s
}

// start starts a host.
func (s *session) start(cfg relay.Config) {
	cfg.Mission, cfg.System, cfg.TimeLimit, cfg.FragLimit = "Multiplayer.Episode.Mission1.Mission1", 1, msg.Unlimited, msg.Unlimited
	s.host = relay.NewHost(cfg)
}

// join adds a client, and lets it join.
func (s *session) join(name string, openBC bool) *guest {
	g := s.guest(name, openBC)
	g.Connect(s.now, nil)
	s.run(2 * time.Second)
	return g
}

// guest adds a client.
func (s *session) guest(name string, openBC bool) *guest {
	s.joined++
	n := s.joined
	g := &guest{
		Client: relay.NewClient(relay.ClientConfig{
			Name: name, Claimed: [4]byte{10, 0, 0, n}, Nonce: uint32(n), OpenBC: openBC, Enter: true, Password: s.password,
			Answer: func(round uint8) *msg.ChecksumResponse { return &msg.ChecksumResponse{Round: round, Found: true} },
		}),
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, n}), 4000+uint16(n)),
	}
	s.clients = append(s.clients, g)
	return g
}

func (s *session) record(from, to netip.AddrPort, datagram []byte) {
	if s.hidden && from != s.only && to != s.only {
		return
	}
	s.frames++
	if s.alter != nil {
		datagram = cipher.Encrypt(nil, s.alter(from, cipher.Decrypt(nil, datagram)))
	}
	d := dissect.Datagram{Number: s.frames, Time: s.now, Src: from, Dst: to, Payload: datagram, Full: len(datagram)}
	if s.tap != nil {
		d.Payload = slices.Clone(datagram)
		s.tap(&d)
	}
	if err := s.pipeline.Push(&d, s.hosts.Record); err != nil {
		s.t.Fatal(err)
	}
}

// run lets time pass.
func (s *session) run(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(5 * time.Millisecond) {
		for _, g := range s.clients {
			for {
				datagram, ok := g.Datagram(s.now)
				if !ok {
					break
				}
				if s.lost(g.addr, datagram) {
					continue
				}
				s.record(g.addr, s.addr, datagram)
				if s.host != nil {
					s.host.Receive(s.now, g.addr, datagram)
				}
			}
		}
		if s.host == nil {
			continue
		}
		s.host.Advance(s.now)
		for {
			to, datagram, ok := s.host.Send()
			if !ok {
				break
			}
			s.record(s.addr, to, datagram)
			if s.lost(s.addr, datagram) {
				continue
			}
			for _, g := range s.clients {
				if g.addr == to {
					g.Receive(s.now, datagram)
				}
			}
		}
	}
}

// lost reports whether the network loses a datagram.
func (s *session) lost(from netip.AddrPort, datagram []byte) bool {
	return s.lose != nil && s.lose(from, cipher.Decrypt(nil, datagram))
}

// create lets a client create its ship.
func (s *session) create(g *guest) {
	g.Say(s.now, msg.OpObjectCreateTeam, ship(g.Slot, g.Slot, g.ID))
	s.run(100 * time.Millisecond)
}

// ship is a ship of the player with an id, in the range of a slot.
func ship(slot, owner int, id uint8) *msg.ObjectCreateTeam {
	m := &msg.ObjectCreateTeam{}
	m.Slot, m.Player, m.Class, m.ID = uint8(owner), id, 0x8008, wire.FirstObject(slot)
	return m
}

// chat lets every client say something.
func (s *session) chat(text string) {
	for _, g := range s.clients {
		if g.InGame && g.Phase != relay.ClientGone {
			g.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(g.ID), Text: []byte(text + g.Name)})
		}
	}
	s.run(200 * time.Millisecond)
}

// judge fails the test if there are differences, or if a note is missing.
func (s *session) judge(notes ...string) *result.Report {
	s.t.Helper()
	reports, _ := s.hosts.Reports()
	if len(reports) != 1 {
		s.t.Fatalf("%d hosts", len(reports))
	}
	r := reports[0]
	for _, d := range r.Differences {
		s.t.Errorf("%s %s in frame %d to %v: %s %v", d.Kind, d.Name, d.Frame, d.To, d.Detail, d.Fields)
	}
	for _, d := range r.Deviations {
		s.t.Logf("%s: %d from frame %d", d.Rule.Name, d.Count, d.First)
	}
	all := strings.Join(r.Notes, "\n")
	for _, n := range notes {
		if !strings.Contains(all, n) {
			s.t.Errorf("the notes %q do not say %q", all, n)
		}
	}
	return r
}

// TestRefusedConnect: a client that the host does not let in does not become a player of
// the model, and the next one gets the slot that the host gives it.
func TestRefusedConnect(t *testing.T) {
	s := newSession(t, relay.Config{Players: 2, Mode: relay.Playable})
	a, b := s.join("A", false), s.join("B", false)
	s.create(a)
	s.join("Full", false)
	s.create(b)
	s.chat("one")
	b.Leave(s.now)
	s.run(3 * time.Second)
	s.create(s.join("C", false))
	s.chat("two")
	s.judge("1 client was not let in")
}

// TestPassword: players that the host of a locked game lets in also enter the
// model, which does not know the password.
func TestPassword(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable, Password: "Kobayashi"})
	s.password = "Kobayashi"
	s.create(s.join("A", false))
	s.create(s.join("B", false))
	s.password = "Maru"
	s.join("C", false)
	s.chat("one")
	r := s.judge("1 client was not let in")
	if got := matched(r, msg.OpChat); got != 4 {
		t.Errorf("%d chat lines are compared, want 4", got)
	}
}

// TestHastyLeave: a host that names a client which has just left does not speak of a
// player without captured traffic.
func TestHastyLeave(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	a := s.join("A", false)
	s.create(a)
	hasty := s.guest("Hasty", false)
	hasty.Connect(s.now, nil)
	for hasty.ID == 0 {
		s.run(5 * time.Millisecond)
	}
	hasty.Leave(s.now) // its name is on the way to the host
	s.run(3 * time.Second)
	s.create(s.join("B", false))
	s.chat("one")
	r := s.judge()
	if all := strings.Join(r.Notes, "\n"); strings.Contains(all, "without captured traffic") {
		t.Errorf("the notes tell of strangers: %s", all)
	}
	if got := matched(r, msg.OpObjectCreateTeam); got != 2 {
		t.Errorf("%d creations are compared, want 2", got)
	}
}

// TestForeignID: a host may drop a datagram with an id that is not its client's.
func TestForeignID(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	a, b := s.join("A", false), s.join("B", false)
	s.create(a)
	s.create(b)
	// The host acknowledges another message of the client with the same number again.
	line := append([]byte{byte(msg.OpChat), b.ID, 0, 0, 0, 5, 0}, "not B"...)
	number := transport.Header{Type: transport.Standard, Seq: 3, HasSeq: true, Reliable: true}
	s.record(a.addr, s.addr, s.datagram(b.ID, number, line))
	number.Type = transport.Acknowledge
	s.record(s.addr, a.addr, s.datagram(transport.HostPeer, number, nil))
	s.chat("one")
	s.run(10 * time.Second)
	s.chat("two")
	r := s.judge()
	if got := matched(r, msg.OpChat); got != 8 {
		t.Errorf("%d chat lines are compared, want 8", got)
	}
}

// datagram returns an enciphered datagram with one message.
func (s *session) datagram(peer uint8, h transport.Header, body []byte) []byte {
	s.t.Helper()
	plain, err := transport.Append([]byte{peer, 1}, &h, body)
	if err != nil {
		s.t.Fatal(err)
	}
	return cipher.Encrypt(nil, plain)
}

// matched returns how many messages with an opcode are as expected.
func matched(r *result.Report, op decode.Opcode) (n int) {
	for _, row := range r.Rows {
		if row.Opcode == op {
			n += row.Matched
		}
	}
	return n
}

// TestRestartedHost: a host that dies, and another one in its place.
func TestRestartedHost(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	s.create(s.join("A", false))
	s.create(s.join("B", false))
	s.chat("one")
	s.host = nil
	s.chat("into the void")
	s.run(5 * time.Second)
	s.chat("again")
	s.run(3 * time.Second)
	s.clients = s.clients[:0]
	s.start(relay.Config{Players: 8, Mode: relay.Playable})
	for _, name := range []string{"C", "D"} {
		s.create(s.join(name, false))
	}
	s.chat("three")
	s.judge("sent nothing for", "new run of the host begins")
}

// TestDeadHost: a host that dies and stays dead.
func TestDeadHost(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	s.create(s.join("A", false))
	s.create(s.join("B", false))
	s.chat("one")
	s.host = nil
	for range 10 {
		s.chat("hello?")
	}
	s.run(20 * time.Second)
	s.judge("The host sent nothing for")
}

// TestLeave: a host is expected to announce a leave in the way of its dialect.
func TestLeave(t *testing.T) {
	for name, like := range map[string]struct {
		host   decode.Dialect
		client bool
	}{"stock": {decode.Stock, false}, "openbc": {decode.OpenBC, true}, "openbc clients": {decode.Stock, true}} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable, Like: like.host})
			a, b := s.join("A", like.client), s.join("B", like.client)
			s.join("C", like.client)
			s.create(a)
			s.create(b)
			s.chat("one")
			a.Leave(s.now)
			s.run(3 * time.Second)
			s.chat("two")
			r := s.judge()
			for _, c := range r.Apart {
				if strings.Contains(c.Why, "leave") {
					t.Errorf("%d messages of the leave are not compared: %s", c.Count, c.Why)
				}
			}
			if n := matched(r, msg.OpPlayerDeleted); n != 2 {
				t.Errorf("%d PlayerDeleted are compared, want 2", n)
			}
		})
	}
}

// TestJoinWithHole: one lost datagram of a join is made up, wherever it was, and
// the host is not to blame.
func TestJoinWithHole(t *testing.T) {
	for lost := 4; lost <= 64; lost++ {
		r := compare(t, "stock_client.pcap", 0, nil, func(d *dissect.Datagram) bool { return d.Number != lost })[0]
		if r.Found > 0 {
			t.Errorf("without frame %d: %d differences, the first %v", lost, r.Found, r.Differences[0])
		}
	}
}
