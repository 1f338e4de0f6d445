package suite

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// simulationCases are the rules that only a host that simulates ships follows.
// No script can provoke them. Some are observed in captures.
func simulationCases() []Case {
	list := []Case{
		{ID: "U-3", watch: watchPace},
		{ID: "U-4", watch: watchOwnShip},
		{ID: "U-5", watch: watchStarts},
		{ID: "U-6", watch: always(needing(told(seeBlock), dissect.FromHost, dissect.ToHost))},
		{ID: "U-7", watch: watchFirst},
		{ID: "U-8", watch: always(told(seeHash))},
		{ID: "U-9", watch: watchPositions},
		{ID: "U-10", watch: watchDistance},
		{ID: "U-12", watch: watchBase},
		{ID: "D-1", watch: watchDeaths},
		{ID: "D-2", watch: func() watcher { return watchScores(false) }},
		{ID: "D-3", watch: watchWrecks},
		{ID: "D-5"},
		{ID: "D-6"},
		{ID: "D-7", watch: watchRepairs},
		{ID: "D-9", watch: watchLimit},
		{ID: "D-10", watch: func() watcher { return watchScores(true) }},
		{ID: "L-7", watch: watchReturns},
	}
	for i := range list {
		list[i].Profiles = likeStock
		list[i].LeftOut = "needs a host that simulates ships"
	}
	return list
}

// The watchers in this file check a host that simulates ships. Updates have no
// numbers, so it is unknown which ones a capture lacks. A rule therefore
// concerns only captured updates, or so many that a few do not matter.

// Limits of the state of a watcher.
const (
	mostStreams = 1024 // ships to one client, and conversations
	mostShips   = 4096 // existing ships
)

// A flight is a ship's updates to one client.
type flight struct {
	conversation int
	id           wire.ObjectID
}

// slots are the slots of the clients of conversations, as the host gives them.
type slots map[int]int

// learn handles a record. A client that connects again has no slot yet.
func (s slots) learn(r *dissect.Record) {
	m, ok := r.Message.(*msg.Settings)
	switch {
	case ok && r.Dir == dissect.FromHost && r.Status == dissect.StatusOK:
		remember(s, r.Conversation, int(m.Slot), mostStreams)
	case r.Dir == dissect.ToHost && r.Transport.Type == transport.Connect && r.Status != dissect.StatusDuplicate:
		delete(s, r.Conversation)
	}
}

// update returns an update of the host's, and whether it is about the
// receiver's ship. If the capture does not show that, known is false.
func (s slots) update(r *dissect.Record) (m *msg.StateUpdate, own, known bool) {
	s.learn(r)
	m, ok := r.Message.(*msg.StateUpdate)
	if !ok || !fromHost(r) {
		return nil, false, false
	}
	slot, known := s[r.Conversation]
	owner, owned := m.Object.Slot()
	return m, owned && slot == owner, known
}

// updates returns a watcher of the host's ship updates. The argument own of see
// tells that an update is about the receiver's ship.
func updates(see func(r *dissect.Record, m *msg.StateUpdate, own bool) (about bool, broken *breach)) watcher {
	s := slots{}
	return func(r *dissect.Record) (about bool, broken *breach) {
		if m, own, known := s.update(r); known {
			return see(r, m, own)
		}
		return false, nil
	}
}

// sure returns the class of a ship if the capture has the ship's creation, or
// nil.
func sure(r *dissect.Record, m *msg.StateUpdate) *ship.Class {
	if m == nil || m.Class == nil || m.Class.Inferred || m.Class.Uncertain || r.Layout == decode.OpenBC || r.Cut {
		return nil
	}
	return m.Class
}

func watchOwnShip() watcher {
	return needing(updates(func(r *dissect.Record, m *msg.StateUpdate, own bool) (bool, *breach) {
		switch {
		case !own:
			return false, nil
		case m.Flags != msg.DirtySubsystems:
			return true, breaks("flags %02X", uint8(m.Flags)).known(r.CopyOf > 0)
		case sure(r, m) != nil && slices.ContainsFunc(m.Entries, func(e msg.Entry) bool { return e.HasPower }):
			return true, breaks("a power setting").known(r.CopyOf > 0)
		}
		return true, nil
	}), dissect.FromHost)
}

