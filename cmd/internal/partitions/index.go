package partitions

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bcdissect/bcdissect/report/tables"
)

// An entry is a capture in the folder.
type entry struct {
	tables.Origin

	part string // part with the rows of the capture
}

// covers reports whether the capture has all of the files.
func (e *entry) covers(files []tables.File) bool { return covers(e.Files, files) }

func covers(all, some []tables.File) bool {
	return !slices.ContainsFunc(some, func(f tables.File) bool {
		return !slices.ContainsFunc(all, func(g tables.File) bool { return g.SHA256 == f.SHA256 })
	})
}

// An index lists the captures in a folder.
type index struct {
	*folder

	mu     sync.Mutex
	by     map[string]*entry   // by name of the capture
	having map[string][]*entry // by SHA-256 of a file
	broken map[string]error    // errors of parts
	taken  map[string]bool     // names used in this run
}

// newIndex reads the captures in the folder. A folder that does not exist has
// none.
func (f *folder) newIndex() (*index, error) {
	x := &index{folder: f, by: map[string]*entry{}, having: map[string][]*entry{}, broken: map[string]error{}, taken: map[string]bool{}}
	all, err := os.ReadDir(filepath.Join(f.path, tables.Captures))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, dir := range all {
		if strings.HasPrefix(dir.Name(), oldKey) {
			return nil, fmt.Errorf("%s: holds tables of an earlier version of bcdissect; write the captures into a new folder", f.path)
		}
		part, ok := strings.CutPrefix(dir.Name(), partKey)
		if !ok {
			continue
		}
		if _, err := os.Stat(f.file(tables.Captures, part)); err != nil {
			continue // a file in the other format
		}
		origins, err := f.origins(part)
		if err != nil {
			x.broken[part] = err
		}
		for i := range origins {
			if o := &origins[i]; o.Schema > tables.Schema {
				return nil, fmt.Errorf("%s: capture=%s has tables of schema %d, and this program knows %d; use a newer bcdissect", f.path, o.Capture, o.Schema, tables.Schema)
			}
			x.add(&entry{origins[i], part})
		}
	}
	return x, nil
}

func (x *index) add(e *entry) {
	x.by[e.Capture] = e
	for _, f := range e.Files {
		x.having[f.SHA256] = append(x.having[f.SHA256], e)
	}
}

// origins returns the captures of a part.
func (f *folder) origins(part string) ([]tables.Origin, error) {
	r, p, err := open(f.file(tables.Files, part))
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was opened only for reading
	return tables.ReadOrigins(p, p.Size, f.csv())
}

// sizeOf returns the size of the only file of a capture. It returns -1 if the
// capture has several files.
func (x *index) sizeOf(capture string) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.by[capture]; e != nil && len(e.Files) == 1 {
		return e.Files[0].Size
	}
	return -1
}

// claim sets the name of a capture and returns the captures that it replaces.
// These are captures whose files it has, and a shorter version of the same
// recording. If replace is set, it also replaces any other capture with the
// same name. The argument begin is the SHA-256 of the beginning of the file, as
// long as the file of the existing capture with the name. If second is set, an
// earlier capture of this run has the name. Then claim adds a part of the
// SHA-256 to the name, so that several programs that share the work choose the
// same names.
func (x *index) claim(o *tables.Origin, begin string, second, replace bool) (old []*entry, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.sharing(o.Files) {
		switch more := !covers(o.Files, e.Files); {
		case e.covers(o.Files) && e.Schema == o.Schema && e.Options == o.Options:
			if o.Capture = e.Capture; e.part != e.Capture || x.whole(e.part) {
				return nil, errThere
			}
		case e.Options != o.Options && !replace:
			return nil, fmt.Errorf("capture=%s was read with other options (%s); replace the tables with --replace", e.Capture, cmp.Or(e.Options, "none"))
		case more && !replace:
			return nil, fmt.Errorf("capture=%s has this file and others; give all of them, or replace the tables with --replace", e.Capture)
		}
		old = append(old, e)
	}
	name := nameOf(o.Files[0].Name)
	for i, try := range []string{name, name + "-" + o.Files[0].SHA256[:8]} {
		e := x.by[try]
		if broken := x.broken[try]; broken != nil && !replace {
			return nil, fmt.Errorf("%s: %w; --replace writes it anew", x.file(tables.Files, try), broken)
		}
		same := e == nil || slices.Contains(old, e)
		grown := i == 0 && e != nil && len(e.Files) == 1 && e.Files[0].SHA256 == begin
		if x.taken[try] || second && i == 0 && !slices.ContainsFunc(old, func(o *entry) bool { return o.Capture == try }) || !same && !grown && (i > 0 || !replace) {
			continue
		}
		if !same {
			old = append(old, e)
		}
		o.Capture, x.taken[try] = try, true
		return old, nil
	}
	return nil, errors.New("several files have this name; rename one")
}

// sharing returns the captures that have some of the files, in the order of
// their names.
func (x *index) sharing(files []tables.File) (all []*entry) {
	for _, f := range files {
		for _, e := range x.having[f.SHA256] {
			if x.by[e.Capture] == e && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.Capture, b.Capture) })
	return all
}

// find returns the capture that an argument of --remove names: the capture with
// the contents of this file, or if the file does not exist, with a file of this
// name. An argument capture=NAME is the name of a capture in the tables.
func (x *index) find(name string) (*entry, error) {
	capture, byName := strings.CutPrefix(name, "capture=")
	info, err := os.Stat(name)
	there := err == nil && info.Mode().IsRegular()
	if e := x.by[capture]; e != nil && (byName || !there) {
		return e, nil
	}
	var all []*entry
	switch {
	case there:
		sum, _, err := digest(name, -1, func() bool { return false })
		if err != nil {
			return nil, err
		}
		all = x.sharing([]tables.File{{SHA256: sum}})
	case !byName:
		all = x.ofName(nameOf(name))
	}
	switch e := x.by[nameOf(name)]; {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		var names []string
		for _, e := range all {
			names = append(names, "capture="+e.Capture)
		}
		return nil, fmt.Errorf("%s: %d captures have such a file; name one: %s", name, len(all), strings.Join(names, ", "))
	case there && e != nil:
		return nil, fmt.Errorf("%s: %s has other contents under this name; capture=%s removes them", name, x.path, e.Capture)
	}
	return nil, fmt.Errorf("%s: no such capture in %s", name, x.path)
}

// ofName returns the captures with a file of a name, in the order of their names.
func (x *index) ofName(name string) (all []*entry) {
	for _, capture := range slices.Sorted(maps.Keys(x.by)) {
		if e := x.by[capture]; slices.ContainsFunc(e.Files, func(f tables.File) bool { return nameOf(f.Name) == name }) {
			all = append(all, e)
		}
	}
	return all
}
