package extract

import (
	"math/bits"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// annotator returns the annotator of a copy with these options, which it
// completes.
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

// annotate adds trailer, comment and names to a frame.
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

// maxPlayers is the largest number of conversations with known players.
const maxPlayers = 1 << 16

// Players are the names of the players of conversations.
type Players map[int]wire.Untrusted

// Learn takes note of the player of a record.
func (p Players) Learn(r *dissect.Record) {
	if p != nil && r.Client != "" && p[r.Conversation] == "" && len(p) < maxPlayers {
		p[r.Conversation] = r.Client
	}
}

// numbers are the numbers of frames in a copy, by those in its sources.
type numbers struct {
	Frames
	before []int // number of frames before each word of frames
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

// of returns the number of a frame in the copy, 0 if it is not there.
func (n *numbers) of(number int) int {
	if number < 0 || !n.Has(number) {
		return 0
	}
	word := number / 64
	return n.before[word] + bits.OnesCount64(n.bits[word]<<(63-number%64))
}
