package suite

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// simulated are the cases of a simulating host that captures answer.
var simulated = []string{"U-3", "U-4", "U-5", "U-6", "U-7", "U-8", "U-9", "U-10", "U-12", "D-1", "D-2", "D-3", "D-7", "D-9", "D-10", "L-7"}

// verdicts returns the verdicts of a watch by id.
func verdictsOf(w *Watch, p Profile) map[string]Result {
	by := map[string]Result{}
	for _, res := range w.Results(p) {
		by[res.Case.ID] = res
	}
	return by
}

// Captures answer the cases. stock_replay holds bytes of the real game; the OpenBC
// server of stock_client passes a client's update on in frame 145, and names object
// 4000001A, offset 27, as the repair subsystem of an Akira, which has it at 13.
func TestSimulatedInCaptures(t *testing.T) {
	for _, tt := range []struct {
		capture string
		profile Profile
		want    map[string]Verdict // all other cases are NOT SEEN
		frame   map[string]int
	}{
		{"stock_replay.pcap", Stock, map[string]Verdict{"U-4": Pass, "U-5": Pass, "U-6": Pass}, nil},
		{"stock_client.pcap", Stock, map[string]Verdict{"U-4": Fail, "U-8": Fail, "U-12": Pass, "D-1": Pass, "D-7": Fail}, map[string]int{"U-8": 145, "D-7": 210}},
		{"stock_client.pcap", OpenBC, map[string]Verdict{"U-4": Known, "U-8": Known, "U-12": Pass, "D-1": Pass, "D-7": Known}, nil},
		{"battle_mix.pcap.gz", Stock, map[string]Verdict{"U-3": Pass, "U-4": Pass, "U-8": Pass, "U-9": Pass, "U-12": Pass}, nil},
		{"join_flow.pcap", Stock, nil, nil},
	} {
		cases, _ := Select(simulated)
		w := NewWatch(cases, tt.profile)
		recorded.Records(t, tt.capture, dissect.Config{}, func(r *dissect.Record) { _ = w.Record(r) }) // which never fails
		got := verdictsOf(w, tt.profile)
		for _, id := range simulated {
			want, ok := tt.want[id]
			if !ok {
				want = NotSeen
			}
			res := got[id]
			if res.Case == nil || res.Verdict != want {
				t.Errorf("%s, %v: %s is %v, want %v: %v", tt.capture, tt.profile, id, res.Verdict, want, res.Came)
			}
			if f := tt.frame[id]; f > 0 && !slices.Contains(res.Frames, f) {
				t.Errorf("%s: %s is shown by the frames %v, want %d too", tt.capture, id, res.Frames, f)
			}
		}
	}
}

// A story is a made-up session with one client, in slot 0, with an Akira.
type story struct {
	w     *Watch
	frame int
	at    time.Time
	next  map[dissect.Dir]int64 // numbers
	lost  bool                  // the capture lacks a message before the end
}

var (
	own        = wire.FirstObject(0)
	foreign    = wire.FirstObject(1)
	akiraClass = ship.BySpecies(1)
)

func newStory(id string) *story {
	cases, _ := Select([]string{id})
	s := &story{w: NewWatch(cases, Stock), at: began, next: map[dissect.Dir]int64{}}
	s.host(&msg.Settings{Slot: 0})
	s.numbered(dissect.ToHost, new(msg.ClientReady))
	for _, id := range []wire.ObjectID{own, foreign} {
		m := &msg.ObjectCreateTeam{}
		m.ID, m.Species = id, akiraClass.Species
		s.host(m)
	}
	return s
}

// host lets the host send a message.
func (s *story) host(m decode.Message) {
	if _, update := m.(*msg.StateUpdate); !update {
		s.numbered(dissect.FromHost, m)
		return
	}
	s.frame++
	_ = s.w.Record(&dissect.Record{ // which never fails
		Datagram: &dissect.Datagram{Number: s.frame, Time: s.at}, Dir: dissect.FromHost, Kind: dissect.KindMessage, Conversation: 1, Message: m,
	})
}

