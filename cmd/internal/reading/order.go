package reading

import (
	"io"
	"sync"
)

// An order writes a text in parts that are made at the same time: the lines of
// the first unfinished part go on at once, and the others wait in memory.
type order struct {
	out   io.Writer
	room  int             // the most ended parts to wait
	shown func(frame int) // called after each part that ends behind a frame

	mu      sync.Mutex
	moved   sync.Cond // due or err has changed
	due     int       // number of the part that is to be written; only its maker uses out
	waiting map[int]ended
	free    [][]byte // blocks that are written
	err     error
	failed  chan struct{} // closed with err set
}

// Limits of the memory of an order, in blocks of the reports' usual size.
const (
	mostBlocks = 48 // of a part that is not due
	keepBlocks = 64
	keepBlock  = 256 << 10 // bytes; larger ones are not kept
)

// An ended part waits for those before it.
type ended struct {
	blocks [][]byte
	frame  int
}

func newOrder(out io.Writer, room int, shown func(frame int)) *order {
	o := &order{out: out, room: room, shown: shown, waiting: map[int]ended{}, failed: make(chan struct{})}
	o.moved.L = &o.mu
	return o
}

// failure returns the error that ended all.
func (o *order) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// fail ends all with an error.
func (o *order) fail(err error) error {
	o.err = err
	close(o.failed)
	o.moved.Broadcast()
	return err
}

// write writes blocks of the part that is due, without holding the lock.
func (o *order) write(blocks [][]byte) error {
	o.mu.Unlock()
	var err error
	for _, b := range blocks {
		if _, err = o.out.Write(b); err != nil {
			break
		}
	}
	o.mu.Lock()
	if err != nil {
		return o.fail(err)
	}
	for _, b := range blocks {
		if len(o.free) < keepBlocks && cap(b) <= keepBlock {
			o.free = append(o.free, b[:0])
		}
	}
	return nil
}

// block returns an empty block: the one that was written last, which is likely to
// be in a cache, or a new one of a size.
func (o *order) block(size int) []byte {
	last := len(o.free) - 1
	if last < 0 {
		return make([]byte, 0, min(size, keepBlock))
	}
	b := o.free[last]
	o.free = o.free[:last]
	return b
}

// A part is a part of an order's text. It is written to as a [report.Keeper].
type part struct {
	order  *order
	nr     int // from 0 on
	blocks [][]byte
}

// Write implements [io.Writer].
func (p *part) Write(text []byte) (int, error) {
	if _, err := p.Keep(append([]byte(nil), text...)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Keep implements [report.Keeper].
func (p *part) Keep(block []byte) ([]byte, error) {
	o := p.order
	o.mu.Lock()
	defer o.mu.Unlock()
	p.blocks = append(p.blocks, block)
	for o.due != p.nr && len(p.blocks) >= mostBlocks && o.err == nil {
		o.moved.Wait()
	}
	if o.err == nil && o.due == p.nr {
		_ = o.write(p.blocks) // sets o.err
		p.blocks = p.blocks[:0]
	}
	return o.block(cap(block)), o.err
}

// end ends the part behind a frame, or all if there was an error in making it.
// It returns the error that ended all. The next part may then begin.
func (p *part) end(frame int, err error) error {
	o := p.order
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.due != p.nr && (err != nil || len(o.waiting) >= o.room) && o.err == nil {
		o.moved.Wait()
	}
	switch {
	case o.err != nil:
		return o.err
	case err != nil:
		return o.fail(err)
	case o.due != p.nr:
		o.waiting[p.nr] = ended{p.blocks, frame} // whoever ends the part before writes it
		p.blocks = nil
		return nil
	}
	for next, more := (ended{p.blocks, frame}), true; more; next, more = o.waiting[o.due] {
		delete(o.waiting, o.due)
		if err := o.write(next.blocks); err != nil {
			return err
		}
		if next.frame > 0 {
			o.shown(next.frame)
		}
		o.due++
	}
	p.blocks = p.blocks[:0]
	o.moved.Broadcast()
	return nil
}
