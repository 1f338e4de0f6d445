package table

import (
	"io"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// Stats writes counts as tables: one of opcodes, and one of the dirty flags of
// ship updates in each direction.
func Stats(w io.Writer, t *measure.Tally, o Options) error {
	p := newPage(o)
	p.b.Write(append(report.AppendSummary(nil, t), '\n'))
	rows := [][]string{}
	for _, c := range t.ByCount() {
		name, look := c.Name, topics[c.Topic]
		if name == "" {
			name, look = "unknown", yellow
		}
		rows = append(rows, []string{
			c.Opcode.String(), p.paint(name, look), count(c.ToHost), count(c.FromHost), count(c.Total), count(c.Bytes), percent(t.Share(c.Total)),
		})
	}
	p.grid([]string{"opcode", "name", report.Way(dissect.ToHost, "", o.ASCII), report.Way(dissect.FromHost, "", o.ASCII), "total", "bytes", "share"}, rows, 2)
	for _, dir := range []dissect.Dir{dissect.ToHost, dissect.FromHost} {
		f := &t.Flags[dir]
		total := f.Total()
		if total == 0 {
			continue
		}
		rows := [][]string{}
		for _, c := range f.ByCount() {
			rows = append(rows, []string{
				string(display.AppendHex(nil, uint64(c.Flags), 2)), string(measure.AppendFlagNames(nil, c.Flags)),
				count(c.Count), percent(float64(c.Count) / float64(total)),
			})
		}
		p.printf("\n")
		p.grid([]string{"flags", "ship updates, " + report.Way(dir, "client", o.ASCII), "total", "share"}, rows, 2)
	}
	return p.flush(w)
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

func percent(share float64) string { return string(report.AppendPercent(nil, share)) }
