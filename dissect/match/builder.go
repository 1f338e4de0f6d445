package match

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of a capture, for all of its matches together. Further items are
// counted in Evicted.
const (
	MaxMatches    = 256
	MaxHosts      = 64   // hosts at a time. If there are more, the host that was silent longest ends first.
	MaxPlayers    = 1024 // players of a match
	MaxLives      = 16384
	MaxKills      = 16384
	MaxScores     = 65536
	MaxShots      = 200_000
	MaxDamage     = 200_000
	MaxChat       = 16384
	MaxEvents     = 65536
	MaxSamples    = 1_000_000
	MaxConditions = 200_000 // changes of hulls, shields and subsystems
	MaxFindings   = 512     // findings of a match
	MaxPoints     = 1024    // points of a line. If there are more, its steps become longer.
	maxText       = 1024    // length of a name or a line of chat in bytes
	maxVisits     = 64      // visits of a player
)

// Times in seconds.
const (
	lapSeconds     = 5.0  // time between the points of a line
	silentSeconds  = 3.0  // shortest silence that becomes an event
	goneSeconds    = 15.0 // how long a player must be silent at the end of the capture to count as having left
	lateNotice     = 30.0 // how late other players may hear that one has left. Until they have, it is resent.
	noticeSeconds  = 2.0  // longest time between the host's deletion of a ship and the notice that its player left
	hearSeconds    = 10.0 // how long after a restart clients may still update their former ships. Until they have heard of it, it is resent.
	malformedAgain = 10.0 // within this time, malformed messages of a sender become only one event
)

// A Builder folds records into matches. It implements report.Sink. It keeps no
// records, and its memory is bounded for any traffic. It is not safe for
// concurrent use.
type Builder struct {
	// OnEvent, if set, is called with each event when it is found. The event's
	// text may still change, since names and killers may become known later.
	OnEvent func(*Match, *Event)
	// OnKill, if set, is called once for each loss of a ship, when the loss is
	// settled. It is settled when the host's score change has named the killer,
	// when no further report is expected, or by Close. OnKill must not keep the
	// kill.
	OnKill func(*Match, *Kill)
	// OnSample, if set, is called with each sample of a flight and the index of
	// its life. Life.Track then stays empty. It is for programs that keep flights
	// elsewhere.
	OnSample func(*Match, int, *Sample)

	origin   time.Time
	hosts    map[netip.AddrPort]*game
	last     *game // game of the last record
	matches  []*Match
	meter    measure.Meter
	frame    int     // frame of the last datagram
	now      float64 // time of the last datagram
	lap      float64 // when the current points of the lines end
	finished bool    // whether the matches were finished after the last datagram
	names    map[netip.AddrPort]wire.Untrusted

	used [items]int // number of kept items, by kind
	kept [items]int // number of these in matches that have ended
	lost int        // number of matches that were not kept
}

// New returns a builder. Times in its matches count from origin, which should
// be the time of the capture's first frame. If origin is zero, they count from
// the first record.
func New(origin time.Time) *Builder {
	return &Builder{origin: origin, hosts: map[netip.AddrPort]*game{}, meter: measure.Meter{LinksOnly: true}}
}

// Kinds of items with a limit in each capture.
const (
	itemLives = iota
	itemKills
	itemScores
	itemShots
	itemDamage
	itemChat
	itemEvents
	itemSamples
	itemConditions
	items // number of kinds
)

// itemNames are the keys of [Evicted]. limits are the most items of a capture,
// by kind.
var (
	itemNames = [items]string{"lives", "kills", "scores", "shots", "damage", "chat", "events", "samples", "conditions"}
	limits    = [items]int{MaxLives, MaxKills, MaxScores, MaxShots, MaxDamage, MaxChat, MaxEvents, MaxSamples, MaxConditions}
)

// room reports whether another item of a kind may be kept. It counts the item
// or its loss.
func (g *game) room(kind int) bool {
	if g.b.used[kind] >= limits[kind] {
		g.m.Evicted.add(itemNames[kind], 1)
		return false
	}
	g.b.used[kind]++
	g.used[kind]++
	return true
}