// numbered sends a reliable message.
func (s *story) numbered(dir dissect.Dir, m decode.Message) { s.number(dir, m, nil) }

func (s *story) number(dir dissect.Dir, m decode.Message, payload []byte) {
	s.frame++
	n := s.next[dir]
	s.next[dir]++
	_ = s.w.Record(&dissect.Record{ // which never fails
		Datagram: &dissect.Datagram{Number: s.frame, Time: s.at}, Dir: dir, Kind: dissect.KindMessage, Conversation: 1, Message: m,
		Transport: transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: uint16(n)}, Number: n, Payload: payload,
	})
}

// explodes lets the client ask for its end, and the host tell of it.
func (s *story) explodes(e event.Event) {
	s.numbered(dissect.ToHost, new(msg.SelfDestructRequest))
	e.Class, e.Code, e.Dest = event.ClassExploding, event.CodeObjectExploding, own
	s.host(&msg.HostEvent{Event: e})
}

// first lets the client create a Sovereign, and the host send a block about it.
func (s *story) first(block string) {
	created := s.at
	if created.After(began) {
		created = began
	}
	at := s.at
	s.at = created
	m := &msg.ObjectCreateTeam{}
	m.ID, m.Species = own+40, 5
	s.numbered(dissect.ToHost, m)
	s.at = at
	payload := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpStateUpdate)}, uint32(own+40))
	payload = append(append(payload, 0, 0, 0, 0, byte(msg.DirtySubsystems)), unhex(block)...)
	read := decode.NewDecoder().Read(msg.Catalog().Lookup(msg.OpStateUpdate), payload, decode.Stock, sovereigns{})
	status := dissect.StatusOK
	if !read.Exact() {
		status = dissect.StatusMalformed
	}
	s.frame++
	_ = s.w.Record(&dissect.Record{ // which never fails
		Datagram: &dissect.Datagram{Number: s.frame, Time: s.at}, Dir: dissect.FromHost, Kind: dissect.KindMessage, Conversation: 1,
		Message: read.Message, Status: status, Payload: payload,
	})
}

// sovereigns is a session in which each ship is a Sovereign.
type sovereigns struct{}

func (sovereigns) Ship(wire.ObjectID) *ship.Class       { return ship.BySpecies(5) }
func (sovereigns) Base(wire.ObjectID) (wire.Vec3, bool) { return wire.Vec3{}, false }

// dies lets the host tell of a death of player 2.
func (s *story) dies(deaths int32) { s.host(&msg.ScoreChange{Victim: 2, Deaths: deaths}) }

// kills tells the client of a limit, and of a player who has more and more kills.
func (s *story) kills(limit uint8, kills ...int32) {
	s.host(&msg.MissionInit{TimeLimit: msg.Unlimited, FragLimit: limit})
	for _, n := range kills {
		s.host(&msg.ScoreChange{Killer: 2, Kills: n, Victim: 3, Deaths: n})
	}
}

// returns lets player 3, "Kirk", leave with two deaths and come back with another id. The host
// then sends the score; nil is one that is not captured.
func (s *story) returns(id uint8, score decode.Message) {
	s.control(3, transport.NameChange, unhex("03c000020a4b00690072006b000000"))
	s.host(&msg.ScoreChange{Victim: 3, Deaths: 2})
	s.control(3, transport.Disconnect, unhex("03c000020a"))
	s.control(transport.UnassignedPeer, transport.Connect, unhex("c000020a010203040000"))
	s.next = map[dissect.Dir]int64{}
	s.control(id, transport.NameChange, append([]byte{id}, unhex("c000020a4b00690072006b000000")...))
	s.host(&msg.MissionInit{TimeLimit: msg.Unlimited, FragLimit: msg.Unlimited})
	if score == nil {
		s.next[dissect.FromHost]++
	} else {
		s.host(score)
	}
	s.host(&msg.PlayerAnnounce{Event: event.Event{Code: event.CodeNewPlayerInGame, Player: id}})
}

