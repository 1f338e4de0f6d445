// Package home serves the page for users who do not use the command line. With
// the page they record a game, open captures, find servers and make anonymous
// copies.
package home

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/site"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/page"
)

//go:embed page
var parts embed.FS

// policy is the content security policy of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// largest is the maximum size of a request in bytes. A capture that is dropped
// on the page may be as large as a capture that the page can read.
const (
	largest        = 64 << 10
	largestCapture = 2 << 30
)

// A Home serves the page and executes its actions.
type Home struct {
	folder  string // folder of recordings
	servers string // file with the servers that were used
	view    *site.Site
	log     *cli.Log
	said    *memory
	key     string // secret that proves that a request comes from the page
	host    string // the only accepted host name, which protects against DNS rebinding
	mux     http.ServeMux
	files   map[string][]byte

	starting sync.Mutex // held while a recording begins
	mu       sync.Mutex
	tape     *recording // the current recording, or the last one
	dropped  string     // folder of captures that were dropped on the page
	drops    int
	opened   opening // captures named when the program was started
}

// Options configure a Home.
type Options struct {
	Folder  string // folder of recordings
	Servers string // file that stores servers
}

// New returns a Home. The listener l serves its page, and captures are opened
// in view. Messages of the program are written to w and shown on the page.
func New(l net.Listener, w io.Writer, view *site.Site, o Options) (_ *Home, err error) {
	said := &memory{w: w}
	h := &Home{folder: o.Folder, servers: o.Servers, view: view, log: cli.NewLog(said, false), said: said, key: rand.Text(), host: l.Addr().String(), files: map[string][]byte{}}
	for _, name := range []string{"index.html", "home.js", "home.css"} {
		if h.files[name], err = parts.ReadFile("page/" + name); err != nil {
			return nil, err
		}
	}
	h.files["home.js"] = fmt.Appendf(nil, "'use strict';\n(() => {\n%s%s})();\n", page.Script(), h.files["home.js"])
	h.files["home.css"] = append([]byte(page.Style()), h.files["home.css"]...)
	h.mux.Handle("/view/", http.StripPrefix("/view", view))
	files := site.Secure(http.HandlerFunc(h.file))
	for _, name := range []string{"{$}", "home.js", "home.css"} {
		h.mux.Handle("/"+name, files)
	}
	h.action("state", func(context.Context, *request) (any, error) { return h.state(), nil })
	h.action("look", func(ctx context.Context, _ *request) (any, error) { return h.look(ctx), nil })
	h.action("record", func(ctx context.Context, r *request) (any, error) { return nil, h.record(ctx, r.Server) })
	h.action("stop", func(context.Context, *request) (any, error) { return h.stop() })
	h.action("open", func(_ context.Context, r *request) (any, error) { return h.open(r.Names) })
	h.action("sample", func(context.Context, *request) (any, error) { return h.sample() })
	h.action("anonymous", func(_ context.Context, r *request) (any, error) { return h.anonymous(r.Names) })
	h.action("folder", func(context.Context, *request) (any, error) { return nil, h.showFolder() })
	h.mux.HandleFunc("POST /api/drop", h.drop)
	h.mux.HandleFunc("/live/", h.live)
	return h, nil
}

// Address returns the address of the page with the key. The page opens the
// captures named when the program was started.
func (h *Home) Address() string { return "http://" + h.host + "/#key=" + h.key }

// Say shows a message to the user.
func (h *Home) Say(format string, args ...any) { h.log.Say(format, args...) }

// Close completes the recording and removes temporary files.
func (h *Home) Close() {
	if r := h.running(); r != nil {
		r.end()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dropped != "" {
		_ = os.RemoveAll(h.dropped) // leftover files do not justify an error
	}
	h.log.Close()
}

// ServeHTTP implements [http.Handler]. It rejects requests with another host
// name, which come from a page whose name resolves to this address.
func (h *Home) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != h.host {
		http.Error(w, "this server has another name", http.StatusMisdirectedRequest)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// file sends a file of the page.
func (h *Home) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	kinds := map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
	head := w.Header()
	head.Set("Content-Type", kinds[path.Ext(name)]+"; charset=utf-8")
	head.Set("Content-Security-Policy", policy)
	head.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.files[name]))
}

