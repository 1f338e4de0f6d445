package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A Tap is the point of the impaired connection at which datagrams are recorded
// and reported.
type Tap string

// The taps.
const (
	AtHost   Tap = "host"   // as the host receives and sends them
	AtRouter Tap = "router" // as both sides send them, before the impairment
	AtClient Tap = "client" // as the clients receive and send them
)

// sees reports whether a tap records datagrams of a direction after the
// impairment.
func (t Tap) sees(d impair.Direction) (after bool) {
	return t == AtHost && d == impair.ToServer || t == AtClient && d == impair.ToClient
}

// An Impairment impairs the connections of all clients, and logs what happened
// to each datagram.
type Impairment struct {
	Log io.WriteCloser // gets a line for each datagram, nil for none

	lines [2]impair.Config // by direction
	flags []string
	tap   Tap

	mu     sync.Mutex
	failed error // error of writing the log
	sums   [2]sum
}

// A sum has the counts of datagrams in a direction.
type sum struct {
	fates                 map[impair.Fate]int
	overtaken, duplicates int
}

// NewImpairment parses the values of --impair.
func NewImpairment(flags []string, tap Tap) (*Impairment, error) {
	i := &Impairment{flags: flags, tap: tap}
	var err error
	if i.lines, err = impair.Parse(flags); err != nil {
		return nil, fmt.Errorf("--impair %w", err)
	}
	for d := range i.sums {
		i.sums[d].fates = map[impair.Fate]int{}
	}
	return i, nil
}

// note counts a datagram and logs what happened to it.
func (i *Impairment) note(l *line, r impair.Report) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := &i.sums[l.to]
	s.fates[r.Fate]++
	s.duplicates += max(0, r.Copies-1)
	if len(r.Overtaken) > 0 {
		s.overtaken++
	}
	if i.Log != nil && i.failed == nil {
		r.Came, r.Client = r.Came.UTC(), l.client.String()
		i.failed = ndjson.Write(i.Log, r)
	}
}

// end completes the log and prints the counts. It returns the first error of
// writing the log.
func (i *Impairment) end(log *cli.Log) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for d, s := range i.sums {
		f := s.fates
		all := f[impair.Passed] + f[impair.Lost] + f[impair.Queued] + f[impair.Full] + f[impair.Unsent]
		log.Say("%s: %s: %d passed (%d overtaken, %d duplicated), %d lost, %d dropped because of the rate, %d because too many waited, %d not sent before the end",
			impair.Direction(d), plural.Count(all, "datagram"), f[impair.Passed], s.overtaken, s.duplicates, f[impair.Lost], f[impair.Queued], f[impair.Full], f[impair.Unsent])
	}
	if i.Log != nil {
		if err := i.Log.Close(); i.failed == nil {
			i.failed = err
		}
	}
	return i.failed
}

// greet prints how the connections are impaired.
func (i *Impairment) greet(log *cli.Log) {
	log.Say("the line is impaired: %s; recorded and reported at the %s", strings.Join(i.flags, " "), i.tap)
}

// A line is one direction of a client's impaired connection.
type line struct {
	of     *Impairment
	to     impair.Direction
	client netip.AddrPort
	note   func(payload []byte)           // records and reports a datagram
	send   func(payload []byte) (ok bool) // sends a datagram to its destination

	mu    sync.Mutex
	line  *impair.Line[[]byte]
	timer *time.Timer
	ended bool
}

// newLine returns a line for the client with a number.
func (i *Impairment) newLine(to impair.Direction, client netip.AddrPort, number int) *line {
	l := &line{of: i, to: to, client: client, line: impair.NewLine[[]byte](i.lines[to], to, number)}
	l.timer = time.AfterFunc(time.Hour, func() {
		defer cli.Guard()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pump()
	})
	l.timer.Stop()
	return l
}

// put adds a datagram. It does not keep the payload.
func (l *line) put(payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.of.tap.sees(l.to) {
		l.note(payload)
	}
	if r, ok := l.line.Send(time.Now(), bytes.Clone(payload), len(payload)); !ok {
		l.of.note(l, r)
	}
	l.pump()
}

// pump sends the datagrams that are due. The caller must have locked l.
func (l *line) pump() {
	for !l.ended {
		payload, r, ok := l.line.Receive(time.Now())
		if !ok {
			break
		}
		for n := range r.Copies {
			if l.of.tap.sees(l.to) {
				l.note(payload)
			}
			if !l.send(payload) && n == 0 {
				r.Fate = impair.Unsent
			}
		}
		l.of.note(l, r)
	}
	if l.ended {
		for _, r := range l.line.Drain() {
			l.of.note(l, r)
		}
	} else if next := l.line.Next(); !next.IsZero() {
		l.timer.Reset(time.Until(next))
	}
}

// endLines ends the client's lines. Datagrams that are still on them are not
// sent.
func (c *client) endLines() {
	for _, l := range c.lines {
		l.end()
	}
}

func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.timer.Stop()
	l.pump()
}

// lines returns the lines of the client with a number, or nil without
// impairment.
func (p *Proxy) lines(c *client, number int) []*line {
	if p.Impair == nil {
		return nil
	}
	// The socket of the client and the address of the host can change.
	route := func() (up server.Conn, host netip.AddrPort) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return c.up, p.host
	}
	up, down := p.Impair.newLine(impair.ToServer, c.addr, number), p.Impair.newLine(impair.ToClient, c.addr, number)
	up.note = func(payload []byte) {
		_, host := route()
		p.note(c.addr, host, payload)
	}
	up.send = func(payload []byte) bool {
		socket, _ := route()
		return p.toHost(p.now(), c, socket, payload)
	}
	down.note = func(payload []byte) {
		_, host := route()
		p.note(host, c.addr, payload)
	}
	down.send = func(payload []byte) bool { return p.toClient(c, payload) }
	return []*line{up, down}
}
