// Not part of the library: package badline plays bots on a host over lines with
// faults, and judges the host. It knows what happened to each datagram, so it
// need not estimate losses.
package badline

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Limits of the datagrams that a game keeps, and of those that are judged.
const (
	mostFrames = 300_000
	mostBytes  = 64 << 20
	mostJudged = 250_000
)

// Options configure the game, the lines, and what is expected of the host.
type Options struct {
	Bots  bots.Options
	Line  [2]impair.Config // indexed by direction
	Judge conform.Config
	First int                 // number of the first frame
	Log   func(impair.Report) // called with what a line did to each datagram. It may be nil.
}

// A Game is the result of a game.
type Game struct {
	Bots    *bots.Report
	Reports []*result.Report // reports about the datagrams that the host received and sent
	Frames  []suite.Frame    // in the order in which the host received and sent them
	Left    int              // number of further frames
	Passed  int              // number of delivered datagrams
	Lost    int              // number of datagrams that were not delivered
	Judged  int              // number of judged frames
	ledger  ledger
	copies  copies
}

// Play plays a game on the driver's host.
func Play(d suite.Driver, o Options) (*Game, error) {
	hosts := conform.NewHosts(o.Judge)
	g := &Game{ledger: newLedger(), copies: newCopies()}
	l := &rough{
		Driver: d, o: o, game: g, lines: map[netip.AddrPort]*pair{}, next: max(o.First, 1),
		pipeline: dissect.New(dissect.Config{Ports: []uint16{d.Host().Port()}}), hosts: hosts,
	}
	var err error
	g.Bots, err = bots.Run(l, o.Bots)
	for _, local := range slices.Clone(l.order) {
		l.Close(local)
	}
	if err != nil {
		return nil, err
	}
	g.Reports, _ = hosts.Reports()
	g.ledger.finish(d.Now())
	return g, nil
}

// The cases that a game tests.
const (
	staying   = "B-1"
	delivered = "B-2"
	once      = "B-3"
	alike     = "B-4"
)

// Cases returns the ids of the cases that a game tests.
func Cases() []string { return []string{staying, delivered, once, alike} }

// Outcomes returns the outcomes of the cases. The argument took is how long
// they took.
func (g *Game) Outcomes(took time.Duration) []suite.Outcome {
	stay := suite.Outcome{ID: staying, Took: took}
	for i := range g.Bots.Players {
		if p := &g.Bots.Players[i]; p.JoinsFailed+p.PutOut > 0 {
			more(&stay, fmt.Sprintf("%s: %d joins failed, removed %d times: %s", p.Name, p.JoinsFailed, p.PutOut, p.Reason))
		}
	}
	if g.Bots.All.Joins == 0 {
		return unplayed(stay)
	}
	return []suite.Outcome{stay, g.delivered(took), g.copied(took), g.judged(took)}
}

// unplayed returns the outcomes if no bot joined.
func unplayed(stay suite.Outcome) []suite.Outcome {
	const why = "no bot came into the game"
	if stay.Came == "" {
		stay.Came = why
	}
	return []suite.Outcome{stay, {ID: delivered, Skip: why}, {ID: once, Skip: why}, {ID: alike, Skip: why}}
}

// Unplayed returns the outcomes if [Play] failed.
func Unplayed(err error) []suite.Outcome {
	return unplayed(suite.Outcome{ID: staying, Came: err.Error()})
}

// mostCame is the maximum number of entries in an outcome.
const mostCame = 12

// more adds a violation to an outcome.
func more(o *suite.Outcome, came string, frames ...int) {
	switch {
	case o.Came == "":
		o.Came = came
	case len(o.More) < mostCame:
		o.More = append(o.More, came)
	}
	if len(o.Frames) < mostCame {
		o.Frames = append(o.Frames, frames...)
	}
}

// delivered judges messages of the host that reached no client although the
// lines let others through.
func (g *Game) delivered(took time.Duration) suite.Outcome {
	o := suite.Outcome{ID: delivered, Took: took}
	for _, m := range g.ledger.lost {
		more(&o, m.String(), m.first)
	}
	if n := g.ledger.others; n > 0 {
		more(&o, fmt.Sprintf("and %d more", n))
	}
	return o
}

// copied judges messages that did not reach every client exactly once.
func (g *Game) copied(took time.Duration) suite.Outcome {
	o := suite.Outcome{ID: once, Took: took}
	for _, f := range g.copies.faults {
		more(&o, f.text, f.frame)
	}
	if n := g.copies.more; n > 0 {
		more(&o, fmt.Sprintf("and %d more", n))
	}
	return o
}

// judged judges the differences that the comparison found.
func (g *Game) judged(took time.Duration) suite.Outcome {
	o := suite.Outcome{ID: alike, Took: took}
	compared := 0
	for _, r := range g.Reports {
		compared += r.Compared()
		for _, c := range r.Causes {
			names := ""
			for _, row := range c.Rows {
				names += " " + row.Name
			}
			more(&o, fmt.Sprintf("from frame %d:%s: %s: %s, %d of %d", c.First, names, c.Kind, c.What, c.Count, c.Of), c.First)
		}
	}
	if compared == 0 {
		o.Skip = "nothing in the game could be compared"
	}
	return o
}