func watchStarts() watcher {
	return needing(updates(func(r *dissect.Record, m *msg.StateUpdate, own bool) (bool, *breach) {
		class := sure(r, m)
		// Other fields move the ends of blocks.
		if !own || class == nil || m.Flags != msg.DirtySubsystems {
			return false, nil
		}
		return true, breaksIf(!slices.Contains(class.OwnCycle, m.Start), "start %d, which the %s never has", m.Start, class.Name).known(r.Sender == decode.OpenBC)
	}), dissect.FromHost, dissect.ToHost)
}

func seeBlock(r *dissect.Record, m *msg.StateUpdate) (bool, *breach) {
	class := sure(r, m)
	switch {
	case class == nil || m.Flags&msg.DirtySubsystems == 0:
		return false, nil
	case r.Status == dissect.StatusTrailing:
		return true, breaks("%d bytes after the block of a %s", len(r.Rest), class.Name).known(r.Sender == decode.OpenBC)
	case r.Status == dissect.StatusMalformed:
		return true, breaks("the block of a %s: %s", class.Name, faultOf(r.Err)).known(r.Sender == decode.OpenBC)
	}
	return r.Status == dissect.StatusOK, nil
}

func seeHash(r *dissect.Record, m *msg.StateUpdate) (bool, *breach) {
	if m.Flags&msg.DirtyPosition == 0 || r.Status == dissect.StatusMalformed {
		return false, nil
	}
	return true, breaksIf(m.HasHash, "hash %04X", m.Hash).known(r.CopyOf > 0)
}

// watchBase watches for offsets before the first position. The capture may lack
// a position, but hardly all positions in the time baseless, in which there is
// one each second.
func watchBase() watcher {
	const baseless = 5 * time.Second
	type state struct {
		based bool
		since time.Time // time of the first offset without a position
		told  bool
	}
	by := map[flight]*state{}
	return func(r *dissect.Record) (bool, *breach) {
		if r.Dir != dissect.FromHost || r.Status == dissect.StatusDuplicate || r.Time.IsZero() {
			return false, nil
		}
		switch m := r.Message.(type) {
		case *msg.ObjectCreateTeam:
			remember(by, flight{r.Conversation, m.ID}, &state{}, mostStreams)
		case *msg.StateUpdate:
			s := by[flight{r.Conversation, m.Object}]
			switch {
			case s == nil || s.based || r.Status == dissect.StatusMalformed:
			case m.Flags&msg.DirtyPosition != 0:
				s.based = true
				return s.since.IsZero(), nil
			case m.Flags&msg.DirtyDelta == 0:
			case s.since.IsZero():
				s.since = r.Time
			case r.Time.Sub(s.since) >= baseless && !s.told:
				s.told = true
				return true, breaks("offsets of ship %08X for %.1f s without a position", uint32(m.Object), r.Time.Sub(s.since).Seconds())
			}
		}
		return false, nil
	}
}

// stateOf returns the state of a ship, or nil if there are too many.
func stateOf[S any](by map[flight]*S, f flight) *S {
	s := by[f]
	if s == nil && len(by) < mostStreams {
		s = new(S)
		by[f] = s
	}
	return s
}

// A pace is the interval between updates of a ship to one client.
type pace struct {
	last      time.Time
	intervals []time.Duration
}

const (
	// paced is the number of intervals for a median. The median does not change if
	// a capture lacks some.
	paced = 200
	// resting is the longest time that counts as an interval, since the game may
	// pause.
	resting = 3 * time.Second
)

// paceOf records an update of a ship. If there are enough intervals for a
// median, ok is true.
func paceOf(by map[flight]*pace, r *dissect.Record, m *msg.StateUpdate) (median time.Duration, ok bool) {
	p := stateOf(by, flight{r.Conversation, m.Object})
	if r.Time.IsZero() || p == nil {
		return 0, false
	}
	d := r.Time.Sub(p.last)
	before := p.last
	p.last = r.Time
	if before.IsZero() || d < 0 || d > resting {
		return 0, false
	}
	if p.intervals = append(p.intervals, d); len(p.intervals) < paced {
		return 0, false
	}
	slices.Sort(p.intervals)
	median = p.intervals[paced/2]
	p.intervals = p.intervals[:0]
	return median, true
}

// paces are the base intervals of a host. The longer ones are for many players
// or modems.
var paces = []time.Duration{100 * time.Millisecond, 125 * time.Millisecond, 167 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond}

