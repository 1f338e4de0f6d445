package match_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// The fold below adds up shots, hits, damage and subsystems from the output of
// "read -T json", by the rules of docs/session.md. Of the model it takes when which
// ship was lost, which TestFold checks.

// aShot is a shot of the fold.
type aShot struct {
	t                float64
	by, weapon, kind string
	ship             int
	target           string // a life
	victim           string
	hit, miss        bool
	late             bool
}

// aBlow is damage of the fold.
type aBlow struct {
	t                  float64
	by, weapon, victim string
	target             string
	amount, hull       float64
	message, late      bool
}

// aLevel is a condition that a subsystem fell or rose to, and the one before.
type aLevel struct {
	t        float64
	life     string
	victim   string
	system   string
	was, now float64
	late     bool
}

// aPlace is where a ship is, as its player says, and how fast it is. A speed that an
// update doesn't tell is NaN.
type aPlace struct {
	t, speed float64
	at       [3]float64 // the first is NaN if it doesn't tell
}

// A tally is the state of one host's game.
type tally struct {
	*fold

	known   map[int]bool    // ships that were seen to be created, or to fly
	begun   map[string]bool // lives whose creation was captured
	lives   map[int]int     // by object
	pilots  map[string]string
	firing  map[string]bool // beams that are on, by life and system
	pulses  map[int]*aShot  // beams that may be pulses, by ship
	shots   []*aShot
	blows   []*aBlow
	levels  []aLevel
	value   map[string]float64 // by life and subsystem
	feeds   map[string]string  // the client whose conversation has a life's subsystems
	fed     map[string]float64 // when they came
	hosts   map[string]bool    // subsystems whose damage the host tells, by life
	lost    map[int]float64    // when an object was lost
	shields map[string][]aLevel
	places  map[string][]aPlace
	end     float64
	message bool
	first   map[string]string // the first address of the player at an address
}

// whose returns what the tally knows a player by.
func (f *tally) whose(m *match.Match, p int) string {
	address := addressOf(m, p)
	return cmp.Or(f.first[address], address)
}

func (f *tally) life(object int) string { return fmt.Sprint(object, "#", f.lives[object]) }

// part returns the ship and the name of a weapon, as the line of JSON tells.
func (f *tally) part(m *message, key string) (object int, name string) {
	id := m.num(key)
	if f.known[id] {
		return id, ""
	}
	_, name, ok := strings.Cut(m.text(key+"_name"), " / ")
	if !ok {
		return 0, ""
	}
	for ; id > 0 && !f.known[id]; id-- { // parts follow their ship
	}
	return id, name
}

func (f *tally) add(m *message) {
	id := m.num("object_id")
	born, flies := f.born[id], f.known[id] && !f.dead[id]
	f.fold.add(m)
	f.end = max(f.end, m.Rel)
	switch m.Name {
	case "ObjectCreateTeam":
		if f.born[id] > born && !flies {
			f.lives[id]++
			f.known[id], f.begun[f.life(id)], f.pilots[f.life(id)] = true, true, f.objects[id]
		}
	case "StateUpdate":
		f.update(m)
	}
	if m.CopyOf != 0 {
		return
	}
	switch m.Name {
	case "StartFiring":
		f.beam(m)
	case "StopFiring":
		key := m.system()
		object, _ := f.part(m, key)
		delete(f.firing, fmt.Sprint(f.life(object), " ", m.num(key)))
	case "TorpedoFire":
		f.shoot(m, "tube", "torpedo")
	case "PulseFire":
		f.shoot(m, "weapon", "pulse")
	case "Explosion":
		f.explode(m)
	case "SubsystemStatus":
		f.status(m)
	}
}

// system returns the field with the object that fires a beam: events name it dest.
func (m *message) system() string {
	if m.num("dest") != 0 {
		return "dest"
	}
	return "object_id"
}

func (f *tally) beam(m *message) {
	key := m.system()
	object, name := f.part(m, key)
	beam := fmt.Sprint(f.life(object), " ", m.num(key))
	if f.firing[beam] || strings.Contains(name, "Tractor") {
		return
	}
	s := f.shoot(m, key, "beam")
	if object == 0 {
		return
	}
	f.firing[beam] = true
	if !strings.Contains(name, "Phaser") && name != "Beams" {
		f.pulses[object] = s
	}
}

