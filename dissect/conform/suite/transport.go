package suite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func transportCases() []Case {
	return []Case{
		{ID: "T-1", client: (*T).stranger, run: connectAccepted},
		{ID: "T-2", client: (*T).connected, run: connectAcked},
		{ID: "T-3", client: (*T).loaded, run: nameEchoed},
		{ID: "T-4", needs: (*T).counts, client: (*T).stranger, run: repeatedConnect},
		{ID: "T-5", players: 2, client: (*T).joined, run: newSession},
		{ID: "T-6", players: 2, run: duplicateMessage},
		{ID: "T-7", players: 2, run: outOfOrder},
		{ID: "T-8", players: 2, run: gapHolds},
		{ID: "T-9", watch: watchSpaces},
		{ID: "T-10", players: 2, run: beyond255, watch: watchBeyond255},
		{ID: "T-11", client: atRound(2), run: fragmentsAcked},
		{ID: "T-12", client: atRound(2), run: fragmentsReversed},
		{ID: "T-13", client: (*T).connected, run: retransmissionTimes},
		{ID: "T-14", client: (*T).stranger, run: acceptRepeated},
		{ID: "T-15", client: (*T).stranger, run: ackEndsRepetition},
		{ID: "T-16", client: (*T).stranger, run: wrongClass},
		{ID: "T-17", run: keepalive},
		{ID: "T-18", players: 2, run: ackRepeated},
		{ID: "T-19", players: 2, client: (*T).joined, run: silentClient},
		{ID: "T-20", watch: always(seeSize)},
		{ID: "T-21", players: 2, client: (*T).joined, run: oneRepetition},
		{ID: "T-22", watch: watchBundling},
		{ID: "T-23", players: 2, run: unknownType},
		{ID: "T-24", players: 3, run: unknownOpcode},
		{ID: "T-25", client: (*T).joined, run: withoutID},
		{ID: "T-26", players: 2, run: outsideWindow},
		{ID: "T-27", watch: always(seePeer)},
		{ID: "T-28", client: (*T).joined, run: idsNotReused},
		{ID: "T-29", players: 2, client: (*T).joined, run: longMessage},
		{ID: "T-30", final: numbersOnce},
		{ID: "T-31", players: relay.MaxPlayers, run: beyond65535},
	}
}

// connects sends one connect of a client that sends nothing automatically.
func (c *client) connects(nonce uint32, password string) {
	req := transport.Request{Addr: c.Claimed, Nonce: nonce, Password: wire.AppendWideTextOf(nil, password)}
	c.raw(c.now(), datagram(transport.UnassignedPeer, control(transport.Connect, 0, controlBody(&req))))
}

// admitted sends connects of a client that sends nothing automatically until
// one is accepted, since some hosts make an address wait for two seconds after
// a leave.
func (t *T) admitted(c *client, nonce uint32) bool {
	for range 3 {
		c.connects(nonce, t.r.o.Password)
		if t.until(max(t.soon()/2, time.Second), func() bool { return len(c.accepts()) > 0 }) {
			return true
		}
	}
	return false
}

// accepts returns the accepts that came.
func (c *client) accepts() messages {
	return c.in.where(func(m *message) bool { return m.Type == transport.Connect && len(m.Body) == 1 })
}

// goodbye makes a client leave that sends nothing automatically.
func (c *client) goodbye(id uint8, seq uint16) {
	for range 3 {
		c.raw(c.now(), datagram(id, control(transport.Disconnect, seq, controlBody(&transport.Goodbye{ID: id, Addr: c.Claimed}))))
		if c.t.until(betweenAll, func() bool { return c.acked(true, seq) }) {
			return
		}
	}
}

func connectAccepted(t *T) {
	t.c.connect()
	t.expect(t.until(t.soon(), func() bool { return len(t.c.accepts()) > 0 }), "an accept: 03 06 C0 00 00 ID", t.c.all())
	a := t.c.accepts()[0]
	id := a.about()
	t.expect(a.Seq == 0 && a.HasSeq && !a.Short && a.Priority, "the accept as control message 0: 03 06 C0 00 00 ID", a)
	t.expect(id >= 2 && id <= 126 && id != 92, "an id from 2 to 126, but not 92", a)
	t.show(a.frame)
}

// all returns the received messages except acknowledgements.
func (c *client) all() messages {
	return c.in.where(func(m *message) bool { return m.Type != transport.Acknowledge })
}

