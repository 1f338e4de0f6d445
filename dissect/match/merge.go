package match

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Place is a recording that shows a match.
type Place struct {
	ID     string         // id of the match if only this recording exists
	Files  []string       `json:"files" page:"=" doc:"names of the files"`
	Host   bool           `json:"host" page:"=" doc:"it was recorded at the host"`
	At     wire.Untrusted `json:"player_name,omitempty" page:"=" doc:"name of the player who recorded it"`
	Begin  float64        `json:"begin+begin_t" page:"begin"`
	End    float64        `json:"end+end_t" page:"end"`
	Clock  float64        `json:"clock,omitempty" page:"clock,omitempty" digits:"3 3" doc:"seconds by which the clock of this place is ahead of that of the first place"`
	Result Outcome        `json:"result" page:"=" as:"text" doc:"of this recording: [winner], [draw], [undecided] or [unknown]"`
	Agrees bool           `json:"agrees" page:"=" doc:"the result is that of the match, or [unknown]"`
}

// A Recording is one or more consecutive files recorded at one place, and their
// matches.
type Recording struct {
	Files   []string
	Matches []*Match
}

// Clocks of two places can differ by up to clockOff seconds. Otherwise, the
// times of one event at two places differ by at most delay.
const (
	clockOff = 300.0
	delay    = 5.0
)

// Merge returns the matches of several recordings, each match once. If a match
// was recorded at several places, it keeps the best recording. Recordings with
// the beginning come first, then the host's recording, then the longest one. If
// the best one lacks the match's end or players' names, these come from the
// other recordings.
func Merge(all []Recording) []*Match {
	var found []shown
	for i := range all {
		for _, m := range all[i].Matches {
			found = append(found, shown{Match: m, from: &all[i]})
		}
	}
	slices.SortStableFunc(found, func(a, b shown) int { return better(a.Match, b.Match) })
	kept := []*Match{}
	byHost := map[netip.AddrPort][][]*shown{} // the recordings of each match, by host
	for k := range found {
		s := &found[k]
		same := byHost[s.Host]
		ahead := 0.0
		i := slices.IndexFunc(same, func(all []*shown) (yes bool) {
			if slices.ContainsFunc(all, func(o *shown) bool { return o.from == s.from }) {
				return false
			}
			ahead, yes = all[0].sameAs(s)
			return yes
		})
		if i < 0 {
			s.Places = []Place{s.place(s.from.Files)}
			byHost[s.Host], kept = append(same, []*shown{s}), append(kept, s.Match)
			continue
		}
		same[i] = append(same[i], s)
		same[i][0].confirm(s.Match, s.from.Files, ahead)
	}
	slices.SortStableFunc(kept, func(a, b *Match) int {
		return cmp.Or(a.Clock(a.Begin).Compare(b.Clock(b.Begin)), a.Host.Compare(b.Host))
	})
	return kept
}

// shown is a match in a recording.
type shown struct {
	*Match

	from *Recording
	seen map[string][]float64 // its signs, computed when first needed
}

// signs returns the events of the match that all places see.
func (s *shown) signs() map[string][]float64 {
	if s.seen == nil {
		s.seen = s.Match.signs()
	}
	return s.seen
}

// apart reports whether two recordings cannot show one match, since their times
// are too far apart even for different clocks.
func (s *shown) apart(o *shown) bool {
	return s.seconds(s.End)+clockOff < o.seconds(o.Begin) || o.seconds(o.End)+clockOff < s.seconds(s.Begin)
}

// oneClock reports whether two recordings were made at one place and so have
// the same clock.
func (s *shown) oneClock(o *shown) bool {
	if s.Vantage < 0 || o.Vantage < 0 {
		return s.Vantage == VantageHost && o.Vantage == VantageHost
	}
	return s.Players[s.Vantage].Key() == o.Players[o.Vantage].Key()
}

// better orders the recordings of a match, the best first.
func better(a, b *Match) int {
	grade := func(m *Match) (n int) {
		if !m.Late {
			n += 2
		}
		if m.Vantage == VantageHost {
			n++
		}
		return n
	}
	return cmp.Or(grade(b)-grade(a), cmp.Compare(b.End-b.Begin, a.End-a.Begin))
}

// place describes the recording of a match.
func (m *Match) place(files []string) Place {
	p := Place{ID: m.id(), Files: files, Begin: m.Begin, End: m.End, Result: m.Result.Value, Agrees: true}
	switch {
	case m.Vantage == VantageHost:
		p.Host = true
	case m.Vantage >= 0:
		p.At = m.NameOf(m.Vantage)
	}
	return p
}

