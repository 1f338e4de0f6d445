package extract

import (
	"math/bits"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// annotator returns an annotator for a copy with these options. It sets the
// options that annotations need.
func annotator(o *capture.CopyOptions, names Players) *wireshark.Annotator {
	var written numbers
	o.Longer = true
	keeps := o.Keep
	o.Keep = func(f *capture.Frame) bool {
		keep := keeps == nil || keeps(f)
		if keep && !f.Lacking {
			written.add(f.Number)
		}
		return keep
	}
	return wireshark.NewAnnotator(wireshark.Options{
		Frame:  written.of,
		Player: func(conversation int) wire.Untrusted { return names[conversation] },
	})
}

// annotate adds a trailer, a comment and names to a frame.
func (d *Decrypter) annotate(f *capture.Frame, payload []byte) {
	trailer, comment := d.notes.End(payload)
	f.Extend(trailer)
	if comment != "" {
		f.Comment(comment)
	}
	for _, n := range d.notes.Names() {
		d.Name(n.Addr, n.Name)
	}
}

// maxPlayers is the maximum number of conversations with known players.
const maxPlayers = 1 << 16

// Players maps conversations to the names of their players.
type Players map[int]wire.Untrusted

// Learn adds the player of a record.
func (p Players) Learn(r *dissect.Record) {
	if p != nil && r.Client != "" && p[r.Conversation] == "" && len(p) < maxPlayers {
		p[r.Conversation] = r.Client
	}
}

// numbers maps frame numbers in the sources to frame numbers in the copy.
type numbers struct {
	Frames
	before []int // for each word of frames, the number of frames before it
	total  int
}

// add adds the next frame.
func (n *numbers) add(number int) {
	n.Add(number)
	for len(n.before) < len(n.bits) {
		n.before = append(n.before, n.total)
	}
	n.total++
}

// of returns the number of a frame in the copy, or 0 if the copy does not have
// it.
func (n *numbers) of(number int) int {
	if number < 0 || !n.Has(number) {
		return 0
	}
	word := number / 64
	return n.before[word] + bits.OnesCount64(n.bits[word]<<(63-number%64))
}
