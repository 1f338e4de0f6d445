package match_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// part returns the matches of the datagrams of a capture that are wanted.
func part(t *testing.T, name string, wanted func(*dissect.Datagram) bool) []*match.Match {
	t.Helper()
	p := dissect.New(dissect.Config{})
	var b *match.Builder
	recorded.Datagrams(t, name, func(d *dissect.Datagram) {
		if !wanted(d) {
			return
		}
		if b == nil {
			b = match.New(d.Time)
		}
		if err := p.Push(d, b.Record); err != nil {
			t.Fatal(err)
		}
	})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Matches()
}

func all(*dissect.Datagram) bool { return true }

// Players say goodbye with type 05 (frame 332) or OpenBC's type 06, are
// announced to the others, or fall silent: Mute's last datagram is frame 64, 20 s
// before the end.
func TestLeftHow(t *testing.T) {
	for _, tt := range []struct {
		capture, player, want string
	}{
		{"stock_client.pcap", "Kirk", match.LeftItself},
		{"join_flow.pcap", "Survivor", match.LeftItself},
		{"battle_mix.pcap.gz", "Bot0", match.LeftAnnounced},
		{"lossy.pcap", "Mute", match.LeftSilent},
	} {
		got := "no such player"
		for _, m := range part(t, tt.capture, all) {
			for i := range m.Players {
				if m.Players[i].Name.Raw() == tt.player {
					got = m.Players[i].LeftHow
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s left by %q, want %q", tt.capture, tt.player, got, tt.want)
		}
	}
}

// Each player is one row, and says how often they came and how they left. What is told late
// changes nothing.
func TestRows(t *testing.T) {
	const duel = "Ben joins\nBen flies\nAnn joins\nAnn flies\n"
	for _, tt := range []struct{ what, story, want string }{
		{"came back", duel + "Ann leaves\nAnn#2 joins", "Ben 1, Ann 2"},
		{"came back before the host noticed", duel + "Ann#2 joins\nAnn#2 flies\nhost deletes Ann", "Ben 1, Ann 2"},
		{"two of a name", duel + "Ann#2 joins\nAnn is there\nhost deletes Ann", "Ben 1, Ann 1 host, Ann 1"},
		{"the second of a name came back", duel + "Ann#2 joins\nAnn is there\nAnn#2 leaves\nAnn#3 joins\nAnn is there", "Ben 1, Ann 1, Ann 2"},
		{"a name that two had", duel + "Ann#2 joins\nAnn is there\nAnn#2 leaves\nhost misses Ann\nAnn is there", "Ben 1, Ann 1, Ann 1 disconnect"},
		{"settings crossed the leave", duel + "Ann leaves\nBen leaves\nAnn starts", "Ben 1 disconnect, Ann 1 disconnect"},
		{"settings crossed the leave in OpenBC's form", duel + "Ann quits\nBen quits\nAnn starts", "Ben 1 disconnect, Ann 1 disconnect"},
		{"refused", duel + "Cid is refused", "Ben 1, Ann 1"},
		{"another got the number of one who left", "Ben joins\nhost deletes Cid\nCid joins", "Ben 1,  0 host, Cid 1"},
	} {
		s := newStage(t)
		for line := range strings.SplitSeq(tt.story, "\n") {
			s.play(line)
		}
		if err := s.b.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range s.b.Matches() {
			for i := range m.Players {
				p := &m.Players[i]
				got = append(got, strings.TrimSpace(fmt.Sprint(p.Name, " ", p.Stays, " ", p.LeftHow)))
			}
		}
		if text := strings.Join(got, ", "); text != strings.ReplaceAll(tt.want, ",  0", ", 0") {
			t.Errorf("%s: got %s, want %s", tt.what, text, tt.want)
		}
	}
}

// A host that closes the game tells every player. The players' answers tell
// nothing new. Until then a player's silence may end.
func TestHostCloses(t *testing.T) {
	host := netip.MustParseAddrPort("10.0.0.1:22101")
	b := match.New(time.Unix(1000, 0))
	players := [2]dissect.Player{{Name: "Ann", ID: 2, Slot: 0, Team: -1}, {Name: "Ben", ID: 3, Slot: 1, Team: -1}}
	n := 0
	send := func(at float64, player int, dir dissect.Dir, m transport.Type, message any) {
		n++
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + player)}), 1000)
		d := &dissect.Datagram{Number: n, Time: time.Unix(1000, 0).Add(time.Duration(at * float64(time.Second))), Src: client, Dst: host}
		if dir == dissect.FromHost {
			d.Src, d.Dst = host, client
		}
		r := &dissect.Record{Datagram: d, Dir: dir, Player: &players[player], Conversation: player + 1, Transport: transport.Header{Type: m}}
		switch m := message.(type) {
		case *transport.Accept:
			r.Message = m
		case *transport.Goodbye:
			r.Message = m
		}
		if err := b.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	how := func(player int) string { return b.Matches()[0].Players[player].LeftHow }
	for i := range players {
		send(0, i, dissect.FromHost, transport.Connect, &transport.Accept{})
		send(1, i, dissect.ToHost, transport.DoNothing, nil)
	}
	send(2, 0, dissect.ToHost, transport.NameChange, nil)
	send(20, 1, dissect.ToHost, transport.DoNothing, nil)
	if got := how(0); got != match.LeftSilent {
		t.Errorf("after 18 s Ann left by %q", got)
	}
	send(21, 0, dissect.ToHost, transport.DoNothing, nil)
	if got := how(0); got != "" {
		t.Errorf("after another datagram Ann left by %q", got)
	}
	send(30, 0, dissect.FromHost, transport.Disconnect, &transport.Goodbye{ID: transport.HostPeer})
	send(30.1, 1, dissect.FromHost, transport.Disconnect, &transport.Goodbye{ID: transport.HostPeer})
	send(30.2, 1, dissect.ToHost, transport.Disconnect, &transport.Goodbye{ID: 3})
	m := b.Matches()[0]
	for i := range m.Players {
		if p := &m.Players[i]; p.LeftHow != match.LeftClosed || p.Left == nil || *p.Left != 30 {
			t.Errorf("%s left by %q", p.Name, p.LeftHow)
		}
	}
	last := m.Events[len(m.Events)-2] // then comes the result
	if m.EndedBy != match.EndClosed || m.Open || last.Text != "the host closes the game" {
		t.Errorf("ended by %q, open: %v; the last event is %q", m.EndedBy, m.Open, last.Text)
	}
}

