// Package engine dissects the datagrams that Wireshark passes to it, one with
// each call. It uses the pipeline of the other commands.
//
// Wireshark dissects a file once from its beginning to its end, and then the
// frames that it shows, in any order. An Engine decodes each datagram in the
// first pass and keeps its bytes. If a frame is shown again, the Engine decodes
// from the nearest checkpoint on. Its answer is the same as in the first pass
// and does not depend on later datagrams.
package engine

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// Limits of the memory that a capture takes, in bytes.
const (
	maxHeld        = 2e9       // datagrams, of which later ones are not shown; fits 32 bits
	maxCheckpoints = 128 << 20 // copies of the pipeline, of which every second is dropped if they take more
)

// firstInterval is the number of datagrams between two checkpoints until they
// take more than maxCheckpoints. Decoding this number of datagrams again takes
// about a millisecond.
const firstInterval = 1024

// An Engine dissects one capture after another. It is not safe for concurrent use.
type Engine struct {
	cfg         dissect.Config
	hide        bool // hide ship updates in the Info column
	notes       *wireshark.Annotator
	players     extract.Players
	front       *dissect.Pipeline // pipeline after all datagrams of the first pass
	held        datagrams
	checkpoints []checkpoint
	interval    int // number of datagrams between two checkpoints
	cloned      int // size of the checkpoints in bytes

	back *dissect.Pipeline // pipeline after the datagrams before at, nil before the second pass
	at   int

	clear, enciphered int // number of datagrams that can only be deciphered, or only enciphered
	plain             []byte
}

// A checkpoint is a copy of the pipeline before a datagram.
type checkpoint struct {
	at       int
	pipeline *dissect.Pipeline
	bytes    int
}

// New returns an engine whose pipelines have the configuration.
func New(cfg dissect.Config) *Engine {
	e := &Engine{cfg: cfg}
	e.Reset()
	return e
}

// Configure begins a new capture with another configuration. If hideUpdates is
// set, the Info column does not show ship updates.
func (e *Engine) Configure(cfg dissect.Config, hideUpdates bool) {
	e.cfg, e.hide = cfg, hideUpdates
	e.Reset()
}

// Reset begins a new capture.
func (e *Engine) Reset() {
	*e = Engine{
		cfg: e.cfg, hide: e.hide, players: extract.Players{}, front: dissect.New(e.cfg), interval: firstInterval, plain: e.plain[:0],
	}
	e.notes = wireshark.NewAnnotator(wireshark.Options{
		Player:     func(conversation int) wire.Untrusted { return e.players[conversation] },
		NoComments: true, HideUpdates: e.hide, Catalog: e.cfg.Catalog,
	})
}

// Choose returns the choice of the fields with these IDs, for Datagram.
func (e *Engine) Choose(ids []int) *wireshark.Choice { return e.notes.Choose(ids) }

// Names returns the names of addresses that are new since the last call.
func (e *Engine) Names() []wireshark.Name { return e.notes.Names() }

// An Answer describes the result of Datagram.
type Answer int

// The answers.
const (
	NotOurs   Answer = iota // the datagram does not belong to the game
	Line                    // the result is only the text for the Info column
	Trailer                 // the result is a trailer
	Addresses               // the addresses of the datagram are missing
)

// Datagram returns the trailer of a datagram, with its text for the Info column
// and the chosen fields. If the choice is nil, it has all fields. If there is
// only the text, Datagram returns the text. The bytes are valid until the next
// call. The argument again tells that Wireshark has already passed the frame.
func (e *Engine) Datagram(d *dissect.Datagram, again bool, choice *wireshark.Choice) ([]byte, Answer) {
	if len(d.Payload) == 0 {
		return nil, NotOurs
	}
	e.notes.Show(choice)
	if !again {
		return e.first(d, choice)
	}
	i := e.held.find(d)
	if i < 0 {
		return nil, NotOurs
	}
	e.seek(i)
	e.at++
	e.held.load(i, d)
	return e.annotate(e.back, d, choice)
}

// first decodes a datagram in the first pass.
func (e *Engine) first(d *dissect.Datagram, choice *wireshark.Choice) ([]byte, Answer) {
	if e.held.size > maxHeld {
		return nil, NotOurs
	}
	d.Form = e.formOf(d)
	if n := len(e.held.all); n > 0 && n%e.interval == 0 && (len(e.checkpoints) == 0 || e.checkpoints[len(e.checkpoints)-1].at < n) {
		e.checkpoint(n)
	}
	b, answer := e.annotate(e.front, d, choice)
	if answer != NotOurs {
		e.held.add(d)
	}
	return b, answer
}

// annotate decodes a datagram.
func (e *Engine) annotate(p *dissect.Pipeline, d *dissect.Datagram, choice *wireshark.Choice) ([]byte, Answer) {
	ours, game := false, false
	e.notes.Begin(-1, false)
	_ = p.Push(d, func(r *dissect.Record) error {
		ours = true
		game = game || r.Kind == dissect.KindMessage || r.Kind == dissect.KindMalformed
		e.players.Learn(r)
		return e.notes.Record(r) // it never returns an error, so Push returns none either
	})
	if !ours {
		return nil, NotOurs
	}
	if info, ok := e.notes.Info(); ok {
		return info, Line
	}
	var payload []byte
	if choice.Bytes() {
		if payload = d.Payload; game && d.Form == packet.Wire && !e.cfg.Clear {
			e.plain = cipher.Decrypt(e.plain[:0], d.Payload)
			payload = e.plain
		}
	}
	trailer, _ := e.notes.End(payload)
	return trailer, Trailer
}

