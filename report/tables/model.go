package tables

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// A modelTable is a table of items of matches.
type modelTable struct {
	name, doc string
	columns   []modelColumn
	count     func(m *match.Match) int
}

// A modelColumn is a column of such a table with its getter for the item with an
// index.
type modelColumn struct {
	Column
	set func(c *cell, m *match.Match, i int)
}

// A cell is the place of a value in the open row.
type cell struct {
	t      *rows
	column int
}

func (c *cell) int(v int)        { c.t.int(c.column, int64(v)) }
func (c *cell) bool(v bool)      { c.t.bool(c.column, v) }
func (c *cell) double(v float64) { c.t.double(c.column, v) }
func (c *cell) known(s string)   { c.t.known(c.column, s) }
func (c *cell) texts(s string)   { c.t.addText(c.column, s) }
func (c *cell) ints(v int)       { c.t.addInt(c.column, int64(v)) }
func (c *cell) empty()           { c.t.end(c.column) }

// clock sets a time, which comes from seconds in a float.
func (c *cell) clock(at time.Time) { c.t.int(c.column, at.Round(time.Microsecond).UnixMicro()) }

// index sets an index that is known unless it is negative.
func (c *cell) index(i int) {
	if i >= 0 {
		c.int(i)
	}
}

func (c *cell) intp(v *int) {
	if v != nil {
		c.int(*v)
	}
}

func (c *cell) doublep(v *float64) {
	if v != nil {
		c.double(*v)
	}
}

func (c *cell) boolp(v *bool) {
	if v != nil {
		c.bool(*v)
	}
}

func (c *cell) address(a netip.AddrPort) {
	if a.IsValid() {
		c.known(a.String())
	}
}

// player sets the name of a player that is known.
func (c *cell) player(m *match.Match, i int) {
	if i >= 0 && i < len(m.Players) {
		c.known(m.Players[i].Name)
	}
}

// table returns the description of the table.
func (t *modelTable) table() Table {
	out := Table{Name: t.name, Doc: t.doc, Columns: []Column{of("match", Int, "index of the match in the capture, from 0")}}
	for i := range t.columns {
		out.Columns = append(out.Columns, t.columns[i].Column)
	}
	return out
}

// write writes the rows of a match.
func (t *modelTable) write(to *rows, m *match.Match, index int) {
	n := 1
	if t.count != nil {
		n = t.count(m)
	}
	for i := range n {
		to.begin()
		to.int(0, int64(index))
		for c := range t.columns {
			t.columns[c].set(&cell{to, c + 1}, m, i)
		}
	}
}

// at returns the columns of the time of an item.
func at(t func(m *match.Match, i int) float64) []modelColumn {
	return []modelColumn{
		{of("ts", Time, "time"), func(c *cell, m *match.Match, i int) { c.clock(m.Clock(t(m, i))) }},
		{of("t", Double, "the same, in seconds since the first frame of the capture"), func(c *cell, m *match.Match, i int) { c.double(t(m, i)) }},
	}
}

// playerColumns returns the columns of a player that an item names.
func playerColumns(name, doc string, get func(m *match.Match, i int) int) []modelColumn {
	return []modelColumn{
		{of(name, Int, doc+": index in `players`"), func(c *cell, m *match.Match, i int) { c.index(get(m, i)) }},
		{of(name+"_name", Text, "name of that player"), func(c *cell, m *match.Match, i int) { c.player(m, get(m, i)) }},
	}
}

// indexColumn returns the column of an item's own index.
func indexColumn(name string) []modelColumn {
	return []modelColumn{{of(name, Int, "index in the match, from 0"), func(c *cell, _ *match.Match, i int) { c.int(i) }}}
}

// join joins lists of columns.
func join(lists ...[]modelColumn) (all []modelColumn) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// frameDoc is the meaning of a frame in these tables.
const frameDoc = "frame that shows it"

