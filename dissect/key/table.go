package key

import (
	"errors"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// keys is the table, in the order of the JSON object.
var keys = []Key{
	{
		Name: "frame", Type: Int, Aliases: []string{"frame.number"}, Doc: "number of the frame in the capture, from 1; also counts frames of other programs",
		Int: one(func(r *dissect.Record) (int64, bool) {
			if r.Datagram == nil {
				return 0, false
			}
			return int64(r.Datagram.Number), true
		}),
	},
	{
		Name: "capture", Type: Text, Doc: "name of the file, if several are read",
		Text: func(r *dissect.Record, i int) (wire.Untrusted, bool) {
			if r.Datagram == nil {
				return "", false
			}
			return wire.Untrusted(r.Datagram.Capture), i == 0 && r.Datagram.Capture != ""
		},
	},
	{Name: "ts", Type: Time, Aliases: []string{"frame.time"}, Doc: "capture time, RFC 3339 in UTC, with as many decimals as the capture has"},
	{Name: "rel", Type: Seconds, Aliases: []string{"frame.time_relative"}, Doc: "seconds since the first frame of the capture"},
	{Name: "src", Type: Address, Addr: source, Doc: "sender: `ip:port`, `[ip]:port` for IPv6"},
	{Name: "dst", Type: Address, Addr: destination, Doc: "receiver, in the same form"},
	{Name: "src_ip", Type: IP, Scope: Column, Aliases: []string{"ip.src"}, Addr: source, Doc: "IP address of the sender"},
	{Name: "src_port", Type: Int, Scope: Column, Aliases: []string{"udp.srcport"}, Int: portOf(source), Doc: "port of the sender"},
	{Name: "dst_ip", Type: IP, Scope: Column, Aliases: []string{"ip.dst"}, Addr: destination, Doc: "IP address of the receiver"},
	{Name: "dst_port", Type: Int, Scope: Column, Aliases: []string{"udp.dstport"}, Int: portOf(destination), Doc: "port of the receiver"},
	{
		Name: "frame_len", Type: Int, Scope: Column, Aliases: []string{"frame.len"}, Doc: "length of the frame on the network in bytes",
		Int: one(func(r *dissect.Record) (int64, bool) {
			if r.Datagram == nil || r.Datagram.WireLen == 0 {
				return 0, false
			}
			return int64(r.Datagram.WireLen), true
		}),
	},
	{Name: "addr", Type: Address, Scope: Filter, Aliases: []string{"ip.addr"}, Addr: either, Doc: "either address"},
	{Name: "port", Type: Int, Scope: Filter, Aliases: []string{"udp.port"}, Int: portOf(either), Doc: "either port"},
	{
		Name: "dir", Type: Word, Doc: "`c2s` from a client to the host, `s2c` from the host to a client, `unknown`",
		Words: []string{dissect.DirUnknown.String(), dissect.ToHost.String(), dissect.FromHost.String()},
		Word:  func(r *dissect.Record) int { return int(r.Dir) },
	},
	{
		Name: "conversation", Type: Int, Doc: "number of the address pair, from 1 in the order of their first datagrams",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.Conversation), r.Conversation > 0 }),
	},
	{
		Name: "player", Type: Int, Aliases: []string{"player_index"}, Doc: "index of the player of this conversation, from 0 in the order in which the host's players appeared; " +
			"absent while unknown. A person who leaves and comes back from the same machine under the same name keeps it",
		Int: one(func(r *dissect.Record) (int64, bool) {
			if r.Player == nil {
				return 0, false
			}
			return int64(r.Player.Index), true
		}),
		Player: func(r *dissect.Record) wire.Untrusted { return r.Client },
	},
	{Name: "player_name", Type: Text, Text: playerName, Doc: "name of that player at this moment"},
	{
		Name: "copy_of", Type: Int, Doc: "frame of the first sighting of the message that this is a host's copy of: a client's, the host's own to another client, " +
			"or, if the original is not in the capture, the first copy",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.CopyOf), r.CopyOf > 0 }),
	},
	{
		Name: "author", Type: Int, Aliases: []string{"author_index"}, Doc: "of a host's copy, index of the player who wrote the message; absent if unknown",
		Int: one(func(r *dissect.Record) (int64, bool) {
			if r.Author == nil {
				return 0, false
			}
			return int64(r.Author.Index), true
		}),
		Player: func(r *dissect.Record) wire.Untrusted {
			if r.Author == nil {
				return ""
			}
			return r.Author.Name
		},
	},
	{
		Name: "author_name", Type: Text, Doc: "name of that player at this moment",
		Text: func(r *dissect.Record, i int) (wire.Untrusted, bool) {
			if r.Author == nil {
				return "", false
			}
			return r.Author.Name, i == 0 && r.Author.Name != ""
		},
	},
	{
		Name: "peer", Type: Int, Doc: "peer id of the sender, the first byte of the datagram: 1 is the host, 255 a client that has none yet; absent for a log without datagrams",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.Peer), inDatagram(r) }),
	},
	{
		Name: "msg", Type: Int, Doc: "index of the message in its datagram, from 0; absent for a log without datagrams",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.Part), inDatagram(r) }),
	},
	{Name: "kind", Type: Word, Kind: true, Words: kindWords, Offer: realKinds, Word: kindOf, Doc: "kind of record, see below"},
	{
		Name: "type", Type: Int, Kind: true, Doc: "transport type, the first byte of the message",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.Transport.Type), isMessage(r) }),
	},
	{
		Name: "len", Type: Int, Doc: "size of the message in bytes, header included",
		Int: one(func(r *dissect.Record) (int64, bool) {
			switch {
			case isMessage(r):
				return int64(r.Transport.Len), true
			case r.Kind == dissect.KindGameSpy || r.Kind == dissect.KindMalformed:
				return int64(len(r.Bytes)), true
			}
			return 0, false
		}),
	},
	{
		Name: "payload_len", Type: Int, Scope: Column, Doc: "size of the complete game message in bytes, opcode included",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(len(r.Payload)), len(r.Payload) > 0 }),
	},
	{
		Name: "reliable", Type: Bool, Doc: "`true` or absent",
		Has: func(r *dissect.Record) bool { return isMessage(r) && r.Transport.Reliable },
		Int: one(func(r *dissect.Record) (int64, bool) { return bit(r.Transport.Reliable), isMessage(r) }),
	},
	{
		Name: "priority", Type: Bool, Doc: "`true` or absent",
		Has: func(r *dissect.Record) bool { return isMessage(r) && r.Transport.Priority },
		Int: one(func(r *dissect.Record) (int64, bool) { return bit(r.Transport.Priority), isMessage(r) }),
	},
	{
		Name: "status", Type: Word, Words: statusWords, Doc: "absent if all is well, see below",
		Has:  func(r *dissect.Record) bool { return r.Status != dissect.StatusOK },
		Word: func(r *dissect.Record) int { return int(r.Status) },
	},
	{
		Name: "seq", Type: Int, Doc: "sequence number of the message",
		Int: one(func(r *dissect.Record) (int64, bool) {
			h := &r.Transport
			return int64(h.Seq), isNumbered(r) && h.HasSeq && h.Type != transport.Acknowledge
		}),
	},
	{Name: "ack", Type: Object, Has: isAck, Members: "ack.seq, ack.kind or ack.index", Doc: "of an acknowledgement: the message that it acknowledges"},
	{
		Name: "ack.seq", Type: Int, Doc: "its sequence number",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.Transport.Seq), isAck(r) }),
	},
	{
		Name: "ack.kind", Type: Word, Words: []string{"data", "control"}, Doc: "its class: `control` or `data`",
		Word: func(r *dissect.Record) int {
			if !isAck(r) {
				return -1
			}
			return int(bit(r.Transport.Control()))
		},
	},
	{
		Name: "ack.index", Type: Int, Doc: "its index if it is a fragment",
		Int: one(func(r *dissect.Record) (int64, bool) {
			return int64(r.Transport.Index), isAck(r) && r.Transport.Fragment
		}),
	},
	{Name: "fragment", Type: Object, Has: isFragment, Members: "fragment.index or fragment.count", Doc: "of a fragment: its place in the game message"},
	{
		Name: "fragment.index", Type: Int, Doc: "from 0",
		Int: one(func(r *dissect.Record) (int64, bool) { return int64(r.Transport.Index), isFragment(r) }),
	},
	{
		Name: "fragment.count", Type: Int, Doc: "number of fragments, in the first",
		Int: one(func(r *dissect.Record) (int64, bool) {
			return int64(r.Transport.Count), isFragment(r) && r.Transport.Index == 0
		}),
	},
	{
		Name: "reassembled", Type: Int, List: true, Doc: "frames of all fragments; on the message that completes them",
		Int: func(r *dissect.Record, i int) (int64, bool) {
			if i >= len(r.Pieces) {
				return 0, false
			}
			return int64(r.Pieces[i]), true
		},
	},
	{
		Name: "dialect", Type: Word, Words: []string{decode.Stock.String(), decode.OpenBC.String()},
		Doc: "how the sender writes, if not like the game itself: `openbc`",
		Has: func(r *dissect.Record) bool { return dialectOf(r) > 0 }, Word: dialectOf,
	},
	{
		Name: "opcode", Type: Int, Kind: true, Opcode: true, Doc: "first byte of a complete game message",
		Int: one(func(r *dissect.Record) (int64, bool) {
			op, ok := r.Opcode()
			return int64(op), ok
		}),
	},
	{
		Name: "name", Type: Text, Kind: true, Message: true, Doc: "name of the opcode, see [opcodes.md](opcodes.md)",
		Text: func(r *dissect.Record, i int) (wire.Untrusted, bool) {
			if i > 0 || r.Spec == nil || len(r.Payload) == 0 {
				return "", false
			}
			return wire.Untrusted(r.Spec.Name), true
		},
	},
	{
		Name: "fields", Type: Object, Members: "one of them", Doc: "the decoded fields, in the order of the message",
		Has: func(r *dissect.Record) bool { return r.Message != nil },
	},
	{
		Name: "gamespy", Type: Object, Members: "gamespy.KEY", Doc: "the keys and values of a GameSpy datagram, all of them strings; a key that comes again gets a number: `key`, `key_2`",
		Has: func(r *dissect.Record) bool { return r.Kind == dissect.KindGameSpy },
	},
	{Name: "residue", Type: Hex, Bytes: residue, Doc: "the bytes after the last field that was decoded"},
	{
		Name: "error", Type: Object, Members: "error.reason, error.field or error.offset", Doc: "reason for `status`",
		Has: func(r *dissect.Record) bool { return r.Err != nil },
	},
	{
		Name: "error.offset", Type: Int, Doc: "where the field begins in the payload; of a `malformed` record, where its bytes begin in the datagram",
		Int: one(func(r *dissect.Record) (int64, bool) {
			if e := located(r); e != nil {
				return int64(e.Offset), true
			}
			return int64(r.Offset), r.Err != nil && r.Kind == dissect.KindMalformed
		}),
	},
	{
		Name: "error.field", Type: Text, Bare: true, Doc: "path of the field, if one is to blame",
		Text: func(r *dissect.Record, i int) (wire.Untrusted, bool) {
			if e := located(r); e != nil && i == 0 {
				return wire.Untrusted(e.Field), true
			}
			return "", false
		},
	},
	{
		Name: "error.reason", Type: Text, Doc: "the reason, in words",
		Append: func(dst []byte, r *dissect.Record) []byte {
			switch e := located(r); {
			case e != nil:
				return e.AppendReason(dst)
			case r.Err != nil:
				return append(dst, r.Err.Error()...)
			}
			return dst
		},
	},
	{Name: "notes", Type: Object, List: true, Bare: true, Text: noteCode, Search: noteAny, Doc: "observations"},
	{Name: "note", Type: Text, Scope: Filter, Bare: true, Text: noteCode, Search: noteAny, Doc: "the code of a note; contains and matches also look at its text"},
	{Name: "notes.code", Type: Text, Bare: true, Text: noteCode, Doc: "for scripts"},
	{Name: "notes.text", Type: Text, Doc: "for people", Text: func(r *dissect.Record, i int) (wire.Untrusted, bool) {
		if i >= len(r.Notes) {
			return "", false
		}
		return wire.Untrusted(r.Notes[i].Text), true
	}},
	{
		Name: "payload", Type: Hex, Doc: "the complete game message, opcode first; only with `--payload`",
		Bytes: func(r *dissect.Record) []byte { return r.Payload },
	},
}

