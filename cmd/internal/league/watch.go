package league

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// every is how often a folder is looked at.
const every = 2 * time.Second

// still is for how long a recording must not have grown before --watch reads it:
// reading a match that goes on would be in vain.
const still = 10 * time.Second

// Pauses before --watch tries to post again what was not posted.
const (
	shortPause = time.Minute
	longPause  = time.Hour
)

// A follower knows when the site is due.
type follower struct {
	*run

	seen   string        // the folder's state at the last time
	failed string        // the last error, which isn't said again
	pause  time.Duration // before posting again; 0 if everything was posted
	due    time.Time     // for posting again
}

// follow makes the site anew whenever the folder changed.
func (r *run) follow() error {
	interrupts := cli.NewInterrupts(r.s, 0, false)
	defer interrupts.Close()
	f := &follower{run: r}
	for {
		if err := f.look(time.Now(), interrupts.Stopped); err != nil {
			return err
		}
		select {
		case <-interrupts.Stopped:
			return nil
		case <-time.After(every):
		}
	}
}

// look makes the site if the folder changed, or if it's time to post again. It returns an
// error of the rules or of the command line when it looks for the first time, and one of
// the folder at any time.
func (f *follower) look(now time.Time, stopped <-chan struct{}) error {
	state, err := f.state()
	again := f.pause > 0 && !now.Before(f.due)
	if err != nil || f.quiet && state == f.seen && !again {
		return err
	}
	err = f.once(stopped)
	if !f.quiet && err != nil && !errors.As(err, new(*cli.StatusError)) {
		return err
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != "" && (said != f.failed || state != f.seen) {
		cli.Say(f.s.Err, "%s", said)
	}
	if f.pause = min(max(2*f.pause, shortPause), longPause); !errors.Is(err, errNotPosted) {
		f.pause = 0
	}
	f.seen, f.failed, f.quiet, f.due = state, said, true, now.Add(f.pause)
	return nil
}

// state returns a text that changes with the recordings and the rules.
func (r *run) state() (text string, err error) {
	names, infos, err := recordings(r.dir, filepath.Clean(r.out))
	for i, name := range names {
		if !r.grows(infos[i]) {
			text += fmt.Sprintln(name, infos[i].Size(), packet.Nanos(infos[i].ModTime()))
		}
	}
	if b, err := cli.ReadDefinitions(r.rulesFile()); err == nil {
		text += string(b)
	}
	return text, cli.Failed(err)
}
