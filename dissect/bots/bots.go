// Not part of the library: package bots plays scripted players to a host, and
// measures how the game feels for them. It has no socket and no clock: a
// [Driver] carries datagrams and tells the time.
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

// MostBots is how many bots play at once: the slots of a host.
const MostBots = relay.MaxPlayers

// Options say what the bots do.
type Options struct {
	Bots     int
	Seed     uint64
	For      time.Duration
	Dialect  string   // stock, openbc, or mixed: by turns
	Scripts  []Script // of the bots, by turns; none for invented ones
	Password string
	Answers  map[uint8]*msg.ChecksumResponse      // the hashes of their files by round, for those in which they differ from a stock installation's
	Stopped  func() bool                          // tells to end early; nil for never
	Progress func(inGame int, left time.Duration) // is told once a second; nil for nobody
}

// answer returns the hashes of the bots' files.
func (o *Options) answer(round uint8) *msg.ChecksumResponse {
	if m := o.Answers[round]; m != nil {
		return m
	}
	return suite.StockAnswer(round)
}

// ErrSilent says that no host answers.
var ErrSilent = errors.New("does not answer: is a host running there?")

// The times of a run.
const (
	answersWithin = 10 * time.Second     // or no host is there
	endsWithin    = 3 * time.Second      // for goodbyes
	looks         = 5 * time.Millisecond // between two looks at what the bots have to do
)

// A run is a game of bots.
type run struct {
	d       suite.Driver
	o       Options
	began   time.Time
	bots    []*bot
	byLocal map[netip.AddrPort]*bot
	ships   map[wire.ObjectID]*craft // that bots fly, or have flown
	missing []Missing
	lines   []line // of chat, that may still come
	decoder *decode.Decoder
	serial  int // of the next session
	heard   bool
	ending  bool
	stopped bool
	felt    felt
}

// Run has bots play on the driver's host.
func Run(d suite.Driver, o Options) (*Report, error) {
	r := &run{d: d, o: o, began: d.Now(), missing: []Missing{}, byLocal: map[netip.AddrPort]*bot{}, ships: map[wire.ObjectID]*craft{}, decoder: decode.NewDecoder()}
	for i := range o.Bots {
		r.bots = append(r.bots, r.newBot(i+1))
	}
	if err := r.play(); err != nil {
		return nil, err
	}
	ended := d.Now()
	// Lines that came up to now count; those of the last seconds may be on their way.
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
		if b.steps, b.name = s.source(), s.Name; index > n { // names are unique
			b.name = fmt.Sprintf("%s%d", s.Name, index)
		}
	}
	return b
}

// play plays until the time is over, all bots are done, or the user stops it.
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
		if !r.heard && now.Sub(r.began) > answersWithin {
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

// turn lets all bots act, and takes what the host sends.
func (r *run) turn() error {
	now := r.d.Now()
	for _, b := range r.bots {
		if err := b.acts(now); err != nil {
			return err
		}
		b.sends(now)
	}
	for wait := now.Add(looks); ; wait = now { // only for the first
		a, ok := r.d.Receive(wait)
		if !ok {
			return nil
		}
		if b := r.byLocal[a.To]; b != nil {
			r.heard, b.heard = true, a.At
			b.client.Receive(a.At, a.Datagram)
		}
		if r.d.Now().Sub(now) > 2*looks { // more comes than can be taken at once
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
