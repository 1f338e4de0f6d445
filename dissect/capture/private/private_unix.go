//go:build unix

package private

import (
	"io/fs"
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// Shared reports whether other users can put files into a directory: either all
// users, or a group other than the user's.
func Shared(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false // opening a file in it reports the error
	}
	const others, group = 0o002, 0o020
	mode := info.Mode().Perm()
	s, ok := info.Sys().(*syscall.Stat_t)
	return mode&others != 0 || mode&group != 0 && (!ok || int(s.Gid) != os.Getegid())
}

// own reports whether a file belongs to the user, or is of a kind whose owner
// does not matter.
func own(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || info.Mode()&fs.ModeDevice != 0 || int(s.Uid) == os.Geteuid()
}