// Needs returns the parts of records that a builder uses.
func (b *Builder) Needs() dissect.Needs { return dissect.Needs{Updates: dissect.UpdatesOnce} }

// Record folds a record. It never fails.
func (b *Builder) Record(r *dissect.Record) error {
	if r.Datagram == nil {
		return nil
	}
	if r.DoubleOf > 0 {
		return b.meter.Record(r)
	}
	more := r.Datagram.Number == b.frame
	if !more {
		b.comes(r.Datagram)
	}
	_ = b.meter.Record(r) // never fails
	copied := !first(r) && r.Author != nil && motion(r)
	if copied && more {
		return nil // the datagram has already been seen
	}
	if r.Kind == dissect.KindGameSpy {
		b.gameSpy(r)
		return nil
	}
	if r.Dir == dissect.DirUnknown || r.Kind == dissect.KindEvicted {
		return nil
	}
	g := b.game(r)
	g.seen(r, b.now)
	switch {
	case r.Status == dissect.StatusMalformed:
		if !r.Cut {
			g.malformed(r)
		}
		return nil
	case copied || r.Status == dissect.StatusDuplicate:
		return nil
	case r.Message == nil:
		if r.Transport.Type == transport.Leave && r.Dir == dissect.ToHost {
			g.goodbye(r)
		}
		return nil
	}
	if m, ok := r.Message.(*msg.StateUpdate); ok {
		g.update(r, m)
		return nil
	}
	g.message(r)
	return nil
}

// motion reports whether the record is a ship update without subsystems.
func motion(r *dissect.Record) bool {
	_, flags, ok := msg.UpdateHead(r.Payload)
	return ok && flags&msg.DirtySubsystems == 0
}

// comes notes the time of the next datagram.
func (b *Builder) comes(d *dissect.Datagram) {
	b.frame = d.Number
	if b.finished {
		b.finished = false
		for _, g := range b.hosts {
			g.unsilent()
		}
	}
	if !d.Time.IsZero() {
		if b.origin.IsZero() {
			b.origin = d.Time
		}
		b.now = packet.Since(d.Time, b.origin).Seconds()
	}
	if b.now >= b.lap {
		b.endLap()
	}
}

// Close ends all matches.
func (b *Builder) Close() error {
	b.endLap()
	for _, host := range slices.SortedFunc(maps.Keys(b.hosts), netip.AddrPort.Compare) {
		b.hosts[host].settles()
	}
	return nil
}

// Matches returns the matches so far, in the order of their beginnings. They
// are valid until the next record.
func (b *Builder) Matches() []*Match {
	b.finished = true
	all := slices.Clone(b.matches)
	for _, g := range b.hosts {
		if g.m.played() {
			g.finish()
			all = append(all, g.m)
		}
	}
	slices.SortStableFunc(all, func(x, y *Match) int {
		return cmp.Or(cmp.Compare(x.Begin, y.Begin), x.Host.Compare(y.Host))
	})
	if len(all) > 0 && b.lost > 0 {
		all[0].Evicted.add("matches", b.lost-all[0].Evicted["matches"])
	}
	return all
}

// Watch returns the matches so far, for a report that follows them while they
// are played. Unlike Matches, it makes no decision that later records may
// change. The result ended is no longer returned by later calls.
func (b *Builder) Watch() (ended, open []*Match) {
	b.finished = true
	ended, b.matches = b.matches, nil
	for kind, n := range b.kept { // the caller has them now
		b.used[kind] -= n
	}
	b.kept = [items]int{}
	for _, host := range slices.SortedFunc(maps.Keys(b.hosts), netip.AddrPort.Compare) {
		if g := b.hosts[host]; g.m.played() {
			g.flushTracks()
			g.figures()
			open = append(open, g.m)
		}
	}
	return ended, open
}

