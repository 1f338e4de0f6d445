// Package livepage serves the match page while the match is played: the page, an
// overlay for streaming programs, and the matches as JSON and as server-sent events.
//
// A [Server] folds records into matches, and writes what changes to a journal on disk.
// Each viewer reads the journal at a pace of its own, so that neither the fold nor the
// game waits for one. Viewers with the public address read only entries of a certain age.
package livepage

import (
	"crypto/rand"
	"net/netip"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/site"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
)

// Times between two looks at the matches. A sweep looks at all items of long lists.
const (
	tick     = 500 * time.Millisecond
	sweeps   = 20          // ticks
	rest     = 20          // times what a look takes, which grows with the match, until the next one
	farewell = time.Second // for viewers to take the end
)

// A Server serves the matches that its sink is told of.
type Server struct {
	delay  time.Duration // of the public addresses; 0 if there are none
	owner  string        // parts of addresses that nobody can guess
	public string
	say    func(format string, args ...any)

	journal *journal
	end     chan struct{}
	ended   sync.WaitGroup
	viewers chan struct{} // has an item for each
	guests  chan struct{} // has an item for each with the public address

	mu        sync.Mutex
	story     *match.Builder
	followers []*follower
	flights   *flights
	index     map[*match.Match]int
	matches   int
	ticks     int
	changed   bool
	broken    bool
}

// New returns a server whose public addresses show what is at least so old; without a
// delay there are none. Errors that viewers cannot see are reported to say.
func New(delay time.Duration, say func(format string, args ...any)) (*Server, error) {
	j, err := newJournal()
	if err != nil {
		return nil, err
	}
	s := &Server{
		delay: delay, owner: rand.Text(), public: rand.Text(), say: say, journal: j, end: make(chan struct{}), viewers: make(chan struct{}, mostViewers), guests: make(chan struct{}, mostViewers-reserved),
		followers: []*follower{newFollower(pageOwner), newFollower(apiOwner)}, flights: newFlights(), index: map[*match.Match]int{},
	}
	if delay > 0 {
		s.followers = append(s.followers, newFollower(pagePublic), newFollower(apiPublic))
	}
	s.begin(time.Time{})
	s.ended.Go(func() {
		defer cli.Guard()
		s.keep()
	})
	return s, nil
}

// begin begins with the matches of another recording, whose times count from origin.
func (s *Server) begin(origin time.Time) {
	s.story = match.New(origin)
	s.story.OnSample = s.flights.sample
}

// Address returns the address of the page on a server: the owner's, or the public one.
func (s *Server) Address(at netip.AddrPort, public bool) string {
	token := s.owner
	if public {
		token = s.public
	}
	return "http://" + site.Reachable(at).String() + "/" + token + "/"
}

// Close ends the server. Viewers have a moment to take what they don't have yet.
func (s *Server) Close() error {
	close(s.end)
	s.ended.Wait()
	late := time.After(farewell)
	for range mostViewers {
		select {
		case s.viewers <- struct{}{}: // one has got all
		case <-late:
			return s.journal.close()
		}
	}
	return s.journal.close()
}

// Sink returns a sink that tells the server of all records, and then the next one. It
// begins another recording.
func (s *Server) Sink(next report.Sink, origin time.Time) report.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(origin)
	return &sink{next, s}
}

type sink struct {
	report.Sink
	server *Server
}

// Record implements [report.Sink].
func (k *sink) Record(r *dissect.Record) error {
	s := k.server
	s.mu.Lock()
	s.changed = true
	_ = s.story.Record(r) // never fails
	s.mu.Unlock()
	return k.Sink.Record(r)
}

// Close implements [report.Sink].
func (k *sink) Close() error {
	s := k.server
	s.mu.Lock()
	_ = s.story.Close() // never fails
	for _, m := range s.story.Matches() {
		s.follow(m, true, true)
	}
	s.begin(time.Time{})
	s.changed = false
	s.mu.Unlock()
	return k.Sink.Close()
}

// keep looks at the matches until the end.
func (s *Server) keep() {
	t := time.NewTimer(tick)
	defer t.Stop()
	for {
		select {
		case <-s.end:
			return
		case began := <-t.C:
			s.look()
			t.Reset(max(tick, rest*time.Since(began)))
		}
	}
}

// look writes what has changed since the last time.
func (s *Server) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return
	}
	s.changed = false
	s.ticks++
	ended, open := s.story.Watch()
	for _, m := range ended {
		s.follow(m, true, true)
	}
	for _, m := range open {
		s.follow(m, false, s.ticks%sweeps == 0)
	}
}

// follow writes what has changed of a match.
func (s *Server) follow(m *match.Match, over, sweep bool) {
	i, known := s.index[m]
	if !known {
		if s.matches == match.MaxMatches {
			delete(s.flights.matches, m) // nobody will see them
			return
		}
		i = s.matches
		s.matches++
		s.index[m] = i
	}
	for _, f := range s.followers {
		if text, k := f.follow(i, m, over, sweep); text != nil {
			s.add(entry{match: i, views: f.view, kind: k}, text)
		}
		if over {
			f.forget(i)
		}
	}
	if text := s.flights.follow(i, m, sweep); text != nil {
		s.add(entry{match: i, views: pageOwner | pagePublic, kind: flight}, text)
	}
	if over {
		delete(s.index, m)
		delete(s.flights.matches, m)
	}
}

// add writes an entry, unless that was impossible before.
func (s *Server) add(e entry, text []byte) {
	if s.broken {
		return
	}
	if err := s.journal.add(e, text); err != nil {
		s.broken = true
		s.say("the live page stays as it is: %v", err)
	}
}
