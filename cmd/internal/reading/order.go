package reading

import (
	"errors"
	"io"
)

// An order writes a text in parts that several makers make by turns: the first
// makes part 0, the second part 1, and so on. The text of the part that is due goes
// on at once. The text of later parts waits in memory, at most mostBlocks of each
// maker.
type order struct {
	makers []*maker
	free   chan []byte   // blocks that are written
	failed chan struct{} // closed when the makers are to stop
}

// Limits of the memory of an order, in blocks of the reports' usual size.
const (
	mostBlocks = 16 // of a maker
	keepBlocks = 32
	keepBlock  = 256 << 10 // bytes; larger ones are not kept
)

// errStopped stops the makers after an error of the output or of another maker.
var errStopped = errors.New("the text is not wanted any more")

// A maker makes every nth part. It is written to as a [report.Keeper].
type maker struct {
	*order
	blocks chan block
}

// A block is a piece of a part.
type block struct {
	text  []byte
	ends  bool  // the part
	frame int   // the part ends behind it, if it is not 0
	err   error // why the part cannot be made
}

func newOrder(makers int) *order {
	o := &order{free: make(chan []byte, keepBlocks), failed: make(chan struct{})}
	for range makers {
		o.makers = append(o.makers, &maker{o, make(chan block, mostBlocks)})
	}
	return o
}

// write writes the parts until the maker whose turn it is has ended. It calls shown
// after each part that ends behind a frame. An error stops all makers.
func (o *order) write(out io.Writer, shown func(frame int)) (err error) {
	for due := 0; ; due++ {
		ends := false
		for !ends {
			b, more := <-o.makers[due%len(o.makers)].blocks
			if !more {
				return nil
			}
			if err = b.err; err == nil && len(b.text) > 0 {
				_, err = out.Write(b.text)
			}
			if err != nil {
				close(o.failed)
				return err
			}
			if ends = b.ends; b.frame > 0 {
				shown(b.frame)
			}
			if b.text != nil && cap(b.text) <= keepBlock {
				select {
				case o.free <- b.text[:0]:
				default:
				}
			}
		}
	}
}

// Write implements [io.Writer].
func (m *maker) Write(text []byte) (int, error) {
	if _, err := m.Keep(append([]byte(nil), text...)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Keep implements [report.Keeper].
func (m *maker) Keep(text []byte) ([]byte, error) {
	if err := m.give(block{text: text}); err != nil {
		return nil, err
	}
	select {
	case b := <-m.free:
		return b, nil
	default:
		return make([]byte, 0, min(cap(text), keepBlock)), nil
	}
}

// end ends the part behind a frame, or all parts if there was an error in making
// it.
func (m *maker) end(frame int, err error) error {
	return errors.Join(err, m.give(block{ends: true, frame: frame, err: err}))
}

// give gives a block away, as soon as there is room for it.
func (m *maker) give(b block) error {
	select {
	case m.blocks <- b:
		return nil
	case <-m.failed:
		return errStopped
	}
}
