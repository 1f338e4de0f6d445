package ndjson

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report"
)

// An Encoder makes JSON objects of records. It is not safe for concurrent use.
type Encoder struct {
	opts  Options
	start time.Time
	clock report.Clock
	addrs report.Addresses
	last  place
	ways  [64]way       // of the places that came last, by ports
	kinds [256]string   // the part of a line about the transport type
	games [256]gameText // by opcode
	// Parts of lines about authors, by the lower bits of their indexes.
	authors [16]author
	values  display.Presenter
	fields  display.JSON
	viewer  decode.Viewer
	copies  report.Copies
}

// A place is the part of a line about its datagram, with its inputs. The
// messages of one datagram share it.
type place struct {
	text     []byte
	number   int
	time     time.Time
	digits   int8
	src, dst netip.AddrPort
	dir      dissect.Dir
	start    time.Time

	capture      string
	conversation int
	player       *dissect.Player
	name         string
}

// A way is the part of a place about the ends of the conversation, with its inputs.
type way struct {
	text     []byte
	src, dst netip.AddrPort
	dir      dissect.Dir

	conversation int
	player       *dissect.Player
	name         string
}

// A gameText is the part of a line about the name of a message.
type gameText struct {
	spec *decode.Spec
	text string
}

// of reports whether r has the same place.
func (p *place) of(r *dissect.Record, start time.Time) bool {
	d := r.Datagram
	return len(p.text) > 0 && d.Number == p.number && d.Time.Equal(p.time) && d.Digits == p.digits && d.Src == p.src && d.Dst == p.dst &&
		r.Dir == p.dir && start.Equal(p.start) && r.Conversation == p.conversation && d.Capture == p.capture && r.Player == p.player && r.Client == p.name
}

// NewEncoder returns an encoder.
func NewEncoder(o Options) *Encoder {
	return &Encoder{opts: o, start: o.Start, clock: report.Clock{Layout: "2006-01-02T15:04:05"}} // RFC 3339
}

// Append appends the object of r, without a line end.
func (e *Encoder) Append(dst []byte, r *dissect.Record) []byte {
	dst = e.origin(e.place(dst, r), r)
	switch r.Kind {
	case dissect.KindMessage, dissect.KindPayload:
		dst = e.message(dst, r)
	case dissect.KindGameSpy:
		dst = append(dst, `,"kind":"gamespy","len":`...)
		dst = strconv.AppendInt(dst, int64(len(r.Bytes)), 10)
		dst = status(dst, r)
		dst = gameSpy(dst, r)
	case dissect.KindMalformed:
		dst = e.part(dst, r)
		dst = append(dst, `,"kind":"malformed"`...)
		dst = number(dst, `,"len":`, uint64(len(r.Bytes)))
		dst = status(dst, r)
	case dissect.KindEvicted:
		dst = append(dst, `,"kind":"evicted"`...)
		dst = status(dst, r)
		dst = sequence(dst, &r.Transport)
	}
	rest := r.Rest
	if r.Kind == dissect.KindMalformed {
		rest = r.Bytes
	}
	if len(rest) > 0 {
		dst = append(dst, `,"residue":"`...)
		dst = append(hex.AppendEncode(dst, rest), '"')
	}
	if r.Err != nil {
		dst = fault(dst, r)
	}
	if len(r.Notes) > 0 {
		dst = notes(dst, r.Notes)
	}
	if e.opts.Payload && len(r.Payload) > 0 {
		dst = append(dst, `,"payload":"`...)
		dst = append(hex.AppendEncode(dst, r.Payload), '"')
	}
	return append(dst, '}')
}

// place appends where and when the datagram was seen, and which way it went. It
// opens the object.
func (e *Encoder) place(dst []byte, r *dissect.Record) []byte {
	d := r.Datagram
	if e.opts.NoCapture || d == nil {
		dst = append(dst, `{"dir":"`...)
		dst = append(dst, r.Dir.String()...)
		return append(dst, '"')
	}
	if e.start.IsZero() {
		e.start = d.Time
	}
	p := &e.last
	if !p.of(r, e.start) {
		p.text = e.appendPlace(p.text[:0], r)
		p.number, p.time, p.digits, p.src, p.dst, p.dir, p.start = d.Number, d.Time, d.Digits, d.Src, d.Dst, r.Dir, e.start
		p.capture, p.conversation, p.player, p.name = d.Capture, r.Conversation, r.Player, r.Client
	}
	return append(dst, p.text...)
}

