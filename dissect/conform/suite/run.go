package suite

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Options select the cases to run, and configure the run.
type Options struct {
	Cases    []*Case
	Profile  Profile
	Clients  int           // number of clients in the game, at least 2. 0 means 3.
	Slow     bool          // run cases that take longer than 5 s
	Long     bool          // run cases that take longer than a minute
	Timeout  time.Duration // longest time for an answer of the host. 0 means 2 s.
	Attempts int           // most attempts of a case that the network may have spoiled. 0 means 3.
	Budget   time.Duration // time after which no further case begins. 0 means no limit.
	Password string        // password of the game
	// Answers are the hashes of the clients' files by round, where they differ
	// from a stock installation's.
	Answers map[uint8]*msg.ChecksumResponse
	// Master is the local address at which the suite receives the heartbeats of
	// the host. The zero value means none.
	Master  netip.AddrPort
	Repeat  string        // see Report
	Seed    uint64        // seed of nonces and damaged datagrams
	Stopped func() bool   // reports whether to stop early. It may be nil.
	Done    func(*Result) // called with every result. It may be nil.
}

// ErrNoHost reports that there is no host of the game at an address.
var ErrNoHost = errors.New("no host of the game")

// Limits of waiting.
const (
	floodedBy  = 5000            // datagrams for one client within a second
	shortWait  = 1 * time.Second // how long to wait for something that must not come, if there is no other evidence
	betweenAll = 300 * time.Millisecond

	// How long after Options.Budget cases are repeated, and after which time a
	// case is stopped, since a host that omits messages makes cases wait.
	forRepetitions  = 3 * time.Second
	brokenOff       = 6 * time.Second
	longestFarewell = 3 * time.Second
)

// A runner runs the cases of one report.
type runner struct {
	d       Driver
	o       Options
	rec     recording
	current *Case
	beats   []beat    // heartbeats that came
	clients []*client // clients that have a socket
	table   []*client // clients that stay in the game from case to case
	serial  int
	seed    uint64
	begun   time.Time

	second  time.Time // second in which datagrams are counted
	arrived int
	dead    string // why no further case is run, empty if cases are run
	spent   string // why no further case begins, except for repetitions
	flooded bool   // the reason is that too many datagrams came
	late    bool   // the reason is that the time is used up
	game    gamespy.Reply
	queries bool // the host has answered a query
	mute    bool // the host answers no queries
	shutOut int  // number of consecutive failed connects
	counts  bool // the host has passed T-10, so it counts beyond 255
	short   bool // the host was seen to count to 255 and no further
	lasted  bool // it was then tried whether clients stay in longer games
	joins   int  // number of joins of clients that send nothing unusual
	spoiled int  // number of these with signs of a network that loses or delays datagrams
	entered bool // a client has been let in
	barred  bool // no client could join
	why     string

	trip      time.Duration // time of the fastest query and its reply
	connected bool          // a client has been given an id
	denied    int           // number of failed connects before that

	takes     map[transport.Type]bool // types of messages that the host has acknowledged
	announces awaited                 // announcement of a new client
	farewells awaited                 // acknowledgement of a leave
	rests     awaited                 // acknowledgements of all messages
	copies    awaited                 // chat at clients other than the author

	stayed   bool             // clients had to stay in the game
	putOut   []note           // those of these clients that the host removed although they followed the rules
	expelled map[*client]bool // the same clients as a set
	reused   []note           // numbers that were used for two messages
}

// An awaited is something that the host may never send. The case that tests it
// waits the usual time. Other cases, which only need it to have come, wait less
// if it never did.
type awaited struct{ came, failed bool }

// await waits for something for the usual time, or for a few round trips if the
// host has never sent it.
func (r *runner) await(p *awaited, usual time.Duration, enough func() bool) {
	const least, trips = 100 * time.Millisecond, 4
	within := usual
	if p.failed && !p.came {
		within = min(usual, max(least, trips*r.trip))
	}
	came := r.until(within, enough)
	p.came, p.failed = p.came || came, p.failed || !came
}

