package suite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A T is one attempt at a case.
type T struct {
	r      *runner
	p      []*client      // clients in the game with a ship each, which stay from case to case. There are Case.players of them.
	c      *client        // client only for this case: see Case.client
	before int            // number of players according to the host before the case: see counts
	reply  *gamespy.Reply // reply to Case.asks
	opened []*client
	shown  []int
}

// play makes the clients of a case and runs it. Missing messages count only if
// the host still hears the clients: see confirm.
func (t *T) play(c *Case) (err error) {
	err = t.steps(func(t *T) {
		if c.needs != nil {
			must(true, c.needs(t))
		}
		if c.asks != "" {
			t.reply = must(t.query(c.asks))
		}
		if c.players > 0 {
			t.p = must(t.players(c.players, fewNumbers))
		}
		if c.client != nil {
			t.c = must(c.client(t))
		}
		c.run(t)
	})
	var f *failure
	if errors.As(err, &f) && !f.proven && !f.controlled {
		if cut := t.confirm(); cut != nil {
			return cut
		}
	}
	return err
}

// A stop ends a case at the first step that fails, as in package testing. Only
// functions run by steps may panic with it.
type stop struct{ err error }

// steps runs the steps of a case, and returns why they ended early.
func (t *T) steps(run func(*T)) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stop:
			err = end.err
		default:
			panic(end)
		}
	}()
	run(t)
	return nil
}

// must returns the result of a step that must succeed.
func must[V any](v V, err error) V {
	if err != nil {
		panic(stop{err})
	}
	return v
}

// need skips the case unless ok is set.
func need(ok bool, format string, args ...any) {
	if !ok {
		panic(stop{skip(format, args...)})
	}
}

// happened ends the case as NOT SEEN unless ok is set.
func happened(ok bool, why string) {
	if !ok {
		panic(stop{&other{verdict: NotSeen, why: why}})
	}
}

// expect fails the case unless ok is set. The arguments after the expectation
// are the messages or texts that came instead.
func (t *T) expect(ok bool, expected string, came ...any) {
	t.expectKnown(ok, false, expected, came...)
}

// expectKnown works as expect. The argument known tells that a failure is
// OpenBC's difference documented in cases.txt.
func (t *T) expectKnown(ok, known bool, expected string, came ...any) {
	if !ok {
		t.fails(known, expected, came...)
	}
}

// proveKnown works as expectKnown for faults of the host that no loss,
// retransmission or delay on the network can cause.
func (t *T) proveKnown(ok, known bool, expected string, came ...any) {
	if !ok {
		f := t.proves(expected, came...)
		f.documented = known
		panic(stop{f})
	}
}

// fails fails the case.
func (t *T) fails(known bool, expected string, came ...any) {
	f := t.fail(expected, came...)
	f.documented = known
	panic(stop{f})
}

// none expects that no messages came, which the network cannot cause.
func (t *T) none(expected string, came messages) { t.prove(len(came) == 0, expected, came) }

// prove works as expect for faults of the host that no loss, retransmission or
// delay on the network can cause.
func (t *T) prove(ok bool, expected string, came ...any) {
	if !ok {
		panic(stop{t.proves(expected, came...)})
	}
}

// A failure reports that the host breaks the rule.
type failure struct {
	expected   string
	came       []string
	proven     bool // the network cannot have caused it
	controlled bool // it is about a connection that worked before
	documented bool // it is OpenBC's difference documented in cases.txt
}

func (f *failure) Error() string {
	if len(f.came) == 0 {
		return "expected " + f.expected
	}
	return "expected " + f.expected + "; came " + f.came[0]
}

// An other is a verdict other than PASS and FAIL.
type other struct {
	verdict Verdict
	why     string
	noEntry bool // no client could join
}

func (o *other) Error() string { return o.why }

func skip(format string, args ...any) error {
	return &other{verdict: Skip, why: fmt.Sprintf(format, args...)}
}

