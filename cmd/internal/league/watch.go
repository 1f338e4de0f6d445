package league

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// every is the interval at which a folder is checked.
const every = 2 * time.Second

// still is the time that a recording must not have grown before --watch reads
// it. Reading a match that is still being played would be useless.
const still = 10 * time.Second

// Pauses before --watch tries again to post.
const (
	shortPause = time.Minute
	longPause  = time.Hour
)

// A follower decides when to make the site again.
type follower struct {
	*run

	seen   string        // state of the folder at the last check
	failed string        // last error, which is not reported again
	pause  time.Duration // pause before posting again, 0 if everything was posted
	due    time.Time     // time to post again
}

// follow makes the site whenever the folder has changed.
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

// look makes the site if the folder has changed or if it is time to post again.
// On the first call it returns errors of the rules and of the command line. On
// every call it returns errors of the folder.
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

// state returns a text that changes when the recordings or the rules change.
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
