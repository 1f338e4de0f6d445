package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// called returns the name of a game message, with its opcode in brackets.
func called(op decode.Opcode) string {
	name := "an unknown message"
	if spec := catalog().Lookup(op); spec != nil {
		name = spec.Name
	}
	return fmt.Sprintf("%s (%02X)", name, uint8(op))
}

// describe shows a message for people: its name and bytes.
func describe(m *message) string {
	first := m.Body[:min(len(m.Body), 40)]
	switch {
	case m.Type != transport.Standard:
		return fmt.Sprintf("%s: %X", m.Type.Kind(), first)
	case len(m.Body) == 0:
		return "an empty game message"
	}
	name := called(m.opcode())
	res := m.decoded()
	if res.Message != nil {
		var list []string
		var values display.Presenter
		brief := res.Spec.Brief
		new(decode.Viewer).Show(res.Message, m.Body, 1, res.Dialect, &display.Flat{Take: func(path string, f *decode.Field) {
			if path == f.Name && (len(brief) == 0 || slices.Contains(brief, path)) { // not in a group
				list = append(list, path+" "+string(values.AppendText(nil, f, nil)))
			}
		}})
		if len(list) > 0 {
			name += ", " + strings.Join(list, ", ")
		}
	}
	return fmt.Sprintf("%s: %X", name, first)
}
