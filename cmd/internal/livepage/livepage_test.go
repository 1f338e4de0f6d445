package livepage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/site"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

const (
	battle = "battle_mix.pcap.gz"
	delay  = 10 * time.Second
)

// A wire is a listener whose connections are pipes: a write waits until it is read.
type wire struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.ended:
		return nil, net.ErrClosed
	}
}
func (w *wire) Close() error { w.once.Do(func() { close(w.ended) }); return nil }
func (*wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// A studio is a server with viewers, in virtual time.
type studio struct {
	t      *testing.T
	server *Server
	wire   *wire
	end    chan struct{}
	served chan error
}

// newStudio serves a live page. Its tokens are always the same.
func newStudio(t *testing.T) *studio {
	t.Helper()
	s, err := New(delay, t.Errorf)
	if err != nil {
		t.Fatal(err)
	}
	s.owner, s.public, s.journal.id = "OWNER", "PUBLIC", "JOURNAL"
	st := &studio{t, s, &wire{conns: make(chan net.Conn), ended: make(chan struct{})}, make(chan struct{}), make(chan error, 1)}
	go func() { st.served <- site.Serve(st.wire, s.Handler(), st.end) }()
	return st
}

// close ends the server.
func (st *studio) close() {
	st.t.Helper()
	if err := st.server.Close(); err != nil {
		st.t.Error(err)
	}
	close(st.end)
	if err := <-st.served; err != nil {
		st.t.Error(err)
	}
}

// ask sends a request, and returns the connection.
func (st *studio) ask(path, header string) net.Conn {
	return st.request("GET", path, "127.0.0.1", header)
}

// request sends a request of any kind. In HTTP 1.0 the answer isn't divided
// into chunks, whose sizes mean nothing.
func (st *studio) request(method, path, host, header string) net.Conn {
	ours, theirs := net.Pipe()
	st.wire.conns <- theirs
	_, _ = fmt.Fprintf(ours, "%s /%s HTTP/1.0\r\nHost: %s\r\n%s\r\n", method, path, host, header)
	return ours
}

const events = "Accept: text/event-stream\r\n"

// A transcript is what came, and when.
type transcript struct {
	at   []time.Duration
	text []string // all that came at the moment with the same index
}

// hear reads a connection until it ends.
func (st *studio) hear(c net.Conn, began time.Time) (*transcript, *sync.WaitGroup) {
	var all transcript
	var ended sync.WaitGroup
	ended.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, err := c.Read(b)
			if at := time.Since(began); n > 0 {
				if k := len(all.at); k == 0 || all.at[k-1] != at {
					all.at, all.text = append(all.at, at), append(all.text, "")
				}
				all.text[len(all.text)-1] += string(b[:n])
			}
			if err != nil {
				_ = c.Close()
				return
			}
		}
	})
	return &all, &ended
}

// until returns what came up to a moment.
func (s *transcript) until(t time.Duration) string {
	var b strings.Builder
	for i, at := range s.at {
		if at <= t {
			fmt.Fprintf(&b, "[%v]%s", at, s.text[i])
		}
	}
	return b.String()
}

// all returns all that came.
func (s *transcript) all() string { return strings.Join(s.text, "") }

// play tells the server of a capture at the speed of the capture, up to a time.
func (st *studio) play(name string, until time.Duration) {
	st.t.Helper()
	var k report.Sink
	var origin time.Time
	began := time.Now()
	p := dissect.New(dissect.Config{})
	recorded.Datagrams(st.t, name, func(d *dissect.Datagram) {
		if k == nil {
			origin = d.Time
			k = st.server.Sink(new(measure.Tally), origin)
		}
		at := d.Time.Sub(origin)
		if at > until {
			at = until
		}
		time.Sleep(at - time.Since(began))
		if at == until {
			return
		}
		before := time.Now()
		if err := p.Push(d, k.Record); err != nil {
			st.t.Fatal(err)
		}
		if waited := time.Since(before); waited > 0 {
			st.t.Errorf("the fold waited for %v", waited)
		}
	})
	if err := k.Close(); err != nil {
		st.t.Fatal(err)
	}
}

