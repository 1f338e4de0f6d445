// Not part of the library: package bots plays scripted players on a host, and
// measures the quality of the game for them. It has no socket and no clock. A
// driver sends and receives the datagrams and has the clock.
package bots

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// MostBots is the maximum number of bots at once, which is the number of a
// host's slots.
const MostBots = relay.MaxPlayers

// Options configure the bots.
type Options struct {
	Bots     int
	Seed     uint64
	For      time.Duration
	Dialect  string   // stock, openbc, or mixed, which alternates
	Scripts  []Script // scripts, assigned to bots in rotation. If there are none, they are generated.
	Password string
	Answers  map[uint8]*msg.ChecksumResponse      // hashes of the bots' files by round, where they differ from a stock installation's
	Stopped  func() bool                          // reports whether to end early. It may be nil.
	Progress func(inGame int, left time.Duration) // called once a second. It may be nil.
}

// answer returns the hashes of the bots' files.
func (o *Options) answer(round uint8) *msg.ChecksumResponse {
	if m := o.Answers[round]; m != nil {
		return m
	}
	return suite.StockAnswer(round)
}

// ErrSilent reports that no host answers.
var ErrSilent = errors.New("does not answer: is a host running there?")

// The times of a run.
const (
	answersWithin = 10 * time.Second     // after this time without an answer there is no host
	endsWithin    = 3 * time.Second      // time for leaving at the end
	looks         = 5 * time.Millisecond // time between two checks of what the bots have to do
)

// A run is a game of bots.
type run struct {
	d        suite.Driver
	o        Options
	began    time.Time
	bots     []*bot
	byLocal  map[netip.AddrPort]*bot
	ships    map[wire.ObjectID]*craft // ships that bots fly, or have flown
	missing  []Missing
	lines    []line // chat that bots may still receive
	decoder  *decode.Decoder
	serial   int  // number of the next session
	answered bool // the host has sent a datagram
	ending   bool
	stopped  bool
	felt     felt
}

// Run lets bots play on the driver's host.
func Run(d suite.Driver, o Options) (*Report, error) {
	r := &run{d: d, o: o, began: d.Now(), missing: []Missing{}, byLocal: map[netip.AddrPort]*bot{}, ships: map[wire.ObjectID]*craft{}, decoder: decode.NewDecoder()}
	for i := range o.Bots {
		r.bots = append(r.bots, r.newBot(i+1))
	}
	if err := r.play(); err != nil {
		return nil, err
	}
	ended := d.Now()
	// Lines sent up to now count, but the last ones may still be on their way.
	for i := range r.lines {
		if l := &r.lines[i]; ended.Sub(l.at) > onTheirWay {
			r.misses(l)
		}
	}
	for _, b := range r.bots {
		if b.state != offline {
			for id := range b.streams {
				b.sum(ended, id)
			}
		}
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return r.report(ended), nil
}

// newBot returns the bot with a number.
func (r *run) newBot(index int) *bot {
	b := &bot{
		run: r, index: index, name: fmt.Sprintf("Bot%d", index), until: r.began.Add(time.Duration(index-1) * betweenBots),
		openBC: r.o.Dialect == "openbc" || r.o.Dialect == "mixed" && index%2 == 0, steps: invented(r.o.Seed, index),
	}
	if n := len(r.o.Scripts); n > 0 {
		s := &r.o.Scripts[(index-1)%n]
		if b.steps, b.name = s.source(), s.Name; index > n { // names must be unique
			b.name = fmt.Sprintf("%s%d", s.Name, index)
		}
	}
	return b
}

// play plays until the time is over, all bots have finished, or the user stops
// it.
func (r *run) play() error {
	until := r.began.Add(r.o.For)
	told := r.began
	for {
		now := r.d.Now()
		done := true
		inGame := 0
		for _, b := range r.bots {
			done = done && b.done && !b.until.After(now)
			if b.state == playing {
				inGame++
			}
		}
		r.stopped = r.o.Stopped != nil && r.o.Stopped()
		if r.stopped || done || !now.Before(until) {
			return nil
		}
		if !r.answered && now.Sub(r.began) > answersWithin {
			if err := r.d.Refused(); err != nil {
				return fmt.Errorf("%v %w (%w)", r.d.Host(), ErrSilent, err)
			}
			return fmt.Errorf("%v %w", r.d.Host(), ErrSilent)
		}
		if r.o.Progress != nil && now.Sub(told) >= time.Second {
			told = now
			r.o.Progress(inGame, until.Sub(now))
		}
		if err := r.turn(); err != nil {
			return err
		}
	}
}

// turn lets all bots act, and handles what the host sends.
func (r *run) turn() error {
	now := r.d.Now()
	for _, b := range r.bots {
		if err := b.acts(now); err != nil {
			return err
		}
		b.sends(now)
	}
	for wait := now.Add(looks); ; wait = now { // wait only for the first datagram
		a, ok := r.d.Receive(wait)
		if !ok {
			return nil
		}
		if b := r.byLocal[a.To]; b != nil {
			r.answered, b.lastReceived = true, a.At
			b.client.Receive(a.At, a.Datagram)
		}
		if r.d.Now().Sub(now) > 2*looks { // more arrives than can be handled at once
			return nil
		}
	}
}

// finish lets all bots leave.
func (r *run) finish() error {
	r.ending = true
	now := r.d.Now()
	for _, b := range r.bots {
		switch b.state {
		case joining, playing:
			if b.state == joining && now.Sub(b.since) > tryAgain {
				b.counts.JoinsFailed++
				b.counts.Reason = "not let in before the end"
			}
			b.leaves(now)
		case offline, leaving:
		}
	}
	for until := now.Add(endsWithin); r.d.Now().Before(until); {
		if err := r.turn(); err != nil {
			return err
		}
		open := false
		for _, b := range r.bots {
			open = open || b.state != offline
		}
		if !open {
			return nil
		}
	}
	return nil
}