func connectAcked(t *T) {
	none := func() bool { return len(t.c.acksOf(true, 0))+len(t.c.acksOf(false, 0)) == 0 }
	t.expectKnown(t.until(t.soon(), func() bool { return t.c.acked(true, 0) }), none(), "an acknowledgement of control message 0: 01 00 00 02", t.c.all())
	t.show(t.c.acksOf(true, 0)[0].frame)
}

// toldName returns the delivered NameChanges of another client. A host such as
// relay may hide the address in them, to protect players.
func (c *client) toldName(naming *message) messages {
	hidden := []byte(nil)
	if who, _ := read[*transport.Identity](naming); who != nil {
		hidden = controlBody(&transport.Identity{ID: who.ID, Name: who.Name})
	}
	return c.controls(transport.NameChange).where(func(m *message) bool { return bytes.Equal(m.Body, naming.Body) || bytes.Equal(m.Body, hidden) })
}

func nameEchoed(t *T) {
	var naming *message
	t.until(t.soon(), func() bool {
		naming = t.c.sent(transport.NameChange)
		return naming != nil && t.c.acked(true, naming.Seq) && len(t.c.toldName(naming)) > 0
	})
	need(naming != nil, "the client did not come to its name")
	t.expect(t.c.acked(true, naming.Seq), fmt.Sprintf("an acknowledgement of control message %d: 01 %02X 00 02", naming.Seq, naming.Seq), t.c.all())
	t.expect(len(t.c.toldName(naming)) > 0, fmt.Sprintf("the same NameChange back: %X", naming.Body), t.c.controls(transport.NameChange))
}

func repeatedConnect(t *T) {
	c, nonce := t.c, t.r.nonce()
	need(t.admitted(c, nonce), "no accept came")
	const copies = 4
	for range copies {
		c.connects(nonce, t.r.o.Password)
		t.wait(200 * time.Millisecond)
	}
	t.until(t.soon()/2, func() bool { return len(c.accepts()) > 1 })
	list := c.accepts()
	id := list[0].about()
	other := list.where(func(m *message) bool { return m.about() != id })
	t.expect(len(other) == 0, fmt.Sprintf("the same id %d for every copy", id), list[0], other[:min(1, len(other))])
	fresh := len(list.where(func(m *message) bool { return !m.again }))
	c.raw(c.now(), datagram(id, ack(0, 2)))
	c.raw(c.now(), datagram(id, ack(0, 2)))
	t.wait(100 * time.Millisecond)
	after, reply, err := t.counted()
	must(after, err)
	t.expect(after == t.before+1 && fresh == 1, fmt.Sprintf("one player more, %d", t.before+1), said(reply))
	t.expectKnown(len(list) >= 2, true, "the accept again for a repeated connect", list[0])
}

// reborn begins a new session of the client on the same socket, as when a game
// is restarted.
func (c *client) reborn() {
	old := c.Client
	cfg := old.ClientConfig
	cfg.Nonce = c.t.r.nonce()
	cfg.Deliver = c.deliver
	c.Client = relay.NewClient(cfg)
	c.known, c.signs = map[uint32]bool{}, newSigns()
	c.firsts = nil // messages of the session before may be under way
	c.forget()
	c.connect()
}

func newSession(t *T) {
	t.settle(t.c, t.p...)
	old := t.c.ID
	gone := func(o *client) bool {
		return len(slices.Concat(o.about(transport.BootPlayer, old), o.about(transport.Disconnect, old))) > 0
	}
	named := func(o *client) bool { return len(o.games(msg.OpPlayerDeleted)) > 0 }
	t.c.reborn()
	ignored := func() bool { return !gone(t.p[0]) && !named(t.p[0]) } // the old session goes on
	t.expectKnown(t.until(t.soon(), func() bool { return t.c.ID != 0 }), ignored(), "an accept for the new connect", t.c.all())
	if t.c.ID == old {
		t.wait(betweenAll)
		t.fails(ignored(), fmt.Sprintf("another id than %d", old), t.c.all())
	}
	heard := func() bool { return gone(t.p[0]) || named(t.p[0]) }
	// A host may first make sure that the connect is not forged.
	t.expect(t.until(2*t.soon(), heard), fmt.Sprintf("the others to hear that peer %d is gone, by PlayerDeleted (18), BootPlayer or a disconnect", old), t.p[0].all())
}