// control lets the client send a control message.
func (s *story) control(peer uint8, typ transport.Type, body []byte) {
	s.frame++
	header := transport.Header{Type: typ, Reliable: true, Priority: true, HasSeq: true, Size: 5}
	_ = s.w.Record(&dissect.Record{ // which never fails
		Datagram: &dissect.Datagram{Number: s.frame, Time: s.at}, Dir: dissect.ToHost, Kind: dissect.KindMessage, Conversation: 1, Peer: peer,
		Transport: header, Bytes: append(make([]byte, header.Size), body...),
		Message: (&message{Message: transport.Message{Header: header, Body: body}}).decoded().Message,
	})
}

// creates lets the client create its ship after some time.
func (s *story) creates(after time.Duration) {
	s.at = s.at.Add(after)
	m := &msg.ObjectCreateTeam{}
	m.ID, m.Species = own, akiraClass.Species
	s.numbered(dissect.ToHost, m)
}

func (s *story) restarts() {
	s.number(dissect.FromHost, new(msg.RestartGame), []byte{byte(msg.OpRestartGame)})
}

// ends lets both sides say something more: their numbers tell whether the capture lacks a
// message before it.
func (s *story) ends() {
	for _, dir := range []dissect.Dir{dissect.FromHost, dissect.ToHost} {
		if s.lost {
			s.next[dir]++
		}
		s.numbered(dir, new(msg.Chat))
	}
}

// updates lets it send updates of a ship, each at an interval after the one before.
// Of each so many, one is not in the capture; 0 for none.
func (s *story) updates(n int, every time.Duration, lost int, m msg.StateUpdate) {
	m.Class = akiraClass
	for i := range n {
		s.at = s.at.Add(every)
		if lost == 0 || i%lost != 0 {
			s.host(&m)
		}
	}
}

func (s *story) event(class event.Class, code event.Code, source, dest, object wire.ObjectID) {
	s.host(&msg.HostEvent{Event: event.Event{Class: class, Code: code, Source: source, Dest: dest, Object: object}})
}

