// Not part of the library: package private creates files for the eyes of their owner.
// Captures and reports hold names, addresses and chat.
package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Mode is the mode of new files.
const Mode fs.FileMode = 0o600

// The reasons why a file in a directory that others can write, such as /tmp, is refused:
// they could have put it there to have another file overwritten, or to read along.
var (
	ErrLink    = errors.New("is a symbolic link in a directory that other users can write; name the file it leads to")
	ErrForeign = errors.New("belongs to another user, in a directory that other users can write; give another name")
)

// Open opens or creates a file for writing, with further flags of [os.OpenFile]. Only its
// owner can read a new one; an old one keeps its mode.
func Open(name string, flags int) (*os.File, error) {
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
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