// Current returns the matches that are being played, by host. Values that are
// computed at the end of a match are missing.
func (b *Builder) Current() []*Match {
	all := make([]*Match, 0, len(b.hosts))
	for _, g := range b.hosts {
		all = append(all, g.m)
	}
	slices.SortFunc(all, func(x, y *Match) int { return x.Host.Compare(y.Host) })
	return all
}

// played reports whether a match has anything to report.
func (m *Match) played() bool {
	return len(m.Lives)+len(m.Kills)+len(m.Chat)+len(m.Scores) > 0 ||
		slices.ContainsFunc(m.Players, func(p Player) bool { return p.Joined != nil || p.Ready != nil || p.Left != nil })
}

// game returns the game of a record's host.
func (b *Builder) game(r *dissect.Record) *game {
	host, _ := r.Ends()
	if g := b.last; g != nil && g.host == host {
		return g
	}
	g := b.hosts[host]
	if g == nil {
		if len(b.hosts) >= MaxHosts {
			b.evictHost()
		}
		g = newGame(b, host)
		b.hosts[host] = g
	}
	b.last = g
	return g
}

// evictHost ends the match of the host that has been silent longest.
func (b *Builder) evictHost() {
	var old *game
	for _, g := range b.hosts {
		if old == nil || g.last < old.last || g.last == old.last && g.host.Compare(old.host) < 0 {
			old = g
		}
	}
	old.close()
	delete(b.hosts, old.host)
}

// keep stores a match that has ended.
func (b *Builder) keep(m *Match) {
	if len(b.matches) >= MaxMatches {
		b.lost++
		return
	}
	b.matches = append(b.matches, m)
}

// gameSpy stores the name of the server.
func (b *Builder) gameSpy(r *dissect.Record) {
	if r.Dir != dissect.FromHost || r.GameSpy.Kind() != gamespy.KindReply {
		return
	}
	name, ok := r.GameSpy.Get("hostname")
	if !ok || name == "" {
		return
	}
	if b.names == nil {
		b.names = map[netip.AddrPort]wire.Untrusted{}
	}
	if _, known := b.names[r.Datagram.Src]; known || len(b.names) < MaxHosts {
		b.names[r.Datagram.Src] = clip(name)
	}
}

// A game is the match that a host is playing, with its state.
type game struct {
	b    *Builder
	host netip.AddrPort
	m    *Match
	last float64 // time of the last record
	who  who

	former    map[wire.ObjectID]int // ships of the match before the restart
	ships     map[wire.ObjectID]int // index of the latest life of an object
	recent    [wire.Slots]recent    // indices of the objects' latest lives, one table for each slot
	state     []*lifeState          // indexed by life
	ends      []ended               // ships that the host deleted, until the reason is clear
	kills     []killState           // indexed by kill
	unsettled []int                 // indices of kills, in ascending order
	lines     map[netip.AddrPort]*lineState
	odd       map[oddKey]int // number of findings by kind and player
	faults    map[faultKey]*Event
	hashes    map[string]hashSeen     // indexed by class
	teams     bool                    // the host counts scores for teams
	scored    bool                    // the host has sent scores of teams
	followed  bool                    // the capture has an earlier match of the host
	empty     bool                    // all players have left
	goneIn    int                     // frame in which the last player left
	restarted map[netip.AddrPort]bool // players to whom the host has sent the restart that began the match
	guessed   bool                    // the end follows from silence, and play may go on
	told      bool                    // clients report damage
	later     map[int]*HostSays       // scores after the end of the match, by player
	closed    bool                    // the host has reported that it closes the game
	final     bool                    // no record of the match follows
	log       []*Event                // m.Events in the order in which the events were found
	nameless  map[int][]nameless      // indexed by player
	accidents map[int]accident
	used      [items]int // number of items of the match by kind
	rates     map[rateKey]*rateState
	unarmed   map[int]*unarmed // indexed by player
}

func newGame(b *Builder, host netip.AddrPort) *game {
	g := &game{b: b, host: host}
	g.who.init()
	g.begin()
	return g
}

