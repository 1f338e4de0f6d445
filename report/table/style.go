package table

import (
	"strings"

	"github.com/fatih/color"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A style is how a piece of text looks.
type style uint8

const (
	normal  style = iota
	faint         // unimportant parts: acknowledgements, duplicates, labels
	red           // malformed
	yellow        // partly decoded messages, and notes
	green         // people join and talk, the game begins and ends
	cyan          // weapons
	magenta       // damage, death, and people leaving
	blue          // objects and the file check
	styleCount
)

// topics are the styles of the names of messages, by topic. Flight has no
// style, since nine in ten messages of a game are StateUpdate.
var topics = [decode.Topics]style{
	decode.TopicJoining: green, decode.TopicTalk: green, decode.TopicMatch: green,
	decode.TopicWeapons: cyan,
	decode.TopicDamage:  magenta, decode.TopicLeaving: magenta,
	decode.TopicObjects: blue, decode.TopicFiles: blue,
}

// topic returns the style of the topic with the given name.
func topic(name string) style {
	for t, look := range topics {
		if decode.Topic(t).String() == name {
			return look
		}
	}
	return normal
}

// styles returns the style of the line of r and the style of the message name
// in it.
func styles(r *dissect.Record) (line, name style) {
	switch {
	case r.Kind == dissect.KindGameSpy:
		return faint, faint
	case r.Kind == dissect.KindMalformed && !r.Cut:
		return normal, red
	case r.Kind == dissect.KindMalformed, r.Kind == dissect.KindEvicted:
		return normal, yellow
	case r.Status == dissect.StatusDuplicate, r.Status == dissect.StatusPending:
		return faint, faint
	case r.Status == dissect.StatusMalformed:
		return normal, red
	case r.Status == dissect.StatusUnknown:
		return normal, yellow
	}
	if _, ok := r.Opcode(); ok {
		if r.Spec == nil {
			return normal, normal
		}
		return normal, topics[r.Spec.Topic]
	}
	switch r.Transport.Type {
	case transport.Acknowledge, transport.DoNothing:
		return faint, faint
	case transport.Connect, transport.NameChange:
		return normal, green
	case transport.BootPlayer, transport.Disconnect, transport.Leave:
		return normal, magenta
	case transport.Standard:
	}
	return normal, normal
}

// A theme has the escape sequences that begin and end each style. Without
// colour they are empty.
type theme [styleCount]struct{ on, off string }

// newTheme returns a theme with or without colour. The creator of a sink
// decides, since the library that makes the sequences checks only standard
// output.
func newTheme(colors bool) *theme {
	t := new(theme)
	if !colors {
		return t
	}
	for s, c := range [styleCount]*color.Color{
		faint: color.New(color.Faint), red: color.New(color.FgRed, color.Bold), yellow: color.New(color.FgYellow),
		green: color.New(color.FgGreen), cyan: color.New(color.FgCyan), magenta: color.New(color.FgMagenta), blue: color.New(color.FgBlue),
	} {
		if c != nil {
			c.EnableColor()
			t[s].on, t[s].off, _ = strings.Cut(c.Sprint("|"), "|")
		}
	}
	return t
}

// signs are the symbols that a line uses.
type signs struct {
	arrow            string
	both             string // like toHost, for both directions
	toHost, fromHost string // the player is before or after it
	more             string // marks text that was cut
}

var (
	unicodeSigns = signs{arrow: "→", both: " ↔ host", toHost: " → host", fromHost: "host → ", more: "…"}
	asciiSigns   = signs{arrow: "->", both: " <-> host", toHost: " -> host", fromHost: "host -> ", more: "..."}
)

// signsOf returns the symbols that the output can show.
func signsOf(o Options) signs {
	if o.ASCII {
		return asciiSigns
	}
	return unicodeSigns
}

// A text is bytes with styles.
type text struct {
	b    []byte
	runs []run // the runs before the one in the current style
	now  style
}

// A run is a part of a text in one style.
type run struct {
	end int
	s   style
}

func (t *text) reset(s style) { t.b, t.runs, t.now = t.b[:0], t.runs[:0], s }

// to sets the style of the text that is appended next.
func (t *text) to(s style) {
	if s != t.now {
		t.runs = append(t.runs, run{len(t.b), t.now})
		t.now = s
	}
}

// append appends the text with its styles.
func (t *text) append(dst []byte, th *theme) []byte {
	from := 0
	for _, r := range t.runs {
		dst = th.append(dst, t.b[from:r.end], r.s)
		from = r.end
	}
	return th.append(dst, t.b[from:], t.now)
}

// append appends b in a style.
func (th *theme) append(dst, b []byte, s style) []byte {
	if len(b) == 0 {
		return dst
	}
	dst = append(append(dst, th[s].on...), b...)
	return append(dst, th[s].off...)
}

// spaces has as many spaces as columns usually need.
const spaces = "                                                                                                "

// pad appends n spaces.
func pad(dst []byte, n int) []byte {
	for ; n > len(spaces); n -= len(spaces) {
		dst = append(dst, spaces...)
	}
	if n > 0 {
		dst = append(dst, spaces[:n]...)
	}
	return dst
}

// cut shortens the text to a width. If it was too long, the last column shows
// more.
func (t *text) cut(w *widths, width int, more string) {
	n, cut := w.cut(t.b, width, more)
	if !cut {
		return
	}
	t.b = t.b[:n]
	for len(t.runs) > 0 && t.runs[len(t.runs)-1].end >= n {
		t.now = t.runs[len(t.runs)-1].s
		t.runs = t.runs[:len(t.runs)-1]
	}
	if width >= w.of([]byte(more)) {
		t.b = append(t.b, more...)
	}
}
