package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// Handshake draws the join of each client as a ladder, with the client on the
// left, the host on the right and a line for each message.
func Handshake(w io.Writer, joins []*measure.Join, o Options) error {
	t := replayTables{page: newPage(o)}
	for i, j := range joins {
		if i > 0 {
			t.printf("\n")
		}
		t.join(j)
	}
	return t.flush(w)
}

func (t *replayTables) join(j *measure.Join) {
	const wide = 42
	left, right, line := "<", ">", "-"
	if !t.o.ASCII {
		left, right, line = "◄", "►", "─"
	}
	name := j.Name.String()
	if name == "" {
		name = "a client without a name"
	}
	t.printf("%s, %v, joins %v\n", name, j.Client, j.Host)
	for i := range j.Steps {
		s := &j.Steps[i]
		if j.Left > 0 && i == len(j.Steps)-1 {
			t.printf("%s\n", t.paint(plural.Count(j.Left, "step")+" not shown here: there are too many", yellow))
		}
		text := report.Escape(s.Text)
		if s.Repeats > 0 {
			text += fmt.Sprintf(" (sent %d times)", s.Repeats+1)
		}
		dashes := strings.Repeat(line, max(wide-len([]rune(text)), 3))
		arrow := text + " " + dashes + right
		if s.FromHost {
			arrow = left + dashes + " " + text
		}
		t.printf("%8.3f s  frame %-7d %s\n", j.After(s).Seconds(), s.Frame, arrow)
	}
	if j.InGame {
		t.printf("%s\n", t.paint(fmt.Sprintf("in the game after %.3f s", j.Took().Seconds()), green))
		return
	}
	last := &j.Steps[len(j.Steps)-1]
	t.printf("%s\n", t.paint(fmt.Sprintf("stopped after %.3f s, frame %d: %s", j.Took().Seconds(), last.Frame, report.Escape(j.Stopped)), red))
}