func (f *tally) shoot(m *message, key, kind string) *aShot {
	object, name := f.part(m, key)
	s := &aShot{t: m.Rel, by: m.Src, weapon: name, kind: kind, ship: object, late: f.over}
	if m.Dir == "s2c" {
		s.by = ""
		if object != 0 {
			s.by = f.pilots[f.life(object)]
		}
	}
	if to := m.num("target"); f.known[to] {
		s.target, s.victim = f.life(to), f.pilots[f.life(to)]
	}
	old := f.pulses[object]
	delete(f.pulses, object)
	if kind == "pulse" && old != nil && object != 0 {
		if m.Rel-old.t <= 0.5 && (old.target == "" || old.target == s.target) {
			old.kind, old.weapon, old.target, old.victim = s.kind, s.weapon, s.target, s.victim
			return old
		}
	}
	f.shots = append(f.shots, s)
	return s
}

// explode is a client's word that it hit something: the earliest shot that it can have
// been.
func (f *tally) explode(m *message) {
	id := m.num("object_id")
	if m.Dir != "c2s" || !f.known[id] {
		return
	}
	f.message = true
	amount, _ := m.Fields["damage"].(float64)
	b := &aBlow{t: m.Rel, by: m.Src, victim: f.pilots[f.life(id)], target: f.life(id), amount: amount, message: true, late: f.over}
	for _, s := range f.shots {
		if s.by == m.Src && s.target == b.target && !s.hit && m.Rel-s.t <= 3 {
			s.hit = true
			b.weapon = s.with()
			break
		}
	}
	f.blows = append(f.blows, b)
}

func (s *aShot) with() string {
	if s.weapon == "" {
		return s.kind
	}
	return s.weapon
}

// last returns the shot that was fired last at a ship, if it may be still in flight.
func (f *tally) last(life string, t float64) *aShot {
	for _, s := range slices.Backward(f.shots) {
		if s.target == life && t-s.t <= 3 {
			return s
		}
	}
	return nil
}

// level takes the condition of a subsystem. The first one of a ship whose creation
// is in the capture is a loss unless it is whole.
func (f *tally) level(m *message, object int, system string, now float64) {
	life := f.life(object)
	key := life + " " + system
	was, ok := f.value[key]
	if !ok {
		was = 1
	}
	f.value[key] = now
	if !ok && !f.begun[life] {
		was = now
	}
	f.levels = append(f.levels, aLevel{m.Rel, life, f.pilots[life], system, was, now, f.over})
	if now >= was || system != "Hull" || !ok || f.dead[object] {
		return
	}
	b := &aBlow{t: m.Rel, target: life, victim: f.pilots[life], hull: was - now, late: f.over}
	if s := f.last(life, m.Rel); s != nil {
		b.by, b.weapon = s.by, s.with()
	}
	f.blows = append(f.blows, b)
}

func (f *tally) update(m *message) {
	id := m.num("object_id")
	slot := (id - 0x3FFFFFFF) / 0x40000
	if !f.known[id] {
		if id < 0x3FFFFFFF || slot >= 16 {
			return
		}
		f.known[id] = true
		f.lives[id]++
		f.pilots[f.life(id)], _ = f.owner(id)
	}
	link, life := m.Dst, f.life(id)
	if m.Dir == "c2s" {
		link, f.pilots[life] = m.Src, cmp.Or(f.pilots[life], m.Src)
		if m.Src == f.pilots[life] && (!f.dead[id] || m.Rel > f.lost[id]+15) { // a wreck has updates for a while
			f.places[life] = append(f.places[life], placeOf(m))
		}
	}
	if sub, _ := m.Fields["subsystems"].(map[string]any); sub != nil && !f.dead[id] && (f.feeds[life] == "" || f.feeds[life] == link || m.Rel-f.fed[life] >= 2) {
		f.feeds[life], f.fed[life] = link, m.Rel
		f.blocks(m, id, sub)
	}
}

