package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// A Console is an engine with the commands that the plugin gives it.
type Console struct {
	engine *Engine
	chosen []int
	choice *wireshark.Choice // of chosen
	none   *wireshark.Choice
}

// NewConsole returns a console.
func NewConsole() *Console {
	c := &Console{engine: New(dissect.Config{})}
	c.reset()
	return c
}

// reset begins a new capture.
func (c *Console) reset() {
	c.engine.Reset()
	c.none, c.choice = c.engine.Choose(nil), c.engine.Choose(c.chosen)
}

// Command runs a command and returns its answer, or a text about its mistake, which
// begins with "error: ".
//
//	sum           the checksum of the table of fields
//	reset         begins a new capture
//	choose ID...  the fields that a datagram with chosen fields shows
func (c *Console) Command(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "sum":
		return strconv.FormatUint(uint64(wireshark.Sum()), 10)
	case "reset":
		c.reset()
	case "choose":
		c.chosen = c.chosen[:0]
		for word := range strings.FieldsSeq(rest) {
			id, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Sprintf("error: choose: %q is not a number", word)
			}
			c.chosen = append(c.chosen, id)
		}
		c.choice = c.engine.Choose(c.chosen)
	default:
		return fmt.Sprintf("error: no command %q", verb)
	}
	return ""
}

// Names returns the names of addresses that are new since the last call.
func (c *Console) Names() []wireshark.Name { return c.engine.Names() }

// Datagram returns the trailer of a datagram, empty if it is not the game's, with
// all fields, the chosen ones, or none; that of an annotated frame, always with all,
// is in the frame itself. addresses is set if the frame lacks them.
func (c *Console) Datagram(f *Frame, again, all, chosen bool) (trailer []byte, addresses bool) {
	if trailer = wireshark.Trailer(f.Data, f.At); trailer != nil {
		return trailer, false
	}
	d, ok := f.Datagram()
	if !ok {
		return nil, f.Src == ""
	}
	if f.Quoted() {
		return nil, false
	}
	choice := c.none
	switch {
	case all:
		choice = nil
	case chosen:
		choice = c.choice
	}
	return c.engine.Datagram(&d, again, choice), false
}