// one turns a getter of one value into a getter of values.
func one(get func(r *dissect.Record) (v int64, ok bool)) func(r *dissect.Record, i int) (int64, bool) {
	return func(r *dissect.Record, i int) (int64, bool) {
		if i > 0 {
			return 0, false
		}
		return get(r)
	}
}

// Indices of the record kinds other than transport types.
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

// realKinds are the kinds without the placeholders for unused numbers.
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

// isMessage reports whether the record is a single transport message.
func isMessage(r *dissect.Record) bool { return r.Kind == dissect.KindMessage && r.Transport.Len > 0 }

// inDatagram reports whether the record has a place in a datagram of messages.
func inDatagram(r *dissect.Record) bool {
	return (isMessage(r) || r.Kind == dissect.KindMalformed) && (r.Datagram == nil || r.Datagram.Form.Whole())
}

// isNumbered reports whether the record may have a sequence number.
func isNumbered(r *dissect.Record) bool { return isMessage(r) || r.Kind == dissect.KindEvicted }

func isAck(r *dissect.Record) bool {
	return isMessage(r) && r.Transport.Type == transport.Acknowledge && r.Transport.HasSeq
}

func isFragment(r *dissect.Record) bool {
	return isMessage(r) && r.Transport.Fragment && r.Transport.Type != transport.Acknowledge
}

