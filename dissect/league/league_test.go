package league

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
)

const rules = `title = "Friday"
time_zone = "Europe/Berlin"
url = "https://example.org/league"
post_after = "2026-09-01"

[points]
win = 2
draw = 1

[matches]
shortest_seconds = 60
fewest_players = 2

[[season]]
name = "Spring"
from = "2026-03-01"
to = "2026-05-31"

[[season]]
name = "Autumn"
from = "2026-09-01"

[aliases]
Kirk = ["Jim", "[E]Kirk"]

[exclude]
players = ["Watcher"]
files = ["test*"]
`

// played makes a match of players "name kills/deaths" at a time, which the first
// winners of them won.
func played(file, at string, seconds float64, winners int, players ...string) Kept {
	begin, _ := time.Parse(time.RFC3339, at)
	over := seconds
	m := &match.Match{
		Host: netip.MustParseAddrPort("10.0.0.1:22101"), Origin: begin, End: seconds + 30, Over: &over, EndedBy: "time up", Vantage: match.VantageHost,
		Result: match.Result{Value: match.Won, Winner: match.NoPlayer, Team: -1, Rests: match.ByKills},
	}
	if winners == 0 {
		m.Result.Value = match.Draw
	}
	for i, text := range players {
		p := match.Player{Address: netip.MustParseAddrPort(fmt.Sprintf("192.0.2.%d:1", i+1)), Slot: i}
		name, score, _ := strings.Cut(text, " ")
		p.Name = wire.Untrusted(name)
		_, _ = fmt.Sscanf(score, "%d/%d", &p.Kills, &p.Deaths)
		m.Players = append(m.Players, p)
		m.Lives = append(m.Lives, match.Life{Player: i, Ship: []string{"Galaxy", "Warbird"}[i%2], Killer: match.NoPlayer})
		if i < winners {
			m.Result.Winners = append(m.Result.Winners, i)
		}
	}
	merged := match.Merge([]match.Recording{{Files: []string{file}, Matches: []*match.Match{m}}})
	return Keep(merged[0])
}