// mostCame is the maximum number of messages in a failure.
const mostCame = 12

// fail returns a failure. The arguments after the expectation are the messages
// or texts that came instead.
func (t *T) fail(expected string, came ...any) *failure {
	f := &failure{expected: expected}
	for _, x := range came {
		var list messages
		switch x := x.(type) {
		case string:
			f.came = append(f.came, x)
		case *message:
			list = messages{x}
		case messages:
			list = x
		}
		for _, m := range list {
			t.show(m.frame)
			f.came = append(f.came, fmt.Sprintf("frame %d: %s", m.frame, describe(m)))
		}
	}
	if len(f.came) > mostCame {
		f.came = append(f.came[:mostCame], fmt.Sprintf("and %d more", len(f.came)-mostCame))
	}
	if len(f.came) == 0 {
		f.came = []string{"nothing"}
	}
	return f
}

// proves returns a failure that no loss, retransmission or delay on the network
// can cause.
func (t *T) proves(expected string, came ...any) *failure {
	err := t.fail(expected, came...)
	err.proven = true
	return err
}

// A note is a fault of the host during the run.
type note struct {
	text   string
	frames []int
}

// proveNone expects that there are no notes.
func (t *T) proveNone(expected string, list []note) {
	var came []any
	for _, n := range list {
		t.show(n.frames...)
		came = append(came, n.text)
	}
	t.prove(len(list) == 0, expected, came...)
}

// show adds frames that show the case.
func (t *T) show(frames ...int) {
	for _, f := range frames {
		if f > 0 && len(t.shown) < 64 {
			t.shown = append(t.shown, f)
		}
	}
}

// frames returns the frames that show the case in order.
func (t *T) frames() []int {
	slices.Sort(t.shown)
	return slices.Compact(t.shown)
}

func (t *T) now() time.Time { return t.r.d.Now() }

func (t *T) until(within time.Duration, enough func() bool) bool { return t.r.until(within, enough) }

func (t *T) wait(d time.Duration) { t.r.until(d, nil) }

// soon is how long an answer of the host may take. On a line that loses
// datagrams it allows for two retransmissions, which the host sends after 1 and
// 3 seconds, or after 2 and 4.
func (t *T) soon() time.Duration {
	const second = 4500 * time.Millisecond
	if t.r.lossy() {
		return max(t.r.o.Timeout, second+2*t.r.trip)
	}
	return t.r.o.Timeout
}

// stranger returns a client that has not connected, and sends nothing
// automatically.
func (t *T) stranger() (*client, error) { return t.open("", nil) }

// connected returns a client that the host has given an id, and that answers
// nothing automatically.
func (t *T) connected() (*client, error) { return t.connectedAs("", nil) }

// loaded returns a client that has received all messages before its mission
// loads, and sends nothing more.
func (t *T) loaded() (*client, error) { return t.loadedAs("") }

// opens returns why no further client should try to connect, or nil if one may
// be let in.
func (t *T) opens() error {
	if !t.r.connected && t.r.denied >= mostTurned {
		return skip("no client could connect: %s", t.r.why)
	}
	return nil
}

// connectedAs returns a connected client with a name and answers: see open.
func (t *T) connectedAs(name string, answer func(round uint8) *msg.ChecksumResponse) (*client, error) {
	if err := t.opens(); err != nil {
		return nil, err
	}
	c, err := t.open(name, answer)
	if err != nil {
		return nil, err
	}
	c.connect()
	if !t.answered(func() bool { return c.ID != 0 || c.Phase == relay.ClientGone }) || c.ID == 0 {
		t.r.denied++
		t.r.shutOut++
		t.r.why = t.progress(c)
		if err := t.closed(c); err != nil {
			return c, err
		}
		return c, skip("a client could not connect: %s", t.r.why)
	}
	t.r.connected, t.r.shutOut = true, 0
	return c, nil
}