// near reports whether two intervals differ by at most 10 %.
func near(d, other time.Duration) bool { return (d - other).Abs() <= other/10 }

// watchPace watches the updates of the receivers' ships, which are always near.
func watchPace() watcher {
	const seventh = time.Second / 7 // as OpenBC's servers do
	by := map[flight]*pace{}
	return updates(func(r *dissect.Record, m *msg.StateUpdate, own bool) (bool, *breach) {
		if !own || r.CopyOf > 0 {
			return false, nil
		}
		d, ok := paceOf(by, r, m)
		if !ok {
			return false, nil
		}
		return true, breaksIf(!slices.ContainsFunc(paces, func(p time.Duration) bool { return near(d, p) }), "every %v, of ship %08X", d.Round(time.Millisecond), uint32(m.Object)).known(near(d, seventh))
	})
}

// watchDistance watches the updates of others' ships, which come at a multiple
// of the interval for the receiver's ship.
func watchDistance() watcher {
	const slowest = time.Second
	by := map[flight]*pace{}
	base := map[int]time.Duration{}
	return updates(func(r *dissect.Record, m *msg.StateUpdate, own bool) (bool, *breach) {
		d, ok := paceOf(by, r, m)
		switch {
		case !ok:
			return false, nil
		case own:
			base[r.Conversation] = d
			return false, nil
		}
		b, ok := base[r.Conversation]
		if !ok || d < b || near(d, b) { // the ship is near, or the host passes updates on, so other rules apply
			return false, nil
		}
		for _, factor := range []time.Duration{2, 5, 10} {
			if near(d, min(b*factor, slowest)) {
				return true, nil
			}
		}
		return true, breaks("updates of ship %08X every %v, of the client's own every %v", uint32(m.Object), d.Round(time.Millisecond), b.Round(time.Millisecond))
	})
}

// watchRepairs watches repair events of ships whose creation is in the capture.
func watchRepairs() watcher {
	ships := map[wire.ObjectID]*ship.Class{}
	return needing(func(r *dissect.Record) (bool, *breach) {
		switch m := r.Message.(type) {
		case *msg.ObjectCreateTeam:
			c := ship.BySpecies(m.Species)
			if c != nil && (c.Subsystems == nil || c.Uncertain) {
				c = nil
			}
			if old, ok := ships[m.ID]; ok && old != c {
				c = nil // the capture contradicts itself
			}
			remember(ships, m.ID, c, mostStreams)
		case *msg.HostEvent:
			if fromHost(r) && r.Status == dissect.StatusOK {
				return repair(ships, &m.Event)
			}
		}
		return false, nil
	}, dissect.FromHost, dissect.ToHost)
}

// repair checks the parts in a repair event.
func repair(ships map[wire.ObjectID]*ship.Class, e *event.Event) (about bool, broken *breach) {
	part := func(base, id wire.ObjectID) (ship.Role, bool) {
		_, role, ok := ships[base].At(uint32(id - base))
		return role, ok
	}
	var base, shop, damaged wire.ObjectID
	want := event.ClassObject
	switch e.Code {
	case event.CodeRepairCompleted, event.CodeRepairCannotBeCompleted:
		base, shop, damaged = e.Dest, e.Source, e.Object
		if ships[base] == nil {
			return false, nil
		}
	case event.CodeAddToRepairList:
		want, shop, damaged = event.ClassPlain, e.Dest, e.Source
		for id, c := range ships {
			if c != nil && shop > id && uint32(shop-id) <= uint32(c.Total) {
				base = max(base, id) // if two ranges overlap, the nearest one
			}
		}
		if base == 0 {
			return false, nil // the ship's creation is not in the capture
		}
	default:
		return false, nil
	}
	if e.Class != want {
		return true, breaks("class %X with code %X", uint32(e.Class), uint32(e.Code))
	}
	if role, ok := part(base, shop); !ok || role != ship.Repair {
		return true, breaks("%08X repairs, but is not the repair subsystem of ship %08X", uint32(shop), uint32(base)).known(want == event.ClassPlain)
	}
	_, ok := part(base, damaged)
	return true, breaksIf(!ok, "%08X is no part of ship %08X", uint32(damaged), uint32(base))
}

