package suite

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/chance"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A mutator makes messages from their specs, and changes them in places where
// hosts may fail: at the limits of fields, counts and sizes. Equal seeds make
// equal messages.
type mutator struct {
	seed, n uint64
	decoder *decode.Decoder
}

func newMutator(seed uint64) *mutator { return &mutator{seed: seed, decoder: decode.NewDecoder()} }

// below returns a random number below n.
func (m *mutator) below(n int) int {
	m.n++
	return chance.Below(n, m.seed, m.n)
}

// step returns the next step.
func (m *mutator) step() Step {
	const share = 100
	switch n := m.below(share); {
	case n < 45:
		return Step{Player, Reliable, m.game()}
	case n < 70:
		return Step{Player, Unreliable, m.game()}
	case n < 80:
		return Step{Guest, Reliable, m.game()}
	case n < 86:
		return Step{Player, Raw, m.datagram(m.control())}
	case n < 90:
		return Step{Stranger, Raw, m.datagram(m.control())}
	case n < 95:
		return Step{Player, Raw, m.torn(m.datagram(standard(0, m.game())))}
	default:
		return Step{Stranger, Text, m.query()}
	}
}

// pick returns a random element.
func pick[V any](m *mutator, list []V) V { return list[m.below(len(list))] }

// game returns a game message with up to three changes.
func (m *mutator) game() []byte {
	all := catalog().All()
	spec := pick(m, all)
	for spec.CatchAll || !spec.Known() {
		spec = pick(m, all)
	}
	body := m.made(spec)
	if i := slices.IndexFunc(samples, func(s sample) bool { return s.op == spec.Code }); i >= 0 && m.below(2) == 0 {
		body = unhex(pick(m, samples[i].bodies))
	}
	for range m.below(4) {
		body = m.changed(body, m.places(spec, body))
	}
	const longest = 600
	return body[:min(len(body), longest)]
}

// made returns a message that the spec allows. It consists of random bytes, as
// far as the spec reads them.
func (m *mutator) made(spec *decode.Spec) []byte {
	const enough = 300
	b := []byte{byte(spec.Code)}
	for len(b) < enough {
		const small = 8
		switch m.below(3) {
		case 0:
			b = append(b, 0)
		case 1:
			b = append(b, byte(m.below(small)))
		default:
			b = append(b, byte(m.below(1<<8)))
		}
	}
	res := m.decoder.Read(spec, b, decode.Stock, nil)
	return b[:len(b)-len(res.Rest)]
}

// A span is the place of a field. Object ids are replaced by the sender's
// objects.
type span struct {
	from, to int
	object   bool
}

// places returns the fields of a message.
func (m *mutator) places(spec *decode.Spec, body []byte) (list []span) {
	if len(body) == 0 {
		return nil
	}
	res := m.decoder.Read(spec, body, decode.Stock, nil)
	if res.Message == nil {
		return nil
	}
	new(decode.Viewer).Show(res.Message, body, 1, res.Dialect, decode.FieldFunc(func(f *decode.Field) {
		if f.End > f.Off && f.End <= len(body) {
			list = append(list, span{f.Off, f.End, f.Kind == decode.KindObject})
		}
	}))
	return list
}

// limits are values at which programs may fail: for each size the minimum and
// the maximum, signed and unsigned.
var limits = []uint64{0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, uint64(math.Float32bits(float32(math.Inf(1)))), 0x7FC00000}

// changed returns a message with one change, in a field if there are any.
func (m *mutator) changed(body []byte, fields []span) []byte {
	body = slices.Clone(body)
	if len(fields) == 0 {
		return m.torn(body)
	}
	f := pick(m, fields)
	const ways = 8
	switch m.below(ways) {
	case 0, 1, 2: // at a limit
		b := binary.LittleEndian.AppendUint64(nil, pick(m, limits))
		copy(body[f.from:f.to], b)
	case 3:
		body[f.from+m.below(f.to-f.from)] ^= 1 << m.below(8)
	case 4:
		return body[:f.from]
	case 5:
		return slices.Insert(body, f.to, body[f.from:f.to]...)
	case 6:
		return slices.Delete(body, f.from, f.to)
	default:
		return append(body, m.made(pick(m, catalog().All()))...)
	}
	return body
}

// torn returns bytes with random changes that ignore the message's structure.
func (m *mutator) torn(b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + m.below(3) {
		switch i := m.below(len(b) + 1); {
		case i == len(b) || m.below(4) == 0:
			b = append(b, byte(m.below(1<<8)))
		case m.below(4) == 0:
			b = b[:i]
		default:
			b[i] = byte(pick(m, limits))
		}
	}
	return b
}

// control returns a transport message other than a game message, in its form in
// a datagram.
func (m *mutator) control() []byte {
	h := transport.Header{Type: transport.Type(m.below(int(transport.Standard))), Reliable: m.below(2) == 0, Priority: true, HasSeq: true, Seq: uint16(m.below(1 << 16))}
	if m.below(4) == 0 {
		h.Fragment, h.Index, h.Count = true, byte(m.below(1<<8)), byte(pick(m, limits))
	}
	var body []byte
	for range m.below(40) {
		body = append(body, byte(pick(m, limits)))
	}
	return written(&h, body)
}

// datagram returns a datagram of messages. Its sender is set when it is sent.
func (m *mutator) datagram(messages ...[]byte) []byte {
	d := datagram(0, messages...)
	if m.below(4) == 0 {
		d[1] = byte(pick(m, limits))
	}
	return d
}

// query returns a query as server browsers send it, with changes.
func (m *mutator) query() []byte {
	text := []byte(pick(m, []string{`\status\`, `\basic\`, `\info\`, `\rules\`, `\players\`, `\echo\x`, `\secure\abcdef`, `\basic\\secure\abcdef\queryid\1.1`}))
	return append([]byte{'\\'}, m.torn(text[1:])...)
}

// adopt puts the sender's objects into a message in three of four cases, since
// a host may check only these.
func (m *mutator) adopt(c *client, body []byte) []byte {
	if len(body) == 0 || c.Slot < 0 {
		return body
	}
	spec := catalog().Lookup(decode.Opcode(body[0]))
	if spec == nil {
		return body
	}
	body = slices.Clone(body)
	for _, f := range m.places(spec, body) {
		if id := wire.ObjectID(binary.LittleEndian.Uint32(append(slices.Clone(body[f.from:f.to]), 0, 0, 0, 0))); f.object && f.to-f.from == 4 && id%4 != 0 {
			binary.LittleEndian.PutUint32(body[f.from:], uint32(c.base()))
		}
	}
	return body
}
