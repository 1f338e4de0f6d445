package conform

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The report has each note that counts something, and no other.
func TestLimitNotes(t *testing.T) {
	for note := range result.Notes {
		var n result.Noted
		n[note] = 12345
		if texts := n.Texts(); len(texts) != 1 || !strings.Contains(texts[0], "12345 ") || strings.Contains(texts[0], "%!") {
			t.Errorf("note %d: %q", note, texts)
		}
	}
	r := New(Config{})
	r.begin()
	to := &Client{}
	d := r.cmp.dest(to)
	for range maxDoubted + 3 {
		g, x := &got{Event: &Event{Client: to, Number: -1}}, &expect{src: &source{Event: Event{Client: to}, matched: 1}, to: to}
		t := r.cmp.rates.tally(group{})
		r.cmp.rates.doubt(&t.extra, 0, func() { r.cmp.incomparable(g, whyInput) }, func() { r.cmp.extra(to, g) })
		r.cmp.rates.doubt(&t.lost, 0, func() { r.cmp.excuse(x, whyUnreliable) }, func() { r.cmp.missing(x) })
	}
	for range maxGroups + 5 {
		r.cmp.rates.tally(group{from: &Client{}})
	}
	for i := range uint64(2000) {
		d.newName(i, &r.t.noted)
	}
	r.cmp.places = maxPlaces - 1
	for i := range int64(5) {
		r.cmp.place(d, &got{Event: &Event{Number: i, Type: transport.Standard}})
	}
	r.t.fromClients = 1
	r.cmp.work.done = r.cmp.work.allowed + 1
	r.cmp.ended = true
	r.cmp.surplus(d, &got{Event: &Event{Client: to, Number: 7, Reliable: true, Type: transport.Connect}})
	r.t.noted[result.LimitEarly] = 1
	for i := range maxNotes + 1 {
		r.t.note("silence %d", i)
	}
	r.close(nil, false)
	for _, want := range []string{
		fmt.Sprintf("%d messages have no verdict: too many messages may be lost", maxDoubted+6), "1 message has no verdict: too many others",
		"6 messages were counted together", "4 messages were forgotten", "976 names",
		"1 message was judged early: too many, of all clients together", "1 client, silence or run",
	} {
		if !slices.ContainsFunc(r.rep.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("no note %q in %q", want, r.rep.Notes)
		}
	}
}

// Messages wait for their counterparts only as long as there is room; those that
// came take none.
func TestQueueIsBounded(t *testing.T) {
	c := newComparer(NewClients(msg.Catalog(), func(*Event) {}), result.New(0, msg.Catalog()), stockModel, false)
	c.t.fromClients = 1
	client := &Client{playing: true}
	wait := func(i int, done bool) {
		c.src = &source{Event: Event{Client: client, Kind: Input, Type: transport.Standard, Op: msg.OpChat, Number: -1}}
		x := &expect{to: client, src: c.src, key: uint64(i) + 1, typ: transport.Standard, op: msg.OpChat, reliable: true, by: stockModel, body: make([]byte, 9)}
		c.step = append(c.step, x)
		c.settle()
		x.done = done
	}
	d := c.dest(client)
	for i := range maxPending - 100 {
		wait(i, true)
	}
	if len(d.expects) > maxPending/4 || len(d.awaited)+len(d.causeless) > maxPending/4 || c.t.noted[result.LimitEarly] != 0 {
		t.Errorf("%d messages that came wait, %d keys; %d are judged early", len(d.expects), len(d.awaited)+len(d.causeless), c.t.noted[result.LimitEarly])
	}
	for i := range 3 * maxPending {
		wait(i, false)
		if len(d.expects) > maxPending+1 {
			t.Fatalf("%d messages wait", len(d.expects))
		}
	}
	if c.t.noted[result.LimitEarly] < maxPending {
		t.Errorf("%d messages are judged early", c.t.noted[result.LimitEarly])
	}
}