func newRunner(d Driver, o Options) *runner {
	o.Clients = min(max(cmp.Or(max(o.Clients, 0), 3), 2), relay.MaxPlayers-1)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 2*time.Second)
	o.Attempts = cmp.Or(max(o.Attempts, 0), 3)
	return &runner{d: d, o: o, seed: o.Seed, begun: d.Now(), takes: map[transport.Type]bool{}, expelled: map[*client]bool{}}
}

// Probe checks whether there is a host at the driver's address. The error wraps
// ErrNoHost if there is none.
func Probe(d Driver, o Options) error {
	r := newRunner(d, o)
	defer r.shut()
	return r.probe()
}

// Run runs the cases on the host of a driver. The error wraps ErrNoHost if
// there is none.
func Run(d Driver, o Options) (*Report, error) {
	r := newRunner(d, o)
	o = r.o
	rep := &Report{Host: d.Host().String(), Profile: o.Profile, Begun: r.begun, Repeat: o.Repeat, at: d.Host()}
	if err := r.probe(); err != nil {
		r.shut()
		if r.stopped() {
			err = errInterrupted
		}
		return nil, err
	}
	name, _ := r.game.Get("hostname")
	rep.Name = name
	if o.Master.IsValid() {
		if err := d.Listen(o.Master); err != nil {
			r.shut()
			return nil, err
		}
		defer d.Close(o.Master)
	}
	var watched []*Case
	strolls := false
	for _, c := range o.Cases {
		if c.watch != nil && c.run == nil && c.LeftOut == "" && c.Profiles&o.Profile != 0 {
			watched = append(watched, c)
		}
		strolls = strolls || c.final != nil || len(watched) > 0
	}
	results := map[*Case]Result{}
	played := slices.DeleteFunc(slices.Clone(o.Cases), func(c *Case) bool {
		return c.LeftOut != "" || c.Profiles&o.Profile == 0 || c.run == nil
	})
	slices.SortStableFunc(played, func(a, b *Case) int { return cmp.Compare(a.pace(), b.pace()) }) // quick ones first, so that all of them run if the time is used up
	finish := func(res Result) {
		allow(&res, o.Profile)
		results[res.Case] = res
		r.tell(res)
	}
	for _, c := range played {
		results[c] = r.try(c)
		r.tell(results[c])
	}
	r.repeat(played, results)
	if strolls && r.dead == "" && len(results) == 0 {
		r.stroll()
	}
	if (r.short || len(results) == 0) && o.Slow && r.dead == "" && !r.overBy(-longGame) && slices.ContainsFunc(o.Cases, func(c *Case) bool { return c.ID == staying }) {
		r.lasted = r.lasts()
	}
	rep.Stopped = cmp.Or(r.dead, r.spent)
	if r.barred && !r.entered {
		rep.NoEntry = r.why
	}
	r.leaveAll()
	rep.Frames, rep.Lost = r.rec.frames, r.rec.lost
	watchFrames(rep, watched, func(res Result) {
		if res.Verdict == Pass && rep.Stopped != "" { // the cases that did not run would have made the traffic that may break it
			res.Verdict, res.Why = Skip, "the run ended before all cases were tried; what came keeps the rule"
		}
		finish(res)
	})
	for _, c := range o.Cases {
		if c.final != nil && c.Profiles&o.Profile != 0 {
			res := Result{Case: c, Attempts: 1, proven: true}
			t := &T{r: r}
			r.judge(&res, t.steps(c.final))
			res.Frames = t.frames()
			if len(res.Frames) > 0 {
				res.First, res.Last = res.Frames[0], res.Frames[len(res.Frames)-1]
			}
			finish(res)
		}
		if res, ok := results[c]; ok {
			rep.Results = append(rep.Results, res)
		}
	}
	rep.Took = d.Now().Sub(r.begun)
	r.shut()
	return rep, nil
}