// closed reports a host that has let clients in, and refuses further ones
// although it reports free slots. It ends the run, since no other case can be
// tried.
func (t *T) closed(c *client) error {
	if !t.r.connected || t.r.shutOut < mostTurned {
		return nil
	}
	n, reply, err := t.counted()
	if err != nil {
		return nil //nolint:nilerr // whether there is room is not known
	}
	if limit, ok := number(reply, "maxplayers"); !ok || n >= limit {
		return nil
	}
	t.r.dead = "the host no longer lets clients in"
	return t.proves(fmt.Sprintf("the next client to be let in: by numplayers %d are in the game, and others have left", n), t.r.why, said(reply), c.all())
}

// mostTurned is how many clients may be refused before no others try, if none
// has been let in.
const mostTurned = 3

// answered waits for the answer to a connect, which clients repeat each second. Some
// hosts make an address wait for two seconds after a leave.
func (t *T) answered(enough func() bool) bool {
	const wait = 2 * time.Second
	return t.until(t.soon()+wait, enough)
}

// loadedAs returns a loaded client with a name. If the name is empty, the
// client gets a new one. If a client makes no progress, another one tries,
// since with some hosts one lost datagram ends a join. While the host has let
// in no client, the last one waits as long as the game does.
func (t *T) loadedAs(name string) (c *client, err error) {
	if !t.r.entered && t.r.barred {
		return nil, t.noEntry()
	}
	tries := 3
	if t.r.entered {
		tries = 4
	}
	for try := range tries {
		if c, err = t.connectedAs(name, t.answer); err != nil {
			return c, err
		}
		step := t.soon()
		switch {
		case try+1 < tries && t.r.lossy():
			step = max(t.r.o.Timeout, hungStep+2*t.r.trip)
		case try+1 == tries && !t.r.entered:
			step = longestStep
		}
		if t.load(c, step) {
			return c, nil
		}
		t.r.why = t.progress(c)
		if t.refusal(c) {
			break
		}
		if c.Phase != relay.ClientGone {
			c.Leave(t.now())
		}
	}
	if t.r.barred = true; !t.r.entered {
		return c, t.noEntry()
	}
	return c, skip("a client could not join: %s", t.r.why)
}

// The steps of a join.
const (
	hungStep    = 3500 * time.Millisecond // time in which a host retransmits a message that was lost once or twice
	longestStep = 16 * time.Second        // time for six retransmissions of the game
)

// load makes a client answer requests for hashes until it is loaded, and
// reports whether it is. The argument step is the longest time for each step.
func (t *T) load(c *client, step time.Duration) bool {
	const most = 8 // requests
	requests := func() int { return len(c.games(msg.OpChecksumRequest)) }
	for asked := -1; asked < requests() && asked < most && !c.Loaded; {
		asked = requests()
		t.until(step, func() bool { return requests() > asked || c.Loaded || c.Phase == relay.ClientGone || t.refusal(c) })
	}
	if !c.Loaded {
		return false
	}
	t.r.entered = true
	if m := c.renamed(); m != nil {
		c.name = wire.WideText(m.NewName).Raw()
	}
	if t.r.joins++; c.spoils() > 0 {
		t.r.spoiled++
	}
	return true
}

// refusal reports whether the host has refused the files of a client.
func (t *T) refusal(c *client) bool {
	return len(c.games(msg.OpChecksumFailed, msg.OpVersionDifferent)) > 0
}

// noEntry is the result of a case that needs a client in the game if the host
// has let in none.
func (t *T) noEntry() error {
	return &other{verdict: Skip, why: "no client could join: " + t.r.why, noEntry: true}
}

// renamed returns the settings that give the client another name, or nil if
// there are none.
func (c *client) renamed() *msg.Settings {
	if list := c.games(msg.OpSettings); len(list) > 0 {
		if m, _ := read[*msg.Settings](list[0]); m.Renamed {
			return m
		}
	}
	return nil
}