// begin begins a match.
func (g *game) begin() {
	g.m = &Match{
		Host: g.host, Name: g.b.names[g.host], Origin: g.b.origin, Begin: g.b.now, End: g.b.now, Vantage: VantageUnknown,
	}
	g.former, g.ships, g.recent, g.state = nil, map[wire.ObjectID]int{}, [wire.Slots]recent{}, nil
	g.ends, g.kills, g.unsettled, g.lines = nil, nil, nil, map[netip.AddrPort]*lineState{}
	g.odd, g.faults, g.hashes = map[oddKey]int{}, map[faultKey]*Event{}, map[string]hashSeen{}
	g.accidents, g.unarmed = map[int]accident{}, map[int]*unarmed{}
	g.log, g.nameless, g.rates = nil, map[int][]nameless{}, map[rateKey]*rateState{}
	g.teams, g.scored, g.closed, g.followed, g.empty, g.guessed, g.told, g.final = false, false, false, false, false, false, false, false
	g.later, g.restarted, g.goneIn = map[int]*HostSays{}, nil, 0
}

// settles settles all kills, since no record of the match follows.
func (g *game) settles() {
	g.final = true
	g.settleKills(math.Inf(1))
}

// close ends the match so that it cannot go on.
func (g *game) close() {
	g.settles()
	if g.m.played() {
		g.finish()
		g.b.keep(g.m)
	}
	for kind, n := range g.used {
		g.b.kept[kind] += n
	}
	g.used = [items]int{}
}

// seen notes the time of a record.
func (g *game) seen(r *dissect.Record, now float64) {
	g.last = now
	if now > g.m.End && !g.empty {
		g.m.End = now
	}
	if len(g.ends) > 0 {
		g.settleEnds(now)
	}
	if len(g.unsettled) > 0 {
		g.settleKills(now)
	}
	if r.Sender != decode.Undecided && (r.Dir == dissect.FromHost || g.m.Dialect == decode.Undecided) {
		g.m.Dialect = r.Sender
	}
}

// event adds a line to the events.
func (g *game) event(frame int, kind EventKind, player int, text wire.Untrusted) *Event {
	return g.eventAt(g.b.now, frame, kind, player, text)
}

func (g *game) eventAt(t float64, frame int, kind EventKind, player int, text wire.Untrusted) *Event {
	if !g.room(itemEvents) {
		return nil
	}
	e := &Event{T: t, Frame: frame, Kind: kind, Player: player, Text: text}
	g.log = append(g.log, e)
	if player >= 0 && g.m.Players[player].Name == "" {
		if name := g.m.NameOf(player); strings.HasPrefix(text.Raw(), name.Raw()) { // the name may become known later
			g.nameless[player] = append(g.nameless[player], nameless{e, len(name)})
		}
	}
	if g.b.OnEvent != nil {
		g.b.OnEvent(g.m, e)
	}
	return e
}

// A nameless is an event whose text begins with the description of a player.
// The description has so many bytes.
type nameless struct {
	*Event
	described int
}

// describeNameless updates the descriptions of players without names.
func (g *game) describeNameless() {
	for player, all := range g.nameless {
		name := g.m.NameOf(player)
		for i := range all {
			e := &all[i]
			e.Text, e.described = name+e.Text[e.described:], len(name)
		}
	}
}

// malformed reports a malformed message.
func (g *game) malformed(r *dissect.Record) {
	name := "data"
	if r.Spec != nil && r.Kind != dissect.KindMalformed {
		name = r.Spec.Name
	}
	k := faultKey{r.Datagram.Src, name}
	if f, ok := g.faults[k]; ok && g.b.now-f.T < malformedAgain {
		f.Times = max(f.Times, 1) + 1
		return
	}
	if len(g.faults) >= MaxPlayers {
		clear(g.faults)
	}
	text := "malformed " + name
	if r.Err != nil {
		text += ": " + clip(r.Err.Error())
	}
	player := NoPlayer
	if r.Dir == dissect.ToHost {
		player = g.client(r)
	}
	text = r.Datagram.Src.String() + ": " + text
	if e := g.event(r.Datagram.Number, EventError, player, wire.Untrusted(text)); e != nil {
		g.faults[k] = e
	}
}

