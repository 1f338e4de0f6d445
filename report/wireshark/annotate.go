package wireshark

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/table"
)

// Limits of an annotation.
const (
	maxItems   = 60 << 10 // bytes of items and data sources in a trailer
	maxInfo    = 1 << 10  // bytes of the text for the Info column
	maxComment = 16 << 10 // bytes of a comment
	maxText    = 4 << 10  // bytes of a text in an item
)

// Sizes in a trailer.
const (
	footerSize = 32
	itemSize   = 10
	nextAt     = 6 // offset in an item of the position of the next item
)

// magic begins and ends a trailer.
const magic = dissect.NotesMark

// noPayload is the offset of a payload that is not in the frame.
const noPayload = math.MaxUint32

// Flags of a trailer.
const (
	flagExpert = 1 << iota
	flagLeft
)

// Options configure an Annotator.
type Options struct {
	// Frame returns the number of a frame in the annotated capture, or 0 if the
	// frame is not there. It is nil if frames keep their numbers.
	Frame func(number int) int
	// Player returns the name of the player of a conversation, for all of its
	// frames. If Player is nil or returns "", the name known so far is used.
	Player func(conversation int) wire.Untrusted
	// NoComments omits comments, for readers that show expert information.
	NoComments bool
	// HideUpdates omits ship updates from the text for the Info column.
	HideUpdates bool
	// Catalog has the messages of mods whose fields are shown like those of the
	// original game. It may be nil. Only a plugin with its [Additions] can read
	// the trailers.
	Catalog *decode.Catalog
}

// An Annotator makes trailers and comments from the records of datagrams. For
// each datagram call Begin, then Record for each of its records, then End. An
// Annotator is not safe for concurrent use.
type Annotator struct {
	opts   Options
	table  *fieldTable
	names  addressNames
	lines  *table.Sink
	viewer decode.Viewer

	chosen  *Choice // nil for all fields
	payload int     // offset in the frame, -1 if it is not in the frame
	cut     bool    // the frame is cut, so the fields become a comment: readers would take a trailer for payload
	begun   bool    // Record has been called

	sources  []byte
	nsources int
	items    []byte
	used     []use
	stamp    uint32
	uses     []latest     // by the ID of the field
	texts    [256]earlier // by the hash of the text
	info     []byte
	expert   bool
	hidden   int    // number of ship updates that are not in info
	left     int    // number of fields for which there was no room
	findings []byte // one line for each finding
	text     []byte // fields as text, one line for each
	trailer  []byte
	comment  []byte
	value    []byte // buffer
	keyText  []byte // buffer for the value of a key
	values   display.Presenter
	about    about // facts about the last record

	source int // current data source, 0 for the UDP payload
	base   int // position of the message in the data source
	bits   int // position of the last byte of bits in the data source
	depth  int
	open   []group
	record *dissect.Record
}

// An about has the facts in a record about its datagram.
type about struct {
	dir          dissect.Dir
	conversation int
	index        int // index of the player, -1 if unknown
	client       wire.Untrusted
	player       wire.Untrusted
	peer         uint8
	kind         dissect.Kind
}

// A use is the ID of a field and the position of its first item.
type use struct{ id, first uint16 }

// A latest is the position of the last item of a field in the datagram with the
// stamp.
type latest struct {
	stamp uint32
	place uint16
}

// An earlier is the position of a text in the datagram with the stamp.
type earlier struct {
	stamp uint32
	place uint16
}

// A group is an open group of fields.
type group struct {
	node     *node
	at       int // position of its item, -1 if there was no room
	from, to int // range of the bytes of its fields
}

// NewAnnotator returns an annotator.
func NewAnnotator(o Options) *Annotator {
	t := newTable(o.Catalog)
	return &Annotator{
		opts: o, table: t, lines: table.New(nil, table.Options{NoCapture: true}), uses: make([]latest, firstID+len(t.fields)),
	}
}

// Begin begins a datagram whose payload starts at an offset in its frame. The
// offset is -1 if the payload is not in one frame. If cut is set, the frame is
// cut and the fields become a comment.
func (a *Annotator) Begin(payload int, cut bool) {
	a.payload, a.cut, a.begun = payload, cut, false
	a.sources, a.nsources, a.items, a.used, a.info = a.sources[:0], 0, a.items[:0], a.used[:0], a.info[:0]
	a.findings, a.text = a.findings[:0], a.text[:0]
	a.expert, a.left, a.source, a.hidden = false, 0, 0, 0
	if a.stamp++; a.stamp == 0 {
		clear(a.uses)
		clear(a.texts[:])
		a.stamp = 1
	}
	if payload < 0 {
		a.nsources = 1 // End adds this source
	}
}