// stroll makes ordinary traffic for cases that only observe.
func (r *runner) stroll() {
	t := &T{r: r}
	_ = t.steps(func(t *T) { // the observing cases report what they did not see
		p := must(t.players(r.o.Clients, fewNumbers))
		for _, c := range p {
			t.settle(c, p...)
		}
	})
	r.endAttempt(t)
}

const interrupted = "interrupted"

var errInterrupted = errors.New("interrupted before the first case")

// tell reports a result to the user.
func (r *runner) tell(res Result) {
	if r.o.Done != nil {
		r.o.Done(&res)
	}
}

// noTime returns why no further case begins, or "" if there is time.
func (r *runner) noTime() string {
	return fmt.Sprintf("no time left: the run has taken %v; run the rest by id, or all with --slow", r.o.Budget)
}

// overBy reports whether the time for the run is exceeded by more than the
// given time.
func (r *runner) overBy(more time.Duration) bool {
	return r.o.Budget > 0 && r.d.Now().Sub(r.begun) > r.o.Budget+more
}

// try runs one case once.
func (r *runner) try(c *Case) Result {
	res := Result{Case: c, First: r.rec.next()}
	switch {
	case r.dead != "":
	case c.Slow && !r.o.Slow:
		res.Why = "takes long; --slow runs it"
	case c.Long && !r.o.Long:
		res.Why = "takes more than a minute; --long runs it"
	case r.stopped():
		r.dead = interrupted
	case r.overBy(0):
		r.spent = r.noTime()
	}
	if res.Why = cmp.Or(res.Why, r.dead, r.spent); res.Why != "" {
		res.Verdict, res.Last = Skip, res.First-1
		return res
	}
	r.attempt(&res)
	return res
}

// attempt tries a case, and replaces the verdict of an earlier attempt.
func (r *runner) attempt(res *Result) {
	c, begun := res.Case, r.d.Now()
	res.Attempts++
	r.current = c
	t := &T{r: r}
	r.beginAttempt()
	res.First = r.rec.next()
	before := r.spoils()
	err := t.play(c)
	f := new(failure)
	_ = errors.As(err, &f) // an empty failure is not proven
	res.doubtful, res.proven = r.spoils() > before || c.Timing || r.notice(), f.proven
	res.Last = r.rec.next() - 1
	res.Frames = t.frames()
	r.endAttempt(t)
	r.judge(res, err)
	r.current = nil
	if err != nil && r.stopped() {
		r.dead = interrupted
	} else {
		r.notice()
	}
	if err != nil && (r.dead == interrupted || r.late && !res.proven) {
		*res = Result{Case: c, Verdict: Skip, Why: r.dead, First: res.First, Last: res.Last, Attempts: res.Attempts}
		return
	}
	allow(res, r.o.Profile)
	if res.Verdict != Pass && r.dead == "" && !r.alive() {
		r.dead, res.proven = "the host has not answered since "+c.ID, true
		if res.Verdict == Skip || res.Verdict == Known {
			res.Verdict = Fail
			res.Expected = "the host goes on"
		}
		res.documented = false
		res.Why = "the host no longer answers"
		res.Came = append(res.Came, "nothing, neither to a query nor to a connect")
	}
	if r.flooded && r.dead != "" {
		*res = Result{
			Case: c, Verdict: Fail, Why: r.dead, Expected: "no flood", Came: []string{r.dead}, First: res.First, Last: res.Last, Attempts: res.Attempts, proven: true,
		}
	}
	if res.Verdict == Pass && res.Attempts > 1 {
		res.Why = "attempt " + strconv.Itoa(res.Attempts) + "; the network may have spoiled those before"
	}
	res.Took += r.d.Now().Sub(begun)
}

// notice records the clients that stay from case to case and that the host has
// removed. It reports whether there are any.
func (r *runner) notice() bool {
	n := len(r.putOut)
	for _, c := range r.table {
		r.stayed = true
		if c.Phase != relay.ClientGone || r.expelled[c] {
			continue
		}
		how := "by a disconnect"
		if c.Reason >= 0 {
			how = "by BootPlayer with reason " + strconv.Itoa(c.Reason)
		}
		r.expelled[c] = true
		r.putOut = append(r.putOut, note{fmt.Sprintf("frame %d: %s was removed %s", c.frame, c.name, how), []int{c.frame}})
	}
	return len(r.putOut) > n
}