// collected returns the datagrams that a client would send, instead of sending
// them.
func (c *client) collected(say func()) [][]byte {
	c.held = true
	say()
	c.pump(c.now())
	c.held = false
	q := c.queue
	c.queue = nil
	return q
}

// collectedLine returns the datagram with a line of chat, or nil if the client
// may not send now.
func (c *client) collectedLine(body []byte) []byte {
	q := c.collected(func() { c.say(body) })
	if len(q) == 0 {
		return nil
	}
	return q[len(q)-1]
}

func duplicateMessage(t *T) {
	body := t.p[0].chat("twice")
	t.rests(t.p[0], betweenAll)
	d := t.p[0].collectedLine(body)
	need(d != nil, "the client may not send now")
	t.p[0].repeats(d, 50*time.Millisecond)
	seq, _ := t.p[0].lastData()
	acks := func() int { return len(t.p[0].acksOf(false, seq)) }
	t.expect(t.until(t.soon(), func() bool { return acks() >= 2 }), fmt.Sprintf("message %d to be acknowledged at least twice", seq), fmt.Sprintf("%d acknowledgements", acks()))
	t.settle(t.p[0], t.p...)
	list := t.p[1].lines(body)
	t.prove(len(list) <= 1, "one copy of the line", list)
	t.expect(len(list) > 0, "one copy of the line", list)
}

// linesOf returns the texts of the chat lines that a client has received.
func (c *client) linesOf(prefix string) (list []string) {
	for _, m := range c.games(msg.OpChat) {
		if strings.HasPrefix(m.text, prefix) {
			list = append(list, m.text)
		}
	}
	return list
}

func outOfOrder(t *T) {
	var queue [][]byte
	want := []string{"order 1", "order 2", "order 3"}
	for _, text := range want {
		d := t.p[0].collectedLine(t.p[0].chat(text))
		need(d != nil, "the client may not send now")
		queue = append(queue, d)
	}
	for _, d := range slices.Backward(queue) {
		t.p[0].raw(t.now(), d)
		t.wait(50 * time.Millisecond)
	}
	t.until(t.soon(), func() bool { return len(t.p[1].linesOf("order")) >= len(want) })
	got := t.p[1].linesOf("order")
	t.prove(slices.IsSorted(got) && len(got) <= len(want), "the lines in the order 1, 2, 3", fmt.Sprintf("%q", got))
	t.expect(len(got) >= len(want), "the lines in the order 1, 2, 3", fmt.Sprintf("%q", got))
}

func gapHolds(t *T) {
	c := t.p[0]
	t.rests(c, betweenAll)
	blocked, gap := true, uint16(0)
	first := c.collectedLine(c.chat("gap 1"))
	need(first != nil, "the client may not send now")
	list, _ := split(first)
	for _, m := range list {
		if m.Type == transport.Standard {
			gap = m.Seq
		}
	}
	c.keep = func(m *transport.Message) bool {
		return !blocked || m.Type != transport.Standard || !m.HasSeq || m.Seq != gap
	}
	c.say(c.chat("gap 2"))
	const atOnce = time.Second // clients retransmit after that
	t.expect(t.until(atOnce+t.r.trip, func() bool { return c.acked(false, gap+1) }), fmt.Sprintf("an acknowledgement of message %d within a second, although %d is missing", gap+1, gap), c.all())
	t.wait(shortWait)
	got := t.p[1].linesOf("gap")
	t.prove(len(got) == 0, fmt.Sprintf("no line at the others as long as message %d is missing", gap), fmt.Sprintf("%q", got))
	blocked = false
	c.raw(t.now(), first)
	want := []string{"gap 1", "gap 2"}
	t.until(t.soon(), func() bool { return len(t.p[1].linesOf("gap")) >= len(want) })
	got = t.p[1].linesOf("gap")
	t.expect(slices.Equal(got, want), "both lines, in order, once the gap is filled", fmt.Sprintf("%q", got))
}

// A recital has the results for chat lines that one client sends and another
// receives.
type recital struct {
	said    int
	came    int  // number of lines that came, in any order and with any numbers
	sorted  bool // each came once and in the order of its number
	highest int  // highest number of the host's messages
	wrapped bool // the number after the highest possible one was 0
}

