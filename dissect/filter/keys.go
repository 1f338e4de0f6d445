package filter

import (
	"errors"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A class is what kind of value something has.
type class uint8

const (
	classNone class = iota // it is there or not
	classNumber
	classBool
	classWord // one of a few words
	classText
	classBytes
	classAddress
	classTime
	classSeconds
	classVector
)

// what are the classes in messages.
var what = [...]string{
	classNone: "not a value", classNumber: "a number", classBool: "true or false", classWord: "a word", classText: "text",
	classBytes: "bytes", classAddress: "an address", classTime: "a time", classSeconds: "a number of seconds",
	classVector: "a vector",
}

// A key is a key of the JSON record, or what stands beside those. Of the
// functions, the one of its class is set; those with an index return the values
// one by one until ok is false.
type key struct {
	name  string
	class class
	note  string // of classNone: what to compare instead

	has     func(r *dissect.Record) bool // if presence is not that of the value
	number  func(r *dissect.Record, i int) (v int64, ok bool)
	word    func(f *Filter, r *dissect.Record) int // in words; -1 for none
	words   []string
	offer   []string // the words that occur, if not all of words do
	text    func(r *dissect.Record, i int) (s string, ok bool)
	bytes   func(f *Filter, r *dissect.Record) []byte
	bare    bool // text is a name, not what somebody wrote
	address func(r *dissect.Record, i int) (a netip.AddrPort, ok bool)

	opcode  bool // number is an opcode, which goes by the message's name, too
	message bool // word is a message, as its place in the catalogue
	// search is what contains and matches look at, if it is not text.
	search func(r *dissect.Record, i int) (s string, ok bool)
}

// findKey returns the key of a name, nil if there is none.
func findKey(name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// only makes an indexed value of a single one.
func only(get func(r *dissect.Record) (v int64, ok bool)) func(r *dissect.Record, i int) (int64, bool) {
	return func(r *dissect.Record, i int) (int64, bool) {
		if i > 0 {
			return 0, false
		}
		return get(r)
	}
}

// Indices of the kinds of records that are no transport types.
const (
	kindGameSpy = 256 + iota
	kindMalformed
	kindEvicted
	kinds
)

var kindWords = func() []string {
	words := make([]string, kinds)
	for t := range 256 {
		words[t] = transport.Type(t).Kind()
	}
	words[kindGameSpy], words[kindMalformed], words[kindEvicted] = "gamespy", "malformed", "evicted"
	return words
}()

// realKinds are those that are not made up for a number that no message has.
var realKinds = []string{
	"standard", "ack", "keepalive", "connect", "name_change", "boot", "disconnect", "type_06", "gamespy", "malformed", "evicted",
}

var statusWords = func() []string {
	words := []string{dissect.StatusOK: "ok"}
	for s := dissect.StatusPending; s <= dissect.StatusMalformed; s++ {
		words = append(words, s.String())
	}
	return words
}()

// keys are all keys in the order of the JSON record.
var keys = []key{
	{name: "frame", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		if r.Datagram == nil {
			return 0, false
		}
		return int64(r.Datagram.Number), true
	})},
	{name: "ts", class: classTime},
	{name: "rel", class: classSeconds},
	{name: "src", class: classAddress, address: source},
	{name: "dst", class: classAddress, address: destination},
	{name: "addr", class: classAddress, address: either},
	{name: "src.port", class: classNumber, number: portOf(source)},
	{name: "dst.port", class: classNumber, number: portOf(destination)},
	{name: "port", class: classNumber, number: portOf(either)},
	{
		name: "dir", class: classWord, words: []string{dissect.DirUnknown.String(), dissect.ToHost.String(), dissect.FromHost.String()},
		word: func(_ *Filter, r *dissect.Record) int { return int(r.Dir) },
	},
	{name: "peer", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Peer), split(r)
	})},
	{name: "msg", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Part), split(r)
	})},
	{name: "kind", class: classWord, words: kindWords, offer: realKinds, word: kindOf},
	{name: "type", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Transport.Type), isMessage(r)
	})},
	{name: "len", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		switch {
		case isMessage(r):
			return int64(r.Transport.Len), true
		case r.Kind == dissect.KindGameSpy || r.Kind == dissect.KindMalformed:
			return int64(len(r.Bytes)), true
		}
		return 0, false
	})},
	{
		name: "reliable", class: classBool,
		has:    func(r *dissect.Record) bool { return isMessage(r) && r.Transport.Reliable },
		number: only(func(r *dissect.Record) (int64, bool) { return bit(r.Transport.Reliable), isMessage(r) }),
	},
	{
		name: "priority", class: classBool,
		has:    func(r *dissect.Record) bool { return isMessage(r) && r.Transport.Priority },
		number: only(func(r *dissect.Record) (int64, bool) { return bit(r.Transport.Priority), isMessage(r) }),
	},
	{
		name: "status", class: classWord, words: statusWords,
		has:  func(r *dissect.Record) bool { return r.Status != dissect.StatusOK },
		word: func(_ *Filter, r *dissect.Record) int { return int(r.Status) },
	},
	{name: "seq", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		h := &r.Transport
		return int64(h.Seq), numbered(r) && h.HasSeq && h.Type != transport.Acknowledge
	})},
	{name: "ack", note: "ack.seq, ack.class or ack.fragment", has: isAck},
	{name: "ack.seq", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Transport.Seq), isAck(r)
	})},
	{
		name: "ack.class", class: classWord, words: []string{"data", "control"},
		word: func(_ *Filter, r *dissect.Record) int {
			if !isAck(r) {
				return -1
			}
			return int(bit(r.Transport.Control()))
		},
	},
	{name: "ack.fragment", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Transport.Index), isAck(r) && r.Transport.Fragment
	})},
	{name: "fragment", note: "fragment.index or fragment.count", has: isFragment},
	{name: "fragment.index", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Transport.Index), isFragment(r)
	})},
	{name: "fragment.count", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		return int64(r.Transport.Count), isFragment(r) && r.Transport.Index == 0
	})},
	{name: "reassembled", class: classNumber, number: func(r *dissect.Record, i int) (int64, bool) {
		if i >= len(r.Pieces) {
			return 0, false
		}
		return int64(r.Pieces[i]), true
	}},
	{
		name: "dialect", class: classWord, words: []string{decode.Stock.String(), decode.OpenBC.String()},
		has: func(r *dissect.Record) bool { return dialectOf(nil, r) > 0 }, word: dialectOf,
	},
	{name: "opcode", class: classNumber, opcode: true, number: only(func(r *dissect.Record) (int64, bool) {
		op, ok := r.Opcode()
		return int64(op), ok
	})},
	{
		name: "name", class: classWord, message: true,
		word: func(f *Filter, r *dissect.Record) int {
			if s := f.find(r.Spec); s != nil && s.id < f.game && len(r.Payload) > 0 {
				return s.id
			}
			return -1
		},
	},
	{name: "fields", note: "one of them", has: func(r *dissect.Record) bool {
		return r.Message != nil || r.Kind == dissect.KindGameSpy
	}},
	{name: "residue", class: classBytes, bytes: func(_ *Filter, r *dissect.Record) []byte {
		if r.Kind == dissect.KindMalformed {
			return r.Bytes
		}
		return r.Rest
	}},
	{name: "error", note: "error.reason, error.field or error.offset", has: func(r *dissect.Record) bool { return r.Err != nil }},
	{name: "error.offset", class: classNumber, number: only(func(r *dissect.Record) (int64, bool) {
		if e := located(r); e != nil {
			return int64(e.Offset), true
		}
		return int64(r.Offset), r.Err != nil && r.Kind == dissect.KindMalformed
	})},
	{name: "error.field", class: classText, bare: true, text: func(r *dissect.Record, i int) (string, bool) {
		if e := located(r); e != nil && i == 0 {
			return e.Field, true
		}
		return "", false
	}},
	{name: "error.reason", class: classText, bytes: func(f *Filter, r *dissect.Record) []byte {
		switch e := located(r); {
		case e != nil:
			f.text = e.AppendReason(f.text[:0])
		case r.Err != nil:
			f.text = append(f.text[:0], r.Err.Error()...)
		default:
			return nil
		}
		return f.text
	}},
	{name: "notes", class: classText, bare: true, text: noteCode, search: noteAny},
	{name: "note", class: classText, bare: true, text: noteCode, search: noteAny},
	{name: "notes.code", class: classText, bare: true, text: noteCode},
	{name: "notes.text", class: classText, text: func(r *dissect.Record, i int) (string, bool) {
		if i >= len(r.Notes) {
			return "", false
		}
		return r.Notes[i].Text, true
	}},
	{name: "payload", class: classBytes, bytes: func(_ *Filter, r *dissect.Record) []byte { return r.Payload }},
	{name: "player", class: classText, text: func(r *dissect.Record, i int) (string, bool) {
		return r.Client, i == 0 && r.Client != ""
	}},
}

