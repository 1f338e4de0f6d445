package suite

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func joinCases() []Case {
	return []Case{
		{ID: "J-1", client: (*T).connected, run: fiveRounds},
		{ID: "J-2", client: (*T).loaded, run: roundTexts},
		{ID: "J-3", client: (*T).stranger, run: requestWithAccept},
		{ID: "J-4", client: (*T).connected, run: answersAccepted},
		{ID: "J-5", run: completion},
		{ID: "J-6", client: (*T).loaded, run: settings, watch: always(sent(msg.OpSettings, seeSettings))},
		{ID: "J-7", players: 2, run: lowestSlot},
		{ID: "J-8", players: 2, client: (*T).loaded, run: quietBeforeReady},
		{ID: "J-9", players: 2, client: (*T).joined, run: missionInit},
		{ID: "J-10", players: 2, client: (*T).joined, run: scores},
		{ID: "J-11", players: 3, client: (*T).joined, run: announced, compare: "announcements"},
		{ID: "J-12", players: 2, client: (*T).joined, run: orderOfJoin},
		{ID: "J-13", players: 3, run: shipsForNewcomer},
		{ID: "J-14", watch: watchVolumes},
		{ID: "J-15", players: 2, client: (*T).stranger, run: namesOfOthers},
		{ID: "J-16", players: 2, client: (*T).loaded, run: nameToAll},
		{ID: "J-17", players: 2, run: nameTaken},
		{ID: "J-18", client: atRound(0), run: otherVersion},
		{ID: "J-19", client: atRound(0), run: otherFile},
		{ID: "J-20", client: atRound(3), run: missingFile},
		{ID: "J-21", run: password},
		{ID: "J-22", run: fullHost},
		{ID: "J-23", client: (*T).stranger, run: amplification},
	}
}

var allRounds = []uint8{0, 1, 2, 3, msg.LastRound}

func fiveRounds(t *T) {
	for i, want := range allRounds {
		t.expect(t.until(t.soon(), func() bool { return len(t.c.Asked) > 0 }), fmt.Sprintf("a request of round %d", want), t.c.all())
		if i < 2 {
			t.wait(betweenAll)
		}
		list := t.c.games(msg.OpChecksumRequest)
		t.expect(t.c.Asked[0] == want && len(list) == i+1, fmt.Sprintf("round %d, and no further one before it is answered", want), list)
		t.c.answers(t.answerBody(want))
	}
	t.expect(t.until(t.soon(), func() bool { return t.c.Loaded }), "ChecksumComplete (28), Settings (00) and GameInit (01) after round 255", t.c.all())
	list := t.c.games(msg.OpChecksumRequest)
	t.expect(len(list) == len(allRounds), "five requests", list)
}

func roundTexts(t *T) {
	want := []string{
		"\x20\x00\x08\x00scripts/\x07\x00App.pyc\x20",
		"\x20\x01\x08\x00scripts/\x0C\x00Autoexec.pyc\x20",
		"\x20\x02\x0D\x00scripts/ships\x05\x00*.pyc\x21",
		"\x20\x03\x10\x00scripts/mainmenu\x05\x00*.pyc\x20",
		"\x20\xFF\x13\x00Scripts/Multiplayer\x05\x00*.pyc\x21",
	}
	list := t.c.games(msg.OpChecksumRequest)
	for i, h := range list {
		if i < len(want) {
			t.expect(string(h.Body) == want[i], fmt.Sprintf("%X", want[i]), h)
		}
		t.show(h.frame)
	}
	t.expect(len(list) >= len(want), "five requests", list)
}

func requestWithAccept(t *T) {
	t.c.Name = "" // it sends no name
	t.c.connect()
	t.until(t.soon(), func() bool { return len(t.c.Asked) > 0 })
	accepts, asks := t.c.accepts(), t.c.games(msg.OpChecksumRequest)
	need(len(accepts) > 0, "no accept came")
	t.expect(len(asks) > 0, "a request of round 0 without a name", t.c.all())
	const within = 1.25
	ask, _ := read[*msg.ChecksumRequest](asks[0])
	d := asks[0].at.Sub(accepts[0].at).Seconds()
	t.expect(d <= within && ask.Round == 0, "round 0 within a second of the accept", fmt.Sprintf("after %.2f s", d), asks[0])
	t.show(accepts[0].frame, asks[0].frame)
}

