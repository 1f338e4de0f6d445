package conform

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Old memories go first; all go if most are young.
func TestForget(t *testing.T) {
	start := time.Unix(1e9, 0)
	at := func(t *time.Time) time.Time { return *t }
	times := func(from, n int) (list []time.Time) {
		for i := range n {
			list = append(list, start.Add(time.Duration(from+i)*time.Second))
		}
		return list
	}
	lists := map[int][]time.Time{1: times(0, 5), 2: times(3, 4), 3: times(0, 10)}
	left, dropped := forget(lists, at, start.Add(5*time.Second), 16)
	if left != 7 || dropped != 0 || len(lists) != 2 || !slices.Equal(lists[2], times(5, 2)) || !slices.Equal(lists[3], times(5, 5)) {
		t.Errorf("%d left, %d dropped: %v", left, dropped, lists)
	}
	if left, dropped = forget(lists, at, start, 8); left != 0 || dropped != 7 || len(lists) != 0 {
		t.Errorf("%d left, %d dropped: %v", left, dropped, lists)
	}
}

// The report names each limit that was reached, and no other.
func TestLimitNotes(t *testing.T) {
	for l := range limits {
		var r reached
		r[l] = 12345
		if notes := r.notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "12345 ") || strings.Contains(notes[0], "%!") {
			t.Errorf("limit %d: %q", l, notes)
		}
	}
	r := New(Config{})
	r.begin()
	to := &Client{}
	for range maxDoubted + 3 {
		r.cmp.doubts.extraLast(to, &got{Event: &Event{}})
		r.cmp.doubts.last(&expect{src: &source{}, to: to})
	}
	for i := range maxGroups + 5 {
		r.cmp.doubts.tally(group{from: &Client{index: i}})
	}
	h := &holes{}
	for i := range maxHoles + 1 {
		h.lose(hole{lo: int64(2 * i), hi: int64(2*i + 1)})
	}
	r.t.all = []*Client{{sent: [2]holes{*h}}}
	d := newDestination(to, &r.t.reached)
	for i := range maxSighted + 1 {
		d.sights(uint64(i)+1, sighting{})
	}
	for i := range uint64(2000) {
		d.new(i)
	}
	src := &source{client: to}
	r.src = src
	for range maxDepartures + 7 {
		r.players[0].depart(relay.Departure{Guard: relay.GuardObject})
	}
	at := time.Unix(1e9, 0)
	for range maxCuts + 1 {
		r.cmp.cut(nil, at)
	}
	r.cmp.evict = 1
	r.t.runs = make([]run, maxSilences)
	r.t.restart(&Client{}, &Client{})
	r.notes()
	for _, want := range []string{
		"6 messages have no verdict", "5 messages were counted together", "512 gaps", "8192 messages were forgotten", "976 names",
		"7 changes that a host makes", "2048 cut datagrams were", "1 message was judged early: too many, of all clients together", "1 client, silence or run",
	} {
		if !slices.ContainsFunc(r.rep.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("no note %q in %q", want, r.rep.Notes)
		}
	}
}

