package ndjson

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/report"
)

// An Encoder converts records to JSON objects. It is not safe for concurrent
// use.
type Encoder struct {
	opts  Options
	start time.Time
	clock report.Clock
	addrs report.Addresses

	groups [groups][]*member // keys of a line

	last    place
	at      []byte       // part of a line about the datagram
	authors [16]struct { // indexed by the low bits of players' indexes
		player *dissect.Player
		name   wire.Untrusted
		text   []byte
	}
	ways [64]struct { // the last ones, indexed by ports
		way
		text []byte
	}
	peers  [256][]byte   // part of a line about the peer, and the next key
	kinds  [256]kindText // part about the transport type
	games  [256]kindText // part about the opcode
	openbc [256]kindText // same for OpenBC's messages
	text   []byte        // buffer
	values display.Presenter
	fields display.JSON
	viewer decode.Viewer
	copies report.Copies
}

// A member is a key and the beginning of its member in JSON.
type member struct {
	*key.Key
	begin   string // beginning of the member in JSON: comma, name and colon
	bare    bool   // a single number, whose value tells whether it is absent
	members []*member
}

// Keys are in groups. Each group is written, skipped or cached as a whole.
const (
	ofPlace = iota
	ofWay
	ofCopy
	ofAuthor
	ofPart
	ofKind
	ofLen
	ofHeader
	ofGame
	ofFields
	ofRest
	groups
)

// firsts are the first keys of the groups.
var firsts = [groups]string{"frame", "src", "copy_of", "author", "peer", "kind", "len", "reliable", "dialect", "fields", "gamespy"}

// A place has the data for the part of a line about its datagram. The messages
// of one datagram share it.
type place struct {
	number  int
	time    time.Time
	digits  int8
	capture string
	way
}

// A way has the data for the part about the two addresses.
type way struct {
	src, dst     netip.AddrPort
	dir          dissect.Dir
	conversation int
	player       *dissect.Player
	name         wire.Untrusted
}

// A kindText is a part of a line that is the same for all messages of a kind.
type kindText struct {
	spec *decode.Spec
	text []byte
}

// NewEncoder returns an encoder.
func NewEncoder(o Options) *Encoder {
	e := &Encoder{opts: o, start: o.Start, clock: report.Clock{Layout: "2006-01-02T15:04:05"}} // RFC 3339
	group, last := 0, &member{}
	for i := range key.All() {
		k := &key.All()[i]
		group = max(group, slices.Index(firsts[:], k.Name))
		switch object, name, within := strings.Cut(k.Name, "."); {
		case k.Scope != key.Everywhere, o.NoCapture && group <= ofWay && k.Name != "dir", !o.Payload && k.Name == "payload":
		case within && last.Name == object:
			last.members = append(last.members, &member{Key: k, begin: "," + strconv.Quote(name) + ":"})
		default:
			last = &member{Key: k, begin: "," + strconv.Quote(k.Name) + ":", bare: k.Type == key.Int && !k.List && k.Has == nil}
			e.groups[group] = append(e.groups[group], last)
		}
	}
	return e
}

