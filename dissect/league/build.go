package league

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// Build makes a league of matches. The argument known maps the names of
// matches, and of their other recordings, to the names that an earlier run
// gave. Build changes the matches.
func Build(all []Kept, s *Settings, known map[string]string) *League {
	b := builder{
		set: s, known: known, players: map[string]int{}, skills: map[int]*Skill{}, ships: map[string]*Ship{}, rivals: map[[2]int]*Rivalry{},
		taken: map[string]bool{}, League: &League{Title: s.Title, Zone: s.Zone.String(), Settings: s},
	}
	for i := range s.Seasons {
		b.Seasons = append(b.Seasons, Table{Name: s.Seasons[i].Name, Begin: s.Seasons[i].Begin, End: s.Seasons[i].End})
	}
	b.Seasons = append(b.Seasons, Table{Name: "All time"})
	b.rows = make([]map[int]*Row, len(b.Seasons))
	for i := range b.rows {
		b.rows[i] = map[int]*Row{}
	}
	slices.SortStableFunc(all, func(x, y Kept) int { return x.Clock(x.Begin).Compare(y.Clock(y.Begin)) })
	for i := range all {
		b.match(&all[i])
	}
	b.finish()
	return b.League
}

type builder struct {
	*League

	set     *Settings
	known   map[string]string
	taken   map[string]bool // used names of matches
	players map[string]int  // indexed by key
	rows    []map[int]*Row  // rows of each season, by player
	skills  map[int]*Skill
	ships   map[string]*Ship
	rivals  map[[2]int]*Rivalry
	streaks []int // current streak of each player
}

// match adds a match.
func (b *builder) match(k *Kept) {
	begin := k.Clock(k.Begin)
	end := k.End
	if k.Over != nil {
		end = *k.Over
	}
	m := Match{Season: b.set.season(begin), Begin: begin.In(b.set.Zone).Round(time.Millisecond), Seconds: end - k.Begin, Story: k.Match, Replay: k.Replay, Evicted: k.Evicted}
	if b.set.Addresses {
		m.Host = k.Host.String()
	}
	b.name(&m)
	m.Ignored = b.ignored(&m) // uses the original names of the match's files
	b.set.Scrub(k.Match)
	m.Detail = Detail{
		Server: k.Name, Map: k.Map, Result: k.Result.Value.String(), Verdict: k.Verdict(k.NameOf), Ending: k.Ending(), Grounds: k.Grounds(),
		Frame: k.Result.Frame, Teams: k.Teams,
	}
	for i := range k.Places {
		p := &k.Places[i]
		m.Detail.Places = append(m.Detail.Places, Place{p.Files, p.Host, p.At, p.Result.String(), p.Agrees})
	}
	m.players = b.took(&m, k)
	m.Kills = killsOf(k, m.players)
	b.Matches = append(b.Matches, m)
	if m.Ignored == "" {
		b.count(len(b.Matches) - 1)
	}
}

// name gives a match its earlier name, or the name of its best recording.
func (b *builder) name(m *Match) {
	for i := range m.Story.Places {
		if id := m.Story.Places[i].ID; !slices.Contains(m.Also, id) {
			m.Also = append(m.Also, id)
		}
	}
	m.ID = m.Also[0]
	for _, id := range m.Also {
		if old, ok := b.known[id]; ok {
			m.ID = old
			break
		}
	}
	base := m.ID
	for n := 2; b.taken[m.ID]; n++ {
		m.ID = fmt.Sprintf("%s-%d", base, n)
	}
	b.taken[m.ID] = true
	m.Also = slices.DeleteFunc(m.Also, func(id string) bool { return id == m.ID })
}

