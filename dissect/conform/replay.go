// Not part of the library: package conform compares a captured host with a
// model. It finds the host and its clients in a capture, plays the clients'
// messages to the model, and compares the model's messages with those of the
// captured host, client by client.
//
// It has no socket and no clock. Records come from the pipeline, and data to
// keep is copied. Memory is bounded: messages are compared within seconds. The
// report names the limits that were reached.
package conform

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Config chooses the model for a capture.
type Config struct {
	// Against is the expected host: decode.Stock, decode.OpenBC, or Undecided for
	// the dialect of the captured host.
	Against decode.Dialect
	// Dialect, unless Undecided, is the dialect of the captured host.
	Dialect decode.Dialect
	// Game configures the model's game. Fields without a value come from the
	// capture.
	Game relay.Config
	// Shared means that the host's game may have players who do not appear in the
	// capture, not even by name.
	Shared bool
	// OnlyContent omits findings about numbers and acknowledgements.
	OnlyContent bool
	// Catalog has the game messages. Nil means the game's catalogue.
	Catalog *decode.Catalog
}

// maxAwaiting is the maximum number of events that wait for the rules of the
// game, which the capture shows when the first client has joined.
const (
	maxAwaiting      = 4096
	maxAwaitingBytes = 4 << 20
)

// A Replay compares one capture. It is not safe for concurrent use.
type Replay struct {
	cfg     Config
	t       *timeline
	rep     *result.Report
	index   int32 // index of the latest input
	cmp     *comparer
	players []*player
	waiting []*Event
	load    load         // size of the waiting events
	told    relay.Config // rules of the game that the host has told
	rules   struct{ settings, mission bool }
}

// New returns a new replay.
func New(cfg Config) *Replay {
	if cfg.Catalog == nil {
		cfg.Catalog = msg.Catalog()
	}
	r := &Replay{cfg: cfg, rep: result.New(cfg.Against, cfg.Catalog)}
	r.told = relay.Config{Players: relay.MaxPlayers, TimeLimit: msg.Unlimited, FragLimit: msg.Unlimited} // until the host tells them
	r.t = NewClients(cfg.Catalog, r.event)
	r.t.shared = cfg.Shared
	r.t.sender, r.t.forced = cfg.Dialect, cfg.Dialect
	return r
}

// learn learns the rules of the game from the host.
func (r *Replay) learn(rec *dissect.Record) {
	if r.cmp != nil || rec.Dir != dissect.FromHost || rec.Err != nil {
		return
	}
	switch m := rec.Message.(type) {
	case *msg.Settings:
		r.rules.settings = true
		r.told.Mission, r.told.Collisions = string(m.Mission), m.Collisions
	case *msg.MissionInit:
		r.rules.mission = true
		r.told.System, r.told.Players, r.told.TimeLimit, r.told.FragLimit = m.System, int(m.PlayerLimit), m.TimeLimit, m.FragLimit
	}
}

// game returns the configuration of the model's game.
func (r *Replay) game() relay.Config {
	g, told := r.cfg.Game, &r.told
	g.Mission, g.System = cmp.Or(g.Mission, told.Mission), cmp.Or(g.System, told.System)
	g.Players = cmp.Or(g.Players, told.Players)
	g.TimeLimit, g.FragLimit = cmp.Or(g.TimeLimit, told.TimeLimit), cmp.Or(g.FragLimit, told.FragLimit)
	g.Collisions = g.Collisions || told.Collisions
	return g
}

// event handles an event of the timeline.
func (r *Replay) event(e *Event) {
	if r.cmp != nil {
		r.play(e)
		return
	}
	r.waiting = append(r.waiting, e.keep())
	r.load.add(len(e.Body))
	known := r.rules.settings && r.rules.mission && (r.t.sender != decode.Undecided || r.cfg.Against == decode.OpenBC)
	full := r.load.messages >= r.t.budget.of(maxAwaiting) || r.load.bytes > r.t.budget.of(maxAwaitingBytes)
	if !known && full {
		r.t.noted[result.LimitRules] = len(r.waiting)
	}
	if known || full {
		r.begin()
	}
}

// begin makes the models and plays the waiting events.
func (r *Replay) begin() {
	g := r.game()
	judge, both := r.choose()
	r.rep.Game = g
	r.cmp = newComparer(r.t, r.rep, judge, both)
	for i, like := range []decode.Dialect{decode.Stock, decode.OpenBC} {
		if m := model(1 << i); both || m == judge {
			g.Like = like
			r.players = append(r.players, newPlayer(g, r.cfg.Catalog, r.cmp, m))
		}
	}
	waiting := r.waiting
	r.waiting = nil
	for _, e := range waiting {
		r.play(e)
	}
}

// choose returns the model that decides, and whether the other one exists, too.
func (r *Replay) choose() (judge model, both bool) {
	both = r.t.sender == decode.OpenBC && r.cfg.Against != decode.OpenBC
	if r.cfg.Against == decode.OpenBC || both && r.cfg.Against != decode.Stock {
		return dialectModel, both
	}
	return stockModel, both
}

