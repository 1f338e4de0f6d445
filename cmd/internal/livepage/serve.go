package livepage

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/site"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
)

// Limits of viewers.
const (
	mostViewers = 256              // viewers at the same time, and more are refused
	reserved    = 16               // number of these that only the owner can use
	stuck       = 10 * time.Second // timeout for a viewer that does not read
	quiet       = 15 * time.Second // time without data after which a comment tells the viewer that the server is still there
	chunk       = 16 << 10         // size of a viewer's buffer in bytes
)

//go:embed site
var files embed.FS

// policy is the content security policy of the pages. It allows only their own
// files.
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'"

// Handler returns the handler for all paths.
func (s *Server) Handler() http.Handler {
	return site.Secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-store")
		token, name, slash := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !slash:
			http.NotFound(w, r)
		case token == s.owner:
			s.serve(w, r, name, pageOwner, apiOwner, 0)
		case token == s.public && s.delay > 0:
			s.serve(w, r, name, pagePublic, apiPublic, s.delay)
		default:
			http.NotFound(w, r)
		}
	}))
}

// serve answers a request for a page or for a part of one.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, name string, ofPage, ofAPI view, delay time.Duration) {
	v := &viewer{server: s, w: w, out: http.NewResponseController(w), delay: delay}
	defer v.rest()
	v.hurry()
	var err error
	switch name {
	case "api/page":
		v.view = ofPage
		err = v.admit(r, func() error { return v.stream(r) })
	case "api/flights":
		v.view = ofPage
		err = v.admit(r, func() error { return v.flights(r) })
	case "api/live":
		v.view = ofAPI
		send := v.document
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			send = func() error { return v.stream(r) }
		}
		err = v.admit(r, send)
	default:
		v.file(r, name)
	}
	if err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // the viewer must not mistake a part for the whole
	}
}

// file sends a file of the pages.
func (v *viewer) file(r *http.Request, name string) {
	var text string
	switch name {
	case "page.js":
		text = "'use strict';\n" + page.Script()
	case "page.css":
		text = page.Style()
	case "", "overlay":
		name = map[string]string{"": "index.html", "overlay": "overlay.html"}[name]
		fallthrough
	default:
		b, err := fs.ReadFile(files, path.Join("site", path.Clean("/"+name)))
		if err != nil {
			http.NotFound(v.w, r)
			return
		}
		text = string(b)
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" { // the system's table may have another type
		kind = "text/javascript; charset=utf-8"
	}
	v.w.Header().Set("Content-Type", kind)
	http.ServeContent(v.w, r, "", time.Time{}, strings.NewReader(text))
}

// A viewer is a request for matches.
type viewer struct {
	server *Server
	w      http.ResponseWriter
	out    *http.ResponseController
	view   view
	delay  time.Duration
	own    *[chunk]byte // nil while nothing is sent
	buffer []byte       // what is to be sent
}

// hurry sets a deadline, after which the viewer is dropped.
func (v *viewer) hurry() {
	_ = v.out.SetWriteDeadline(time.Now().Add(stuck)) // a connection without deadlines ends in other ways
}

// admit calls send to serve the viewer. If there are too many viewers, it
// refuses the viewer.
func (v *viewer) admit(r *http.Request, send func() error) error {
	places := []chan struct{}{v.server.viewers}
	if v.delay > 0 {
		places = []chan struct{}{v.server.guests, v.server.viewers}
	}
	for _, place := range places {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		default:
			v.w.Header().Set("Retry-After", "30")
			http.Error(v.w, "too many people watch already; try again later", http.StatusServiceUnavailable)
			return nil
		}
	}
	if r.Method == http.MethodHead {
		return nil
	}
	return send()
}

