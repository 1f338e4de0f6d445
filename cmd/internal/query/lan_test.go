package query

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/fixtures"
)

func TestBroadcasts(t *testing.T) {
	for network, want := range map[string]string{
		"192.168.1.5/24":  "192.168.1.255",
		"10.1.2.3/8":      "10.255.255.255",
		"172.16.5.9/20":   "172.16.15.255",
		"192.0.2.1/31":    "",
		"192.0.2.1/32":    "",
		"fe80::1/64":      "",
		"2001:db8::1/120": "",
	} {
		ip, n, err := net.ParseCIDR(network)
		if err != nil {
			t.Fatal(err)
		}
		n.IP = ip
		got := ""
		for _, a := range appendBroadcast(nil, n) {
			got += a.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", network, got, want)
		}
		if all := appendBroadcast(appendBroadcast(nil, n), n); len(all) > 1 {
			t.Errorf("%s twice: %v", network, all)
		}
	}
}

// answerOf returns a datagram of an answer.
func answerOf(port uint16, text string) arrival {
	return arrival{netip.AddrPortFrom(netip.MustParseAddr("10.0.0.7"), port), time.Unix(1, 0), []byte(text)}
}

// Unsolicited datagrams are ignored, and a flood of them is bounded.
func TestTake(t *testing.T) {
	found, others := map[netip.AddrPort]*Result{}, map[netip.AddrPort]bool{}
	whole := `\hostname\A\final\\queryid\1.1`
	asked := time.Unix(0, 5e8)
	for _, p := range []arrival{answerOf(53, whole), answerOf(FirstPort-1, whole), answerOf(LastPort+1, whole), answerOf(22150, "no reply"), answerOf(22150, `\status\`)} {
		take(found, others, p, asked)
	}
	if len(found) > 0 {
		t.Fatalf("%v", found)
	}
	take(found, others, answerOf(22150, `\hostname\A\queryid\1.1`), asked)
	p := answerOf(22150, `\player_0\x\final\\queryid\1.2`)
	p.at = time.Unix(9, 0)
	take(found, others, p, asked)
	take(found, others, answerOf(22150, `\hostname\B\queryid\2.1`), asked)
	r := found[p.from]
	if name, _ := r.Reply.Get("hostname"); len(found) != 1 || !r.Reply.Complete() || name != "A" || r.RoundTrip != 500*time.Millisecond || r.Host != "10.0.0.7:22150" {
		t.Errorf("%+v", r)
	}
	for i := range 100_000 {
		p := answerOf(22101, whole)
		p.from = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), FirstPort)
		take(found, others, p, asked)
	}
	if len(found) != mostServers || len(others) != mostServers {
		t.Errorf("%d servers, %d more", len(found), len(others))
	}
}

// Of a server's incomplete answers in several rounds the best is kept, with its own
// round trip.
func TestRounds(t *testing.T) {
	found, others := map[netip.AddrPort]*Result{}, map[netip.AddrPort]bool{}
	for i, round := range []struct {
		late time.Duration
		text []string
		want string // round trip, parts, whether they are all, queries
	}{
		{3 * time.Second, []string{`\hostname\A\queryid\1.1`}, "3s 1 false 1"},
		{4 * time.Second, []string{`\hostname\A\queryid\2.1`, `\player_0\x\queryid\2.2`}, "4s 2 false 2"},
		{time.Second, []string{`\player_0\x\queryid\3.2`}, "4s 2 false 3"},
		{time.Second, nil, "4s 2 false 4"},
		{2 * time.Second, []string{`\hostname\A\final\\queryid\5.1`}, "2s 1 true 5"}, // whole, if smaller
		{time.Second, []string{`\hostname\A\final\\queryid\6.1`}, "2s 1 true 5"},
	} {
		before, asked := reset(found), time.Unix(100, 0)
		for k, text := range round.text {
			p := answerOf(22150, text)
			p.at = asked.Add(round.late + time.Duration(k)*time.Second)
			take(found, others, p, asked)
		}
		settle(found, before, i+1)
		r := found[answerOf(22150, "").from]
		if got := fmt.Sprint(r.RoundTrip, r.Reply.Parts(), r.Reply.Complete(), r.Queries); got != round.want {
			t.Errorf("round %d: %s, want %s", i+1, got, round.want)
		}
	}
	late := answerOf(22151, `\hostname\B\queryid\6.1`)
	take(found, others, late, time.Unix(0, 0))
	if settle(found, nil, 6); found[late.from].Queries != 6 {
		t.Errorf("%d queries, and it has answered the sixth", found[late.from].Queries)
	}
}

// Servers on this computer are found on every port of the game. Servers of
// other games are not listed, and servers with incomplete answers are.
func TestLAN(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	game := gamespy.Game{Version: "60", Name: "Lab", Map: "DM", Limit: 8}
	for i := range 20 {
		game.Players = append(game.Players, fmt.Sprint(i, strings.Repeat("y", 80)))
	}
	names := map[uint16]string{}
	serve := func(name string, answer func(n int, query []byte) [][]byte) uint16 {
		t.Helper()
		for port := uint16(LastPort); port >= FirstPort; port-- { // others may run on the first ones
			conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
			if err != nil {
				continue
			}
			t.Cleanup(func() { _ = conn.Close() })
			go answerAll(conn, answer)
			names[port] = name
			return port
		}
		t.Skip("no free port")
		return 0
	}
	whole := func(n int, query []byte) [][]byte { return gamespy.Answer(gamespy.Parse(query), &game, n) }
	first := serve("whole", whole)
	late := serve("late", func(n int, query []byte) [][]byte {
		if n == 1 {
			return whole(n, query)[:1]
		}
		return whole(n, query)
	})
	part := serve("part", func(n int, query []byte) [][]byte { return whole(n, query)[:1] })
	serve("other", func(int, []byte) [][]byte { return [][]byte{[]byte(`\gamename\quake\hostname\x\final\\queryid\1.1`)} })
	serve("silent", func(int, []byte) [][]byte { return nil })
	serve("noise", func(int, []byte) [][]byte { return [][]byte{{1, 2, 3}} })

	results, left, err := LAN(context.Background(), []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Options{Timeout: 2 * time.Second, Retries: 1})
	if err != nil || left > 0 {
		t.Fatalf("%d more, %v", left, err)
	}
	got := map[uint16]string{}
	for _, r := range results {
		port := r.Addr.Port()
		if names[port] == "" {
			continue // a server of another program on this machine
		}
		got[port] = fmt.Sprint(r.Queries, r.Reply.Complete(), r.Err != nil)
	}
	want := map[uint16]string{first: "1 true false", late: "2 true false", part: "2 false true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v of %v", got, want, names)
	}

	ctx, stop := context.WithCancel(context.Background())
	stop()
	const long = time.Hour // which it doesn't wait
	if _, _, err := LAN(ctx, Networks(), Options{Timeout: long}); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}
