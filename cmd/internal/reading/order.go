package reading

import (
	"errors"
	"io"
)

// An order writes a text whose parts several makers make in turn: the first
// makes part 0, the second makes part 1, and so on. The text of the current
// part is written without delay. The text of later parts waits in memory, at
// most mostBlocks of each maker.
type order struct {
	makers []*maker
	free   chan []byte   // written blocks, for reuse
	failed chan struct{} // closed when the makers must stop
}

// Limits of the memory of an order. Reports usually write blocks of about the
// same size.
const (
	mostBlocks = 16 // blocks of one maker
	keepBlocks = 32
	keepBlock  = 256 << 10 // bytes, larger blocks are not reused
)

// errStopped stops the makers after an error of the output or of another maker.
var errStopped = errors.New("the text is not wanted any more")

// A maker makes every nth part. Reports write to it as to a [report.Keeper].
type maker struct {
	*order
	blocks chan block
}

// A block is a piece of a part.
type block struct {
	text  []byte
	ends  bool  // the part ends after it
	frame int   // the part ends after this frame, 0 if that is unknown
	err   error // the reason that the part cannot be made
}

func newOrder(makers int) *order {
	o := &order{free: make(chan []byte, keepBlocks), failed: make(chan struct{})}
	for range makers {
		o.makers = append(o.makers, &maker{o, make(chan block, mostBlocks)})
	}
	return o
}

// write writes the parts until the maker of the next part has ended. It calls
// shown after each part that ends with a known frame. An error stops all
// makers.
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

// end ends the part after a frame. If err is not nil, it ends all parts.
func (m *maker) end(frame int, err error) error {
	return errors.Join(err, m.give(block{ends: true, frame: frame, err: err}))
}

// give passes a block on. It waits until there is room.
func (m *maker) give(b block) error {
	select {
	case m.blocks <- b:
		return nil
	case <-m.failed:
		return errStopped
	}
}