// Beyond the budget, the client with the most remembered messages loses some, and
// the others lose none.
func TestBudget(t *testing.T) {
	c := newComparer(newTimeline(msg.Catalog(), func(*Event) {}), &Report{}, stockModel, stockModel)
	now := time.Unix(1e9, 0)
	fill := func(cl *Client, n int) {
		d := c.dest(cl)
		for i := range n {
			at := now.Add(time.Duration(i))
			d.sights(uint64(i)+1, sighting{at: at, number: int64(i)})
			d.order.add(place{number: int64(i), at: at})
			cl.got[1].lose(hole{lo: int64(2 * i), hi: int64(2*i + 1), from: at, till: at})
		}
	}
	for i := range maxClients {
		cl := &Client{index: i}
		c.t.order = append(c.t.order, cl)
		fill(cl, 1000)
	}
	small := c.t.order[7]
	*small = Client{index: 7}
	c.order = slices.DeleteFunc(c.order, func(d *destination) bool { return d.client == small })
	fill(small, 20)
	before := small.remembers()
	c.economize()
	sum := 0
	for _, cl := range c.t.order {
		sum += cl.remembers()
		if n := cl.to.sighted; len(cl.to.sightings) != n {
			t.Fatalf("%d sightings are counted, %d there", n, len(cl.to.sightings))
		}
	}
	if sum > maxRemembered || sum < maxRemembered/4 || small.remembers() != before {
		t.Errorf("%d bytes are left, %d at most; of a small client %d of %d", sum, maxRemembered, small.remembers(), before)
	}
	if c.t.reached[limitMemory] < 100*maxClients {
		t.Errorf("%d messages are said to be forgotten", c.t.reached[limitMemory])
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
	one, left := b.beside(transport.Standard, body, nil)
	if len(one) != maxFields || left <= 0 {
		t.Fatalf("%d fields, %d left", len(one), left)
	}
	if both, again := b.beside(transport.Standard, body, body); len(both) != maxFields || again != left || !both[maxFields-1].Same() {
		t.Errorf("%d fields, %d left; of one side %d", len(both), again, left)
	}
}

// Long values of fields end at a limit; whether both sides agree counts to the end.
func TestFieldTextsAreBounded(t *testing.T) {
	b := newBodies(msg.Catalog())
	body := func(end string) []byte {
		return b.write(msg.OpChat, &msg.Chat{Sender: 1, Text: []byte(strings.Repeat("long ", 1000) + end)})
	}
	text := func(have []byte) *Field {
		list, _ := b.beside(transport.Standard, body("a"), have)
		i := slices.IndexFunc(list, func(f Field) bool { return f.Path == "text" })
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
		if f.Same() != tt.same || len(f.Actual) > maxFieldText+4 || !strings.HasSuffix(f.Actual, " ...") {
			t.Errorf("%s: the same %v, %d bytes: %q", tt.end, f.Same(), len(f.Actual), f.Actual[max(0, len(f.Actual)-20):])
		}
	}
}

// Steps of a join that have no room are counted; the last is there.
func TestStepsAreBounded(t *testing.T) {
	j := &Join{}
	for n := range maxSteps + 5 {
		j.take(&dissect.Record{
			Datagram: &dissect.Datagram{Number: n}, Dir: dissect.FromHost, Transport: transport.Header{Type: transport.Connect},
			Message: &transport.Accept{ID: 2},
		}, moment{})
	}
	if last := j.Steps[len(j.Steps)-1]; len(j.Steps) != maxSteps || j.Left != 5 || last.Frame != maxSteps+4 || j.Steps[maxSteps-2].Frame != maxSteps-2 {
		t.Errorf("%d steps, the last in frame %d, %d left", len(j.Steps), last.Frame, j.Left)
	}
}

// Messages that came wait for one before them only as long as there is room.
func TestQueueIsBounded(t *testing.T) {
	c := newComparer(newTimeline(msg.Catalog(), func(*Event) {}), &Report{}, stockModel, stockModel)
	d := c.dest(&Client{})
	for i := range maxQueued + 100 {
		x := &expect{to: d.client, src: &source{}, key: uint64(i) + 1, number: int64(i), done: i > 0}
		d.expects = append(d.expects, x)
		c.await(d.byKey.at(x.key), x)
		c.queued++
		for c.full() && c.relieve() {
		}
	}
	if len(d.expects) != maxQueued || c.queued != maxQueued || d.byKey.used != maxQueued || c.evict != 1 {
		t.Errorf("%d messages wait, %d are counted, %d keys, %d judged early", len(d.expects), c.queued, d.byKey.used, c.evict)
	}
}

// Losses count for clients that are not listed, and for those that are forgotten,
// too.
func TestLossesOfAll(t *testing.T) {
	tl := newTimeline(msg.Catalog(), func(*Event) {})
	add := func(n, lost int) {
		c := tl.add(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), 4000), n)
		c.gone = true
		c.got[1] = holes{seen: 2, datagrams: 1, lost: lost}
	}
	for n := range maxClients {
		add(n, 0)
	}
	for n := range 2 * maxClients {
		if tl.lossy() != (n > 0) {
			t.Fatalf("after %d clients with losses: lossy %v", n, tl.lossy())
		}
		add(maxClients+n, 1)
		if out, in := tl.losses(); out.lost != n+1 || out.of != 2*(maxClients+n+1) || out.in != maxClients+n+1 || in != (loss{}) {
			t.Fatalf("after %d clients with losses: %+v of the host, %+v of clients", n+1, out, in)
		}
	}
}