// Each case finds its fault in a made-up session, and blames no host for messages
// that the capture lacks.
func TestSimulatedFaults(t *testing.T) {
	const tenth = 100 * time.Millisecond
	block := msg.StateUpdate{Object: own, Flags: msg.DirtySubsystems, Start: 2}
	moved := msg.StateUpdate{Object: foreign, Flags: msg.DirtyDelta}
	placed := msg.StateUpdate{Object: foreign, Flags: msg.DirtyPosition}
	with := func(m msg.StateUpdate, change func(*msg.StateUpdate)) msg.StateUpdate { change(&m); return m }
	for _, tt := range []struct {
		id, name string
		want     Verdict
		play     func(s *story)
	}{
		{"U-3", "ten a second", Pass, func(s *story) { s.updates(250, tenth, 0, block) }},
		{"U-3", "every tenth is not captured", Pass, func(s *story) { s.updates(300, tenth, 10, block) }},
		{"U-3", "a modem", Pass, func(s *story) { s.updates(250, 167*time.Millisecond, 0, block) }},
		{"U-3", "seven a second", Fail, func(s *story) { s.updates(250, 143*time.Millisecond, 0, block) }},
		{"U-3", "too few to tell", NotSeen, func(s *story) { s.updates(150, 143*time.Millisecond, 0, block) }},
		{"U-4", "all is well", Pass, func(s *story) { s.updates(1, tenth, 0, block) }},
		{"U-4", "a position", Fail, func(s *story) {
			s.updates(1, tenth, 0, with(block, func(m *msg.StateUpdate) { m.Flags |= msg.DirtyPosition }))
		}},
		{"U-4", "a power setting", Fail, func(s *story) {
			s.updates(1, tenth, 0, with(block, func(m *msg.StateUpdate) { m.Entries = []msg.Entry{{Index: 2, HasPower: true}} }))
		}},
		{"U-4", "others' ships", NotSeen, func(s *story) { s.updates(1, tenth, 0, placed) }},
		{"U-4", "a new session may be lost", Skip, func(s *story) {
			s.updates(1, tenth, 0, with(block, func(m *msg.StateUpdate) { m.Flags |= msg.DirtyPosition }))
			s.lost = true
		}},
		{"U-5", "the cycle of the Akira", Pass, func(s *story) { s.updates(1, tenth, 0, block) }},
		{"U-5", "a start beyond the cycle", Fail, func(s *story) {
			s.updates(1, tenth, 0, with(block, func(m *msg.StateUpdate) { m.Start = 5 }))
		}},
		{"U-5", "of another's ship", NotSeen, func(s *story) {
			s.updates(1, tenth, 0, with(block, func(m *msg.StateUpdate) { m.Object, m.Start = foreign, 5 }))
		}},
		{"U-8", "no hash", Pass, func(s *story) { s.updates(1, tenth, 0, placed) }},
		{"U-8", "a hash", Fail, func(s *story) {
			s.updates(1, tenth, 0, with(placed, func(m *msg.StateUpdate) { m.HasHash = true }))
		}},
		{"U-10", "twice the interval", Pass, func(s *story) {
			s.updates(250, tenth, 0, block)
			s.updates(250, 2*tenth, 0, moved)
		}},
		{"U-10", "three times the interval", Fail, func(s *story) {
			s.updates(250, tenth, 0, block)
			s.updates(250, 3*tenth, 0, moved)
		}},
		{"U-10", "the own interval is not known", NotSeen, func(s *story) { s.updates(250, 3*tenth, 0, moved) }},
		{"U-12", "a position first", Pass, func(s *story) { s.updates(1, tenth, 0, placed); s.updates(5, tenth, 0, moved) }},
		{"U-12", "never a position", Fail, func(s *story) { s.updates(60, tenth, 0, moved) }},
		{"U-12", "the first position is not captured", NotSeen, func(s *story) { s.updates(9, tenth, 0, moved); s.updates(9, tenth, 0, placed) }},
		{"U-9", "each second", Pass, func(s *story) {
			for range 30 {
				s.updates(9, tenth, 0, moved)
				s.updates(1, tenth, 0, placed)
			}
		}},
		{"U-9", "each second, and every tenth is lost", Pass, func(s *story) {
			for range 30 {
				s.updates(9, tenth, 9, moved)
				s.updates(1, tenth, 0, placed)
			}
		}},
		{"U-9", "every other second", Fail, func(s *story) {
			for range 30 {
				s.updates(19, tenth, 0, moved)
				s.updates(1, tenth, 0, placed)
			}
		}},
		{"U-9", "far away", NotSeen, func(s *story) {
			for range 30 {
				s.updates(3, 5*tenth, 0, moved)
				s.updates(1, 5*tenth, 0, placed)
			}
		}},
		{"D-1", "as the game does", Pass, func(s *story) { s.explodes(event.Event{Lifetime: wire.FloatBits(9.5)}) }},
		{"D-1", "too short", Fail, func(s *story) { s.explodes(event.Event{Lifetime: wire.FloatBits(1)}) }},
		{"D-1", "with a player to blame", Fail, func(s *story) { s.explodes(event.Event{FiringPlayer: 2, Lifetime: wire.FloatBits(9.5)}) }},
		{"D-1", "shot, not asked for", NotSeen, func(s *story) {
			s.host(&msg.HostEvent{Event: event.Event{Class: event.ClassExploding, Code: event.CodeObjectExploding, Dest: own, FiringPlayer: 2}})
		}},
		{"U-7", "as the game's", Pass, func(s *story) { s.first("00ffff20ffffffffffff") }},
		{"U-7", "with power", Fail, func(s *story) { s.first("00ffff2164ffffffffffff") }},
		{"U-7", "too long", Fail, func(s *story) { s.first("00ffff20ffffffffffffff") }},
		{"U-7", "damaged", NotSeen, func(s *story) { s.first("00f0ff20ffffffffffff") }},
		{"U-7", "later", NotSeen, func(s *story) { s.at = s.at.Add(time.Minute); s.first("00ffff20ffffffffffff") }},
		{"D-3", "updated", Pass, func(s *story) {
			s.explodes(event.Event{Lifetime: wire.FloatBits(9.5)})
			s.updates(90, tenth, 0, block)
			s.updates(10, tenth, 0, moved)
		}},
		{"D-3", "forgotten", Fail, func(s *story) {
			s.explodes(event.Event{Lifetime: wire.FloatBits(9.5)})
			s.updates(100, tenth, 0, moved)
		}},
		{"D-3", "the capture has hardly any update", NotSeen, func(s *story) {
			s.explodes(event.Event{Lifetime: wire.FloatBits(9.5)})
			s.updates(10, time.Second, 0, moved)
		}},
		{"D-2", "one, two", Pass, func(s *story) { s.dies(1); s.dies(2) }},
		{"D-2", "one, one", Fail, func(s *story) { s.dies(1); s.dies(1) }},
		{"D-2", "one, three", Fail, func(s *story) { s.dies(1); s.dies(3) }},
		{"D-2", "the second is not captured", Skip, func(s *story) { s.dies(1); s.next[dissect.FromHost]++; s.dies(3) }},
		{"D-2", "another player has the id", NotSeen, func(s *story) { s.dies(7); s.host(&msg.PlayerAnnounce{Event: event.Event{Player: 2}}); s.dies(1) }},
		{"D-2", "another player has the id, one, three", Fail, func(s *story) {
			s.dies(7)
			s.host(&msg.PlayerAnnounce{Event: event.Event{Player: 2}})
			s.dies(1)
			s.dies(3)
		}},
		{"D-10", "another player has the id", Pass, func(s *story) {
			s.dies(7)
			s.restarts()
			s.dies(1)
			s.host(&msg.PlayerAnnounce{Event: event.Event{Player: 2}})
			s.dies(3)
		}},
		{"D-2", "begun anew", NotSeen, func(s *story) { s.dies(7); s.restarts(); s.dies(1) }},
		{"D-10", "begun anew", Pass, func(s *story) { s.dies(7); s.restarts(); s.dies(1) }},
		{"D-10", "counted on", Fail, func(s *story) { s.dies(7); s.restarts(); s.dies(8) }},
		{"D-10", "the first is not captured", Skip, func(s *story) { s.dies(7); s.restarts(); s.next[dissect.FromHost]++; s.dies(2) }},
		{"D-9", "the third kill", Pass, func(s *story) { s.kills(3, 1, 2, 3); s.host(&msg.EndGame{Reason: 2}) }},
		{"D-9", "the game goes on", Fail, func(s *story) { s.kills(3, 1, 2, 3); s.at = s.at.Add(6 * time.Second); s.dies(1) }},
		{"D-9", "the end is not captured", Skip, func(s *story) {
			s.kills(3, 1, 2, 3)
			s.next[dissect.FromHost]++
			s.at = s.at.Add(6 * time.Second)
			s.dies(1)
		}},
		{"D-9", "two kills", NotSeen, func(s *story) { s.kills(3, 1, 2); s.at = s.at.Add(6 * time.Second); s.dies(1) }},
		{"D-9", "no limit", NotSeen, func(s *story) { s.kills(msg.Unlimited, 300); s.at = s.at.Add(6 * time.Second); s.dies(1) }},
		{"D-9", "begun anew", NotSeen, func(s *story) { s.kills(3, 3); s.restarts(); s.at = s.at.Add(6 * time.Second); s.dies(1) }},
		{"L-7", "under the old id", Pass, func(s *story) { s.returns(4, &msg.Score{Player: 3, Deaths: 2}) }},
		{"L-7", "under the new id", Pass, func(s *story) { s.returns(4, &msg.ScoreInit{Player: 4, Deaths: 2}) }},
		{"L-7", "forgotten", Fail, func(s *story) { s.returns(4, &msg.Score{Player: 3}) }},
		{"L-7", "not told", Fail, func(s *story) { s.returns(4, &msg.Score{Player: 9, Deaths: 7}) }},
		{"L-7", "told, but not captured", Skip, func(s *story) { s.returns(4, nil) }},
		{"O-6", "no player created it", Fail, func(*story) {}}, // newStory's host sends it
		{"O-6", "the creation came again, and the first is not captured", Skip, func(s *story) { s.creates(100 * time.Millisecond) }},
		{"O-6", "the player created it long after", Fail, func(s *story) { s.creates(30 * time.Second) }},
		{"D-7", "repaired", Pass, func(s *story) { s.event(event.ClassObject, event.CodeRepairCompleted, own+13, own, own+10) }},
		{"D-7", "queued", Pass, func(s *story) { s.event(event.ClassPlain, event.CodeAddToRepairList, own+3, own+13, 0) }},
		{"D-7", "a phaser repairs", Fail, func(s *story) { s.event(event.ClassPlain, event.CodeAddToRepairList, own+3, own+14, 0) }},
		{"D-7", "another ship may be lost", Skip, func(s *story) {
			s.event(event.ClassPlain, event.CodeAddToRepairList, own+3, own+14, 0)
			s.lost = true
		}},
		{"D-7", "a part of another ship", Fail, func(s *story) { s.event(event.ClassObject, event.CodeRepairCompleted, own+13, own, foreign+10) }},
		{"D-7", "the class of another code", Fail, func(s *story) { s.event(event.ClassPlain, event.CodeRepairCompleted, own+13, own, 0) }},
		{"D-7", "a ship that was never created", NotSeen, func(s *story) {
			s.event(event.ClassObject, event.CodeRepairCompleted, own+5013, own+5000, own+5010)
		}},
	} {
		t.Run(tt.id+" "+tt.name, func(t *testing.T) {
			s := newStory(tt.id)
			tt.play(s)
			s.ends()
			if res := verdictsOf(s.w, Stock)[tt.id]; res.Verdict != tt.want {
				t.Errorf("%v, want %v: %s %v", res.Verdict, tt.want, res.Why, res.Came)
			}
		})
	}
}

