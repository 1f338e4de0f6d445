//go:build !unix

package private

import "io/fs"

// Windows gives every user separate temporary directories, and links need a
// privilege.
const noFollow = 0

// Shared reports whether other users can put files into a directory.
func Shared(string) bool { return false }

func own(fs.FileInfo) bool { return true }