func answersAccepted(t *T) {
	for i, round := range allRounds {
		if !t.until(t.soon(), func() bool { return len(t.c.Asked) > 0 || t.c.Phase == relay.ClientGone }) || len(t.c.Asked) == 0 {
			need(i != 0, "no request came")
			t.fails(false, fmt.Sprintf("the answer to round %d to be accepted", allRounds[i-1]), t.c.all())
		}
		t.c.answers(t.answerBody(round))
	}
	t.expect(t.until(t.soon(), func() bool { return t.c.Loaded || len(t.c.games(msg.OpChecksumFailed, msg.OpVersionDifferent)) > 0 }) && t.c.Loaded, "the answer to round 255 to be accepted", t.c.all())
}

func completion(t *T) {
	p, _ := t.players(2, fewNumbers) // if the host lets any in
	c := must(t.atRound(msg.LastRound))
	c.answers(t.answerBody(msg.LastRound))
	want := []decode.Opcode{msg.OpChecksumComplete, msg.OpSettings, msg.OpGameInit}
	t.until(t.soon(), func() bool { return len(c.games(want...)) >= len(want) })
	list := c.games(want...)
	for _, m := range list {
		t.expect(m.Reliable, "ChecksumComplete (28), Settings (00) and GameInit (01) reliably", m)
	}
	t.expect(slices.EqualFunc(list, want, func(m *message, op decode.Opcode) bool { return m.is(op) }), "ChecksumComplete (28), Settings (00) and GameInit (01), in this order", list)
	for _, m := range list {
		t.expect(m.is(msg.OpSettings) || len(m.Body) == 1, "one byte", m)
	}
	if len(p) > 0 {
		t.settle(p[0], p...)
	}
	t.none("ChecksumComplete (28), Settings (00) and GameInit (01) only to the newcomer", gamesOf(p, want...))
	t.show(list[0].frame, list[1].frame, list[2].frame)
}

// oddSettings returns how a Settings differs from the game's form, or "" if it
// does not.
func oddSettings(body []byte) string {
	res := gameMessage(body).decoded()
	m, _ := res.Message.(*msg.Settings)
	bits := res.Exact() && !bytes.Equal(encode(msg.OpSettings, m), body) // there are more or fewer bits
	if res.Err != nil {
		bits = slices.Contains([]string{"collisions", "host_modem", "renamed"}, res.Err.Field)
	}
	switch {
	case len(body) < len(encode(msg.OpSettings, new(msg.Settings))):
		return "at least 9 bytes"
	case m.GameTime.Float() < 0:
		return "a time of at least 0"
	case bits:
		return "a byte with three bits: 60 to 67"
	case m.Slot >= relay.MaxPlayers:
		return "a slot from 0 to 15"
	case !res.Exact() && m.Renamed:
		return "the new name after the mission"
	case !res.Exact():
		return "nothing after the mission"
	}
	return ""
}

func settings(t *T) {
	for _, h := range t.c.games(msg.OpSettings) {
		m, _ := read[*msg.Settings](h)
		odd := oddSettings(h.Body)
		t.expect(odd == "", odd, h)
		told, ok := t.r.game.Get("missionscript")
		t.expect(!ok || string(m.Mission) == told.Raw(), fmt.Sprintf("the mission that queries are told, %q", told.Raw()), h)
		t.show(h.frame)
	}
}

// plays reports whether the client has been given a slot.
func (c *client) plays() bool {
	return c.Slot >= 0 && c.Phase != relay.ClientGone && c.Phase != relay.ClientLeaving
}

// taken returns the slots of the suite's clients that have one.
func (t *T) taken() map[int]bool {
	m := map[int]bool{}
	for _, c := range t.r.clients {
		if c.plays() {
			m[c.Slot] = true
		}
	}
	return m
}

func lowestSlot(t *T) {
	n, _, err := t.counted()
	// The host may still wait for clients of the suite whose leaves were lost.
	for begun := t.now(); err == nil && n > len(t.taken()) && t.now().Sub(begun) < t.soon(); n, _, err = t.counted() {
		t.wait(shortWait)
	}
	must(n, err)
	own := len(t.taken())
	need(n >= own, "the host says %d players, but %d of the suite's clients are in the game: see Q-5", n, own)
	need(n <= own, "others are in the game: the host says %d players, %d of them are the suite's", n, own)
	want := 0
	for t.taken()[want] {
		want++
	}
	opened := len(t.opened)
	c := must(t.loaded())
	need(len(t.opened) == opened+1, "a client hung in its join before this one, and may still have its slot")
	t.expect(c.Slot == want || want == 0 && c.Slot == 1, fmt.Sprintf("slot %d, the lowest free one", want), c.games(msg.OpSettings)) // a host that also plays has slot 0
	slots := []int{c.Slot}
	for _, o := range t.p {
		slots = append(slots, o.Slot)
	}
	slices.Sort(slots)
	t.expect(len(slices.Compact(slots)) == len(t.p)+1, "a slot for each client", fmt.Sprintf("slots %v", slots))
}

