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

// A Draft is a new version of a file that replaces the file only when Accept is
// called. Discard removes it, and so does a signal that ends the program.
type Draft struct {
	*os.File // only the owner may read it
	name     string
	replaces string
	unwatch  func()
}

// CreateDraft creates a draft in the folder of the named file. If that file is
// not empty, force must be set.
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

// newDraft creates a draft of the named file at another path.
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

// replaceable returns the path of a file that can be replaced, with links
// resolved.
func replaceable(name string, force bool) (path string, err error) {
	if err := private.Way(name); err != nil {
		return "", Failed(PlainPath(name, err))
	}
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

// replaced returns the path of a file that can be written to, with links
// resolved.
func replaced(name string) (path string, err error) {
	f, err := private.Open(name, os.O_WRONLY)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if private.Shared(filepath.Dir(name)) {
		return name, nil // not a link, unless another program has just created one
	}
	return filepath.EvalSymlinks(name)
}

// KeepMode gives the draft the mode of the file that it replaces, if there is
// one. Otherwise only the owner can read the new file.
func (d *Draft) KeepMode() {
	if old, err := os.Stat(d.replaces); err == nil {
		_ = d.Chmod(old.Mode().Perm()) // not all systems have permissions
	}
}

// Accept replaces the file by the draft, which must have been closed.
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
		_ = os.Remove(d.Name()) // the error of the renaming is the one to report
	}
	return err
}

// Discard removes the draft, which must have been closed.
func (d *Draft) Discard() {
	defer d.unwatch()
	_ = os.Remove(d.Name()) // a leftover file does not justify an error
}
