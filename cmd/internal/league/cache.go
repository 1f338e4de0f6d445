// Package league makes a league's site from a folder of recordings. It does not
// read files again that have not changed.
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

// layout is the version of the cache's format and of the data kept for a match.
// All recordings are read again if it differs, and also after an update of the
// program.
const layout = 1

// A cache stores what was read from the files in a folder. It is a file of
// lines, each a JSON object. Runs append what they have read, and replace the
// file if it has data that is no longer needed.
type cache struct {
	dir     string // empty to store nothing
	files   map[string]*known
	entries map[string]*entry
	saved   time.Time
}

// A known is a file with properties that tell whether it has changed, and to
// which recording it belongs.
type known struct {
	Size  int64
	Time  int64  // time of the last change, in nanoseconds
	Print string // hash of the beginning and the end
	Part  *dissect.Part

	used, stored bool
}

// An entry is the data that was read from a recording.
type entry struct {
	Matches []league.Kept
	Said    []string // messages about the recording
	Damaged bool
	Failed  bool

	line         []byte // line in the cache
	used, stored bool
}

// A line is a line in the cache.
type line struct {
	Version string `json:",omitempty"` // only in the first line
	Name    string `json:",omitempty"` // name of a file
	File    *known `json:",omitempty"`
	Key     string `json:",omitempty"` // key of a recording
	Entry   *entry `json:",omitempty"`
}

// openCache reads the cache of a folder. If the cache is damaged or has another
// version, it returns an empty cache.
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

// version returns the version in the first line of the cache.
func version() string {
	v, _ := json.Marshal(map[string]any{"layout": layout, "program": cli.Version()}) // cannot fail for these values
	return string(v)
}

func (c *cache) path() string { return filepath.Join(c.dir, "read.ndjson") }

// load reads the file. It does not parse the matches of recordings, which find
// does when they are needed.
func (c *cache) load() {
	clear(c.files)
	clear(c.entries)
	f, err := os.Open(c.path())
	if c.dir == "" || err != nil {
		return
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
	r := bufio.NewReaderSize(f, 1<<16)
	if text, err := r.ReadString('\n'); err != nil || text != header() {
		return
	}
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return // an incomplete last line is ignored
		}
		if key, ok := keyOf(text); ok {
			c.entries[key] = &entry{line: text, stored: true}
			continue
		}
		var l line // empty, or incomplete if a run was killed
		if json.Unmarshal(text, &l) == nil && l.File != nil && l.File.Part != nil {
			l.File.stored = true
			c.files[l.Name] = l.File
		}
	}
}

// header returns the first line of the cache.
func header() string {
	b, _ := json.Marshal(&line{Version: version()}) // cannot fail for a string
	return string(b) + "\n"
}

// keyOf returns the key in an entry's line without parsing the rest.
func keyOf(text []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"Key":"`))
	key, _, cut := bytes.Cut(rest, []byte(`"`))
	return string(key), ok && cut
}

// find returns the data of a recording, or nil if the cache does not have it.
func (c *cache) find(key string) *entry {
	e := c.entries[key]
	if e == nil {
		return nil
	}
	var l line
	if json.Unmarshal(e.line, &l) != nil || l.Entry == nil {
		return nil
	}
	l.Entry.line, l.Entry.used, l.Entry.stored = e.line, true, e.stored
	c.entries[key] = l.Entry
	return l.Entry
}

// add adds the data of a recording, and returns it as find would.
func (c *cache) add(key string, e *entry) *entry {
	text, err := json.Marshal(&line{Key: key, Entry: e})
	if err != nil {
		return e // it has a number that JSON does not support
	}
	c.entries[key] = &entry{line: append(text, '\n')}
	if found := c.find(key); found != nil {
		return found
	}
	return e
}

// save stores what is not in the file yet. If all is not set, it removes what
// was not used.
func (c *cache) save(all bool) error {
	c.saved = time.Now()
	if c.dir == "" {
		return nil
	}
	if all || !c.unused() {
		if done, err := c.append(); done || err != nil {
			return err
		}
	}
	b := bytes.NewBufferString(header())
	c.encode(b, func(used, _ bool) bool { return all || used })
	left, _ := filepath.Glob(filepath.Join(c.dir, ".draft-*")) // drafts of runs that were killed
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(name) // the next run tries again
		}
	}
	return replaceFile(c.dir, c.path(), b.Bytes(), 0o600)
}

// unused reports whether the file has data that was not used.
func (c *cache) unused() bool {
	for _, f := range c.files {
		if !f.used {
			return true
		}
	}
	for _, e := range c.entries {
		if !e.used {
			return true
		}
	}
	return false
}

// encode writes the lines of the files and recordings that are wanted, and
// notes that the file has them.
func (c *cache) encode(b *bytes.Buffer, wanted func(used, stored bool) bool) {
	w := json.NewEncoder(b)
	for name, f := range c.files {
		if wanted(f.used, f.stored) {
			_ = w.Encode(&line{Name: name, File: f}) // a buffer never returns an error, and these values can be encoded
			f.stored = true
		}
	}
	for _, e := range c.entries {
		if wanted(e.used, e.stored) {
			_, _ = b.Write(e.line)
			e.stored = true
		}
	}
}

// append appends what is not in the file. It returns false if there is no file
// of this version.
func (c *cache) append() (done bool, err error) {
	f, err := os.OpenFile(c.path(), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return false, nil // the file is written anew, which returns the error if that fails too
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	first := make([]byte, len(header()))
	if _, err := io.ReadFull(f, first); err != nil || string(first) != header() {
		return false, nil // as above
	}
	b := bytes.NewBufferString("\n") // ends the incomplete line of a run that was killed
	c.encode(b, func(_, stored bool) bool { return !stored })
	if b.Len() > 1 {
		_, err = f.Write(b.Bytes())
	}
	return true, err
}

// look returns the known properties of a file if its beginning and end have not
// changed.
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
	c.files[name] = &now
	return &now, nil
}

// edge is the number of bytes compared at the beginning and the end of a file.
// Programs that copy a file with its times leave no other sign of a change.
const edge = 4096

// fingerprint returns a hash of a file's beginning and end.
func fingerprint(name string, size int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
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

// replaceFile replaces a file in one step. The folder for drafts must be on the
// same file system.
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
		_ = os.Remove(f.Name()) // the first error is returned
	}
	return err
}
