package measure

import (
	"cmp"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Tally is a [Sink] that counts. Its zero value is ready to use.
type Tally struct {
	// The caller sets these, since only the reader of the capture knows them.
	Frames   int64         `json:"frames" table:"frames>Duration" doc:"all frames"`
	Duration time.Duration `json:"duration" digits:"9" table:"seconds" doc:"between the two"` // time between the first and the last frame
	Other    int64         `json:"datagrams.other>Malformed" table:"datagrams_other>Malformed" doc:"UDP datagrams that are not the game's"`

	Game      int64 `json:"datagrams.game" table:"datagrams_game" doc:"datagrams of the game that split to their end"` // or up to where the capture truncated them
	GameSpy   int64 `json:"datagrams.gamespy" table:"datagrams_gamespy" doc:"datagrams of GameSpy text"`
	Malformed int64 `json:"datagrams.malformed" table:"datagrams_malformed" doc:"datagrams of the game that do not split"`

	Messages    int64      `json:"messages.total" table:"messages" doc:"transport messages"` // includes retransmissions
	Types       [256]int64 // messages by transport type
	Reliable    int64      `json:"reliability.reliable" table:"reliable_messages" doc:"of them, those that ask for an acknowledgement"`
	Unreliable  int64      `json:"reliability.unreliable"` // all other messages
	Duplicates  int64      `json:"reliability.duplicates" table:"duplicates" doc:"messages seen before"`
	Fragments   int64      `json:"reliability.fragments" table:"fragments" doc:"messages that are a part of a larger one"` // includes retransmissions
	Reassembled int64      `json:"reliability.reassembled" table:"reassembled_messages" doc:"game messages made of fragments"`
	Incomplete  int64      `json:"reliability.incomplete" table:"incomplete_messages" doc:"game messages with missing fragments"`

	Counted      int64            `table:"game_messages" doc:"game messages, complete and not seen before"`
	Opcodes      [256]OpcodeCount // game messages by opcode
	Flags        [3]FlagCount     // StateUpdates by direction and dirty flags. The element for DirUnknown is not used.
	PayloadBytes int64            `json:"payload_bytes" table:"payload_bytes" doc:"their bytes"` // length of counted game messages
	ResidueBytes int64            `json:"residue_bytes" table:"residue_bytes" doc:"of them, undecoded"`
	Errors       int64            `json:"errors" table:"errors" doc:"malformed messages and datagrams"` // truncation by the capture does not count

	seen     bool
	datagram int  // frame number of the current datagram
	bad      bool // the current datagram counts as malformed
}

// An OpcodeCount counts the game messages of one opcode.
type OpcodeCount struct {
	Opcode   decode.Opcode `json:"opcode"`
	Name     string        `json:"name,omitempty"` // empty if the opcode is unknown
	Topic    decode.Topic
	ToHost   int64 `json:"c2s"`
	FromHost int64 `json:"s2c"`
	Total    int64 `json:"total"` // includes messages of unknown direction
	Bytes    int64 `json:"bytes"` // length of their payloads
}

// A FlagCount counts StateUpdates by their dirty flags.
type FlagCount [256]int64

// Record counts r. It never fails.
func (t *Tally) Record(r *dissect.Record) error {
	switch r.Kind {
	case dissect.KindMessage:
		t.message(r)
	case dissect.KindPayload:
		t.game(r)
	case dissect.KindGameSpy:
		t.GameSpy++
	case dissect.KindMalformed:
		t.malformed(r)
	case dissect.KindEvicted:
		if r.Transport.Fragment {
			t.Incomplete++
		}
	}
	return nil
}

// Needs returns the parts of records that a tally uses.
func (t *Tally) Needs() dissect.Needs { return dissect.Needs{Run: t.Run} }

// Run counts messages that come without records. It never fails.
func (t *Tally) Run(r *dissect.Run) error {
	if t.begins(r.Datagram, r.Part) {
		t.Game++
	}
	updates := int64(len(r.Flags))
	t.Messages += updates + int64(r.Acks)
	t.Types[transport.Acknowledge] += int64(r.Acks)
	t.Types[transport.Standard] += updates
	t.Unreliable += updates + int64(r.Acks)
	if updates == 0 {
		return nil
	}
	t.count(msg.OpStateUpdate, r.Spec, r.Dir, updates, r.Bytes)
	if r.Dir != dissect.DirUnknown {
		flags := &t.Flags[r.Dir]
		for _, dirty := range r.Flags {
			flags[dirty]++
		}
	}
	return nil
}

// count counts complete game messages of an opcode. The argument size is their
// length together.
func (t *Tally) count(op decode.Opcode, spec *decode.Spec, dir dissect.Dir, n int64, size int) {
	t.Counted += n
	t.PayloadBytes += int64(size)
	o := &t.Opcodes[op]
	if o.Name == "" && spec != nil {
		o.Name, o.Topic = spec.Name, spec.Topic
	}
	o.Total += n
	o.Bytes += int64(size)
	switch dir {
	case dissect.ToHost:
		o.ToHost += n
	case dissect.FromHost:
		o.FromHost += n
	case dissect.DirUnknown: // counts only in the total
	}
}

// Close does nothing.
func (t *Tally) Close() error { return nil }

func (t *Tally) message(r *dissect.Record) {
	if t.begins(r.Datagram, r.Part) {
		t.Game++
	}
	h := &r.Transport
	t.Messages++
	t.Types[h.Type]++
	if h.Reliable {
		t.Reliable++
	} else {
		t.Unreliable++
	}
	duplicate := r.Status == dissect.StatusDuplicate
	if duplicate {
		t.Duplicates++
	}
	if h.Fragment && h.Type == transport.Standard {
		t.Fragments++
		if !duplicate && len(r.Payload) > 0 {
			t.Reassembled++
		}
	}
	if !duplicate {
		t.game(r)
	}
}

// game counts the game message of a record that is not a retransmission.
func (t *Tally) game(r *dissect.Record) {
	if r.Status == dissect.StatusMalformed {
		t.Errors++
	}
	if len(r.Payload) == 0 {
		return
	}
	t.ResidueBytes += int64(len(r.Rest))
	t.count(decode.Opcode(r.Payload[0]), r.Spec, r.Dir, 1, len(r.Payload))
	if _, dirty, ok := msg.UpdateHead(r.Payload); ok && r.Dir != dissect.DirUnknown {
		t.Flags[r.Dir][dirty]++
	}
}

// malformed counts the rest of a datagram. If messages came before it, the
// datagram has been counted as one of the game's.
func (t *Tally) malformed(r *dissect.Record) {
	if r.Cut { // the capture truncated it
		if t.begins(r.Datagram, r.Part) {
			t.Game++
		}
		return
	}
	if r.DoubleOf == 0 {
		t.Errors++
	}
	switch {
	case t.begins(r.Datagram, r.Part):
		t.Malformed++
	case !t.bad:
		t.Game--
		t.Malformed++
	}
	t.bad = true
}

// begins reports whether a part of a datagram is the first one counted. Frame
// numbers are not enough, since a tally may count several captures one after
// another.
func (t *Tally) begins(d *dissect.Datagram, part int) bool {
	if d == nil {
		return true
	}
	if part > 0 && t.seen && d.Number == t.datagram {
		return false
	}
	t.seen, t.datagram, t.bad = true, d.Number, false
	return true
}

// Share returns n as a share of all counted game messages.
func (t *Tally) Share(n int64) float64 {
	if t.Counted == 0 {
		return 0
	}
	return float64(n) / float64(t.Counted)
}

// ByCount returns the opcodes that occurred, the most frequent first. Equally
// frequent ones are in numeric order.
func (t *Tally) ByCount() []OpcodeCount {
	var out []OpcodeCount
	for op, o := range t.Opcodes {
		if o.Total > 0 {
			o.Opcode = decode.Opcode(op)
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b OpcodeCount) int { return cmp.Compare(b.Total, a.Total) })
	return out
}

// A FlagShare is how often a combination of dirty flags occurred.
type FlagShare struct {
	Flags uint8
	Count int64
}

// ByCount returns the combinations that occurred, the most frequent first.
// Equally frequent ones are in numeric order.
func (f *FlagCount) ByCount() []FlagShare {
	var out []FlagShare
	for flags, n := range f {
		if n > 0 {
			out = append(out, FlagShare{uint8(flags), n})
		}
	}
	slices.SortStableFunc(out, func(a, b FlagShare) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// Total returns the number of StateUpdates.
func (f *FlagCount) Total() int64 {
	var n int64
	for _, c := range f {
		n += c
	}
	return n
}

// flagNames are the dirty flags, bit 0 first.
var flagNames = msg.DirtyNames()

// AppendFlagNames appends the names of the set dirty flags, such as
// POSITION|FORWARD|UP.
func AppendFlagNames(dst []byte, flags uint8) []byte {
	if flags == 0 {
		return append(dst, "none"...)
	}
	first := true
	for bit, name := range flagNames {
		if flags>>bit&1 == 0 {
			continue
		}
		if !first {
			dst = append(dst, '|')
		}
		dst, first = append(dst, name...), false
	}
	return dst
}
