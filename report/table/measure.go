package table

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// Measure writes measured figures next to those of the original game, in a
// table for each group.
func Measure(w io.Writer, h *measure.Habits, o Options) error {
	p := newPage(o)
	all := h.Figures()
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Group == all[0].Group {
			n++
		}
		if p.b.Len() > 0 {
			p.printf("\n")
		}
		p.table(figureColumns(all[:n]))
		all = all[n:]
	}
	switch {
	case p.b.Len() == 0:
		p.printf("Nothing was measured: there are no messages of the game.\n")
	case h.Missing > 0:
		p.printf("%s\n", p.paint(fmt.Sprintf("\nthe capture lacks %s, the first before #%d: times may be too long, and copies too few",
			appendCount(nil, int(h.Missing), "numbered message"), h.Hole), yellow))
	}
	if h.GivenUp > 0 {
		p.printf("%s\n", p.paint(fmt.Sprintf("\nlimits were reached %s; the figures do not include the excess", plural.Count(h.GivenUp, "time")), yellow))
	}
	return p.flush(w)
}

func figureColumns(all []measure.Figure) []column {
	out := []column{
		{head: all[0].Group, text: true, least: 14},
		{head: "n"},
		{head: "measured", text: true, least: 16},
		{head: "stock game", text: true, least: 14},
		{head: "frames", text: true, least: 8, drop: 1},
	}
	for i := range all {
		f := &all[i]
		known := f.Known
		if f.Source != "" {
			known += " [" + f.Source + "]"
		}
		addRow(out, f.Name.String(), count(f.N), figureText(f), known, frameList(f.Frames))
	}
	return out
}

// figureText returns the text for a figure.
func figureText(f *measure.Figure) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	switch f.Unit {
	case "ms":
		return fmt.Sprintf("%s ms (%s to %s)", number(f.Median), number(f.Min), number(f.Max))
	case "copies":
		return fmt.Sprintf("%s each: %s", strconv.FormatFloat(f.Median, 'f', 2, 64), f.Values)
	case "bytes":
		return fmt.Sprintf("%.0f bytes", f.Max)
	case "messages":
		return fmt.Sprintf("median %.0f, at most %.0f; %s", f.Median, f.Max, f.Values)
	}
	return f.Values
}

func frameList(frames []int) string {
	var all []string
	for _, n := range frames {
		all = append(all, "#"+strconv.Itoa(n))
	}
	return strings.Join(all, ", ")
}
