package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/browser"
)

// marksSuffix is appended to the name of a capture to name its file of marks.
const marksSuffix = ".marks.json"

// maxMarksFile is the maximum size of a file of marks in bytes. A mark with the
// longest note, with all characters escaped, takes 6 kB.
const maxMarksFile = 64 << 20

// marksFile is the contents of a file of marks. docs/browse.md describes it.
type marksFile struct {
	MarksOf string         `json:"marks_of"` // name of the capture
	Begins  time.Time      `json:"begins"`   // time of the first frame in the capture
	Marks   []browser.Mark `json:"marks"`
}

// marks are the marks of a capture, stored in a file in its folder.
type marks struct {
	name string // name of the file
	file marksFile
}

// useMarks makes a browser use the marks of captures that begin at a time.
func useMarks(o *browser.Options, names []string, start time.Time) {
	switch {
	case len(names) > 1:
		o.Why = "marks are saved only with a single capture"
		return
	case names[0] == "-":
		o.Why = "marks are saved only if the capture is named as a file"
		return
	}
	m := marks{names[0] + marksSuffix, marksFile{MarksOf: filepath.Base(names[0]), Begins: start.UTC()}}
	old, err := readMarks(m.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		o.Why = fmt.Sprintf("not saved: %v", err)
		return
	case !old.Begins.Equal(start):
		o.Why = fmt.Sprintf("not saved: %s has the marks of another capture; move it away", filepath.Base(m.name))
		return
	}
	o.Marks = old.Marks
	o.Keep = m.save
}

// readMarks reads a file of marks. It skips entries that cannot be marks.
func readMarks(name string) (marksFile, error) {
	var m marksFile
	f, err := os.Open(name)
	if err != nil {
		return m, cli.PlainPath(filepath.Base(name), err)
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
	b, err := io.ReadAll(io.LimitReader(f, maxMarksFile+1))
	switch {
	case err != nil:
		return m, cli.PlainPath(filepath.Base(name), err)
	case len(b) > maxMarksFile || json.Unmarshal(b, &m) != nil || m.MarksOf == "":
		return marksFile{}, fmt.Errorf("%s is not a file of marks; move it away", filepath.Base(name))
	}
	m.Marks = slices.DeleteFunc(m.Marks, func(k browser.Mark) bool { return k.Frame < 0 || k.Message < 0 })
	return m, nil
}

// save replaces the file in one step. If there are no marks, it removes the
// file.
func (m *marks) save(all []browser.Mark) error {
	if len(all) == 0 {
		if err := os.Remove(m.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.PlainPath(filepath.Base(m.name), err)
		}
		return nil
	}
	m.file.Marks = all
	b, err := json.MarshalIndent(&m.file, "", " ")
	if err != nil {
		return err
	}
	d, err := cli.CreateDraft(m.name, true, cli.Streams{Graceful: true})
	if err != nil {
		return err
	}
	_, err = d.Write(append(b, '\n'))
	if e := d.Close(); err == nil {
		err = e
	}
	if err != nil {
		d.Discard()
		return cli.PlainPath(filepath.Base(m.name), err)
	}
	return d.Accept()
}