// isMessage reports whether the record is of one transport message.
func isMessage(r *dissect.Record) bool { return r.Kind == dissect.KindMessage && r.Transport.Len > 0 }

// split reports whether the record has a place in a datagram of messages.
func split(r *dissect.Record) bool { return isMessage(r) || r.Kind == dissect.KindMalformed }

// numbered reports whether the record may have a sequence number.
func numbered(r *dissect.Record) bool { return isMessage(r) || r.Kind == dissect.KindEvicted }

func isAck(r *dissect.Record) bool {
	return isMessage(r) && r.Transport.Type == transport.Acknowledge && r.Transport.HasSeq
}

func isFragment(r *dissect.Record) bool {
	return isMessage(r) && r.Transport.Fragment && r.Transport.Type != transport.Acknowledge
}

func kindOf(_ *Filter, r *dissect.Record) int {
	switch r.Kind {
	case dissect.KindMessage:
		if r.Transport.Len > 0 {
			return int(r.Transport.Type)
		}
	case dissect.KindGameSpy:
		return kindGameSpy
	case dissect.KindMalformed:
		return kindMalformed
	case dissect.KindEvicted:
		return kindEvicted
	case dissect.KindPayload:
	}
	return -1
}

// dialectOf returns 1 for OpenBC's, 0 for any other.
func dialectOf(_ *Filter, r *dissect.Record) int {
	switch {
	case r.Kind != dissect.KindMessage && r.Kind != dissect.KindPayload:
		return -1
	case r.Layout == decode.OpenBC || r.Sender == decode.OpenBC:
		return 1
	}
	return 0
}

