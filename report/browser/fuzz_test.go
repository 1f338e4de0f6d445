package browser

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
)

// FuzzKeys presses any keys and clicks anywhere, on terminals of any size: the
// lines fit, hold no control characters, and the cursor is in the list.
func FuzzKeys(f *testing.F) {
	o := scanner(f, "stock_replay.pcap")
	o.Equal = filter.Equal
	o.Column = func(string) (func(*dissect.Record) string, error) {
		return func(r *dissect.Record) string { return strings.Repeat("w", r.Part) }, nil
	}
	o.Save = func(_ string, frames func(func(int)) error) (string, error) { return "saved", frames(func(int) {}) }
	f.Add([]byte("e=\n2jjjjCC=\nmanote\nM][wname\nEEM"), uint8(100), uint8(30))
	f.Add([]byte("jjGgYChat\nn/chat\nNpo2jj hl3lll"), uint8(80), uint8(24))
	f.Add([]byte("t1\n:9\nzT?jq\tc\x1bY(((\n\x1bYStateU\t\t\n"), uint8(121), uint8(30))
	f.Add([]byte("Yname == \t\t\t\n\x01\x02\x03\x04ooppG"), uint8(20), uint8(5))
	f.Fuzz(func(t *testing.T, keys []byte, width, height uint8) {
		m := opened(t, o, int(width), int(height))
		for i, k := range keys[:min(len(keys), 60)] {
			x, y := int(k)*7%(int(width)+1), i*5%(int(height)+1)
			switch k {
			case '\t':
				press(m, "tab")
			case '\n':
				press(m, "enter")
			case 0x1b:
				press(m, "esc")
			case 1:
				send(m, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			case 2:
				send(m, tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown})
			case 3:
				send(m, tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp})
			case 4:
				press(m, "pgdown")
			case 5:
				press(m, "left")
			case 6:
				press(m, "right")
			case 7:
				press(m, "backspace")
			case 8:
				press(m, "up")
			case 'q':
			default:
				press(m, string(rune(k)))
			}
			if m.cursor < 0 || m.cursor > 0 && m.cursor >= m.count() || m.top < 0 || m.byteAt < 0 || m.job != nil {
				t.Fatalf("row %d of %d, the first is %d, byte %d, working: %t", m.cursor, m.count(), m.top, m.byteAt, m.job != nil)
			}
			if m.rec != nil && m.byteAt > len(m.parts.bytes) || m.field > len(m.rows) {
				t.Fatalf("byte %d of %d, field %d of %d", m.byteAt, len(m.parts.bytes), m.field, len(m.rows))
			}
		}
		fits(t, m, int(width), int(height), false)
	})
}
