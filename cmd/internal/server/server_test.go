package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

func TestChecksumList(t *testing.T) {
	list := checksumList{}
	for path, want := range map[string]bool{
		"scripts/App.pyc": true, "SCRIPTS/ships/Akira.pyc": true, "scripts/Multiplayer/Episode/Episode.pyc": true,
		"scripts": false, "scripts/": false, "scriptsApp.pyc": false, "data/x": false,
	} {
		if got := list.add(path, 1); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	file := func(name string, content uint32) msg.ChecksumFile {
		return msg.ChecksumFile{Name: names.Hash(name), Content: content}
	}
	episode := msg.ChecksumTree{
		Subdirs: []uint32{names.Hash("Other"), names.Hash("Episode")},
		Trees:   []msg.ChecksumTree{{Files: []msg.ChecksumFile{file("Episode.pyc", 2)}}, {Files: []msg.ChecksumFile{file("Episode.pyc", 2)}}},
	}
	for _, tt := range []struct {
		name string
		m    msg.ChecksumResponse
		want string
	}{
		{"the same", msg.ChecksumResponse{Tree: msg.ChecksumTree{Files: []msg.ChecksumFile{file("App.pyc", 1)}}}, ""},
		{"another", msg.ChecksumResponse{Tree: msg.ChecksumTree{Files: []msg.ChecksumFile{file("App.pyc", 2)}}}, "scripts/App.pyc"},
		{"unknown", msg.ChecksumResponse{Tree: msg.ChecksumTree{Files: []msg.ChecksumFile{file("app.pyc", 2)}}}, ""},
		{"missing", msg.ChecksumResponse{}, ""},
		{"elsewhere", msg.ChecksumResponse{Round: 3, Tree: msg.ChecksumTree{Files: []msg.ChecksumFile{file("App.pyc", 2)}}}, ""},
		{"ships", msg.ChecksumResponse{Round: 2, Tree: msg.ChecksumTree{Files: []msg.ChecksumFile{file("Akira.pyc", 2)}}}, "SCRIPTS/ships/Akira.pyc"},
		{"deep", msg.ChecksumResponse{Round: 255, Tree: episode}, "scripts/Multiplayer/Episode/Episode.pyc"},
	} {
		if got := list.Check(&tt.m); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestBanList(t *testing.T) {
	bans := banList{{192, 0, 2, 7}, {198, 51, 255, 255}}
	for _, tt := range []struct {
		claimed [4]byte
		from    string
		want    bool
	}{
		{[4]byte{192, 0, 2, 7}, "203.0.113.1", true},
		{[4]byte{10, 0, 0, 1}, "192.0.2.7", true},
		{[4]byte{10, 0, 0, 1}, "::ffff:192.0.2.7", true},
		{[4]byte{10, 0, 0, 1}, "192.0.2.8", false},
		{[4]byte{198, 51, 0, 3}, "203.0.113.1", true},
		{[4]byte{198, 52, 0, 3}, "203.0.113.1", false},
		{[4]byte{10, 0, 0, 1}, "2001:db8::1", false},
	} {
		if got := bans.holds(tt.claimed, netip.MustParseAddr(tt.from)); got != tt.want {
			t.Errorf("%v from %s: got %v, want %v", tt.claimed, tt.from, got, tt.want)
		}
	}
}

// newTestServer returns a server that is not run.
func newTestServer(t *testing.T) *Server {
	t.Helper()
	conn, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := New(conn, netip.MustParseAddrPort("192.0.2.1:22101"))
	s.Host = relay.NewHost(relay.Config{Name: "Test"})
	s.Log = cli.NewLog(io.Discard, false)
	return s
}

// The master server receives a heartbeat every five minutes and after changes.
// Without a master server there are none.
func TestHeartbeat(t *testing.T) {
	master, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := master.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t)
	now := time.Now()
	s.beat(now)
	if s.bytesOut > 0 {
		t.Error("there is no master server, but something was sent")
	}
	if s.Master, err = Master(master.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
	beats := func(at time.Duration, want string) {
		t.Helper()
		before := s.bytesOut
		s.beat(now.Add(at))
		if want == "" {
			if s.bytesOut != before {
				t.Errorf("%v: something was sent", at)
			}
			return
		}
		b := make([]byte, 256)
		n, err := master.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("%v: got %q, %v, want %q", at, b[:n], err, want)
		}
	}
	const heartbeat = `\heartbeat\22101\gamename\bcommander`
	beats(0, heartbeat)
	beats(299*time.Second, "")
	beats(300*time.Second, heartbeat)
	c := relaytest.NewClient(relaytest.Options{Name: "P", Nonce: 1})
	c.Connect(now)
	d, _ := c.Datagram(now)
	s.Host.Receive(now, netip.MustParseAddrPort("198.51.100.1:4000"), d)
	for _, answer, ok := s.Host.Send(); ok; _, answer, ok = s.Host.Send() {
		c.Receive(now, answer)
	}
	d, _ = c.Datagram(now) // with its id
	s.Host.Receive(now, netip.MustParseAddrPort("198.51.100.1:4000"), d)
	beats(309*time.Second, "")
	beats(310*time.Second, heartbeat+`\statechanged\1`)
	beats(320*time.Second, "")
	beats(610*time.Second, heartbeat)
}

// Above a number in a second, repetitions are only counted. The log names every
// disconnected player.
func TestEvents(t *testing.T) {
	s := newTestServer(t)
	var b strings.Builder
	s.Log = cli.NewLog(&b, false)
	at := netip.MustParseAddrPort("198.51.100.1:4000")
	for range 1000 {
		s.Event(relay.Event{Kind: relay.Refused, Addr: at, Slot: -1, Name: []byte("A\x00\x1b\x00"), Text: "banned"})
	}
	for id := range uint8(8) {
		s.Event(relay.Event{Kind: relay.Kicked, Addr: at, Peer: id + 2, Slot: int(id), Text: "kicked"})
	}
	s.everySecond(time.Now())
	s.Log.Close()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if want := eventsAtOnce + 8 + 1; len(lines) != want {
		t.Fatalf("got %d lines, want %d: %q", len(lines), want, lines)
	}
	for n, want := range map[int]string{
		0:                `bcdissect: 198.51.100.1:4000 refused "A\x1b": banned`,
		eventsAtOnce:     "bcdissect: 198.51.100.1:4000 kicked id 2 slot 0: kicked",
		eventsAtOnce + 7: "bcdissect: 198.51.100.1:4000 kicked id 9 slot 7: kicked",
		eventsAtOnce + 8: "bcdissect: and 950 more",
	} {
		if lines[n] != want {
			t.Errorf("line %d: got %q, want %q", n, lines[n], want)
		}
	}
}

// A blocked report loses datagrams, which are counted. The others are complete.
func TestFeed(t *testing.T) {
	f := NewFeed()
	a, b := netip.MustParseAddrPort("198.51.100.1:4000"), netip.MustParseAddrPort("192.0.2.1:22101")
	now := time.Now()
	for n := range feedQueue + 100 {
		f.Put(now, a, b, fmt.Appendf(nil, "%d", n))
	}
	if got := f.dropped.Load(); got != 100 {
		t.Errorf("%d were dropped, want 100", got)
	}
	f.End()
	for n := range feedQueue {
		d, err := f.Next()
		if err != nil || d.Number != n+1 || string(d.Payload) != fmt.Sprint(n) || d.Src != a || d.Dst != b {
			t.Fatalf("%d: got %+v, %v", n, d, err)
		}
	}
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
	if s := f.Stats(); s.Datagrams != feedQueue || !s.FirstTime.Equal(now) {
		t.Errorf("got %+v", s)
	}
}