// Append appends the object of r, without a line end.
func (e *Encoder) Append(dst []byte, r *dissect.Record) []byte {
	h := &r.Transport
	from, message := len(dst), r.Kind == dissect.KindMessage && h.Len > 0
	dst = e.place(dst, r)
	if r.CopyOf > 0 {
		dst = display.AppendInt(append(dst, e.groups[ofCopy][0].begin...), int64(r.CopyOf))
	}
	if p := r.Author; p != nil {
		a := &e.authors[p.Index%len(e.authors)]
		if a.player != p || a.name != p.Name {
			a.player, a.name, a.text = p, p.Name, e.group(a.text[:0], ofAuthor, r)
		}
		dst = append(dst, a.text...)
	}
	switch part := e.groups[ofPart]; {
	case message && !e.opts.NoCapture && r.Datagram.Form.Whole():
		t := &e.peers[r.Peer]
		if *t == nil {
			*t = append(display.AppendInt([]byte(part[0].begin), int64(r.Peer)), part[1].begin...)
		}
		dst = display.AppendInt(append(dst, *t...), int64(r.Part))
	case !e.opts.NoCapture || r.Peer != 0:
		dst = e.group(dst, ofPart, r)
	}
	if message {
		t := &e.kinds[h.Type]
		if t.text == nil {
			t.text = append(e.group(nil, ofKind, r), e.groups[ofLen][0].begin...)
		}
		dst = display.AppendInt(append(dst, t.text...), int64(h.Len))
	} else {
		dst = e.group(e.group(dst, ofKind, r), ofLen, r)
	}
	if r.Status != dissect.StatusOK || h.Reliable || h.Priority || h.HasSeq || h.Fragment || len(r.Pieces) > 0 {
		dst = e.group(dst, ofHeader, r)
	}
	fields := e.groups[ofFields][0].begin
	if op, ok := r.Opcode(); !ok {
		dst = append(e.group(dst, ofGame, r), fields...)
	} else if r.Layout == decode.OpenBC || r.Sender == decode.OpenBC {
		dst = e.cached(dst, &e.openbc[op], r)
	} else {
		dst = e.cached(dst, &e.games[op], r)
	}
	if r.Message != nil {
		dst = e.appendFields(dst, r)
	} else {
		dst = dst[:len(dst)-len(fields)]
	}
	if r.Kind == dissect.KindGameSpy || len(r.Rest) > 0 || r.Err != nil || len(r.Notes) > 0 || e.opts.Payload || r.Kind == dissect.KindMalformed {
		dst = e.group(dst, ofRest, r)
	}
	return object(dst, from)
}

// group appends the members of a group.
func (e *Encoder) group(dst []byte, group int, r *dissect.Record) []byte {
	return e.members(dst, e.groups[group], r)
}

// cached appends the group of the opcode, which is the same for all messages of
// a kind, and begins the fields.
func (e *Encoder) cached(dst []byte, t *kindText, r *dissect.Record) []byte {
	if t.text == nil || t.spec != r.Spec {
		t.spec, t.text = r.Spec, append(e.group(nil, ofGame, r), e.groups[ofFields][0].begin...)
	}
	return append(dst, t.text...)
}

// place appends the frame, time and direction of the datagram.
func (e *Encoder) place(dst []byte, r *dissect.Record) []byte {
	d := r.Datagram
	if d == nil {
		return e.group(dst, ofWay, r)
	}
	if e.start.IsZero() {
		e.start = d.Time
	}
	p := &e.last
	if len(e.at) == 0 || d.Number != p.number || d.Time != p.time || d.Digits != p.digits || d.Src != p.src || d.Dst != p.dst || d.Capture != p.capture ||
		r.Dir != p.dir || r.Conversation != p.conversation || r.Player != p.player || r.Client != p.name {
		now := place{d.Number, d.Time, d.Digits, d.Capture, way{d.Src, d.Dst, r.Dir, r.Conversation, r.Player, r.Client}}
		w := &e.ways[(d.Src.Port()^d.Dst.Port()^uint16(r.Dir))%uint16(len(e.ways))]
		if w.way != now.way || len(w.text) == 0 {
			w.way, w.text = now.way, e.group(w.text[:0], ofWay, r)
		}
		e.last, e.at = now, append(e.group(e.at[:0], ofPlace, r), w.text...)
	}
	return append(dst, e.at...)
}

// members appends the members that the record has.
func (e *Encoder) members(dst []byte, all []*member, r *dissect.Record) []byte {
	for _, m := range all {
		switch {
		case m.bare: // the most frequent case
			if v, ok := m.Int(r, 0); ok {
				dst = display.AppendInt(append(dst, m.begin...), v)
			}
		case m.Present(r):
			dst = e.value(append(dst, m.begin...), m, r)
		}
	}
	return dst
}

