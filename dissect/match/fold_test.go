package match_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// The fold below counts kills, deaths, scores, lives and chat from the output
// of "read -T json", by the rules of docs/session.md. It shares nothing with
// the model: copies are counted away by their numbers and not one by one,
// players are known by their addresses.

// message is a line of JSON, as far as the fold needs it.
type message struct {
	Frame  int
	Rel    float64
	Src    string
	Dst    string
	Dir    string
	Status string
	Kind   string
	Name   string
	CopyOf int `json:"copy_of"`
	Fields map[string]any

	PlayerName string `json:"player_name"`
}

func (m *message) num(key string) int {
	f, _ := m.Fields[key].(float64)
	return int(f)
}

func (m *message) text(key string) string {
	s, _ := m.Fields[key].(string)
	return s
}

// told holds the values that must agree between fold and model, sorted.
type told struct {
	Losses []string // victim, killer
	Kills  []string // of players who have any
	Deaths []string
	Scores []string // id: kills deaths score
	Lives  []string // objects
	Chat   []string // author, text
}

func (a *told) sort() {
	for _, l := range [][]string{a.Losses, a.Kills, a.Deaths, a.Scores, a.Lives, a.Chat} {
		slices.Sort(l)
	}
}

// messages returns the lines of JSON of a capture, or of its parts if the name is a
// pattern, and the matches.
func messages(t *testing.T, name string) ([]message, []*match.Match) {
	t.Helper()
	parts, err := filepath.Glob(name)
	if err != nil || len(parts) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	src, err := capture.OpenAll(parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	var text bytes.Buffer
	var lines report
	p := dissect.New(dissect.Config{Clear: strings.Contains(name, "/clear/")})
	var b *match.Builder
	for {
		d, err := src.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, capture.ErrCut) {
				t.Fatal(err)
			}
			break
		}
		if b == nil {
			start := src.Stats().FirstTime
			b = match.New(start)
			lines = ndjson.New(&text, ndjson.Options{Start: start})
		}
		if err := p.Push(d, func(r *dissect.Record) error {
			return errors.Join(lines.Record(r), b.Record(r))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if b == nil {
		return nil, nil
	}
	if err := errors.Join(lines.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	var all []message
	in := bufio.NewScanner(&text)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		if bytes.Contains(in.Bytes(), []byte(`"name":"StateUpdate"`)) && !bytes.Contains(in.Bytes(), []byte(`"rel":`)) {
			continue
		}
		var m message
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			t.Fatalf("%v: %s", err, in.Bytes())
		}
		all = append(all, m)
	}
	return all, b.Matches()
}

// report is a sink.
type report interface {
	Record(r *dissect.Record) error
	Close() error
}

// A fold is the state of one host's game.
type fold struct {
	ids     map[string]int    // of clients by address, as the host gave them
	addrs   map[int]string    // the other way round
	slots   map[int]string    // addresses by slot
	objects map[int]string    // owners
	born    map[int]int       // creations that count, by object
	dead    map[int]bool      // objects that were lost since
	ship    map[string]int    // the last object of a player
	scores  map[int][3]string // by id
	scored  bool              // the host has sent a score other than 0
	chat    map[string]*chatLine
	losses  []loss
	seen    map[string]seenAt
	over    bool // the host has ended the match: the rest counts for nothing
}

type seenAt struct {
	t     float64
	links map[string]bool
}

type chatLine struct{ byAuthor, byReceiver map[string]int }

type loss struct {
	t              float64
	victim, killer string
	object         int
	kinds          map[string]bool
	late           bool // after the end of the match
}

// repeated reports whether the same was told within five seconds over other
// links only.
func (f *fold) repeated(m *message, key string) bool {
	link := m.Src + m.Dst
	s, ok := f.seen[key]
	if ok && m.Rel-s.t <= 5 && !s.links[link] {
		s.links[link] = true
		return true
	}
	f.seen[key] = seenAt{m.Rel, map[string]bool{link: true}}
	return false
}

func (f *fold) player(id int) string {
	if a, ok := f.addrs[id]; ok {
		return a
	}
	return fmt.Sprintf("id %d", id)
}

func (f *fold) add(m *message) {
	host := m.Dir == "s2c"
	client := m.Src
	if host {
		client = m.Dst
	}
	switch m.Name {
	case "":
		if m.Kind == "connect" && host {
			f.ids[client] = m.num("id")
			f.addrs[m.num("id")] = client
		}
	case "Settings":
		if host {
			f.slots[m.num("slot")] = client
		}
	case "PlayerAnnounce": // OpenBC names the player's first object beside the id
		if n := m.num("dest") - 0x3FFFFFFF; host && n >= 0 && n%0x40000 == 0 && f.slots[n/0x40000] == "" {
			f.slots[n/0x40000] = f.player(m.num("player"))
		}
	case "ObjectCreateTeam":
		f.create(m, host, client)
	case "Score", "ScoreInit":
		if host {
			f.scores[m.num("player")] = [3]string{fmt.Sprint(m.num("kills")), fmt.Sprint(m.num("deaths")), fmt.Sprint(m.num("score"))}
			f.scored = f.scored || m.num("kills") != 0 || m.num("deaths") != 0 || m.num("score") != 0
		}
	case "Chat", "TeamChat":
		key := m.Name + " " + m.text("text")
		c := f.chat[key]
		if c == nil {
			c = &chatLine{map[string]int{}, map[string]int{}}
			f.chat[key] = c
		}
		if host {
			c.byReceiver[client]++
		} else {
			c.byAuthor[client]++
		}
	case "HostEvent":
		// A message that a client sends first is not the host's, even
		// if the host passes it on.
		if m.text("code_name") == "OBJECT_EXPLODING" && !f.repeated(m, fmt.Sprint("explodes", m.num("dest"))) && host {
			if owner, ok := f.owner(m.num("dest")); ok {
				f.lose(m, owner, f.killer(m.num("firing_player")), m.num("dest"), "explodes")
			}
		}
	case "DestroyObject":
		if !host && !f.repeated(m, fmt.Sprint("destroys", m.num("object_id"))) {
			if owner, ok := f.owner(m.num("object_id")); ok {
				killer := client
				if killer == owner {
					killer = ""
				}
				f.lose(m, owner, killer, m.num("object_id"), "destroys")
			}
		}
	case "ScoreChange":
		f.change(m, host)
	case "EndGame":
		f.over = f.over || host
	case "RestartGame":
		f.over = f.over && !host
	}
}

// owner returns the player of a ship: its creator, or else the owner of its id
// range.
func (f *fold) owner(object int) (owner string, ok bool) {
	if owner, ok = f.objects[object]; ok {
		return owner, true
	}
	slot := (object - 0x3FFFFFFF) / 0x40000
	return f.slots[slot], object >= 0x3FFFFFFF && slot < 16
}

func (f *fold) killer(id int) string {
	if id == 0 {
		return ""
	}
	return f.player(id)
}

func (f *fold) create(m *message, host bool, client string) {
	id := m.num("object_id")
	if _, known := f.objects[id]; known && (host || !f.dead[id]) {
		return
	}
	owner := client
	if host {
		owner = f.slots[m.num("slot")]
		if owner == "" {
			owner = f.player(m.num("net_player"))
		}
	}
	f.objects[id], f.dead[id], f.ship[owner] = owner, false, id
	f.born[id]++
}

func (f *fold) change(m *message, host bool) {
	if !host {
		return
	}
	score := func(id, at int, value int) {
		if f.over {
			return
		}
		s := f.scores[id]
		s[at] = fmt.Sprint(value)
		f.scores[id], f.scored = s, f.scored || value != 0
	}
	score(m.num("victim"), 1, m.num("deaths"))
	if k := m.num("killer"); k != 0 {
		score(k, 0, m.num("kills"))
		score(k, 2, m.num("score"))
	}
	updates, _ := m.Fields["updates"].([]any)
	for _, u := range updates {
		u := u.(map[string]any)
		if id, _ := u["player"].(float64); id != 0 {
			value, _ := u["score"].(float64)
			score(int(id), 2, int(value))
		}
	}
	victim := f.player(m.num("victim"))
	if !f.repeated(m, fmt.Sprint("score", m.num("victim"), m.num("deaths"), m.num("killer"))) {
		f.lose(m, victim, f.killer(m.num("killer")), f.ship[victim], "score")
	}
}

// lose notes the report of a loss. Two are of one loss if no new ship came
// between and they are three seconds apart at most, or fifteen if they are an
// explosion and the score change that goes with it.
func (f *fold) lose(m *message, victim, killer string, object int, kind string) {
	for i := len(f.losses) - 1; i >= 0; i-- {
		l := &f.losses[i]
		if l.victim != victim || l.object != object {
			continue
		}
		pair := kind != "destroys" && !l.kinds["destroys"] && !l.kinds[kind]
		if gap := m.Rel - l.t; gap <= 3 || pair && gap <= 15 {
			l.kinds[kind] = true
			if l.killer == "" {
				l.killer = killer
			}
			return
		}
		break
	}
	f.dead[object] = true
	f.losses = append(f.losses, loss{m.Rel, victim, killer, object, map[string]bool{kind: true}, f.over})
}

// tell returns the results of the fold.
func (f *fold) tell() told {
	var out told
	kills, deaths := map[string]int{}, map[string]int{}
	for _, l := range f.losses {
		out.Losses = append(out.Losses, fmt.Sprintf("%.3f %s by %s", l.t, l.victim, l.killer))
		if l.late {
			continue
		}
		deaths[l.victim]++
		if l.killer != "" && l.killer != l.victim {
			kills[l.killer]++
		}
	}
	out.Kills, out.Deaths = counts(kills), counts(deaths)
	zeros := len(deaths) > 0 && !f.scored // the host does not count
	for id, s := range f.scores {
		if a, ok := f.addrs[id]; ok && !zeros {
			out.Scores = append(out.Scores, fmt.Sprintf("%s: %s", a, strings.Join(s[:], " ")))
		}
	}
	for id, n := range f.born {
		for range n {
			out.Lives = append(out.Lives, fmt.Sprintf("%08X of %s", id, f.objects[id]))
		}
	}
	for key, c := range f.chat {
		said, heard := 0, 0
		for _, n := range c.byAuthor {
			said += n
		}
		for _, n := range c.byReceiver {
			heard = max(heard, n)
		}
		for range max(said, heard) {
			out.Chat = append(out.Chat, key)
		}
	}
	out.sort()
	return out
}

func counts(of map[string]int) (out []string) {
	for name, n := range of {
		if name != "" {
			out = append(out, fmt.Sprintf("%s: %d", name, n))
		}
	}
	return out
}

// counted returns the host of a message that counts.
func (m *message) counted() (host string, ok bool) {
	switch m.Status {
	case "duplicate", "malformed", "pending", "unknown":
		return "", false
	}
	switch m.Dir {
	case "s2c":
		return m.Src, true
	case "c2s":
		return m.Dst, true
	}
	return "", false
}

func newFold() *fold {
	return &fold{
		ids: map[string]int{}, addrs: map[int]string{}, slots: map[int]string{}, objects: map[int]string{}, born: map[int]int{},
		dead: map[int]bool{}, ship: map[string]int{}, scores: map[int][3]string{},
		chat: map[string]*chatLine{}, seen: map[string]seenAt{},
	}
}

// folded returns the results of the fold, by host.
func folded(all []message) map[string]told {
	games := map[string]*fold{}
	for i := range all {
		m := &all[i]
		host, ok := m.counted()
		if !ok {
			continue
		}
		if games[host] == nil {
			games[host] = newFold()
		}
		games[host].add(m)
	}
	out := map[string]told{}
	for host, f := range games {
		out[host] = f.tell()
	}
	return out
}

// addressOf returns what the fold knows a player by.
func addressOf(m *match.Match, p int) string {
	switch {
	case p < 0:
		return ""
	case m.Players[p].Address.IsValid():
		return m.Players[p].Address.String()
	case m.Players[p].ID == 0:
		return ""
	}
	return fmt.Sprintf("id %d", m.Players[p].ID)
}

// modelled returns the results of the matches, by host.
func modelled(all []*match.Match) map[string]told {
	out := map[string]told{}
	for _, m := range all {
		name := func(p int) string { return addressOf(m, p) }
		to := out[m.Host.String()]
		for _, k := range m.Kills {
			to.Losses = append(to.Losses, fmt.Sprintf("%.3f %s by %s", k.T, name(k.Victim), name(k.Killer)))
		}
		kills, deaths := map[string]int{}, map[string]int{}
		for i := range m.Players {
			p := &m.Players[i]
			if p.Kills > 0 {
				kills[name(i)] += p.Kills
			}
			if p.Deaths > 0 {
				deaths[name(i)] += p.Deaths
			}
			if h := p.HostSays; h != nil && p.Address.IsValid() {
				to.Scores = append(to.Scores, fmt.Sprintf("%s: %s %s %s", name(i), opt(h.Kills), opt(h.Deaths), opt(h.Score)))
			}
		}
		to.Kills, to.Deaths = append(to.Kills, counts(kills)...), append(to.Deaths, counts(deaths)...)
		for i := range m.Lives {
			if l := &m.Lives[i]; !l.Late {
				to.Lives = append(to.Lives, fmt.Sprintf("%08X of %s", uint32(l.Object), name(l.Player)))
			}
		}
		for _, c := range m.Chat {
			kind := "Chat"
			if c.Team {
				kind = "TeamChat"
			}
			to.Chat = append(to.Chat, kind+" "+c.Text.Raw())
		}
		to.sort()
		out[m.Host.String()] = to
	}
	return out
}

func opt(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// captures returns the fixtures that hold play in the game's own order, and
// those of the folder that BCDISSECT_CAPTURES names.
func captures(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"../../fixtures/captures", os.Getenv("BCDISSECT_CAPTURES")} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			name := d.Name()
			switch plain := strings.TrimSuffix(name, ".gz"); {
			case err != nil:
				return err
			case strings.HasPrefix(name, "forged"): // made up in no order: nobody plays
			case filepath.Base(filepath.Dir(path)) == "field": // the fold doesn't know killers named by their ships, nor what is lost
			case strings.HasSuffix(plain, ".pcap"), strings.HasSuffix(plain, ".pcapng"):
				all = append(all, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 30 {
		t.Fatalf("got %d captures", len(all))
	}
	return all
}

func TestFold(t *testing.T) {
	for _, name := range captures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			all, matches := messages(t, name)
			got := modelled(matches)
			for host, want := range folded(all) {
				g := got[host]
				for _, c := range []struct {
					what      string
					got, want []string
				}{
					{"losses", g.Losses, want.Losses},
					{"kills", g.Kills, want.Kills},
					{"deaths", g.Deaths, want.Deaths},
					{"scores", g.Scores, want.Scores},
					{"lives", g.Lives, want.Lives},
					{"chat", g.Chat, want.Chat},
				} {
					if !slices.Equal(c.got, c.want) {
						t.Errorf("%s, %s:\n got %q\nwant %q", host, c.what, c.got, c.want)
					}
				}
			}
		})
	}
}
