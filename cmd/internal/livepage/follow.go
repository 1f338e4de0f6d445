package livepage

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
)

// moreThanKey is the size in bytes of changes after which the whole match is
// written again. New viewers then need not read all changes.
const moreThanKey = 64 << 10

// A follower makes entries for the changes of matches, for one view.
type follower struct {
	view    view
	page    bool
	public  bool
	model   ndjson.Model
	matches map[int]*followed
}

// followed has what viewers know about a match.
type followed struct {
	values map[string]*known
	lists  map[string]*list
	round  int
	key    int // size of the last whole entry in bytes
	since  int // size of the changes since then in bytes
}

// known has what viewers know about a value.
type known struct {
	sum   uint64
	round int // the last round in which the value existed, 0 once viewers know that it is gone
}

// newFollower returns the follower for a view.
func newFollower(v view) *follower {
	f := &follower{view: v, page: v&(pageOwner|pagePublic) != 0, public: v&(pagePublic|apiPublic) != 0, matches: map[int]*followed{}}
	f.model.Output = match.JSON
	f.model.Without = slices.Clone(ndjson.NotLive)
	if f.page {
		f.model.Output = match.Page
		f.model.Without = []string{"points", "box", "condition"}
		f.model.Text = report.Escape
	}
	if f.public {
		f.model.Without = append(f.model.Without, "address")
		f.model.Text = func(s string) string { return hidden.ReplaceAllLiteralString(report.Escape(s), "(address)") }
	}
	return f
}

// hidden matches IP addresses in text. For example, a player without a name is
// shown with the address.
var hidden = regexp.MustCompile(`\d{1,3}(\.\d{1,3}){3}(:\d+)?|\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%\w]*\](:\d+)?`)

// follow writes the text of an entry, or nothing if nothing has changed.
func (f *follower) follow(d *draft, index int, m *match.Match, over, sweep bool) (k kind) {
	s := f.matches[index]
	if s == nil {
		s = &followed{values: map[string]*known{}, lists: map[string]*list{}}
		f.matches[index] = s
	}
	switch {
	case over:
		k = final
	case s.key == 0 || s.since > s.key+moreThanKey:
		k = whole
	default:
		k = change
	}
	if k != change {
		clear(s.values)
		clear(s.lists)
	}
	d.text = strconv.AppendInt(append(d.text, `{"match":`...), int64(index), 10)
	if k != change {
		d.text = append(d.text, `,"whole":true`...)
	}
	f.changes(d, s, m, sweep || k != change)
	if s.since += d.size(); k != change {
		s.key, s.since = d.size(), 0
	}
	return k
}

// forget forgets a match that has ended.
func (f *follower) forget(index int) { delete(f.matches, index) }

// changes writes the changes of a match as the members of an open object. If
// there are none, the draft is empty.
func (f *follower) changes(d *draft, s *followed, m *match.Match, sweep bool) {
	s.round++
	var of any = m
	if f.public {
		of = public(m)
	}
	if f.page {
		of = page.Live(of.(*match.Match))
	}
	values := []byte(`},"values":{`)
	d.text = append(d.text, `,"lists":{`...)
	empty := len(values) + d.size()
	var c *checking
	end := func() {
		if c != nil {
			c.end()
		}
	}
	f.model.Parts(m, of, func(name string, text []byte) {
		if f.public && name == "host" {
			return
		}
		v := s.values[name]
		if v == nil {
			v = &known{}
			s.values[name] = v
		}
		if sum := maphash.Bytes(seed, text); v.round == 0 || v.sum != sum {
			v.sum = sum
			values = append(member(values, name), text...)
		}
		v.round = s.round
	}, func(name string, n int) (from int) {
		end()
		if c = nil; !f.page && slices.Contains(ndjson.NotLiveLists, name) {
			return n
		}
		l := s.lists[name]
		if l == nil {
			l = &list{fresh: true}
			s.lists[name] = l
		}
		c, from = d.check(l, name, n, sweep)
		return from
	}, func(_ string, i int, text []byte) { c.item(i, text) })
	end()
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if v := s.values[name]; v.round != 0 && v.round != s.round {
			values = append(member(values, name), "null"...)
			v.round = 0
		}
	}
	if len(values)+d.size() == empty {
		d.text = d.text[:0]
		return
	}
	d.text = append(append(d.text, values...), "}}"...)
}

// public returns a copy of a match without chat, and without events that
// contain chat or addresses.
func public(m *match.Match) *match.Match {
	p := *m
	p.Chat = nil
	p.Events = slices.DeleteFunc(slices.Clone(m.Events), func(e match.Event) bool { return e.Kind == match.EventChat || e.Kind == match.EventError })
	return &p
}

// flights makes entries for the long lists: flights, conditions, shots and
// connections.
type flights struct {
	model   ndjson.Model
	matches map[*match.Match]*flying
}

// flying has what viewers know about the flights of a match.
type flying struct {
	tracks     map[int]*rows // by index of the life
	conditions map[int]*list
	shots      list
	lines      []*line

	fire, wear, damage, causes list // the debriefing
}

// line has what viewers know about a connection.
type line struct {
	address netip.AddrPort
	points  list
}

func newFlights() *flights {
	return &flights{model: ndjson.Model{Output: match.JSON}, matches: map[*match.Match]*flying{}}
}

func (f *flights) of(m *match.Match) *flying {
	s := f.matches[m]
	if s == nil {
		s = &flying{tracks: map[int]*rows{}, conditions: map[int]*list{}}
		f.matches[m] = s
	}
	return s
}

