package capture

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// progress is the position of a source. Other goroutines may read it.
type progress struct {
	read, size atomic.Int64
	before     func() error // called before each read, may be nil
}

func (p *progress) get() (read, size int64) { return p.read.Load(), p.size.Load() }

// expect sets the size to the sum of all files, if all are known.
func (p *progress) expect(names []string, stdin io.Reader) {
	total := int64(0)
	for _, name := range names {
		size, ok := sizeOf(name, stdin)
		if !ok {
			return
		}
		total += size
	}
	p.size.Store(total)
}

func sizeOf(name string, stdin io.Reader) (int64, bool) {
	info, err := os.Stat(name)
	if name == "-" {
		file, ok := stdin.(*os.File)
		if !ok {
			return 0, false
		}
		info, err = file.Stat()
	}
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// A counter counts the bytes read from a file and marks its errors as such.
type counter struct {
	io.Reader
	progress *progress
}

func (c *counter) Read(b []byte) (int, error) {
	if before := c.progress.before; before != nil {
		if err := before(); err != nil {
			return 0, &readError{err}
		}
	}
	n, err := c.Reader.Read(b)
	c.progress.read.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}
