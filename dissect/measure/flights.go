package measure

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// MaxFlights is the maximum number of ships in a second of [Flights]. More
// ships end the second early.
const MaxFlights = 64

// A Flight is the updates of one ship in a second. Its text comes from the
// network: escape it for a terminal.
type Flight struct {
	Frame   int // frame of the first update
	Time    time.Time
	Src     netip.AddrPort // source of the first update from a client, or if there is none, of the first update
	Dst     netip.AddrPort
	Dir     dissect.Dir
	Client  wire.Untrusted
	Both    bool // updates came in both directions
	Several bool // the host sent them to several clients
	Object  wire.ObjectID
	Name    wire.Untrusted // name of the object, "" if unknown
	Updates int

	State

	conversation int
}

// A State is the last known state of a ship, in this second or before.
type State struct {
	Speed  float32
	Moves  bool    // whether Speed is known
	Hull   float32 // condition, 0 to 1
	Hulled bool    // whether Hull is known
}

// A craft is a ship of a host.
type craft struct {
	host netip.AddrPort
	id   wire.ObjectID
}

// maxCraft is the maximum number of remembered states. Beyond it, all are
// dropped.
const maxCraft = 16 * MaxFlights

// Flights condenses the updates of ships to one [Flight] for each ship and
// second. Its zero value is ready to use, and its memory is bounded.
type Flights struct {
	Start time.Time // Start is the time from which seconds count. If zero, they count from the first update.

	all    []Flight
	second int64
	name   []byte
	states map[craft]State
}

// Due reports whether the flights must be taken before a record, because the
// record belongs to another second, or because there is no more room.
func (f *Flights) Due(r *dissect.Record) bool {
	if len(f.all) == 0 || r.Datagram == nil {
		return false
	}
	return len(f.all) == MaxFlights || f.secondOf(r.Datagram.Time) != f.second
}

func (f *Flights) secondOf(t time.Time) int64 {
	d := t.Sub(f.Start)
	if d < 0 {
		d = packet.Minus(d, time.Second-1)
	}
	return int64(d / time.Second)
}

// All returns the flights in the order of their first updates. They are valid
// until the next call of Take.
func (f *Flights) All() []Flight { return f.all }

// Clear begins the next second.
func (f *Flights) Clear() {
	if f.states == nil || len(f.states) > maxCraft {
		f.states = map[craft]State{}
	}
	for i := range f.all {
		f.states[f.all[i].craft()] = f.all[i].State
	}
	f.all = f.all[:0]
}

// craft returns the ship of a flight.
func (s *Flight) craft() craft {
	if s.Dir == dissect.FromHost {
		return craft{s.Src, s.Object}
	}
	return craft{s.Dst, s.Object}
}

// Take counts an update of a ship that decodes without an error or a note. It
// reports whether the record is such an update.
func (f *Flights) Take(r *dissect.Record) bool {
	m, ok := r.Message.(*msg.StateUpdate)
	if !ok || r.Status != dissect.StatusOK || len(r.Notes) > 0 || r.Datagram == nil {
		return false
	}
	if f.Start.IsZero() {
		f.Start = r.Datagram.Time
	}
	f.second = f.secondOf(r.Datagram.Time)
	s := f.flight(r, m.Object)
	s.Updates++
	s.Several = s.Several || r.Conversation != s.conversation
	if r.Dir != s.Dir {
		s.Both = true
		if r.Dir == dissect.ToHost { // from the client that flies the ship
			s.Client, s.Src, s.Dst, s.Dir = r.Client, r.Datagram.Src, r.Datagram.Dst, r.Dir
		}
	}
	if m.Flags&msg.DirtySpeed != 0 {
		s.Speed, s.Moves = m.Speed.Float(), true
	}
	if m.Class == nil {
		return true
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Index == 0 && m.Class.Subsystems[0].Role == ship.Hull {
			s.Hull, s.Hulled = float32(e.Condition)/255, true
		}
	}
	return true
}

// flight returns the flight of a ship.
func (f *Flights) flight(r *dissect.Record, id wire.ObjectID) *Flight {
	d := r.Datagram
	begun := Flight{Frame: d.Number, Time: d.Time, Src: d.Src, Dst: d.Dst, Dir: r.Dir, Client: r.Client, Object: id, conversation: r.Conversation}
	c := begun.craft()
	for i := range f.all {
		if f.all[i].craft() == c {
			return &f.all[i]
		}
	}
	begun.State = f.states[c]
	f.all = append(f.all, begun)
	s := &f.all[len(f.all)-1]
	if r.Session != nil {
		f.name = r.Session.AppendObject(f.name[:0], id)
		s.Name = wire.Untrusted(f.name)
	}
	return s
}
