package bots

import (
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// A Report describes the quality of the game for the bots.
type Report struct {
	Host    string    `json:"host"`
	Seed    uint64    `json:"seed"`
	Seconds float64   `json:"seconds"` // how long the bots played
	Stopped bool      `json:"interrupted"`
	Players []Player  `json:"players"`
	All     Player    `json:"all"`     // sum over all players
	Missing []Missing `json:"missing"` // first lines of chat that players did not receive
}

// mostMissing is the maximum number of missing lines in a report.
const mostMissing = 100

// A Missing is a line of chat that a player did not receive.
type Missing struct {
	Player  string  `json:"player"`
	From    string  `json:"from"`
	Line    int     `json:"line"`    // number of the line among its author's lines, from 1
	Seconds float64 `json:"seconds"` // when it was sent, since the start
	Text    string  `json:"text"`
	// The author left before the host had acknowledged the line, so that it may
	// never have come to the host.
	AuthorLeft bool `json:"author_left,omitempty"`
}

// A Player describes the quality of the game for one bot.
type Player struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"`

	Joins       int    `json:"joins"`
	JoinsFailed int    `json:"joins_failed"` // joins that were refused, or not answered for half a minute
	Leaves      int    `json:"leaves"`
	PutOut      int    `json:"put_out"`          // sessions in which the connection was lost or the host ended it
	Reason      string `json:"reason,omitempty"` // reason of the last failed join or lost connection
	JoinTime    Times  `json:"join"`             // from the first datagram until the host announces the player

	Ships  int `json:"ships"`
	Deaths int `json:"deaths"`
	Shots  int `json:"shots"`
	Hits   int `json:"hits"`

	Lines        int   `json:"chat_sent"`
	LinesSeen    int   `json:"chat_seen"` // lines of all bots, including its own
	LinesMissing int   `json:"chat_missing"`
	ChatTime     Times `json:"chat"` // from sending until this player receives the line

	Updates        int   `json:"updates_sent"`
	UpdatesSeen    int   `json:"updates_seen"`    // of the other bots' ships
	UpdatesMissing int   `json:"updates_missing"` // missing ones between the first and the last expected one
	HostUpdates    int   `json:"updates_of_host"` // updates that no bot has sent, which are the host's
	Gap            Times `json:"update_gap"`      // between two updates of the same ship

	Messages int `json:"messages_sent"`
	Resent   int `json:"messages_resent"`
}

// Share returns the share of updates that are missing. If none were expected,
// ok is false.
func (p *Player) Share() (share float64, ok bool) {
	all := p.UpdatesSeen + p.UpdatesMissing
	if all == 0 {
		return 0, false
	}
	return float64(p.UpdatesMissing) / float64(all), true
}

// Times are in milliseconds. Median and 95th percentile are accurate to 3.2 %.
type Times struct {
	N      int64   `json:"n"`
	Median float64 `json:"ms_median"`
	P95    float64 `json:"ms_p95"`
	Max    float64 `json:"ms_max"`
}

// felt are the times of a player.
type felt [3]measure.Times

// The times of felt.
const (
	joinTime = iota
	chatTime
	gap
)

// feels records a time for the bot and for the sum.
func (b *bot) feels(what int, d time.Duration) {
	b.felt[what].Add(d)
	b.run.felt[what].Add(d)
}

// tell stores the times in a report.
func (f *felt) tell(p *Player) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	for i, to := range []*Times{joinTime: &p.JoinTime, chatTime: &p.ChatTime, gap: &p.Gap} {
		r := f[i].Result()
		*to = Times{r.N, ms(r.Median), ms(r.P95), ms(r.Max)}
	}
}

// A stream is what a bot receives of another's ship.
type stream struct {
	craft   *craft // nil if no bot flies it
	first   int    // number of the first update
	highest int
	before  uint64 // bit set of the 64 updates before highest that have come
	seen    int
	last    time.Time
}

// allowance is the number of updates that may be on their way, which are those
// of the last two seconds.
const allowance = int(2 * time.Second / updateEvery)

// sees records an update of a ship.
func (b *bot) sees(now time.Time, id wire.ObjectID, body []byte) {
	if slot, _ := id.Slot(); slot == b.client.Slot {
		return // the bot's ship
	}
	s := b.streams[id]
	if s == nil || s.craft != b.run.ships[id] {
		b.sum(now, id)
		if len(b.streams) >= mostShips {
			b.sum(now, b.quietest())
		}
		s = &stream{craft: b.run.ships[id], last: now}
		b.streams[id] = s
	}
	n := 0
	if s.craft != nil {
		n = s.craft.update(body)
	}
	switch {
	case n == 0:
		b.counts.HostUpdates++
	case s.first == 0:
		s.first, s.highest, s.seen = n, n, 1
		s.last = now
		return
	case n > s.highest:
		s.before = s.before<<1 | 1
		s.before <<= n - s.highest - 1
		s.highest = n
		s.seen++
	default:
		if behind := s.highest - n - 1; n > s.first && behind >= 0 && behind < 64 && s.before>>behind&1 == 0 {
			s.before |= 1 << behind
			s.seen++
		}
		return // it has come before
	}
	b.feels(gap, now.Sub(s.last))
	s.last = now
}