func settings(t *testing.T, text string) *Settings {
	t.Helper()
	s, err := Read(modfile.File{Name: "league.toml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// season is what TestBuild adds up: two matches that Kirk won under two names, a
// draw in another season, and three that don't count.
func season() []Kept {
	return []Kept{
		played("c", "2026-10-02T20:00:00Z", 600, 0, "Kirk 2/2", "Sulu 2/2"),
		played("a", "2026-03-06T20:00:00Z", 600, 1, "Kirk 3/1", "Sulu 1/3"),
		played("b", "2026-03-13T20:00:00Z", 600, 1, "jim 5/0", "SULU 0/5", "Watcher"),
		played("test1", "2026-03-14T20:00:00Z", 600, 1, "Kirk 9/0", "Sulu 0/9"),
		played("d", "2026-03-15T20:00:00Z", 20, 1, "Kirk 9/0", "Sulu 0/9"),
		played("e", "2026-03-16T20:00:00Z", 600, 1, "Kirk 9/0", "Watcher 0/9"),
	}
}

// TestBuild adds up a season by hand.
func TestBuild(t *testing.T) {
	t.Parallel()
	l := Build(season(), settings(t, rules), nil)
	var got []string
	for _, s := range l.Seasons {
		for _, r := range s.Rows {
			got = append(got, fmt.Sprintf("%s %s: %d points, %d-%d-%d, %d/%d", s.Name, l.Players[r.Player].Name.Raw(), r.Points, r.Wins, r.Draws, r.Losses, r.Kills, r.Deaths))
		}
	}
	want := []string{
		"Spring Kirk: 4 points, 2-0-0, 8/1", "Spring Sulu: 0 points, 0-0-2, 1/8",
		"Autumn Kirk: 1 points, 0-1-0, 2/2", "Autumn Sulu: 1 points, 0-1-0, 2/2",
		"All time Kirk: 5 points, 2-1-0, 10/3", "All time Sulu: 1 points, 0-1-2, 3/10",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	ignored := map[string]string{}
	for i := range l.Matches {
		m := &l.Matches[i]
		ignored[m.Detail.Places[0].Files[0]] = m.Ignored
		if m.Host != "" || m.Story.Host.IsValid() || m.Story.Players[0].Address.IsValid() {
			t.Errorf("match %d has addresses", i)
		}
	}
	for file, want := range map[string]string{"a": "", "b": "", "c": "", "test1": "excluded in league.toml", "d": "shorter than 60 seconds", "e": "fewer than 2 players"} {
		if got := ignored[file]; got != want {
			t.Errorf("%s: %q, not %q", file, got, want)
		}
	}
	if k := l.Players[0]; k.Name != "Kirk" || !slices.Equal(k.Names, []wire.Untrusted{"jim"}) || k.Streak != 2 || !slices.Equal(k.In, []int{0, 1, 5}) {
		t.Errorf("the first player is %+v", k)
	}
	if zone := l.Matches[0].Begin.Format(time.DateTime); zone != "2026-03-06 21:00:00" {
		t.Errorf("the first match begins at %s", zone)
	}
	if r := l.Records[0]; r.Kind != MostKills || r.Value != 5 || r.Match != 1 || l.Players[r.Player].Name != "Kirk" {
		t.Errorf("the first record is %+v", r)
	}
	if s := l.Ships[0]; s.Class != "Galaxy" || s.Wins != 2 || s.Decided != 3 || s.Flown != 4 { // Flown includes the player who doesn't count
		t.Errorf("the first ship is %+v", s)
	}
}

// TestNamesakes has two players of one name in a match: the second one's records come
// from the second row.
func TestNamesakes(t *testing.T) {
	t.Parallel()
	k := played("a", "2026-03-06T20:00:00Z", 600, 1, "Kirk 3/1", "Kirk 1/3", "Sulu")
	k.Lives[1].MaxSpeed = 7
	l := Build([]Kept{k}, Default(), nil)
	at := slices.IndexFunc(l.Records, func(r Record) bool { return r.Kind == Fastest })
	if at < 0 || l.Players[l.Records[at].Player].Name != "Kirk (2)" {
		t.Errorf("the records are %+v", l.Records)
	}
}

// TestNames has a match that another run gave the name of one of its recordings.
func TestNames(t *testing.T) {
	t.Parallel()
	first := Build(season(), Default(), nil)
	id := first.Matches[0].ID
	later := Build(season(), Default(), map[string]string{id: "abc"})
	if m := later.Matches[0]; m.ID != "abc" || !slices.Equal(m.Also, []string{id}) || later.Matches[1].ID != first.Matches[1].ID {
		t.Errorf("the match is called %s, also %v", m.ID, m.Also)
	}
}

// TestSimilar has names that look alike, carry a tag, or have a letter more. Those
// who met, and those who differ by their numbers, are others.
func TestSimilar(t *testing.T) {
	t.Parallel()
	l := Build([]Kept{
		played("a", "2026-03-06T20:00:00Z", 600, 1, "Bot1", "Worf"),
		played("b", "2026-03-07T20:00:00Z", 600, 1, "Bot2", "W0rf"),
		played("c", "2026-03-08T20:00:00Z", 600, 1, "[E]Worf", "Picard", "Picards"),
		played("d", "2026-03-09T20:00:00Z", 600, 1, "Picrd", "Riker"),
	}, Default(), nil)
	var got []string
	for _, s := range l.Similar {
		got = append(got, l.Players[s.A].Name.Raw()+"="+l.Players[s.B].Name.Raw())
	}
	slices.Sort(got)
	if want := []string{"Picard=Picrd", "W0rf=[E]Worf", "Worf=W0rf", "Worf=[E]Worf"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTwoOfAName has two people of one name in a match: two rows.
func TestTwoOfAName(t *testing.T) {
	t.Parallel()
	l := Build([]Kept{played("a", "2026-03-06T20:00:00Z", 600, 1, "Bot3 1/0", "bot3 0/1", "Bot4 0/0")}, Default(), nil)
	var got []string
	for _, r := range l.Seasons[0].Rows {
		got = append(got, fmt.Sprintf("%s %d/%d", l.Players[r.Player].Name.Raw(), r.Kills, r.Deaths))
	}
	if want := []string{"Bot3 1/0", "bot3 (2) 0/1", "Bot4 0/0"}; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestScrub has addresses and chat in every text that a replay has.
func TestScrub(t *testing.T) {
	t.Parallel()
	k := played("a", "2026-03-06T20:00:00Z", 600, 1, "Kirk", "Sulu")
	m := k.Match
	m.Chat = []match.Talk{{Text: "my address is 1.2.3.4"}}
	m.Events = []match.Event{{Kind: match.EventChat, Text: "Kirk: hi"}, {Kind: match.EventRefused, Text: "198.51.100.7:1234 is refused: full at 0:09.5, [2001:db8::1]:99 too"}, {Kind: match.EventJoin, Text: "192.0.2.1 joins"}}
	m.Lines = []match.Line{{Address: netip.MustParseAddrPort("192.0.2.1:1")}}
	m.Players[0].Visits = []match.Visit{{Address: netip.MustParseAddrPort("192.0.2.9:1")}}
	m.Unusual = []match.Finding{{Text: "192.0.2.9 leaps"}}
	Default().Scrub(m)
	text := fmt.Sprintf("%+v %+v %+v %+v %+v %v", m.Events, m.Chat, m.Lines, m.Players, m.Unusual, m.Host)
	for _, secret := range []string{"192.0.2", "198.51", "2001:db8", "10.0.0", "1.2.3.4", "Kirk: hi"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is left in %s", secret, text)
		}
	}
	if len(m.Events) != 2 || m.Events[0].Text != "an address is refused: full at 0:09.5, an address too" {
		t.Errorf("the events are %v", m.Events)
	}
}

// TestFiles has recordings whose names have the address of their server. A rule still
// knows them by these names.
func TestFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"2026-03-06 20.00.00 192.0.2.7.pcapng":        "2026-03-06 20.00.00 address.pcapng",
		"198.51.100.7-22103.cap":                      "address-22103.cap",
		"2026-03-06 20.00.00 -2001-db8-7-.pcapng":     "2026-03-06 20.00.00 -address-.pcapng",
		"evenings/2026-03-06 20.00.00 example.pcapng": "evenings/2026-03-06 20.00.00 example.pcapng",
	} {
		k := played(name, "2026-03-06T20:00:00Z", 600, 1, "Kirk", "Sulu")
		k.Host = netip.MustParseAddrPort("[2001:db8::7]:22101")
		s := Default()
		s.files = []string{name}
		m := &Build([]Kept{k}, s, nil).Matches[0]
		if got := m.Detail.Places[0].Files[0]; got != want || m.Ignored == "" {
			t.Errorf("%s is called %s, ignored: %q", name, got, m.Ignored)
		}
	}
}

// TestMistakes has files with mistakes.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`time_zone = "Mars"`:                         `l.toml:1: "Mars" is not a time zone; use a name such as Europe/Berlin`,
		`url = "example.org"`:                        `l.toml:1: "example.org" is not the address of a site; it begins with https://`,
		"[[season]]\nname = \"A\"\nfrom = \"1 May\"": `l.toml:3: "1 May" is not a day; write it as 2026-09-01`,
		"[[season]]\nname = \"A\"":                   `l.toml:1: a season needs a name and the day from which it counts: from = "2026-09-01"`,
		"[season]\nname = \"A\"":                     `l.toml:1: a season begins with [[season]], in two brackets`,
		"[points]\nwin = -1":                         `l.toml:2: win must be from 0 to 1000000`,
		"[points]\nwins = 1":                         `l.toml:2: points has no key "wins" (did you mean win?)`,
		"[aliases]\nA = [\"x\"]\nB = [\"X\"]":        `l.toml:3: "X" is a name of two players`,
		"[rating]\nmodel = \"elo\"":                  `l.toml:2: "elo" is not a rating; choose openskill or none`,
		"[exclude]\nfiles = [\"[\"]":                 `l.toml:2: "[" is not a pattern; * stands for any characters`,
		"[publish]\nchat = 1":                        `l.toml:2: chat must be true or false, not a whole number`,
		"[[season]]\nname=\"A\"\nfrom=\"2026-02-01\"\nto=\"2026-01-01\"": `l.toml:4: "2026-01-01" is before the season's first day`,
	} {
		if _, err := Read(modfile.File{Name: "l.toml", Data: []byte(text)}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestExample reads the example of the documents, which has every key.
func TestExample(t *testing.T) {
	t.Parallel()
	s := settings(t, string(fixtures.Read(t, "../docs/example-league.toml")))
	if s.Title != "Friday league" || s.Zone.String() != "Europe/Berlin" || len(s.Seasons) != 2 || s.key("jim") != "kirk" || !s.Rated || s.Addresses || s.Chat || s.Shortest != 60 {
		t.Errorf("got %+v", s)
	}
	if end := s.Seasons[0].End.Format(time.DateOnly); end != "2026-12-01" {
		t.Errorf("the first season is before %s", end)
	}
}
