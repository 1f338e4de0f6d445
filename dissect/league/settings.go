package league

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/modfile"
)

// Settings are the rules of a league.
type Settings struct {
	Title     string
	Zone      *time.Location
	URL       string // public address of the site with a final slash, may be empty
	Win, Draw int    // points for a win and for a draw
	Shortest  float64
	Fewest    int // fewest players of a match that counts
	Seasons   []Season
	Rated     bool
	Addresses bool // addresses are published
	Chat      bool // chat is published
	PostAfter time.Time

	aliases map[string]string // names in lower case, mapped to the player's name
	players map[string]bool   // keys of players who do not count
	matches map[string]bool
	files   []string // patterns of files that do not count
}

// A Season is a period of a league.
type Season struct {
	Name  string
	Begin time.Time
	End   time.Time // the first time after the season, zero if it has no end
}

// Default returns the settings of a league without a file.
func Default() *Settings {
	return &Settings{Title: "League", Zone: time.UTC, Win: 3, Draw: 1, Fewest: 2, Rated: true}
}

// Read reads a league's file. The error is a [*modfile.Error].
func Read(f modfile.File) (*Settings, error) {
	l, err := modfile.ReadLeague(f)
	if err != nil {
		return nil, err
	}
	s := Default()
	r := reader{file: f.Name, s: s}
	r.texts(l)
	r.seasons(l.Seasons)
	r.aliases(l.Aliases)
	s.Addresses, s.Chat = l.Addresses, l.Chat
	number := func(to *int, n *int64) {
		if n != nil {
			*to = int(*n)
		}
	}
	shortest := 0
	number(&s.Win, l.Win)
	number(&s.Draw, l.Draw)
	number(&s.Fewest, l.Fewest)
	number(&shortest, l.Shortest)
	s.Shortest = float64(shortest)
	s.players, s.matches = map[string]bool{}, map[string]bool{}
	for _, p := range l.Players {
		s.players[s.key(p.Values[0])] = true
	}
	for _, m := range l.Matches {
		s.matches[m.Values[0]] = true
	}
	for _, p := range l.Files {
		if _, err := path.Match(p.Values[0], ""); err != nil {
			r.fail(p, "%q is not a pattern; * stands for any characters", p.Values[0])
		}
		s.files = append(s.files, p.Values[0])
	}
	if r.err != nil {
		return nil, r.err
	}
	return s, nil
}

// A reader converts texts to settings. It keeps the first error.
type reader struct {
	file string
	s    *Settings
	err  error
}

func (r *reader) fail(at modfile.Setting, format, text string) {
	if r.err == nil {
		r.err = &modfile.Error{File: r.file, Line: at.Line, Reason: strings.Replace(format, "%q", strconv.Quote(text), 1)}
	}
}

// texts reads the title, time zone, address and rating.
func (r *reader) texts(l *modfile.League) {
	s := r.s
	if l.Title.Line > 0 {
		s.Title = l.Title.Values[0]
	}
	if l.Zone.Line > 0 {
		zone, err := time.LoadLocation(l.Zone.Values[0])
		if err != nil {
			r.fail(l.Zone, "%q is not a time zone; use a name such as Europe/Berlin", l.Zone.Values[0])
		} else {
			s.Zone = zone
		}
	}
	if l.URL.Line > 0 {
		s.URL = strings.TrimSuffix(l.URL.Values[0], "/") + "/"
		if !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://") {
			r.fail(l.URL, "%q is not the address of a site; it begins with https://", l.URL.Values[0])
		}
	}
	if l.PostAfter.Line > 0 {
		s.PostAfter = r.day(l.PostAfter)
	}
	if l.Rating.Line > 0 {
		s.Rated = l.Rating.Values[0] == "openskill"
		if !s.Rated && l.Rating.Values[0] != "none" {
			r.fail(l.Rating, "%q is not a rating; choose openskill or none", l.Rating.Values[0])
		}
	}
}

// day reads a date and returns its beginning.
func (r *reader) day(at modfile.Setting) time.Time {
	t, err := time.ParseInLocation(time.DateOnly, at.Values[0], r.s.Zone)
	if err != nil {
		r.fail(at, "%q is not a day; write it as 2026-09-01", at.Values[0])
	}
	return t
}

func (r *reader) seasons(all []modfile.Season) {
	for i := range all {
		s := Season{Name: all[i].Name.Values[0], Begin: r.day(all[i].From)}
		if all[i].To.Line > 0 {
			s.End = r.day(all[i].To).AddDate(0, 0, 1)
			if s.End.Before(s.Begin) {
				r.fail(all[i].To, "%q is before the season's first day", all[i].To.Values[0])
			}
		}
		if slices.ContainsFunc(r.s.Seasons, func(o Season) bool { return o.Name == s.Name }) {
			r.fail(all[i].Name, "two seasons are called %q", s.Name)
		}
		r.s.Seasons = append(r.s.Seasons, s)
	}
}

func (r *reader) aliases(all []modfile.Setting) {
	r.s.aliases = map[string]string{}
	for _, a := range all {
		for _, name := range append(a.Values, a.Name) {
			key := strings.ToLower(name)
			if other, ok := r.s.aliases[key]; ok && other != a.Name {
				r.fail(a, "%q is a name of two players", name)
			}
			r.s.aliases[key] = a.Name
		}
	}
}

// key returns the key by which players count as one: the name ignoring case, or
// the name of the player who has it as alias.
func (s *Settings) key(name string) string {
	if of, ok := s.aliases[strings.ToLower(name)]; ok {
		name = of
	}
	return strings.ToLower(name)
}

// season returns the index of the season of a time, or -1 if it is in none.
func (s *Settings) season(t time.Time) int {
	return slices.IndexFunc(s.Seasons, func(o Season) bool { return !t.Before(o.Begin) && (o.End.IsZero() || t.Before(o.End)) })
}

// without reports whether a file does not count.
func (s *Settings) without(file string) bool {
	return slices.ContainsFunc(s.files, func(pattern string) bool {
		same, _ := path.Match(pattern, file) // Read has checked the pattern
		return same
	})
}
