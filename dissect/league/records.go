package league

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/dissect/relay"
)

// The kinds of records.
const (
	MostKills   = "most kills in a match"
	MostShots   = "most shots in a match"
	Accurate    = "best accuracy in a match, in percent"
	LongestKill = "longest kill, in game units"
	FirstKill   = "earliest kill, in seconds"
	Fastest     = "highest speed, in game units a second"
	LongestOne  = "longest match, in seconds"
	Streak      = "most wins in a row"
)

// leastShots is how many shots an accuracy needs to be a record, so that one
// hit with one shot is none.
const leastShots = 20

// findRecords finds the best value of each kind. If several are equal, the
// first one is the record.
func (b *builder) findRecords() {
	best := map[string]*Record{}
	var kinds []string
	try := func(r Record, lower bool) {
		old := best[r.Kind]
		if old == nil {
			kinds = append(kinds, r.Kind)
		}
		if old == nil || !lower && r.Value > old.Value || lower && r.Value < old.Value {
			best[r.Kind] = &r
		}
	}
	for i := range b.Matches {
		if m := &b.Matches[i]; m.Ignored == "" {
			b.tryMatch(m, i, try)
		}
	}
	for i := range b.Players {
		if p := &b.Players[i]; p.Streak > 1 {
			try(Record{Kind: Streak, Value: float64(p.Streak), Player: i, Match: b.lastOfStreak(p)}, false)
		}
	}
	for _, kind := range kinds {
		b.Records = append(b.Records, *best[kind])
	}
}

// tryMatch calls try with the values of a match that may be records.
func (b *builder) tryMatch(m *Match, i int, try func(r Record, lower bool)) {
	for k := range m.Parts {
		p := &m.Parts[k]
		if p.Kills > 0 {
			try(Record{Kind: MostKills, Value: float64(p.Kills), Player: p.Player, Match: i}, false)
		}
		if p.Shots > 0 {
			try(Record{Kind: MostShots, Value: float64(p.Shots), Player: p.Player, Match: i}, false)
		}
		if n := p.Hits + p.Misses; n >= leastShots {
			try(Record{Kind: Accurate, Value: 100 * float64(p.Hits) / float64(n), Player: p.Player, Match: i}, false)
		}
	}
	for k := range m.Kills {
		x := &m.Kills[k]
		if x.Killer < 0 || x.Killer == x.Victim || x.Friendly {
			continue
		}
		if x.Distance != nil {
			try(Record{Kind: LongestKill, Value: *x.Distance, Player: x.Killer, Match: i, T: x.T, Frame: x.Frame}, false)
		}
		try(Record{Kind: FirstKill, Value: x.T - m.Story.Begin, Player: x.Killer, Match: i, T: x.T, Frame: x.Frame}, true)
	}
	for k := range m.Story.Lives {
		l := &m.Story.Lives[k]
		at := -1
		if l.Player >= 0 {
			at = m.players[l.Player]
		}
		if at >= 0 && l.MaxSpeed > 0 && l.MaxSpeed < 1e4 { // a client may send a false speed
			try(Record{Kind: Fastest, Value: l.MaxSpeed, Player: at, Match: i, T: l.Begin, Frame: l.Frame}, false)
		}
	}
	try(Record{Kind: LongestOne, Value: m.Seconds, Player: -1, Match: i}, false)
}

// lastOfStreak returns the match in which a player's longest streak ended.
func (b *builder) lastOfStreak(p *Player) int {
	n := 0
	for _, i := range p.In {
		parts := b.Matches[i].Parts
		at := slices.IndexFunc(parts, func(x Part) bool { return b.Players[x.Player].Key == p.Key })
		if n++; !parts[at].Won {
			n = 0
		}
		if n == p.Streak {
			return i
		}
	}
	return p.In[0]
}

// findSimilar finds names that may belong to one player: look-alikes, names
// that differ only in a tag in brackets, and names that differ by one letter.
// Players who met in a match are two people.
func (b *builder) findSimilar() {
	met := map[[2]int]bool{}
	for i := range b.Matches {
		parts := b.Matches[i].Parts
		for k := range parts {
			for _, o := range parts[:k] {
				met[[2]int{min(o.Player, parts[k].Player), max(o.Player, parts[k].Player)}] = true
			}
		}
	}
	const most = 100 // maximum number of pairs in the list
	first := map[string][]int{}
	for i := range b.Players {
		for _, sign := range signs(b.Players[i].Name.Raw()) {
			for _, o := range first[sign] {
				pair := Likeness{o, i}
				if o == i || met[[2]int{o, i}] || len(b.Similar) == most || slices.Contains(b.Similar, pair) || numbered(b.Players[o].Name.Raw(), b.Players[i].Name.Raw()) {
					continue
				}
				b.Similar = append(b.Similar, pair)
			}
			if len(first[sign]) < 10 {
				first[sign] = append(first[sign], i)
			}
		}
	}
}

// signs returns keys of a name. Similar names have a key in common.
func signs(name string) []string {
	folded := strings.ToLower(name)
	bare := untagged(folded)
	all := []string{"look " + relay.Skeleton(folded)}
	if bare != "" {
		all = append(all, "look "+relay.Skeleton(bare))
	}
	const long = 5 // in characters. Shorter names may differ by one letter by chance.
	if n := utf8.RuneCountInString(bare); n >= long && n <= 60 {
		all = append(all, "less "+bare)
		runes := []rune(bare)
		for i := range runes {
			all = append(all, "less "+string(runes[:i])+string(runes[i+1:]))
		}
	}
	return all
}

// untagged returns a name without a tag in brackets at its beginning or end.
func untagged(name string) string {
	for _, pair := range []string{"[]", "()", "{}", "<>"} {
		if strings.HasPrefix(name, pair[:1]) {
			if _, rest, ok := strings.Cut(name, pair[1:]); ok {
				name = rest
			}
		}
		if strings.HasSuffix(name, pair[1:]) {
			if i := strings.LastIndex(name, pair[:1]); i > 0 {
				name = name[:i]
			}
		}
	}
	return strings.TrimSpace(name)
}

// numbered reports whether two names differ only in their digits, as Bot1 and
// Bot2 do.
func numbered(a, b string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
	}
	return plain(a) == plain(b) && plain(a) != strings.ToLower(a)
}
