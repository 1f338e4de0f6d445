package server

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Limits of the HTTP server for metrics.
const (
	scrapers   = 8 // connections at the same time, and others wait
	scrapeTime = 5 * time.Second
	headerSize = 4 << 10
)

// metricsType is the content type of Prometheus' text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// ListenMetrics opens the port of the metrics. If the address has only a port,
// it accepts connections from this machine only.
func ListenMetrics(address string) (net.Listener, error) {
	l, err := ListenLocally("--metrics", address, "9101", "")
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(l, scrapers), nil
}

// ListenLocally opens the TCP port that a flag names. If the address has only a
// port, it accepts connections from this machine only. The example and the
// remedy are for errors.
func ListenLocally(flag, typed, example, remedy string) (net.Listener, error) {
	address := Local(typed)
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return nil, fmt.Errorf("%s %s: want an address and port, such as %s or 127.0.0.1:%s", flag, typed, example, example)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, cli.Failed(fmt.Errorf("%s %s: %w%s", flag, address, cli.Plain(err), remedy))
	}
	return l, nil
}

// Local returns an address to listen on. If the address has only a port, it
// adds the loopback address.
func Local(address string) string {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	return address
}

// ServeMetrics answers requests until the listener is closed. The metrics are
// at most one second old. Requests never wait for the host, and the host never
// waits for requests.
func (s *Server) ServeMetrics(l net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		text := s.metrics.Load()
		if text == nil {
			http.Error(w, "the host has not begun", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", metricsType)
		_, _ = w.Write(*text) // the client may have closed the connection
	})
	web := &http.Server{
		Handler: mux, ReadHeaderTimeout: scrapeTime, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime, MaxHeaderBytes: headerSize,
		ErrorLog: log.New(io.Discard, "", 0), // faulty requests must not fill the log
	}
	web.SetKeepAlivesEnabled(false) // an idle connection would block others
	_ = web.Serve(l)                // ends with an error when the listener is closed
}

// publish renders the metrics for requests. Text from players is never a label.
func (s *Server) publish() {
	var b bytes.Buffer
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP bcdissect_%s %s\n# TYPE bcdissect_%s %s\n", name, help, name, kind)
	}
	value := func(name, label, of string, v float64) {
		if label != "" {
			label = fmt.Sprintf("{%s=%q}", label, of)
		}
		fmt.Fprintf(&b, "bcdissect_%s%s %s\n", name, label, strconv.FormatFloat(v, 'g', -1, 64))
	}
	single := func(name, kind, help string, v float64) {
		family(name, kind, help)
		value(name, "", "", v)
	}
	is := s.Host.Status()
	family("info", "gauge", "Version of the program.")
	value("info", "version", cli.Version(), 1)
	single("start_time_seconds", "gauge", "When the host began, in seconds since 1970.", float64(s.began.UnixMilli())/1e3)

	phases := [relay.Leaving]int{}
	players := s.Host.Players()
	for _, p := range players {
		if int(p.Phase) < len(phases) {
			phases[p.Phase]++
		}
	}
	family("players", "gauge", "Clients that have a slot, by how far they have come.")
	for phase, n := range phases {
		value("players", "phase", relay.Phase(phase).String(), float64(n))
	}
	single("player_limit", "gauge", "Players that the game has room for.", float64(is.Limit))

	family("datagrams_total", "counter", "Datagrams that the host took and sent.")
	value("datagrams_total", "direction", "in", float64(is.Stats.Received))
	value("datagrams_total", "direction", "out", float64(is.Stats.Sent-s.unsent))
	family("bytes_total", "counter", "Bytes of datagrams that the host took and sent.")
	value("bytes_total", "direction", "in", float64(s.bytesIn))
	value("bytes_total", "direction", "out", float64(s.bytesOut))
	family("messages_total", "counter", "Game messages that the host took, by relay class.")
	for class, n := range is.Stats.Messages {
		value("messages_total", "class", decode.Relay(class).String(), float64(n))
	}
	single("copies_total", "counter", "Messages that were passed on, counted for each receiver.", float64(is.Stats.Copies))
	single("queries_total", "counter", "Queries of server browsers that were answered.", float64(is.Stats.Queries))
	family("drops_total", "counter", "Datagrams and messages that were not taken or not sent, by reason.")
	for reason, n := range s.drops(&is.Stats) {
		value("drops_total", "reason", reason, float64(n))
	}
	single("unrecorded_total", "counter", "Datagrams that recording and report dropped.", float64(s.skipped+s.unnoted))
	family("events_total", "counter", "Events, by kind.")
	for kind, n := range is.Stats.Events {
		value("events_total", "kind", relay.EventKind(kind).String(), float64(n))
	}

	slices.SortFunc(players, func(a, b relay.PeerInfo) int { return a.Slot - b.Slot })
	family("round_trip_seconds", "gauge", "Smoothed round trip to the player in a slot.")
	for _, p := range players {
		if p.Link.RTT > 0 {
			value("round_trip_seconds", "slot", strconv.Itoa(p.Slot), p.Link.RTT.Seconds())
		}
	}
	family("waiting_messages", "gauge", "Messages that the player in a slot has not acknowledged.")
	for _, p := range players {
		value("waiting_messages", "slot", strconv.Itoa(p.Slot), float64(p.Link.Waiting))
	}
	single("memory_bytes", "gauge", "Memory that the program has from the system.", float64(memory()))
	single("goroutines", "gauge", "Goroutines of the program.", float64(runtime.NumGoroutine()))
	text := b.Bytes()
	s.metrics.Store(&text)
}

// memory returns the number of bytes that the program has obtained from the
// system.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return 0 // the runtime has no such metric
		}
	}
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