// Record adds a record of the datagram. It does not keep the record. It always
// returns nil, and returns an error only to fit the functions of a pipeline.
func (a *Annotator) Record(r *dissect.Record) error {
	a.record = r
	a.names.meet(r)
	a.aboutDatagram(r)
	a.begun = true
	a.aboutMessage(r)
	if !a.opts.NoComments {
		a.find(r)
	}
	a.record = nil
	return nil
}

// End ends the datagram, whose deciphered payload is clear. The caller appends
// the trailer to the frame. The trailer is empty if there was no record or if
// the frame is cut. The comment is empty if there is nothing to report.
func (a *Annotator) End(clear []byte) (trailer []byte, comment string) {
	if !a.begun {
		return nil, ""
	}
	if !a.cut {
		trailer = a.finish(clear)
	}
	return trailer, a.remark()
}

// Info ends the datagram like End if it has neither items nor expert
// information. Then it returns the text for the Info column and true. Otherwise
// it returns false.
func (a *Annotator) Info() (info []byte, ok bool) {
	if !a.begun || !a.chosen.none() || a.expert || a.left > 0 {
		return nil, false
	}
	a.sumUp()
	return a.info, true
}

// sumUp makes the text for the Info column of a datagram that contains only
// hidden ship updates.
func (a *Annotator) sumUp() {
	if a.hidden > 0 && len(a.info) == 0 {
		a.info = append(strconv.AppendInt(a.info, int64(a.hidden), 10), plural.Form(a.hidden, " {ship update|ship updates}")...)
	}
}

// finish returns the trailer.
func (a *Annotator) finish(payload []byte) []byte {
	b, at := append(a.trailer[:0], magic...), uint32(a.payload)
	if a.payload < 0 {
		at = noPayload
		payload = payload[:min(len(payload), math.MaxUint16)] // no datagram is longer
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(payload))), payload...)
	}
	b = append(append(b, a.sources...), a.items...)
	for _, u := range a.used {
		b = binary.LittleEndian.AppendUint16(b, u.id)
		b = binary.LittleEndian.AppendUint16(b, u.first)
	}
	a.sumUp()
	b = append(b, a.info...)
	var flags byte
	if a.expert || a.left > 0 {
		flags |= flagExpert
	}
	if a.left > 0 {
		flags |= flagLeft
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)+footerSize))
	b = binary.LittleEndian.AppendUint32(b, a.table.sum)
	b = binary.LittleEndian.AppendUint32(b, at)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(payload)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(a.used)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(a.info)))
	b = append(b, flags, byte(a.nsources))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.items)))
	a.trailer = append(b, magic...)
	return a.trailer
}

// aboutDatagram adds the direction, conversation and player of the datagram,
// unless an earlier record already added the same.
func (a *Annotator) aboutDatagram(r *dissect.Record) {
	is := about{dir: r.Dir, conversation: r.Conversation, index: -1, client: r.Client, player: r.Client, peer: r.Peer, kind: r.Kind}
	if r.Player != nil {
		is.index = r.Player.Index
	}
	if a.opts.Player != nil {
		if name := a.opts.Player(r.Conversation); name != "" {
			is.player = name
		}
	}
	a.source, a.base, a.depth = 0, 0, 0
	if a.begun && is == a.about || a.chosen.none() {
		return
	}
	a.about = is
	if is.player != "" {
		a.putText(a.table.player, 0, 0, is.player)
	}
	for i := range a.table.keys {
		if k := &a.table.keys[i]; k.datagram {
			a.putKey(k, r)
		}
	}
}

// aboutMessage adds the message, its header and its fields.
func (a *Annotator) aboutMessage(r *dissect.Record) {
	from := r.Offset
	end := from + len(r.Bytes)
	inInfo, whole, hidden := len(a.info), false, false
	if op, ok := r.Opcode(); ok && op == msg.OpStateUpdate && a.opts.HideUpdates {
		hidden = true
		a.hidden++
	}
	if !hidden || !a.chosen.none() {
		a.value = a.lines.AppendSummary(a.value[:0], r)
	}
	if inInfo < maxInfo && !hidden {
		if inInfo > 0 {
			a.info = append(a.info, " │ "...)
			inInfo = len(a.info)
		}
		a.info = append(a.info, a.value...)
		if whole = len(a.info) <= maxInfo; !whole {
			a.info = append(cutText(a.info, maxInfo-len("…")), "…"...)
		}
	}
	if a.chosen.none() {
		a.depth = 1
		a.experts(r)
		return
	}
	n := a.table.message
	var of *node
	if r.Spec != nil {
		if of = a.table.game[r.Spec.Name]; of != nil {
			n = of.field
		}
	}
	if a.cut {
		a.text = append(append(a.text, a.value...), '\n')
	} else if a.item(n, from, end) {
		if whole {
			a.putPart(inInfo, len(a.info))
		} else {
			a.putString(a.value)
		}
	}
	a.depth = 1
	a.base = from
	for i := range a.table.keys {
		k := &a.table.keys[i]
		if k.datagram {
			continue
		}
		if k.Name == "opcode" && !a.toPayload(r) { // this key and those after it belong to the payload
			break
		}
		if k.Name == "residue" { // the fields come before this key, as in JSON
			a.putGameSpy(r)
			a.open = append(a.open[:0], group{node: of, at: -1})
			if a.chosen.inside(of) {
				r.Visit(&a.viewer, visitor{a})
			}
		}
		a.putKey(k, r)
	}
	a.source = 0
	a.depth = 1
	a.experts(r)
}

