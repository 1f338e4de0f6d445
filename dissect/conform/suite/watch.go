package suite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A watcher checks a rule in the traffic of a run or of a capture. It handles
// the next record. It reports whether the rule is about the record, and how the
// record breaks the rule, or nil if it does not.
type watcher func(r *dissect.Record) (about bool, broken *breach)

// always returns a function that returns the watcher, for watchers without
// state.
func always(w watcher) func() watcher { return func() watcher { return w } }

// told returns a watcher of the host's messages of one type.
func told[M decode.Message](see func(r *dissect.Record, m M) (about bool, broken *breach)) watcher {
	return func(r *dissect.Record) (about bool, broken *breach) {
		if m, ok := r.Message.(M); ok && fromHost(r) {
			return see(r, m)
		}
		return false, nil
	}
}

// sent returns a watcher of the host's messages with an opcode, whether or not they decode.
func sent(op decode.Opcode, see watcher) watcher {
	return func(r *dissect.Record) (about bool, broken *breach) {
		if o, ok := game(r); ok && o == op {
			return see(r)
		}
		return false, nil
	}
}

// needing returns a watcher that needs directions of the record's conversation.
func needing(w watcher, dirs ...dissect.Dir) watcher {
	return func(r *dissect.Record) (about bool, broken *breach) {
		if about, broken = w(r); broken != nil {
			broken.needs = sidesOf(r, dirs...)
		}
		return about, broken
	}
}

// A breach is a way in which a host breaks a rule. A record proves it only if
// the traffic lacks no message of the sides that the rule needs.
type breach struct {
	text       string
	needs      []side
	documented bool // it is OpenBC's difference documented in cases.txt

	// explained reports at the end whether later traffic may explain the breach.
	// It is nil if none can. A client retransmits a message that the traffic lacks
	// the first time, with the number that is next in order.
	explained func() bool
}

func breaks(format string, args ...any) *breach { return &breach{text: fmt.Sprintf(format, args...)} }

// breaksIf returns a breach if broken is set, or nil.
func breaksIf(broken bool, format string, args ...any) *breach {
	if broken {
		return breaks(format, args...)
	}
	return nil
}

// faultOf returns the field in which a message does not decode, and why.
func faultOf(err error) string {
	if e, ok := errors.AsType[*decode.Error](err); ok {
		return fmt.Sprintf("%s, field %s at +%d: %s", e.Message, e.Field, e.Offset, e.Reason())
	}
	return err.Error()
}

// known sets whether it is the documented difference of OpenBC.
func (b *breach) known(yes bool) *breach {
	if b != nil {
		b.documented = yes
	}
	return b
}

// on sets the sides that the rule needs.
func (b *breach) on(needs ...side) *breach {
	b.needs = needs
	return b
}

// A watched case is a case with its watcher and the findings so far.
type watched struct {
	c      *Case
	w      watcher
	about  int
	frames []int
	broken []suspicion // undocumented ones, if there are any
	known  bool        // all are documented
	doubts []string    // breaches, if the traffic is complete
	unsure int         // number of doubts
}

// A suspicion is a broken rule that is proven by the next messages of some
// sides, since numbers show whether any message is missing before them.
type suspicion struct {
	of     *watched
	frame  int
	broken *breach
}

// Limits of a watch.
const (
	mostShown      = 16  // frames that show a case
	mostSuspicions = 256 // suspicions at a time
)

// A Watch tests the cases for which watching traffic is enough. It implements
// report.Sink.
type Watch struct {
	cases  []*watched
	first  int
	last   int
	ledger ledger
	open   []suspicion
	own    bool // the clients are the suite's, so the traffic has everything that they sent
}

// NewWatch returns a watch for those cases that can be tested by watching
// traffic.
func NewWatch(cases []*Case, p Profile) *Watch {
	w := &Watch{}
	for _, c := range cases {
		if c.watch != nil && c.Profiles&p != 0 {
			w.cases = append(w.cases, &watched{c: c, w: c.watch()})
		}
	}
	return w
}