func quietBeforeReady(t *T) {
	t.silence(both(t.chat(t.p[0], t.p...), t.acks(t.c)), func() {
		t.p[0].SendBody(t.now(), false, update(t.p[0]))
		t.again(shortWait)
	})
	early := t.c.games(msg.OpMissionInit, msg.OpPlayerAnnounce, msg.OpHostEvent, msg.OpStateUpdate)
	t.none("no MissionInit (35), PlayerAnnounce (17), HostEvent (06) and StateUpdate (1C) before ClientReady (2A)", t.c.games(msg.OpMissionInit, msg.OpPlayerAnnounce))
	t.enter(t.c)
	t.settle(t.p[0], t.p...)
	var ready messages
	for _, o := range append(t.p, t.c) {
		t.none("no CollisionSetting (16) and no ClientReady (2A) from the host", o.games(msg.OpCollisionSetting))
		ready = append(ready, o.games(msg.OpClientReady)...)
	}
	t.proveKnown(len(early) == 0, true, "no MissionInit (35), PlayerAnnounce (17), HostEvent (06) and StateUpdate (1C) before ClientReady (2A)", early)
	t.proveKnown(len(ready) == 0, len(t.c.games(msg.OpClientReady)) == 0, "no CollisionSetting (16) and no ClientReady (2A) from the host", ready)
}

func missionInit(t *T) {
	t.settle(t.p[0], append(t.p, t.c)...)
	list := t.c.games(msg.OpMissionInit)
	t.expect(len(list) == 1, "one MissionInit (35)", list)
	m, exact := read[*msg.MissionInit](list[0])
	t.expect(exact, "MissionInit (35) with 5 bytes, or with 9 if there is a time limit", list)
	t.none("MissionInit (35) only to the newcomer", gamesOf(t.p, msg.OpMissionInit))
	limit := func(n int) uint8 { // in the form of MissionInit. Queries get a negative number or 0 if there is no limit.
		if n <= 0 {
			return msg.Unlimited
		}
		return uint8(n)
	}
	if text, ok := t.r.game.Get("system"); ok {
		name := names.Systems.Name(uint64(m.System))
		t.expect(name == text.Raw() || !named(names.Systems, text.Raw()), fmt.Sprintf("the system that queries are told, %q", text.Raw()), list)
	}
	n, ok := number(&t.r.game, "timelimit")
	t.expect(!ok || m.TimeLimit == limit(n), fmt.Sprintf("the time limit that queries are told, %d: %02X", n, limit(n)), list)
	n, ok = number(&t.r.game, "fraglimit")
	t.expect(!ok || m.FragLimit == limit(n), fmt.Sprintf("the frag limit that queries are told, %d: %02X", n, limit(n)), list)
	t.show(list[0].frame)
}

// named reports whether one of the names is the text.
func named(e names.Enum, text string) bool {
	for _, name := range e.Values() {
		if name == text {
			return true
		}
	}
	return false
}

func scores(t *T) {
	t.settle(t.p[0], append(t.p, t.c)...)
	list, all := t.c.games(msg.OpScore, msg.OpScoreInit), t.c.games(msg.OpMissionInit, msg.OpScore, msg.OpScoreInit)
	times := map[int32]int{} // indexed by player
	for _, m := range list {
		var player int32
		res := m.decoded()
		switch m := res.Message.(type) {
		case *msg.Score:
			player = m.Player
		case *msg.ScoreInit:
			player = m.Player
		}
		t.expect(res.Exact(), "Score (37) with 17 bytes, ScoreInit (3F) with 18", m)
		times[player]++
		t.expect(times[player] <= 1, "each other player's score once", list)
		t.show(m.frame)
	}
	for _, o := range t.p {
		t.expect(times[int32(o.ID)] != 0, fmt.Sprintf("the score of peer %d", o.ID), list)
		t.none("scores only to the newcomer", o.games(msg.OpScore, msg.OpScoreInit))
	}
	t.expectKnown(times[int32(t.c.ID)] <= 0, true, "each other player's score once, and not the newcomer's", list)
	t.expectKnown(len(list) >= len(all) || all[0].is(msg.OpMissionInit), true, "scores after MissionInit (35)", all)
}

