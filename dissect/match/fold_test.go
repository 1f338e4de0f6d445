package match_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
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
	Kills  []string // kills of players who have any
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
	addrs   map[int]string       // addresses of clients, by the id that the host gave them last
	slots   map[int]string       // addresses by slot
	stays   map[string]*stay     // by address
	objects map[int]string       // owners
	born    map[int]int          // creations that count, by object
	lives   []string             // each with its owner
	dead    map[int]bool         // objects that were lost since
	ended   map[int]bool         // objects whose player has left, or has another ship
	ship    map[string]int       // the last object of a player
	scores  map[string][3]string // by address
	scored  bool                 // the host has sent a score other than 0
	chat    map[string]*chatLine
	losses  []loss
	seen    map[string]seenAt
	over    bool // the host has ended the match: the rest counts for nothing
	end     float64
}

// A stay is the time that a client spends in the game. The last ones count.
type stay struct {
	name        string
	first, last float64 // from the client
	from, left  float64 // left is 0 while it is there, from is negative if the beginning was not captured
}

type seenAt struct {
	t     float64
	links map[string]bool
}

type chatLine struct{ byAuthor, byReceiver map[string]int }

type loss struct {
	t              float64
	victim, killer string
	object         string // with the number of its life
	kinds          map[string]bool
	late           bool // after the end of the match
}