// play plays an event to the models and compares their messages.
func (r *Replay) play(e *Event) {
	c := e.Client
	if e.Kind == Output {
		r.scores(e)
		r.explode(e)
		r.cmp.output(e)
		return
	}
	joined := e.Kind == Joined && !c.Adopted
	if joined || e.Kind == Input || e.Kind == Left {
		r.rep.Input(e.Type, e.Op)
	}
	r.begun(e)
	for _, p := range r.players {
		if p.model != dialectModel || !e.Broken {
			p.event(e)
		}
	}
	ready := e.Kind == Input && r.t.bodies.specOf(e).Step == decode.StepReady
	switch {
	case e.Kind == Left || e.Kind == PutOut:
		c.exit = r.cmp.src
	case joined, ready:
		c.entry = r.cmp.src
	}
	if e.Kind == Input && e.standard() && len(r.cmp.step) == 0 { // nobody else is there, or so it seems
		r.cmp.inputs.add(r.cmp.key(e.Type, e.Reliable, e.Priority, e.Body), r.cmp.src, r.t.budget.of(maxInputs))
	}
	r.cmp.settle()
}

// explode tells the model with the captured host's dialect about ships that the
// host's simulation destroys.
func (r *Replay) explode(e *Event) {
	if !e.standard() || e.Op != msg.OpHostEvent {
		return
	}
	if m, ok := r.t.bodies.game(e.Body).(*msg.HostEvent); ok && m.Code == event.CodeObjectExploding {
		r.ends(m.Dest, e.Frame)
		slot, ok := m.Dest.Slot()
		for _, p := range r.players {
			if ok && p.model == dialectModel {
				p.host.Exploded(slot)
			}
		}
	}
}

// ends records the end of a ship, if it is the first sign of it.
func (r *Replay) ends(ship wire.ObjectID, frame int) {
	if _, known := r.cmp.ends[ship]; !known && len(r.cmp.ends) < r.t.budget.of(maxEnds) {
		r.cmp.ends[ship] = frame
	} else if !known {
		r.t.noted[result.LimitMemory]++
	}
}

// begun makes an event the cause of what the models send.
func (r *Replay) begun(e *Event) {
	r.index++
	s := &source{Event: *e, index: r.index}
	if s.Body = nil; !e.standard() {
		s.Number = -1
	} else if creates(r.t.bodies.specOf(e)) || e.Op == msg.OpDestroyObject {
		switch m := r.t.bodies.game(e.Body).(type) {
		case msg.Creation:
			s.object, _ = m.Created()
			delete(r.cmp.ends, s.object)
		case *msg.DestroyObject:
			r.ends(m.Object, e.Frame)
		}
	}
	r.cmp.src = s
}

// scores records scores that a client receives before it is ready.
func (r *Replay) scores(e *Event) {
	if r.cmp.both && e.standard() && !e.Client.isReady() && !e.Client.Adopted && r.t.bodies.specOf(e).Made == decode.MadeByScores {
		r.rep.Deviate(result.RuleScores, transport.Standard, e.Op, e.Frame)
	}
}

// close judges the waiting messages and returns the report. The argument lossy
// tells whether the capture lacks messages, possibly only of another host's
// game.
func (r *Replay) close(line []measure.Loss, lossy bool) *result.Report {
	if r.cmp == nil {
		r.begin()
	}
	r.cmp.rates.line = line
	r.cmp.finish(lossy)
	rep := r.rep
	if !r.cfg.OnlyContent {
		rep.Findings = r.t.findings(line)
	}
	rep.Host, rep.Dialect = r.t.host, r.t.sender
	for _, c := range r.t.order {
		rep.Clients = append(rep.Clients, &c.Player)
		if !r.cfg.OnlyContent {
			rep.Numbers = max(rep.Numbers, c.got[1].next)
		}
	}
	rep.Finish()
	r.count()
	r.silences()
	rep.Notes = append(r.t.noted.Texts(), r.t.notes...)
	return rep
}

// count counts what is known at the end of the capture.
func (r *Replay) count() {
	t, n := r.t, &r.t.noted
	out, in := t.losses()
	n[result.NoteLostInputs], n[result.NoteLostOutputs] = in, out
	n[result.NoteStrangers] = len(t.strangers)
	if t.fromClients == 0 {
		n[result.NoteOnlyHost] = t.fromHosts
	}
	if t.fromHosts == 0 {
		n[result.NoteOnlyClients] = t.fromClients
	}
	for _, c := range t.order {
		switch {
		case c.admitted && (c.letIn() || c.exit == nil || c.exit.Kind != PutOut):
		case c.Adopted:
			n[result.NoteUnknown]++
		default:
			n[result.NoteOutside]++
		}
	}
	n[result.LimitDoubts] += r.cmp.rates.more
	n[result.LimitGroups] += r.cmp.rates.merged
	for _, p := range r.players {
		n[result.LimitGuards] += p.host.Stats().Events[relay.Limited]
	}
}

