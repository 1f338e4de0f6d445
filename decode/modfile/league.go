package modfile

// League is the contents of a league's file.
type League struct {
	Title, Zone, URL, PostAfter Setting // settings without a name
	Win, Draw                   *int64  // points for a win and for a draw
	Shortest, Fewest            *int64  // shortest length in seconds and fewest players of a match that counts
	Seasons                     []Season
	Aliases                     []Setting // a player's name, and the player's other names as values
	Players, Files, Matches     []Setting // players, files and matches that do not count
	Rating                      Setting
	Addresses, Chat             bool // whether addresses and chat are published
}

// A Season is a period of a league. From and To are days. The season includes
// the day To.
type Season struct{ Name, From, To Setting }

// ReadLeague reads a league's file. The error is an [*Error].
func ReadLeague(f File) (*League, error) {
	var l League
	err := f.read(func(r *reader, doc *node) {
		t := r.open(doc, "the file")
		l.Title, l.Zone, l.URL, l.PostAfter = t.setting("title"), t.setting("time_zone"), t.setting("url"), t.setting("post_after")
		r.within(t, "points", func(t *table) { l.Win, l.Draw = t.amount("win"), t.amount("draw") })
		r.within(t, "matches", func(t *table) { l.Shortest, l.Fewest = t.amount("shortest_seconds"), t.amount("fewest_players") })
		r.within(t, "exclude", func(t *table) {
			l.Players, l.Files, l.Matches = t.each("players"), t.each("files"), t.each("matches")
		})
		r.within(t, "rating", func(t *table) { l.Rating = t.setting("model") })
		r.within(t, "publish", func(t *table) { l.Addresses, l.Chat = t.yes("addresses"), t.yes("chat") })
		r.within(t, "aliases", func(t *table) {
			for i := range t.n.entries {
				e := &t.n.entries[i]
				l.Aliases = append(l.Aliases, Setting{e.key, e.line, t.texts(e.key)})
			}
		})
		r.seasons(t, &l)
		t.close()
	})
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// seasons reads the seasons.
func (r *reader) seasons(t *table, l *League) {
	if e := t.n.find("season"); e != nil && e.value.kind == tables {
		r.fail(e.line, "a season begins with [[season]], in two brackets")
	}
	list := t.get("season", array)
	if list == nil {
		return
	}
	for _, n := range list.items {
		if n.kind != tables {
			r.fail(n.line, "a season must be a table ([[season]]), not %s", n.kind)
			return
		}
		t := r.open(n, "a season")
		s := Season{t.setting("name"), t.setting("from"), t.setting("to")}
		t.close()
		if s.Name.Line == 0 || s.From.Line == 0 {
			r.fail(n.line, "a season needs a name and the day from which it counts: from = \"2026-09-01\"")
		}
		l.Seasons = append(l.Seasons, s)
	}
}

// within calls take with the table in a table, if there is one.
func (r *reader) within(t *table, key string, take func(t *table)) {
	if n := t.get(key, tables); n != nil {
		inner := r.open(n, key)
		take(inner)
		inner.close()
	}
}

// setting reads a text and its line. If there is none, the line is 0.
func (t *table) setting(key string) Setting {
	text := t.text(key)
	if line := t.lines[key]; line > 0 {
		return Setting{Line: line, Values: []string{text}}
	}
	return Setting{}
}

// each reads the texts of an array, and the line of each.
func (t *table) each(key string) (all []Setting) {
	for i, text := range t.texts(key) {
		all = append(all, Setting{Line: t.n.find(key).value.items[i].line, Values: []string{text}})
	}
	return all
}

// amount reads a number of 0 or more, or returns nil if there is none.
func (t *table) amount(key string) *int64 {
	n := t.get(key, integer)
	if n == nil {
		return nil
	}
	const most = 1_000_000
	if n.number < 0 || n.number > most {
		t.r.fail(n.line, "%s must be from 0 to %d", key, most)
	}
	return &n.number
}

// yes reads true or false. If there is none, it returns false.
func (t *table) yes(key string) bool {
	n := t.get(key, boolean)
	return n != nil && n.yes
}
