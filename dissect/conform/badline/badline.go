// Not part of the library: package badline plays bots to a host over lines that are made bad, and
// judges what the host did. It knows what became of each datagram, so it need not guess
// what the lines have lost.
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

// The bounds of the datagrams that a game keeps, and of those that the judge sees: of more it would leave
// many without a verdict.
const (
	mostFrames = 300_000
	mostBytes  = 64 << 20
	mostJudged = 250_000
)

// Options say what is played, on which line, and what is expected of the host.
type Options struct {
	Bots  bots.Options
	Line  [2]impair.Config // by direction
	Judge conform.Config
	First int                 // number of the first frame
	Log   func(impair.Report) // is told what a line did to each datagram; nil for nobody
}

// A Game is what became of a game.
type Game struct {
	Bots    *bots.Report
	Reports []*result.Report // of the judge, about the datagrams that the host got and sent
	Frames  []suite.Frame    // as the host got and sent them
	Left    int              // frames beyond those
	Passed  int              // datagrams that came through
	Lost    int              // datagrams that did not
	Judged  int              // frames that the judge has seen
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

// The cases that a game answers.
const (
	staying   = "B-1"
	delivered = "B-2"
	once      = "B-3"
	alike     = "B-4"
)

// Cases are the ids of the cases that a game answers.
func Cases() []string { return []string{staying, delivered, once, alike} }

// Outcomes returns what became of the cases that a game answers, and took so long.
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

// unplayed returns what became of the cases if nobody came in.
func unplayed(stay suite.Outcome) []suite.Outcome {
	const why = "no bot came into the game"
	if stay.Came == "" {
		stay.Came = why
	}
	return []suite.Outcome{stay, {ID: delivered, Skip: why}, {ID: once, Skip: why}, {ID: alike, Skip: why}}
}

// Unplayed returns what became of the cases if [Play] failed.
func Unplayed(err error) []suite.Outcome {
	return unplayed(suite.Outcome{ID: staying, Came: err.Error()})
}

// mostCame bounds what an outcome lists.
const mostCame = 12

// more adds something that breaks the rule of a case.
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

// delivered is about messages of the host that came to nobody, though the lines let others through.
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

// copied is about messages that did not come to every client once.
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

// judged is about the differences that the judge found.
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

// A pair are the lines of a client by direction.
type pair [2]*impair.Line[[]byte]

// A rough driver carries datagrams over bad lines, and judges what the host gets and sends.
type rough struct {
	suite.Driver

	o        Options
	game     *Game
	lines    map[netip.AddrPort]*pair
	order    []netip.AddrPort // of lines
	opened   int
	next     int // number of the next frame
	bytes    int
	pipeline *dissect.Pipeline
	hosts    *conform.Hosts
}

// Open opens a socket with lines of its own.
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

// Close closes a socket. What is still on its lines does not arrive.
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

// log counts and tells what became of a datagram.
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

// put puts a datagram on a line, and reports whether it will come through.
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

// arrive lets the host get the datagrams that are due. It returns the error of the last.
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

// Receive waits for the next datagram that comes through from the host.
func (l *rough) Receive(until time.Time) (relay.Arrival, bool) {
	for {
		_ = l.arrive() // Refused tells
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

// answer puts the next datagram of the host on its way. It waits at most until a time.
func (l *rough) answer(until time.Time) bool {
	a, ok := l.Driver.Receive(until)
	if ok {
		l.note(a.From, a.To, a.Datagram, l.put(a.To, impair.ToClient, a.Datagram))
	}
	return ok
}

// note judges and keeps a datagram that the host gets or sends. It may not come through to a client.
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
