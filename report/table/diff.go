package table

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
	"github.com/bcdissect/bcdissect/report"
)

// Diff writes the comparison of two captures with the given names: a table of
// the conversations, the findings by kind, and the verdict. If c is nil, Diff
// uses the catalogue of the original game.
func Diff(w io.Writer, r *diff.Report, names [2]string, c *decode.Catalog, o Options) error {
	if c == nil {
		c = msg.Catalog()
	}
	d := diffPage{page: newPage(o), r: r, catalog: c}
	d.values.More = d.more
	d.head(names)
	if d.strange = r.Strange(); d.strange {
		d.line(yellow, "The files have hardly anything in common: are they of the same session?")
	}
	d.conversations()
	for k := diff.Kind(0); k < diff.Kinds; k++ {
		d.findings(k)
	}
	d.verdict()
	return d.flush(w)
}

type diffPage struct {
	page

	r       *diff.Report
	catalog *decode.Catalog
	values  display.Presenter
	strange bool
}

// line writes a line that is cut at the terminal's width.
func (d *diffPage) line(look style, format string, args ...any) {
	text := fmt.Appendf(nil, format, args...)
	if d.o.Width > 0 {
		text = d.widths.fit(text, 0, d.o.Width, d.more, false)
		text = bytes.TrimRight(text, " ")
	}
	d.b.Write(d.theme.append(nil, text, look))
	d.b.WriteByte('\n')
}

func (d *diffPage) head(names [2]string) {
	for i, c := range []*diff.Capture{d.r.A, d.r.B} {
		d.line(normal, "%c  %s: %s, %s, %s", 'A'+i, report.Escape(filepath.Base(names[i])),
			plural.Count(c.Messages, "message"), plural.Count(c.Repeats, "retransmission"), plural.Count(c.Acks, "acknowledgement"))
		if c.Left > 0 {
			d.line(yellow, plural.Form(c.Left, "   %d {message is|messages are} not shown: there are too many; select fewer with --player, --from and --to"), c.Left)
		}
	}
	if d.r.Skipped > 0 {
		d.line(yellow, plural.Form(d.r.Skipped, "%d {message was|messages were} not compared: one of the files is a log without such messages"), d.r.Skipped)
	}
	if d.r.Cut > 0 {
		d.line(yellow, plural.Form(d.r.Cut, "%d {message was|messages were} not compared: a file holds only a part of {its datagram|their datagrams}"), d.r.Cut)
	}
	if d.r.A.Lengths {
		d.line(normal, "names, chat and other text are compared only by length: anonymised")
	}
	if d.r.Renamed > 0 {
		d.line(normal, plural.Form(d.r.Renamed, "%d {id or address has another value|ids and addresses have other values} in B"), d.r.Renamed)
	}
}

// name names a conversation.
func (d *diffPage) name(p *diff.Pair) string {
	end, only := p.A, ""
	switch {
	case p.A == nil:
		end, only = p.B, ", only in B"
	case p.B == nil:
		only = ", only in A"
	}
	name := end.Name.String()
	switch {
	case end.GameSpy:
		name = "GameSpy " + address(end.Client)
	case name == "":
		name = address(end.Client)
	}
	return name + only
}

func address(a netip.AddrPort) string {
	if !a.IsValid() {
		return "unknown address"
	}
	return a.String()
}