// repeated reports whether the same was told within the last thirty seconds, over other
// links only. Who came later isn't told of it.
func (f *fold) repeated(m *message, key string) bool {
	link := m.Src + m.Dst
	s, ok := f.seen[key]
	client := cmp.Or(f.stays[m.Dst], f.stays[m.Src])
	if ok && m.Rel-s.t <= 30 && !s.links[link] && (client == nil || client.first <= s.t) {
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
	f.end = m.Rel
	if !host {
		s := f.stay(client)
		if s.last == 0 {
			s.first = m.Rel
		}
		s.last = m.Rel
	}
	switch m.Name {
	case "":
		f.connection(m, host, client)
	case "Settings":
		if host {
			f.slots[m.num("slot")] = client
			f.comes(client, m.Rel)
		}
	case "PlayerAnnounce": // OpenBC names both the player's first object and the id
		if m.text("code_name") == "NETWORK_DELETE_PLAYER" && host {
			f.leaves(f.player(m.num("player")), m.Rel)
		} else if n := m.num("dest") - 0x3FFFFFFF; host && n >= 0 && n%0x40000 == 0 && f.gone(f.slots[n/0x40000]) {
			f.slots[n/0x40000] = f.player(m.num("player"))
		}
	case "ObjectCreateTeam":
		f.create(m, host, client)
	case "Score", "ScoreInit":
		if host {
			who := f.player(m.num("player"))
			f.scores[who] = [3]string{fmt.Sprint(m.num("kills")), fmt.Sprint(m.num("deaths")), fmt.Sprint(m.num("score"))}
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

// killer returns the player that an explosion or a score names. OpenBC names the ship in
// explosions.
func (f *fold) killer(id int) string {
	switch {
	case id == 0:
		return ""
	case id > 255:
		owner, _ := f.owner(id)
		return owner
	}
	return f.player(id)
}

func (f *fold) stay(client string) *stay {
	if f.stays[client] == nil {
		f.stays[client] = &stay{from: -1}
	}
	return f.stays[client]
}

func (f *fold) gone(player string) bool {
	s := f.stays[player]
	return player == "" || s != nil && s.left > 0
}

// connection folds what the transport layer tells of clients.
func (f *fold) connection(m *message, host bool, client string) {
	switch id := m.num("id"); {
	case m.Kind == "connect" && host:
		f.addrs[id] = client
		f.comes(client, m.Rel)
	case m.Kind == "name_change" && !host:
		f.stay(client).name = m.text("name")
		if f.stay(client).from < 0 && f.gone(f.addrs[id]) { // the capture lacks the host's accept
			f.addrs[id] = client
		}
	case m.Kind == "disconnect" && !host:
		f.leaves(client, m.Rel)
	}
}

// comes notes that a client comes, or comes back.
func (f *fold) comes(client string, t float64) {
	s := f.stay(client)
	if s.from < 0 {
		s.from = t
	}
	s.left = 0
}

// leaves notes that a player has left, and the ships with the player.
func (f *fold) leaves(player string, t float64) {
	s := f.stays[player]
	if s == nil || s.left > 0 {
		return
	}
	s.left = t
	for object, owner := range f.objects {
		if owner == player {
			f.ended[object] = true
		}
	}
}

// people returns what the addresses of each player have in common: the address of the
// first stay. A player is a name. Who comes with the name of one who has left is the same
// player, also if the host noticed late that the first one had gone. Who has the name at the
// same time is another one.
func (f *fold) people() func(string) string {
	first, back := map[string]string{}, map[string]string{}
	at := slices.SortedFunc(maps.Keys(f.stays), func(a, b string) int { return cmp.Compare(f.stays[a].from, f.stays[b].from) })
	until := map[string]float64{}
	for _, address := range at {
		s := f.stays[address]
		left := math.Inf(1)
		if s.left > 0 || f.end-s.last >= 15 { // silent up to the end
			left = s.last
		}
		key := strings.ToLower(s.name)
		if key == "" || s.from < 0 {
			continue
		}
		if one, ok := first[key]; !ok {
			first[key], until[key] = address, left
		} else if until[key] <= s.from {
			back[address], until[key] = one, left
		}
	}
	return func(address string) string { return cmp.Or(back[address], address) }
}

func (f *fold) create(m *message, host bool, client string) {
	id := m.num("object_id")
	if _, known := f.objects[id]; known && (host || !f.dead[id] && !f.ended[id]) {
		return
	}
	owner := client
	if host {
		owner = f.slots[m.num("slot")]
		if owner == "" {
			owner = f.player(m.num("net_player"))
		}
	}
	if last, ok := f.ship[owner]; ok && f.objects[last] == owner {
		f.ended[last] = true // a player has one ship at a time
	}
	f.objects[id], f.dead[id], f.ended[id], f.ship[owner] = owner, false, false, id
	f.born[id]++
	f.lives = append(f.lives, fmt.Sprintf("%08X of ", id)+owner)
}

func (f *fold) change(m *message, host bool) {
	if !host || f.repeated(m, fmt.Sprint("score", m.num("victim"), m.num("deaths"), m.num("killer"))) {
		return
	}
	score := func(id, at int, value int) {
		if f.over {
			return
		}
		who := f.player(id)
		s := f.scores[who]
		s[at] = fmt.Sprint(value)
		f.scores[who], f.scored = s, f.scored || value != 0
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
	f.lose(m, victim, f.killer(m.num("killer")), f.ship[victim], "score")
}

// lose notes the report of a loss. Two are of one loss if no new ship came
// between and they are three seconds apart at most, or fifteen if they are an
// explosion and the score change that goes with it.
func (f *fold) lose(m *message, victim, killer string, id int, kind string) {
	object := fmt.Sprint(id, "#", f.born[id])
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
	f.dead[id] = true
	f.losses = append(f.losses, loss{m.Rel, victim, killer, object, map[string]bool{kind: true}, f.over})
}

// tell returns the results of the fold. Players are known by the addresses of their first stays.
func (f *fold) tell() (told, func(string) string) {
	var out told
	who := f.people()
	kills, deaths := map[string]int{}, map[string]int{}
	for _, l := range f.losses {
		victim, killer := who(l.victim), who(l.killer)
		out.Losses = append(out.Losses, fmt.Sprintf("%.3f %s by %s", l.t, victim, killer))
		if l.late {
			continue
		}
		deaths[victim]++
		if killer != "" && killer != victim {
			kills[killer]++
		}
	}
	out.Kills, out.Deaths = counts(kills), counts(deaths)
	zeros := len(deaths) > 0 && !f.scored // the host does not count
	last := map[string]string{}           // the address of each player's last stay for which the host counts
	for address := range f.scores {
		one := who(address)
		if l := last[one]; f.stays[address] != nil && (l == "" || f.stays[l].from < f.stays[address].from) {
			last[one] = address
		}
	}
	for one, address := range last {
		if s := f.scores[address]; !zeros {
			out.Scores = append(out.Scores, fmt.Sprintf("%s: %s", one, strings.Join(s[:], " ")))
		}
	}
	for _, l := range f.lives {
		object, owner, _ := strings.Cut(l, " of ")
		out.Lives = append(out.Lives, object+" of "+who(owner))
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
	return out, who
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
		addrs: map[int]string{}, slots: map[int]string{}, stays: map[string]*stay{}, objects: map[int]string{}, born: map[int]int{},
		dead: map[int]bool{}, ended: map[int]bool{}, ship: map[string]int{}, scores: map[string][3]string{},
		chat: map[string]*chatLine{}, seen: map[string]seenAt{},
	}
}

// folded returns the folds of all messages, by host.
func folded(all []message) map[string]*fold {
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
	return games
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

// modelled returns the results of the matches of a host. It complains of players who have
// two rows in a match.
func modelled(t *testing.T, all []*match.Match, host string, who func(string) string) told {
	t.Helper()
	var to told
	for _, m := range all {
		if m.Host.String() != host {
			continue
		}
		name := func(p int) string { return who(addressOf(m, p)) }
		rows := map[string]bool{}
		for i := range m.Players {
			if one := name(i); one != "" && rows[one] {
				t.Errorf("%s has two rows", one)
			} else {
				rows[one] = true
			}
		}
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
	}
	to.sort()
	return to
}

func opt(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// captures returns the fixtures that hold play in the game's own order, the ones with players
// who come back, and the captures in the folder that BCDISSECT_CAPTURES names.
func captures(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"../../fixtures/captures", "../../fixtures/rejoin", os.Getenv("BCDISSECT_CAPTURES")} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			name := d.Name()
			switch plain := strings.TrimSuffix(name, ".gz"); {
			case err != nil:
				return err
			case strings.HasPrefix(name, "forged"): // made up in no order, without play
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
			for host, f := range folded(all) {
				want, who := f.tell()
				g := modelled(t, matches, host, who)
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