// repeat runs those cases again that the network may have spoiled. It runs at
// the end, when the network may be better. Quick cases come first, and cases
// that only inform come last, so that most are run before the time is used up.
// A documented difference needs a second attempt only on a line that loses
// datagrams all the time.
func (r *runner) repeat(played []*Case, results map[*Case]Result) {
	slices.SortStableFunc(played, func(a, b *Case) int {
		if a.Informs != b.Informs {
			return map[bool]int{true: 1, false: -1}[a.Informs]
		}
		return cmp.Compare(results[a].Took, results[b].Took)
	})
	for range r.o.Attempts - 1 {
		for _, c := range played {
			res := results[c]
			known := res.Verdict == Known && res.documented
			needed := min(2, r.o.Attempts) // number of attempts that must fail
			switch {
			case known && !r.lossy():
				continue
			case r.lossy() && !known: // a host that claims to be the stock game is not expected to fail
				needed = r.o.Attempts
			}
			switch {
			case res.Attempts == 0, res.Attempts >= needed, res.proven, !res.doubtful && !r.lossy(), res.Verdict == Pass, res.Verdict == NotSeen:
				continue
			case r.dead == "" && !r.stopped() && !r.overBy(forRepetitions):
				before := res
				switch r.attempt(&res); {
				case r.late && res.Verdict == Skip:
					res = unconfirmed(before, needed)
				case res.Verdict == Skip && before.Verdict == Fail && r.dead == "":
					before.Attempts = res.Attempts
					res = before
				}
			case res.Verdict != Skip && res.Attempts < needed:
				res = unconfirmed(res, needed)
			default:
				continue
			}
			results[c] = res
			r.tell(res)
		}
	}
	if r.stopped() && r.dead == "" {
		r.dead = interrupted
	}
}

// unconfirmed returns a result of a case that cannot be run again although the
// network may have spoiled it.
func unconfirmed(res Result, needed int) Result {
	if res.Verdict != Skip && res.Attempts < needed {
		res.Verdict, res.Why = Skip, "the network may have spoiled it, and no time is left to try it again: "+res.Why
	}
	return res
}

// judge derives a verdict from the error of a case.
func (r *runner) judge(res *Result, err error) {
	res.Verdict, res.Why, res.Expected, res.Came, res.NoEntry, res.documented = Pass, "", "", nil, false, false
	var f *failure
	var o *other
	switch {
	case err == nil:
	case errors.As(err, &f):
		res.Verdict, res.Why, res.Expected, res.Came, res.documented = Fail, f.Error(), f.expected, f.came, f.documented
	case errors.As(err, &o):
		res.Verdict, res.Why, res.NoEntry = o.verdict, o.why, o.noEntry
	default:
		res.Verdict, res.Why = Skip, err.Error()
	}
}

// allow changes a documented failure to KNOWN, and also the failure of a case
// that only informs. It applies to runs and captures.
func allow(res *Result, profile Profile) {
	switch {
	case res.Verdict != Fail:
	case profile == OpenBC && res.documented && res.Case.OpenBC != "":
		res.Verdict, res.Why = Known, fmt.Sprintf("%s (%s)", res.Case.OpenBC, res.Case.OpenBCSource)
	case res.Case.Informs:
		res.Verdict, res.Why = Known, "for information: "+res.Why
	}
}

func (r *runner) stopped() bool { return r.o.Stopped != nil && r.o.Stopped() }

// lossy reports whether the network loses or delays datagrams all the time. It
// may then have spoiled a case without a sign, since a lost datagram of the
// host leaves none.
func (r *runner) lossy() bool {
	const few, share = 2, 10
	return r.spoiled >= few && r.spoiled*share >= r.joins
}

// spoils counts signs of a network that loses or delays datagrams.
func (r *runner) spoils() (n int) {
	for _, c := range r.clients {
		n += c.spoils()
	}
	return n
}

