//go:build !windows

package cli

import "os"

// inCodePage returns the text unchanged: only Windows has code pages.
func inCodePage(_ uint32, text []byte) []byte { return text }

func openConsole(_, _ *os.File) (d Display, restore func()) { return Display{}, func() {} }

// OwnConsole returns false: only Windows creates a console for a program.
func OwnConsole() bool { return false }