// blocks takes the conditions of subsystems from an update.
func (f *tally) blocks(m *message, id int, sub map[string]any) {
	class, life := classOf(m.text("ship")), f.life(id)
	entries, _ := sub["entries"].([]any)
	for _, e := range entries {
		e, _ := e.(map[string]any)
		index, _ := e["index"].(float64)
		name, _ := e["name"].(string)
		if v, ok := e["condition"].(float64); ok {
			f.entry(m, id, name, v)
		}
		children, _ := e["children"].([]any)
		for k, c := range children {
			v, _ := c.(float64)
			f.entry(m, id, class.Subsystems[int(index)].Children[k].Name, v)
		}
		if facings, ok := e["facings"].([]any); ok {
			f.shields[life] = append(f.shields[life], aLevel{t: m.Rel, system: fmt.Sprint(facings)})
		}
	}
}

func placeOf(m *message) aPlace {
	p := aPlace{t: m.Rel, speed: math.NaN(), at: [3]float64{math.NaN()}}
	if v, ok := m.Fields["speed"].(float64); ok {
		p.speed = v
	}
	if at, ok := m.Fields["position"].([]any); ok {
		for k := range p.at {
			p.at[k], _ = at[k].(float64)
		}
	}
	return p
}

// entry takes the condition of a subsystem from an update, which tells nothing new if
// it repeats what the host, or the player, told before. Once the host has told of damage
// to a subsystem, it is believed and not the player.
func (f *tally) entry(m *message, object int, system string, now float64) {
	part := f.life(object) + " " + system
	was, ok := f.value[m.Dir+" "+part]
	_, hull := f.value[f.life(object)+" Hull"]
	news := (ok && was != now || !ok && now != 1) && (m.Dir == "s2c" || !f.hosts[part])
	if news {
		f.value[m.Dir+" "+part] = now
		f.hosts[part] = f.hosts[part] || m.Dir == "s2c"
	}
	if news || system == "Hull" && !hull {
		f.level(m, object, system, now)
	}
}

func (f *tally) status(m *message) {
	id := m.num("object_id")
	v, _ := m.Fields["condition"].(float64)
	ships := strings.SplitN(m.text("object_name"), " (", 2)
	class := classOf(ships[0])
	if class == nil || !f.known[id] || m.num("index") >= len(class.Subsystems) {
		return
	}
	def := class.Subsystems[m.num("index")]
	if f.hosts[f.life(id)+" "+def.Name] {
		return
	}
	f.level(m, id, def.Name, float64(min(float32(v)/def.MaxCondition, 1)))
}