// toPayload switches to the payload of the message. The payload is a separate
// data source if it came in fragments. It returns false if there is no room for
// it.
func (a *Annotator) toPayload(r *dissect.Record) bool {
	a.base = r.Offset + r.Transport.Size
	if len(r.Pieces) == 0 || a.cut {
		return true
	}
	if len(a.items)+len(a.sources)+len(r.Payload) > maxItems || a.nsources == math.MaxUint8 {
		a.left++
		return false
	}
	a.nsources++
	a.sources = binary.LittleEndian.AppendUint16(a.sources, uint16(len(r.Payload)))
	a.sources = append(a.sources, r.Payload...)
	source := a.nsources
	if a.payload < 0 {
		source--
	}
	a.source = source
	a.base = 0
	return true
}

// cutText returns the first n bytes of a text, or fewer so that no character is
// split.
func cutText(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// header appends the beginning of an item.
func (a *Annotator) header(id uint16, from, to, depth int) {
	b := binary.LittleEndian.AppendUint16(a.items, id)
	b = binary.LittleEndian.AppendUint16(b, uint16(from))
	b = binary.LittleEndian.AppendUint16(b, uint16(to-from))
	a.items = append(b, 0, 0, byte(depth), byte(a.source))
}

// item begins an item at an offset in the data source. It returns false if
// there is no room.
func (a *Annotator) item(f *field, from, to int) bool {
	if !a.chosen.has(f) {
		return false
	}
	if len(a.items)+len(a.sources) > maxItems || to > math.MaxUint16 {
		a.left++
		return false
	}
	place := uint16(len(a.items))
	if u := &a.uses[f.id]; u.stamp != a.stamp {
		*u = latest{a.stamp, place}
		a.used = append(a.used, use{f.id, place})
	} else {
		binary.LittleEndian.PutUint16(a.items[int(u.place)+nextAt:], place)
		u.place = place
	}
	a.header(f.id, from, max(from, to), min(a.depth, math.MaxUint8))
	return true
}

// Codes that can replace a size.
const (
	sameText = 0xFFFF
	partText = 0xFFFE
)

// putString appends a text to an item.
func (a *Annotator) putString(s []byte) {
	s = cutText(s, maxText)
	if len(s) > 2 {
		hash := uint32(2166136261) // FNV-1a
		for _, c := range s {
			hash = (hash ^ uint32(c)) * 16777619
		}
		e := &a.texts[(hash^hash>>16)&0xFF]
		if e.stamp == a.stamp {
			old := a.items[e.place:]
			if n := int(binary.LittleEndian.Uint16(old)); n == len(s) && string(old[2:2+n]) == string(s) {
				a.items = binary.LittleEndian.AppendUint16(a.items, sameText)
				a.items = binary.LittleEndian.AppendUint16(a.items, e.place)
				return
			}
		}
		*e = earlier{a.stamp, uint16(len(a.items))}
	}
	a.items = append(binary.LittleEndian.AppendUint16(a.items, uint16(len(s))), s...)
}

// putPart refers to a part of the text for the Info column in an item.
func (a *Annotator) putPart(from, to int) {
	a.items = binary.LittleEndian.AppendUint16(a.items, partText)
	a.items = binary.LittleEndian.AppendUint16(a.items, uint16(from))
	a.items = binary.LittleEndian.AppendUint16(a.items, uint16(to-from))
}

// Trailer returns the trailer of an annotated frame whose datagram begins at an
// offset. It returns nil if there is none that this version of the program can
// read.
func Trailer(frame []byte, payload int) []byte {
	n := len(frame)
	if n < len(magic)+footerSize || string(frame[n-len(magic):]) != magic {
		return nil
	}
	footer := frame[n-footerSize:]
	size := int(binary.LittleEndian.Uint32(footer))
	if size > n-payload || binary.LittleEndian.Uint32(footer[4:]) != Sum() || int(binary.LittleEndian.Uint32(footer[8:])) != payload {
		return nil
	}
	return frame[n-size:]
}