// Record handles a record, in the order of the traffic.
func (w *Watch) Record(r *dissect.Record) error {
	if w.first == 0 {
		w.first = r.Datagram.Number
	}
	w.last = max(w.last, r.Datagram.Number) // unfinished messages come late
	if s, turn := w.ledger.take(r); turn != nothingNew && len(w.open) > 0 {
		w.settle(s, turn)
	}
	for _, c := range w.cases {
		about, broken := c.w(r)
		switch {
		case !about:
			continue
		case broken == nil:
			c.about++
			if len(c.broken) == 0 && len(c.frames) < mostShown {
				c.frames = append(c.frames, r.Datagram.Number)
			}
			continue
		}
		w.suspect(suspicion{c, r.Datagram.Number, broken}, r)
	}
	return nil
}

// suspect handles a broken rule.
func (w *Watch) suspect(s suspicion, r *dissect.Record) {
	var open []side
	for _, side := range s.broken.needs {
		if w.own && side.dir == dissect.ToHost {
			continue
		}
		// A numbered message in order proves that its side is complete.
		if own := side.conversation == r.Conversation && side.dir == r.Dir && r.Transport.HasSeq; own && !w.ledger.lacks(side) {
			continue
		}
		if w.ledger.lacks(side) {
			s.of.doubt(s.frame, s.broken)
			return
		}
		open = append(open, side)
	}
	switch s.broken.needs = open; {
	case len(open) == 0:
		s.of.breaks(s)
	case len(w.open) >= mostSuspicions:
		s.of.doubt(s.frame, s.broken)
	default:
		w.open = append(w.open, s)
	}
}

// settle judges the suspicions that need a side, after the side's next message.
func (w *Watch) settle(of side, t turn) {
	kept := w.open[:0]
	for _, s := range w.open {
		b := s.broken
		i := slices.Index(b.needs, of)
		switch {
		case i < 0:
			kept = append(kept, s)
		case t == behindGap:
			s.of.doubt(s.frame, b)
		case len(b.needs) > 1:
			b.needs = slices.Delete(b.needs, i, i+1)
			kept = append(kept, s)
		default:
			s.of.breaks(s)
		}
	}
	clear(w.open[len(kept):])
	w.open = kept
}

// breaks records that the rule is broken.
func (c *watched) breaks(s suspicion) {
	b := s.broken
	if c.about++; len(c.broken) == 0 || c.known && !b.documented {
		c.broken, c.known = nil, b.documented
	}
	if c.known == b.documented && len(c.broken) < mostCame {
		c.broken = append(c.broken, s)
	}
}

// proven returns the breaches that no later traffic explains, and their frames.
// The others become doubts.
func (c *watched) proven() (came []string, frames []int) {
	for _, s := range c.broken {
		if s.broken.explained != nil && s.broken.explained() {
			c.doubt(s.frame, s.broken)
			continue
		}
		came = append(came, fmt.Sprintf("frame %d: %s", s.frame, s.broken.text))
		frames = append(frames, s.frame)
	}
	return came, frames
}

// doubt records that the rule may be broken.
func (c *watched) doubt(frame int, b *breach) {
	if c.unsure++; len(c.doubts) < mostCame {
		c.doubts = append(c.doubts, fmt.Sprintf("frame %d: %s", frame, b.text))
	}
}

// Close implements report.Sink.
func (w *Watch) Close() error { return nil }

// Results returns the verdicts at the end of the traffic, in the order of the
// cases.
func (w *Watch) Results(p Profile) (list []Result) {
	for _, s := range w.open {
		s.of.doubt(s.frame, s.broken)
	}
	w.open = nil
	for _, c := range w.cases {
		res := Result{Case: c.c, First: w.first, Last: w.last, Frames: slices.Compact(c.frames), Attempts: 1}
		came, frames := c.proven()
		switch {
		case len(came) > 0:
			res.Frames = slices.Compact(frames)
			res.breaks(came, res.Frames, c.known)
		case c.unsure > 0:
			res.Verdict = Skip
			res.Why = fmt.Sprintf("%s; but missing messages may explain it, or the traffic ends too early to prove it", c.doubts[0])
		case c.about == 0:
			res.Verdict, res.Why = NotSeen, "the rule never applied in this traffic"
		}
		allow(&res, p)
		list = append(list, res)
	}
	return list
}