// sample adds a sample of a flight.
func (f *flights) sample(m *match.Match, life int, s *match.Sample) {
	of := f.of(m)
	t := of.tracks[life]
	if t == nil {
		t = &rows{}
		of.tracks[life] = t
	}
	t.add(func(dst []byte) []byte { return f.model.AppendItem(dst, m, s, true) })
}

// follow appends the text of an entry to dst, or nothing if there is nothing new.
func (f *flights) follow(dst []byte, index int, m *match.Match, sweep bool) []byte {
	s := f.of(m)
	text := strconv.AppendInt(append(dst, `{"match":`...), int64(index), 10)
	empty := len(text)
	text = f.lives(text, s, m)
	text = flat(text, &s.shots, "shots", len(m.Shots), sweep, func(dst []byte, i int) []byte { return f.model.AppendItem(dst, m, &m.Shots[i], false) })
	text = f.lines(text, s, m, sweep)
	text = s.debriefing(text, m, sweep)
	if len(text) == empty {
		return dst
	}
	return append(text, '}')
}

// flat appends the changes of a list with n items as a member.
func flat(dst []byte, l *list, name string, n int, all bool, appendItem func(dst []byte, i int) []byte) []byte {
	var text []byte
	d := draft{text: dst}
	c, i := d.check(l, name, n, all)
	for ; i < n; i++ {
		text = appendItem(text[:0], i)
		c.item(i, text)
	}
	c.end()
	return d.text
}

// lives appends tracks and conditions.
func (f *flights) lives(dst []byte, s *flying, m *match.Match) []byte {
	lives := []byte{'{'}
	for i := range m.Lives {
		one := []byte{'{'}
		if t := s.tracks[i]; t != nil {
			one = t.end(one, "track")
		}
		all := m.Lives[i].Condition
		l := s.conditions[i]
		if l == nil && len(all) > 0 {
			l = &list{}
			s.conditions[i] = l
		}
		if l != nil && (len(l.known) < len(all) || len(all) > 0 && m.Lives[i].EndHow == "") {
			one = flat(one, l, "condition", len(all), false, func(dst []byte, k int) []byte { return f.model.AppendItem(dst, m, &all[k], false) })
		}
		if len(one) > 1 {
			lives = append(append(member(lives, strconv.Itoa(i)), one...), '}')
		}
	}
	if len(lives) == 1 {
		return dst
	}
	return append(append(member(dst, "lives"), lives...), '}')
}

// lines appends the points of connections.
func (f *flights) lines(dst []byte, s *flying, m *match.Match, sweep bool) []byte {
	lines := []byte{'{'}
	for i := range m.Lines {
		of := &m.Lines[i]
		if i == len(s.lines) {
			s.lines = append(s.lines, &line{address: of.Address})
		}
		l := s.lines[i]
		if l.address != of.Address { // another player now has this index
			l.address = of.Address
			l.points.forget()
			sweep = true
		}
		one := flat([]byte{'{'}, &l.points, "points", len(of.Points), sweep, func(dst []byte, k int) []byte { return f.model.AppendItem(dst, m, &of.Points[k], false) })
		if len(one) > 1 {
			lines = append(append(member(lines, strconv.Itoa(i)), one...), '}')
		}
	}
	if len(lines) == 1 {
		return dst
	}
	return append(append(member(dst, "lines"), lines...), '}')
}

// debriefing appends who did what to whom, as rows. Players are indices, so that
// a row contains no address of a player without a name.
func (s *flying) debriefing(dst []byte, m *match.Match, sweep bool) []byte {
	rows := func(l *list, name string, n int, all bool, row func(i int) []any) {
		dst = flat(dst, l, name, n, all, func(text []byte, i int) []byte {
			b, _ := json.Marshal(row(i)) // never fails, since all numbers are finite
			return append(text, b...)
		})
	}
	rows(&s.fire, "fire", len(m.Fire), true, func(i int) []any { return fireRow(&m.Fire[i]) })
	rows(&s.wear, "wear", len(m.Wear), true, func(i int) []any {
		w := &m.Wear[i]
		return []any{w.Player, w.System, w.Victim, finite(&w.Lost), w.Out}
	})
	rows(&s.damage, "damage", len(m.Damage), sweep, func(i int) []any {
		d := &m.Damage[i]
		return []any{finite(&d.T), d.Player, d.Victim, finite(d.Amount)}
	})
	rows(&s.causes, "causes", len(m.Kills), sweep, func(i int) []any {
		fire, falls := []any{}, []any{}
		for k := range m.Kills[i].Fire {
			fire = append(fire, fireRow(&m.Kills[i].Fire[k]))
		}
		for _, f := range m.Kills[i].Falls {
			before, after := float64(f.Before), float64(f.After)
			falls = append(falls, []any{f.System, finite(&before), finite(&after), finite(f.Gone)})
		}
		return []any{fire, falls}
	})
	return dst
}

func fireRow(f *match.Fire) []any {
	return []any{f.Player, f.Weapon, f.Victim, f.Friendly, f.Shots, f.Hits, f.Misses, finite(f.Amount), finite(f.Hull)}
}

// finite returns a number for JSON, rounded to thousandths, or nil if it is not
// known. Traffic can contain infinite numbers.
func finite(x *float64) any {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return nil
	}
	return math.Round(*x*1000) / 1000
}
