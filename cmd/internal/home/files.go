package home

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/cmd/internal/sample"
	"github.com/bcdissect/bcdissect/cmd/internal/viewer"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report"
)

// mostFiles is the maximum number of recordings in the list.
const mostFiles = 200

// A file is a recording in the list. If it has several names, these are the
// parts of a ring buffer.
type file struct {
	Names []string `json:"names"`
	Shown string   `json:"shown"` // the name without control characters
	Bytes int64    `json:"bytes"`
	Time  int64    `json:"time"` // time of the last change, in milliseconds since 1970
}

// captureName matches the names of captures.
var captureName = regexp.MustCompile(`(?i)\.(pcap|pcapng|cap)(\.gz|\.zst)?$`)

// partName matches the names of ring buffer files. Its groups are the common
// prefix, a number, a time, and the common extension.
var partName = regexp.MustCompile(`^(.*)_([0-9]{5})_([0-9]{14})(\.[^.]*(?:\.[^.]*)?)$`)

// recordings lists the recordings in the folder, the latest first. It returns
// the number of those that are not listed.
func (h *Home) recordings() (all []file, more int) {
	entries, _ := os.ReadDir(h.folder) // the folder may not exist yet
	order := func(e os.DirEntry) string { return partName.ReplaceAllString(e.Name(), "$1$4/$3") }
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(order(a), order(b)) })
	all = []file{}
	before := "" // key of the part that could follow the last one: the common parts of the name and the next number
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !captureName.MatchString(e.Name()) {
			continue
		}
		f := file{[]string{e.Name()}, report.Escape(e.Name()), info.Size(), info.ModTime().UnixMilli()}
		m := partName.FindStringSubmatch(e.Name())
		if m == nil {
			all = append(all, f)
			continue
		}
		number, _ := strconv.Atoi(m[2]) // cannot fail for five digits
		place := func(number int) string { return fmt.Sprintf("%s%s/%d", m[1], m[4], number) }
		if before == place(number) {
			first := &all[len(all)-1]
			first.Names, first.Bytes, first.Time = append(first.Names, e.Name()), first.Bytes+f.Bytes, max(first.Time, f.Time)
		} else {
			all = append(all, f)
		}
		before = place(number + 1)
	}
	slices.SortStableFunc(all, func(a, b file) int { return cmp.Compare(b.Time, a.Time) })
	if len(all) > mostFiles {
		all, more = all[:mostFiles], len(all)-mostFiles
	}
	return all, more
}

// An opening has the address of the page with the captures that could be
// opened, and a sentence about each that could not.
type opening struct {
	View    string   `json:"view,omitempty"`
	Remarks []string `json:"remarks,omitempty"`
}

// unquote removes quotes and white space from a pasted path.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text) - 1; n > 0 && (text[0] == '"' || text[0] == '\'') && text[n] == text[0] {
		text = text[1:n]
	}
	return strings.TrimSpace(text)
}

// path returns the file with a name. A name without a folder is in the folder
// of recordings.
func (h *Home) path(name string) string {
	if name = unquote(name); filepath.Base(name) == name {
		return filepath.Join(h.folder, name)
	}
	return name
}

// captures returns the names that are captures, and remarks on the others.
func (h *Home) captures(names []string) (good, remarks []string) {
	for _, name := range names {
		path := h.path(name)
		if err := check(path); err != nil {
			// The user knows the folder, and it would make the sentence long.
			remarks = append(remarks, report.Escape(strings.ReplaceAll(err.Error(), path, filepath.Base(path))))
			continue
		}
		good = append(good, path)
	}
	return good, remarks
}

// check returns an error if a file cannot be opened as a capture.
func check(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return cli.PlainPath(path, err)
	case info.IsDir():
		return fmt.Errorf("%s: a folder; choose the captures in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file; choose a capture", path)
	}
	src, err := capture.OpenAll([]string{path}, nil)
	if err != nil {
		return err
	}
	_ = src.Close() // it was opened only for reading
	return nil
}

// open opens captures together. It joins the parts of a recording, and opens
// each capture once.
func (h *Home) open(names []string) (*opening, error) {
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return unquote(name) == "" }) {
		return nil, errors.New("choose a recording, or type or paste the path of a capture")
	}
	good, remarks := h.captures(names)
	o := &opening{Remarks: remarks}
	if len(good) == 0 {
		return nil, errors.New(strings.Join(remarks, "\n"))
	}
	whole, copies, err := h.whole(good)
	if err != nil {
		return nil, err
	}
	for _, name := range good {
		if first, ok := copies[name]; ok {
			o.Remarks = append(o.Remarks, report.Escape(fmt.Sprintf("%s has the same bytes as %s; it counts once", filepath.Base(name), filepath.Base(first))))
		}
	}
	o.View = "view/" + h.view.Add(whole)
	return o, nil
}

// whole returns one capture for each recording. It joins parts in a new file,
// since the page shows the matches of each file separately.
func (h *Home) whole(names []string) (whole []string, copies map[string]string, err error) {
	groups, copies := dissect.Recordings(dissect.Config{}, names)
	for _, parts := range groups {
		name := parts[0]
		if len(parts) > 1 {
			if name, err = h.join(parts); err != nil {
				return nil, nil, err
			}
		}
		whole = append(whole, name)
	}
	return whole, copies, nil
}

