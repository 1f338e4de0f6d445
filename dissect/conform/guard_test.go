package conform_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// named gives a client a name, as the client with an id.
func (s *session) named(g *guest, id uint8, name string) {
	body := append(wire.AppendWideTextOf([]byte{id, 10, 0, 0, id}, name), 0, 0)
	g.Send(s.now, arq.Message{Type: transport.NameChange, Body: body})
	s.run(200 * time.Millisecond)
}

// says sends a game message.
func (s *session) says(g *guest, op decode.Opcode, m decode.Message) {
	g.Say(s.now, op, m)
	s.run(200 * time.Millisecond)
}

// update is a ship update without a flag.
func update(id wire.ObjectID, n int) []byte {
	body := []byte{byte(msg.OpStateUpdate), byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24), byte(n), byte(n >> 8), 0, 0, 0}
	return body
}

// misdeeds plays a game with an impostor, a flooder, players of one name and a
// normal player.
func (s *session) misdeeds() {
	kirk, data, double := s.join("Kirk", false), s.join("Data", false), s.join("Data", false)
	third := s.join("dаta", false) // with a Cyrillic letter
	for _, g := range []*guest{kirk, data, third} {
		s.create(g)
	}
	s.chat("one")
	s.run(5 * time.Second)

	// The impostor.
	s.says(double, msg.OpChat, &msg.Chat{Sender: int32(kirk.ID), Text: []byte("I am Kirk")})
	s.says(double, msg.OpTeam, &msg.Team{Player: int32(kirk.ID), Team: 1})
	s.says(double, msg.OpTeamChat, &msg.TeamChat{Chat: msg.Chat{Sender: int32(kirk.ID), Text: []byte("we")}})
	s.says(double, msg.OpChat, &msg.Chat{Sender: int32(double.ID), Text: []byte("a\nKirk: b")})
	s.says(double, msg.OpObjectCreateTeam, ship(kirk.Slot, kirk.Slot, kirk.ID))
	s.create(double)
	s.says(double, msg.OpObjectCreateTeam, ship(kirk.Slot, double.Slot, double.ID))
	s.says(double, msg.OpObjectCreateTeam, ship(double.Slot, kirk.Slot, kirk.ID))
	s.says(double, msg.OpObjectCreateTeam, ship(kirk.Slot, double.Slot, double.ID)) // newcomers get the corrected one
	s.says(double, msg.OpDestroyObject, &msg.DestroyObject{Object: wire.FirstObject(kirk.Slot)})
	s.named(double, kirk.ID, "Cheat")
	s.named(double, double.ID, "a\nb\x1B")
	s.run(8 * time.Second)
	for n := range 7 {
		s.named(double, double.ID, "Busy"+string(rune('0'+n)))
	}
	for n := range 20 {
		double.SendBody(s.now, false, update(wire.FirstObject(kirk.Slot), n))
		kirk.SendBody(s.now, false, update(wire.FirstObject(kirk.Slot), n))
		s.run(50 * time.Millisecond)
		if n%2 == 0 {
			s.chat("and") // the line works
		}
	}
	s.create(s.join("Late", false))
	s.chat("two")

	// The flooder.
	for n := range 4000 {
		third.SendBody(s.now, false, update(wire.FirstObject(third.Slot), n))
		if n%10 == 0 {
			s.run(5 * time.Millisecond)
		}
	}
	s.run(5 * time.Second)
	s.chat("three")
	double.Send(s.now, arq.Message{Type: transport.Disconnect, Body: []byte{kirk.ID, 10, 0, 0, 1}})
	s.run(3 * time.Second)
	s.create(s.join("Later", false))
	s.chat("four")
	s.run(5 * time.Second)
}

// guarded returns the game of a host with random ids, as on a network.
func guarded() relay.Config {
	rng := rand.New(rand.NewPCG(1, 2))
	return relay.Config{Players: 8, Mode: relay.Playable, Random: rng.Uint32, Public: true}
}

// All that bcdissect relay refuses and corrects is explained by name.
func TestGuards(t *testing.T) {
	s := newSession(t, guarded())
	s.misdeeds()
	r := s.judge()
	var names []string
	for _, d := range r.Deviations {
		names = append(names, d.Rule.Name)
		if d.Count == 0 || d.First == 0 {
			t.Errorf("%s: %d from frame %d", d.Rule.Name, d.Count, d.First)
		}
	}
	slices.Sort(names)
	want := []string{
		"cleans-chat", "corrects-leave", "corrects-names", "corrects-owner", "corrects-sender", "hides-addresses", "limits-floods", "limits-renames",
		"refuses-others-objects",
	}
	if !slices.Equal(names, want) {
		t.Errorf("explained by\n%q, want\n%q", names, want)
	}
	for _, c := range r.Excused {
		t.Logf("not required: %s: %d from frame %d", c.Why, c.Count, c.First)
	}
}

