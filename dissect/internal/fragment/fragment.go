// Package fragment reassembles fragmented messages. Its memory is bounded, and
// it reports every eviction.
//
// Fragments are copied: arguments are borrowed for the length of a call.
// Slices in results belong to the table and are valid until its next call.
package fragment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limits bound the memory of a table.
type Limits struct {
	Groups int           // incomplete messages
	Bytes  int           // payload bytes in all of them
	Age    time.Duration // since the last fragment of a message
}

// DefaultLimits returns the defaults for zero values of Limits.
func DefaultLimits() Limits {
	return Limits{Groups: 32, Bytes: 256 << 10, Age: 30 * time.Second}
}

const (
	maxCount = 255     // fragments of a message: the count is a byte
	keep     = 8 << 10 // largest buffer to keep for the next message, in bytes
)

// A Status is the outcome for a fragment.
type Status uint8

// The states.
const (
	Pending   Status = iota // stored, but others are missing
	Complete                // stored as the last one: see Message
	Duplicate               // received before
	Invalid                 // not stored: see Err
)

// The reasons for Invalid.
var (
	ErrIndex    = errors.New("fragment index out of range")
	ErrCount    = errors.New("impossible fragment count")
	ErrConflict = errors.New("fragment differs from the one that came before")
	ErrBytes    = errors.New("fragments exceed the limit")
)

// A Reason is the reason for the eviction of an incomplete message.
type Reason uint8

// The reasons.
const (
	AtFlush   Reason = iota // Flush was called
	TooOld                  // no fragment came for longer than Limits.Age
	TooMany                 // Limits.Groups: the group had waited longest
	TooLarge                // Limits.Bytes: the group had waited longest, or exceeded the limit by itself
	nrReasons               // not a reason
)

var reasonTexts = [nrReasons]string{
	AtFlush: "at the end", TooOld: "after too long a time", TooMany: "for too many others", TooLarge: "for too many bytes",
}

// String returns the reason as a phrase that follows "given up".
func (r Reason) String() string {
	if r < nrReasons {
		return reasonTexts[r]
	}
	return "?"
}

// A Group is an incomplete message.
type Group struct {
	Seq         uint16 // sequence number of its fragments
	Have        int    // received fragments
	Count       int    // fragments of the message, 0 while the first one is missing, which has the count
	Bytes       int    // payload bytes received so far
	First, Last int    // frames of the earliest and latest fragment
	Reason      Reason // reason for the eviction
}

// A Result is the outcome of Add.
type Result struct {
	Status  Status
	Message []byte  // Complete: the payload of all fragments
	Frames  []int   // Complete: their frames, in the order of their indexes
	Evicted []Group // evicted during the call, longest-waiting first
	Err     error   // Invalid: one of the sentinels, with the numbers
}

// A Table holds the fragments of one direction of a conversation. It is not
// safe for concurrent use.
type Table struct {
	limits Limits
	groups []*group // longest-waiting first
	free   []*group
	bytes  int // payload bytes in groups

	message []byte
	frames  []int
	evicted []Group
}

type group struct {
	seq         uint16
	count       int
	first, last int
	at          time.Time // time of the last fragment
	data        []byte    // payload of the pieces, in order of arrival
	pieces      []piece   // by index, in ascending order
}

type piece struct {
	index    uint8
	frame    int
	off, end int // offsets in the group's data
}

// New returns an empty table. Limits that are not positive get their defaults.
func New(l Limits) *Table {
	d := DefaultLimits()
	if l.Groups <= 0 {
		l.Groups = d.Groups
	}
	if l.Bytes <= 0 {
		l.Bytes = d.Bytes
	}
	if l.Age <= 0 {
		l.Age = d.Age
	}
	return &Table{limits: l}
}

// Held returns the number of incomplete messages in the table and their bytes
// of payload.
func (t *Table) Held() (groups, payload int) { return len(t.groups), t.bytes }

// Add stores a fragment of the message with sequence number seq. The arguments
// now and frame are its capture time and frame. Time may go backwards: a group
// counts as old if it is more than Limits.Age away, before or after. Only
// fragment 0 has a valid count.
//
// Of two fragments with the same index, the first one is kept. A fragment of a
// complete message begins a new message with the same number, since numbers
// wrap. The caller must filter out retransmissions.
func (t *Table) Add(now time.Time, seq uint16, index, count uint8, frame int, part []byte) Result {
	t.evicted = t.evicted[:0]
	for i := 0; i < len(t.groups); {
		if t.old(now, t.groups[i].at) {
			t.evict(i, TooOld)
			continue
		}
		i++
	}
	r := t.add(now, seq, index, int(count), frame, part)
	r.Evicted = t.evicted
	return r
}

func (t *Table) add(now time.Time, seq uint16, index uint8, count, frame int, part []byte) Result {
	if index == 0 && count == 0 {
		return invalid("%w: fragment 0 announces none", ErrCount)
	}
	if index == maxCount {
		return invalid("%w: %d, no message has so many", ErrIndex, index)
	}
	i := slices.IndexFunc(t.groups, func(g *group) bool { return g.seq == seq })
	if i >= 0 {
		if r, done := t.groups[i].check(now, index, count, part); done {
			return r
		}
	}
	g, err := t.room(i, seq, frame, len(part))
	if err != nil {
		return Result{Status: Invalid, Err: err}
	}
	if index == 0 {
		g.count = count
	}
	g.at, g.last = now, frame
	g.insert(index, frame, part)
	t.bytes += len(part)
	if len(g.pieces) < g.count || g.count == 0 {
		return Result{Status: Pending}
	}
	return t.complete(g)
}