// recite makes players send lines in rounds, each lines per player and round.
// It ends when enough returns true, or when a round does not reach the last
// player, who only listens. Each player sends at most a hundred lines a second,
// since hosts may ignore more.
func (t *T) recite(each int, enough func(*recital) bool) *recital {
	r := &recital{sorted: true}
	const word, apart = "count ", 10 * time.Millisecond
	last, to := uint16(0), t.p[len(t.p)-1]
	speakers := t.p[:len(t.p)-1]
	perRound := each * len(speakers)
	for !enough(r) {
		for _, c := range t.r.clients {
			c.forget()
		}
		begun := t.now()
		said, ours := make([][]string, len(speakers)), map[string]bool{}
		for range each {
			for i, c := range speakers {
				said[i] = append(said[i], fmt.Sprintf("%s%d: %d", word, i, r.said))
				text := said[i][len(said[i])-1]
				c.say(c.chat(text))
				ours[text] = true
				r.said++
			}
		}
		came, seen := map[string]bool{}, 0 // lines of earlier rounds may come again
		t.until(t.soon(), func() bool {
			for _, m := range to.in[seen:] {
				if m.Type != transport.Standard || !m.HasSeq {
					continue
				}
				const high, low = 0xFF00, 0x100
				r.wrapped = r.wrapped || last >= high && m.Seq < low
				last, r.highest = m.Seq, max(r.highest, int(m.Seq))
				if text := gameMessage(m.Body).chatText(); ours[text] {
					came[text] = true
				}
			}
			seen = len(to.in)
			return len(came) >= perRound && (to.Link().Held == 0 || len(to.linesOf(word)) >= perRound)
		})
		r.came += len(came)
		for i := range speakers {
			r.sorted = r.sorted && slices.Equal(to.linesOf(fmt.Sprintf("%s%d:", word, i)), said[i])
		}
		if len(came) < perRound {
			return r
		}
		t.wait(time.Duration(each)*apart - t.now().Sub(begun))
	}
	return r
}

func (r *recital) String() string {
	return fmt.Sprintf("%d of %d lines came, the highest number is %d", r.came, r.said, r.highest)
}

// pass255 makes a player speak until the host has sent another one more than 255
// numbered messages.
func (t *T) pass255() *recital {
	const each, enough = 10, 300
	return t.recite(each, func(r *recital) bool { return r.said >= enough })
}

func beyond255(t *T) {
	const last = 255
	r := t.pass255()
	if t.r.counts = r.highest > last && r.sorted && r.came == r.said; t.r.counts {
		return
	}
	t.r.short = r.highest <= last
	t.dismiss() // a host that cannot count further may remove them
	t.prove(r.came < r.said || r.highest > last, "numbers beyond 255", r.String())
	t.fails(false, "every line once and in order, with numbers beyond 255", r.String())
}

func beyond65535(t *T) {
	const each, most = 50, 66_000
	r := t.recite(each, func(r *recital) bool { return r.wrapped || r.said >= most })
	if r.wrapped && r.sorted && r.came == r.said {
		return
	}
	t.dismiss()
	t.fails(false, "every line once and in order, with number 0 after 65,535", r.String())
}

// atRound returns a function that opens a client that is asked for the hashes
// of a round.
func atRound(round uint8) func(t *T) (*client, error) {
	return func(t *T) (*client, error) { return t.atRound(round) }
}

// atRound returns a client that is asked for the hashes of a round.
func (t *T) atRound(round uint8) (*client, error) {
	c, err := t.connected()
	if err != nil {
		return c, err
	}
	for _, r := range allRounds {
		if !t.until(t.soon(), func() bool { return len(c.Asked) > 0 || c.Phase == relay.ClientGone }) || len(c.Asked) == 0 {
			if t.r.barred && !t.r.entered {
				return c, t.noEntry()
			}
			return c, skip("the host did not ask for round %d: %s", r, t.progress(c))
		}
		if r == round {
			return c, nil
		}
		c.answers(t.answerBody(c.Asked[0]))
	}
	return c, nil
}

// answers sends the answer to the current round.
func (c *client) answers(body []byte) {
	c.Asked = c.Asked[1:]
	c.say(body)
}

// asked waits until the host asks for a round.
func (t *T) asked(c *client, round uint8) bool {
	return t.until(t.soon(), func() bool { return slices.Contains(c.Asked, round) }) && c.Asked[0] == round
}