// join joins the parts of a recording in one file.
func (h *Home) join(parts []string) (name string, err error) {
	dir, err := h.scratch()
	if err != nil {
		return "", err
	}
	base := filepath.Base(parts[0])
	name = filepath.Join(dir, fmt.Sprintf("%s and %d more.pcapng", captureName.ReplaceAllString(base, ""), len(parts)-1))
	var o extract.Options
	if o.Sections, err = extract.Sections(parts, nil, nil); err != nil {
		return "", err
	}
	job, err := extract.New(o, func(o capture.CopyOptions) (*capture.Copy, error) { return capture.CreateCopy(name, false, o) })
	if err == nil {
		_, _, err = job.Run(parts, nil, func(*capture.Series) {}) // the page reports damage
	}
	if err != nil {
		return "", fmt.Errorf("the parts of %s could not be joined: %w", base, cli.Plain(err))
	}
	return name, nil
}

// Open opens the captures that the user named when starting the program.
func (h *Home) Open(names []string) {
	for i, name := range names { // a name without a folder is in the current folder
		if path, err := filepath.Abs(name); err == nil {
			names[i] = path
		}
	}
	o, err := h.open(names)
	if err != nil {
		o = &opening{Remarks: strings.Split(err.Error(), "\n")}
	}
	for _, text := range o.Remarks {
		h.log.Say("%s", text)
	}
	h.mu.Lock()
	h.opened = *o
	h.mu.Unlock()
}

// scratch returns a new folder for a capture. It is removed when the program
// ends.
func (h *Home) scratch() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dropped == "" {
		dir, err := os.MkdirTemp("", "bcdissect-*")
		if err != nil {
			return "", fmt.Errorf("the folder for temporary files can't be used: %w", cli.PlainPath(os.TempDir(), err))
		}
		h.dropped = dir
	}
	h.drops++
	dir := filepath.Join(h.dropped, strconv.Itoa(h.drops))
	return dir, os.Mkdir(dir, 0o700)
}

// sample opens the match that is embedded in the program.
func (h *Home) sample() (*opening, error) {
	dir, err := h.scratch()
	if err != nil {
		return nil, err
	}
	name, err := sample.WriteTo(dir)
	if err != nil {
		return nil, err
	}
	return h.open([]string{name})
}

// unusable matches characters that file names on Windows cannot have.
var unusable = regexp.MustCompile(`[\x00-\x1f<>:"/\\|?*]`)

// drop stores a capture that was dropped on the page. It answers with the path.
func (h *Home) drop(w http.ResponseWriter, r *http.Request) {
	if !h.allowed(w, r) {
		return
	}
	answer(w, func() (any, error) {
		dir, err := h.scratch()
		if err != nil {
			return nil, err
		}
		name := unusable.ReplaceAllString(r.URL.Query().Get("name"), "_")
		if strings.Trim(name, ". ") == "" {
			name = "capture"
		}
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, cli.PlainPath(name, err)
		}
		_, err = io.Copy(f, http.MaxBytesReader(w, r.Body, largestCapture))
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.RemoveAll(dir) // the first error is reported
			return nil, fmt.Errorf("couldn't copy %s: %w", name, cli.Plain(err))
		}
		return map[string]string{"path": path}, nil
	})
}

// A copied describes an anonymous copy and what was replaced in it.
type copied struct {
	File  string `json:"file"`
	Notes string `json:"notes"`
}

// anonymous writes an anonymous copy of a capture to the folder of recordings.
func (h *Home) anonymous(names []string) (*copied, error) {
	good, remarks := h.captures(names)
	if len(remarks) > 0 {
		return nil, errors.New(strings.Join(remarks, "\n"))
	}
	whole, _, err := h.whole(good)
	if err != nil {
		return nil, err
	}
	if len(whole) != 1 {
		return nil, errors.New("choose one recording")
	}
	if err := h.makeFolder(); err != nil {
		return nil, err
	}
	base := filepath.Base(whole[0])
	path := unused(filepath.Join(h.folder, captureName.ReplaceAllString(base, "")+".anonymous"))
	name := filepath.Base(path)
	draft, err := cli.CreateDraft(path, false, cli.Streams{Graceful: true})
	if err != nil {
		return nil, elsewhere(err)
	}
	notes, err := viewer.Save(draft, viewer.Choice{Form: viewer.FormAnonymous, Name: name}, whole, func(int64, int64) {})
	if err = errors.Join(err, draft.Close()); err != nil {
		draft.Discard()
		return nil, cli.PlainPath(name, err)
	}
	if err := draft.Accept(); err != nil {
		return nil, cli.PlainPath(name, err)
	}
	h.log.Say("an anonymous copy of %s is in %s", base, name)
	return &copied{report.Escape(name), notes}, nil
}

// unused returns a name for a capture that does not exist yet.
func unused(prefix string) string {
	const most = 1000 // maximum number of captures with the same prefix
	name := prefix + ".pcapng"
	for n := 2; n < most; n++ {
		if _, err := os.Lstat(name); err != nil {
			break
		}
		name = fmt.Sprintf("%s (%d).pcapng", prefix, n)
	}
	return name
}