// send sends a datagram of a client and returns its frame.
func (r *runner) send(now time.Time, local netip.AddrPort, wire []byte) int {
	frame := r.rec.add(now, local, r.d.Host(), wire, r.current)
	_ = r.d.Send(local, wire) // lost messages are retransmitted, and Refused reports the error
	return frame
}

// receive handles a datagram of the host.
func (r *runner) receive(a relay.Arrival) {
	if a.At.Sub(r.second) >= time.Second {
		r.second, r.arrived = a.At, 0
	}
	if r.arrived++; r.arrived > floodedBy {
		r.dead, r.flooded = fmt.Sprintf("the host floods: more than %d datagrams within a second", floodedBy), true
		return
	}
	if a.To == r.o.Master {
		r.beats = takeBeat(r.beats, a, r.rec.add(a.At, a.From, a.To, a.Datagram, r.current))
		return
	}
	for _, c := range r.clients {
		if c.local != a.To || c.closed || c.deaf {
			continue
		}
		if c.loss > 0 && r.random(1000) < c.loss {
			continue
		}
		frame := r.rec.add(a.At, a.From, a.To, a.Datagram, r.current)
		c.receive(a.At, frame, a.Datagram)
	}
}

// until carries datagrams until the time has passed or the function returns
// true. It reports whether it did.
func (r *runner) until(within time.Duration, enough func() bool) bool {
	deadline := r.d.Now().Add(within)
	for {
		now := r.d.Now()
		next := deadline
		for _, c := range r.clients {
			if t := c.pump(now); !t.IsZero() && t.Before(next) {
				next = t
			}
		}
		if enough != nil && enough() {
			return true
		}
		if r.dead == "" && r.overBy(brokenOff) {
			r.dead, r.late = r.noTime(), true
		}
		if !now.Before(deadline) || r.dead != "" || r.stopped() {
			return false
		}
		if soonest := now.Add(time.Millisecond); next.Before(soonest) {
			next = soonest
		}
		if a, ok := r.d.Receive(next); ok {
			r.receive(a)
		}
	}
}

// beginAttempt lets the clients finish with the case before.
func (r *runner) beginAttempt() {
	if len(r.clients) > 0 {
		r.await(&r.rests, betweenAll, func() bool { return every(r.clients, func(c *client) bool { return c.Idle() }) })
	}
	for _, c := range r.clients {
		c.forget()
	}
}

// endAttempt makes the clients of a case leave that do not stay.
func (r *runner) endAttempt(t *T) {
	for _, c := range t.opened {
		if !slices.Contains(r.table, c) {
			c.restore()
			if list := c.accepts(); c.ID == 0 && len(list) > 0 {
				c.goodbye(list[0].about(), 1)
			}
			if c.ID != 0 && c.Phase != relay.ClientGone && c.Phase != relay.ClientLeaving {
				c.Leave(r.d.Now())
			}
		}
	}
	gone := func(c *client) bool { return !slices.Contains(r.table, c) && slices.Contains(t.opened, c) }
	leaving := slices.DeleteFunc(slices.Clone(r.clients), func(c *client) bool { return !gone(c) || c.ID == 0 || c.Phase == relay.ClientGone })
	r.haveLeft(leaving, r.o.Timeout/2) // a host that has removed a client sends nothing more
	for _, c := range r.table {
		c.restore()
	}
	kept := r.clients[:0]
	for _, c := range r.clients {
		if gone(c) {
			c.close()
			continue
		}
		kept = append(kept, c)
	}
	clear(r.clients[len(kept):])
	r.clients = kept
}

// haveLeft waits until the host has acknowledged leaves.
func (r *runner) haveLeft(list []*client, within time.Duration) {
	if len(list) == 0 {
		return
	}
	r.await(&r.farewells, within, func() bool { return every(list, (*client).hasLeft) })
	r.farewells.came = r.farewells.came || slices.ContainsFunc(list, (*client).hasLeft)
}

