package match_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// views returns the recordings that players at their computers would have made of
// the match at a host.
func views(t *testing.T, name string, host netip.AddrPort) (all []match.Recording) {
	t.Helper()
	var clients []netip.AddrPort
	recorded.Datagrams(t, name, func(d *dissect.Datagram) {
		client := d.Src
		if client == host {
			client = d.Dst
		}
		if !slices.Contains(clients, client) {
			clients = append(clients, client)
		}
	})
	for i, client := range clients {
		all = append(all, match.Recording{
			Files:   []string{fmt.Sprintf("client%d", i)},
			Matches: part(t, name, func(d *dissect.Datagram) bool { return d.Src == client || d.Dst == client }),
		})
	}
	return all
}

// board returns the result of a match, and its players in the order of their names.
func board(m *match.Match) string {
	var players []string
	for i := range m.Players {
		p := &m.Players[i]
		players = append(players, fmt.Sprintf("%s %d/%d", p.Name.Raw(), p.Kills, p.Deaths))
	}
	slices.Sort(players)
	return m.Result.Value.String() + ": " + strings.Join(players, ", ")
}

// TestMerge has matches at the host and at each client, together and in any order:
// it is one match, with one row a player. The kills are the ones that TestFold counts.
// Under field they come from the score changes in the host's capture.
func TestMerge(t *testing.T) {
	for capture, want := range map[string]string{
		"battle_mix-s96.pcap.gz":             "undecided: Bot0 0/0, Bot1 0/1, Bot2 1/0, Bot3 0/0",
		"battle_mix.pcap.gz":                 "draw: Bot0 0/0, Bot1 0/0, Bot2 0/0, Bot3 0/0",
		"networked_battle.pcap":              "undecided: Bot0 0/0, Bot1 0/0, Bot2 0/0",
		"field/c15.router.pcap.gz":           "undecided: Pilot1 1/3, Pilot2 1/2, Pilot3 1/2, Pilot4 2/1",
		"field/c21.host.pcap.gz":             "undecided: Pilot1 2/3, Pilot2 4/2, Pilot3 0/4, Pilot4 2/2",
		"field/f1x.host.pcap.gz":             "undecided: Pilot1 0/2, Pilot2 3/2, Pilot3 0/4, Pilot4 4/2",
		"field/p187.host.pcap.gz":            "undecided: Pilot1 0/2, Pilot2 0/2, Pilot3 0/1, Pilot4 0/1",
		"reliability/g_s5_p4_droptx.pcap.gz": "undecided: Bot0 0/0, Bot1 0/0, Bot2 0/0, Bot3 0/0",
		"reliability/st_mix_fix_drx.pcap.gz": "undecided: S0 0/0, S1 0/0, S2 0/0, S3 0/0",
	} {
		t.Run(capture, func(t *testing.T) {
			whole := match.Recording{Files: []string{"host"}, Matches: part(t, capture, all)}
			host := whole.Matches[0].Host
			clients := views(t, capture, host)
			check := func(what string, places int, recordings ...match.Recording) {
				t.Helper()
				got := match.Merge(recordings)
				if len(got) != 1 || board(got[0]) != want || len(got[0].Places) != places {
					t.Errorf("%s: %d matches, of %d places, the first\n%s, not\n%s", what, len(got), len(got[0].Places), board(got[0]), want)
				}
				for _, p := range got[0].Places {
					if !p.Agrees {
						t.Errorf("%s: %v does not agree", what, p.Files)
					}
				}
			}
			n := 0
			for _, r := range clients {
				n += len(r.Matches) // not of one who only asks for the server's name
			}
			check("at the host", 1, whole)
			check("at all", n+1, append(slices.Clone(clients), whole)...)
			if best := whole.Matches[0].Places[0]; !best.Host {
				t.Errorf("the best place is %v", best)
			}
			if capture != "battle_mix-s96.pcap.gz" { // cut packets hide from Bot2 that Bot1 leaves, whose ship is deleted
				check("at the clients", n, clients...)
			}
		})
	}
}

// TestMergeApart has matches that are two: at the same time at two hosts, of two
// times at one host, and of other players at the same address.
func TestMergeApart(t *testing.T) {
	battle := func(change string) match.Recording {
		s := newStage(t)
		play := duel + "Ann kills Ben 1 100\nBen flies\nAnn kills Ben 2 200\nhost ends 1"
		if change == "players" {
			play = strings.NewReplacer("Ann", "Cid", "Ben", "Dan").Replace(play)
		}
		if change == "host" {
			s.host = "10.0.0.2:22101"
		}
		if change == "later" {
			s.frame = 1000
		}
		if change == "minute" { // a rematch
			s.frame = 60
		}
		for line := range strings.SplitSeq(play, "\n") {
			s.play(line)
		}
		return match.Recording{Files: []string{change}, Matches: s.b.Matches()}
	}
	for change, want := range map[string]int{"": 1, "players": 2, "host": 2, "later": 2, "minute": 2} {
		if got := match.Merge([]match.Recording{battle(""), battle(change)}); len(got) != want {
			t.Errorf("with another %s, %d matches", change, len(got))
		}
	}
}