// appendPlace appends where and when a datagram was seen, and which way it went.
func (e *Encoder) appendPlace(dst []byte, r *dissect.Record) []byte {
	d := r.Datagram
	dst = number(dst, `{"frame":`, uint64(d.Number))
	if d.Capture != "" {
		dst = display.AppendString(append(dst, `,"capture":`...), d.Capture)
	}
	if !d.Time.IsZero() { // an eviction at the end of a capture has no time
		dst = append(dst, `,"ts":"`...)
		dst = append(e.clock.Append(dst, d.Time, d.Digits), 'Z')
		dst = append(dst, `","rel":`...)
		dst = appendSeconds(dst, d.Time.Sub(e.start), d.Digits)
	}
	w := &e.ways[(d.Src.Port()^d.Dst.Port()^uint16(r.Dir))%uint16(len(e.ways))]
	if len(w.text) == 0 || w.src != d.Src || w.dst != d.Dst || w.dir != r.Dir || w.conversation != r.Conversation || w.player != r.Player || w.name != r.Client {
		w.text = e.appendWay(w.text[:0], r)
		w.src, w.dst, w.dir, w.conversation, w.player, w.name = d.Src, d.Dst, r.Dir, r.Conversation, r.Player, r.Client
	}
	return append(dst, w.text...)
}

// appendWay appends the ends of the conversation, and which way a datagram went.
func (e *Encoder) appendWay(dst []byte, r *dissect.Record) []byte {
	d := r.Datagram
	dst = append(dst, `,"src":"`...)
	dst = e.addrs.Append(dst, d.Src)
	dst = append(dst, `","dst":"`...)
	dst = e.addrs.Append(dst, d.Dst)
	dst = append(dst, `","dir":"`...)
	dst = append(dst, r.Dir.String()...)
	dst = append(dst, '"')
	if r.Conversation > 0 {
		dst = number(dst, `,"conversation":`, uint64(r.Conversation))
	}
	if p := r.Player; p != nil {
		dst = number(dst, `,"player":`, uint64(p.Index))
	}
	if r.Client != "" {
		dst = display.AppendString(append(dst, `,"player_name":`...), r.Client)
	}
	return dst
}

// origin appends the original of a copy, and its author.
func (e *Encoder) origin(dst []byte, r *dissect.Record) []byte {
	if r.CopyOf > 0 {
		dst = number(dst, `,"copy_of":`, uint64(r.CopyOf))
	}
	p := r.Author
	if p == nil {
		return dst
	}
	a := &e.authors[p.Index%len(e.authors)]
	if a.player != p || a.name != p.Name {
		a.player, a.name = p, p.Name
		a.text = number(a.text[:0], `,"author":`, uint64(p.Index))
		if p.Name != "" {
			a.text = display.AppendString(append(a.text, `,"author_name":`...), p.Name)
		}
	}
	return append(dst, a.text...)
}

// An author is the part of a line about the author of a copy, with its inputs.
type author struct {
	player *dissect.Player
	name   string
	text   []byte
}

// part appends the sender of the datagram, and the index of the message. A
// message without its datagram has neither.
func (e *Encoder) part(dst []byte, r *dissect.Record) []byte {
	if e.opts.NoCapture && r.Peer == 0 || !r.Datagram.Form.Whole() {
		return dst
	}
	dst = number(dst, `,"peer":`, uint64(r.Peer))
	return number(dst, `,"msg":`, uint64(r.Part))
}

// message appends the keys of a transport message, or of a game message alone.
func (e *Encoder) message(dst []byte, r *dissect.Record) []byte {
	h := &r.Transport
	if h.Len > 0 {
		dst = e.part(dst, r)
		kind := &e.kinds[h.Type]
		if *kind == "" {
			*kind = `,"kind":"` + h.Type.Kind() + `","type":` + strconv.Itoa(int(h.Type)) + `,"len":`
		}
		dst = number(dst, *kind, uint64(h.Len))
		if h.Reliable {
			dst = append(dst, `,"reliable":true`...)
		}
		if h.Priority {
			dst = append(dst, `,"priority":true`...)
		}
	}
	dst = status(dst, r)
	dst = sequence(dst, h)
	dst = pieces(dst, r.Pieces)
	if r.Layout == decode.OpenBC || r.Sender == decode.OpenBC {
		dst = append(dst, `,"dialect":"`...)
		dst = append(dst, decode.OpenBC.String()...)
		dst = append(dst, '"')
	}
	if op, ok := r.Opcode(); ok {
		g := &e.games[op]
		if g.spec != r.Spec || g.text == "" {
			text := number(nil, `,"opcode":`, uint64(op))
			if r.Spec != nil {
				text = display.AppendString(append(text, `,"name":`...), r.Spec.Name)
			}
			g.spec, g.text = r.Spec, string(text)
		}
		dst = append(dst, g.text...)
	}
	return e.appendFields(dst, r)
}