// id names a match by its host, its first ship, and when that came. A longer
// recording gives the same id, and so does another recording with the ship and
// the same clock.
func (m *Match) id() string {
	first, sign := m.Begin, ""
	for i := range m.Lives {
		if l := &m.Lives[i]; !l.Late {
			first, sign = l.Begin, digits(int(l.Object))+" "+l.Ship
			break
		}
	}
	const step = 10 // in seconds. Two places see an event tenths of a second apart.
	h := sha256.Sum256([]byte(m.Host.String() + " " + sign + " " + digits(int(math.Floor(m.seconds(first)/step)))))
	return hex.EncodeToString(h[:5])
}

// seconds returns a time of the match as Unix time.
func (m *Match) seconds(t float64) float64 { return float64(m.Origin.UnixMicro())/1e6 + t }

const signChat = "chat"

// signs returns the events of a match that all places see, with their times:
// ships, losses and chat. A key can have several times.
func (m *Match) signs() map[string][]float64 {
	all := map[string][]float64{}
	add := func(t float64, kind string, sign ...string) {
		key := kind + " " + strings.Join(sign, " ")
		all[key] = append(all[key], m.seconds(t))
	}
	for i := range m.Lives {
		if l := &m.Lives[i]; !l.Late {
			add(l.Begin, "ship", digits(int(l.Object)), l.Ship)
		}
	}
	for i := range m.Kills {
		if k := &m.Kills[i]; k.Life != NoLife {
			add(k.T, "loss", digits(int(m.Lives[k.Life].Object)))
		}
	}
	for i := range m.Chat {
		if c := &m.Chat[i]; !c.Team {
			add(c.T, signChat, c.Text.Raw())
		}
	}
	return all
}

// others reports whether most players of another match are other people: their
// names do not occur in this match, which has other names for their slots.
func (m *Match) others(o *Match) bool {
	same, other := 0, 0
	for i := range m.Players {
		p := &m.Players[i]
		q := o.inSlot(p.Slot)
		switch {
		case p.unsure():
		case o.named(p) >= 0:
			same++
		case q >= 0 && !o.Players[q].unsure():
			other++
		}
	}
	return other > same
}

// inSlot returns the player of a slot, or -1.
func (m *Match) inSlot(slot int) int {
	return slices.IndexFunc(m.Players, func(q Player) bool { return q.Slot == slot && slot >= 0 })
}

// named returns the player with the name of another recording's player, or -1.
// If there are several, it prefers the one in the same slot.
func (m *Match) named(p *Player) int {
	found := -1
	for i := range m.Players {
		if q := &m.Players[i]; !q.unsure() && q.Key() == p.Key() && (found < 0 || q.Slot == p.Slot) {
			found = i
		}
	}
	return found
}

// ship returns the index of a ship of another recording, whose times are later
// seconds later here, or -1.
func (m *Match) ship(o *Life, later float64) int {
	return slices.IndexFunc(m.Lives, func(l Life) bool { return l.Object == o.Object && math.Abs(l.Begin-o.Begin-later) <= delay })
}

// counterparts returns the index in this recording of each player of another
// one, or -1. They have one name. If it is unknown in one of the recordings,
// they have the same ships, or else the same slot, which others may have had
// before or after.
func (m *Match) counterparts(o *Match, later float64) []int {
	at := make([]int, len(o.Players))
	ships := make([]map[int]int, len(o.Players)) // number of common ships, by player of this recording
	for i := range o.Lives {
		l := &o.Lives[i]
		if k := m.ship(l, later); k >= 0 && l.Player >= 0 && m.Lives[k].Player >= 0 {
			if ships[l.Player] == nil {
				ships[l.Player] = map[int]int{}
			}
			ships[l.Player][m.Lives[k].Player]++
		}
	}
	for i := range o.Players {
		p := &o.Players[i]
		at[i] = -1
		if !p.unsure() {
			at[i] = m.named(p)
		}
		if at[i] >= 0 {
			continue
		}
		for k := range m.Players {
			if n := ships[i][k]; n > 0 && (at[i] < 0 || n > ships[i][at[i]]) && (p.unsure() || m.Players[k].unsure()) {
				at[i] = k
			}
		}
		if k := m.inSlot(p.Slot); at[i] < 0 && k >= 0 && (p.unsure() || m.Players[k].unsure()) {
			at[i] = k
		}
	}
	return at
}

