package browser

import (
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

var helpText = [][2]string{
	{"", "Move"},
	{"j k, arrows", "one row, in the pane with the marked title"},
	{"space b, pgdn pgup", "one page; d and u: half a page"},
	{"g G, home end", "the first row, the last row"},
	{"tab, 1 2 3", "the next pane; messages, fields, bytes"},
	{"enter", "from a message to its fields; opens and closes a group"},
	{"left right, h l", "shift long lines; close and open a group; one byte"},
	{":", "go to a frame"},
	{"t", "go to a time since the beginning: 00:01:30, 1:30 or 90"},
	{"z", "only this pane, or all"},
	{"mouse", "a click chooses, the wheel scrolls"},
	{"", ""},
	{"", "Choose messages"},
	{"Y &", "filter, in the language of -Y; empty for all messages"},
	{"", "  tab completes; up and down recall earlier ones"},
	{"=", "filter for the value of the chosen field, which you can change"},
	{"p", "follow this message's player; again: all"},
	{"o", "follow an object: of the chosen field, or the first one"},
	{"/ n N", "search the list, on, back; capitals count if given"},
	{"e E", "the next message with an error, a note or undecoded bytes; back"},
	{"esc", "stop reading; back to the messages"},
	{"", ""},
	{"", "Mark, compare and keep"},
	{"m", "mark this message, or take its mark away"},
	{"a", "write a note about this message, which marks it"},
	{"[ ]", "the marked message before; the next one"},
	{"M", "only marked messages, with their notes; again: all"},
	{"C", "the chosen field as a column of the list; again: no longer"},
	{"w", "save the messages of the list as a new capture"},
	{"", ""},
	{"", "Other"},
	{"c y", "copy a command that decodes the message"},
	{"T", "times: relative, clock, date, since the last frame, epoch"},
	{"ctrl+z", "to the shell, until fg"},
	{"q, ctrl+c", "quit"},
	{"", ""},
	{"", "The bytes are the deciphered message; those of the chosen field are marked."},
	{"", "Places of fields count from the opcode, as in read -V."},
}

// helpLines returns room lines of the help, starting at the line at the top of
// the screen.
func (m *model) helpLines(room int) []string {
	m.help = min(m.help, max(len(helpText)-room, 0))
	return m.Help(helpText[m.help:], 19, room)
}

// helpKey handles a key while help is shown.
func (m *model) helpKey(name string) {
	if by := canvas.Scroll(name, max(m.Height-3, 1)); by != 0 {
		m.help = min(max(m.help+by, 0), len(helpText))
		return
	}
	m.help = -1
}