func classOf(name string) *ship.Class {
	for c := range ship.All() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// A line of sums: shots, hits, misses, unknown, damage and hull.
type sums [6]float64

func (f *tally) settle() {
	beams, tells := false, map[string]bool{}
	for _, b := range f.blows {
		tells[b.by] = tells[b.by] || b.message
	}
	for _, s := range f.shots {
		beams = beams || s.hit && s.kind == "beam"
	}
	for _, s := range f.shots {
		s.miss = !s.hit && tells[s.by] && s.target != "" && (s.kind != "beam" || beams) && f.end-s.t > 3
	}
	if f.message {
		f.blows = slices.DeleteFunc(f.blows, func(b *aBlow) bool { return !b.message })
	}
}

// fire returns the sums by player, weapon and victim of what counts.
func (f *tally) fire(shot func(*aShot) bool, blow func(*aBlow) bool) map[string]sums {
	out := map[string]sums{}
	for _, s := range f.shots {
		if !shot(s) {
			continue
		}
		key := s.by + " " + s.with() + " " + s.victim
		x := out[key]
		x[0]++
		switch {
		case s.hit:
			x[1]++
		case s.miss:
			x[2]++
		default:
			x[3]++
		}
		out[key] = x
	}
	for _, b := range f.blows {
		if blow(b) {
			key := b.by + " " + b.weapon + " " + b.victim
			x := out[key]
			x[4] += b.amount
			x[5] += b.hull
			out[key] = x
		}
	}
	return out
}

// shown returns the same of the model.
func (f *tally) shown(m *match.Match, all []match.Fire) map[string]sums {
	out := map[string]sums{}
	of := func(x *float64) float64 {
		if x == nil {
			return 0
		}
		return *x
	}
	for _, r := range all {
		key := f.whose(m, r.Player) + " " + r.Weapon + " " + f.whose(m, r.Victim)
		x := sums{float64(r.Shots), float64(r.Hits), float64(r.Misses), float64(r.Unknown), of(r.Amount), of(r.Hull)}
		if r.Hull != nil {
			x[4] = 0 // follows from the share of the hull
		}
		for i, y := range out[key] {
			x[i] += y
		}
		out[key] = x
	}
	return out
}

// same compares sums, which may differ by rounding.
func same(t *testing.T, what string, got, want map[string]sums) {
	t.Helper()
	for key := range maps.Keys(want) {
		if _, ok := got[key]; !ok {
			t.Errorf("%s: %q is missing: %v", what, key, want[key])
		}
	}
	for key, g := range got {
		for i, x := range g {
			if y := want[key][i]; math.Abs(x-y) > 1e-4*max(1, math.Abs(y)) {
				t.Errorf("%s: %q is\n%v, not\n%v", what, key, g, want[key])
				break
			}
		}
	}
}

// returned gives all messages of a player one address, the first, as names tell: who comes
// back may do so from another. The result is the addresses by the first ones.
func returned(all []message) map[string]string {
	names, first, out := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range all {
		if m := &all[i]; m.Dir == "c2s" && m.PlayerName != "" {
			names[m.Src] = strings.ToLower(m.PlayerName)
			if first[names[m.Src]] == "" {
				first[names[m.Src]] = m.Src
			}
		}
	}
	for address, name := range names {
		out[address] = first[name]
	}
	for i := range all {
		m := &all[i]
		m.Src, m.Dst = cmp.Or(out[m.Src], m.Src), cmp.Or(out[m.Dst], m.Dst)
	}
	return out
}

// TestDebriefing checks every number of the debriefing. If BCDISSECT_LONG is set, it does so
// also for the largest capture, which takes as long as half of the others.
func TestDebriefing(t *testing.T) {
	names := []string{
		"battle_mix.pcap.gz", "battle_mix-s96.pcap.gz", "networked_battle.pcap", "stock_client.pcap", "opcode_tour.pcap", "opcode_coverage.pcap", "stock_replay.pcap",
		"field/c21.host.pcap.gz", "field/c21.client.pcap.gz", "field/f1x.host.pcap.gz", "field/f2x.host.pcap.gz", "field/p187.host.pcap.gz",
		"field/c15.router.pcap.gz", "reliability/g_s1_p4.pcap.gz", "reliability/g_s5_p4_droptx.pcap.gz", "reliability/st_fire1.pcap.gz", "reliability/st_mix_fix_drx.pcap.gz",
		"evening/friday.pcapng.gz", "two_teams.pcap",
		"clear/c08.host.pcap.zst",
	}
	if os.Getenv("BCDISSECT_LONG") != "" {
		names = append(names, "clear/battle_large-*.pcap.zst")
	}
	// The captures of random traffic are not among these, since they contain no play.
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			all, matches := messages(t, "../../fixtures/captures/"+name)
			m := matches[0]
			f := &tally{
				fold: newFold(), known: map[int]bool{}, begun: map[string]bool{}, lives: map[int]int{}, pilots: map[string]string{}, firing: map[string]bool{}, pulses: map[int]*aShot{},
				value: map[string]float64{}, feeds: map[string]string{}, fed: map[string]float64{}, hosts: map[string]bool{}, first: returned(all),
				lost: map[int]float64{}, shields: map[string][]aLevel{}, places: map[string][]aPlace{},
			}
			lost := m.Kills // the fold of kills does not know the kills in the captures of field
			for i := range all {
				for ; len(lost) > 0 && all[i].Frame > lost[0].Frame; lost = lost[1:] {
					if k := &lost[0]; k.Life >= 0 {
						object := int(m.Lives[k.Life].Object)
						f.dead[object], f.lost[object] = true, k.T
					}
				}
				if host, ok := all[i].counted(); ok && host == m.Host.String() {
					f.add(&all[i])
				}
			}
			f.settle()
			same(t, "fire", f.shown(m, m.Fire), f.fire(func(s *aShot) bool { return !s.late }, func(b *aBlow) bool { return !b.late }))
			same(t, "subsystems", f.shownWear(m), f.wear())
			f.checkSteps(t, m)
			f.checkPlots(t, m)
			for i := range m.Kills {
				f.checkKill(t, m, &m.Kills[i])
			}
		})
	}
}

