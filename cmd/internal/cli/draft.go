package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/capture/private"
)

// A Draft is a file that takes the place of another only when it is accepted. It
// is removed if it is discarded, or if a signal ends the program.
type Draft struct {
	*os.File // for its owner only
	name     string
	replaces string
	unwatch  func()
}

// CreateDraft creates a draft of a file, beside it. A file that holds something is
// replaced only if that is forced.
func CreateDraft(name string, force bool, s Streams) (*Draft, error) {
	replaces, err := replaceable(name, force)
	if err != nil {
		return nil, err
	}
	d, err := newDraft(name, replaces, s)
	if err != nil {
		return nil, Failed(PlainPath(name, err))
	}
	return d, nil
}

// newDraft creates a draft of a file with another path.
func newDraft(name, path string, s Streams) (*Draft, error) {
	created, unwatch := func(string) {}, func() {}
	if !s.Graceful {
		created, unwatch = removeWhenKilled(s.Abort) // before there is a file to remove
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bcdissect-*")
	if err != nil {
		created("")
		unwatch()
		return nil, err
	}
	created(f.Name())
	return &Draft{File: f, name: name, replaces: path, unwatch: unwatch}, nil
}

// replaceable returns the path of a file that can be replaced, without links.
func replaceable(name string, force bool) (path string, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name, nil
	case err != nil:
		return "", Failed(PlainPath(name, err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: cannot be replaced, because it is not an ordinary file; give another name", name)
	case info.Size() > 0 && !force:
		return "", notOverwritten(PlainPath(name, capture.ErrNotEmpty))
	}
	if path, err = replaced(name); err != nil {
		return "", Failed(PlainPath(name, err))
	}
	return path, nil
}

// replaced returns the path of a file that can be written to, without links.
func replaced(name string) (path string, err error) {
	f, err := private.Open(name, os.O_WRONLY)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if private.Shared(filepath.Dir(name)) {
		return name, nil // no link, unless somebody has just put one there
	}
	return filepath.EvalSymlinks(name)
}

// Accept puts the draft, which must have been closed, in the place of the file.
func (d *Draft) Accept() error {
	if err := d.accept(); err != nil {
		return PlainPath(d.name, err)
	}
	return nil
}

func (d *Draft) accept() error {
	defer d.unwatch()
	err := os.Rename(d.Name(), d.replaces)
	if err != nil {
		_ = os.Remove(d.Name()) // the error that matters is known
	}
	return err
}

// Discard removes the draft, which must have been closed.
func (d *Draft) Discard() {
	defer d.unwatch()
	_ = os.Remove(d.Name()) // a leftover file is not worth an error
}
