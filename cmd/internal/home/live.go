package home

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/livepage"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/dissect"
)

// An audience shows a recording on its live page.
type audience struct {
	page *livepage.Server
	feed *server.Feed
	seen chan struct{} // closed when the page has received everything
}

// newAudience returns an audience whose feed the proxy fills. The port is the
// port of this server.
func newAudience(port uint16, say func(format string, args ...any)) (*audience, error) {
	page, err := livepage.New(0, say)
	if err != nil {
		return nil, err
	}
	a := &audience{page, server.NewFeed(), make(chan struct{})}
	go func() {
		defer close(a.seen)
		defer cli.Guard()
		pipeline := dissect.New(dissect.Config{Ports: []uint16{port}})
		sink := page.Sink(nothing{}, time.Now())
		for d, err := a.feed.Next(); err == nil; d, err = a.feed.Next() {
			_ = pipeline.Push(d, sink.Record) // the sink never returns an error
		}
		_ = pipeline.Flush(sink.Record)
		_ = sink.Close()
	}()
	return a, nil
}

// end lets the page receive the rest of the feed, and ends it.
func (a *audience) end() error {
	a.feed.End()
	<-a.seen
	return a.page.Close()
}

// path returns the path of the live page on this server.
func (a *audience) path() string {
	_, path, _ := strings.Cut(strings.TrimPrefix(a.page.Address(netip.AddrPort{}, false), "http://"), "/")
	return "live/" + path
}

// A nothing is a sink that ignores records.
type nothing struct{}

// Record implements [report.Sink].
func (nothing) Record(*dissect.Record) error { return nil }

// Close implements [report.Sink].
func (nothing) Close() error { return nil }

// live serves the live page of the current recording.
func (h *Home) live(w http.ResponseWriter, r *http.Request) {
	tape := h.running()
	if tape == nil || tape.audience == nil {
		http.NotFound(w, r)
		return
	}
	http.StripPrefix("/live", tape.audience.page.Handler()).ServeHTTP(w, r)
}