// TestDelay plays a battle twice, and ends it early the first time. Whatever who has the
// public address gets, and when, is the same for both until the delay is over: nothing
// depends on what is newer.
func TestDelay(t *testing.T) {
	const ends = 40 * time.Second
	paths := []string{"PUBLIC/api/page", "PUBLIC/api/live", "PUBLIC/", "PUBLIC/overlay", "PUBLIC/live.js", "PUBLIC/api/flights?match=0", "PUBLIC/api/flights?match=1", "PUBLIC/none"}
	watch := func(until time.Duration) (heard []*transcript) {
		synctest.Test(t, func(t *testing.T) {
			st := newStudio(t)
			began := time.Now()
			var mu sync.Mutex
			var all []*sync.WaitGroup
			add := func(c net.Conn) {
				s, ended := st.hear(c, began)
				mu.Lock()
				defer mu.Unlock()
				heard, all = append(heard, s), append(all, ended)
			}
			for at := time.Duration(0); at < ends+delay; at += 8 * time.Second {
				for i, path := range paths { // one after another, so that their order is always the same
					time.AfterFunc(at+time.Duration(3*i)*time.Millisecond, func() { add(st.ask(path, events)) })
				}
				time.AfterFunc(at+time.Second, func() { add(st.ask("PUBLIC/api/live", "")) })
				time.AfterFunc(at+2*time.Second, func() { add(st.ask("PUBLIC/api/live", events+"Last-Event-ID: JOURNAL-0\r\n")) })
				for i, r := range [][3]string{
					{"HEAD", "PUBLIC/api/live", ""},
					{"HEAD", "PUBLIC/api/page", events},
					{"HEAD", "PUBLIC/api/flights?match=0", ""},
					{"HEAD", "PUBLIC/api/flights?match=1", ""},
					{"GET", "PUBLIC/api/live", "Range: bytes=-200\r\n"},
					{"GET", "PUBLIC/api/flights?match=0", "Range: bytes=0-99\r\n"},
					{"GET", "PUBLIC/api/live", "If-None-Match: *\r\n"},
					{"GET", "PUBLIC/api/live", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n"},
					{"GET", "PUBLIC/", "If-Range: x\r\nRange: bytes=9-\r\n"},
					{"POST", "PUBLIC/api/live", ""},
					{"OPTIONS", "PUBLIC/api/live", ""},
					{"GET", "PUBLIC/api/live", events + "Last-Event-ID: JOURNAL-9999999\r\n"},
					{"GET", "PUBLIC/api/page", events + "Last-Event-ID: JOURNAL--1\r\n"},
				} {
					time.AfterFunc(at+3*time.Second+time.Duration(3*i)*time.Millisecond, func() { add(st.request(r[0], r[1], "127.0.0.1", r[2])) })
				}
			}
			st.play(battle, until)
			time.Sleep(ends + 3*delay - time.Since(began))
			st.close()
			mu.Lock() // no viewer comes any more
			defer mu.Unlock()
			for _, ended := range all {
				ended.Wait()
			}
		})
		return heard
	}
	short, long := watch(ends), watch(time.Hour)
	if len(short) != len(long) || len(short) < 50 {
		t.Fatalf("%d and %d viewers", len(short), len(long))
	}
	differ := 0
	for i := range short {
		if got, want := long[i].until(ends+delay-time.Nanosecond), short[i].until(ends+delay-time.Nanosecond); got != want {
			t.Errorf("viewer %d sees what is newer: %.300q instead of %.300q", i, got, want)
		}
		if long[i].all() != short[i].all() {
			differ++
		}
	}
	if differ < 10 {
		t.Errorf("only %d viewers see what came later", differ)
	}
}

// TestPrivate searches all that the public address gives for chat and addresses.
func TestPrivate(t *testing.T) {
	var texts []string
	hosts := map[string]bool{}
	recorded.Records(t, battle, dissect.Config{}, func(r *dissect.Record) {
		if r.Datagram != nil {
			hosts[r.Datagram.Src.Addr().String()] = true
		}
	})
	synctest.Test(t, func(t *testing.T) {
		st := newStudio(t)
		began := time.Now()
		public := map[string]*transcript{}
		var all []*sync.WaitGroup
		for _, path := range []string{"PUBLIC/api/page", "PUBLIC/api/live", "OWNER/api/page", "OWNER/api/live"} {
			s, ended := st.hear(st.ask(path, events), began)
			public[path] = s
			all = append(all, ended)
		}
		st.play(battle, time.Hour)
		time.Sleep(2 * delay)
		s, ended := st.hear(st.ask("PUBLIC/api/live", ""), began)
		ended.Wait()
		public["PUBLIC/api/live as JSON"] = s
		st.close()
		for _, ended := range all {
			ended.Wait()
		}
		found := st.model("OWNER/api/live", public["OWNER/api/live"].all())
		for _, m := range found {
			for _, c := range m["chat"].([]any) {
				texts = append(texts, c.(map[string]any)["text"].(string))
			}
		}
		texts = slices.DeleteFunc(texts, func(s string) bool { return len(s) < 4 })
		if len(texts) < 5 || len(hosts) < 1 {
			t.Fatalf("the battle has %d lines of chat and %d addresses", len(texts), len(hosts))
		}
		for path, s := range public {
			for _, secret := range append(slices.Collect(maps.Keys(hosts)), texts...) {
				q, _ := json.Marshal(secret)
				if got, want := strings.Contains(s.all(), string(q[1:len(q)-1])), strings.HasPrefix(path, "OWNER"); got && !want {
					t.Errorf("%s tells %q", path, secret)
				}
			}
			if !strings.HasPrefix(path, "PUBLIC/api/page") && !strings.Contains(s.all(), `"kills"`) {
				t.Errorf("%s tells of no kills", path)
			}
		}
	})
}

// model makes of events what a viewer knows in the end.
func (st *studio) model(path, text string) (all []map[string]any) {
	st.t.Helper()
	event := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || event != "match" {
			continue
		}
		var p struct {
			Match  int
			Whole  bool
			Values map[string]any
			Lists  map[string]map[string]any
		}
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			st.t.Fatalf("%s: %v: %.200s", path, err, data)
		}
		for len(all) <= p.Match {
			all = append(all, map[string]any{})
		}
		if p.Whole {
			clear(all[p.Match])
		}
		for k, v := range p.Values {
			if all[p.Match][k] = v; v == nil {
				delete(all[p.Match], k)
			}
		}
		for k, change := range p.Lists {
			list, ok := all[p.Match][k].([]any)
			if !ok {
				list = []any{}
			}
			list = append(slices.Clip(list), make([]any, max(0, int(change["length"].(float64))-len(list)))...)[:int(change["length"].(float64))]
			for i := range list {
				if item, ok := change[strconv.Itoa(i)]; ok {
					list[i] = item
				}
			}
			all[p.Match][k] = list
		}
	}
	return all
}

