package extract

import (
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// A Decrypter deciphers the datagrams of the game that a copy holds, and
// annotates them.
type Decrypter struct {
	*capture.Copy
	pipeline *dissect.Pipeline
	notes    *wireshark.Annotator       // nil for none
	clear    bool                       // they are deciphered already, or stay as they are
	wanted   func(*dissect.Record) bool // nil for all
	plain    []byte
	done     int // deciphered
	left     int // in IP fragments, which stay as they are
}

// NewDecrypter returns a decrypter. The copy must hold frames, and the annotator
// may be nil.
func NewDecrypter(to *capture.Copy, cfg dissect.Config, notes *wireshark.Annotator) *Decrypter {
	return &Decrypter{Copy: to, pipeline: dissect.New(cfg), clear: cfg.Clear, notes: notes}
}

// Counts returns how many datagrams were deciphered, and how many stay as they are
// since they are in IP fragments.
func (d *Decrypter) Counts() (done, left int) { return d.done, d.left }

// LeaveEnciphered makes the decrypter write datagrams as they are.
func (d *Decrypter) LeaveEnciphered() { d.clear = true }

// LeaveOut makes the decrypter leave out datagrams of the game without a wanted
// record.
func (d *Decrypter) LeaveOut(wanted func(*dissect.Record) bool) { d.wanted = wanted }

// Datagram deciphers a datagram if it is the game's, and writes its frame. It
// reports whether it did.
func (d *Decrypter) Datagram(g *dissect.Datagram) bool {
	game, wanted, f := false, d.wanted == nil, d.Held()
	annotate := d.notes != nil && f != nil
	if annotate {
		d.notes.Begin(f.Payload, g.Truncated())
	}
	_ = d.pipeline.Push(g, func(r *dissect.Record) error {
		game = game || r.Kind == dissect.KindMessage || r.Kind == dissect.KindMalformed
		wanted = wanted || d.wanted(r)
		if annotate {
			return d.notes.Record(r)
		}
		return nil // so that Push does not fail either
	})
	if game && !wanted {
		d.Take() // and forget it
		return false
	}
	payload := g.Payload
	if f != nil && game && g.Form == packet.Wire && !d.clear {
		d.plain = cipher.Decrypt(d.plain[:0], g.Payload)
		payload = d.plain
		if f.Payload < 0 {
			d.left++
		} else {
			f.SetPayload(d.plain)
			d.done++
		}
	}
	if annotate {
		d.annotate(f, payload)
	}
	d.Release()
	return f != nil
}