// appendFields appends the decoded fields.
func (e *Encoder) appendFields(dst []byte, r *dissect.Record) []byte {
	if r.Message == nil {
		return dst
	}
	text, keep := e.copies.Find(r)
	if text != nil {
		return append(dst, text...)
	}
	from := len(dst)
	e.fields = display.JSON{Presenter: &e.values, Names: r, B: append(dst, `,"fields":{`...)}
	r.Visit(&e.viewer, &e.fields)
	dst = append(e.fields.B, '}')
	e.fields = display.JSON{}
	keep.Keep(dst[from:])
	return dst
}

// gameSpy appends the keys and values of a GameSpy datagram.
func gameSpy(dst []byte, r *dissect.Record) []byte {
	if r.Kind != dissect.KindGameSpy {
		return dst
	}
	dst = append(dst, `,"gamespy":{`...)
	return append(appendPairs(dst, r.GameSpy.Pairs()), '}')
}

// pieces appends the frames of the fragments of a message.
func pieces(dst []byte, frames []int) []byte {
	if len(frames) == 0 {
		return dst
	}
	dst = append(dst, `,"reassembled":[`...)
	for i, n := range frames {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, ']')
}

// sequence appends the sequence numbers and fragment indexes of a header.
func sequence(dst []byte, h *transport.Header) []byte {
	if h.Type == transport.Acknowledge {
		if !h.HasSeq {
			return dst
		}
		dst = number(dst, `,"ack":{"seq":`, uint64(h.Seq))
		if h.Control() {
			dst = append(dst, `,"kind":"control"`...)
		} else {
			dst = append(dst, `,"kind":"data"`...)
		}
		if h.Fragment {
			dst = number(dst, `,"index":`, uint64(h.Index))
		}
		return append(dst, '}')
	}
	if h.HasSeq {
		dst = number(dst, `,"seq":`, uint64(h.Seq))
	}
	return fragment(dst, h)
}

// fragment appends the place of a fragment in its message.
func fragment(dst []byte, h *transport.Header) []byte {
	if !h.Fragment || h.Len == 0 || h.Type == transport.Acknowledge {
		return dst
	}
	dst = number(dst, `,"fragment":{"index":`, uint64(h.Index))
	if h.Index == 0 {
		dst = number(dst, `,"count":`, uint64(h.Count))
	}
	return append(dst, '}')
}

func status(dst []byte, r *dissect.Record) []byte {
	if r.Status == dissect.StatusOK {
		return dst
	}
	dst = append(dst, `,"status":"`...)
	dst = append(dst, r.Status.String()...)
	return append(dst, '"')
}

// fault appends why the status is not fine.
func fault(dst []byte, r *dissect.Record) []byte {
	dst = append(dst, `,"error":{`...)
	located, ok := errors.AsType[*decode.Error](r.Err)
	switch {
	case ok:
		dst = number(dst, `"offset":`, uint64(located.Offset))
		dst = append(dst, `,"field":`...)
		dst = display.AppendString(dst, located.Field)
		dst = append(dst, `,"reason":`...)
		dst = display.AppendString(dst, located.Reason())
	case r.Kind == dissect.KindMalformed:
		dst = number(dst, `"offset":`, uint64(r.Offset))
		dst = append(dst, `,"reason":`...)
		dst = display.AppendString(dst, r.Err.Error())
	default:
		dst = append(dst, `"reason":`...)
		dst = display.AppendString(dst, r.Err.Error())
	}
	return append(dst, '}')
}

func notes(dst []byte, notes []dissect.Note) []byte {
	dst = append(dst, `,"notes":[`...)
	for i, n := range notes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"code":`...)
		dst = display.AppendString(dst, n.Code)
		dst = append(dst, `,"text":`...)
		dst = display.AppendString(dst, n.Text)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// number appends a key and its value.
func number(dst []byte, key string, v uint64) []byte {
	return strconv.AppendUint(append(dst, key...), v, 10)
}