func fragmentsAcked(t *T) {
	t.c.answers(t.answerBody(2))
	pieces := 0
	var missing []string
	if t.until(t.soon(), func() bool {
		for _, m := range t.c.out {
			if m.Type == transport.Standard && m.Fragment {
				pieces = max(pieces, int(m.Index)+1)
			}
		}
		missing = nil
		for i := range pieces {
			if !slices.ContainsFunc(t.c.acksOf(false, 2), func(m *message) bool { return m.Fragment && int(m.Index) == i }) {
				missing = append(missing, fmt.Sprintf("01 02 00 01 %02X", i))
			}
		}
		return missing == nil && pieces > 0
	}) {
		return
	}
	need(pieces != 0, "the clients' answer of round 2 fits into one message")
	var came []any
	for _, m := range t.c.acksOf(false, 2) {
		came = append(came, fmt.Sprintf("frame %d: acknowledgement of %d, flags %02X, index %d", m.frame, m.Seq, m.AckFlags, m.Index))
	}
	t.fails(false, fmt.Sprintf("an acknowledgement of each fragment; missing: %v", missing), came...)
}

// fragments returns the fragments in deciphered datagrams.
func fragments(datagrams [][]byte) (list [][]byte) {
	for _, d := range datagrams {
		messages, _ := split(d) // this package made the datagram
		for _, m := range messages {
			if m.Fragment && m.Type == transport.Standard {
				list = append(list, written(&m.Header, m.Body))
			}
		}
	}
	return list
}

func fragmentsReversed(t *T) {
	t.rests(t.c, betweenAll)
	pieces := fragments(t.c.collected(func() { t.c.answers(t.answerBody(2)) }))
	need(len(pieces) >= 2, "the client may not send now, or the answer of round 2 fits into one message")
	need(!t.c.twice(msg.OpChecksumResponse), "an answer of an earlier round was sent twice; if the host took the copy for an answer of this round, it asks for round 3 anyway")
	// Hold back the client's retransmissions, which come in order.
	t.c.keep = func(m *transport.Message) bool { return m.Type != transport.Standard }
	later := slices.Clone(pieces[1:])
	slices.Reverse(later)
	for _, piece := range slices.Concat(later, later, pieces[:1], pieces[:1]) {
		t.c.raw(t.now(), datagram(t.c.ID, piece))
		t.wait(20 * time.Millisecond)
	}
	t.expect(t.asked(t.c, 3), "the request of round 3 after the later fragments, backwards and twice, and the first", t.c.all())
}

func longMessage(t *T) {
	const words, most = 100, 412
	body := t.c.chat(strings.Repeat("long ", words))
	t.settle(t.c, t.p...)
	t.c.say(body)
	if !t.until(t.soon(), func() bool { return len(t.p[0].lines(body)) > 0 }) {
		t.dismiss() // they may wait for the rest of it
		t.misses(fmt.Sprintf("one copy of a line of %d bytes, which came in fragments, at %s", len(body), t.p[0].name))
	}
	t.settle(t.c, t.p...)
	t.none("one copy of the line", t.p[0].lines(body)[1:])
	for _, m := range t.p[0].in {
		t.expect(m.Type != transport.Standard || m.Len <= most, fmt.Sprintf("messages of at most %d bytes", most), m)
		if m.Type == transport.Standard && m.Fragment {
			t.show(m.frame)
		}
	}
}

// noDataAcks drops the acknowledgements of game messages.
func noDataAcks(m *transport.Message) bool {
	return m.Type != transport.Acknowledge || m.Control()
}

// timesOf returns when copies of a game message of the host came.
func (c *client) timesOf(seq uint16) []time.Time {
	return c.in.where(func(m *message) bool { return m.Type == transport.Standard && m.HasSeq && m.Seq == seq }).times()
}

// secondsSince shows how often something came, and when, in seconds after the first time.
func secondsSince(list []time.Time) string {
	if len(list) == 1 {
		return "one, and no other after it"
	}
	var text []string
	for _, at := range list {
		text = append(text, fmt.Sprintf("%.2f", at.Sub(list[0]).Seconds()))
	}
	return fmt.Sprintf("%d, after %s s", len(list), strings.Join(text, ", "))
}

