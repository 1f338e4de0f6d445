package browser

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/dissect"
)

// errStopped is the error of saving that a key has stopped.
var errStopped = errors.New("stopped")

// askSave asks for the file in which to save the messages of the list.
func (m *model) askSave() tea.Cmd {
	switch {
	case m.busy() || m.b.opts.Save == nil:
		return nil
	case m.index.shown == 0:
		m.Reason = "there are no messages to save"
		return nil
	}
	return m.ask(askSave, "")
}

// save begins to write the frames of the listed messages to a capture.
func (m *model) save(name string) tea.Cmd {
	if strings.TrimSpace(name) == "" {
		m.Reason = "give the name of a new file, such as torpedoes.pcapng"
		return nil
	}
	m.remember(askSave, name)
	m.Dismiss()
	m.said = "saving " + clean(name)
	x, scan, write := m.index, m.b.opts.Scan, m.b.opts.Save
	return m.begin(func(j *job) {
		done, err := write(name, func(add func(frame int)) error {
			err := scan(0, func(n int, r *dissect.Record) bool {
				if x.has(n) {
					add(r.Datagram.Number)
					for _, frame := range r.Pieces {
						add(frame)
					}
				}
				return n+1 < x.total && !j.stopped.Load()
			})
			if j.stopped.Load() {
				err = errStopped
			}
			return err
		})
		j.tell(true, func() { m.saved(done, err) })
	})
}

// saved shows what was saved.
func (m *model) saved(done string, err error) {
	m.said = clean(done)
	if err != nil {
		m.Reason = clean(err.Error())
	}
}