// watchDeaths watches the exploding events of ships that self-destruct at their
// player's request. No ship caused them.
func watchDeaths() watcher {
	const soon = 2 * time.Second
	s := slots{}
	asked := map[int]time.Time{} // indexed by slot
	return needing(func(r *dissect.Record) (bool, *breach) {
		s.learn(r)
		if r.Dir == dissect.ToHost && r.Transport.Type == transport.Disconnect {
			delete(asked, s[r.Conversation]) // a leave also ends a ship
		}
		switch m := r.Message.(type) {
		case *msg.SelfDestructRequest:
			if slot, ok := s[r.Conversation]; ok && r.Dir == dissect.ToHost && r.Status == dissect.StatusOK {
				asked[slot] = r.Time
			}
		case *msg.HostEvent:
			slot, owned := m.Dest.Slot()
			at, ok := asked[slot]
			if !fromHost(r) || r.Status != dissect.StatusOK || m.Code != event.CodeObjectExploding || !owned || !ok || r.Time.Sub(at) > soon {
				return false, nil
			}
			const length = 9.5 // in seconds
			return true, breaksIf(m.Class != event.ClassExploding || m.Source != 0 || m.FiringPlayer != 0 || m.Lifetime.Float() != length, "class %X, source %08X, player %d, %g s", uint32(m.Class), uint32(m.Source), m.FiringPlayer, m.Lifetime.Float())
		}
		return false, nil
	}, dissect.FromHost, dissect.ToHost)
}

// watchScores watches the deaths that each client is sent. They count up, and
// begin again with the game.
func watchScores(restarted bool) watcher {
	type place struct {
		conversation int
		victim       int32
	}
	deaths := map[place]int32{}
	anew := map[int]bool{} // conversations in which the game has begun again
	return needing(func(r *dissect.Record) (bool, *breach) {
		if begins(r) {
			maps.DeleteFunc(deaths, func(p place, _ int32) bool { return p.conversation == r.Conversation })
			delete(anew, r.Conversation)
			return false, nil
		}
		if op, ok := game(r); ok && op == msg.OpRestartGame {
			maps.DeleteFunc(deaths, func(p place, _ int32) bool { return p.conversation == r.Conversation })
			remember(anew, r.Conversation, true, mostStreams)
			return false, nil
		}
		if id, ok := changesHands(r); ok { // another player may have the id now, who begins at 0 or comes back with old scores
			delete(deaths, place{r.Conversation, id})
			if restarted { // the next death may have any count
				remember(deaths, place{r.Conversation, id}, 0, mostStreams)
			}
			return false, nil
		}
		m, ok := r.Message.(*msg.ScoreChange)
		if !ok || !fromHost(r) || r.Status != dissect.StatusOK || r.Late || len(deaths) >= mostStreams {
			return false, nil
		}
		p := place{r.Conversation, m.Victim}
		before, seen := deaths[p]
		deaths[p] = m.Deaths
		switch {
		case restarted:
			if seen || !anew[r.Conversation] {
				return false, nil
			}
			before = 0
		case !seen:
			return false, nil
		}
		return true, breaksIf(m.Deaths != before+1, "%d deaths of player %d after %d", m.Deaths, m.Victim, before)
	}, dissect.FromHost)
}

// changesHands returns the id of a player who joins or leaves according to the
// host.
func changesHands(r *dissect.Record) (id int32, ok bool) {
	if !fromHost(r) {
		return 0, false
	}
	switch m := r.Message.(type) {
	case *msg.PlayerAnnounce:
		return int32(m.Player), true
	case *transport.Goodbye:
		return int32(m.ID), true
	case *transport.Boot:
		return int32(m.ID), true
	}
	return 0, false
}

