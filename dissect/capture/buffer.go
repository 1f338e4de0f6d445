package capture

import (
	"errors"
	"io"
	"slices"
)

// bufferSize holds the largest buffered record, and makes reads few.
const bufferSize = 512 << 10

// A buffer lends the bytes of a reader without copying each record. It reads
// only when the buffer lacks requested bytes, so every complete record of a
// pipe that is still being written is available at once.
type buffer struct {
	src    io.Reader
	buf    []byte
	lo, hi int   // bytes read and not yet skipped
	base   int64 // offset of buf[0] in src
	err    error // error that ends reading
}

func newBuffer(src io.Reader) *buffer {
	return &buffer{src: src, buf: make([]byte, bufferSize)}
}

// offset returns the offset of the next byte that peek returns.
func (b *buffer) offset() int64 { return b.base + int64(b.lo) }

// end returns the offset after the last byte read.
func (b *buffer) end() int64 { return b.base + int64(b.hi) }

// ready returns the buffered bytes, however few. They stay in place like the
// bytes that peek returns.
func (b *buffer) ready() []byte { return b.buf[b.lo:b.hi] }

// peek returns the next n bytes, at most bufferSize, or fewer and the reason.
// They stay in place until the next call of peek, discard or Read.
func (b *buffer) peek(n int) ([]byte, error) {
	if b.hi-b.lo >= n {
		return b.buf[b.lo : b.lo+n], nil
	}
	return b.fill(n)
}

func (b *buffer) fill(n int) ([]byte, error) {
	if b.err == nil && b.lo > 0 {
		copy(b.buf, b.buf[b.lo:b.hi])
		b.base += int64(b.lo)
		b.hi -= b.lo
		b.lo = 0
	}
	idle := 0
	for b.err == nil && b.hi-b.lo < n {
		got, err := b.src.Read(b.buf[b.hi:])
		b.hi += got
		b.err = err
		if got > 0 {
			idle = 0
		} else if idle++; idle == 100 && err == nil {
			b.err = io.ErrNoProgress
		}
	}
	if b.hi-b.lo < n {
		return b.buf[b.lo:b.hi], b.err
	}
	return b.buf[b.lo : b.lo+n], nil
}

// skip skips n bytes returned by peek. They stay in place.
func (b *buffer) skip(n int) { b.lo += n }

// discard skips the next n bytes, any number.
func (b *buffer) discard(n int64) error {
	for n > 0 {
		some, err := b.peek(int(min(n, 64<<10)))
		b.skip(len(some))
		if n -= int64(len(some)); err != nil {
			return err
		}
	}
	return nil
}

// zeros skips zero bytes by as many as size at a time. It returns how many there
// were, and whether nothing follows them.
func (b *buffer) zeros(size int) (n int64, last bool) {
	for {
		some, err := b.peek(size)
		if slices.ContainsFunc(some, func(c byte) bool { return c != 0 }) {
			return n, false
		}
		b.skip(len(some))
		n += int64(len(some))
		if err != nil {
			return n, errors.Is(err, io.EOF)
		}
	}
}

// Read implements [io.Reader] for decompressors.
func (b *buffer) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.lo == b.hi {
		if _, err := b.peek(1); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.buf[b.lo:b.hi])
	b.lo += n
	return n, nil
}

// failed returns the error for an incomplete record. err is from peek or
// discard. The argument begun reports whether part of the record was read.
func (b *buffer) failed(err error, begun, inFrame bool) error {
	switch {
	case errors.Is(err, io.EOF) && !begun:
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &stop{kind: ErrCut, offset: b.end(), inFrame: inFrame}
	}
	var p *packedError
	if errors.As(err, &p) {
		return damagedAt(b.end(), inFrame, "%v", p)
	}
	return &stop{kind: err, offset: b.end(), inFrame: inFrame}
}

// interrupted returns the error for a file that ends with zero bytes. A file system
// that has lost power leaves them where the file was longer than what was written.
func interrupted(offset, zeros int64) error {
	return damagedAt(offset, false, "the file ends with %d zero bytes, as after a power loss", zeros)
}
