//go:build !windows

package cli

import "os"

// openConsole finds nothing that is off: terminals elsewhere know ANSI.
// inCodePage is for Windows.
func inCodePage(_ uint32, text []byte) []byte { return text }

func openConsole(_, _ *os.File) (d Display, restore func()) { return Display{}, func() {} }

// OwnConsole is false: only Windows gives a program a console of its own.
func OwnConsole() bool { return false }
