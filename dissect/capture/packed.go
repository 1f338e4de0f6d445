package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow limits the memory for unpacking zstd. It is the default limit of
// the zstd tool. Memory is used only as far as the data reach back.
const maxWindow = 128 << 20

// unpack returns a reader of the unpacked content of b, or nil if its magic
// number is neither gzip's nor zstd's. The reader must be closed.
func unpack(b *buffer) (io.ReadCloser, error) {
	magic, _ := b.peek(4) // any error comes up again
	switch {
	case len(magic) < 4:
		return nil, nil
	case isGzip(magic):
		// The unpacker has a fast path for exactly this kind of reader.
		z, err := gzip.NewReader(bufio.NewReaderSize(b, 64<<10))
		if err != nil {
			return nil, packedFault(err)
		}
		return packed{z}, nil
	case isZstd(magic):
		// One goroutine: the decoder's own would read ahead and outlive us.
		z, err := zstd.NewReader(b,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, packedFault(err)
		}
		return packed{z.IOReadCloser()}, nil
	}
	return nil, nil
}

// Pack returns a writer that compresses as the ending of the file's name says: .gz,
// .zst, or neither. Closing it closes w.
func Pack(name string, w io.WriteCloser) io.WriteCloser {
	switch {
	case strings.HasSuffix(name, ".gz"):
		return packing{gzip.NewWriter(w), w}
	case strings.HasSuffix(name, ".zst"):
		if z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); err == nil { // it has no reason to fail
			return packing{z, w}
		}
	}
	return w
}

// packing closes the compressor and the file.
type packing struct {
	io.WriteCloser
	to io.Closer
}

func (p packing) Close() error { return errors.Join(p.WriteCloser.Close(), p.to.Close()) }

func isGzip(magic []byte) bool { return string(magic[:3]) == "\x1f\x8b\x08" }

// isZstd also knows the skippable frame that pzstd and others put first.
func isZstd(magic []byte) bool {
	return string(magic) == "\x28\xb5\x2f\xfd" || magic[0]&0xf0 == 0x50 && string(magic[1:]) == "\x2a\x4d\x18"
}

// packed sorts the unpackers' errors into truncation ([io.ErrUnexpectedEOF]),
// damage (packedError), excessive memory (errWindow) and read errors.
type packed struct{ io.ReadCloser }

func (p packed) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	return n, packedFault(err)
}

// errWindow reports intact data with an unsupported window size.
var errWindow = fmt.Errorf("unpacking takes more than %d MiB of memory; unpack it with zstd -d --long=31 first", maxWindow>>20)

// A packedError reports packed data that do not unpack.
type packedError struct{ err error }

func (e *packedError) Error() string { return "it can't be unpacked (" + e.err.Error() + ")" }
func (e *packedError) Unwrap() error { return e.err }

// A readError marks an error of the file itself on its way through an
// unpacker.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

func packedFault(err error) error {
	var r *readError
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &r):
		return r.err
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return errWindow
	}
	return &packedError{err}
}
