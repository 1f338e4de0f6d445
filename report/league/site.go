// Not part of the library: package league writes a league as a web site. The
// pages need no server program and load nothing from other sites.
//
// Text from the network is escaped as for a terminal. Then html/template
// escapes it again for its place in a page.
package league

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/page"
)

var (
	//go:embed site.html
	templates string
	//go:embed league.css
	style string
	//go:embed league.js
	script string
	//go:embed replay.js
	replay string
)

// pages are the pages of the whole league, with their names in the menu of each
// page.
var pages = [][2]string{
	{"index", "Table"}, {"matches", "Matches"}, {"players", "Players"}, {"ships", "Ships"}, {"rivalries", "Rivalries"}, {"records", "Records"}, {"seasons", "Seasons"},
}

// Options control the contents of a site.
type Options struct {
	Replay bool // matches can be watched
}

// The folders of a site. They contain only files of the site.
const (
	Matches = "match"
	Players = "player"
	Cards   = "card"
	Replays = "replay"
)

// Write passes the files of a site to put. The last ones are index.html and
// league.json. It does not write the data of replays: the file [ReplayFile] has
// the result of [page.Replay].
func Write(l *league.League, o Options, put func(name string, data []byte) error) error {
	s := site{League: l, Options: o}
	if err := s.parse(); err != nil {
		return err
	}
	for _, asset := range [][2]string{{"style.css", page.Style() + style}, {"league.js", script}, {"replay.js", page.Shared(replay)}} {
		if err := put(asset[0], []byte(asset[1])); err != nil {
			return err
		}
	}
	for i := range l.Matches {
		m := &l.Matches[i]
		if err := s.page(put, MatchPage(m), "match", view{site: &s, Title: s.title(m), Up: "../", M: m, Index: i}); err != nil {
			return err
		}
		if err := put(CardFile(m), s.card(m)); err != nil {
			return err
		}
	}
	for i := range l.Players {
		p := &l.Players[i]
		if err := s.page(put, PlayerPage(p), "player", view{site: &s, Title: text(p.Name), Up: "../", P: p, Index: i}); err != nil {
			return err
		}
	}
	for _, p := range append(slices.Clone(pages[1:]), pages[0]) {
		if err := s.page(put, p[0]+".html", p[0], view{site: &s, Title: p[1]}); err != nil {
			return err
		}
	}
	return put("league.json", JSON(l))
}

// MatchPage returns the name of the file with a match's page, with / between
// folders.
func MatchPage(m *league.Match) string { return Matches + "/" + m.ID + ".html" }

// CardFile returns the name of the file with a match's card.
func CardFile(m *league.Match) string { return Cards + "/" + m.ID + ".svg" }

// ReplayFile returns the name of the file with the data of a replay, which is a
// script.
func ReplayFile(name string) string { return Replays + "/" + name + ".js" }

// plain matches keys of players that can be part of a file's name. For other
// keys the name has a hash. Both names begin with a letter and a hyphen, since
// names such as con are devices on Windows.
var plain = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// PlayerPage returns the name of the file with a player's page.
func PlayerPage(p *league.Player) string {
	if plain.MatchString(p.Key) {
		return Players + "/p-" + p.Key + ".html"
	}
	sum := sha256.Sum256([]byte(p.Key))
	return Players + "/x-" + hex.EncodeToString(sum[:6]) + ".html"
}

// A site is a site that is being written.
type site struct {
	*league.League
	Options

	parsed *template.Template
	pages  []string // name of each player's page
}

// A view is the data of a page.
type view struct {
	*site

	Title string
	Name  string // name of the template
	Up    string // relative path to the site's folder
	M     *league.Match
	P     *league.Player
	Index int // index of the match or player
}

// text escapes text that players and hosts may have written.
func text(v any) string {
	switch v := v.(type) {
	case wire.Untrusted:
		return v.String()
	case string:
		return report.Escape(v)
	}
	return ""
}

func (s *site) parse() (err error) {
	for i := range s.Players {
		s.pages = append(s.pages, PlayerPage(&s.Players[i]))
	}
	s.parsed, err = template.New("site").Funcs(s.functions()).Parse(templates)
	return err
}

// page passes a page to put.
func (s *site) page(put func(name string, data []byte) error, file, name string, v view) error {
	var b bytes.Buffer
	v.Name = name
	if err := s.parsed.ExecuteTemplate(&b, "page", &v); err != nil {
		return err
	}
	return put(file, b.Bytes())
}

// title returns the map and the day of a match.
func (s *site) title(m *league.Match) string {
	name := "Match"
	if m.Detail.Map != "" {
		name = text(m.Detail.Map)
	}
	return name + " · " + m.Begin.Format("2 January 2006, 15:04")
}

// patch returns facts about a match that the data of its replay may lack. The
// replay is from one recording, but the league may know more.
func patch(m *league.Match) template.JS {
	type player struct {
		Name    string   `json:"name"`
		Left    *float64 `json:"left,omitempty"`
		LeftHow string   `json:"left_how,omitempty"`
	}
	type outcome struct {
		Value string `json:"value"`
	}
	x := m.Story
	all := struct {
		Verdict string    `json:"verdict"`
		Ending  string    `json:"ending"`
		Grounds string    `json:"grounds,omitempty"`
		Over    *float64  `json:"over,omitempty"`
		Outcome outcome   `json:"outcome"`
		Leaders []int     `json:"leaders,omitempty"`
		Team    *int      `json:"leading_team,omitempty"`
		Players []*player `json:"players"`
	}{text(m.Detail.Verdict), text(m.Detail.Ending), text(m.Detail.Grounds), x.Over, outcome{x.Result.Value.String()}, x.Leaders, x.LeadingTeam, nil}
	for i := range x.Players {
		p := &x.Players[i]
		all.Players = append(all.Players, &player{text(x.NameOf(i)), p.Left, text(p.LeftHow)})
	}
	b, err := json.Marshal(all) // escapes <, > and &
	if err != nil {
		b = []byte("null") // a time is not a finite number
	}
	return template.JS(b) // JSON cannot contain the end of the script element
}

// day formats a date in the league's time zone.
func day(t time.Time) string { return t.Format("2 Jan 2006, 15:04") }

// kindOf returns the kind of a match's result, which decides its colour.
func kindOf(m *league.Match) string {
	if m.Ignored != "" {
		return "ignored"
	}
	return m.Story.Result.Value.String()
}

// places describes the recordings of a match.
func places(m *league.Match) (all []string) {
	for i := range m.Detail.Places {
		p := &m.Detail.Places[i]
		at := "at an unknown place"
		switch {
		case p.Host:
			at = "at the host"
		case p.At != "":
			at = "at " + text(p.At)
		}
		line := at + ": " + text(strings.Join(p.Files, ", "))
		if !p.Agrees {
			line += "; it says " + p.Result
		}
		all = append(all, line)
	}
	return all
}