// silences notes where the clock jumps, and where the host is silent to the end.
func (r *Replay) silences() {
	t := r.t
	if n, most := t.clock.Jumps(); n > 0 {
		t.note(plural.Form(n, "The capture's clock goes back %d {time|times}, by up to %.1f seconds: it was set, or several machines captured. The order of the frames decides then; times are guesses."), n, most.Seconds())
	}
	t.silence()
	for _, c := range t.order {
		if !c.gone && c.taken.frame > 0 && c.spokeSince(c.taken) {
			t.note("The host acknowledged nothing from %v after frame %d: %d messages.", c, c.taken.frame, c.after)
		}
	}
}

// MaxHosts is the maximum number of hosts of a capture that are compared.
const MaxHosts = 16

// Hosts compares each host of a capture. It is a sink of records.
type Hosts struct {
	cfg    Config
	by     map[netip.AddrPort]*Replay
	order  []*Replay
	passed int // number of messages of hosts beyond the limit
	flawed int // number of datagrams with damaged headers
	budget budget
	meter  measure.Meter // estimates losses on the line
}

// maxUnanswered is how many messages of one direction may wait for their
// acknowledgements. OpenBC's host drops a client with 16.
const maxUnanswered = 64

// NewHosts returns a comparer for every host in a capture.
func NewHosts(cfg Config) *Hosts {
	return &Hosts{cfg: cfg, by: map[netip.AddrPort]*Replay{}, meter: measure.Meter{LinksOnly: true, Outstanding: maxUnanswered}}
}

// Record takes a record of the pipeline. It is borrowed until the call returns.
func (h *Hosts) Record(r *dissect.Record) error {
	if errors.Is(r.Err, dissect.ErrHeader) {
		h.flawed++
	}
	if r.Dir == dissect.DirUnknown || r.Kind != dissect.KindMessage && r.Kind != dissect.KindMalformed {
		return nil
	}
	host, _ := r.Ends()
	one := h.by[host]
	if one == nil {
		if len(h.order) == MaxHosts {
			h.passed++
			return nil
		}
		one = New(h.cfg)
		one.t.budget = &h.budget
		h.by[host], h.order = one, append(h.order, one)
		h.budget.hosts++
		for _, other := range h.order {
			if other.cmp != nil {
				other.cmp.relieve() // make room
			}
		}
	}
	one.learn(r)
	one.t.Record(r)
	return h.meter.Record(r)
}

// Close does nothing. It exists so that Hosts is a sink.
func (h *Hosts) Close() error { return nil }

// Reports judges the waiting messages. It returns the reports in the order in
// which the hosts first appeared, and the number of messages of further hosts.
func (h *Hosts) Reports() (reports []*result.Report, passed int) {
	lossy := slices.ContainsFunc(h.order, func(r *Replay) bool { return r.t.lossy() })
	losses := measure.Losses(h.meter.Links())
	kept := slices.DeleteFunc(slices.Clone(h.order), h.apparent)
	for i, r := range kept {
		if i == 0 {
			r.t.noted[result.NoteHeaders], r.t.noted[result.NoteApparent] = h.flawed, len(h.order)-len(kept)
		}
		line := slices.DeleteFunc(slices.Clone(losses), func(l measure.Loss) bool { return l.Host != r.t.host })
		rep := r.close(line, lossy)
		rep.Lose(line)
		reports = append(reports, rep)
	}
	return reports, h.passed
}

// few is how many datagrams may have the same wrong address.
const few = 8

// oneSided reports whether a host has traffic in only one direction.
func (r *Replay) oneSided() bool { return r.t.fromHosts == 0 || r.t.fromClients == 0 }

// apparent reports whether a host only seems to exist, because the port is
// damaged in a few datagrams of one direction. Another host with the same IP
// address has traffic in both directions.
func (h *Hosts) apparent(r *Replay) bool {
	return r.oneSided() && r.t.fromHosts+r.t.fromClients <= few && slices.ContainsFunc(h.order, func(o *Replay) bool {
		return o.t.host.Addr() == r.t.host.Addr() && !o.oneSided()
	})
}

// A budget divides the limits of a capture between the hosts in it.
type budget struct{ hosts int }

// of returns each host's part of a limit.
func (b *budget) of(limit int) int { return limit / max(b.hosts, 1) }

// Limits and costs of the search for histories, in steps.
const (
	stepsEach  = 1 << 10 // allowed for each message that was played
	stepsFirst = 1 << 23 // allowed in addition, for captures with few messages
	stepsFar   = 4       // cost of looking at a waiting message, which is rarely in the processor's cache
)

// A work counts the steps of the search for histories. They are limited in
// proportion to the messages, so that no capture takes long.
type work struct{ allowed, done int }

// spend counts steps.
func (w *work) spend(n int) { w.done += n }

// over reports whether the limit is reached, so that open questions stay open.
func (w *work) over() bool { return w.done > w.allowed }