// A pair has the lines of a client, by direction.
type pair [2]*impair.Line[[]byte]

// A rough is a driver that carries datagrams over lines with faults, and judges
// what the host receives and sends.
type rough struct {
	suite.Driver

	o        Options
	game     *Game
	lines    map[netip.AddrPort]*pair
	order    []netip.AddrPort // clients in the order of their lines
	opened   int
	next     int // number of the next frame
	bytes    int
	pipeline *dissect.Pipeline
	hosts    *conform.Hosts
}

// Open opens a socket with separate lines.
func (l *rough) Open() (netip.AddrPort, error) {
	local, err := l.Driver.Open()
	if err == nil {
		l.opened++
		l.lines[local] = &pair{
			impair.NewLine[[]byte](l.o.Line[impair.ToServer], impair.ToServer, l.opened),
			impair.NewLine[[]byte](l.o.Line[impair.ToClient], impair.ToClient, l.opened),
		}
		l.order = append(l.order, local)
	}
	return local, err
}

// Close closes a socket. Datagrams that are still on its lines are not
// delivered.
func (l *rough) Close(local netip.AddrPort) {
	if p := l.lines[local]; p != nil {
		for _, line := range p {
			for _, r := range line.Drain() {
				l.log(local, r)
			}
		}
		delete(l.lines, local)
		l.order = slices.DeleteFunc(l.order, func(a netip.AddrPort) bool { return a == local })
		l.game.ledger.ends(local, l.Now())
		delete(l.game.copies.since, local)
	}
	l.Driver.Close(local)
}

// log counts and reports what happened to a datagram.
func (l *rough) log(client netip.AddrPort, r impair.Report) {
	if r.Fate == impair.Passed {
		l.game.Passed++
	} else {
		l.game.Lost++
	}
	if l.o.Log != nil {
		r.Came, r.Client = r.Came.UTC(), client.String()
		l.o.Log(r)
	}
}

// put puts a datagram on a line, and reports whether it will be delivered.
func (l *rough) put(client netip.AddrPort, to impair.Direction, d []byte) bool {
	p := l.lines[client]
	if p == nil {
		return false
	}
	r, ok := p[to].Send(l.Now(), bytes.Clone(d), len(d))
	if !ok {
		l.log(client, r)
	}
	return ok
}

// Send puts a datagram on the way to the host.
func (l *rough) Send(local netip.AddrPort, d []byte) error {
	l.put(local, impair.ToServer, d)
	return l.arrive()
}

// arrive delivers the datagrams that are due to the host. It returns the error
// of the last one.
func (l *rough) arrive() (err error) {
	for _, local := range l.order {
		for {
			d, r, ok := l.lines[local][impair.ToServer].Receive(l.Now())
			if !ok {
				break
			}
			l.log(local, r)
			for range r.Copies {
				l.note(local, l.Host(), d, true)
				err = l.Driver.Send(local, d)
				for l.answer(l.Now()) { // what the host has sent by now, it sent before the next datagram
				}
			}
		}
	}
	return err
}

// Receive waits for the next datagram of the host that is delivered.
func (l *rough) Receive(until time.Time) (relay.Arrival, bool) {
	for {
		_ = l.arrive() // Refused reports errors
		wait := until
		for _, local := range l.order {
			p := l.lines[local]
			if d, r, ok := p[impair.ToClient].Receive(l.Now()); ok {
				l.log(local, r)
				return relay.Arrival{At: l.Now(), From: l.Host(), To: local, Datagram: d}, true
			}
			for _, line := range p {
				if at := line.Next(); !at.IsZero() && at.Before(wait) {
					wait = at
				}
			}
		}
		if !l.answer(wait) && !l.Now().Before(until) {
			return relay.Arrival{}, false
		}
	}
}

// answer puts the next datagram of the host on its line. It waits at most until
// the given time.
func (l *rough) answer(until time.Time) bool {
	a, ok := l.Driver.Receive(until)
	if ok {
		l.note(a.From, a.To, a.Datagram, l.put(a.To, impair.ToClient, a.Datagram))
	}
	return ok
}

// note judges and stores a datagram that the host receives or sends, even if it
// is not delivered to a client.
func (l *rough) note(from, to netip.AddrPort, d []byte, passes bool) {
	n, now := l.next, l.Now()
	l.next++
	g := l.game
	if len(g.Frames) < mostFrames && l.bytes+len(d) <= mostBytes {
		l.bytes += len(d)
		g.Frames = append(g.Frames, suite.Frame{Number: n, At: now, From: from, To: to, Datagram: bytes.Clone(d), Cases: Cases()})
	} else {
		g.Left++
	}
	// Neither of the two fails.
	_ = l.pipeline.Push(&dissect.Datagram{Number: n, Time: now, Digits: 6, Src: from, Dst: to, Payload: d, Full: len(d)}, func(r *dissect.Record) error {
		client := from
		if from == l.Host() {
			client = to
			g.ledger.sends(to, r, passes)
		}
		g.copies.takes(client, r)
		if n-l.o.First >= mostJudged {
			return nil
		}
		g.Judged = n - l.o.First + 1
		return l.hosts.Record(r)
	})
	g.copies.settles(now)
}