// ignored returns why a match does not count, or "" if it does.
func (b *builder) ignored(m *Match) string {
	excluded := b.set.matches[m.ID]
	for _, id := range m.Also {
		excluded = excluded || b.set.matches[id]
	}
	file := func(p match.Place) bool {
		return !slices.ContainsFunc(p.Files, func(f string) bool { return !b.set.without(f) })
	}
	counts := 0
	for _, r := range m.Story.Results() {
		if r.Played && !b.set.players[b.set.key(m.Story.Players[r.Player].Name.Raw())] {
			counts++
		}
	}
	switch {
	case excluded, !slices.ContainsFunc(m.Story.Places, func(p match.Place) bool { return !file(p) }):
		return "excluded in league.toml"
	case m.Seconds < b.set.Shortest:
		return fmt.Sprintf("shorter than %g seconds", b.set.Shortest)
	case counts < b.set.Fewest:
		return fmt.Sprintf("fewer than %d players", b.set.Fewest)
	}
	return ""
}

// took adds the players of a match. It returns each player's index in the
// league, or -1 for players who do not count.
func (b *builder) took(m *Match, k *Kept) []int {
	at := make([]int, len(k.Players))
	for i := range at {
		at[i] = -1
	}
	ranks, names := k.Ranks(), map[string]string{} // names maps league keys to keys in lower case
	for i, r := range k.Results() {
		p := &k.Players[i]
		key := b.set.key(p.Name.Raw())
		if !r.Played || b.set.players[key] {
			continue
		}
		base := key
		for n := 2; names[key] == p.Key(); n++ { // another player has the same name at the same time
			key = fmt.Sprintf("%s (%d)", base, n)
		}
		names[key] = p.Key()
		at[i] = b.player(key, p.Name, strings.TrimPrefix(key, base))
		b.part(m, k, i, at[i], ranks[i])
	}
	return at
}

// player returns the index of the player with a key.
func (b *builder) player(key string, name wire.Untrusted, suffix string) int {
	i, ok := b.players[key]
	if !ok {
		i = len(b.Players)
		b.players[key] = i
		shown := name
		if of, ok := b.set.aliases[strings.ToLower(name.Raw())]; ok {
			shown = wire.Untrusted(of)
		}
		b.Players = append(b.Players, Player{Key: key, Name: shown + wire.Untrusted(suffix)})
		b.streaks = append(b.streaks, 0)
	}
	p := &b.Players[i]
	if full := name + wire.Untrusted(suffix); full != p.Name && !slices.Contains(p.Names, full) {
		p.Names = append(p.Names, full)
	}
	return i
}

// part adds a player's part in a match. If another player of the match is the
// same one by an alias, it adds to that player's part.
func (b *builder) part(m *Match, k *Kept, i, player, rank int) {
	at := slices.IndexFunc(m.Parts, func(p Part) bool { return p.Player == player })
	if at < 0 {
		at = len(m.Parts)
		m.Parts = append(m.Parts, Part{Player: player, Ships: []string{}})
	}
	p, from := &m.Parts[at], &k.Players[i]
	if rank > 0 && (p.Place == 0 || rank < p.Place) {
		p.Place = rank
	}
	p.Team, p.Won = from.Team, p.Won || k.Won(i)
	p.Kills, p.Deaths, p.TeamKills, p.Shots = p.Kills+from.Kills, p.Deaths+from.Deaths, p.TeamKills+from.TeamKills, p.Shots+from.Shots
	if from.Score != nil {
		p.Score = add(p.Score, *from.Score)
	}
	if from.Damage != nil {
		p.Damage = add(p.Damage, *from.Damage)
	}
	for _, f := range k.Fired[i] {
		p.Hits, p.Misses = p.Hits+f.Hits, p.Misses+f.Misses
	}
	for l := range k.Lives {
		if ship := k.Lives[l].Ship; k.Lives[l].Player == i && ship != "" && !slices.Contains(p.Ships, ship) {
			p.Ships = append(p.Ships, ship)
		}
	}
	switch {
	case p.Won:
		p.Points = b.set.Win
	case k.Result.Value == match.Draw && p.Place == 1:
		p.Points = b.set.Draw
	}
}

func add[T int | float64](to *T, n T) *T {
	if to != nil {
		n += *to
	}
	return &n
}