func retransmissionTimes(t *T) {
	// The last request. Hardly any control message has its number, so it does not
	// matter whether the host confuses acknowledgements, which T-16 tests.
	const request = 4
	c := t.c
	c.keep = func(m *transport.Message) bool { return m.Seq < request || noDataAcks(m) }
	for _, round := range allRounds[:request] {
		need(t.until(t.soon(), func() bool { return len(c.Asked) > 0 }), "the host did not ask for round %d: %s", round, t.progress(c))
		c.answers(t.answerBody(round))
	}
	need(t.until(t.soon(), func() bool { return len(c.timesOf(request)) > 0 }), "game message %d did not come", request)
	t.wait(17 * time.Second)
	got := c.timesOf(request)
	const least = 5
	everyTwo := spaced(got, least, 1.75, 3.25) // or at the next second, when the host checks its timers
	t.expectKnown(onSchedule(got, []float64{0, 1, 3, 6, 10, 15, 16}, least), everyTwo, "copies after 0, 1, 3, 6, 10, 15 and 16 s", secondsSince(got))
}

// spaced reports whether at least least copies came at intervals between
// shortest and longest seconds.
func spaced(times []time.Time, least int, shortest, longest float64) bool {
	for i := 1; i < len(times); i++ {
		if d := times[i].Sub(times[i-1]).Seconds(); d < shortest || d > longest {
			return false
		}
	}
	return len(times) >= least
}

// onSchedule reports whether all times, in seconds after the first one, are on
// a schedule, and at least least of it came.
func onSchedule(times []time.Time, schedule []float64, least int) bool {
	const tolerance = 0.25
	hit := map[float64]bool{}
	for _, at := range times {
		s := at.Sub(times[0]).Seconds()
		i := slices.IndexFunc(schedule, func(want float64) bool { return s > want-tolerance && s < want+tolerance })
		if i < 0 {
			return false
		}
		hit[schedule[i]] = true
	}
	return len(hit) >= least
}

func acceptRepeated(t *T) {
	need(t.admitted(t.c, t.r.nonce()), "no accept came")
	t.wait(3500 * time.Millisecond)
	times := t.c.accepts().times()
	if t.r.queries {
		t.check(t.replies(t.c))
	}
	t.expect(spaced(times, 2, 0.75, 1.25), "the accept again after a second", secondsSince(times)) // a host may limit the bytes that it sends a stranger
}

func ackEndsRepetition(t *T) {
	t.c.repeated()
	t.c.repeats(datagram(t.c.ID, ack(0, 0)), 100*time.Millisecond)
	t.wait(200*time.Millisecond + t.trips(1)) // a copy may be on its way
	n := len(t.c.timesOf(0))
	t.wait(3300 * time.Millisecond)
	got := t.c.timesOf(0)
	t.c.keep = nil
	t.check(t.goesOn(t.c))
	t.expect(len(got) <= n, "no copy after the acknowledgement", secondsSince(got))
}

// repeated makes a client connect and acknowledge nothing until the host has
// retransmitted its first game message. It is the control for messages that are
// not retransmitted.
func (c *client) repeated() {
	must(true, c.t.opens())
	c.keep = func(m *transport.Message) bool { return m.Type != transport.Acknowledge }
	c.connect()
	need(c.t.answered(func() bool { return len(c.timesOf(0)) > 0 }), "no game message came")
	const twice = 4 * time.Second // OpenBC's servers wait for up to 3 s
	need(c.t.until(max(c.t.soon(), twice), func() bool { return len(c.timesOf(0)) > 1 }), "the host does not send a game message again that is not acknowledged: see T-13")
}

// goesOn is the control that the host continues with round 1 of the hashes.
func (t *T) goesOn(c *client) positive {
	return positive{"the answer to round 0 of " + c.name, func() bool {
		if len(c.Asked) == 0 || c.Phase == relay.ClientGone {
			return false
		}
		c.answers(t.answerBody(0))
		return t.asked(c, 1)
	}}
}