// quietest returns the ship of which the bot has received nothing for the longest time.
func (b *bot) quietest() (id wire.ObjectID) {
	var last time.Time
	for other, s := range b.streams {
		if last.IsZero() || s.last.Before(last) || s.last.Equal(last) && other < id {
			id, last = other, s.last
		}
	}
	return id
}

// sum ends a stream.
func (b *bot) sum(now time.Time, id wire.ObjectID) {
	s := b.streams[id]
	if s == nil {
		return
	}
	delete(b.streams, id)
	if s.first == 0 {
		return
	}
	last := s.craft.last
	if now.Sub(s.craft.lastAt) < time.Duration(allowance)*updateEvery {
		last -= allowance
	}
	if last > s.highest { // no more updates came
		b.feels(gap, s.craft.lastAt.Sub(s.last))
	}
	b.counts.UpdatesSeen += s.seen
	b.counts.UpdatesMissing += max(last, s.highest) - s.first + 1 - s.seen
}

// A line is a line of chat.
type line struct {
	text  string
	from  *bot
	n     int // number among its author's lines
	at    time.Time
	to    uint32 // bit set of the bots that were in the game
	since [MostBots]time.Time
	left  bool // as in Missing.AuthorLeft
}

// Times for lines that may still come.
const (
	mostLines   = 4096
	linesWithin = time.Minute     // after this time a line is missing
	onTheirWay  = 5 * time.Second // time that the last lines before the end are given
)

// says records a line that a bot sends.
func (r *run) says(now time.Time, from *bot, text string) {
	for len(r.lines) > 0 && (len(r.lines) >= mostLines || now.Sub(r.lines[0].at) > linesWithin) {
		r.misses(&r.lines[0])
		r.lines = r.lines[1:]
	}
	l := line{text: text, from: from, n: from.counts.Lines, at: now}
	for i, b := range r.bots {
		if b.state == playing {
			l.to |= 1 << i
			l.since[i] = b.since
		}
	}
	r.lines = append(r.lines, l)
}

// abandons records that a bot leaves, and which of its lines the host has not
// acknowledged.
func (r *run) abandons(b *bot) {
	for i := range r.lines {
		if l := &r.lines[i]; l.from == b && !l.at.Before(b.settled) {
			l.left = true
		}
	}
}

// lineReceived records that a bot receives a line. If several have the same text, it
// is the first one that the bot has not received.
func (r *run) lineReceived(now time.Time, b *bot, text string) {
	bit := uint32(1) << (b.index - 1)
	for i := range r.lines {
		l := &r.lines[i]
		if l.text != text || l.to&bit == 0 {
			continue
		}
		l.to &^= bit
		b.counts.LinesSeen++
		b.feels(chatTime, now.Sub(l.at))
		return
	}
}

// misses counts the bots that did not receive a line although they were in the
// game all the time.
func (r *run) misses(l *line) {
	for i, b := range r.bots {
		if l.to>>i&1 != 0 && b.state == playing && b.since.Equal(l.since[i]) {
			b.counts.LinesMissing++
			if len(r.missing) < mostMissing {
				r.missing = append(r.missing, Missing{b.name, l.from.name, l.n, l.at.Sub(r.began).Seconds(), l.text, l.left})
			}
		}
	}
}

// report returns the report of a run that ended at the time now.
func (r *run) report(now time.Time) *Report {
	rep := &Report{Host: r.d.Host().String(), Seed: r.o.Seed, Seconds: now.Sub(r.began).Seconds(), Stopped: r.stopped, All: Player{Name: "all", Dialect: r.o.Dialect}, Missing: r.missing}
	sums := reflect.ValueOf(&rep.All).Elem()
	for _, b := range r.bots {
		p := b.counts
		p.Name, p.Dialect = b.name, "stock"
		if b.openBC {
			p.Dialect = "openbc"
		}
		b.felt.tell(&p)
		rep.Players = append(rep.Players, p)
		for i, v := 0, reflect.ValueOf(p); i < v.NumField(); i++ {
			if v.Field(i).CanInt() {
				sums.Field(i).SetInt(sums.Field(i).Int() + v.Field(i).Int())
			}
		}
	}
	r.felt.tell(&rep.All)
	return rep
}
