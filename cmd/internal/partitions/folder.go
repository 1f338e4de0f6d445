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
	"github.com/bcdissect/bcdissect/report/tables"
)

// unfinished is the folder for files that are being written. No pattern for
// tables matches its files.
const unfinished = ".unfinished"

// A folder holds tables: a folder for each, in which each capture has a folder
// with one file.
type folder struct {
	path string
	ext  string // of the files: parquet or csv
}

// nameOf returns the name of a capture's partition: that of its file, without
// the ending of a packed one. Characters other than letters, digits and a few
// signs are written as in an URL.
func nameOf(file string) string {
	base := filepath.Base(file)
	name := base
	for _, ending := range []string{".gz", ".zst"} {
		if rest, ok := strings.CutSuffix(name, ending); ok && rest != "" {
			name = rest
		}
	}
	name = escape(name)
	const most = 180 // bytes; many systems allow 255 for a name
	if len(name) > most {
		sum := sha256.Sum256([]byte(base))
		name = fmt.Sprintf("%s-%x", strings.TrimRight(name[:most], "%0123456789ABCDEF"), sum[:8])
	}
	return name
}

// escape makes a text fit for the name of a folder.
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

// partition returns the folder of a capture in a table.
func (f *folder) partition(table, capture string) string {
	steps := strings.Split(table, "/")
	for i := range steps {
		steps[i] = escape(steps[i])
	}
	return filepath.Join(append(append([]string{f.path}, steps...), "capture="+capture)...)
}

// file returns the file of a capture in a table.
func (f *folder) file(table, capture string) string {
	return filepath.Join(f.partition(table, capture), "part."+f.ext)
}

// find returns the origin of the capture of that name, or nil if there is none.
func (f *folder) find(capture string) (*tables.Origin, error) {
	r, err := os.Open(f.file(tables.Captures, capture))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // nothing was written
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	return tables.ReadOrigin(r, info.Size(), f.ext == "csv")
}

// A draft is the set of tables of a capture until they are complete.
type draft struct {
	*folder
	capture string
	temp    string
	names   []string // tables, in the order of their creation
}

// prefixOf begins the names of a capture's drafts.
func (f *folder) prefixOf(capture string) string { return capture + "." + f.ext + "~" }

// tidy removes the drafts of a capture that an earlier run left behind.
func (f *folder) tidy(capture string) {
	all := filepath.Join(f.path, unfinished)
	old, _ := os.ReadDir(all) // it may not be there
	for _, o := range old {
		if strings.HasPrefix(o.Name(), f.prefixOf(capture)) {
			_ = os.RemoveAll(filepath.Join(all, o.Name())) // not worth an error
		}
	}
	_ = os.Remove(all) // unless others use it
}

// begin makes a draft, in the place of those that an earlier run left behind.
func (f *folder) begin(capture string) (*draft, error) {
	f.tidy(capture)
	all := filepath.Join(f.path, unfinished)
	for try := 0; ; try++ {
		if err := os.MkdirAll(all, 0o777); err != nil {
			return nil, err
		}
		temp, err := os.MkdirTemp(all, f.prefixOf(capture))
		if err == nil {
			return &draft{folder: f, capture: capture, temp: temp}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try > 100 { // another program may just have removed the empty folder
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

// plain names the folder in an error of a file of the draft, which is gone when
// the error is read.
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
	_ = os.RemoveAll(d.temp)                         // the error that matters is known
	_ = os.Remove(filepath.Join(d.path, unfinished)) // unless others use it
}

// publish puts the files into their places. The row in the table of captures is
// removed first and comes back last, so that it stands for all others.
func (d *draft) publish() error {
	if err := os.Remove(d.file(tables.Captures, d.capture)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.removeOthers(); err != nil {
		return err
	}
	names := slices.DeleteFunc(slices.Clone(d.names), func(n string) bool { return n == tables.Captures })
	for _, table := range append(names, tables.Captures) {
		if err := os.MkdirAll(d.partition(table, d.capture), 0o777); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(d.temp, escape(table)), d.file(table, d.capture)); err != nil {
			return err
		}
	}
	return nil
}

// files returns the files of a capture in all tables.
func (f *folder) files(capture string) (all []string, err error) {
	for _, pattern := range []string{"*", "*/*"} {
		found, err := fs.Glob(os.DirFS(f.path), pattern+"/capture="+capture+"/part."+f.ext)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			all = append(all, filepath.Join(f.path, filepath.FromSlash(name)))
		}
	}
	return all, nil
}

// whole reports whether each file of a capture has its end: after a power failure
// files may be there without their contents.
func (f *folder) whole(capture string) bool {
	all, err := f.files(capture)
	return err == nil && !slices.ContainsFunc(all, func(name string) bool { return !hasEnd(name) })
}

// hasEnd reports whether a file ends as one of its form does.
func hasEnd(name string) bool {
	r, err := os.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }() // nothing was written
	end := map[string]string{".parquet": "PAR1", ".csv": "\n"}[filepath.Ext(name)]
	got := make([]byte, len(end))
	if _, err := r.Seek(-int64(len(end)), io.SeekEnd); err != nil {
		return false
	}
	_, err = io.ReadFull(r, got)
	return err == nil && string(got) == end
}

// removeOthers removes the capture from the tables that it has no more.
func (d *draft) removeOthers() error {
	all, err := d.files(d.capture)
	if err != nil {
		return err
	}
	for _, name := range all {
		if slices.ContainsFunc(d.names, func(table string) bool { return d.file(table, d.capture) == name }) {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(name)) // unless it holds another form
	}
	return nil
}

// digest returns the SHA-256 of a file in hexadecimal digits.
func digest(name string, stop func() bool) (string, error) {
	r, err := os.Open(name)
	if err != nil {
		return "", cli.PlainPath(name, err)
	}
	defer func() { _ = r.Close() }() // nothing was written
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for !stop() {
		n, err := r.Read(buf)
		_, _ = h.Write(buf[:n]) // it does not fail
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", cli.PlainPath(name, err)
		}
	}
	return "", errStopped
}