// TestMergeFills has a recording with gaps in it, and another one of the same place
// and time that shows all.
func TestMergeFills(t *testing.T) {
	battle := func() *match.Match {
		s := newStage(t)
		for line := range strings.SplitSeq(duel+"Ann launches Ben\nAnn reports Ben\nBen flies\nBen launches Ann\nBen reports Ann\nAnn flies\nAnn reports Ben\nhost ends 1\nBen flies\nAnn reports Ben", "\n") {
			s.play(line)
		}
		m := s.b.Matches()[0]
		m.Chat = []match.Talk{{T: 6, Frame: 7, Player: 0, Text: "gg"}, {T: 7, Frame: 8, Player: 1, Text: "gg"}}
		return m
	}
	whole, gaps := battle(), battle()
	if len(gaps.Kills) != 4 || gaps.Kills[1].Weapon == "" || !gaps.Kills[3].After {
		t.Fatalf("the battle has the kills %+v", gaps.Kills)
	}
	gaps.Chat = gaps.Chat[1:]
	gaps.Kills = gaps.Kills[1:2] // Ann's kills are missing, and the weapon of Ben's
	gaps.Kills[0].Weapon = ""
	gaps.Players[0].Kills, gaps.Players[1].Deaths = 0, 0
	gaps.Leaders, gaps.Result.Winner, gaps.Result.Winners = []int{1}, 1, []int{1}
	got := match.Merge([]match.Recording{{Files: []string{"gaps"}, Matches: []*match.Match{gaps}}, {Files: []string{"whole"}, Matches: []*match.Match{whole}}})
	if len(got) != 1 || got[0] != gaps {
		t.Fatalf("got %d matches", len(got))
	}
	if b := outcomes(got)[0]; b != "winner: Ann won; time up; kills; Ann 2/1 won; Ben 1/2" {
		t.Errorf("got %s", b)
	}
	var said []string
	for i := range gaps.Kills {
		k := &gaps.Kills[i]
		said = append(said, fmt.Sprintf("%v in frame %d, after the end: %v", gaps.Tell(k).Raw(), k.Frame, k.After))
	}
	want := []string{
		"Ann destroys Ben's Akira with torpedo at 0 units in frame 0, after the end: false",
		"Ben destroys Ann's Akira with torpedo in frame 9, after the end: false",
		"Ann destroys Ben's Akira in frame 0, after the end: false",
		"Ann destroys Ben's Akira in frame 0, after the end: true",
	}
	if !slices.Equal(said, want) {
		t.Errorf("got %q", said)
	}
	if c := gaps.Chat; len(c) != 2 || c[0].Player != 0 || c[0].Frame != 0 || c[1].Frame != 8 {
		t.Errorf("got the chat %+v", c)
	}
	events := 0
	for _, e := range gaps.Events {
		if e.Text.Raw() == "Ben destroys Ann's Akira with torpedo" || e.Text.Raw() == "Ann: gg" {
			events++
		}
	}
	if events != 2 {
		t.Errorf("got the events %v", gaps.Events)
	}
}

// TestMergeEmpty: a match in which no player is known to have played keeps its end.
func TestMergeEmpty(t *testing.T) {
	recording := func(file string) match.Recording {
		over := 50.0
		return match.Recording{Files: []string{file}, Matches: []*match.Match{{End: 60, Over: &over, EndedBy: "time up", Vantage: match.VantageHost}}}
	}
	got := match.Merge([]match.Recording{recording("a"), recording("b")})
	if len(got) != 1 || len(got[0].Places) != 2 || got[0].Over == nil || *got[0].Over != 50 || got[0].EndedBy != "time up" {
		t.Errorf("%d matches, the first %+v", len(got), got[0])
	}
}

// TestPlayers has people who come back, and people of one name.
func TestPlayers(t *testing.T) {
	for _, tt := range []struct{ name, play, want string }{
		{"from another address", duel + "Ann kills Ben 1 100\nAnn leaves\nAnn#2 joins\nAnn#2 flies\nAnn#2 kills Ben 1 50", "unknown: Ann 2/0, Ben 0/2"},
		{"with another case", duel + "Ann kills Ben 1 100\nAnn leaves\naNN joins\naNN flies\naNN kills Ben 1 50", "unknown: Ben 0/2, aNN 2/0"},
		{"two at once", duel + "Ann#2 joins\nAnn#2 flies\nAnn kills Ben 1 100\nBen flies\nAnn#2 kills Ben 1 50\nAnn leaves\nAnn#2 leaves", "unknown: Ann 1/0, Ann 1/0, Ben 0/2"},
		{"similar", duel + "Arn joins\nArn flies\nArn kills Ben 1 10", "unknown: Ann 0/0, Arn 1/0, Ben 0/1"},
	} {
		s := newStage(t)
		for line := range strings.SplitSeq(tt.play, "\n") {
			s.play(line)
		}
		all := s.b.Matches()
		if got := board(all[0]); len(all) != 1 || got != tt.want {
			t.Errorf("%s: %d matches, the first %s, not %s", tt.name, len(all), got, tt.want)
		}
		if p := &all[0].Players[0]; tt.name == "from another address" && (len(p.Visits) != 2 || p.Stays != 2 || p.Left != nil) {
			t.Errorf("%s: got visits %v, %d stays, left %v", tt.name, p.Visits, p.Stays, p.Left)
		}
	}
}