// told returns what session tells of a capture, as far as the API has it.
func told(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	var b *match.Builder
	p := dissect.New(dissect.Config{})
	recorded.Datagrams(t, name, func(d *dissect.Datagram) {
		if b == nil {
			b = match.New(d.Time)
		}
		if err := p.Push(d, b.Record); err != nil {
			t.Fatal(err)
		}
	})
	_ = b.Close()
	var text bytes.Buffer
	if err := ndjson.Session(&text, b.Matches(), match.Evenings{}, false); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Matches []map[string]any }
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var without func(v any) any
	without = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = without(v[i])
			}
		case map[string]any:
			for _, name := range []string{"condition", "systems", "repairs", "points"} {
				delete(v, name)
			}
			for k := range v {
				v[k] = without(v[k])
			}
		}
		return v
	}
	for _, m := range doc.Matches {
		delete(m, "shots")
		delete(m, "damage")
		without(m)
	}
	return doc.Matches
}

// TestModel compares what viewers know at the end with session: as events, as JSON, and
// for one who came late.
func TestModel(t *testing.T) {
	for _, name := range []string{battle, "restart.pcap", "two_teams.pcap", "stock_client.pcap"} {
		want := told(t, name)
		synctest.Test(t, func(t *testing.T) {
			st := newStudio(t)
			began := time.Now()
			early, first := st.hear(st.ask("OWNER/api/live", events), began)
			var late *transcript
			var second *sync.WaitGroup
			var came sync.WaitGroup
			came.Go(func() {
				time.Sleep(20 * time.Second)
				late, second = st.hear(st.ask("OWNER/api/live", events), began)
			})
			st.play(name, time.Hour)
			came.Wait()
			time.Sleep(30 * time.Second)
			doc, third := st.hear(st.ask("OWNER/api/live", ""), began)
			third.Wait()
			st.close()
			first.Wait()
			second.Wait()
			r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(doc.all())), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Matches []map[string]any }
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			for who, found := range map[string][]map[string]any{"early": st.model(name, early.all()), "late": st.model(name, late.all()), "JSON": got.Matches} {
				if len(found) != len(want) {
					t.Errorf("%s, %s: %d matches, not %d", name, who, len(found), len(want))
					continue
				}
				for i := range want {
					for key, value := range want[i] {
						if !reflect.DeepEqual(found[i][key], value) {
							t.Errorf("%s, %s: match %d has %s %.300v, not %.300v", name, who, i, key, found[i][key], value)
						}
					}
					for key := range found[i] {
						if _, ok := want[i][key]; !ok {
							t.Errorf("%s, %s: session has no %s", name, who, key)
						}
					}
				}
			}
		})
	}
}