// A host's own ship updates, which nothing causes, take the place of no message
// that waits for its counterpart.
func TestUpdatesMakeRoom(t *testing.T) {
	c := newComparer(NewClients(msg.Catalog(), func(*Event) {}), result.New(0, msg.Catalog()), stockModel, false)
	c.t.fromClients = 1
	client := &Client{playing: true}
	c.src = &source{Event: Event{Client: client, Kind: Input, Type: transport.Standard, Op: msg.OpChat, Number: -1}}
	c.step = append(c.step, &expect{to: client, src: c.src, key: 1, typ: transport.Standard, op: msg.OpChat, reliable: true, by: stockModel, body: make([]byte, 9)})
	c.settle()
	d := c.dest(client)
	const updates = 4 * maxPending
	for i := range updates {
		body := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpStateUpdate)}, uint32(i))
		c.output(&Event{Kind: Output, Client: client, Type: transport.Standard, Op: msg.OpStateUpdate, Body: body, Number: -1, Frame: i})
		if len(d.gots) > maxPending+1 {
			t.Fatalf("%d messages wait", len(d.gots))
		}
	}
	if left := c.rep.Row(transport.Standard, msg.OpStateUpdate).NotComparable; c.t.noted[result.LimitEarly] != 0 || len(d.expects) != 1 || left < updates-maxPending {
		t.Errorf("%d messages are judged early, %d expected ones wait, %d updates are left aside", c.t.noted[result.LimitEarly], len(d.expects), left)
	}
}

// Messages that come after too many with higher numbers are not remembered, and
// cost no more than the others.
func TestLateNumbers(t *testing.T) {
	var l line
	var s []*source
	for n := int64(100_000); n >= 0; n-- {
		if insert(&l, atNumber(l, n), place{number: n}) != (len(l) <= maxLooked+1 && n > 100_000-maxLooked-1) {
			t.Fatalf("number %d: %d are remembered", n, len(l))
		}
		insert(&s, atNumber(s, n), &source{Event: Event{Number: n}})
	}
	if len(l) != maxLooked+1 || len(s) != maxLooked+1 {
		t.Errorf("%d and %d are remembered, want %d", len(l), len(s), maxLooked+1)
	}
	for i := range l[1:] {
		if l[i].number >= l[i+1].number || s[i].Number >= s[i+1].Number {
			t.Fatalf("out of order at %d", i)
		}
	}
}

// The fields of a difference that have no room are counted, those that both
// sides have once.
func TestFieldsAreBounded(t *testing.T) {
	b := newBodies(msg.Catalog())
	const round, files = 2, 40 // each has a name and a hash
	m := &msg.ChecksumResponse{Round: round, Found: true}
	for i := range files {
		m.Tree.Files = append(m.Tree.Files, msg.ChecksumFile{Name: uint32(i), Content: uint32(i)})
	}
	body := b.write(msg.OpChecksumResponse, m)
	one, left := result.Beside(b.shows(transport.Standard, body), nil)
	if len(one) != result.MaxFields || left <= 0 {
		t.Fatalf("%d fields, %d left", len(one), left)
	}
	if both, again := result.Beside(b.shows(transport.Standard, body), b.shows(transport.Standard, body)); len(both) != result.MaxFields || again != left || !both[result.MaxFields-1].Same() {
		t.Errorf("%d fields, %d left; of one side %d", len(both), again, left)
	}
}

// Long values of fields end at a limit; whether both sides agree counts to the end.
func TestFieldTextsAreBounded(t *testing.T) {
	b := newBodies(msg.Catalog())
	body := func(end string) []byte {
		return b.write(msg.OpChat, &msg.Chat{Sender: 1, Text: []byte(strings.Repeat("long ", 1000) + end)})
	}
	text := func(have []byte) *result.Field {
		list, _ := result.Beside(b.shows(transport.Standard, body("a")), b.shows(transport.Standard, have))
		i := slices.IndexFunc(list, func(f result.Field) bool { return f.Path == "text" })
		if i < 0 {
			t.Fatal("no text", list)
		}
		return &list[i]
	}
	for _, tt := range []struct {
		end  string
		same bool
	}{{"a", true}, {"b", false}} {
		f := text(body(tt.end))
		if f.Same() != tt.same || len(f.Actual) > result.MaxFieldText+4 || !strings.HasSuffix(f.Actual, " ...") {
			t.Errorf("%s: the same %v, %d bytes: %q", tt.end, f.Same(), len(f.Actual), f.Actual[max(0, len(f.Actual)-20):])
		}
	}
}

// Losses also count for clients that are not listed, or are forgotten.
func TestLossesOfAll(t *testing.T) {
	tl := NewClients(msg.Catalog(), func(*Event) {})
	add := func(n, lost int) {
		c := tl.add(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), 4000), n)
		c.gone = true
		c.got[1] = track{next: 2, lost: lost}
	}
	for n := range maxClients {
		add(n, 0)
	}
	for n := range 2 * maxClients {
		if tl.lossy() != (n > 0) {
			t.Fatalf("after %d clients with losses: lossy %v", n, tl.lossy())
		}
		add(maxClients+n, 1)
		if out, in := tl.losses(); out != n+1 || in != 0 {
			t.Fatalf("after %d clients with losses: %d of the host, %d of clients", n+1, out, in)
		}
	}
}