// killsOf returns the kills of a match. The argument at has the players'
// indices.
func killsOf(k *Kept, at []int) []Kill {
	of := func(player int) int {
		if player < 0 {
			return -1
		}
		return at[player]
	}
	all := []Kill{}
	for i := range k.Kills {
		if x := &k.Kills[i]; !x.After {
			all = append(all, Kill{x.T, x.Frame, of(x.Killer), of(x.Victim), x.Weapon, x.Distance, x.Ship, x.With, x.Friendly})
		}
	}
	return all
}

// count adds a match to tables, ships and rivalries.
func (b *builder) count(index int) {
	m := &b.Matches[index]
	value := m.Story.Result.Value
	seasons := []int{len(b.Seasons) - 1}
	if m.Season >= 0 {
		seasons = append(seasons, m.Season)
	}
	for _, s := range seasons {
		b.Seasons[s].Matches++
		for i := range m.Parts {
			p := &m.Parts[i]
			row := b.rows[s][p.Player]
			if row == nil {
				row = &Row{Player: p.Player}
				b.rows[s][p.Player] = row
			}
			row.add(p, value)
		}
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		b.Players[p.Player].In = append(b.Players[p.Player].In, index)
		if b.streaks[p.Player]++; !p.Won {
			b.streaks[p.Player] = 0
		}
		b.Players[p.Player].Streak = max(b.Players[p.Player].Streak, b.streaks[p.Player])
	}
	b.rates(index)
	for _, s := range seasons {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Skill != nil {
				b.rows[s][p.Player].Skill = p.Skill
			}
		}
	}
	b.countShips(index)
	b.countRivals(index)
}

// add adds a player's part in a match with a result.
func (r *Row) add(p *Part, value match.Outcome) {
	r.Matches++
	switch {
	case p.Won:
		r.Wins++
	case value == match.Draw && p.Place == 1:
		r.Draws++
	case value >= match.Draw:
		r.Losses++
	default:
		r.Undecided++
	}
	r.Points, r.Kills, r.Deaths, r.TeamKills = r.Points+p.Points, r.Kills+p.Kills, r.Deaths+p.Deaths, r.TeamKills+p.TeamKills
	r.Shots, r.Hits, r.Misses = r.Shots+p.Shots, r.Hits+p.Hits, r.Misses+p.Misses
	if p.Damage != nil {
		r.Damage += *p.Damage
	}
}

// rates changes the ratings after a match.
func (b *builder) rates(index int) {
	if !b.set.Rated {
		return
	}
	m := &b.Matches[index]
	var sides []side
	before := make([]Skill, len(m.Parts))
	teams := map[int]int{} // sides by team
	for i := range m.Parts {
		p := &m.Parts[i]
		skill := b.skills[p.Player]
		if skill == nil {
			skill = &Skill{beginMu, beginSigma}
			b.skills[p.Player] = skill
		}
		before[i] = *skill
		if p.Place == 0 {
			continue
		}
		if m.Story.Teams && p.Team != nil {
			if at, ok := teams[*p.Team]; ok {
				sides[at].players = append(sides[at].players, skill)
				continue
			}
			teams[*p.Team] = len(sides)
		}
		sides = append(sides, side{p.Place, []*Skill{skill}})
	}
	if len(sides) < 2 {
		return
	}
	rate(sides)
	for i := range m.Parts {
		p := &m.Parts[i]
		if after := *b.skills[p.Player]; p.Place > 0 {
			p.Before, p.Skill = &before[i], &after
			b.Players[p.Player].Ratings = append(b.Players[p.Player].Ratings, Rated{index, after})
		}
	}
}