// TestStuck has 200 viewers of whom 20 take nothing. Neither the fold nor the other
// viewers wait for these, which are dropped.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStudio(t)
		began := time.Now()
		var heard []*transcript
		var all []*sync.WaitGroup
		for i := range 200 {
			c := st.ask("OWNER/api/page", events)
			if i%10 == 0 {
				defer func() { _ = c.Close() }()
				continue
			}
			s, ended := st.hear(c, began)
			heard, all = append(heard, s), append(all, ended)
		}
		synctest.Wait()
		if n := len(st.server.viewers); n != 200 {
			t.Errorf("%d viewers", n)
		}
		st.play(battle, 60*time.Second)
		if n := len(st.server.viewers); n != 180 {
			t.Errorf("%d viewers stay", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		want := heard[0].all()
		for i, s := range heard {
			if s.all() != want || len(want) < 100_000 {
				t.Errorf("viewer %d has %d bytes, the first one %d", i, len(s.all()), len(want))
			}
		}
		st.close()
		for _, ended := range all {
			ended.Wait()
		}
	})
}

// TestResume goes on after a lost connection, and tries all places at which no entry
// begins: a viewer who lies must not find there what isn't the viewer's.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStudio(t)
		began := time.Now()
		c := st.ask("OWNER/api/live", events)
		first, ended := st.hear(c, began)
		time.AfterFunc(20*time.Second, func() { _ = c.Close() })
		st.play(battle, 40*time.Second)
		ended.Wait()
		text := first.all()
		text = text[:strings.LastIndex(text, "\n\n")+2] // a viewer knows whole events only
		id := text[strings.LastIndex(text, "id: ")+4:]
		id = id[:strings.IndexByte(id, '\n')]
		rest, again := st.hear(st.ask("OWNER/api/live", events+"Last-Event-ID: "+id+"\r\n"), began)
		whole, once := st.hear(st.ask("OWNER/api/live", events), began)
		time.Sleep(time.Second)
		size, _ := st.server.journal.extent()
		begin := map[int64]bool{size: true}
		for at := int64(0); at < size; {
			e, err := st.server.journal.at(at)
			if err != nil {
				t.Fatal(err)
			}
			begin[at] = true
			at = e.next()
		}
		places := slices.Collect(maps.Keys(begin))
		for at := range begin {
			places = append(places, at+1, at-1)
		}
		for at := int64(-3); at < size+100; at += 997 {
			places = append(places, at)
		}
		for _, at := range places {
			if _, ok := st.server.resume(fmt.Sprintf("JOURNAL-%d", at), size); ok != begin[at] {
				t.Fatalf("going on at %d is %v", at, ok)
			}
		}
		if _, ok := st.server.resume("OTHER-0", size); ok {
			t.Error("the id of another program is taken")
		}
		st.close()
		again.Wait()
		once.Wait()
		if strings.Contains(rest.all(), "event: begin") || !reflect.DeepEqual(st.model("again", text+rest.all()), st.model("once", whole.all())) {
			t.Errorf("after a lost connection the viewer knows something else")
		}
	})
}

// TestRefused has too many viewers, and requests with wrong secret addresses.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStudio(t)
		defer st.close()
		status := func(path, header string) int {
			c := st.ask(path, header)
			defer func() { _ = c.Close() }()
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			return r.StatusCode
		}
		for path, want := range map[string]int{
			"OWNER/": 200, "OWNER/overlay": 200, "OWNER/page.js": 200, "PUBLIC/page.css": 200, "OWNER/api/live": 200, "OWNER": 404, "": 404, "api/live": 404, "OTHER/": 404,
			"OWNER/../watch.go": 404, "OWNER/none.js": 404, "OWNER/api/flights?match=0": 404, "OWNER/api/flights?match=-1": 404,
		} {
			if got := status(path, ""); got != want {
				t.Errorf("/%s: %d, not %d", path, got, want)
			}
		}
		for _, c := range []struct {
			method, host string
			want         int
		}{
			{"GET", "127.0.0.1", 200},
			{"HEAD", "localhost:80", 200},
			{"GET", "[::1]:80", 200},
			{"POST", "127.0.0.1", 405},
			{"PUT", "127.0.0.1", 405},
			{"DELETE", "127.0.0.1", 405},
			{"OPTIONS", "127.0.0.1", 405},
			{"PATCH", "127.0.0.1", 405},
			{"GET", "evil.example", 421},
			{"GET", "127.0.0.1.evil.example", 421},
			{"GET", "localhost.evil.example:80", 421},
		} {
			conn := st.request(c.method, "OWNER/api/live", c.host, "Origin: http://evil.example\r\n")
			r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: c.method})
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != c.want || r.Header.Get("Access-Control-Allow-Origin") != "" || r.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s of %s: %d, not %d, with %v", c.method, c.host, r.StatusCode, c.want, r.Header)
			}
			_ = conn.Close()
		}
		for range mostViewers {
			c := st.ask("OWNER/api/live", events)
			defer func() { _ = c.Close() }()
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		synctest.Wait()
		if got := status("OWNER/api/live", events); got != http.StatusServiceUnavailable {
			t.Errorf("one viewer too many gets %d", got)
		}
	})
}