type faultKey struct {
	from netip.AddrPort
	name string
}

// message folds a message other than a ship update.
func (g *game) message(r *dissect.Record) {
	if len(r.Payload) == 0 {
		g.connection(r)
		return
	}
	switch m := r.Message.(type) {
	case *msg.ClientReady:
		g.ready(r)
	case *msg.Team:
		g.number(r, decode.Itself, int64(m.Player)) // stores the player's team, which the session knows
	case *msg.ObjectCreateTeam:
		if m.Class != msg.ClassTorpedo {
			g.created(r, m.Slot, m.Player, &m.Object)
		}
	case *msg.ObjectCreateOpenBC:
		g.created(r, m.Slot, m.Player, openBCObject(m))
	}
	if r.Dir == dissect.FromHost {
		if _, forged := msg.IsChallenge(r.Payload); forged {
			g.found(r.Datagram.Number, g.client(r), "forged", "is forged: others write the player's address as their own", 0, 0)
		}
		g.tells(r)
	}
	if first(r) {
		g.action(r)
	}
}

// tells folds the messages that only a host can send: rules, players and
// scores.
func (g *game) tells(r *dissect.Record) {
	switch m := r.Message.(type) {
	case *msg.Settings:
		g.settings(r, m)
	case *msg.MissionInit:
		g.rules(r, m)
	case *msg.PlayerAnnounce:
		g.announced(r, &m.Event)
	case *msg.PlayerDeleted:
		g.deleted(r, wire.Text(m.Name))
	case *msg.PlayerDeletedOpenBC:
		g.deleted(r, wire.Text(m.Name))
	case *msg.ScoreChange:
		if first(r) {
			g.scoreChange(r, m)
		}
	case *msg.Score:
		g.hostSays(r, m.Player, &m.Kills, &m.Deaths, &m.Score)
	case *msg.ScoreInit:
		g.teams = true
		if p := g.hostSays(r, m.Player, &m.Kills, &m.Deaths, &m.Score); p != NoPlayer && m.Team < noTeam {
			g.setTeam(r.Datagram.Number, p, int(m.Team))
		}
	case *msg.TeamScore:
		g.teamScore(r, m)
	case *msg.EndGame:
		if once(r) {
			g.over(r, named(names.EndGameReasons, uint64(m.Reason)))
		}
	case *msg.RestartGame:
		if once(r) {
			g.restart(r)
		}
	}
}

// once reports whether the host's message is not a copy of one that it sent to
// another player. Hosts can pass on a client's request to end or restart a
// match, which has no effect until they do.
func once(r *dissect.Record) bool { return first(r) || r.Author != nil }

// numbers of noTeam or more are no teams
const noTeam = 16

// settings stores the mission. A new mission begins a new match.
func (g *game) settings(r *dissect.Record, m *msg.Settings) {
	if _, client := r.Ends(); g.who.gone[client] {
		return // it has crossed the player's leave
	}
	g.again() // logs have no connections
	mission := clip(wire.Text(m.Mission))
	if g.m.Mission != "" && mission != g.m.Mission && len(g.m.Lives) > 0 {
		g.next(EndMission)
	}
	if g.m.Mission != mission {
		g.m.Mission = mission
		g.event(r.Datagram.Number, EventMatch, NoPlayer, "mission "+mission)
	}
	on := m.Collisions
	g.m.Rules.Collisions = &on
	g.joined(r)
}