func announced(t *T) {
	t.settle(t.p[0], append(t.p, t.c)...)
	var present messages // names of those who were there, sent to the new client
	for _, o := range append(t.p, t.c) {
		list := o.games(msg.OpPlayerAnnounce)
		players := map[*message]uint8{}
		for _, m := range list {
			a, exact := read[*msg.PlayerAnnounce](m)
			t.expect(exact && a.Class == event.ClassPlayer && a.Code == event.CodeNewPlayerInGame && a.Source == 0, fmt.Sprintf("PlayerAnnounce (17): 1766080000F100800000000000, an object, and id %d", t.c.ID), list)
			players[m] = a.Player
		}
		if o == t.c {
			for _, other := range t.p {
				present = append(present, list.where(func(m *message) bool { return players[m] == other.ID })...)
			}
			list = list.where(func(m *message) bool { return !slices.Contains(present, m) })
		}
		t.expect(len(list) == 1 && players[list[0]] == t.c.ID, fmt.Sprintf("one PlayerAnnounce (17) with id %d at all clients", t.c.ID), o.games(msg.OpPlayerAnnounce))
		t.show(list[0].frame)
	}
	t.expectKnown(len(present) == 0, len(present) == len(t.p), "no PlayerAnnounce (17) for those who were there", present)
}

func orderOfJoin(t *T) {
	t.settle(t.p[0], append(t.p, t.c)...)
	rank, order := 0, map[decode.Opcode]int{
		msg.OpMissionInit: 1, msg.OpScore: 2, msg.OpScoreInit: 2, msg.OpTeamScore: 2,
		msg.OpObjectCreate: 3, msg.OpObjectCreateTeam: 3, msg.OpExplosion: 3, msg.OpPlayerAnnounce: 4,
	}
	list := t.c.games(slices.Collect(maps.Keys(order))...)
	early := false // something came before MissionInit
	for i, m := range list {
		if m.is(msg.OpMissionInit) {
			early = early || i > 0
			continue
		}
		next := order[m.opcode()]
		t.expect(next >= rank, "MissionInit (35), scores, objects, then PlayerAnnounce (17)", list)
		rank = next
	}
	need(len(list) > 0, "nothing of a join came")
	t.expectKnown(!early, list[len(list)-1].is(msg.OpPlayerAnnounce), "MissionInit (35), scores, objects, then PlayerAnnounce (17)", list)
}

// creations returns the creations of an object that a client has received.
func (c *client) creations(id wire.ObjectID) messages {
	return c.games(msg.OpObjectCreateTeam, msg.OpObjectCreate).where(func(m *message) bool {
		switch m := m.decoded().Message.(type) {
		case *msg.ObjectCreate:
			return m.ID == id
		case *msg.ObjectCreateTeam:
			return m.ID == id
		}
		return false
	})
}

func shipsForNewcomer(t *T) {
	c := must(t.joined())
	t.settle(t.p[0], append(t.p, c)...)
	for _, o := range t.p {
		list := c.creations(o.base())
		t.expect(len(list) == 1, fmt.Sprintf("one creation of the ship %08X", uint32(o.base())), c.games(msg.OpObjectCreateTeam))
		m, _ := read[*msg.ObjectCreateTeam](list[0])
		t.expect(m != nil && int(m.Slot) == o.Slot && m.Player == o.ID && list[0].Reliable, fmt.Sprintf("slot %d and player %d, reliably", o.Slot, o.ID), list)
		t.show(list[0].frame)
	}
	byFrame := map[int]int{} // in the order of arrival: messages that the client holds back are delivered later, and together
	for _, h := range c.in {
		if h.Fragment || h.again || !h.is(msg.OpObjectCreate, msg.OpObjectCreateTeam, msg.OpExplosion) { // T-21 tests retransmissions
			continue
		}
		if byFrame[h.frame]++; byFrame[h.frame] > 1 { // no proof, since the network may have lost the first copies of both
			t.fails(true, "at most one of ObjectCreate (02), ObjectCreateTeam (03) and Explosion (29) in a datagram", h)
		}
	}
}