// watchFrames tests cases with the frames of a run.
func watchFrames(rep *Report, cases []*Case, done func(Result)) {
	if len(cases) == 0 {
		return
	}
	w := NewWatch(cases, everyHost)
	w.own = true
	_ = rep.Decode(w.Record) // never fails
	for _, res := range w.Results(everyHost) {
		done(res)
	}
}

// Decode calls emit with the decoded messages of a run, in order. The error
// comes from emit.
func (r *Report) Decode(emit func(*dissect.Record) error) error {
	p := dissect.New(dissect.Config{Ports: []uint16{r.at.Port()}})
	for i := range r.Frames {
		f := &r.Frames[i]
		d := dissect.Datagram{Number: f.Number, Time: f.At, Digits: 6, Src: f.From, Dst: f.To, Payload: f.Datagram, Full: len(f.Datagram)}
		if err := p.Push(&d, emit); err != nil {
			return err
		}
	}
	return nil
}

// fromHost reports whether a record is a message of the host and not a
// retransmission.
func fromHost(r *dissect.Record) bool {
	return r.Dir == dissect.FromHost && r.Kind == dissect.KindMessage && r.Status != dissect.StatusDuplicate
}

// remember stores a value, unless there are too many keys. The number of
// conversations and objects is not limited.
func remember[K comparable, V any](values map[K]V, key K, v V, most int) (ok bool) {
	if _, known := values[key]; !known && len(values) >= most {
		return false
	}
	values[key] = v
	return true
}

// game returns the opcode of a complete game message of the host.
func game(r *dissect.Record) (op decode.Opcode, ok bool) {
	if !fromHost(r) {
		return 0, false
	}
	return r.Opcode()
}

// watchNever watches for an opcode that a stock host never sends. A client's
// message with the opcode counts if the host has since sent something to
// another client, which shows that it was not a copy.
func watchNever(op decode.Opcode) watcher {
	sent, again, from := false, false, 0
	return func(r *dissect.Record) (bool, *breach) {
		if r.Dir == dissect.ToHost {
			if o, ok := r.Opcode(); ok && o == op {
				if r.Status == dissect.StatusDuplicate {
					again = true // OpenBC passes it on again
				} else {
					sent, from = true, r.Conversation
				}
			}
			return false, nil
		}
		if o, ok := game(r); ok && o == op {
			return true, breaks("%s from the host", called(op)).known(r.CopyOf > 0 || again)
		}
		if sent && fromHost(r) && r.Conversation != from && r.Transport.Type == transport.Standard && r.Transport.HasSeq && r.Gap == 0 && !r.Late {
			sent = false
			return true, nil
		}
		return false, nil
	}
}

func watchSpaces() watcher {
	asked := map[int]bool{} // whether round 0 has been requested, for conversations with a captured connect
	return func(r *dissect.Record) (bool, *breach) {
		begun, known := asked[r.Conversation]
		h := &r.Transport
		switch {
		case r.Kind != dissect.KindMessage || h.Short:
		case r.Dir == dissect.ToHost && h.Type == transport.Connect && r.Peer == transport.UnassignedPeer:
			remember(asked, r.Conversation, false, mostStreams)
		case !fromHost(r) || !known:
		case h.Type == transport.Connect:
			return true, breaksIf(h.Seq != 0, "the accept has number %d", h.Seq)
		case h.Type == transport.Standard && h.HasSeq && !begun:
			if m, ok := r.Message.(*msg.ChecksumRequest); ok && m.Round == 0 {
				asked[r.Conversation] = true
				return true, breaksIf(h.Seq != 0, "the first game message has number %d", h.Seq)
			}
		case h.Type == transport.Standard && h.HasSeq:
			const highFirst = 1 << 8 // number 1 with the high byte first
			if m, ok := r.Message.(*msg.ChecksumRequest); ok && m.Round == 1 && h.Seq == highFirst {
				return true, breaks("the game message behind number 0 has number %d: the low byte comes first", h.Seq)
			}
		}
		return false, nil
	}
}