// joined returns a further client in the game.
func (t *T) joined() (*client, error) {
	c, err := t.loaded()
	if err != nil {
		return c, err
	}
	t.enter(c)
	if c.Phase == relay.ClientGone {
		return c, skip("a client was removed: %s", t.progress(c))
	}
	return c, nil
}

// flying returns a function that opens a client in the game with a ship that
// the others know.
func flying(creation string) func(t *T) (*client, error) {
	return func(t *T) (*client, error) {
		c, err := t.joined()
		if err == nil {
			c.creates(creation)
			t.settle(c, t.p...)
		}
		return c, err
	}
}

// leaves makes a client leave, and waits until the host has acted on it.
func (t *T) leaves(c *client) {
	c.Leave(t.now())
	t.r.haveLeft([]*client{c}, t.soon())
}

// enter makes a client send that it is ready, and waits until the host has
// taken it into the game.
func (t *T) enter(c *client) {
	c.Say(c.now(), msg.OpClientReady, new(msg.ClientReady))
	if t.until(t.soon(), func() bool { return c.InGame || c.Phase == relay.ClientGone }) && c.InGame {
		t.r.await(&t.r.announces, t.soon(), func() bool { return c.Phase == relay.ClientPlaying || c.Phase == relay.ClientGone })
	}
}

// On a host that has not passed T-10, a client is replaced when it has used so
// many numbers. A host that cannot count beyond 255 then fails only T-10, and
// not every case after it.
const (
	mostNumbers = 250
	fewNumbers  = 100
)

// players returns n clients that are in the game with a ship each, and can
// still be sent so many messages. They stay for later cases. If one of them no
// longer hears the others, all are replaced once.
func (t *T) players(n, messages int) ([]*client, error) {
	for again := false; ; again = true {
		p, err := t.seated(min(n, t.r.o.Clients), messages)
		if err != nil {
			return nil, err
		}
		if err = t.steps(func(t *T) { t.settle(p[0], p...) }); err == nil {
			for _, c := range t.r.clients {
				c.forget()
			}
			return p, nil
		}
		if again || t.r.copies.failed && !t.r.copies.came {
			return nil, err
		}
		t.dismiss()
	}
}

// seated returns clients that are in the game with a ship each, for [T.players].
func (t *T) seated(n, messages int) ([]*client, error) {
	var worn []*client
	t.r.table = slices.DeleteFunc(t.r.table, func(c *client) bool {
		if c.closed || c.Phase == relay.ClientGone || c.Phase == relay.ClientLeaving || c.Err != nil {
			return true
		}
		if !t.r.counts && c.numbers()+messages > mostNumbers {
			worn = append(worn, c)
			c.Leave(t.now())
			return true
		}
		return false
	})
	t.opened = append(t.opened, worn...)
	t.r.haveLeft(worn, t.soon())
	for _, c := range worn {
		c.Phase = relay.ClientGone
	}
	for len(t.r.table) < n {
		c, err := t.joined()
		if err != nil {
			return nil, err
		}
		c.creates(akira)
		t.rests(c, t.soon())
		t.r.table = append(t.r.table, c)
	}
	return slices.Clone(t.r.table[:n]), nil
}

// dismiss makes all clients leave that stay in the game. Later cases use new
// ones.
func (t *T) dismiss() {
	table := t.r.table
	t.r.table = nil
	for _, c := range table {
		c.Leave(t.now())
	}
	t.opened = append(t.opened, table...)
	t.r.haveLeft(table, t.soon())
}

// rests waits until the host has acknowledged everything that a client has
// sent.
func (t *T) rests(c *client, usual time.Duration) {
	t.r.await(&t.r.rests, usual, c.Idle)
}

// every reports whether the function is true for all clients.
func every(list []*client, so func(*client) bool) bool {
	return !slices.ContainsFunc(list, func(c *client) bool { return !so(c) })
}

// without returns the first client that has not received exactly one copy of a
// game message, or nil if all have.
func without(list []*client, body []byte) *client {
	for _, c := range list {
		if c.count(body) != 1 {
			return c
		}
	}
	return nil
}

