package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/fixtures"
)

// serve runs a host on a socket of loopback until the test ends, and returns
// its address.
func serve(t *testing.T, cfg relay.Config) string {
	t.Helper()
	cfg.Captured = true // some captured clients give a slot where their id belongs
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		host := relay.NewHost(cfg)
		buf := make([]byte, 2048)
		for {
			if err := socket.SetReadDeadline(time.Now().Add(5 * time.Millisecond)); err != nil {
				return
			}
			n, from, err := socket.ReadFromUDPAddrPort(buf)
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if err == nil {
				host.Receive(time.Now(), from, buf[:n])
			}
			host.Advance(time.Now())
			for {
				to, datagram, ok := host.Send()
				if !ok {
					break
				}
				if _, err := socket.WriteToUDPAddrPort(datagram, to); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-done
	})
	return netip.MustParseAddrPort(socket.LocalAddr().String()).String()
}

// game is the game of stock_client.pcap.
func game() relay.Config {
	return relay.Config{
		Mission: "Multiplayer.Episode.Mission1.Mission1", System: 1, Players: 8, TimeLimit: 255, FragLimit: 255, Collisions: true,
	}
}

// performed is the part of the report of --to that tests look at.
type performed struct {
	Clients []struct {
		Peer int
		Slot int
		Name string
	}
	Inputs      int
	Classes     []struct{ Opcode, Expected, Matched int }
	Differences []struct{ Kind, Detail string }
	Conforms    bool
}

func perform(t *testing.T, args ...string) (p performed, code int, errText string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"replay", "-T", "json"}, args...), cli.Streams{Out: &out, Err: &errs})
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &p); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return p, code, errs.String()
}

// TestReplayTo plays the clients of a capture to a running host. Each client
// sent 59 messages. Of these, a stock host forwards 2 creations, 4 shots of
// each kind, and 6 chat lines, which both clients receive.
func TestReplayTo(t *testing.T) {
	fixtures.System(t) // a slow machine lets shots come after their player has left
	p, code, errs := perform(t, fixtures.Path("captures/stock_client.pcap"), "--to", serve(t, game()), "--speed", "20")
	if code != cli.ExitOK || !p.Conforms || len(p.Differences) > 0 {
		t.Fatalf("exit status %d, differences %v, said %q", code, p.Differences, errs)
	}
	if len(p.Clients) != 2 || p.Clients[0].Name != "Cady2" || p.Clients[1].Name != "Kirk" {
		t.Errorf("clients %v, want Cady2 and Kirk", p.Clients)
	}
	want := map[int]int{0x03: 2, 0x07: 4, 0x08: 4, 0x19: 4, 0x2C: 12}
	for _, c := range p.Classes {
		if n, ok := want[c.Opcode]; ok {
			if c.Matched < n || c.Matched != c.Expected {
				t.Errorf("opcode %02X: %d of %d copies came, want at least %d", c.Opcode, c.Matched, c.Expected, n)
			}
			delete(want, c.Opcode)
		}
	}
	if len(want) > 0 {
		t.Errorf("nothing of opcodes %v", want)
	}
}

// TestReplayToLeaver plays a captured client that leaves directly after
// MissionInit. It receives MissionInit in the replay as well.
func TestReplayToLeaver(t *testing.T) {
	fixtures.System(t) // a performance takes time
	p, code, errs := perform(t, fixtures.Path("captures/join_flow.pcap"), "--to", serve(t, game()), "--speed", "20")
	if code != cli.ExitOK || len(p.Clients) != 1 || strings.Contains(errs, "never got into the game") {
		t.Errorf("exit status %d, clients %v, said %q", code, p.Clients, errs)
	}
	if !strings.Contains(errs, "2 more games, the first at 127.0.0.1:29871; only the first game was played") {
		t.Errorf("said %q", errs)
	}
}

// TestReplayToBroken plays to hosts that answer with garbage or not at all.
// They cannot be compared, and the command fails.
func TestReplayToBroken(t *testing.T) {
	fixtures.System(t) // patience takes time
	t.Parallel()
	for _, c := range []struct {
		name, want string
		answer     func(n int, datagram []byte) []byte
	}{
		{"garbage", "answers, but accepts no client", func(int, []byte) []byte { return bytes.Repeat([]byte{0, 0xff}, 100) }},
		{"echo", "answers, but accepts no client", func(_ int, b []byte) []byte { return b }},
		{"mute", "does not answer", func(int, []byte) []byte { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = socket.Close() }() // nothing is kept in it
			go func() {
				buf := make([]byte, 2048)
				for n := 1; ; n++ {
					size, from, err := socket.ReadFromUDPAddrPort(buf)
					if err != nil {
						return
					}
					if b := c.answer(n, buf[:size]); b != nil {
						_, _ = socket.WriteToUDPAddrPort(b, from)
					}
				}
			}()
			_, code, errs := perform(t, fixtures.Path("captures/stock_client.pcap"), "--to", socket.LocalAddr().String(), "--speed", "100")
			if code != cli.ExitFailed || !strings.Contains(errs, c.want) {
				t.Errorf("exit status %d, said %q, want %q", code, errs, c.want)
			}
		})
	}
}

func TestReplayToOthers(t *testing.T) {
	file := fixtures.Path("captures/stock_client.pcap")
	for _, c := range []struct{ to, want string }{
		{"192.0.2.1:22101", "another machine"},
		{"nonsense", "HOST:PORT"},
		{"127.0.0.1:0", "HOST:PORT"},
	} {
		if _, code, errs := perform(t, file, "--to", c.to); code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("--to %s: exit status %d, said %q, want %q", c.to, code, errs, c.want)
		}
	}
	for _, args := range [][]string{{"--speed", "2"}, {"--to", "127.0.0.1:22101", "--speed", "0"}, {"--yes-remote"}} {
		if _, code, errs := perform(t, append([]string{file}, args...)...); code != cli.ExitUsage || !strings.Contains(errs, "--speed") {
			t.Errorf("%v: exit status %d, said %q", args, code, errs)
		}
	}
}