func (d *diffPage) conversations() {
	heads := []string{"conversation", "", "equal", "only A", "only B", "differ", "order", "B - A s", "off ms", "most ms"}
	all := columnsOf(heads, nil, 2)
	all[0].least, all[7].drop, all[8].drop, all[9].drop = 8, 1, 3, 2
	const most = 4   // conversations of only one file that are listed
	var alone [2]int // further ones
	var messages [2]int
	listed, asked := 0, 0
	for _, p := range d.r.Pairs {
		if p.A == nil || p.B == nil {
			if listed++; listed > most {
				i, end := 0, p.A
				if end == nil {
					i, end = 1, p.B
				}
				alone[i]++
				messages[i] += end.Messages
				continue
			}
		}
		if p.A != nil && p.A.GameSpy && p.Equal() {
			asked++
			continue
		}
		for k := range p.Ways {
			w := &p.Ways[k]
			name := ""
			if k == 0 {
				name = d.name(p)
			}
			cells := []string{name, report.Way(w.Dir, "", d.o.ASCII), count(int64(w.Equal))}
			for _, n := range []int{w.OnlyA, w.OnlyB, w.Differ, w.Reorder} {
				cells = append(cells, count(int64(n)))
			}
			if w.Timed > 0 {
				cells = append(cells, strconv.FormatFloat(w.Offset.Seconds(), 'f', 3, 64), inMillis(w.Off, true), inMillis(w.Most, true))
			} else {
				cells = append(cells, "", "", "")
			}
			addRow(all, cells...)
		}
	}
	if len(all[0].cells) > 0 {
		d.b.WriteByte('\n')
		d.table(all)
	}
	for i, n := range alone {
		if n > 0 {
			d.line(normal, " and %s only in %c, of %s", plural.Count(n, "conversation"), 'A'+i, plural.Count(messages[i], "message"))
		}
	}
	if asked > 0 {
		d.line(normal, " %s of GameSpy equal", plural.Count(asked, "conversation"))
	}
}

// diffHeads are the headings of the kinds of findings.
var diffHeads = [diff.Kinds]string{
	"Only in A", "Only in B", "Different", "In another order", "At another time",
}

func (d *diffPage) findings(k diff.Kind) {
	n := d.r.Count(k)
	if n == 0 {
		return
	}
	d.b.WriteByte('\n')
	d.line(red, "%s: %d", diffHeads[k], n)
	shown := 0
	for _, f := range d.r.Findings {
		const few = 3
		if f.Kind != k || d.strange && shown == few {
			continue
		}
		shown++
		n--
		d.finding(f)
	}
	if alone := d.r.Alone[k]; alone > 0 {
		d.line(normal, plural.Form(alone, "  %d {message|messages} of conversations that the other file lacks"), alone)
		n -= alone
	}
	if n > 0 {
		d.line(normal, "  and %d more", n)
	}
}

func (d *diffPage) finding(f *diff.Finding) {
	var frames []string
	var rec *dissect.Record
	for i, p := range []*diff.Place{f.A, f.B} {
		if p != nil {
			frames = append(frames, fmt.Sprintf("%c #%d", 'A'+i, p.Frame))
			if rec == nil {
				rec = p.Record
			}
		}
	}
	text := report.Way(f.Dir, d.name(f.Pair), d.o.ASCII) + "  " + f.Name(d.catalog)
	if rec != nil && f.Kind != diff.Differs {
		text = d.lineOf(rec)
	}
	if f.Kind == diff.Timing {
		text = fmt.Sprintf("%+.1f ms  %s", float64(f.Late)/float64(time.Millisecond), text)
	}
	d.line(normal, "  %-14s %s", strings.Join(frames, ", "), text)
	if f.Flags != "" {
		d.line(normal, "      header: %s", f.Flags)
	}
	for i := range f.Fields {
		v := &f.Fields[i]
		a, b := v.Text[0].String(), v.Text[1].String()
		if v.A != nil || v.B != nil {
			a, b = d.value(f.A.Record, v.A), d.value(f.B.Record, v.B)
		}
		d.line(normal, "      %s: %s in A, %s in B", v.Path, cmp.Or(a, "empty"), cmp.Or(b, "empty"))
	}
}

// value returns the value of a field of a record.
func (d *diffPage) value(r *dissect.Record, f *decode.Field) string {
	if f == nil {
		return "nothing"
	}
	return string(d.values.AppendText(nil, f, r))
}

// lineOf returns the line of a record, without time and addresses.
func (d *diffPage) lineOf(r *dissect.Record) string {
	var b bytes.Buffer
	s := New(&b, Options{ASCII: d.o.ASCII, NoCapture: true})
	if s.Record(r) != nil || s.Close() != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (d *diffPage) verdict() {
	d.b.WriteByte('\n')
	switch {
	case d.r.Equal() && d.r.Skipped+d.r.Cut > 0:
		d.line(green, "equal as far as compared")
	case d.r.Equal():
		d.line(green, "equal")
	case d.r.Found == 0:
		d.line(yellow, "no difference in the messages that were compared")
	default:
		d.line(red, "%s", plural.Count(d.r.Found, "difference"))
	}
}
