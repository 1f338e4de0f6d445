package watch

import (
	"errors"
	"fmt"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/browser"
)

// Browse shows the messages of captures in the browser until the user quits.
// Command returns a command that decodes a message.
func Browse(f *cli.Common, s cli.Streams, names []string, command func(*dissect.Record) string) error {
	keys, out, done, err := screen("browse", s, names)
	if err != nil {
		return err
	}
	defer done()
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	expr := f.TakeFilter()
	if _, err := f.Config(); err != nil {
		return err
	}
	f.NoProgress = true
	tape, err := reading.OpenTape(f, s, names)
	if err != nil {
		return err
	}
	defer tape.Close()
	// An input that is no capture is an error of the command line.
	some := false
	if err := tape.Scan(0, func(*dissect.Record) bool { some = true; return false }); err != nil && !some && !isVerdict(err) {
		return err
	}
	b := browser.New(browser.Options{
		Title: title(names), Color: (&cli.Output{Terminal: true}).Colored(f.Color.Value), ASCII: s.ASCII, Filter: expr,
		Scan: tape.Scan, Start: tape.Start, Compile: compiler(f, cfg, tape.Start), Complete: f.Continuations, Command: command,
		Copy: copier(),
	})
	unwatch := onHangup(b.Stop)
	defer unwatch()
	err = b.Run(keys, out)
	fmt.Fprintf(s.Err, "%s", tape.Said())
	if status := (*cli.StatusError)(nil); errors.As(err, &status) {
		return err
	}
	return cli.Failed(err)
}