func kindOf(r *dissect.Record) int {
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

// dialectOf returns 1 for OpenBC, 0 for any other dialect.
func dialectOf(r *dissect.Record) int {
	switch {
	case r.Kind != dissect.KindMessage && r.Kind != dissect.KindPayload:
		return -1
	case r.Layout == decode.OpenBC || r.Sender == decode.OpenBC:
		return 1
	}
	return 0
}

// residue returns the undecoded bytes.
func residue(r *dissect.Record) []byte {
	if r.Kind == dissect.KindMalformed {
		return r.Bytes
	}
	return r.Rest
}

// located returns the error with a field, or nil.
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

func playerName(r *dissect.Record, i int) (wire.Untrusted, bool) {
	return r.Client, i == 0 && r.Client != ""
}

func noteCode(r *dissect.Record, i int) (wire.Untrusted, bool) {
	if i >= len(r.Notes) {
		return "", false
	}
	return wire.Untrusted(r.Notes[i].Code), true
}

// noteAny returns the code and the text of each note.
func noteAny(r *dissect.Record, i int) (wire.Untrusted, bool) {
	if i/2 >= len(r.Notes) {
		return "", false
	}
	if i%2 == 0 {
		return wire.Untrusted(r.Notes[i/2].Code), true
	}
	return wire.Untrusted(r.Notes[i/2].Text), true
}
