package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/bcdissect/bcdissect/decode/plural"
)

// A Progress line is drawn on a terminal ten times a second. It appears once
// the work has taken a while, and is removed at the end.
type Progress struct {
	w     io.Writer
	began time.Time
	drawn time.Time
	on    bool // standard error is a terminal
	shown bool
}

const (
	progressDelay = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// NewProgress returns the progress line of a command. If off is set, nothing is
// drawn: a report that goes to the terminal line by line would mix with it.
func NewProgress(s Streams, off bool) *Progress {
	p := &Progress{w: s.Err, began: time.Now()}
	p.on = !off && !s.NoANSI && IsTerminal(s.Err)
	return p
}

// Update draws the line if enough time has passed since the last time.
func (p *Progress) Update(read, size int64, frames int) {
	if !p.on {
		return
	}
	now := time.Now()
	if now.Sub(p.began) < progressDelay || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	if size > 0 {
		p.Show(fmt.Sprintf(plural.Form(frames, "%3d %%  %d {frame|frames}"), min(100, read*100/size), frames))
		return
	}
	p.Show(fmt.Sprintf(plural.Form(frames, "%.1f MB  %d {frame|frames}"), float64(read)/1e6, frames))
}

// Show draws a line without waiting.
func (p *Progress) Show(text string) {
	if p.on {
		p.shown = true
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	}
}

// Done removes the line.
func (p *Progress) Done() {
	if p.shown {
		fmt.Fprintf(p.w, "\r\x1b[K")
		p.shown = false
	}
}