// A block that is too long or too short for its class is found, unless the class is
// only inferred.
func TestBlocks(t *testing.T) {
	inferred := *akiraClass
	inferred.Inferred = true
	for _, tt := range []struct {
		status dissect.Status
		class  *ship.Class
		want   Verdict
	}{
		{dissect.StatusOK, akiraClass, Pass},
		{dissect.StatusTrailing, akiraClass, Fail},
		{dissect.StatusMalformed, akiraClass, Fail},
		{dissect.StatusTrailing, &inferred, NotSeen},
		{dissect.StatusUnresolved, nil, NotSeen},
	} {
		s := newStory("U-6")
		_ = s.w.Record(&dissect.Record{ // which never fails
			Datagram: &dissect.Datagram{Number: 9}, Dir: dissect.FromHost, Kind: dissect.KindMessage, Status: tt.status,
			Message: &msg.StateUpdate{Object: own, Flags: msg.DirtySubsystems, Class: tt.class}, Conversation: 1,
			Err: &decode.Error{Message: "StateUpdate", Field: "power", Offset: 7, Need: 4, Have: 2, Err: decode.ErrShort},
		})
		s.ends()
		res := verdictsOf(s.w, Stock)["U-6"]
		if res.Verdict != tt.want {
			t.Errorf("%v: %v, want %v", tt.status, res.Verdict, tt.want)
		}
		if tt.status == dissect.StatusMalformed && (len(res.Came) != 1 || !strings.Contains(res.Came[0], "StateUpdate, field power at +7: message ends inside the field (need 4, have 2)")) {
			t.Errorf("it came %q", res.Came)
		}
	}
}
