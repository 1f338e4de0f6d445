// Package league reads a folder of recordings into a league's site, again and
// again: what did not change is not read again.
package league

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// layout is the number of the cache's layout and of what is kept of a match. Another
// number makes everything be read again, and so does another version of the program.
const layout = 1

// A cache remembers what was read of a folder's files. It's a file of lines, each a
// JSON object, which is replaced as a whole.
type cache struct {
	dir     string // empty: nothing is kept
	files   map[string]*known
	entries map[string]*entry
	changed bool
	saved   time.Time
}

// A known is a file with what tells that it did not change, and with what tells
// which recording it is a part of.
type known struct {
	Size  int64
	Time  int64  // of the last change, in nanoseconds
	Print string // of the beginning and the end
	Part  *dissect.Part

	used bool
}

// An entry is what was read of a recording.
type entry struct {
	Matches []league.Kept
	Said    []string // about the recording
	Damaged bool
	Failed  bool

	line []byte // of the cache
	used bool
}

// A line is a line of the cache.
type line struct {
	Version string `json:",omitempty"` // of the first line
	Name    string `json:",omitempty"` // of a file
	File    *known `json:",omitempty"`
	Key     string `json:",omitempty"` // of a recording
	Entry   *entry `json:",omitempty"`
}

// openCache reads the cache of a folder. One of another version, or that is damaged, is
// as good as none.
func openCache(folder, options string) *cache {
	c := &cache{files: map[string]*known{}, entries: map[string]*entry{}, saved: time.Now()}
	home, err := os.UserCacheDir()
	abs, e := filepath.Abs(folder)
	if err != nil || e != nil {
		return c
	}
	sum := sha256.Sum256([]byte(abs + "\x00" + options))
	c.dir = filepath.Join(home, "bcdissect", "league", hex.EncodeToString(sum[:8]))
	if os.MkdirAll(c.dir, 0o700) != nil {
		c.dir = ""
	}
	return c
}

// version is what the first line of the cache has.
func version() string {
	v, _ := json.Marshal(map[string]any{"layout": layout, "program": cli.Version()}) // two plain values
	return string(v)
}

func (c *cache) path() string { return filepath.Join(c.dir, "read.ndjson") }

// load reads the file. The matches of recordings are parsed when they are asked for.
func (c *cache) load() {
	clear(c.files)
	clear(c.entries)
	f, err := os.Open(c.path())
	if c.dir == "" || err != nil {
		return
	}
	defer func() { _ = f.Close() }() // nothing was written
	r := bufio.NewReaderSize(f, 1<<16)
	for n := 0; ; n++ {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return // the last line is whole, or there is none
		}
		if key, ok := keyOf(text); ok {
			c.entries[key] = &entry{line: text}
			continue
		}
		var l line
		if json.Unmarshal(text, &l) != nil || n == 0 && l.Version != version() {
			return
		}
		if l.File != nil && l.File.Part != nil {
			c.files[l.Name] = l.File
		}
	}
}

// keyOf returns the key of an entry's line without parsing the rest.
func keyOf(text []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"Key":"`))
	key, _, cut := bytes.Cut(rest, []byte(`"`))
	return string(key), ok && cut
}

// find returns what was read of a recording, nil if it was not.
func (c *cache) find(key string) *entry {
	e := c.entries[key]
	if e == nil {
		return nil
	}
	var l line
	if json.Unmarshal(e.line, &l) != nil || l.Entry == nil {
		return nil
	}
	l.Entry.line, l.Entry.used = e.line, true
	c.entries[key] = l.Entry
	return l.Entry
}

// add adds what was read, and returns it as it will be found.
func (c *cache) add(key string, e *entry) *entry {
	text, err := json.Marshal(&line{Key: key, Entry: e})
	if err != nil {
		return e // a number that JSON does not have
	}
	c.entries[key] = &entry{line: append(text, '\n')}
	c.changed = true
	if found := c.find(key); found != nil {
		return found
	}
	return e
}

// save writes what was used, if it isn't what was loaded. all keeps the rest, too.
func (c *cache) save(all bool) error {
	c.saved = time.Now()
	for _, f := range c.files {
		c.changed = c.changed || !all && !f.used
	}
	for _, e := range c.entries {
		c.changed = c.changed || !all && !e.used
	}
	if c.dir == "" || !c.changed {
		return nil
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	_ = w.Encode(&line{Version: version()}) // a buffer takes everything
	for name, f := range c.files {
		if all || f.used {
			if err := w.Encode(&line{Name: name, File: f}); err != nil {
				return err
			}
		}
	}
	for _, e := range c.entries {
		if all || e.used {
			_, _ = b.Write(e.line)
		}
	}
	c.changed = all                                            // what isn't used is still to go
	left, _ := filepath.Glob(filepath.Join(c.dir, ".draft-*")) // by runs that were killed
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(name) // the next run tries again
		}
	}
	return replaceFile(c.dir, c.path(), b.Bytes(), 0o600)
}

// look returns what is known of a file, after its beginning and end were compared.
func (c *cache) look(name, path string, info fs.FileInfo) (*known, error) {
	print, err := fingerprint(path, info.Size())
	if err != nil {
		return nil, err
	}
	now := known{Size: info.Size(), Time: packet.Nanos(info.ModTime()), Print: print, Part: &dissect.Part{}}
	if old := c.files[name]; old != nil && old.Size == now.Size && old.Time == now.Time && old.Print == now.Print {
		old.used = true
		return old, nil
	}
	now.used = true
	c.files[name], c.changed = &now, true
	return &now, nil
}

// edge is how much of a file's beginning and end is compared: programs that copy files
// with their times leave no other trace.
const edge = 4096

// fingerprint returns a hash of a file's beginning and end.
func fingerprint(name string, size int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	h := sha256.New()
	if _, err := io.CopyN(h, f, edge); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if size > edge {
		if _, err := io.Copy(h, io.NewSectionReader(f, max(size-edge, edge), edge)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// replaceFile replaces a file as a whole. The draft is in a folder of the same system.
func replaceFile(drafts, name string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(drafts, ".draft-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Chmod(mode); err == nil && !cli.OnWindows {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that matters is known
	}
	return err
}