// A request has the arguments of an action.
type request struct {
	Server string   `json:"server"`
	Names  []string `json:"names"`
}

// action registers an action of the page. Its answer is a JSON object. If there
// is an error, the object contains it as a sentence.
func (h *Home) action(name string, do func(context.Context, *request) (any, error)) {
	h.mux.HandleFunc("POST /api/"+name, func(w http.ResponseWriter, r *http.Request) {
		if !h.allowed(w, r) {
			return
		}
		var asked request
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largest)).Decode(&asked); err != nil {
			http.Error(w, "not a request of the page", http.StatusBadRequest)
			return
		}
		answer(w, func() (any, error) { return do(r.Context(), &asked) })
	})
}

// allowed reports whether a request comes from the page, since only the page
// has the key. Pages of other origins cannot send the header with the key
// without a CORS preflight request, which fails.
func (h *Home) allowed(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Bcdissect-Key")), []byte(h.key)) != 1 || origin != "" && origin != "http://"+h.host {
		http.Error(w, "only the page of this program may ask for this", http.StatusForbidden)
		return false
	}
	return true
}

// answer sends the result of an action.
func answer(w http.ResponseWriter, do func() (any, error)) {
	v, err := do()
	if err != nil {
		v = map[string]string{"error": report.Escape(err.Error())}
	}
	if v == nil {
		v = struct{}{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// A state is the data that the page shows.
type state struct {
	Folder     string   `json:"folder"`
	Recordings []file   `json:"recordings"`
	More       int      `json:"more"` // number of recordings that are not listed
	Servers    []string `json:"servers"`
	Tape       *status  `json:"tape"`
	Opened     opening  `json:"opened"`
	Said       []string `json:"said"`
}

func (h *Home) state() *state {
	s := &state{Folder: report.Escape(h.folder), Servers: h.used(), Said: h.said.all()}
	s.Recordings, s.More = h.recordings()
	h.mu.Lock()
	tape := h.tape
	s.Opened = h.opened
	h.mu.Unlock()
	if tape != nil {
		s.Tape = tape.status()
	}
	return s
}

// showFolder opens the folder of recordings in the system's file manager.
func (h *Home) showFolder() error {
	if err := h.makeFolder(); err != nil {
		return err
	}
	if err := site.Start(h.folder); err != nil {
		return errors.New("no file manager was found")
	}
	return nil
}

func (h *Home) makeFolder() error {
	if err := os.MkdirAll(h.folder, 0o755); err != nil {
		return elsewhere(cli.PlainPath(h.folder, err))
	}
	return nil
}

// elsewhere adds the way out to an error of writing to the folder of
// recordings. On Windows the protection against ransomware can cause one.
func elsewhere(err error) error {
	return fmt.Errorf("%w; let the program write there, or start it with home --folder and another folder", err)
}

// A memory passes on messages of the program and keeps the last lines for the
// page.
type memory struct {
	w     io.Writer
	mu    sync.Mutex
	lines []string
}

// Write implements [io.Writer].
func (m *memory) Write(b []byte) (int, error) {
	const most = 30 // number of lines
	m.mu.Lock()
	for line := range strings.Lines(string(b)) {
		m.lines = append(m.lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "bcdissect: "))
	}
	m.lines = m.lines[max(len(m.lines)-most, 0):]
	m.mu.Unlock()
	return m.w.Write(b)
}

func (m *memory) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.lines...)
}

// Folder returns the default folder of recordings.
func Folder() (string, error) {
	documents, err := documents()
	if err != nil {
		return "", errors.New("no folder for recordings is known; name one with --folder")
	}
	return filepath.Join(documents, "bcdissect"), nil
}
