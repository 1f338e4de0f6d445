package query

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/fixtures"
)

func TestWithPort(t *testing.T) {
	for _, tt := range []struct{ host, want string }{
		{"localhost", "localhost:22101"},
		{"localhost:1", "localhost:1"},
		{"192.0.2.7", "192.0.2.7:22101"},
		{"::1", "[::1]:22101"},
		{"[::1]", "[::1]:22101"},
		{"[::1]:7", "[::1]:7"},
		{"", ""},
		{":22101", ""},
		{"localhost:", ""},
		{"a:b:c", ""},
		{"http://x", ""},
		{"fe80::1%lo", "[fe80::1%lo]:22101"},
	} {
		got, err := WithPort(tt.host)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: got %q, %v", tt.host, got, err)
		}
	}
}

// A server answers each datagram by a function.
func server(t *testing.T, answer func(n int, query []byte) [][]byte) string {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go answerAll(conn, answer)
	return conn.LocalAddr().String()
}

// answerAll answers each datagram by a function until the socket is closed.
func answerAll(conn *net.UDPConn, answer func(n int, query []byte) [][]byte) {
	buf := make([]byte, 2048)
	for n := 1; ; n++ {
		size, from, err := conn.ReadFromUDP(buf)
		if err != nil {
			return
		}
		for _, d := range answer(n, buf[:size]) {
			_, _ = conn.WriteToUDP(d, from)
		}
	}
}

// The servers are on this machine, but a timeout needs time.
func TestAll(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	game := gamespy.Game{Version: "60", Name: "Lab", Map: "DM", Limit: 8, Players: []string{"Dedicated Server", strings.Repeat("x", 200)}}
	for i := range 20 {
		game.Players = append(game.Players, fmt.Sprintf("player %d%s", i, strings.Repeat("y", 80)))
	}
	full := func(n int, query []byte) [][]byte { return gamespy.Answer(gamespy.Parse(query), &game, n) }
	hosts := []string{
		server(t, full),
		server(t, func(n int, query []byte) [][]byte { // the second query gets an answer, its end first
			if n < 2 {
				return nil
			}
			all := full(n, query)
			slices.Reverse(all)
			return all
		}),
		server(t, func(int, []byte) [][]byte { return nil }),
		server(t, func(int, []byte) [][]byte { return [][]byte{{1, 2, 3}} }),
		server(t, func(n int, query []byte) [][]byte { return full(n, query)[:1] }),
		server(t, func(int, []byte) [][]byte { return slices.Repeat([][]byte{[]byte("flood")}, 1000) }),
		server(t, func(int, []byte) [][]byte { return [][]byte{[]byte(`\final\\queryid\1.1`)} }),
		server(t, func(int, []byte) [][]byte {
			return [][]byte{[]byte(`\gamename\quake\hostname\x\final\\queryid\1.1`)}
		}),
		server(t, func(int, []byte) [][]byte { // parts twice and in another order, and one of another query
			return [][]byte{[]byte(`\player_1\B\final\\queryid\7.3`), []byte(`\hostname\F\queryid\7.1`), []byte(`\hostname\F\queryid\7.1`), []byte(`\player_0\A\queryid\7.2`)}
		}),
		"127.0.0.1:1",
	}
	// A server that answers ends the wait for it, so its timeout may be long. The one that
	// answers the second query has a shorter timeout, and the others a very short one.
	const long, some, little = time.Minute, 3 * time.Second, 200 * time.Millisecond
	wants := []struct {
		timeout  time.Duration
		queries  int
		complete bool
		err      string
	}{
		{long, 1, true, ""},
		{some, 2, true, ""},
		{little, 3, false, "no answer (3 queries of 200ms each)"},
		{little, 3, false, "answers with 3 bytes, which are not a GameSpy reply"},
		{little, 3, false, "the answer is incomplete: got 1 of its datagrams"},
		{little, 3, false, "answers with 5 bytes, which are not a GameSpy reply"},
		{long, 1, true, "its answer is empty"},
		{long, 1, true, `is a server of another game, "quake"`},
		{long, 1, true, ""},
		{little, 3, false, "nothing listens there (read: connection refused)"},
	}
	var all sync.WaitGroup
	for timeout := range map[time.Duration]bool{long: true, some: true, little: true} {
		var rows []int
		var asked []string
		for i := range wants {
			if wants[i].timeout == timeout {
				rows, asked = append(rows, i), append(asked, hosts[i])
			}
		}
		all.Go(func() {
			for n, r := range All(context.Background(), asked, Options{Timeout: timeout, Retries: 2}) {
				want := wants[rows[n]]
				said := ""
				if r.Err != nil {
					said = r.Err.Error()
				}
				if r.Host != asked[n] || r.Queries != want.queries || r.Reply.Complete() != want.complete || !strings.Contains(said, want.err) || (said == "") != (want.err == "") {
					t.Errorf("%s: %d queries, complete %v, error %q; want %+v", r.Host, r.Queries, r.Reply.Complete(), said, want)
				}
				if rows[n] < 2 && (len(r.Reply.Players()) != 22 || r.RoundTrip <= 0 || r.RoundTrip > timeout) {
					t.Errorf("%s: players %q after %v", r.Host, r.Reply.Players(), r.RoundTrip)
				}
			}
		})
	}
	all.Wait()
}