func namesOfOthers(t *T) {
	t.c.Name = ""
	t.c.connect()
	knows := func(o *client) bool {
		return slices.ContainsFunc(t.c.about(transport.NameChange, o.ID), func(m *message) bool { return m.named() == o.name })
	}
	all := t.until(t.soon(), func() bool { return every(t.p, knows) })
	foreign := len(t.c.about(transport.NameChange, t.c.ID)) < len(t.c.controls(transport.NameChange))
	t.expectKnown(all, !foreign, "the names of all others", t.c.controls(transport.NameChange))
	for _, h := range t.c.controls(transport.NameChange) {
		t.show(h.frame)
	}
}

func nameToAll(t *T) {
	own := t.c.sent(transport.NameChange)
	need(own != nil, "the client did not come to its name")
	told := func(o *client) bool { return len(o.toldName(own)) > 0 }
	all := append(t.p, t.c)
	t.until(t.soon(), func() bool { return every(all, told) })
	for _, o := range all {
		if !told(o) {
			alone := told(t.c) && every(t.p, func(o *client) bool {
				return !slices.ContainsFunc(o.controls(transport.NameChange), func(m *message) bool { return m.named() == t.c.name })
			})
			t.fails(alone, fmt.Sprintf("the NameChange %X at every client", own.Body), o.controls(transport.NameChange))
		}
	}
}

func nameTaken(t *T) {
	c := must(t.loadedAs(strings.ToLower(t.p[0].name)))
	list := c.games(msg.OpSettings)
	need(len(list) > 0, "no settings came")
	m := c.renamed()
	t.expectKnown(m != nil && len(m.NewName) > 0, m == nil && oddSettings(list[0].Body) == "", "Settings (00) with a new name", list)
	for _, o := range t.p {
		t.expect(!strings.EqualFold(wire.WideText(m.NewName).Raw(), o.name), "a name that no player has", list)
	}
	t.show(list[0].frame)
}

// refused waits for the reaction to an answer that should be refused.
func (t *T) refused(c *client, op decode.Opcode, expected, text, any string) {
	t.until(t.soon(), func() bool { return len(c.games(op)) > 0 || len(c.Asked) > 0 || c.Phase == relay.ClientGone })
	need(len(c.Asked) == 0, "the host accepts any %s: one without the game's files may", any)
	list := c.games(op)
	if len(list) == 0 {
		need(t.passes(0, 1).answer(), "the host does not accept the clients' own answer of round 0: list its hashes with --checksums, or let it accept any")
		t.misses(expected, c.all())
	}
	res, told := list[0].decoded(), ""
	switch m := res.Message.(type) {
	case *msg.ChecksumFailed:
		told = string(m.Text)
	case *msg.VersionDifferent:
		told = string(m.Text)
	}
	t.expect(res.Exact() && strings.HasSuffix(told, text), expected, list) // it may also name the folder
	t.wait(betweenAll)
	t.expect(len(c.Asked) == 0, "no further round", c.games(msg.OpChecksumRequest))
	t.show(list[0].frame)
}

func otherVersion(t *T) {
	m := *t.answer(0)
	m.VersionHash = 0
	t.c.answers(encode(msg.OpChecksumResponse, &m))
	t.refused(t.c, msg.OpVersionDifferent, "VersionDifferent (23) with the version of the host", "", "version")
}

func otherFile(t *T) {
	m := *t.answer(0)
	need(len(m.Tree.Files) > 0, "the clients claim to have no file of round 0")
	m.Tree.Files = slices.Clone(m.Tree.Files)
	m.Tree.Files[0].Content ^= 1
	t.c.answers(encode(msg.OpChecksumResponse, &m))
	t.refused(t.c, msg.OpChecksumFailed, "ChecksumFailed (22) with App.pyc", "App.pyc", "file")
}

func missingFile(t *T) {
	c := t.c
	whole := t.answer(3)
	need(len(whole.Tree.Files) > 0, "the clients claim to have no file of round 3")
	more := *whole
	more.Tree.Files = append(slices.Clone(whole.Tree.Files), msg.ChecksumFile{Name: names.Hash("conform.pyc"), Content: 1})
	c.answers(encode(msg.OpChecksumResponse, &more))
	if !t.asked(c, msg.LastRound) {
		t.check(t.passes(3, msg.LastRound))
		t.misses("round 255 after an answer with one file more", c.all())
	}
	t.leaves(c) // hosts let few clients of an address join at a time, and the control needs to join
	c = must(t.atRound(3))
	less := *whole
	less.Tree.Files = whole.Tree.Files[:len(whole.Tree.Files)-1]
	c.answers(encode(msg.OpChecksumResponse, &less))
	if !t.asked(c, msg.LastRound) {
		t.check(t.passes(3, msg.LastRound))
		t.misses("round 255 after an answer with one file less", c.all())
	}
}