// rules stores the rules of the mission.
func (g *game) rules(r *dissect.Record, m *msg.MissionInit) {
	rules := &g.m.Rules
	before, system := *rules, named(names.Systems, uint64(m.System))
	rules.PlayerLimit = number(int(m.PlayerLimit))
	rules.TimeLimit, rules.NoTimeLimit = limit(m.TimeLimit)
	rules.FragLimit, rules.NoFragLimit = limit(m.FragLimit)
	was, now := g.m.Map+before.limits(), system+rules.limits()
	if g.m.Map = system; was != now {
		g.event(r.Datagram.Number, EventMatch, NoPlayer, wire.Untrusted("map "+now))
	}
}

// limits returns the match's limits in words, to follow the name of a map.
func (r *Rules) limits() string {
	text := ""
	for _, l := range []struct {
		n  *int
		of string
	}{{r.PlayerLimit, "player"}, {r.TimeLimit, "minute"}, {r.FragLimit, "kill"}} {
		if l.n == nil {
			continue
		}
		if text += ", " + digits(*l.n) + " " + l.of; *l.n != 1 {
			text += "s"
		}
	}
	return text
}

func limit(n uint8) (value *int, none bool) {
	if n == msg.Unlimited {
		return nil, true
	}
	return number(int(n)), false
}

func number(n int) *int { return &n }

// over notes that the host ends the match.
func (g *game) over(r *dissect.Record, reason string) {
	g.event(r.Datagram.Number, EventMatch, NoPlayer, wire.Untrusted("the host ends the match: "+reason))
	g.end(r.Datagram.Number, g.b.now, reason)
}

// sameRestart is how long a host may take to send a restart to all players, in
// seconds.
const sameRestart = 30

// restart begins the next match with the players who are there. If the host
// only sends the last restart to another player, it does nothing.
func (g *game) restart(r *dissect.Record) {
	_, client := r.Ends()
	if told := g.restarted; told != nil && !told[client] && len(told) < MaxPlayers && g.b.now-g.m.Begin < sameRestart {
		told[client] = true
		return
	}
	g.event(r.Datagram.Number, EventMatch, NoPlayer, "the match restarts")
	former := g.ships
	g.next(EndRestart)
	g.former = former
	g.restarted = map[netip.AddrPort]bool{client: true}
}

// next ends the match and begins the next one.
func (g *game) next(why string) {
	old := g.m
	g.end(g.b.frame, g.b.now, why)
	for i := range g.state {
		g.endLife(i, g.b.now, "restarted")
	}
	g.b.endLap()
	g.close()
	g.begin()
	g.followed = true
	m := g.m
	m.Dialect, m.Mission, m.Map, m.Rules, m.Name = old.Dialect, old.Mission, old.Map, old.Rules, old.Name
	g.carry(old, why != EndLeft)
}

// finish computes the parts of a match that depend on other parts.
func (g *game) finish() {
	g.settleEnds(math.Inf(1))
	g.flushTracks()
	g.figures()
}

// figures computes the numbers that depend on the records so far.
func (g *game) figures() {
	m := g.m
	m.Name = g.b.names[g.host]
	for i, s := range g.state {
		if !s.over {
			m.Lives[i].End = m.End
		}
	}
	links := g.b.meter.Links()
	g.silent(links)
	g.findVantage()
	g.finishLines(links)
	g.unusual()
	g.misses()
	m.debrief()
	g.soFar()
	m.Open = m.Over == nil
	g.describeNameless()
	m.Events = slices.Grow(m.Events[:0], len(g.log))
	for _, e := range g.log {
		m.Events = append(m.Events, *e)
	}
	for i := range m.Players {
		if p := &m.Players[i]; p.LeftHow == LeftSilent {
			m.Events = append(m.Events, Event{T: *p.Left, Kind: EventLeave, Player: i, Text: m.NameOf(i) + " falls silent"})
		}
	}
	slices.SortStableFunc(m.Events, func(a, b Event) int { return cmp.Compare(a.T, b.T) })
}

// named returns the name of a value, or its number if it has none.
func named(n decode.Names, v uint64) string {
	if s := n.Name(v); s != "" {
		return s
	}
	return digits(int(v))
}
