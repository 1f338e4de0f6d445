package league

import (
	"errors"
	"fmt"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// every is how often a folder is looked at.
const every = 2 * time.Second

// still is for how long a recording must not have grown before --watch reads it:
// reading a match that goes on would be in vain.
const still = 10 * time.Second

// follow makes the site anew whenever the folder changed.
func (r *run) follow() error {
	interrupts := cli.NewInterrupts(r.s, 0, false)
	defer interrupts.Close()
	seen, first := "", true
	for {
		now, err := r.state()
		if err != nil {
			return err
		}
		if first || now != seen {
			switch err := r.once(interrupts.Stopped); {
			case err == nil:
			case first && !errors.As(err, new(*cli.StatusError)):
				return err // of the rules, or of the command line
			default:
				cli.Say(r.s.Err, "%v", err)
			}
			seen, first, r.quiet = now, false, true
		}
		select {
		case <-interrupts.Stopped:
			return nil
		case <-time.After(every):
		}
	}
}

// state returns a text that changes with the recordings and the rules.
func (r *run) state() (text string, err error) {
	names, infos, err := r.recordings()
	for i, name := range names {
		text += fmt.Sprintln(name, infos[i].Size(), packet.Nanos(infos[i].ModTime()))
	}
	if b, err := cli.ReadDefinitions(r.rulesFile()); err == nil {
		text += string(b)
	}
	return text, err
}
