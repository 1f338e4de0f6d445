package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/proxy"
	"github.com/bcdissect/bcdissect/cmd/internal/query"
	"github.com/bcdissect/bcdissect/report"
)

// mostPorts is the number of ports to try for the game to join. A host on this
// computer may use the first.
const mostPorts = 10

// A recording is a proxy that records a game.
type recording struct {
	server string
	file   string
	began  time.Time
	proxy  *proxy.Proxy
	end    func() // waits until the recording is complete
	ended  chan struct{}

	audience *audience // nil if there is no live page

	took time.Duration // duration, set when the recording has ended
	err  error
}

// A status describes a recording.
type status struct {
	Running   bool    `json:"running"`
	Server    string  `json:"server"`
	Join      string  `json:"join"` // address to type in the game
	File      string  `json:"file"`
	Seconds   float64 `json:"seconds"`
	Playing   int     `json:"playing"`         // number of games on this computer that are playing
	Datagrams int64   `json:"datagrams"`       // number in both directions
	Bytes     int64   `json:"bytes"`           // size of the file
	Live      string  `json:"live,omitempty"`  // path of the live page
	Error     string  `json:"error,omitempty"` // why the recording is not complete
}

// running returns the current recording, nil if there is none.
func (h *Home) running() *recording {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tape == nil || h.tape.over() {
		return nil
	}
	return h.tape
}

// over reports whether a recording has ended.
func (r *recording) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// record begins to record a game on a server.
func (h *Home) record(ctx context.Context, name string) error {
	if !h.starting.TryLock() {
		return errors.New("a recording is being started")
	}
	defer h.starting.Unlock()
	if h.running() != nil {
		return errors.New("a recording is running; stop it first")
	}
	name = unquote(name)
	if name == "" {
		return errors.New("choose a server, or type its name or address")
	}
	target, err := proxy.ParseTarget(name)
	if err != nil {
		return err
	}
	var listen []string
	for port := range mostPorts {
		listen = append(listen, strconv.Itoa(query.FirstPort+port))
	}
	p, err := proxy.Open(ctx, target, listen...)
	if err != nil {
		return err
	}
	p.Log = h.log
	r := &recording{server: target.String(), began: time.Now(), proxy: p, ended: make(chan struct{})}
	if err := h.write(r); err != nil {
		p.Close()
		return err
	}
	if r.audience, err = newAudience(target.Port(), h.log.Say); err != nil {
		h.log.Say("no live page: %v", cli.Plain(err))
	} else {
		p.Feed = r.audience.feed
	}
	p.Greet()
	h.log.Say("recording in %s", r.file)
	h.remember(name)
	stop := make(chan struct{})
	r.end = sync.OnceFunc(func() { close(stop); <-r.ended })
	go func() {
		defer cli.Guard()
		r.err = p.Serve(stop)
		if r.audience != nil {
			r.err = errors.Join(r.err, r.audience.end())
		}
		r.took = time.Since(r.began)
		close(r.ended)
		if r.err != nil {
			h.log.Say("%v", r.err)
		}
	}()
	h.mu.Lock()
	h.tape = r
	h.mu.Unlock()
	return nil
}

// odd matches characters of server names that are replaced in file names.
var odd = regexp.MustCompile(`[^\pL\pN.-]+`)

// write creates the file of a recording. Its name has the time and the server.
func (h *Home) write(r *recording) error {
	if err := h.makeFolder(); err != nil {
		return err
	}
	server := odd.ReplaceAllString(strings.TrimSuffix(r.server, ":"+query.DefaultPort), "-")
	r.file = unused(filepath.Join(h.folder, r.began.Format("2006-01-02 15.04.05 ")+server))
	file, err := (&cli.Recording{Name: r.file}).OpenDatagrams("", "proxy", "traffic between clients and host")
	if err != nil {
		return fmt.Errorf("can't record: %w", elsewhere(err))
	}
	r.proxy.Record(file)
	return nil
}

// stop ends the recording and opens its match. If the recording failed, as on a
// full disk, it opens what was recorded before.
func (h *Home) stop() (*opening, error) {
	h.mu.Lock()
	r := h.tape
	h.mu.Unlock()
	if r == nil {
		return nil, errors.New("nothing is being recorded")
	}
	r.end()
	o, err := h.open([]string{r.file})
	switch {
	case r.err == nil:
		return o, err
	case err != nil:
		return nil, r.err // the reason why there is nothing to open
	}
	o.Remarks = append(o.Remarks, report.Escape("the recording is not complete: "+r.err.Error()))
	return o, nil
}

// status describes a recording for the page.
func (r *recording) status() *status {
	c := r.proxy.Counts()
	s := &status{
		Running: !r.over(), Server: report.Escape(r.server), Join: r.proxy.Join(), File: report.Escape(filepath.Base(r.file)),
		Datagrams: c.FromClients + c.FromHost, Playing: r.proxy.Playing(), Seconds: time.Since(r.began).Seconds(),
	}
	if info, err := os.Stat(r.file); err == nil {
		s.Bytes = info.Size()
	}
	if s.Running && r.audience != nil {
		s.Live = r.audience.path()
	}
	err := r.proxy.Failed()
	if !s.Running {
		s.Seconds, err = r.took.Seconds(), r.err
	}
	if err != nil {
		s.Error = report.Escape(err.Error())
	}
	return s
}
