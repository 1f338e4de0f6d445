package partitions

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture/private"
	"github.com/bcdissect/bcdissect/report/tables"
)

// unfinished is the folder for files that are being written. Patterns for
// tables do not match its files.
const unfinished = ".unfinished"

// locked is the file that a program locks while it changes the folder.
const locked = ".lock"

// A folder contains tables. Each table has a folder, in which each part has a
// folder with one file. A part has the rows of one capture, or of several in a
// pack.
type folder struct {
	path string
	ext  string // extension of the files: parquet or csv
}

// nameOf returns the name of a capture's partition. It is the name of the
// capture's file without the extension for compression. Characters other than
// letters, digits and a few signs are escaped as in a URL.
func nameOf(file string) string {
	base := filepath.Base(file)
	name := base
	for _, ending := range []string{".gz", ".zst"} {
		if rest, ok := strings.CutSuffix(name, ending); ok && rest != "" {
			name = rest
		}
	}
	name = escape(name)
	const most = 180 // bytes, while many systems allow 255 for a name
	if len(name) > most {
		sum := sha256.Sum256([]byte(base))
		name = fmt.Sprintf("%s-%x", strings.TrimRight(name[:most], "%0123456789ABCDEF"), sum[:8])
	}
	return name
}

// escape escapes a text for the name of a folder.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Keys of the folders of parts. Database engines that read such names see a
// column with the key.
const (
	partKey = "part="
	oldKey  = "capture=" // used before schema 2, when files had no capture column
)

// partition returns the folder of a part of a table.
func (f *folder) partition(table, part string) string {
	steps := strings.Split(table, "/")
	for i := range steps {
		steps[i] = escape(steps[i])
	}
	return filepath.Join(append(append([]string{f.path}, steps...), partKey+part)...)
}

// file returns the file of a part of a table.
func (f *folder) file(table, part string) string {
	return filepath.Join(f.partition(table, part), "part."+f.ext)
}

// csv reports whether the tables are CSV.
func (f *folder) csv() bool { return f.ext == "csv" }

// open opens a file of a table.
func open(name string) (*os.File, tables.Part, error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, tables.Part{}, err
	}
	info, err := r.Stat()
	if err != nil {
		_ = r.Close() // it was opened only for reading
		return nil, tables.Part{}, err
	}
	return r, tables.Part{ReaderAt: r, Size: info.Size()}, nil
}

// A draft is the set of tables of a capture while they are being written.
type draft struct {
	*folder
	capture string
	temp    string
	names   []string // names of the tables, in the order of their creation
}

// prefixOf returns the prefix of the names of a capture's drafts.
func (f *folder) prefixOf(capture string) string { return capture + "." + f.ext + "~" }

// tidy removes the drafts of a capture that an earlier run has not removed.
func (f *folder) tidy(capture string) {
	all := filepath.Join(f.path, unfinished)
	old, _ := os.ReadDir(all) // the folder may not exist
	for _, o := range old {
		if strings.HasPrefix(o.Name(), f.prefixOf(capture)) {
			_ = os.RemoveAll(filepath.Join(all, o.Name())) // a leftover file does not justify an error
		}
	}
	_ = os.Remove(all) // fails if others use it
}