// watchPositions watches how often positions of a ship near its viewer are
// sent.
func watchPositions() watcher {
	const (
		most, closest = 1150 * time.Millisecond, 130 * time.Millisecond
		enough        = 20 // number of intervals for a median
		mostPaces     = 4096
	)
	type state struct {
		last   time.Time // time of the last update
		placed time.Time
		gaps   []time.Duration // times between positions
		paces  []time.Duration // times between updates
	}
	by := map[flight]*state{}
	return updates(func(r *dissect.Record, m *msg.StateUpdate, own bool) (bool, *breach) {
		v := stateOf(by, flight{r.Conversation, m.Object})
		if own || r.Time.IsZero() || v == nil {
			return false, nil
		}
		if d := r.Time.Sub(v.last); !v.last.IsZero() && (d < 0 || d > resting) {
			*v = state{} // the game paused
		} else if !v.last.IsZero() {
			v.paces = append(v.paces, d)
		}
		v.last = r.Time
		if len(v.paces) > mostPaces {
			v.paces = v.paces[:0]
		}
		if m.Flags&msg.DirtyPosition == 0 {
			return false, nil
		}
		if !v.placed.IsZero() {
			v.gaps = append(v.gaps, r.Time.Sub(v.placed))
		}
		if v.placed = r.Time; len(v.gaps) < enough || len(v.paces) == 0 {
			return false, nil
		}
		slices.Sort(v.gaps)
		slices.Sort(v.paces)
		gap, pace := v.gaps[len(v.gaps)/2], v.paces[len(v.paces)/2]
		*v = state{last: v.last, placed: v.placed}
		if pace > closest { // the ship is not near
			return false, nil
		}
		return true, breaksIf(gap > most, "positions of ship %08X every %v", uint32(m.Object), gap.Round(time.Millisecond))
	})
}

// watchFirst watches the first block about a receiver's new Sovereign, since no
// later block starts at 0. Damage changes its values, but not its shape.
func watchFirst() watcher {
	const sovereign, newborn, undamaged, facings = 5, time.Second, 0xFF, 6
	s := slots{}
	born := map[wire.ObjectID]time.Time{}
	return needing(func(r *dissect.Record) (bool, *breach) {
		if m, ok := r.Message.(*msg.ObjectCreateTeam); ok && m.Species == sovereign && r.Dir == dissect.ToHost && r.Status == dissect.StatusOK {
			remember(born, m.ID, r.Time, mostStreams)
		}
		m, own, known := s.update(r)
		if !own || !known || m.Flags != msg.DirtySubsystems || m.Start != 0 || r.Cut {
			return false, nil
		}
		at, ok := born[m.Object]
		if !ok || r.Time.Sub(at) > newborn {
			return false, nil
		}
		if r.Status != dissect.StatusOK || len(m.Entries) != 2 || m.Entries[1].HasPower || len(m.Entries[1].Facings) != facings {
			return true, breaks("%d subsystems; only hull and shield generator with its facings belong into the first block", len(m.Entries)).
				known(r.Sender == decode.OpenBC)
		}
		whole := m.Entries[0].Condition == undamaged && m.Entries[1].Condition == undamaged &&
			bytes.Count(m.Entries[1].Facings, []byte{undamaged}) == facings
		return whole, nil
	}, dissect.FromHost, dissect.ToHost)
}

// watchWrecks watches the updates of exploding ships while updates of other
// ships go on.
func watchWrecks() watcher {
	const begun, least, long = time.Second, 20, 5 * time.Second
	type wreck struct {
		flight
		at, till time.Time
		others   int // number of updates of other ships
		own      bool
	}
	var all []*wreck
	return func(r *dissect.Record) (about bool, broken *breach) {
		if r.Dir != dissect.FromHost || r.Status == dissect.StatusDuplicate {
			return false, nil
		}
		switch m := r.Message.(type) {
		case *msg.HostEvent:
			life := packet.Duration(float64(m.Lifetime.Float()) * float64(time.Second))
			if m.Code != event.CodeObjectExploding || life < long || life >= time.Minute {
				return false, nil
			}
			w := &wreck{flight: flight{r.Conversation, m.Dest}, at: r.Time, till: r.Time.Add(life - begun)}
			all = slices.DeleteFunc(all, func(o *wreck) bool { return o.flight == w.flight })
			if len(all) < mostStreams {
				all = append(all, w)
			}
		case *msg.ObjectCreateTeam: // its player is back
			slot, _ := m.ID.Slot()
			all = slices.DeleteFunc(all, func(w *wreck) bool {
				s, _ := w.id.Slot()
				return s == slot
			})
		case *msg.StateUpdate:
			kept := all[:0]
			for _, w := range all {
				switch over := r.Time.After(w.till); {
				case w.conversation != r.Conversation || r.Time.Before(w.at.Add(begun)):
				case over && about: // only one at a time
				case over:
					if about = w.own || w.others >= least; !w.own && about {
						broken = breaks("no update of ship %08X while it explodes, and %d of others", uint32(w.id), w.others)
					}
					continue
				case w.id == m.Object:
					w.own = true
				default:
					w.others++
				}
				kept = append(kept, w)
			}
			clear(all[len(kept):])
			all = kept
		}
		return about, broken
	}
}