func (f *tally) wear() map[string]sums {
	out := map[string]sums{}
	for _, l := range f.levels {
		if l.late || l.system == "Hull" || l.now >= l.was {
			continue
		}
		by := ""
		for _, s := range f.shots {
			if s.target == l.life && s.t <= l.t && l.t-s.t <= 3 {
				by = s.by
			}
		}
		key := l.victim + " " + l.system + " " + by
		x := out[key]
		x[0] += l.was - l.now
		if l.now == 0 {
			x[1]++
		}
		out[key] = x
	}
	return out
}

func (f *tally) shownWear(m *match.Match) map[string]sums {
	out := map[string]sums{}
	for _, w := range m.Wear {
		key := f.whose(m, w.Victim) + " " + w.System + " " + f.whose(m, w.Player)
		x := out[key]
		x[0] += w.Lost
		x[1] += float64(w.Out)
		out[key] = x
	}
	return out
}

// checkSteps checks the damage in each five seconds, where messages tell of it.
func (f *tally) checkSteps(t *testing.T, m *match.Match) {
	t.Helper()
	got, want := map[string]sums{}, map[string]sums{}
	done, taken, step := m.DamageBy(5, 1000)
	if step != 5 {
		t.Errorf("a step has %v seconds", step)
	}
	for i := range m.Players {
		for k := range done[i] {
			if x, y := done[i][k], taken[i][k]; f.message && (x != 0 || y != 0) {
				got[fmt.Sprint(f.whose(m, i), " ", k)] = sums{x, y}
			}
		}
	}
	add := func(of string, b *aBlow, k int) {
		key := fmt.Sprint(of, " ", math.Floor((b.t-m.Begin)/5))
		x := want[key]
		x[k] += b.amount
		want[key] = x
	}
	for _, b := range f.blows {
		if b.message && b.by != b.victim {
			add(b.by, b, 0)
		}
		if b.message {
			add(b.victim, b, 1)
		}
	}
	same(t, "damage in five seconds", got, want)
}

// lifeOf returns what the tally calls a life.
func lifeOf(m *match.Match, i int) string {
	object, n := m.Lives[i].Object, 0
	for _, l := range m.Lives[:i+1] {
		if l.Object == object {
			n++
		}
	}
	return fmt.Sprint(int(object), "#", n)
}

// checkPlots checks what the plots over time draw: hull, shields, subsystems, and the
// places and speeds from which range and speed follow.
func (f *tally) checkPlots(t *testing.T, m *match.Match) {
	t.Helper()
	want := map[string][]string{} // by life and system
	for _, l := range f.levels {
		if key := l.life + " " + l.system; l.now != 1 || l.system == "Hull" || len(want[key]) > 0 {
			want[key] = append(want[key], fmt.Sprintf("%.6f %.4f", l.t, l.now))
		}
	}
	got := map[string][]string{}
	for i := range m.Lives {
		l, life := &m.Lives[i], lifeOf(m, i)
		plotted(l, func(what string, t float64, value string) {
			got[life+" "+what] = append(got[life+" "+what], fmt.Sprintf("%.6f %s", t, value))
		})
		for _, s := range f.shields[life] {
			want[life+" shields"] = append(want[life+" shields"], fmt.Sprintf("%.6f %s", s.t, s.system))
		}
		f.checkFlight(t, l, f.places[life])
	}
	for key := range maps.Keys(want) {
		if !slices.Equal(changes(got[key]), changes(want[key])) {
			t.Errorf("%s is\n%q, not\n%q", key, changes(got[key]), changes(want[key]))
		}
		delete(got, key)
	}
	for key, list := range got {
		t.Errorf("%s: %q, of which the fold knows nothing", key, list)
	}
}

// plotted calls each with the conditions of a life.
func plotted(l *match.Life, each func(what string, t float64, value string)) {
	for _, c := range l.Condition {
		if c.Hull >= 0 {
			each("Hull", c.T, fmt.Sprintf("%.4f", c.Hull))
		}
		if c.Shields[0] >= 0 {
			each("shields", c.T, fmt.Sprint(c.Shields))
		}
	}
	for _, s := range l.Systems {
		for _, h := range s.History {
			each(s.Name, h.T, fmt.Sprintf("%.4f", h.Value))
		}
	}
}