// object turns the members from an offset on into an object. It replaces the
// first comma by a brace.
func object(dst []byte, from int) []byte {
	if len(dst) == from {
		dst = append(dst, 0)
	}
	dst[from] = '{'
	return append(dst, '}')
}

// AppendKey appends the value of a key. The record must have the key.
func (e *Encoder) AppendKey(dst []byte, k *key.Key, r *dissect.Record) []byte {
	for _, all := range e.groups {
		if i := slices.IndexFunc(all, func(m *member) bool { return m.Key == k }); i >= 0 {
			return e.value(dst, all[i], r)
		}
	}
	return e.value(dst, &member{Key: k}, r)
}

// value appends the value of a member.
func (e *Encoder) value(dst []byte, m *member, r *dissect.Record) []byte {
	switch {
	case m.Type == key.Int && !m.List: // frequent cases come first
		v, _ := m.Int(r, 0)
		return display.AppendInt(dst, v)
	case m.Type == key.Time:
		dst = e.clock.Append(append(dst, '"'), r.Datagram.Time, r.Datagram.Digits)
		return append(dst, 'Z', '"')
	case m.Type == key.Seconds:
		if e.start.IsZero() {
			e.start = r.Datagram.Time
		}
		return appendSeconds(dst, r.Datagram.Time.Sub(e.start), r.Datagram.Digits)
	case m.Word != nil:
		return append(append(append(dst, '"'), m.Words[m.Word(r)]...), '"')
	case m.Type == key.Text && m.Text != nil:
		v, _ := m.Text(r, 0)
		return display.AppendString(dst, v)
	case m.Name == "fields":
		return e.appendFields(dst, r)
	case m.Name == "gamespy":
		return append(appendPairs(append(dst, '{'), r.GameSpy.Pairs()), '}')
	case m.Type == key.Object && !m.List:
		return object(e.members(dst, m.members, r), len(dst))
	case m.Type == key.Address:
		a, _ := m.Addr(r, 0)
		return append(e.addrs.Append(append(dst, '"'), a), '"')
	case !m.List:
		return e.item(dst, m.Key, r, 0)
	}
	return e.list(dst, m, r)
}

// AppendValues appends the values of a key for all elements of a list.
func (e *Encoder) AppendValues(dst []byte, k *key.Key, r *dissect.Record) []byte {
	return e.list(dst, &member{Key: k}, r)
}

// list appends all values of a member.
func (e *Encoder) list(dst []byte, m *member, r *dissect.Record) []byte {
	dst = append(dst, '[')
	for i := 0; ; i++ {
		if _, ok := m.Item(e.text[:0], r, i); !ok {
			return append(dst, ']')
		}
		if dst = comma(dst, i); m.Type != key.Object {
			dst = e.item(dst, m.Key, r, i)
			continue
		}
		from := len(dst)
		for _, of := range m.members {
			dst = e.item(append(dst, of.begin...), of.Key, r, i)
		}
		dst = object(dst, from)
	}
}

// item appends the value of a key with index i.
func (e *Encoder) item(dst []byte, k *key.Key, r *dissect.Record, i int) []byte {
	it, _ := k.Item(e.text[:0], r, i)
	if it.Text != nil {
		e.text = it.Text
	}
	return it.AppendJSON(dst)
}

// appendFields appends the decoded fields.
func (e *Encoder) appendFields(dst []byte, r *dissect.Record) []byte {
	text, keep := e.copies.Find(r)
	if text != nil {
		return append(dst, text...)
	}
	from := len(dst)
	e.fields = display.JSON{Presenter: &e.values, Names: r, B: append(dst, '{')}
	r.Visit(&e.viewer, &e.fields)
	dst = append(e.fields.B, '}')
	e.fields = display.JSON{}
	keep.Keep(dst[from:])
	return dst
}
