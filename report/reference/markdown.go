//go:build !js

package reference

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/bcdissect/bcdissect/decode"
)

// Markdown writes the page docs/opcodes.md: a table of all messages, then a
// section for each message with its fields. If samples has one, the section
// shows an example. Markdown is not available in a browser, which would have to
// load text/template for it.
func Markdown(w io.Writer, c *decode.Catalog, samples []*Sample) error {
	page := struct {
		Relay, Made, Step, Evidence []meaning
		Entries                     []pageEntry
		Kinds                       []pageKind
	}{Relay: relayMeanings, Made: madeMeanings, Step: stepMeanings, Evidence: evidenceMeanings}
	seen := map[string]string{} // links to fields of layouts, indexed by the fields
	specs := c.All()
	for i, entry := range Entries(c) {
		e := pageEntry{Entry: &entry, Spec: specs[i]}
		for k := range e.Entry.Layouts {
			l := pageLayout{Layout: &e.Entry.Layouts[k]}
			key := fieldsKey(l.Fields)
			if l.Same = seen[key]; l.Same == "" && len(l.Fields) > 0 {
				seen[key] = e.Link(e.Title())
			}
			if len(l.Fields) > 0 {
				l.Sample, l.Rows = choose(e.Spec, l.Layout, samples)
			}
			e.Layouts = append(e.Layouts, l)
		}
		page.Entries = append(page.Entries, e)
	}
	for _, k := range Kinds() {
		if last := len(page.Kinds) - 1; last >= 0 && page.Kinds[last].Meaning == k.Doc && page.Kinds[last].Size == k.Bytes {
			page.Kinds[last].Names = append(page.Kinds[last].Names, k.Name)
		} else if k.Doc != "" {
			page.Kinds = append(page.Kinds, pageKind{[]string{k.Name}, k.Bytes, k.Doc})
		}
	}
	t := template.New("").Funcs(template.FuncMap{"bytes": bytesText, "code": code, "join": strings.Join, "playable": PlayableMeaning, "row": row})
	return template.Must(t.Parse(pageText)).Execute(w, page)
}

//go:embed opcodes.md.tmpl
var pageText string

// A pageEntry is an entry with the data for its section.
type pageEntry struct {
	*Entry
	Spec    *decode.Spec
	Layouts []pageLayout
}

// A pageLayout is a layout and a sample of it.
type pageLayout struct {
	*Layout
	Same   string // a link to a layout above that has the same fields
	Sample *Sample
	Rows   []Row
}

// A pageKind is a row of the last table.
type pageKind struct {
	Names         []string
	Size, Meaning string
}

// Code returns the opcode.
func (e *pageEntry) Code() string {
	s := e.Spec.Code.String()
	if e.Rest {
		s += " and up"
	}
	return s
}

// Title returns the heading of the section.
func (e *pageEntry) Title() string { return e.Code() + " " + e.Name }

// Link returns a link to the section. It uses the anchor that GitHub makes for
// the heading.
func (e *pageEntry) Link(text string) string {
	return "[" + text + "](#" + strings.ReplaceAll(strings.ToLower(e.Title()), " ", "-") + ")"
}

// row returns a row of a table.
func row(cells ...any) string {
	var b strings.Builder
	for _, cell := range cells {
		b.WriteString("| ")
		if text := fmt.Sprint(cell); text != "" {
			b.WriteString(strings.ReplaceAll(text, "|", `\|`) + " ")
		}
	}
	return b.String() + "|"
}

// fieldsKey returns a text that is equal only for equal fields.
func fieldsKey(fields []Field) string {
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // cannot happen, since all values of the type can be encoded
	}
	return string(b)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// tooLong is the number of rows from which on a sample is not shown.
const tooLong = 80

// choose returns the sample that shows most fields of a layout. Of several such
// samples it returns the shortest.
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

// distinct returns the number of different fields in rows.
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
	return regexp.MustCompile(`\[\d+`).ReplaceAllString(at, "[")
}