func wrongClass(t *T) {
	t.c.repeated()
	controls := func() messages {
		return t.c.in.where(func(m *message) bool { return m.HasSeq && m.Type != transport.Acknowledge && m.Control() && m.Seq > 0 })
	}
	wrong, seq := [][]byte{ack(0, 2)}, uint16(0)
	if list := controls(); len(list) > 0 {
		seq = list[0].Seq
		wrong = append(wrong, ack(seq, 0))
	}
	t.c.repeats(datagram(t.c.ID, wrong...), 100*time.Millisecond)
	t.wait(t.trips(1)) // a copy may be on its way
	n, m := len(t.c.timesOf(0)), len(controls())
	if !t.until(max(t.soon(), 4*time.Second), func() bool { return len(t.c.timesOf(0)) > n && (seq == 0 || len(controls()) > m) }) {
		t.c.keep = nil
		t.check(t.goesOn(t.c))
	}
	t.expect(seq <= 0 || len(controls()) > m, fmt.Sprintf("control message %d again: it was acknowledged as a game message", seq), t.c.all())
	t.expect(len(t.c.timesOf(0)) > n, "game message 0 again: it was acknowledged as a control message", t.c.all())
}

func keepalive(t *T) {
	t.dismiss() // a host that simulates ships sends updates of all ships
	c := must(t.joined())
	t.rests(c, t.soon())
	t.wait(2500 * time.Millisecond) // acknowledgements are repeated
	need(c.Idle(), "the host has not acknowledged all that the client has sent")
	c.forget()
	begun, spoilt := t.now(), t.r.spoils()
	t.wait(12 * time.Second)
	var last time.Time
	for _, m := range c.in {
		switch alive := m.Type == transport.DoNothing; {
		case alive && m.Len != 1:
			t.fails(false, "a keepalive of one byte", m)
		case alive && !last.IsZero() && m.at != last:
			const idle, tolerance = 5.0, 0.3
			d := m.at.Sub(last).Seconds()
			t.expect(d >= idle-tolerance && (d <= idle+tolerance || t.r.spoils() != spoilt), "a keepalive 5 s after the last datagram", fmt.Sprintf("after %.2f s", d))
			t.show(m.frame)
			return
		}
		last = m.at
	}
	const most, names = 1.5, 10 // in seconds, and names in twelve seconds
	named, before := 0, begun
	for _, m := range c.in {
		if m.Type == transport.NameChange && m.named() == c.name && m.at.Sub(before).Seconds() < most {
			named, before = named+1, m.at
		}
	}
	t.fails(named >= names, fmt.Sprintf("a keepalive every 5 s (from %s on)", begun.Format("15:04:05")), c.in)
}

func ackRepeated(t *T) {
	c := t.p[0]
	t.wait(2500 * time.Millisecond)
	c.forget()
	c.say(unhex("0d0c010000580080000000000000000000ffff0340")) // consumed by the host, so nothing else is sent because of it
	t.wait(3 * time.Second)
	seq, ok := c.lastData()
	need(ok, "the client may not send now")
	times := c.acksOf(false, seq).times()
	t.expect(len(times) >= 3 && len(times) <= 9, "three acknowledgements, two thirds of a second apart", secondsSince(times))
}

func silentClient(t *T) {
	t.c.say(t.c.chat("farewell"))
	t.rests(t.c, t.soon())
	last := t.now()
	t.c.keep = func(*transport.Message) bool { return false }
	var boots messages
	removed := t.until(52*time.Second, func() bool {
		boots = t.p[0].about(transport.BootPlayer, t.c.ID)
		return len(boots) > 0
	})
	t.c.Phase = relay.ClientGone // also if the host removed it in another way: its controls would fail
	if !removed {
		const least, most = 28.5, 33.0
		told := t.p[0].games(msg.OpPlayerDeleted, msg.OpPlayerAnnounce).where(func(m *message) bool {
			d := m.at.Sub(last).Seconds()
			return (m.is(msg.OpPlayerDeleted) || m.announcesLeave()) && d >= least && d <= most
		})
		t.fails(len(told) > 0, fmt.Sprintf("BootPlayer with the reason timed out (1) and id %d after 45 s", t.c.ID), t.p[0].controls(transport.BootPlayer), told)
	}
	const least, most = 43.5, 48.0
	d := boots[0].at.Sub(last).Seconds()
	t.expect(boots[0].boots(transport.BootTimedOut, t.c.ID) && d >= least && d <= most+t.soon().Seconds(), "BootPlayer with the reason timed out (1) after 45 s", fmt.Sprintf("after %.1f s", d), boots[0])
	t.show(boots[0].frame)
}