// countShips adds the ships of a match.
func (b *builder) countShips(index int) {
	m := &b.Matches[index]
	ship := func(class string) *Ship {
		s := b.ships[class]
		if s == nil {
			s = &Ship{Class: class}
			b.ships[class] = s
		}
		if n := len(s.In); n == 0 || s.In[n-1] != index {
			s.In = append(s.In, index)
		}
		return s
	}
	for i := range m.Parts {
		for _, class := range m.Parts[i].Ships {
			s := ship(class)
			s.Matches++
			if m.Story.Result.Value >= match.Draw {
				s.Decided++
			}
			if m.Parts[i].Won {
				s.Wins++
			}
		}
	}
	for i := range m.Story.Lives {
		if l := &m.Story.Lives[i]; l.Ship != "" && l.Player >= 0 {
			ship(l.Ship).Flown++
		}
	}
	for i := range m.Kills {
		k := &m.Kills[i]
		if k.Ship != "" {
			ship(k.Ship).Losses++
		}
		if k.With != "" && k.Killer >= 0 && k.Killer != k.Victim && !k.Friendly {
			ship(k.With).Kills++
		}
	}
}

// countRivals adds the kills and places of the pairs of a match.
func (b *builder) countRivals(index int) {
	m := &b.Matches[index]
	rival := func(x, y int) (r *Rivalry, turned bool) {
		if turned = y < x; turned {
			x, y = y, x
		}
		if r = b.rivals[[2]int{x, y}]; r == nil {
			r = &Rivalry{A: x, B: y}
			b.rivals[[2]int{x, y}] = r
		}
		return r, turned
	}
	for i := range m.Kills {
		k := &m.Kills[i]
		if k.Killer < 0 || k.Victim < 0 || k.Killer == k.Victim || k.Friendly {
			continue
		}
		r, turned := rival(k.Killer, k.Victim)
		if n := len(r.Meetings); n == 0 || r.Meetings[n-1].Match != index {
			r.Meetings = append(r.Meetings, Meeting{Match: index})
		}
		meeting := &r.Meetings[len(r.Meetings)-1]
		if turned {
			r.KillsB++
			meeting.KillsB++
		} else {
			r.KillsA++
			meeting.KillsA++
		}
	}
	for i := range m.Parts {
		for k := range i {
			p, q := &m.Parts[i], &m.Parts[k]
			if p.Place == 0 || q.Place == 0 || p.Place == q.Place {
				continue
			}
			r, turned := rival(p.Player, q.Player)
			if turned != (p.Place < q.Place) {
				r.AheadA++
			} else {
				r.AheadB++
			}
		}
	}
}

// finish sorts the results.
func (b *builder) finish() {
	for s := range b.Seasons {
		rows := []Row{}
		for _, r := range b.rows[s] {
			rows = append(rows, *r)
		}
		slices.SortFunc(rows, func(x, y Row) int {
			return cmp.Or(y.Points-x.Points, y.Wins-x.Wins, cmp.Compare(y.least(), x.least()), y.Kills-x.Kills, x.Deaths-y.Deaths, cmp.Compare(b.Players[x.Player].Key, b.Players[y.Player].Key))
		})
		b.Seasons[s].Rows = rows
	}
	for _, r := range b.rows[len(b.rows)-1] {
		b.Players[r.Player].Total = *r
	}
	for i := range b.Players {
		if p := &b.Players[i]; p.In == nil { // only in matches that do not count
			p.In, p.Total.Player = []int{}, i
		}
	}
	b.Ships, b.Rivalries, b.Records = []Ship{}, []Rivalry{}, []Record{}
	for _, class := range slices.Sorted(maps.Keys(b.ships)) {
		b.Ships = append(b.Ships, *b.ships[class])
	}
	slices.SortStableFunc(b.Ships, func(x, y Ship) int { return cmp.Or(y.Flown-x.Flown, y.Kills-x.Kills) })
	for _, r := range b.rivals {
		if len(r.Meetings) > 0 {
			b.Rivalries = append(b.Rivalries, *r)
		}
	}
	slices.SortFunc(b.Rivalries, func(x, y Rivalry) int {
		return cmp.Or(y.KillsA+y.KillsB-x.KillsA-x.KillsB, x.A-y.A, x.B-y.B)
	})
	b.findRecords()
	b.findSimilar()
}

// least returns the strength by which rows are sorted.
func (r *Row) least() float64 {
	if r.Skill == nil {
		return 0
	}
	return r.Skill.Least()
}