// modelTables are the tables of the match model.
var modelTables = []modelTable{
	{
		name: "matches", doc: "a match: from its first sign to its restart, the next mission, or the end of the capture",
		columns: []modelColumn{
			{of("host", Text, "`ip:port`"), func(c *cell, m *match.Match, _ int) { c.address(m.Host) }},
			{of("server", Text, "name of the server, as GameSpy tells"), func(c *cell, m *match.Match, _ int) { c.known(m.Name) }},
			{of("dialect", Text, "of the host: `stock`, `openbc` or `auto`"), func(c *cell, m *match.Match, _ int) { c.known(m.Dialect.String()) }},
			{of("mission", Text, "script of the mission"), func(c *cell, m *match.Match, _ int) { c.known(m.Mission) }},
			{of("map", Text, "star system"), func(c *cell, m *match.Match, _ int) { c.known(m.Map) }},
			{of("player_limit", Int, "of players"), func(c *cell, m *match.Match, _ int) { c.intp(m.Rules.PlayerLimit) }},
			{of("time_limit", Int, "minutes"), func(c *cell, m *match.Match, _ int) { c.intp(m.Rules.TimeLimit) }},
			{of("frag_limit", Int, "kills"), func(c *cell, m *match.Match, _ int) { c.intp(m.Rules.FragLimit) }},
			{of("collisions", Bool, "ships collide"), func(c *cell, m *match.Match, _ int) { c.boolp(m.Rules.Collisions) }},
			{of("begin_ts", Time, "first sign of the match"), func(c *cell, m *match.Match, _ int) { c.clock(m.Clock(m.Begin)) }},
			{of("end_ts", Time, "its last sign"), func(c *cell, m *match.Match, _ int) { c.clock(m.Clock(m.End)) }},
			{of("seconds", Double, "between the two"), func(c *cell, m *match.Match, _ int) { c.double(m.End - m.Begin) }},
			{of("over_t", Double, "when the host ended it, in seconds since the first frame"), func(c *cell, m *match.Match, _ int) { c.doublep(m.Over) }},
			{of("ended_by", Text, "the host's reason"), func(c *cell, m *match.Match, _ int) { c.known(m.EndedBy) }},
			{of("begins_late", Bool, "the capture begins within the match"), func(c *cell, m *match.Match, _ int) { c.bool(m.Late) }},
			{of("open", Bool, "the capture ends within the match"), func(c *cell, m *match.Match, _ int) { c.bool(m.Open) }},
			{listOf("leaders", Int, "players with the highest score, or else the most kills"), func(c *cell, m *match.Match, _ int) {
				for _, p := range m.Leaders {
					c.ints(p)
				}
				c.empty()
			}},
			{of("leading_team", Int, "of a match with teams"), func(c *cell, m *match.Match, _ int) { c.intp(m.LeadingTeam) }},
			{of("decided", Bool, "the leaders won"), func(c *cell, m *match.Match, _ int) { c.bool(m.Decided()) }},
			{of("captured_at", Int, "player at whose computer the capture was made"), func(c *cell, m *match.Match, _ int) { c.index(m.Vantage) }},
			{of("captured_at_host", Bool, "the capture was made at the host"), func(c *cell, m *match.Match, _ int) { c.bool(m.Vantage == match.VantageHost) }},
		},
	},
	{
		name: "players", doc: "a player of a match", count: func(m *match.Match) int { return len(m.Players) },
		columns: join(indexColumn("player"), []modelColumn{
			{of("player_name", Text, "the last name"), func(c *cell, m *match.Match, i int) { c.known(m.Players[i].Name) }},
			{listOf("names", Text, "all names in order, if there were several"), func(c *cell, m *match.Match, i int) {
				for _, n := range m.Players[i].Names {
					c.texts(n)
				}
				c.empty()
			}},
			{of("id", Int, "network id"), func(c *cell, m *match.Match, i int) {
				if id := m.Players[i].ID; id != 0 {
					c.int(int(id))
				}
			}},
			{of("slot", Int, "player slot"), func(c *cell, m *match.Match, i int) { c.index(m.Players[i].Slot) }},
			{of("team", Int, "from 0"), func(c *cell, m *match.Match, i int) { c.intp(m.Players[i].Team) }},
			{of("address", Text, "`ip:port` of the last stay"), func(c *cell, m *match.Match, i int) { c.address(m.Players[i].Address) }},
			{of("joined", Double, "seconds since the first frame"), func(c *cell, m *match.Match, i int) { c.doublep(m.Players[i].Joined) }},
			{of("ready", Double, "first ready to play"), func(c *cell, m *match.Match, i int) { c.doublep(m.Players[i].Ready) }},
			{of("left", Double, "seconds since the first frame"), func(c *cell, m *match.Match, i int) { c.doublep(m.Players[i].Left) }},
			{of("left_how", Text, "`disconnect`, `host`, `closed`, `silence`, or the host's reason"), func(c *cell, m *match.Match, i int) { c.known(m.Players[i].LeftHow) }},
			{of("stays", Int, "connections that the capture shows to begin"), func(c *cell, m *match.Match, i int) { c.int(m.Players[i].Stays) }},
			{of("kills", Int, "counted in the capture"), func(c *cell, m *match.Match, i int) { c.int(m.Players[i].Kills) }},
			{of("deaths", Int, "counted in the capture"), func(c *cell, m *match.Match, i int) { c.int(m.Players[i].Deaths) }},
			{of("score", Int, "the last that the host gave"), func(c *cell, m *match.Match, i int) { c.intp(m.Players[i].Score) }},
			{of("host_kills", Int, "the host's last word"), func(c *cell, m *match.Match, i int) {
				if h := m.Players[i].HostSays; h != nil {
					c.intp(h.Kills)
				}
			}},
			{of("host_deaths", Int, "the host's last word"), func(c *cell, m *match.Match, i int) {
				if h := m.Players[i].HostSays; h != nil {
					c.intp(h.Deaths)
				}
			}},
			{of("damage_done", Double, "done to ships of others (OpenBC)"), func(c *cell, m *match.Match, i int) { c.doublep(m.Players[i].Damage) }},
			{of("shots", Int, "fired"), func(c *cell, m *match.Match, i int) { c.int(m.Players[i].Shots) }},
		}),
	},
	{
		name: "lives", doc: "a ship of a player, from its creation to its end", count: func(m *match.Match) int { return len(m.Lives) },
		columns: join(indexColumn("life"), playerColumns("player", "its player", func(m *match.Match, i int) int { return m.Lives[i].Player }), []modelColumn{
			{of("ship", Text, "class"), func(c *cell, m *match.Match, i int) { c.known(m.Lives[i].Ship) }},
			{of("ship_name", Text, "name of the ship"), func(c *cell, m *match.Match, i int) { c.known(m.Lives[i].Name) }},
			{of("object_id", Int, "the ship"), func(c *cell, m *match.Match, i int) { c.int(int(m.Lives[i].Object)) }},
			{of("frame", Int, "of the creation, or of the first sighting"), func(c *cell, m *match.Match, i int) { c.int(m.Lives[i].Frame) }},
			{of("begin_ts", Time, "creation, or first sighting"), func(c *cell, m *match.Match, i int) { c.clock(m.Clock(m.Lives[i].Begin)) }},
			{of("end_ts", Time, "end of the ship"), func(c *cell, m *match.Match, i int) { c.clock(m.Clock(m.Lives[i].End)) }},
			{of("begin_t", Double, "seconds since the first frame"), func(c *cell, m *match.Match, i int) { c.double(m.Lives[i].Begin) }},
			{of("end_t", Double, "seconds since the first frame"), func(c *cell, m *match.Match, i int) { c.double(m.Lives[i].End) }},
			{of("end_how", Text, "`killed`, `destroyed`, `left`, `removed`, `replaced` or `restarted`; absent if it lasts to the end"), func(c *cell, m *match.Match, i int) { c.known(m.Lives[i].EndHow) }},
			{of("begins_late", Bool, "the creation was not captured"), func(c *cell, m *match.Match, i int) { c.bool(m.Lives[i].Late) }},
			{of("max_speed", Double, "game units a second"), func(c *cell, m *match.Match, i int) { c.double(m.Lives[i].MaxSpeed) }},
			{of("updates", Int, "ship updates"), func(c *cell, m *match.Match, i int) { c.int(m.Lives[i].Updates) }},
		}, playerColumns("killer", "the killer", func(m *match.Match, i int) int { return m.Lives[i].Killer })),
	},
	{
		name: "kills", doc: "the loss of a ship", count: func(m *match.Match) int { return len(m.Kills) },
		columns: join(indexColumn("kill"), at(func(m *match.Match, i int) float64 { return m.Kills[i].T }), []modelColumn{
			{of("frame", Int, frameDoc), func(c *cell, m *match.Match, i int) { c.int(m.Kills[i].Frame) }},
		}, playerColumns("victim", "player of the ship", func(m *match.Match, i int) int { return m.Kills[i].Victim }),
			playerColumns("killer", "absent for a collision or self-destruction", func(m *match.Match, i int) int { return m.Kills[i].Killer }), []modelColumn{
				{of("weapon_name", Text, "that hit last, `collision` or `self-destruction`"), func(c *cell, m *match.Match, i int) { c.known(m.Kills[i].Weapon) }},
				{of("distance", Double, "between the two ships, in game units"), func(c *cell, m *match.Match, i int) { c.doublep(m.Kills[i].Distance) }},
				{of("ship", Text, "class of the ship"), func(c *cell, m *match.Match, i int) { c.known(m.Kills[i].Ship) }},
				{of("killer_ship", Text, "class of the killer's ship"), func(c *cell, m *match.Match, i int) { c.known(m.Kills[i].With) }},
				component("x", 0), component("y", 1), component("z", 2),
				{of("life", Int, "index of the ship in `lives`"), func(c *cell, m *match.Match, i int) { c.index(m.Kills[i].Life) }},
				{listOf("assists", Int, "other players in the score change"), func(c *cell, m *match.Match, i int) {
					for _, a := range m.Kills[i].Assists {
						c.ints(a.Player)
					}
					c.empty()
				}},
				{listOf("assist_scores", Int, "their scores from then on"), func(c *cell, m *match.Match, i int) {
					for _, a := range m.Kills[i].Assists {
						c.ints(a.Score)
					}
					c.empty()
				}},
			}),
	},
	{
		name: "scores", doc: "the score of a player or team, at each change that the host sends", count: func(m *match.Match) int { return len(m.Scores) },
		columns: join(indexColumn("index"), at(func(m *match.Match, i int) float64 { return m.Scores[i].T }), []modelColumn{
			{of("frame", Int, frameDoc), func(c *cell, m *match.Match, i int) { c.int(m.Scores[i].Frame) }},
		}, playerColumns("player", "absent for a team", func(m *match.Match, i int) int { return m.Scores[i].Player }), []modelColumn{
			{of("team", Int, "absent for a player"), func(c *cell, m *match.Match, i int) { c.index(m.Scores[i].Team) }},
			{of("kills", Int, "kills"), func(c *cell, m *match.Match, i int) { c.intp(m.Scores[i].Kills) }},
			{of("deaths", Int, "deaths"), func(c *cell, m *match.Match, i int) { c.intp(m.Scores[i].Deaths) }},
			{of("score", Int, "score"), func(c *cell, m *match.Match, i int) { c.intp(m.Scores[i].Score) }},
		}),
	},
	{
		name: "chat", doc: "a line of chat, once", count: func(m *match.Match) int { return len(m.Chat) },
		columns: join(indexColumn("index"), at(func(m *match.Match, i int) float64 { return m.Chat[i].T }), []modelColumn{
			{of("frame", Int, frameDoc), func(c *cell, m *match.Match, i int) { c.int(m.Chat[i].Frame) }},
		}, playerColumns("player", "the writer", func(m *match.Match, i int) int { return m.Chat[i].Player }), []modelColumn{
			{of("text", Text, "the line"), func(c *cell, m *match.Match, i int) { c.t.text(c.column, m.Chat[i].Text) }},
			{of("team_only", Bool, "to the writer's team"), func(c *cell, m *match.Match, i int) { c.bool(m.Chat[i].Team) }},
		}),
	},
	{
		name: "shots", doc: "a shot", count: func(m *match.Match) int { return len(m.Shots) },
		columns: join(indexColumn("shot"), at(func(m *match.Match, i int) float64 { return m.Shots[i].T }), []modelColumn{
			{of("end_t", Double, "end of a beam"), func(c *cell, m *match.Match, i int) { c.doublep(m.Shots[i].End) }},
			{of("frame", Int, frameDoc), func(c *cell, m *match.Match, i int) { c.int(m.Shots[i].Frame) }},
		}, playerColumns("player", "the shooter", func(m *match.Match, i int) int { return m.Shots[i].Player }), []modelColumn{
			{of("life", Int, "index of the ship in `lives`"), func(c *cell, m *match.Match, i int) { c.index(m.Shots[i].Life) }},
			{of("kind", Text, "`beam`, `torpedo` or `pulse`"), func(c *cell, m *match.Match, i int) { c.known(m.Shots[i].Kind.String()) }},
			{of("weapon_name", Text, "name of the subsystem"), func(c *cell, m *match.Match, i int) { c.known(m.Shots[i].Weapon) }},
			{of("target_life", Int, "ship that it is aimed at"), func(c *cell, m *match.Match, i int) { c.index(m.Shots[i].Target) }},
			{of("hit", Bool, "absent if the traffic does not tell"), func(c *cell, m *match.Match, i int) { c.boolp(m.Shots[i].Hit) }},
		}),
	},
}

// component returns the column of a coordinate of a kill.
func component(name string, axis int) modelColumn {
	return modelColumn{of(name, Double, "place of the ship"), func(c *cell, m *match.Match, i int) {
		if at := m.Kills[i].At; at != nil {
			c.double(float64(at[axis]))
		}
	}}
}
