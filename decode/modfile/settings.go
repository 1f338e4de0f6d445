package modfile

import (
	"regexp"
	"slices"
)

// Settings is the contents of a configuration file.
type Settings struct {
	Define  []Setting // files of definitions, as settings without a name
	Filters []Setting
	Columns []Setting
}

// A Setting is a named value of a configuration file.
type Setting struct {
	Name   string
	Line   int
	Values []string // a single value, except for columns
}

// ReadSettings reads a configuration file. The error is an [*Error].
func ReadSettings(f File) (*Settings, error) {
	var s Settings
	err := f.read(func(r *reader, doc *node) {
		t := r.open(doc, "the file")
		for i, name := range t.texts("define") {
			s.Define = append(s.Define, Setting{Line: doc.find("define").value.items[i].line, Values: []string{name}})
		}
		s.Filters = r.settings(t, "filters", (*table).one)
		s.Columns = r.settings(t, "columns", (*table).texts)
		t.close()
	})
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// settings reads a table of named values.
func (r *reader) settings(t *table, key string, values func(*table, string) []string) (all []Setting) {
	n := t.get(key, tables)
	if n == nil {
		return nil
	}
	of := r.open(n, key)
	for i := range n.entries {
		e := &n.entries[i]
		if len(e.key) > longestPreset || !presetName.MatchString(e.key) {
			r.fail(e.line, "%s: a name has letters, digits, - and _ only", shorten(e.key))
			return nil
		}
		found := values(of, e.key)
		if len(found) == 0 || slices.Contains(found, "") {
			r.fail(e.line, "%s: is empty", e.key)
			return nil
		}
		all = append(all, Setting{e.key, e.line, found})
	}
	return all
}

// one reads a text as the only value.
func (t *table) one(key string) []string { return []string{t.text(key)} }

// presetName matches the names of filters and columns.
var presetName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// longestPreset is the maximum length of such a name in bytes. It is not in
// presetName, since that would take long to compile.
const longestPreset = 64