// changes returns the values that differ from the one before, with their times. Of
// several at one time, the last counts.
func changes(all []string) (out []string) {
	for i, x := range all {
		at, value, _ := strings.Cut(x, " ")
		if i+1 < len(all) && strings.HasPrefix(all[i+1], at+" ") || len(out) > 0 && strings.HasSuffix(out[len(out)-1], " "+value) {
			continue
		}
		out = append(out, x)
	}
	return out
}

// between returns place and speed at a moment between two points of a track.
func between(a, b *match.Sample, t float64) (at [3]float64, speed float64) {
	share := 1.0
	if b.T > a.T {
		share = (t - a.T) / (b.T - a.T)
	}
	for k := range at {
		at[k] = float64(a.At[k]) + share*float64(b.At[k]-a.At[k])
	}
	return at, float64(a.Speed) + share*float64(b.Speed-a.Speed)
}

// checkFlight holds the places and speeds that a player sent against the track, which
// keeps to half a unit, and the highest speed.
func (f *tally) checkFlight(t *testing.T, l *match.Life, all []aPlace) {
	t.Helper()
	all = slices.DeleteFunc(slices.Clone(all), func(p aPlace) bool { return p.t >= l.End || p.t == l.Begin })
	most, checked, told := 0.0, 0, 0
	for i, p := range all {
		if !math.IsNaN(p.speed) {
			most = max(most, math.Abs(p.speed))
		}
		n := sort.Search(len(l.Track), func(k int) bool { return l.Track[k].T >= p.t-1e-6 }) // JSON has microseconds
		if math.IsNaN(p.speed) && math.IsNaN(p.at[0]) || i+1 < len(all) && all[i+1].t == p.t {
			continue
		}
		if told++; n == len(l.Track) {
			continue
		}
		at, speed := between(&l.Track[max(n-1, 0)], &l.Track[n], p.t)
		if off := math.Hypot(math.Hypot(p.at[0]-at[0], p.at[1]-at[1]), p.at[2]-at[2]); off > 0.5 || math.Abs(speed-p.speed) > 0.51 {
			t.Errorf("at %.3f the ship %08X is at %v with %v, the track has %v and %v", p.t, uint32(l.Object), p.at, p.speed, at, speed)
			return
		}
		checked++
	}
	if len(all) > 0 && (checked < told || math.Abs(most-l.MaxSpeed) > 1e-3) {
		t.Errorf("the ship %08X: %d of %d updates are on the track, which is at most %v fast, not %v", uint32(l.Object), checked, told, l.MaxSpeed, most)
	}
}

// checkKill checks what is told of the last 15 seconds before a loss.
func (f *tally) checkKill(t *testing.T, m *match.Match, k *match.Kill) {
	t.Helper()
	if k.Life < 0 {
		return
	}
	life := lifeOf(m, k.Life)
	in := func(at float64) bool { return at <= k.T+1e-6 && at >= k.T-15 }
	same(t, fmt.Sprintf("loss at %.3f", k.T), f.shown(m, k.Fire), f.fire(
		func(s *aShot) bool { return s.target == life && in(s.t) },
		func(b *aBlow) bool { return b.target == life && in(b.t) }))
	got, want := map[string]sums{}, map[string]sums{}
	for _, x := range k.Falls {
		y := sums{float64(x.Before), float64(x.After)}
		if x.Gone != nil {
			y[2] = *x.Gone
		}
		got[x.System] = y
	}
	for _, l := range f.levels {
		if l.life != life || !in(l.t) {
			continue
		}
		x, ok := want[l.system]
		if !ok {
			x[0] = l.was
		}
		x[1] = l.now
		if l.now == 0 && x[2] == 0 {
			x[2] = l.t
		}
		want[l.system] = x
	}
	maps.DeleteFunc(want, func(_ string, x sums) bool { return x[1] >= x[0] })
	same(t, fmt.Sprintf("subsystems lost by %.3f", k.T), got, want)
}