// restore undoes what a case has done to a client.
func (c *client) restore() {
	c.keep, c.deaf, c.fast, c.loss, c.held, c.queue = nil, false, false, 0, false, nil
}

// hasLeft reports whether the host has acknowledged the client's leave.
func (c *client) hasLeft() bool {
	m := c.sent(transport.Disconnect)
	return m != nil && c.acked(true, m.Seq)
}

func (c *client) close() {
	if !c.closed {
		c.closed = true
		c.t.r.d.Close(c.local)
	}
}

// leaveAll makes all clients leave.
func (r *runner) leaveAll() {
	stopped := r.o.Stopped
	r.o.Stopped, r.o.Budget, r.dead = nil, 0, "" // leaves are sent in any case
	for _, c := range r.table {
		c.restore()
		if c.ID != 0 && c.Phase != relay.ClientGone {
			c.Leave(r.d.Now())
		}
	}
	r.haveLeft(slices.DeleteFunc(slices.Clone(r.table), func(c *client) bool { return c.Phase == relay.ClientGone }), min(r.o.Timeout, longestFarewell))
	r.o.Stopped = stopped
}

func (r *runner) shut() {
	for _, c := range r.clients {
		c.close()
	}
}

// random returns a number below n. Equal seeds give equal numbers.
func (r *runner) random(n int) int {
	r.seed += 0x9E3779B97F4A7C15 // the generator is SplitMix64
	z := r.seed
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return int((z ^ z>>31) >> 1 % uint64(n))
}

func (r *runner) nonce() uint32 { return uint32(r.random(1<<31-2)) + 1 }

// probe checks whether there is a host.
func (r *runner) probe() error {
	t := &T{r: r}
	defer r.endAttempt(t)
	begun := r.d.Now()
	if reply, err := t.query(`\status\`); err == nil {
		r.game = *reply
		late := func() bool { return r.d.Now().Sub(begun) > r.o.Timeout }
		if !late() {
			return nil
		}
		begun = r.d.Now() // the network may have lost a query
		if _, err := t.query(`\status\`); err != nil || !late() {
			return nil
		}
		return fmt.Errorf("%w that can be tried: %v answers after more than %v; give a longer --timeout", ErrNoHost, r.d.Host(), r.o.Timeout)
	}
	if r.d.Refused() != nil {
		return r.refused()
	}
	c, err := t.stranger()
	if err != nil {
		return err
	}
	c.connect()
	if r.until(r.o.Timeout, func() bool { return c.ID != 0 || c.Phase == relay.ClientGone }) {
		return nil
	}
	came := 0
	for _, f := range r.rec.frames {
		if f.From == r.d.Host() {
			came++
		}
	}
	switch {
	case r.dead != "":
		return fmt.Errorf("%w: %s", ErrNoHost, r.dead)
	case came > 0:
		return fmt.Errorf("%w: %v sends %d datagrams, but answers neither a query nor a connect", ErrNoHost, r.d.Host(), came)
	case r.d.Refused() != nil:
		return r.refused()
	}
	return fmt.Errorf("%w: %v does not answer within %v; is the host running, and UDP let through?", ErrNoHost, r.d.Host(), r.o.Timeout)
}

// refused returns an error if the system reports that there is no host.
func (r *runner) refused() error {
	return fmt.Errorf("%w: nothing listens at %v: %w; start the host first", ErrNoHost, r.d.Host(), r.d.Refused())
}

// alive reports whether the host answers. If the time of the run is over, the
// host does not count as dead.
func (r *runner) alive() bool {
	t, budget := &T{r: r}, r.o.Budget
	r.o.Budget = 0
	defer func() {
		r.endAttempt(t)
		r.o.Budget = budget
	}()
	if r.queries {
		if _, err := t.query(`\status\`); err == nil {
			return true
		}
	}
	c, err := t.stranger()
	if err != nil {
		return false
	}
	c.connect()
	return r.until(r.o.Timeout, func() bool { return len(c.in) > 0 || r.d.Refused() != nil }) && len(c.in) > 0
}
