package suite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A sample is a message whose spec tells whether the host passes it on. Its
// bodies are as the game writes them, with objects of slot 0.
type sample struct {
	op     decode.Opcode
	grade  Grade
	bodies []string
	ship   string // creation of the sender's ship, or empty to use a player who stays
}

var samples = []sample{
	{msg.OpStartFiring, OnWire, []string{"0728810000d800800000000000050000400000000000000000"}, ""},
	{msg.OpStopFiring, OnWire, []string{"0801010000da0080000000000005000040"}, ""},
	{msg.OpStopFiringAtTarget, FromCode, []string{"090c010000dc0080000000000005000040ffff0340"}, ""},
	{msg.OpSubsystemStatus, OnWire, []string{"0a04010000dd008000000000000500004001"}, ""},
	{msg.OpAddToRepairList, FromCode, []string{"0b01010000df008000020000400c000040"}, ""},
	{msg.OpClientEvent, FromCode, []string{"0c01010000da0080000000000005000040"}, ""},
	{msg.OpStartCloaking, FromCode, []string{"0e01010000e2008000000000000d000040"}, birdOfPrey}, // hosts may know that an Akira cannot cloak
	{msg.OpStopCloaking, FromCode, []string{"0f01010000e4008000000000000d000040"}, birdOfPrey},
	{msg.OpStartWarp, OnWire, []string{"102a810000ec008000000000000600004006" + "4d756c746931" + "00000000000000000000000000000000"}, ""},
	{msg.OpRepairListPriority, OnWire, []string{"110c010000760080000000000018000040" + "02000040"}, ""},
	{msg.OpSetPhaserLevel, OnWire, []string{"1205010000e0008000000000000500004002"}, ""},
	{msg.OpTorpedoFire, OnWire, []string{"190d0000400201df8711ffff03400088d85c", "190d0000400205df8711"}, ""},
	{msg.OpPulseFire, OnWire, []string{"1a770000400275" + "0ed20368000840", "1a2600004002acb73c01"}, ""},
	{msg.OpTorpedoTypeChange, OnWire, []string{"1b05010000fe008000080000400800004001"}, ""},
	{msg.OpChangedTarget, OnWire, []string{"0d0c01000058008000000000" + "00ffffff3fffff0340"}, ""},
	{msg.OpSelfDestructRequest, OnWire, []string{"13"}, akira}, // later cases need the ships of players who stay
	{msg.OpCollisionEffect, OnWire, []string{"15248100005000800000000000ffffff3f010d7e00d9bb20a044"}, ""},
	{msg.OpClientReady, OnWire, []string{"2a20"}, ""},
	{msg.OpHostEvent, FromCode, []string{"0601010000df0080000200004018000040"}, ""},
	{msg.OpDestroyObject, FromCode, []string{"1464000040"}, ""},
	{msg.OpPlayerAnnounce, FromCode, []string{"1766080000f1008000000000004f06000002"}, ""},
	{msg.OpPlayerDeleted, FromCode, []string{"180400000043616479"}, ""},
	{msg.OpExplosion, FromCode, []string{explosion}, ""},
}

// forwarded reports whether the stock host passes the message on.
func (s *sample) forwarded() bool { return catalog().Lookup(s.op).Relay == decode.RelayForward }

// toCase returns the case about the message: R if the host passes it on, and N
// otherwise.
func (s *sample) toCase() Case {
	spec, code, name := catalog().Lookup(s.op), fmt.Sprintf("%02X", uint8(s.op)), called(s.op)
	c := Case{
		ID: "N-" + code, Title: name + " not passed on", Rule: name + " from a client is not passed on.",
		Source: "bcdissect help protocol, Copies", Grade: s.grade, players: 3, run: func(t *T) { notPassedOn(t, s.op, s.bodies[0]) },
	}
	switch {
	case s.forwarded():
		c.ID, c.Title = "R-"+code, name+" forwarded"
		c.Rule = name + " goes unchanged and reliably to every other client in the game, in order, and not to its sender."
		c.compare, c.run = code, func(t *T) { forwarded(t, s.op, s.bodies) }
	case spec.Dir == decode.FromClient: // a capture can show that it is consumed, since hosts send no such messages
		c.watch = func() watcher { return watchNever(s.op) }
	case spec.Need == decode.NeedAll:
		c.Profiles = likeStock
	}
	if s.ship != "" {
		c.client = flying(s.ship)
	}
	return c
}