// formOf tells whether a datagram is already deciphered, as in captures that
// bcdissect has written.
func (e *Engine) formOf(d *dissect.Datagram) packet.Form {
	if e.cfg.Clear || d.Payload[0] == '\\' || !transport.Plausible(d.Payload, !d.Truncated()) {
		return packet.Wire
	}
	e.plain = cipher.Decrypt(e.plain[:0], d.Payload)
	switch enciphered := transport.Plausible(e.plain, !d.Truncated()); {
	case !enciphered:
		e.clear++
	case e.clear <= e.enciphered:
		return packet.Wire
	}
	return packet.Clear
}

// checkpoint keeps a copy of the pipeline before a datagram.
func (e *Engine) checkpoint(at int) {
	c := checkpoint{at: at, pipeline: e.front.Clone(), bytes: e.front.Memory()}
	e.checkpoints = append(e.checkpoints, c)
	for e.cloned += c.bytes; e.cloned > maxCheckpoints && len(e.checkpoints) > 1; {
		e.interval *= 2
		e.cloned = 0
		e.checkpoints = slices.DeleteFunc(e.checkpoints, func(c checkpoint) bool {
			gone := c.at%e.interval != 0
			if !gone {
				e.cloned += c.bytes
			}
			return gone
		})
	}
}

// seek sets the pipeline of later passes to its state before a datagram.
func (e *Engine) seek(i int) {
	n, exact := slices.BinarySearchFunc(e.checkpoints, i, func(c checkpoint, at int) int { return c.at - at })
	if !exact {
		n-- // the last checkpoint before the datagram
	}
	switch {
	case e.back != nil && e.at <= i && (n < 0 || e.checkpoints[n].at <= e.at):
	case n < 0:
		e.back, e.at = dissect.New(e.cfg), 0
	default:
		e.back, e.at = e.checkpoints[n].pipeline.Clone(), e.checkpoints[n].at
	}
	var d dissect.Datagram
	for ; e.at < i; e.at++ {
		e.held.load(e.at, &d)
		_ = e.back.Push(&d, func(*dissect.Record) error { return nil }) // the function returns no error, so Push returns none either
	}
}

// chunk is the size of the blocks of memory that payloads share.
const chunk = 1 << 20

// datagrams are the datagrams of the first pass in order.
type datagrams struct {
	all    []held
	chunks [][]byte
	pairs  []pair
	known  map[pair]int32
	size   int // size of all datagrams in bytes
}

// A pair has the two addresses of a datagram.
type pair struct{ src, dst netip.AddrPort }

// A held is a datagram that is kept.
type held struct {
	nanos   int64
	number  int32
	pair    int32
	chunk   int32 // index of the chunk with its payload
	from    int32
	size    int32
	full    int32
	wireLen int32
	id      uint16
	form    packet.Form
	damaged bool
	untimed bool
}

// Estimated sizes in bytes, including the tables that refer to them.
const (
	sizeOfHeld = 64
	sizeOfPair = 256
)

// add adds a datagram.
func (s *datagrams) add(d *dissect.Datagram) {
	p := pair{d.Src, d.Dst}
	n, ok := s.known[p]
	if !ok {
		if s.known == nil {
			s.known = map[pair]int32{}
		}
		n = int32(len(s.pairs)) // fits, since the number is below maxHeld / sizeOfPair
		s.known[p] = n
		s.pairs = append(s.pairs, p)
		s.size += sizeOfPair
	}
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(d.Payload) > cap(s.chunks[last]) {
		s.chunks = append(s.chunks, make([]byte, 0, max(chunk, len(d.Payload))))
		last++
	}
	at := len(s.chunks[last])
	s.chunks[last] = append(s.chunks[last], d.Payload...)
	s.size += sizeOfHeld + len(d.Payload)
	s.all = append(s.all, held{
		nanos: packet.Nanos(d.Time), number: int32(d.Number), pair: n, chunk: int32(last), from: int32(at), size: int32(len(d.Payload)),
		full: int32(min(d.Full, maxFull)), wireLen: int32(d.WireLen), id: d.IPID, form: d.Form, damaged: d.Damaged, untimed: d.Time.IsZero(),
	})
}

// maxFull replaces packet.FullUnknown and is more than the length of any
// datagram.
const maxFull = 1 << 20

// payload returns the bytes of a datagram.
func (s *datagrams) payload(h *held) []byte {
	return s.chunks[h.chunk][h.from : h.from+h.size : h.from+h.size]
}

// load sets d to a datagram of the first pass.
func (s *datagrams) load(i int, d *dissect.Datagram) {
	h := &s.all[i]
	*d = dissect.Datagram{
		Number: int(h.number), Digits: digits, Src: s.pairs[h.pair].src, Dst: s.pairs[h.pair].dst, Payload: s.payload(h),
		Full: int(h.full), WireLen: int(h.wireLen), Form: h.form, Damaged: h.damaged, IPID: h.id,
	}
	if !h.untimed {
		d.Time = time.Unix(0, h.nanos).UTC()
	}
}

// find returns the index of a datagram, or -1. With a read filter, Wireshark
// drops a frame and gives its number to the next frame as well.
func (s *datagrams) find(d *dissect.Datagram) int {
	i, _ := slices.BinarySearchFunc(s.all, int32(d.Number)+1, func(h held, number int32) int { return int(h.number - number) })
	for i--; i >= 0 && int(s.all[i].number) == d.Number; i-- {
		if h := &s.all[i]; s.pairs[h.pair] == (pair{d.Src, d.Dst}) && bytes.Equal(s.payload(h), d.Payload) {
			return i
		}
	}
	return -1
}
