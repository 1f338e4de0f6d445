// Package site serves the web page that reads captures in the browser. "make
// web" packs its files. The build tag web embeds them in the program.
package site

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrAbsent is the error of a program that was built without the site.
var ErrAbsent = errors.New("this program was built without the page; use a released one, or build it with make build")

// A Site is a handler that serves the page and some captures.
type Site struct {
	files  map[string][]byte
	secret string // secret part of the captures' addresses

	mu       sync.Mutex
	captures []string
}

// New returns the site. The page opens the captures when it is loaded.
func New(captures []string) (*Site, error) {
	if packed == nil {
		return nil, ErrAbsent
	}
	return Unpack(packed, captures)
}

// Unpack is like New, with another archive of the page's files.
func Unpack(b []byte, captures []string) (*Site, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("web: the page in this program is damaged: %w", err)
	}
	s := &Site{files: map[string][]byte{}, captures: captures, secret: rand.Text()}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		s.files[f.Name] = text
	}
	return s, nil
}

// Address returns the address of the page on a server. With the address, the
// page opens the captures.
func (s *Site) Address(at netip.AddrPort) string {
	return "http://" + Reachable(at).String() + "/" + s.fragment(s.captures, 0)
}

// Add adds captures. It returns the text to append to the address of the page
// so that it opens them.
func (s *Site) Add(captures []string) (fragment string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.captures)
	s.captures = append(s.captures, captures...)
	return s.fragment(captures, from)
}

// fragment returns the part of an address that names captures. The argument
// from is the index of the first.
func (s *Site) fragment(captures []string, from int) (text string) {
	for i, name := range captures {
		sign := "&"
		if i == 0 {
			sign = "#"
		}
		text += sign + "file=" + url.QueryEscape(s.place(from+i)+url.PathEscape(filepath.Base(name)))
	}
	return text
}

// find returns the capture that a request names.
func (s *Site) find(asked string) (name string, ok bool) {
	below, ok := strings.CutPrefix(asked, "captures/"+s.secret+"/")
	number, _, _ := strings.Cut(below, "/")
	i, err := strconv.Atoi(number)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || err != nil || i < 0 || i >= len(s.captures) {
		return "", false
	}
	return s.captures[i], true
}

// place returns the folder of a capture.
func (s *Site) place(i int) string { return "captures/" + s.secret + "/" + strconv.Itoa(i) + "/" }

// ServeHTTP implements [http.Handler].
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	Secure(http.HandlerFunc(s.serve)).ServeHTTP(w, r)
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	name := strings.TrimPrefix(r.URL.Path, "/")
	if file, ok := s.find(name); ok {
		s.capture(w, r, file)
		return
	}
	if name == "" {
		name = "index.html"
	}
	text, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch kind := path.Ext(name); kind {
	case ".wasm":
		h.Set("Content-Type", "application/wasm")
	case ".js": // the system's table may have another type
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	default:
		h.Set("Content-Type", mime.TypeByExtension(kind))
	}
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// capture sends a capture.
func (s *Site) capture(w http.ResponseWriter, r *http.Request, name string) {
	f, err := os.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, f)
}
