package reference

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
)

// Markdown writes the page docs/opcodes.md: a table of all messages, then a
// section for each with its fields and, where samples has one, a message taken
// to pieces.
func Markdown(w io.Writer, c *decode.Catalog, samples []*Sample) error {
	p := &page{seen: map[string]string{}}
	p.intro()
	entries := Entries(c)
	p.contents(entries)
	for i := range entries {
		p.section(c.Lookup(decode.Opcode(entries[i].Opcode)), &entries[i], samples)
	}
	p.kinds()
	_, err := w.Write(p.Bytes())
	return err
}

type page struct {
	bytes.Buffer
	seen map[string]string // where the fields of a layout stand, by the fields
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.Buffer, format, args...) }

// row writes a row of a table.
func (p *page) row(cells ...string) {
	for _, c := range cells {
		c = strings.ReplaceAll(c, "|", `\|`)
		if c != "" {
			c += " "
		}
		p.printf("| %s", c)
	}
	p.printf("|\n")
}

func (p *page) head(titles ...string) {
	p.row(titles...)
	p.printf("%s|\n", strings.Repeat("|---", len(titles)))
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func (p *page) intro() {
	p.printf(`# Game messages

<!-- Generated from the program's description of the messages; "make golden" writes it anew. -->

Every message of the game is the payload of a transport message; its first byte is the opcode. Numbers are
little-endian and nothing is aligned. Filters and %s take the name, the game's constant (which
ends in _MESSAGE in the game) and the names of other documents alike.

* **Direction**: C>S from a client to the host, S>C from the host to clients.
* **Relay**: the host's rule for the message of a client.
`, code("bcdissect opcodes"))
	for _, list := range []struct {
		head string
		all  []meaning
	}{
		{"", relayMeanings},
		{"* **Of its own accord**: why hosts send it, other than as a copy of a client's message or as the answer to one.\n", madeMeanings},
		{"* **Step of a join**: the part of a client's join that it belongs to.\n", stepMeanings},
		{"* **Evidence**: the certainty of the layout.\n", evidenceMeanings},
	} {
		p.printf("%s", list.head)
		for _, m := range list.all {
			p.printf("  * %s: %s.\n", code(m.word), m.meaning)
		}
	}
	p.printf("* **Length**: in bytes, with the opcode.\n\n")
}

func (p *page) contents(entries []Entry) {
	p.head("Opcode", "Name", "Direction", "Relay", "Evidence", "Length", "Meaning")
	for i := range entries {
		e := &entries[i]
		length := "?"
		if len(e.Layouts) > 0 {
			length = e.Layouts[0].Length
		}
		p.row(opcode(e), "["+e.Name+"](#"+anchor(e)+")", direction(e), e.Relay, e.Evidence, length, e.Doc)
	}
}

func opcode(e *Entry) string {
	s := decode.Opcode(e.Opcode).String()
	if e.Rest {
		s += " and up"
	}
	return s
}

func title(e *Entry) string { return opcode(e) + " " + e.Name }

// anchor returns GitHub's anchor for the heading of an entry.
func anchor(e *Entry) string { return strings.ReplaceAll(strings.ToLower(title(e)), " ", "-") }

func direction(e *Entry) string {
	for d, name := range dirs {
		if name == e.Dir {
			return d.String()
		}
	}
	return e.Dir
}

func (p *page) section(s *decode.Spec, e *Entry, samples []*Sample) {
	p.printf("\n## %s\n\n%s\n\n", title(e), e.Doc)
	if e.Constant != "" {
		p.printf("* Constant: %s\n", code(e.Constant))
	}
	if len(e.Aliases) > 0 {
		var all []string
		for _, a := range e.Aliases {
			all = append(all, code(a))
		}
		p.printf("* Also called: %s\n", strings.Join(all, ", "))
	}
	p.printf("* Direction: %s", direction(e))
	if !e.Reliable && len(e.Layouts) > 0 {
		p.printf(", unreliable")
	}
	p.printf("\n* Relay: %s\n", e.Relay)
	for _, d := range e.Others {
		p.printf("* Relay by %s: %s. Its host %s\n", d.Dialect, d.Relay, d.Text)
	}
	if e.Playable != "" {
		p.printf("* Relay by a playable host: %s %s\n", decode.RelayForward, PlayableMeaning(e.Playable))
	}
	if e.Made != "" {
		p.printf("* Of its own accord: %s\n", e.Made)
	}
	if e.Step != "" {
		p.printf("* Step of a join: %s\n", e.Step)
	}
	p.printf("* Evidence: %s\n* Topic: %s\n", e.Evidence, e.Topic)
	for _, f := range e.Host {
		p.printf("* `%s` follows %s\n", f.Field, f.From)
	}
	if e.Hosts != "" {
		p.printf("* Hosts that send it: %s\n", e.Hosts)
	}
	if len(e.Layouts) == 0 {
		p.printf("\nThe layout is not known.\n")
	}
	for i := range e.Layouts {
		p.layout(s, e, &e.Layouts[i], samples)
	}
}

func (p *page) layout(s *decode.Spec, e *Entry, l *Layout, samples []*Sample) {
	bytesOf := l.Length + " bytes"
	if l.Length == "1" {
		bytesOf = "1 byte"
	}
	if l.Doc == "" {
		p.printf("\n%s.", bytesOf)
	} else {
		p.printf("\n### Dialect %s\n\n%s %s.", l.Dialect, l.Doc, bytesOf)
	}
	key := fmt.Sprintf("%#v", l.Fields)
	switch where := p.seen[key]; {
	case len(l.Fields) == 0:
		p.printf(" No fields.\n")
	case where != "":
		p.printf(" The fields are those of %s.\n", where)
	default:
		p.seen[key] = fmt.Sprintf("[%s](#%s)", title(e), anchor(e))
		p.printf("\n\n")
		p.head("Field", "Kind", "Bytes", "If", "Meaning")
		for _, f := range l.Fields {
			p.row(code(f.Path), f.Kind, f.Bytes, strings.Join(f.When, " and "), f.Doc)
		}
	}
	if sample, rows := choose(s, l, samples); sample != nil && len(l.Fields) > 0 {
		p.sample(sample, rows)
	}
}

func (p *page) sample(s *Sample, rows []Row) {
	p.printf("\nExample: %s (%s).\n\n", s.Title, s.From)
	p.head("Offset", "Bytes", "Field", "Value")
	p.row("0", code(bytesText(s.Payload[:1])), "opcode", "")
	for _, r := range rows {
		at := ""
		if len(r.Bytes) > 0 {
			at = fmt.Sprint(r.Offset)
		}
		p.row(at, code(bytesText(r.Bytes)), code(r.Path), r.Value)
	}
}

// tooLong is how many rows a sample may have and still be shown.
const tooLong = 80

// choose returns the sample of a layout that shows most of its fields, and of
// those that show the same the shortest.
func choose(s *decode.Spec, l *Layout, samples []*Sample) (best *Sample, rows []Row) {
	most := 0
	for _, sample := range samples {
		op := decode.Opcode(sample.Payload[0])
		if op != s.Code && !s.CatchAll || op < s.Code || sample.Dialect.String() != l.Dialect {
			continue
		}
		r := Rows(s, sample)
		n := distinct(r)
		if len(r) > tooLong {
			continue
		}
		if n > most || best != nil && n == most && len(sample.Payload) < len(best.Payload) {
			best, rows, most = sample, r, n
		}
	}
	return best, rows
}

// distinct counts the fields of a layout that rows show.
func distinct(rows []Row) int {
	var seen []string
	for _, r := range rows {
		at := withoutIndexes(r.Path)
		if repeated(at) == 0 && !slices.Contains(seen, at) {
			seen = append(seen, at)
		}
	}
	return len(seen)
}

func withoutIndexes(at string) string {
	var b strings.Builder
	for _, r := range at {
		if r < '0' || r > '9' || !strings.HasSuffix(b.String(), "[") {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (p *page) kinds() {
	p.printf("\n## Kinds\n\nHow the less obvious kinds of fields are written:\n\n")
	p.head("Kind", "Bytes", "Meaning")
	for _, k := range legend {
		var names []string
		for _, kind := range k.kinds {
			names = append(names, kind.String())
		}
		_, size := k.kinds[0].Size()
		p.row(strings.Join(names, ", "), size, k.meaning)
	}
}

var legend = []struct {
	kinds   []decode.Kind
	meaning string
}{
	{[]decode.Kind{decode.KindBit}, "bits share bytes: bits 7 to 5 of a byte count the bits in it, 1 to 5; bits 4 to 0 are the bits, the first in bit 0. " +
		"The byte stands where its first bit does; other fields between bits do not end it, the fifth bit does"},
	{[]decode.Kind{decode.KindBool8}, "a whole byte, 0 or 1"},
	{[]decode.Kind{decode.KindEnum8}, "a number with names for its values"},
	{[]decode.Kind{decode.KindEnum32}, "a number with names for its values"},
	{[]decode.Kind{decode.KindObject}, "0 for none; slot n owns the 0x40000 ids from 0x3FFFFFFF + n * 0x40000 on, a ship's subsystems follow the ship"},
	{[]decode.Kind{decode.KindCF16}, "a float on a logarithmic scale: bit 15 is the sign; bits 14 to 12 choose one of eight ranges, 0 to 0.001, then a decade each up to 10000; " +
		"bits 11 to 0 divide the range into 4095 steps"},
	{[]decode.Kind{decode.KindRatio8}, "a share of a whole, 255 for all of it"},
	{[]decode.Kind{decode.KindRatios}, "several of these"},
	{[]decode.Kind{decode.KindPercent8}, "per cent with a sign, negative if switched off"},
	{[]decode.Kind{decode.KindPower8}, "204 is 100 per cent"},
	{[]decode.Kind{decode.KindDir3}, "a direction: three signed bytes, 127 for 1"},
	{[]decode.Kind{decode.KindVec4h}, "a vector: direction as cv3, length as cf16"},
	{[]decode.Kind{decode.KindVec4f}, "a vector: direction as cv3, length as f32"},
	{[]decode.Kind{decode.KindStr8}, "length, then text in Windows-1252"},
	{[]decode.Kind{decode.KindStr16}, "length, then text in Windows-1252"},
	{[]decode.Kind{decode.KindStr32}, "length, then text in Windows-1252"},
	{[]decode.Kind{decode.KindStr32z}, "length with the final 00, text in Windows-1252, 00"},
	{[]decode.Kind{decode.KindWStr32}, "number of characters, then text in UTF-16"},
	{[]decode.Kind{decode.KindText, decode.KindIndex, decode.KindPlace}, "follows from other fields or from earlier messages"},
}