// located returns the error that names a field, nil if there is none.
func located(r *dissect.Record) *decode.Error {
	if r.Err == nil {
		return nil
	}
	e, _ := errors.AsType[*decode.Error](r.Err)
	return e
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func source(r *dissect.Record, i int) (netip.AddrPort, bool) {
	if r.Datagram == nil || i > 0 {
		return netip.AddrPort{}, false
	}
	return r.Datagram.Src, true
}

func destination(r *dissect.Record, i int) (netip.AddrPort, bool) {
	if r.Datagram == nil || i > 0 {
		return netip.AddrPort{}, false
	}
	return r.Datagram.Dst, true
}

func either(r *dissect.Record, i int) (netip.AddrPort, bool) {
	if i == 0 {
		return source(r, 0)
	}
	return destination(r, i-1)
}

func portOf(address func(*dissect.Record, int) (netip.AddrPort, bool)) func(*dissect.Record, int) (int64, bool) {
	return func(r *dissect.Record, i int) (int64, bool) {
		a, ok := address(r, i)
		return int64(a.Port()), ok
	}
}

func noteCode(r *dissect.Record, i int) (string, bool) {
	if i >= len(r.Notes) {
		return "", false
	}
	return r.Notes[i].Code, true
}

// noteAny returns the code and the text of each note.
func noteAny(r *dissect.Record, i int) (string, bool) {
	if i/2 >= len(r.Notes) {
		return "", false
	}
	if i%2 == 0 {
		return r.Notes[i/2].Code, true
	}
	return r.Notes[i/2].Text, true
}