// watchLimit watches for the end of a game in which a player has as many kills
// as the limit that clients were sent.
func watchLimit() watcher {
	const reason, soon = 2, 5 * time.Second
	type state struct {
		limit   int32
		reached time.Time
		over    bool
	}
	by := map[int]*state{}
	return needing(func(r *dissect.Record) (bool, *breach) {
		if begins(r) {
			delete(by, r.Conversation)
		}
		if !fromHost(r) || r.Status != dissect.StatusOK || r.Late || !r.Transport.HasSeq {
			return false, nil
		}
		s := by[r.Conversation]
		switch m := r.Message.(type) {
		case *msg.MissionInit:
			if m.FragLimit != msg.Unlimited {
				remember(by, r.Conversation, &state{limit: int32(m.FragLimit)}, mostStreams)
			}
			return false, nil
		case *msg.RestartGame:
			if s != nil {
				s.reached, s.over = time.Time{}, false
			}
		case *msg.EndGame:
			if s != nil && !s.over {
				s.over = true
				return !s.reached.IsZero() && m.Reason == reason, nil
			}
		case *msg.ScoreChange:
			if s != nil && m.Killer != 0 && m.Kills >= s.limit && s.reached.IsZero() {
				s.reached = r.Time
			}
		}
		if s == nil || s.over || s.reached.IsZero() || r.Time.Sub(s.reached) < soon {
			return false, nil
		}
		s.over = true // only once
		return true, breaks("a player reached the limit of %d kills, and no EndGame (38) came", s.limit)
	}, dissect.FromHost)
}

// watchReturns watches for the score of a player who has died, left, and come
// back. It accepts the old and the new id, since the reference does not tell
// which.
func watchReturns() watcher {
	type kept struct {
		id     int32
		deaths int32
	}
	names := map[int]string{}         // names of clients, by conversation
	ids := map[int]int32{}            // ids of clients, by conversation
	deaths := map[int32]int32{}       // deaths of players, by id
	left := map[string]kept{}         // players who have left with deaths, by name
	told := map[int]map[int32]int32{} // deaths that a new client is sent, by conversation and id
	return needing(func(r *dissect.Record) (bool, *breach) {
		if begins(r) {
			delete(names, r.Conversation)
			delete(told, r.Conversation)
		}
		if r.Kind != dissect.KindMessage || r.Status == dissect.StatusDuplicate || max(len(names), len(ids), len(deaths), len(left), len(told)) >= mostStreams {
			return false, nil
		}
		if r.Dir == dissect.ToHost {
			if r.Peer != transport.UnassignedPeer {
				ids[r.Conversation] = int32(r.Peer)
			}
			switch r.Transport.Type {
			case transport.NameChange:
				if m, ok := r.Message.(*transport.Identity); ok {
					names[r.Conversation] = wire.WideText(m.Name).Raw()
				}
			case transport.Disconnect:
				id := ids[r.Conversation]
				if name := names[r.Conversation]; name != "" && deaths[id] > 0 {
					left[name] = kept{id, deaths[id]}
				}
			default:
			}
			return false, nil
		}
		tell := func(id, deaths int32) {
			if told[r.Conversation] == nil {
				told[r.Conversation] = map[int32]int32{}
			}
			remember(told[r.Conversation], id, deaths, mostStreams)
		}
		switch m := r.Message.(type) {
		case *msg.ScoreChange:
			deaths[m.Victim] = max(deaths[m.Victim], m.Deaths)
		case *msg.RestartGame:
			clear(deaths)
			clear(left)
		case *msg.Score:
			tell(m.Player, m.Deaths)
		case *msg.ScoreInit:
			tell(m.Player, m.Deaths)
		case *msg.PlayerAnnounce: // the last message of a join
			name := names[r.Conversation]
			old, ok := left[name]
			if !ok || int32(m.Player) != ids[r.Conversation] || m.Code != event.CodeNewPlayerInGame {
				return false, nil
			}
			delete(left, name)
			scores := told[r.Conversation]
			return true, breaksIf(max(scores[old.id], scores[int32(m.Player)]) < old.deaths, "no score of %q, who is back and had %d deaths", name, old.deaths)
		}
		return false, nil
	}, dissect.FromHost)
}
