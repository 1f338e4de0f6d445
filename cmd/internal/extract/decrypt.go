package extract

import (
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// A Decrypter deciphers the game's datagrams in a copy, and annotates them.
type Decrypter struct {
	*capture.Copy
	pipeline *dissect.Pipeline
	notes    *wireshark.Annotator       // nil for no annotations
	clear    bool                       // the datagrams are already deciphered, or are not to be deciphered
	wanted   func(*dissect.Record) bool // nil for all
	plain    []byte
	done     int // number of datagrams deciphered
	left     int // number of datagrams in IP fragments, which are not deciphered
}

// NewDecrypter returns a decrypter. The copy must hold frames until Release.
// The annotator may be nil.
func NewDecrypter(to *capture.Copy, cfg dissect.Config, notes *wireshark.Annotator) *Decrypter {
	return &Decrypter{Copy: to, pipeline: dissect.New(cfg), clear: cfg.Clear, notes: notes}
}

// Counts returns the number of datagrams that were deciphered, and of those
// that were not because they are in IP fragments.
func (d *Decrypter) Counts() (done, left int) { return d.done, d.left }

// LeaveEnciphered makes the decrypter write datagrams without deciphering them.
func (d *Decrypter) LeaveEnciphered() { d.clear = true }

// LeaveOut makes the decrypter drop game datagrams without a wanted record.
func (d *Decrypter) LeaveOut(wanted func(*dissect.Record) bool) { d.wanted = wanted }

// Datagram writes the frame of a datagram, deciphered if it belongs to the game.
// It reports whether it has written a frame.
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
		return nil // Push must not return it
	})
	if game && !wanted {
		d.Take() // drop it
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