// each calls yield with the entries that a new viewer needs.
func (v *viewer) each(p *plan, yield func(e *entry) error) error {
	for m := p.first; m <= p.current; m++ {
		if e, ok := p.keys[m]; ok {
			if err := yield(&e); err != nil {
				return err
			}
		}
	}
	for place := p.from; place < p.until; {
		e, err := v.server.journal.at(place)
		if err != nil {
			return err
		}
		if place = e.next(); e.views&v.view != 0 && p.wants(&e) {
			if err := yield(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// stream sends events until the viewer disconnects or the server ends.
func (v *viewer) stream(r *http.Request) error {
	v.w.Header().Set("Content-Type", "text/event-stream")
	p, err := v.server.journal.plan(v.view, v.delay)
	if err != nil {
		return err
	}
	place, again := v.server.resume(r.Header.Get("Last-Event-ID"), p.until)
	if !again {
		v.print("event: begin\ndata: {\"schema\":%d,\"delay\":%g,\"match\":%d,\"first\":%d,\"most\":%d}\n\n", ndjson.Schema, v.delay.Seconds(), p.current, p.first, mostMatches)
		if err := v.each(&p, func(e *entry) error { return v.event(e, false) }); err != nil {
			return err
		}
		v.print("id: %s-%d\nevent: ready\ndata: {}\n\n", v.server.journal.id, p.until)
		place = p.until
	}
	for {
		if err := v.flush(); err != nil {
			return err
		}
		next, err := v.follow(place)
		if err != nil {
			return err
		}
		if next == place && !v.wait(r, place) {
			_, err := v.follow(place) // entries written before the server ended
			return errors.Join(err, v.flush())
		}
		place = next
	}
}

// follow sends entries from an offset on that are old enough, and returns the
// next offset.
func (v *viewer) follow(place int64) (int64, error) {
	j := v.server.journal
	for size, _ := j.extent(); place < size; {
		e, err := j.at(place)
		if err != nil || time.Since(j.began) < e.at+v.delay {
			return place, err
		}
		place = e.next()
		if e.views&v.view != 0 {
			if err := v.event(&e, true); err != nil {
				return place, err
			}
		}
	}
	return place, nil
}

// wait waits until there is an entry at an offset and it is old enough. It
// returns false if the viewer disconnects or the server ends.
func (v *viewer) wait(r *http.Request, place int64) bool {
	v.rest()
	j := v.server.journal
	size, changed := j.extent()
	pause := quiet
	if place < size {
		e, err := j.at(place)
		if err != nil {
			return false
		}
		changed, pause = nil, min(quiet, e.at+v.delay-time.Since(j.began))
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-v.server.end:
		return false
	case <-changed:
	case <-t.C:
		if pause == quiet {
			v.print(":\n\n")
		}
	}
	return true
}

// event sends an entry as an event. With an ID, a viewer can resume after it.
func (v *viewer) event(e *entry, id bool) error {
	if id {
		v.print("id: %s-%d\n", v.server.journal.id, e.next())
	}
	name := "match"
	if e.kind == flight {
		name = "flight"
	}
	v.print("event: %s\ndata: ", name)
	if err := v.copy(e); err != nil {
		return err
	}
	v.print("\n\n")
	return nil
}

// copy sends the text of an entry.
func (v *viewer) copy(e *entry) error {
	for text := v.server.journal.text(e); ; {
		if len(v.buffer) == cap(v.buffer) {
			if err := v.flush(); err != nil {
				return err
			}
		}
		n, err := text.Read(v.buffer[len(v.buffer):cap(v.buffer)])
		v.buffer = v.buffer[:len(v.buffer)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// buffers are for viewers that are being sent something.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// rest returns the buffer, whose contents have been sent.
func (v *viewer) rest() {
	if v.own != nil {
		buffers.Put(v.own)
		v.own, v.buffer = nil, nil
	}
}

// print adds text to the buffer.
func (v *viewer) print(format string, args ...any) {
	if v.own == nil {
		v.own = buffers.Get().(*[chunk]byte)
		v.buffer = v.own[:0]
	}
	v.buffer = fmt.Appendf(v.buffer, format, args...)
}

// flush sends the buffer. It returns an error if the viewer does not read it.
func (v *viewer) flush() error {
	if len(v.buffer) == 0 {
		return v.out.Flush()
	}
	v.hurry()
	_, err := v.w.Write(v.buffer)
	v.buffer = v.buffer[:0]
	return errors.Join(err, v.out.Flush())
}

// flights sends the flights of a match as a list.
func (v *viewer) flights(r *http.Request) error {
	p, err := v.server.journal.plan(v.view, v.delay)
	if err != nil {
		return err
	}
	m, malformed := strconv.Atoi(r.URL.Query().Get("match"))
	if _, known := p.keys[m]; malformed != nil || !known {
		http.NotFound(v.w, r)
		return nil //nolint:nilerr // the viewer's mistake, answered with 404
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.server.journal.mu.Lock()
	p.from, p.current = v.server.journal.begun[m], m
	v.server.journal.mu.Unlock()
	sign := "["
	err = v.each(&plan{keys: map[int]entry{}, current: m, from: p.from, until: p.until}, func(e *entry) error {
		if e.kind != flight {
			return nil
		}
		v.print("%s", sign)
		sign = ","
		return v.copy(e)
	})
	if sign == "[" {
		v.print("[")
	}
	v.print("]")
	return errors.Join(err, v.flush())
}

// resume returns the offset after a viewer's last event. The ID comes from the
// viewer, who may lie. The viewer must not learn where entries after until
// begin, since those are too new.
func (s *Server) resume(id string, until int64) (place int64, ok bool) {
	of, number, _ := strings.Cut(id, "-")
	place, err := strconv.ParseInt(number, 10, 64)
	return place, of == s.journal.id && err == nil && place <= until && s.journal.begins(place)
}

// A part is what an entry contains about a match.
type part struct {
	Match  int
	Whole  bool
	Values map[string]json.RawMessage
	Lists  map[string]map[string]json.RawMessage
}

// document sends all matches as one object.
func (v *viewer) document() error {
	p, err := v.server.journal.plan(v.view, v.delay)
	if err != nil {
		return err
	}
	all := map[int]map[string]any{}
	err = v.each(&p, func(e *entry) error {
		var of part
		text, err := io.ReadAll(v.server.journal.text(e))
		if err = errors.Join(err, json.Unmarshal(text, &of)); err != nil {
			return err
		}
		if of.Whole || all[of.Match] == nil {
			all[of.Match] = map[string]any{}
		}
		of.apply(all[of.Match])
		return nil
	})
	if err != nil {
		return err
	}
	matches := make([]map[string]any, 0, len(all))
	for _, m := range slices.Sorted(maps.Keys(all)) {
		matches = append(matches, all[m])
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.buffer, err = json.Marshal(map[string]any{"schema": ndjson.Schema, "delay": v.delay.Seconds(), "first": p.first, "matches": matches})
	return errors.Join(err, v.flush())
}

// apply applies the changes of a part.
func (p *part) apply(to map[string]any) {
	for name, value := range p.Values {
		if string(value) == "null" {
			delete(to, name)
		} else {
			to[name] = value
		}
	}
	for name, items := range p.Lists {
		old, _ := to[name].([]json.RawMessage)
		n, _ := strconv.Atoi(string(items["length"]))
		list := make([]json.RawMessage, n)
		copy(list, old)
		for i := range list {
			if item, ok := items[strconv.Itoa(i)]; ok {
				list[i] = item
			}
		}
		to[name] = list
	}
}