// check compares a fragment with the received ones of its message. The result
// done means that it cannot be stored.
func (g *group) check(now time.Time, index uint8, count int, part []byte) (r Result, done bool) {
	if i, held := g.find(index); held {
		p := g.pieces[i]
		if before := g.data[p.off:p.end]; !bytes.Equal(before, part) {
			return invalid("%w: fragment %d has %d bytes, in frame %d it had %d", ErrConflict, index, len(part), p.frame, len(before)), true
		}
		if index == 0 && count != g.count {
			return invalid("%w: %d, in frame %d it was %d", ErrCount, count, p.frame, g.count), true
		}
		g.at = now
		return Result{Status: Duplicate}, true
	}
	if g.count > 0 && int(index) >= g.count {
		return invalid("%w: %d, the message has %d", ErrIndex, index, g.count), true
	}
	if index == 0 {
		if top := g.pieces[len(g.pieces)-1]; int(top.index) >= count {
			return invalid("%w: %d, but frame %d brought fragment %d", ErrCount, count, top.frame, top.index), true
		}
	}
	return Result{}, false
}

// find returns the index of a piece in the group, or its place if it is
// missing.
func (g *group) find(index uint8) (i int, held bool) {
	i = len(g.pieces)
	for i > 0 && g.pieces[i-1].index >= index {
		i--
	}
	return i, i < len(g.pieces) && g.pieces[i].index == index
}

func (g *group) insert(index uint8, frame int, part []byte) {
	i, _ := g.find(index)
	off := len(g.data)
	g.data = append(g.data, part...)
	g.pieces = slices.Insert(g.pieces, i, piece{index: index, frame: frame, off: off, end: len(g.data)})
}

// room returns the group for a fragment of n bytes as the newest one, within
// all limits. The group is at i, or is created if i is negative.
func (t *Table) room(i int, seq uint16, frame, n int) (*group, error) {
	var g *group
	if i >= 0 {
		g = t.groups[i]
		t.groups = append(slices.Delete(t.groups, i, i+1), g)
	}
	has := n
	if g != nil {
		has += len(g.data)
	}
	if has > t.limits.Bytes {
		if g != nil {
			t.evict(len(t.groups)-1, TooLarge)
		}
		return nil, fmt.Errorf("%w: %d bytes, may hold %d", ErrBytes, has, t.limits.Bytes)
	}
	for t.bytes+n > t.limits.Bytes {
		t.evict(0, TooLarge)
	}
	if g != nil {
		return g, nil
	}
	if len(t.groups) >= t.limits.Groups {
		t.evict(0, TooMany)
	}
	if last := len(t.free) - 1; last >= 0 {
		g, t.free = t.free[last], t.free[:last]
	} else {
		g = new(group)
	}
	g.seq, g.first = seq, frame
	t.groups = append(t.groups, g)
	return g, nil
}

// complete joins the pieces of the newest group.
func (t *Table) complete(g *group) Result {
	if cap(t.message) > keep {
		t.message = nil
	}
	t.message = slices.Grow(t.message[:0], len(g.data))
	t.frames = t.frames[:0]
	for _, p := range g.pieces {
		part := g.data[p.off:p.end]
		t.message = append(t.message, part...)
		t.frames = append(t.frames, p.frame)
	}
	t.drop(len(t.groups) - 1)
	return Result{Status: Complete, Message: t.message, Frames: t.frames}
}

func (t *Table) old(now, then time.Time) bool {
	d := now.Sub(then)
	return d > t.limits.Age || d < -t.limits.Age
}

// evict removes the group at i and records it.
func (t *Table) evict(i int, why Reason) {
	g := t.groups[i]
	t.evicted = append(t.evicted, Group{
		Seq: g.seq, Have: len(g.pieces), Count: g.count, Bytes: len(g.data), First: g.first, Last: g.last, Reason: why,
	})
	t.drop(i)
}

// drop removes the group at i and keeps its memory for another, unless it is
// large.
func (t *Table) drop(i int) {
	g := t.groups[i]
	t.groups = slices.Delete(t.groups, i, i+1)
	t.bytes -= len(g.data)
	data, pieces := g.data[:0], g.pieces[:0]
	if cap(data) > keep {
		data = nil
	}
	*g = group{data: data, pieces: pieces}
	t.free = append(t.free, g)
}

// Flush returns the incomplete messages, longest-waiting first, and empties the
// table.
func (t *Table) Flush() []Group {
	t.evicted = t.evicted[:0]
	for len(t.groups) > 0 {
		t.evict(0, AtFlush)
	}
	return t.evicted
}

func invalid(format string, args ...any) Result {
	return Result{Status: Invalid, Err: fmt.Errorf(format, args...)}
}