// begin makes a draft. It removes drafts that an earlier run has not removed.
func (f *folder) begin(capture string) (*draft, error) {
	f.tidy(capture)
	all := filepath.Join(f.path, unfinished)
	for try := 0; ; try++ {
		if err := private.MakeDir(all, 0o777); err != nil {
			return nil, err
		}
		temp, err := os.MkdirTemp(all, f.prefixOf(capture))
		if err == nil {
			return &draft{folder: f, capture: capture, temp: temp}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try > 100 { // another program may have just removed the empty folder
			return nil, err
		}
	}
}

// create creates the file of a table.
func (d *draft) create(table string) (io.WriteCloser, error) {
	f, err := os.Create(filepath.Join(d.temp, escape(table)))
	if err != nil {
		return nil, err
	}
	d.names = append(d.names, table)
	return f, nil
}

// plain replaces a path of the draft in an error by the folder, since the draft
// is removed before the user reads the error.
func (d *draft) plain(err error) error {
	p := (*fs.PathError)(nil)
	switch {
	case !errors.As(err, &p):
		return err
	case strings.HasPrefix(p.Path, d.temp):
		return cli.PlainPath(d.path, p)
	}
	return cli.PlainPath(p.Path, p)
}

// discard removes the draft.
func (d *draft) discard() {
	_ = os.RemoveAll(d.temp)                         // the first error is returned
	_ = os.Remove(filepath.Join(d.path, unfinished)) // fails if others use it
}

// publish moves the files to their places. It first removes the row in the
// table of captures and adds it again last. Thus the row tells that all other
// tables are complete.
func (d *draft) publish() error {
	if err := os.Remove(d.file(tables.Captures, d.capture)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.removeOthers(); err != nil {
		return err
	}
	names := slices.DeleteFunc(slices.Clone(d.names), func(n string) bool { return n == tables.Captures })
	for _, table := range append(names, tables.Captures) {
		if err := private.MakeDir(d.partition(table, d.capture), 0o777); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(d.temp, escape(table)), d.file(table, d.capture)); err != nil {
			return err
		}
	}
	return nil
}

// files returns the files of a part in all tables.
func (f *folder) files(part string) (all []string, err error) {
	folders, err := f.tables()
	if err != nil {
		return nil, err
	}
	add := func(part string) (n int) {
		for _, table := range folders {
			name := filepath.Join(table, partKey+part, "part."+f.ext)
			if _, err := os.Stat(name); err == nil {
				all = append(all, name)
				n++
			}
		}
		return n
	}
	more := add(part)
	for n := 2; strings.HasPrefix(part, packName) && more > 0; n++ { // rows with other columns are in separate files
		more = add(fmt.Sprintf("%s~%d", part, n))
	}
	return all, nil
}

// tables returns the folders of the tables. The tables of messages are in a
// common folder.
func (f *folder) tables() (all []string, err error) {
	for _, in := range []string{f.path, filepath.Join(f.path, "messages")} {
		dirs, err := os.ReadDir(in)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, d := range dirs {
			if d.IsDir() && d.Name() != unfinished {
				all = append(all, filepath.Join(in, d.Name()))
			}
		}
	}
	return all, nil
}

// whole reports whether all files of a part are complete.
func (f *folder) whole(part string) bool {
	all, err := f.files(part)
	return err == nil && !slices.ContainsFunc(all, func(name string) bool {
		r, p, err := open(name)
		if err != nil {
			return true
		}
		defer func() { _ = r.Close() }() // it was opened only for reading
		return !p.Whole(f.csv())
	})
}

// removeOthers removes the capture from tables that it no longer has.
func (d *draft) removeOthers() error {
	all, err := d.files(d.capture)
	if err != nil {
		return err
	}
	for _, name := range all {
		if slices.ContainsFunc(d.names, func(table string) bool { return d.file(table, d.capture) == name }) {
			continue
		}
		if err := removeFile(name); err != nil {
			return err
		}
	}
	return nil
}

// removeFile removes a file of a table if it exists. It also removes the folder
// unless that contains a file in the other format.
func removeFile(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(name))
	return nil
}

// digest returns the SHA-256 of a file and of its first bytes, in hexadecimal.
func digest(name string, first int64, stop func() bool) (sum, begin string, err error) {
	r, err := os.Open(name)
	if err != nil {
		return "", "", cli.PlainPath(name, err)
	}
	defer func() { _ = r.Close() }() // it was opened only for reading
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for read := int64(0); !stop(); {
		part := buf
		if read < first {
			part = buf[:min(int64(len(buf)), first-read)]
		}
		n, err := r.Read(part)
		_, _ = h.Write(part[:n]) // it never returns an error
		if read += int64(n); read == first {
			begin = hex.EncodeToString(h.Sum(nil))
		}
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), begin, nil
		}
		if err != nil {
			return "", "", cli.PlainPath(name, err)
		}
	}
	return "", "", errStopped
}