func watchBeyond255() watcher {
	highest := map[int]uint16{}
	return func(r *dissect.Record) (bool, *breach) {
		h := &r.Transport
		if begins(r) {
			delete(highest, r.Conversation)
		}
		if !fromHost(r) || h.Type != transport.Standard || !h.HasSeq || h.Short {
			return false, nil
		}
		before := highest[r.Conversation]
		if _, ok := r.Message.(*msg.ChecksumRequest); ok && h.Seq == 0 { // a session begins
			before = 0
		}
		switch {
		case !remember(highest, r.Conversation, max(before, h.Seq), mostStreams):
		case r.Peer != transport.HostPeer:
		case h.Seq == 256 && before == 255:
			return true, nil
		case before == 255 && h.Seq == 0 && r.Number == 256:
			return true, breaks("after number 255 comes 0")
		}
		return false, nil
	}
}

func seeSize(r *dissect.Record) (bool, *breach) {
	switch {
	case r.Dir != dissect.FromHost || r.Kind == dissect.KindGameSpy || r.Kind == dissect.KindEvicted:
		return false, nil
	case r.Full > transport.MaxDatagram:
		return true, breaks("%d bytes", r.Full)
	case r.Kind == dissect.KindMalformed && !r.Cut:
		return true, breaks("it does not end with its last message: %v", r.Err)
	}
	return r.Part == 0, nil
}

// watchBundling watches the first transmission of ChecksumComplete. It follows
// the answer to the last round in less time than the first retransmission
// takes.
func watchBundling() watcher {
	const first = 900 * time.Millisecond
	type state struct {
		answered time.Time
		frame    int // frame of the ChecksumComplete
	}
	by := map[int]*state{}
	return func(r *dissect.Record) (bool, *breach) {
		s := by[r.Conversation]
		if m, ok := r.Message.(*msg.ChecksumResponse); ok && r.Dir == dissect.ToHost && m.Round == msg.LastRound && (s == nil || s.frame > 0) {
			remember(by, r.Conversation, &state{answered: r.Time}, mostStreams)
			return false, nil
		}
		op, ok := game(r)
		switch {
		case !ok || s == nil:
		case op == msg.OpChecksumComplete && s.frame == 0:
			if s.frame = r.Datagram.Number; r.Time.Sub(s.answered) > first {
				delete(by, r.Conversation)
			}
		case op == msg.OpGameInit && s.frame > 0:
			delete(by, r.Conversation)
			return true, breaksIf(s.frame != r.Datagram.Number, "GameInit (01) in another datagram than ChecksumComplete (28)")
		}
		return false, nil
	}
}

func seePeer(r *dissect.Record) (bool, *breach) {
	if r.Dir != dissect.FromHost || r.Kind != dissect.KindMessage {
		return false, nil
	}
	if r.Peer != transport.HostPeer {
		return true, breaks("it begins with %02X", r.Peer)
	}
	return r.Part == 0, nil
}

func seeSettings(r *dissect.Record) (bool, *breach) {
	odd := oddSettings(r.Payload)
	return true, breaksIf(odd != "", "expected %s", odd)
}

// explodes returns the ship that explodes according to the host, or 0 if there
// is none.
func explodes(r *dissect.Record) wire.ObjectID {
	if m, ok := r.Message.(*msg.HostEvent); ok && fromHost(r) && m.Code == event.CodeObjectExploding {
		return m.Dest
	}
	return 0
}

func watchVolumes() watcher {
	const recent, longest = 20 * time.Second, 64 // time including retransmissions, and bytes that identify a message
	asked := map[int]time.Time{}
	sent := map[string]bool{} // messages of clients
	var died time.Time        // when a ship last exploded
	full := false             // there were more
	key := func(r *dissect.Record) string { return string(r.Payload[:min(len(r.Payload), longest)]) }
	return func(r *dissect.Record) (bool, *breach) {
		if explodes(r) != 0 {
			died = r.Time
		}
		op, ok := r.Opcode()
		switch {
		case !ok:
		case r.Dir == dissect.ToHost && op == msg.OpExplosion:
			full = !remember(sent, key(r), true, mostStreams) || full
		case fromHost(r) && op == msg.OpExplosion && sent[key(r)]:
			return true, breaks("a client's Explosion (29) passed on").known(true)
		case r.Dir == dissect.ToHost && (op == msg.OpClientReady || op == msg.OpRequestObject):
			full = !remember(asked, r.Conversation, r.Time, mostStreams) || full
		case fromHost(r) && op == msg.OpExplosion:
			at, ok := asked[r.Conversation]
			switch ok = ok && r.Time.Sub(at) <= recent; {
			case !ok && full:
				return false, nil
			case !ok:
				return true, breaks("Explosion (29) without a join or a request").known(r.Time.Sub(died) <= recent).on(sidesOf(r, dissect.ToHost)...)
			}
			return true, nil
		}
		return false, nil
	}
}

