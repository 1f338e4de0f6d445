package dashboard

import "github.com/bcdissect/bcdissect/report/internal/canvas"

type style = canvas.Style

// The styles.
const (
	plain  = canvas.Plain
	faint  = canvas.Faint
	good   = canvas.Good
	warn   = canvas.Warn
	bad    = canvas.Bad
	accent = canvas.Accent
)

// look has the colours and symbols of the screen.
type look struct {
	bars   []rune // bars of sparklines, from the lowest to the highest
	sorted string // marks the column that rows are sorted by
	out    string // before numbers of the traffic to the player
	none   string
	seek   string // name of the keys that move in a recording
}

func newLook(o Options) look {
	l := look{bars: []rune(" ▁▂▃▄▅▆▇█"), sorted: "▾", out: "↓", none: "–", seek: "←→"}
	if o.ASCII {
		l.bars, l.sorted, l.out, l.none, l.seek = []rune(" .,:-=+*#"), "*", "<", "-", "< >"
	}
	return l
}