// TestGuests has as many viewers with the public address as there can be: the owner is
// served still. A public viewer who claims to know an entry that is too new begins anew.
func TestGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStudio(t)
		defer st.close()
		answer := func(path, header string) string {
			c := st.ask(path, events+header)
			defer func() { _ = c.Close() }()
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			b, _ := io.ReadAll(c) // until then
			return string(b)
		}
		if err := st.server.journal.add(entry{views: pagePublic, kind: change}, &draft{text: []byte("{}"), into: st.server.journal}); err != nil {
			t.Fatal(err)
		}
		size, _ := st.server.journal.extent()
		claim := fmt.Sprintf("Last-Event-ID: JOURNAL-%d\r\n", size)
		if got := answer("PUBLIC/api/page", claim); !strings.Contains(got, "event: begin") {
			t.Errorf("an entry that is too new is known: %q", got)
		}
		time.Sleep(delay)
		if got := answer("PUBLIC/api/page", claim); strings.Contains(got, "event: begin") || !strings.Contains(got, "200 OK") {
			t.Errorf("an entry that is old enough isn't known: %q", got)
		}
		for range mostViewers {
			c := st.ask("PUBLIC/api/live", events)
			defer func() { _ = c.Close() }()
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		synctest.Wait()
		if guest, owner := answer("PUBLIC/api/live", ""), answer("OWNER/api/live", ""); !strings.Contains(guest, " 503 ") || !strings.Contains(owner, " 200 OK") {
			t.Errorf("a guest gets %.20q, the owner %.20q", guest, owner)
		}
	})
}

// TestManyMatches has more matches than viewers see: the last ones are shown,
// the public address shows older ones until the delay is over, and nothing is
// kept of those that have ended.
func TestManyMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStudio(t)
		defer st.close()
		const early, all = 10, mostMatches + 44
		play := func(n int) {
			st.server.mu.Lock()
			defer st.server.mu.Unlock()
			for range n {
				m := &match.Match{Begin: float64(st.server.matches), Lives: make([]match.Life, 1)}
				st.server.flights.sample(m, 0, &match.Sample{T: 1})
				st.server.follow(m, true, true)
			}
			if n := len(st.server.flights.matches) + len(st.server.index) + len(st.server.followers[0].matches); n != 0 {
				t.Errorf("%d matches that have ended are kept", n)
			}
		}
		ask := func(path, header string) string {
			c := st.ask(path, header)
			defer func() { _ = c.Close() }()
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			b, _ := io.ReadAll(c)
			_, body, _ := strings.Cut(string(b), "\r\n\r\n")
			return body
		}
		check := func(path string, first, last int) {
			t.Helper()
			var doc struct {
				First   int
				Matches []struct {
					Begin float64 `json:"begin_t"`
				}
			}
			if err := json.Unmarshal([]byte(ask(path+"/api/live", "")), &doc); err != nil {
				t.Fatal(err)
			}
			if n := last + 1 - first; doc.First != first || len(doc.Matches) != n || doc.Matches[0].Begin != float64(first) || doc.Matches[n-1].Begin != float64(last) {
				t.Errorf("%s: %d matches from %d on, want %d to %d", path, len(doc.Matches), doc.First, first, last)
			}
			if begin := fmt.Sprintf(`"match":%d,"first":%d,"most":%d}`, last, first, mostMatches); !strings.Contains(ask(path+"/api/page", events), begin) {
				t.Errorf("%s: the events do not begin with %s", path, begin)
			}
			for m, want := range map[int]bool{first - 1: false, first: true, last: true, last + 1: false} {
				if got := strings.HasPrefix(ask(fmt.Sprintf("%s/api/flights?match=%d", path, m), ""), `[{"match":`); got != want {
					t.Errorf("%s has the flights of match %d: %v", path, m, got)
				}
			}
		}
		play(early)
		time.Sleep(delay)
		play(all - early)
		check("OWNER", all-mostMatches, all-1)
		check("PUBLIC", 0, early-1)
		time.Sleep(delay)
		check("PUBLIC", all-mostMatches, all-1)
	})
}