// A host that passes all on is accused of nothing.
func TestNoGuards(t *testing.T) {
	cfg := guarded()
	cfg.Captured = true
	s := newSession(t, cfg)
	s.misdeeds()
	if r := s.judge(); len(r.Deviations) > 0 {
		t.Errorf("%d deviations", len(r.Deviations))
	}
}

// le32 returns the bytes of a number on the wire.
func le32(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }

// A message that the guards do not change or refuse so is a difference.
func TestNotGuarded(t *testing.T) {
	chat := func(sender uint8, text string) string {
		return le32(uint32(sender)) + string([]byte{byte(len(text)), 0}) + text
	}
	object := func(g *guest) string { return le32(uint32(wire.FirstObject(g.Slot))) }
	const fromHost = -1
	for _, tt := range []struct {
		name string
		from int // index of the client with the altered messages
		all  bool
		was  func(kirk, cheat *guest) string // bytes of a message
		is   func(kirk, cheat *guest) string // body with one byte altered
		want string                          // the first difference
	}{
		{
			"chat in the name of a third player", fromHost, false,
			func(_, cheat *guest) string { return chat(cheat.ID, "I am Kirk") },
			func(_, cheat *guest) string { return chat(cheat.ID^1, "I am Kirk") },
			"differs Chat",
		},
		{
			"another text", fromHost, false,
			func(_, cheat *guest) string { return chat(cheat.ID, "I am Kirk") },
			func(_, cheat *guest) string { return chat(cheat.ID, "I am Kirl") },
			"differs Chat",
		},
		{
			"text cleaned in another way", fromHost, false,
			func(_, cheat *guest) string { return chat(cheat.ID, "a Kirk: b") },
			func(_, cheat *guest) string { return chat(cheat.ID, "a?Kirk: b") },
			"differs Chat",
		},
		{
			"honest chat changed", fromHost, false,
			func(kirk, _ *guest) string { return chat(kirk.ID, "twoKirk") },
			func(_, cheat *guest) string { return chat(cheat.ID, "twoKirk") },
			"differs Chat",
		},
		{
			"another number in a name", fromHost, false,
			func(_, _ *guest) string { return string(wire.AppendWideTextOf(nil, "Data (2)")) },
			func(_, _ *guest) string { return string(wire.AppendWideTextOf(nil, "Data (3)")) },
			"missing name_change",
		},
		{
			"own ship refused", 2, false,
			func(kirk, _ *guest) string { return le32(0x8008) + object(kirk) },
			func(_, cheat *guest) string { return le32(0x8008) + object(cheat) },
			"missing ObjectCreateTeam",
		},
		{
			"own updates refused", 2, true,
			func(kirk, _ *guest) string { return string([]byte{byte(msg.OpStateUpdate)}) + object(kirk) },
			func(_, cheat *guest) string { return string([]byte{byte(msg.OpStateUpdate)}) + object(cheat) },
			"missing StateUpdate",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t, guarded())
			altered := false
			s.alter = func(from netip.AddrPort, plain []byte) []byte {
				if altered && !tt.all || len(s.clients) < 3 || s.clients[2].ID == 0 {
					return plain
				}
				kirk, cheat := s.clients[0], s.clients[2]
				if tt.from == fromHost && from != s.addr || tt.from != fromHost && from != s.clients[tt.from].addr {
					return plain
				}
				if i := bytes.Index(plain, []byte(tt.was(kirk, cheat))); i >= 0 {
					altered = true
					copy(plain[i:], tt.is(kirk, cheat))
				}
				return plain
			}
			s.misdeeds()
			reports, _ := s.hosts.Reports()
			if !altered || reports[0].Found == 0 || reports[0].Conforms() {
				t.Fatalf("altered %v, %d differences", altered, reports[0].Found)
			}
			if d := reports[0].Differences[0]; d.Kind+" "+d.Name != tt.want {
				t.Errorf("the first is %s %s, want %s", d.Kind, d.Name, tt.want)
			}
		})
	}
}

// A host that drops messages within the budget is to blame.
func TestTooStrict(t *testing.T) {
	cfg := guarded()
	cfg.Limits.GameRate = relay.Rate{PerSecond: 20, Burst: 40}
	s := newSession(t, cfg)
	a, b := s.join("A", false), s.join("B", false)
	s.create(a)
	s.create(b)
	for n := range 400 {
		a.SendBody(s.now, false, update(wire.FirstObject(a.Slot), n))
		s.run(20 * time.Millisecond)
	}
	s.run(5 * time.Second)
	reports, _ := s.hosts.Reports()
	other := func(d *result.Deviation) bool { return d.Rule.Name != "hides-addresses" }
	if r := reports[0]; r.Found < 100 || r.Differences[0].Name != "StateUpdate" || slices.ContainsFunc(r.Deviations, other) {
		t.Errorf("%d differences, %d deviations", r.Found, len(r.Deviations))
	}
}