func oneRepetition(t *T) {
	t.settle(t.p[0], append(t.p, t.c)...)
	t.c.keep = noDataAcks
	for i := range 5 {
		t.p[0].say(t.p[0].chat(fmt.Sprintf("again %d", i)))
		t.wait(30 * time.Millisecond)
	}
	t.wait(3500 * time.Millisecond)
	byFrame, most, at := map[int]int{}, 0, 0
	for _, m := range t.c.in {
		if challenge, _ := msg.IsChallenge(m.Body); m.again && m.Type == transport.Standard && !challenge {
			if byFrame[m.frame]++; byFrame[m.frame] > most {
				most, at = byFrame[m.frame], m.frame
			}
		}
	}
	t.expect(most > 0, "unacknowledged messages sent again", "no retransmission")
	if most > 1 {
		t.show(at)
		t.fails(true, "at most one retransmission in a datagram", fmt.Sprintf("frame %d has %d", at, most))
	}
}

func unknownType(t *T) {
	body := t.p[0].chat("before 77")
	t.rests(t.p[0], betweenAll)
	d := t.p[0].collectedLine(body)
	need(d != nil, "the client may not send now")
	d = append(slices.Clone(d), 0x77, 1, 2)
	d[1]++
	t.p[0].keep = func(m *transport.Message) bool { // it must arrive with the unknown message after it
		return m.Type != transport.Standard || !bytes.Equal(m.Body, body)
	}
	came := false
	for range 5 {
		t.p[0].raw(t.now(), d)
		if came = t.until(t.soon()/3, func() bool { return len(t.p[1].lines(body)) > 0 }); came {
			break
		}
	}
	t.expect(came, "the line before the unknown message at the others", t.p[1].games(msg.OpChat))
	t.p[0].keep = nil
	t.lives("the next line at the others: the connection lives", t.p[0], t.p[1])
}

func unknownOpcode(t *T) {
	body := unhex("cd2a000000")
	t.settle(t.p[0], t.p...)
	t.p[0].say(body)
	acked := func(m *message) bool {
		return m.Type == transport.Standard && bytes.Equal(m.Body, body) && t.p[0].acked(false, m.Seq)
	}
	t.expect(t.until(t.soon(), func() bool { return slices.ContainsFunc(t.p[0].out, acked) }), "an acknowledgement of the message with opcode CD")
	t.settle(t.p[0], t.p...)
	t.none("the message with opcode CD at no client", gamesOf(t.p, decode.Opcode(body[0])))
}

func withoutID(t *T) {
	stranger := must(t.stranger())
	hears := t.acks(t.c) // the same message, with an id
	if t.r.queries {
		hears = both(hears, t.replies(stranger))
	}
	t.silence(hears, func() {
		stranger.repeats(datagram(transport.UnassignedPeer, standard(0, unhex(consumed))), 50*time.Millisecond)
		t.wait(shortWait)
	})
	t.prove(len(stranger.in) == 0 && stranger.odd == 0, "no answer to a stranger's game message", stranger.all())
}

func outsideWindow(t *T) {
	c := t.p[0]
	last, ok := c.lastData()
	if !ok {
		t.settle(c, t.p...)
		last, _ = c.lastData()
	}
	body := c.chat("outside")
	seq := last + 0x5000
	c.repeats(datagram(c.ID, standard(seq, body)), 50*time.Millisecond)
	t.settle(c, t.p...)
	list := t.p[1].lines(body)
	t.prove(len(list) == 0, fmt.Sprintf("message %d not to be acted on", seq), list)
	t.expect(t.until(t.soon(), func() bool { return c.acked(false, seq) }), fmt.Sprintf("an acknowledgement of message %d", seq))
}

// idsNotReused compares the ids of two clients that had one slot. Until the
// host has handled the leave, the next client has another slot, and therefore
// another id in any case.
func idsNotReused(t *T) {
	const tries = 3
	before := map[int]uint8{} // ids of those who left, by slot
	c := t.c
	for range tries {
		before[c.Slot] = c.ID
		t.leaves(c)
		c = must(t.joined())
		if id, again := before[c.Slot]; again {
			t.proveKnown(c.ID != id, c.bySlot(), fmt.Sprintf("another id than %d", id), c.all())
			return
		}
	}
	need(false, "ids show nothing: the host gave no slot of a leaver to the next client")
}

// bySlot reports whether the client's id is the one that OpenBC gives to the
// client's slot.
func (c *client) bySlot() bool { return int(c.ID) == c.Slot+2 }
