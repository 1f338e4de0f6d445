// Command bcdissect decodes the multiplayer traffic of Star Trek: Bridge
// Commander.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/inconshreveable/mousetrap"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

func main() {
	collectLater()
	// Started by a double click, cobra would say that this is a command line
	// tool and wait; the page for players has to open instead.
	cobra.MousetrapHelpText = "" //nolint:reassign // cobra has no other way to say it
	shown, restore := cli.OpenDisplay(os.Stdout, os.Stderr)
	args, explorer := os.Args[1:], mousetrap.StartedByExplorer()
	home := (explorer || cli.OwnConsole() && cli.IsTerminal(os.Stdin)) && onlyFiles(args)
	if home {
		args = append([]string{"home"}, args...)
	}
	code := run(args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Display: shown, Abort: abort, Process: true})
	restore()
	if explorer && !home || home && code != cli.ExitOK { // the window would close before anything could be read
		awaitKey()
	}
	os.Exit(code)
}

// onlyFiles reports whether arguments are those of a double click, which has none, or
// of captures dropped on the program.
func onlyFiles(args []string) bool {
	return !slices.ContainsFunc(args, func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || info.IsDir()
	})
}

// collectLater lets the heap grow to 12 MB instead of 4 before the first garbage
// collection, unless the user has set GOGC. Most commands then end without one,
// and save the two milliseconds that it takes. Later ones are as usual.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(300)
	marker := new([64]byte) // it is not used: the first collection finds it
	runtime.AddCleanup(marker, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// abort ends the program at once, as an interrupt does.
func abort() { os.Exit(cli.ExitAborted) }

// awaitKey keeps the window open until a key is pressed.
func awaitKey() {
	key := "Enter"
	stdin := int(os.Stdin.Fd())
	if before, err := term.MakeRaw(stdin); err == nil {
		defer func() { _ = term.Restore(stdin, before) }() // the window closes anyway
		key = "any key"
	}
	fmt.Fprintf(os.Stderr, "\nPress %s to close this window.", key)
	_, _ = os.Stdin.Read(make([]byte, 1)) // whatever ends the wait
}