// A capture that was begun in the middle of a battle at Bot1 tells the later
// life of Bot1, and nothing against anybody. The host's updates tell of Bot1's
// ship before its owner is known.
func TestLateAtClient(t *testing.T) {
	var whole match.Player
	for _, p := range part(t, "battle_mix.pcap.gz", all)[0].Players {
		if p.Name == "Bot1" {
			whole = p
		}
	}
	got := part(t, "battle_mix.pcap.gz", func(d *dissect.Datagram) bool {
		return d.Number >= 5000 && (d.Src == whole.Address || d.Dst == whole.Address)
	})
	if len(got) != 1 {
		t.Fatalf("got %d matches", len(got))
	}
	m := got[0]
	if !m.Late || m.Vantage < 0 || m.Players[m.Vantage].Name != "Bot1" || len(m.Players) != 4 || len(m.Unusual) > 0 {
		t.Fatalf("late: %v, made at %d, %d players, unusual: %v", m.Late, m.Vantage, len(m.Players), m.Unusual)
	}
	var ships []string
	for i := range m.Lives {
		if m.Lives[i].Player == m.Vantage {
			ships = append(ships, m.Lives[i].Ship)
		}
	}
	// Frame 11454 destroys the Keldon, after the end of the match.
	if !slices.Equal(ships, []string{"Keldon", "Bird of Prey"}) || m.Players[m.Vantage].Deaths != 0 || len(m.Kills) != 1 || !m.Kills[0].After || m.Players[m.Vantage].LeftHow != match.LeftItself {
		t.Errorf("got %v and %+v", ships, m.Players[m.Vantage])
	}
}