// sameAs reports whether two recordings show one match, and by how many seconds
// the other one's clock is ahead. They show one match if they have the same
// time, and most of the signs of the smaller recording are in the other one at
// equal intervals. Chat is not reliable enough to compare clocks.
func (s *shown) sameAs(o *shown) (ahead float64, same bool) {
	if s.apart(o) {
		return 0, false
	}
	mine, theirs := s.signs(), o.signs()
	fewer := mine
	if len(theirs) < len(mine) {
		fewer = theirs
	}
	var aheads []float64
	common, allowed := 0, delay
	for sign := range fewer {
		a, b := mine[sign], theirs[sign]
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		if common++; !strings.HasPrefix(sign, signChat) && !s.oneClock(o) {
			allowed = clockOff
		}
		if len(a) == 1 && len(b) == 1 {
			aheads = append(aheads, b[0]-a[0])
		}
	}
	if len(aheads) > 0 {
		slices.Sort(aheads)
		ahead = aheads[len(aheads)/2]
	}
	near := 0
	for _, d := range aheads {
		if math.Abs(d-ahead) <= delay {
			near++
		}
	}
	if s.others(o.Match) || common*2 < len(fewer) || near*2 < len(aheads) || math.Abs(ahead) > allowed {
		return 0, false
	}
	begin, end := max(s.seconds(s.Begin), o.seconds(o.Begin)-ahead), min(s.seconds(s.End), o.seconds(o.End)-ahead)
	return ahead, (end-begin)*2 >= min(s.End-s.Begin, o.End-o.Begin)
}

// Recorded returns the places where a match was recorded in words, if there are
// several.
func (m *Match) Recorded() wire.Untrusted {
	if len(m.Places) < 2 {
		return ""
	}
	text := wire.Untrusted("Recorded")
	for i := range m.Places {
		p := &m.Places[i]
		if i > 0 {
			text += ","
		}
		switch {
		case p.Host:
			text += " at the host"
		case p.At != "":
			text += " at " + p.At
		default:
			text += " at an unknown place"
		}
		text += " (" + wire.Untrusted(strings.Join(p.Files, " "))
		if !p.Agrees {
			text += wire.Untrusted(" says: " + p.Result.String())
		}
		text += ")"
	}
	return text + "; all that the first shows is from there, and the others fill its gaps"
}

// unsure reports whether a player's name is unknown or is only the name of a
// ship.
func (p *Player) unsure() bool { return p.Name == "" || p.ShipNamed }

// confirm adds what another recording of a player knows: the name, and when the
// player left.
func (p *Player) confirm(o *Player, later float64) {
	if p.unsure() && !o.unsure() {
		p.Name, p.ShipNamed = o.Name, false
	}
	if p.Left == nil && o.Left != nil {
		left := *o.Left + later
		p.Left, p.LeftHow = &left, o.LeftHow
	}
}

// endLeft ends a match without an end if all players are known to have left.
func (m *Match) endLeft() {
	if m.Over != nil || len(m.Players) == 0 {
		return
	}
	last := 0.0
	for i := range m.Players {
		left := m.Players[i].Left
		if left == nil {
			return
		}
		last = max(last, *left)
	}
	m.Over, m.EndedBy, m.Open, m.Result.Reason = &last, EndLeft, false, EndLeft
	m.Result.settle(m)
}

// confirm adds what another recording of the match knows.
func (m *Match) confirm(o *Match, files []string, ahead float64) {
	later := o.seconds(0) - ahead - m.seconds(0)
	at := m.counterparts(o, later)
	for i, k := range at {
		if k >= 0 {
			m.Players[k].confirm(&o.Players[i], later)
		}
	}
	here := func(all []int) (out []int) {
		for _, i := range all {
			if at[i] >= 0 {
				out = append(out, at[i])
			}
		}
		return out
	}
	place := o.place(files)
	place.Clock, place.Begin, place.End = ahead, o.Begin+later, o.End+later
	whole := *o
	if whole.Late {
		whole.Late = false // this recording has the beginning
		whole.Result.settle(&whole)
	}
	if m.Over == nil && o.Over != nil && !m.Late && (whole.Result.Value == Undecided || o.Result.Rests == ByHost) {
		t := *o.Over + later
		m.Over, m.EndedBy, m.Open, m.Teams, m.Result = &t, o.EndedBy, false, o.Teams, whole.Result
		m.Result.Place = len(m.Places)
		m.Leaders, m.LeadingTeam, m.Result.Winners = here(o.Leaders), o.LeadingTeam, here(whole.Result.Winners)
		if w := whole.Result.Winner; w >= 0 {
			m.Result.Winner = at[w]
		}
	}
	m.endLeft()
	(&filler{to: m, from: o, at: at, later: later}).fill()
	if known := m.Result.Value != Unknown && o.Result.Value != Unknown; known {
		place.Agrees = m.Result.Value == o.Result.Value && slices.Equal(m.Result.Winners, here(o.Result.Winners))
	}
	m.Places = append(m.Places, place)
}
