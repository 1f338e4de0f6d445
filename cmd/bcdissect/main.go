// Command bcdissect decodes the multiplayer traffic of Star Trek: Bridge
// Commander.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/inconshreveable/mousetrap"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/launch"
)

func main() {
	if status, ok := launch.Supervise(); ok {
		os.Exit(status)
	}
	collectLater()
	// Without this, cobra would say after a double click that this is a command
	// line tool, and wait. The page for players opens instead.
	cobra.MousetrapHelpText = "" //nolint:reassign // cobra has no other way to say it
	shown, restore := cli.OpenDisplay(os.Stdout, os.Stderr)
	args, explorer := os.Args[1:], mousetrap.StartedByExplorer()
	home := (explorer || cli.OwnConsole() && cli.IsTerminal(os.Stdin)) && onlyFiles(args)
	if home {
		args = append([]string{"home"}, args...)
	}
	code := run(args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Display: shown, Abort: abort, Process: true})
	restore()
	if explorer && !home || home && code != cli.ExitOK { // the window would close before the user could read anything
		awaitKey()
	}
	os.Exit(code)
}

// onlyFiles reports whether all arguments are names of existing files. That is so
// after a double click, which has no arguments, and after captures are dropped on
// the program. Dropped folders count, since home says what to do with them, but
// not folders that have the name of a command.
func onlyFiles(args []string) bool {
	return !slices.ContainsFunc(args, func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || info.IsDir() && !filepath.IsAbs(name)
	})
}

// collectLater lets the heap grow to 12 MB instead of 4 MB before the first
// garbage collection, unless the user has set GOGC. Most commands then end
// without a collection and save two milliseconds. Later collections are not
// affected, and neither are commands that choose a percentage themselves.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	const first = 300
	usual := debug.SetGCPercent(first)
	marker := new([64]byte) // unreachable, so the first collection runs its cleanup
	runtime.AddCleanup(marker, func(percent int) {
		if chosen := debug.SetGCPercent(percent); chosen != first {
			debug.SetGCPercent(chosen)
		}
	}, usual)
}

// abort ends the program at once, with the exit status of an interrupt.
func abort() { os.Exit(cli.ExitAborted) }

// awaitKey keeps the window open until the user presses a key.
func awaitKey() {
	key := "Enter"
	stdin := int(os.Stdin.Fd())
	if before, err := term.MakeRaw(stdin); err == nil {
		defer func() { _ = term.Restore(stdin, before) }() // the window closes anyway
		key = "any key"
	}
	fmt.Fprintf(os.Stderr, "\nPress %s to close this window.", key)
	_, _ = os.Stdin.Read(make([]byte, 1)) // an error ends the wait as well
}
