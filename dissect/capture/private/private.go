// Not part of the library: package private creates files that only their owner
// can read. Captures and reports contain names, addresses and chat.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Mode is the mode of new files.
const Mode fs.FileMode = 0o600

// The reasons why a file in a directory that other users can write, such as
// /tmp, is refused. Other users could have put it there so that another file is
// overwritten, or to read the output.
var (
	ErrLink    = errors.New("is a symbolic link in a directory that other users can write; name where it leads")
	ErrForeign = errors.New("belongs to another user, in a directory that other users can write; give another name")
)

// Open opens or creates a file for writing, with further flags of
// [os.OpenFile]. Only its owner can read a new file. An existing file keeps its
// mode.
func Open(name string, flags int) (*os.File, error) {
	if err := Way(name); err != nil {
		return nil, err
	}
	shared := Shared(filepath.Dir(name))
	if shared {
		flags |= noFollow
	}
	f, err := os.OpenFile(name, flags, Mode)
	switch {
	case err != nil && shared && isLink(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
	case err != nil || !shared:
		return f, err
	}
	info, err := f.Stat()
	if err == nil && !own(info) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrForeign}
	}
	if err != nil {
		_ = f.Close() // errors do not matter, since nothing was written
		return nil, err
	}
	return f, nil
}

// MakeDir creates a directory with its parents as [os.MkdirAll] does. It refuses
// what other users could have put in its place.
func MakeDir(dir string, mode fs.FileMode) error {
	if isLink(dir) && Shared(filepath.Dir(dir)) {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: ErrLink}
	}
	if err := Way(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, mode)
}

// Way returns ErrLink if a directory on the way to a file is a symbolic link in
// a directory that other users can write.
func Way(name string) error {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		parent := filepath.Dir(dir)
		if isLink(dir) && Shared(parent) {
			return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("its directory %s %w", dir, ErrLink)}
		}
		if parent == dir {
			return nil
		}
	}
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