func gameCases() []Case {
	list := []Case{
		{ID: "O-1", players: 2, run: creationCopied, compare: "creation-copies"},
		{ID: "O-2", players: 2, client: (*T).joined, run: entryVerified, compare: "1D"},
		{ID: "O-3", players: 3, run: objectRequested},
		{ID: "O-4", players: 2, run: unknownRequested},
		{ID: "O-5", players: 2, client: (*T).respawned, run: olderRequested},
		{ID: "O-6", watch: watchMade},
		{ID: "D-4", players: 2, client: (*T).respawned, run: nextShip},
		{ID: "D-8", watch: always(told(seeHostEvent))},
	}
	for i := range samples {
		list = append(list, samples[i].toCase())
	}
	return append(list,
		Case{ID: "R-2C", players: 3, run: chatToAll, compare: "2C"},
		Case{ID: "R-2D", needs: (*T).teams, players: 3, run: teamChat, compare: "2D"},
		Case{ID: "R-41", needs: (*T).teams, players: 3, run: teamChoice, compare: "41"},
		Case{ID: "R-A1", players: 2, client: (*T).loaded, run: onlyInGame},
		Case{ID: "R-A2", run: orderUnderLoss},
		Case{ID: "R-A3", watch: watchUnborn},
	)
}

func forwarded(t *T, op decode.Opcode, texts []string) {
	p := t.p
	if t.c != nil {
		p = append([]*client{t.c}, p...)
	}
	var bodies [][]byte
	for _, text := range texts {
		b := p[0].adapt(text)
		bodies = append(bodies, b)
		p[0].say(b)
	}
	t.settle(p[0], p...)
	for _, b := range bodies {
		t.once(p[0], b, p)
	}
	t.expect(p[0].count(bodies[0]) == 0, fmt.Sprintf("no %s back to its sender", called(op)), p[0].games(op))
	for _, o := range p[1:] {
		at := -1
		for _, b := range bodies {
			list := o.copies(b)
			if len(list) == 0 || len(list) > 1 && catalog().Lookup(op).Made != decode.MadeByStock {
				dropped := len(bodies) > 1 && bytes.Equal(b, bodies[1]) && every(p[1:], func(o *client) bool { return o.count(b) == 0 })
				t.fails(dropped, fmt.Sprintf("one copy of %X at %s", b, o.name), o.strange(op))
			}
			t.expect(list[0].Reliable, "a reliable copy", list)
			i := slices.IndexFunc(o.delivered, func(m *message) bool { return bytes.Equal(m.Body, b) })
			t.expect(i >= at, "the copies in order", o.games(op))
			at = i
			t.show(list[0].frame)
		}
	}
}

// strange returns the messages of an opcode, or if there are none, all messages
// other than chat.
func (c *client) strange(op decode.Opcode) messages {
	if list := c.games(op); len(list) > 0 {
		return list
	}
	return c.delivered.where(func(m *message) bool { return m.game() && !m.is(msg.OpChat) })
}

func notPassedOn(t *T, op decode.Opcode, text string) {
	c := t.p[0]
	if t.c != nil {
		c = t.c
	}
	body := c.adapt(text)
	t.silence(t.chat(c, t.p...), func() { c.say(body) })
	t.once(c, body, t.p)
	var found messages
	plain := true // only copies came
	for _, o := range t.p {
		list := o.copies(body)
		copies := len(list)
		if catalog().Lookup(op).Dir == decode.FromClient {
			list = o.games(op)
		}
		plain = plain && len(list) == copies && copies <= 1
		found = append(found, list...)
	}
	t.proveKnown(len(found) == 0, plain, fmt.Sprintf("%s at no client", called(op)), found)
}