// watchMade watches for players' ships that no player has created. The creation
// of a ship from before the capture cannot be found.
func watchMade() watcher {
	const resent = 20 * time.Second       // how long a client retransmits a message
	made := map[wire.ObjectID]time.Time{} // when they were first created
	full := false                         // there were more ships
	joins := map[int]int{}                // conversations of players with a captured join, by slot
	died := map[int]bool{}                // slots of exploded ships
	return func(r *dissect.Record) (bool, *breach) {
		if r.Status == dissect.StatusDuplicate {
			return false, nil
		}
		if slot, owned := explodes(r).Slot(); owned {
			died[slot] = true
		}
		if left := r.Transport.Type == transport.Disconnect || r.Transport.Type == transport.Leave; left && r.Dir == dissect.ToHost {
			maps.DeleteFunc(joins, func(_, conversation int) bool { return conversation == r.Conversation })
		}
		var id wire.ObjectID
		switch m := r.Message.(type) {
		case *msg.Settings:
			joins[int(m.Slot)] = r.Conversation
			return false, nil
		case *msg.ObjectCreateTeam:
			id = m.ID
		case *msg.ObjectCreateOpenBC:
			id = m.ID
		default:
			return false, nil
		}
		slot, owned := id.Slot()
		owner, joined := joins[slot]
		switch {
		case r.Dir == dissect.ToHost:
			if _, again := made[id]; !again {
				full = !remember(made, id, r.Time, mostShips) || full
			}
			return false, nil
		case r.Dir != dissect.FromHost || !owned || !joined || full:
			return false, nil
		}
		if _, created := made[id]; created {
			return true, nil
		}
		since, broken := r.Time, breaks("ship %08X, which no player has created", uint32(id)).known(died[slot]).on(side{owner, dissect.ToHost})
		broken.explained = func() bool {
			at, created := made[id]
			return full || created && at.Sub(since) <= resent
		}
		return true, broken
	}
}

func seeHostEvent(r *dissect.Record, m *msg.HostEvent) (bool, *breach) {
	switch m.Code {
	case event.CodeRepairCompleted, event.CodeRepairCannotBeCompleted, event.CodeAddToRepairList, event.CodeObjectExploding:
		return true, nil
	default:
		return true, breaks("code %08X", uint32(m.Code)).known(r.CopyOf > 0)
	}
}

// watchUnborn watches for events of ships that a client has not been sent.
func watchUnborn() watcher {
	type place struct{ conversation, slot int }
	born := map[place]bool{}
	playing := map[int]bool{} // conversations with a captured join
	bear := func(conversation int, slot uint8) {
		if !remember(born, place{conversation, int(slot)}, true, mostShips) {
			delete(playing, conversation) // it is unknown which ships the client was sent
		}
	}
	var viewer decode.Viewer
	return needing(func(r *dissect.Record) (bool, *breach) {
		op, ok := r.Opcode()
		if !ok || r.Status == dissect.StatusDuplicate {
			return false, nil
		}
		switch m := r.Message.(type) {
		case *msg.GameInit:
			if r.Dir == dissect.FromHost {
				remember(playing, r.Conversation, true, mostStreams)
			}
			return false, nil
		case *msg.ObjectCreateTeam:
			bear(r.Conversation, m.Slot)
			return false, nil
		case *msg.ObjectCreateOpenBC:
			bear(r.Conversation, m.Slot)
			return false, nil
		}
		if !fromHost(r) || !playing[r.Conversation] || r.Spec == nil || r.Spec.Relay != decode.RelayForward || r.Layout == decode.OpenBC ||
			op == msg.OpStateUpdate || op == msg.OpExplosion {
			return false, nil
		}
		of := -1 // slot of the first object
		r.Visit(&viewer, decode.FieldFunc(func(f *decode.Field) {
			if slot, owned := wire.ObjectID(f.Uint).Slot(); f.Kind == decode.KindObject && owned && of < 0 {
				of = slot
			}
		}))
		switch {
		case of < 0:
			return false, nil
		case !born[place{r.Conversation, of}]:
			return true, breaks("%s of a ship of slot %d before its creation", called(op), of)
		}
		return true, nil
	}, dissect.FromHost)
}

