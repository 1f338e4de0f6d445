package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// describe shows a message for people: its name and bytes.
func describe(m *message) string {
	first := m.Body[:min(len(m.Body), 40)]
	switch {
	case m.Type != transport.Standard:
		return fmt.Sprintf("%s %X", m.Type.Kind(), first)
	case len(m.Body) == 0:
		return "an empty game message"
	}
	name := "unknown"
	res := m.decoded()
	if res.Spec != nil {
		name = res.Spec.Name
	}
	if res.Message != nil {
		l := lister{brief: res.Spec.Brief}
		new(decode.Viewer).Show(res.Message, m.Body, 1, res.Dialect, &l)
		if len(l.list) > 0 {
			name += " (" + strings.Join(l.list, ", ") + ")"
		}
	}
	return fmt.Sprintf("%02X %s %X", m.Body[0], name, first)
}

// A lister collects fields as text.
type lister struct {
	brief  []string
	depth  int
	list   []string
	values display.Presenter
}

// Field implements [decode.Visitor].
func (l *lister) Field(f *decode.Field) {
	if l.depth > 0 || len(l.brief) > 0 && !slices.Contains(l.brief, f.Name) {
		return
	}
	l.list = append(l.list, f.Name+" "+string(l.values.AppendText(nil, f, nil)))
}

// Begin implements [decode.Visitor].
func (l *lister) Begin(*decode.Group) { l.depth++ }

// End implements [decode.Visitor].
func (l *lister) End(*decode.Group) { l.depth-- }
