package server

import (
	"fmt"
	"io"
	"os"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report"
)

// A Console is standard error with a line at its end that tells how things
// stand, if it is a terminal.
type Console struct {
	w     io.Writer
	on    bool
	shown string
}

// NewConsole returns a console on a stream; off leaves out the line at its end.
func NewConsole(w io.Writer, off bool) *Console {
	return &Console{w: w, on: !off && cli.IsTerminal(w) && os.Getenv("TERM") != "dumb"}
}

// say writes a line above the status.
func (c *Console) say(text string) {
	shown := c.shown
	c.clear()
	fmt.Fprintf(c.w, "bcdissect: %s\n", cli.OneLine(report.Escape(text)))
	c.status(shown)
}

// status shows the line at the end.
func (c *Console) status(text string) {
	if c.on && text != "" {
		fmt.Fprintf(c.w, "\r\x1b[K%s", text)
		c.shown = text
	}
}

// clear takes the line away.
func (c *Console) clear() {
	if c.shown != "" {
		fmt.Fprintf(c.w, "\r\x1b[K")
		c.shown = ""
	}
}