func chatToAll(t *T) {
	const words = 20 // words of a long line that still fits into one message
	texts := []string{"hello", strings.Repeat("hello ", words)}
	lines := [][]byte{t.p[0].chat(texts[0]), t.p[0].chat(texts[1])}
	for _, body := range lines {
		t.p[0].say(body)
	}
	t.settle(t.p[0], t.p...)
	for _, body := range lines {
		t.once(t.p[0], body, t.p)
	}
	passed := func(o *client, line []byte) bool {
		list := o.copies(line)
		return len(list) == 1 && list[0].Reliable
	}
	changed := every(t.p, func(o *client) bool {
		return passed(o, t.p[0].authored(texts[0])) && passed(o, t.p[0].authored(texts[1]))
	})
	for _, o := range t.p {
		for _, body := range lines {
			t.expectKnown(passed(o, body), changed, fmt.Sprintf("one reliable copy of %X at %s", body, o.name), o.games(msg.OpChat))
			t.show(o.copies(body)[0].frame)
		}
	}
}

// authored returns a line of chat with the client's slot as author, as OpenBC
// passes it on.
func (c *client) authored(text string) []byte {
	return encode(msg.OpChat, &msg.Chat{Sender: int32(c.Slot), Text: wire.Chars(text)})
}

// teams returns an error unless the host's mission has teams.
func (t *T) teams() error {
	mission, ok := t.r.game.Get("missionscript")
	if t.r.o.Profile != Playable && ok && strings.HasSuffix(mission.Raw(), "Mission1") {
		return skip("needs a mission with teams, such as Mission2")
	}
	return nil
}

// team returns a message that chooses a team.
func (c *client) team(n uint8) []byte {
	return encode(msg.OpTeam, &msg.Team{Player: int32(c.ID), Team: n})
}

func teamChat(t *T) {
	p := t.p
	need(len(p) >= 3, "needs three clients")
	for i, o := range p {
		o.say(o.team(uint8(i / 2)))
	}
	for _, o := range p {
		t.settle(o, p...)
	}
	line := func(sender int) []byte {
		return encode(msg.OpTeamChat, &msg.TeamChat{Chat: msg.Chat{Sender: int32(sender), Text: wire.Chars("team")}})
	}
	body, bySlot := line(int(p[0].ID)), line(p[0].Slot)
	p[0].say(body)
	t.settle(p[0], p...)
	t.once(p[0], body, p)
	toAll := every(p, func(o *client) bool {
		return len(o.games(msg.OpTeamChat)) == 1 && o.count(body)+o.count(bySlot) > 0
	})
	for i, o := range p {
		want := 1
		if i == 2 {
			want = 0
		}
		t.expectKnown(o.count(body) == want, toAll, fmt.Sprintf("%d copies of %X at %s", want, body, o.name), o.games(msg.OpTeamChat))
	}
}

func teamChoice(t *T) {
	body := t.p[0].team(0)
	t.p[0].say(body)
	t.settle(t.p[0], t.p...)
	t.once(t.p[0], body, t.p)
	if o := without(t.p, body); o != nil {
		notEchoed := t.p[0].count(body) == 0 && without(t.p[1:], body) == nil
		t.fails(notEchoed, fmt.Sprintf("one copy of %X at %s", body, o.name), o.games(msg.OpTeam))
	}
}

func creationCopied(t *T) {
	loading := must(t.loaded())
	c := must(t.joined())
	t.settle(c, t.p...)
	body := c.ship(akira, c.base())
	c.creates(akira)
	others := append(slices.Clone(t.p), loading)
	t.until(t.soon(), func() bool { return every(others, func(o *client) bool { return o.count(body) > 0 }) })
	t.settle(c, append(t.p, c)...)
	t.once(c, body, others)
	t.none("no copy back to the sender", c.copies(body))
	for _, o := range others {
		list := o.copies(body)
		if len(list) != 1 {
			who := o.name
			if o == loading { // the last of the clients
				who += ", which has not said ClientReady (2A)"
			}
			t.fails(o == loading && len(o.creations(c.base())) == 0, "one unchanged copy at "+who, o.games(msg.OpObjectCreateTeam))
		}
		t.show(list[0].frame)
	}
}

func entryVerified(t *T) {
	t.c.creates(akira)
	t.settle(t.c, append(t.p, t.c)...)
	want := encode(msg.OpVerifyEnterSet, &msg.VerifyEnterSet{Object: t.c.base()})
	none := len(gamesOf(append(t.p, t.c), msg.OpVerifyEnterSet)) == 0
	for _, o := range append(t.p, t.c) {
		t.expectKnown(o.count(want) == 1, none, fmt.Sprintf("one copy of %X at %s", want, o.name), o.strange(msg.OpVerifyEnterSet))
		t.show(o.copies(want)[0].frame)
	}
}