// gamesOf returns the game messages with the given opcodes of the first client
// that has received any.
func gamesOf(clients []*client, ops ...decode.Opcode) messages {
	for _, c := range clients {
		if list := c.games(ops...); len(list) > 0 {
			return list
		}
	}
	return nil
}

// count returns how many game messages with this body the client has received.
func (c *client) count(body []byte) int { return len(c.copies(body)) }

// copies returns the game messages with this body.
func (c *client) copies(body []byte) messages {
	return c.delivered.where(func(m *message) bool { return m.game() && bytes.Equal(m.Body, body) })
}

// lines returns the chat lines with the text of a body. They may have another
// author, which only R-2C checks.
func (c *client) lines(body []byte) messages {
	chat, _ := read[*msg.Chat](gameMessage(body))
	want := string(chat.Text)
	return c.games(msg.OpChat).where(func(m *message) bool { return m.text == want })
}

// wantsFiles describes a host that does not accept the clients' files, with the
// remedy.
func wantsFiles(does string) string {
	return "the host " + does + ": it seems to want other files than the clients claim to have; list its hashes with --checksums FILE, or let it accept any"
}

// progress describes a client's progress.
func (t *T) progress(c *client) string {
	refused := c.games(msg.OpChecksumFailed, msg.OpVersionDifferent)
	switch {
	case len(refused) > 0:
		return wantsFiles("refuses the clients' files by " + describe(refused[0]))
	case c.Phase == relay.ClientGone && c.Reason == int(transport.BootPassword):
		return "the host wants a password: give it with --password"
	case c.Phase == relay.ClientGone && c.Reason >= 0:
		return fmt.Sprintf("it was removed, reason %d", c.Reason)
	case c.Phase == relay.ClientGone:
		return "the host sent a disconnect"
	case len(c.in) == 0 && c.odd == 0:
		return "nothing came"
	case c.ID == 0 && len(c.all()) == 0:
		return "no accept came"
	case c.ID == 0:
		list := c.all()
		return "no accept came, but " + describe(list[len(list)-1])
	case c.Loaded:
		return "it was sent GameInit (01), but no MissionInit (35)"
	}
	if n := len(c.games(msg.OpChecksumRequest)); n > 0 {
		if t.r.entered {
			return fmt.Sprintf("the host stops at request %d of the hashes, though it let others in", n)
		}
		return wantsFiles(fmt.Sprintf("stops at request %d of the hashes", n))
	}
	return "no checksum request came"
}

// query sends a query of a server browser. It repeats the query if nothing
// comes.
func (t *T) query(text string) (*gamespy.Reply, error) {
	if t.r.mute {
		return nil, skip("the host answers no query: see Q-1")
	}
	c, err := t.stranger()
	if err != nil {
		return nil, err
	}
	const tries = 4
	for range tries {
		c.texts = nil
		begun := t.now()
		t.show(t.r.send(begun, c.local, []byte(text)))
		var reply gamespy.Reply
		taken := 0
		t.until(max(t.soon()/2, 700*time.Millisecond), func() bool {
			for ; taken < len(c.texts); taken++ {
				reply.Add(c.texts[taken])
			}
			return reply.Complete() || t.r.d.Refused() != nil
		})
		if reply.Complete() {
			t.r.queries = true
			if trip := t.now().Sub(begun); t.r.trip == 0 || trip < t.r.trip {
				t.r.trip = trip
			}
			return &reply, nil
		}
		if t.r.d.Refused() != nil {
			break
		}
	}
	var came []any
	for _, d := range c.texts {
		came = append(came, string(d[:min(len(d), 200)]))
	}
	f := t.fail(fmt.Sprintf("a complete reply to %s", text), came...)
	if t.r.mute = !t.r.queries && t.r.current != nil; t.r.mute {
		f.proven = len(c.texts) == 0 // the network does not lose so many
	}
	return nil, f
}
