// Package livepage serves the match page while the match is played: the page,
// an overlay for streaming programs, and the matches as JSON and as server-sent
// events.
//
// A [Server] collects records into matches and writes changes to a journal on
// disk. Each viewer reads the journal at its own pace, so that viewers delay
// neither the server nor the game. Viewers of the public address see only
// entries of a certain age.
package livepage

import (
	"crypto/rand"
	"net/netip"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
)

// Times between two checks of the matches. A sweep checks all items of long
// lists.
const (
	tick     = 500 * time.Millisecond
	sweeps   = 20          // number of ticks between sweeps
	rest     = 20          // pause after a check, as a multiple of the time it took, which grows with the match
	farewell = time.Second // time for viewers to receive the end
)

// A Server serves the matches in the records that its sink receives.
type Server struct {
	delay  time.Duration // delay of the public addresses, 0 if there are none
	owner  string        // secret parts of the addresses
	public string
	say    func(format string, args ...any)

	journal *journal
	end     chan struct{}
	ended   sync.WaitGroup
	viewers chan struct{} // has an item for each viewer
	guests  chan struct{} // has an item for each viewer of the public address

	mu        sync.Mutex
	draft     draft // of the next entry
	story     *match.Builder
	followers []*follower
	flights   *flights
	index     map[*match.Match]int
	matches   int
	ticks     int
	changed   bool
	broken    bool
}

// New returns a server whose public addresses show the match with a delay. If
// the delay is 0, there are no public addresses. The function say reports
// errors that viewers cannot see.
func New(delay time.Duration, say func(format string, args ...any)) (*Server, error) {
	j, err := newJournal()
	if err != nil {
		return nil, err
	}
	s := &Server{
		delay: delay, owner: rand.Text(), public: rand.Text(), say: say, journal: j, end: make(chan struct{}), viewers: make(chan struct{}, mostViewers), guests: make(chan struct{}, mostViewers-reserved),
		followers: []*follower{newFollower(pageOwner), newFollower(apiOwner)}, flights: newFlights(), index: map[*match.Match]int{},
	}
	s.draft.into = j
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

// begin begins the matches of another recording, whose times count from origin.
func (s *Server) begin(origin time.Time) {
	s.story = match.New(origin)
	s.story.OnSample = s.flights.sample
}

// Address returns the URL of the owner's page or of the public page on the
// server at an address.
func (s *Server) Address(at netip.AddrPort, public bool) string {
	token := s.owner
	if public {
		token = s.public
	}
	return "http://" + at.String() + "/" + token + "/"
}

// Close ends the server. Viewers have a moment to receive the last entries.
func (s *Server) Close() error {
	close(s.end)
	s.ended.Wait()
	late := time.After(farewell)
	for range mostViewers {
		select {
		case s.viewers <- struct{}{}: // a viewer has received everything
		case <-late:
			return s.journal.close()
		}
	}
	return s.journal.close()
}

// Sink returns a sink that passes all records to the server and then to the
// sink next. It begins another recording.
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
	_ = s.story.Record(r) // it never returns an error
	s.mu.Unlock()
	return k.Sink.Record(r)
}

// Close implements [report.Sink].
func (k *sink) Close() error {
	s := k.server
	s.mu.Lock()
	_ = s.story.Close() // it never returns an error
	for _, m := range s.story.Matches() {
		s.follow(m, true, true)
	}
	s.begin(time.Time{})
	s.changed = false
	s.mu.Unlock()
	return k.Sink.Close()
}

// keep checks the matches regularly until the end.
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

// look writes the changes since its last call.
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

// follow writes the changes of a match.
func (s *Server) follow(m *match.Match, over, sweep bool) {
	i, known := s.index[m]
	if !known {
		i = s.matches
		s.matches++
		s.index[m] = i
	}
	for _, f := range s.followers {
		k := f.follow(&s.draft, i, m, over, sweep)
		s.add(entry{match: i, views: f.view, kind: k})
		if over {
			f.forget(i)
		}
	}
	s.draft.text = s.flights.follow(s.draft.text, i, m, sweep)
	s.add(entry{match: i, views: pageOwner | pagePublic, kind: flight})
	if over {
		delete(s.index, m)
		delete(s.flights.matches, m)
	}
}

// add writes the entry of the draft, unless it is empty or an earlier write
// failed.
func (s *Server) add(e entry) {
	if s.draft.size() == 0 {
		return
	}
	if s.broken {
		s.draft = draft{}
		return
	}
	if err := s.journal.add(e, &s.draft); err != nil {
		s.broken = true
		s.say("the live page is no longer updated: %v", err)
	}
}