// asks makes a client request an object.
func (c *client) asks(id wire.ObjectID) {
	c.say(encode(msg.OpRequestObject, &msg.RequestObject{Object: id}))
}

func objectRequested(t *T) {
	id := t.p[0].base()
	t.p[1].asks(id)
	t.settle(t.p[1], t.p...)
	list := t.p[1].creations(id)
	t.expect(len(list) == 1, fmt.Sprintf("one creation of %08X", uint32(id)), t.p[1].strange(msg.OpObjectCreateTeam))
	t.none("an answer only to the asker", gamesOf(slices.Concat(t.p[:1], t.p[2:]), msg.OpObjectCreate, msg.OpObjectCreateTeam))
}

func unknownRequested(t *T) {
	const unknown = 0x3FEEEEEE
	t.silence(t.chat(t.p[1], t.p...), func() { t.p[1].asks(unknown) })
	list := t.p[1].games(msg.OpObjectCreate, msg.OpObjectCreateTeam, msg.OpVerifyEnterSet, msg.OpDestroyObject)
	answer := t.p[1].count(encode(msg.OpVerifyEnterSet, &msg.VerifyEnterSet{Object: unknown}))
	t.proveKnown(len(list) == 0, answer == len(list), "silence", list)
}

// second returns the id of the client's second ship, which comes after the ids
// of all parts of the first one.
func (c *client) second() wire.ObjectID {
	const parts = 34
	return c.base() + parts
}

// respawned returns a client with its second ship.
func (t *T) respawned() (*client, error) {
	c, err := flying(akira)(t)
	if err == nil {
		c.say(c.ship(akira, c.second()))
		t.settle(c, t.p...)
	}
	return c, err
}

func olderRequested(t *T) {
	first, second := t.c.base(), t.c.second()
	t.p[0].forget()
	t.p[0].asks(first)
	t.settle(t.p[0], t.p...)
	list := t.p[0].creations(second)
	t.proveKnown(len(list) == 0, true, fmt.Sprintf("%08X or silence", uint32(first)), list)
}

func nextShip(t *T) {
	body := t.c.ship(akira, t.c.second())
	if o := without(t.p, body); o != nil {
		t.fails(false, fmt.Sprintf("one unchanged creation of %08X at %s", uint32(t.c.second()), o.name), o.games(msg.OpObjectCreateTeam))
	}
}

func onlyInGame(t *T) {
	t.silence(both(t.chat(t.p[0], t.p...), t.acks(t.c)), func() {
		for _, s := range samples {
			if s.op == msg.OpStartFiring || s.op == msg.OpTorpedoFire {
				t.p[0].say(t.p[0].adapt(s.bodies[0]))
			}
		}
		t.again(betweenAll)
	})
	early := t.c.delivered.where(func(m *message) bool {
		return m.is(msg.OpChat, msg.OpScoreChange) ||
			m.game() && m.opcode() >= msg.OpHostEvent && m.opcode() <= msg.OpStateUpdate && !m.is(msg.OpCollisionSetting)
	})
	t.proveKnown(len(early) == 0, true, "only creations before ClientReady (2A)", early[:min(1, len(early))])
}

func orderUnderLoss(t *T) {
	const most, lossPerMille = 200, 50
	p := must(t.players(2, most+10))
	lines := most
	if !t.r.counts { // T-10 tests numbers beyond 255. New clients are sent the scores of all who have left, which use many numbers.
		lines = min(most, mostNumbers-max(p[0].numbers(), p[1].numbers()))
	}
	p[1].loss = lossPerMille
	var want []string
	for i := range lines {
		text := fmt.Sprintf("loss %d", i)
		want = append(want, text)
		p[0].say(p[0].chat(text))
		t.wait(25e6)
	}
	t.until(60e9, func() bool { return len(p[1].linesOf("loss")) >= lines })
	got := p[1].linesOf("loss")
	t.expect(slices.Equal(got, want), fmt.Sprintf("%d lines, each once and in order", lines), fmt.Sprintf("%d lines, the first that differs is %d", len(got), firstDifference(got, want)))
}

func firstDifference(a, b []string) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}