func seeFlags(r *dissect.Record) (bool, *breach) {
	_, flags, _ := msg.UpdateHead(r.Payload)
	return true, breaksIf(r.Message != nil && flags&msg.DirtyPower != 0, "flags %02X", uint8(flags)).known(r.CopyOf > 0)
}

func seeUnreliable(r *dissect.Record) (bool, *breach) {
	return true, breaksIf(r.Transport.Reliable, "StateUpdate (1C) with number %d", r.Transport.Seq)
}

// watchTime watches the time in updates. A network may swap datagrams that are
// close together.
func watchTime() watcher {
	const swapped = 1.0 // in seconds
	type stream struct {
		conversation int
		id           wire.ObjectID
	}
	const latest = 8 // number of remembered times, to recognise a datagram that comes again
	type point struct {
		at     float32
		copied bool // the host copied it from a client
		times  [latest]float32
		n      int
	}
	last := map[stream]point{}
	const most = 4096
	return needing(func(r *dissect.Record) (bool, *breach) {
		if op, ok := game(r); ok && op == msg.OpRestartGame || begins(r) {
			clear(last)
		}
		m, ok := r.Message.(*msg.StateUpdate)
		if !ok || !fromHost(r) {
			return false, nil
		}
		id, at := m.Object, m.GameTime.Float()
		if len(last) > most {
			clear(last)
		}
		s := stream{r.Conversation, id}
		before, seen := last[s]
		if seen && slices.Contains(before.times[:min(before.n, latest)], at) {
			return false, nil // the network may have duplicated the datagram
		}
		now := before
		now.at, now.copied = at, r.CopyOf > 0
		now.times[now.n%latest] = at
		now.n++
		last[s] = now
		return true, breaksIf(seen && at < before.at-swapped, "ship %08X: %.2f s after %.2f s", uint32(id), at, before.at).known(before.copied || now.copied)
	}, dissect.FromHost)
}

func seeLeave(r *dissect.Record) (bool, *breach) {
	op, ok := game(r)
	announced, _ := r.Message.(*msg.PlayerAnnounce)
	switch {
	case fromHost(r) && (r.Transport.Type == transport.Disconnect || r.Transport.Type == transport.BootPlayer):
		return true, nil
	case r.CopyOf > 0: // N-14 and N-17 test these
	case ok && op == msg.OpDestroyObject:
		return true, breaks("DestroyObject (14)").known(true)
	case ok && announced != nil && announced.Code == event.CodeDeletePlayer:
		return true, breaks("PlayerAnnounce (17) with the code DELETE_PLAYER (60005)").known(true)
	}
	return false, nil
}

// watchStop watches for the Disconnects of a host that stops, and for those
// that make a client leave that has not asked to leave.
func watchStop() watcher {
	ids := map[int]uint8{} // ids of clients, by conversation, 0 for those that have left
	return func(r *dissect.Record) (bool, *breach) {
		h := &r.Transport
		goodbye, _ := r.Message.(*transport.Goodbye)
		switch {
		case r.Kind != dissect.KindMessage || len(r.Bytes) <= h.Size:
		case begins(r):
			delete(ids, r.Conversation)
		case r.Dir == dissect.ToHost && (h.Type == transport.Disconnect || h.Type == transport.Leave):
			remember(ids, r.Conversation, 0, mostStreams)
		case r.Dir == dissect.ToHost && r.Peer != transport.UnassignedPeer:
			if _, known := ids[r.Conversation]; !known {
				remember(ids, r.Conversation, r.Peer, mostStreams)
			}
		case !fromHost(r) || goodbye == nil:
		case goodbye.ID == transport.HostPeer:
			return true, nil
		default:
			if id := ids[r.Conversation]; id != 0 && id == goodbye.ID {
				return true, breaks("a disconnect with the id %d of its receiver", id)
			}
		}
		return false, nil
	}
}