// boots returns the BootPlayer messages that came.
func (c *client) boots() messages {
	return c.in.where(func(m *message) bool { return m.Type == transport.BootPlayer && len(m.Body) == 2 })
}

func password(t *T) {
	text, ok := t.r.game.Get("password")
	need(t.r.o.Password != "" && (!ok || text != "0"), "needs a host with a password, and --password")
	c := must(t.stranger())
	for range 3 {
		c.connects(t.r.nonce(), t.r.o.Password+"?")
		if t.until(t.soon()/2, func() bool { return len(c.in) > 0 }) {
			break
		}
	}
	boots := c.boots()
	need(len(c.in) > 0 || t.r.connected || t.r.denied < mostTurned, "no client could connect: %s", t.r.why)
	t.expect(len(boots) > 0 && boots[0].boots(transport.BootPassword, transport.UnassignedPeer) && len(c.accepts()) == 0, "BootPlayer with the reason wrong password (2) and id FF, 04 07 C0 00 00 02 FF", c.all())
	t.show(boots[0].frame)
	o := must(t.stranger())
	o.Password = swapCase(t.r.o.Password)
	o.connect()
	t.expect(t.until(t.soon(), func() bool { return o.ID != 0 }), "the password to be accepted in any case of its letters", o.all())
}

func swapCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

func fullHost(t *T) {
	n, reply, err := t.counted()
	must(n, err)
	limit, ok := number(reply, "maxplayers")
	need(ok && limit <= relay.MaxPlayers, "the host does not tell how many can play")
	for i := n; i < limit; i++ {
		c, err := t.joined()
		if err != nil && c != nil && len(c.accepts()) > 0 && len(c.boots()) > 0 {
			break // a player of the host also counts for the limit
		}
		must(c, err)
	}
	c := must(t.stranger())
	c.connect()
	t.answered(func() bool { return len(c.in) > 0 })
	t.until(t.soon()/2, func() bool { return len(c.boots()) > 0 && len(c.accepts()) > 0 })
	boots, accepts := c.boots(), c.accepts()
	unreliably := slices.ContainsFunc(c.in, func(m *message) bool {
		return m.Type == transport.Standard && !m.Reliable && bytes.Equal(m.Body, unhex("0402"))
	})
	t.expectKnown(len(accepts) > 0, unreliably && len(boots) == 0, "an accept, then BootPlayer with the reason too many players (3) and the id", c.all())
	id := accepts[0].about()
	t.expect(len(boots) > 0 || len(c.Asked) == 0, fmt.Sprintf("no more clients than %d, the host's maxplayers: BootPlayer with the reason too many players (3)", limit), c.all())
	t.expect(len(boots) > 0 && boots[0].boots(transport.BootFull, id) && boots[0].HasSeq, fmt.Sprintf("BootPlayer with the reason too many players (3) and id %d, reliably", id), c.all())
	t.wait(betweenAll)
	games := c.in.where(func(m *message) bool { return m.Type == transport.Standard })
	t.none("no request of hashes", games[:min(1, len(games))])
	t.show(accepts[0].frame, boots[0].frame)
}

func amplification(t *T) {
	from := t.r.rec.next()
	t.c.connects(t.r.nonce(), t.r.o.Password)
	t.wait(4 * time.Second)
	in, out, request := 0, 0, 0
	for i := len(t.r.rec.frames) - 1; i >= 0 && t.r.rec.frames[i].Number >= from; i-- {
		switch f := &t.r.rec.frames[i]; {
		case f.From == t.c.local:
			in += len(f.Datagram)
		case f.To == t.c.local:
			out += len(f.Datagram)
		}
	}
	for _, m := range t.c.in {
		if m.Type == transport.Standard && !m.again {
			request += m.Len
		}
	}
	t.expect(out <= 3*in+request, fmt.Sprintf("at most %d bytes for %d", 3*in+request, in), fmt.Sprintf("%d bytes", out))
}
