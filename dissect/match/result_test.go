package match_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A stage plays matches that tests write in words, a second for each line.
type stage struct {
	t       *testing.T
	b       *match.Builder
	host    string
	players map[string]*actor
	frame   int
	deaths  map[string]int32
}

// An actor is a player on a stage.
type actor struct {
	dissect.Player

	addr  netip.AddrPort
	ships int
	gone  bool
}

// ship returns the object of a player's ship.
func (p *actor) ship() wire.ObjectID { return wire.FirstObject(p.Slot) + wire.ObjectID(p.ships) }

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{t: t, b: match.New(time.Unix(1000, 0)), host: "10.0.0.1:22101", players: map[string]*actor{}, deaths: map[string]int32{}}
}

// player returns the player of a name. What follows # tells people of one name
// apart.
func (s *stage) player(name string) *actor {
	key := s.host + name
	p := s.players[key]
	if p == nil {
		n := len(s.players)
		shown, _, _ := strings.Cut(name, "#")
		p = &actor{Player: dissect.Player{Name: wire.Untrusted(shown), ID: uint8(2 + n), Slot: n, Team: -1}}
		p.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(n)}), 1000)
		s.players[key] = p
	}
	return p
}

// send sends a message between the host and a player.
func (s *stage) send(p *actor, dir dissect.Dir, r dissect.Record) {
	s.t.Helper()
	host := netip.MustParseAddrPort(s.host)
	d := &dissect.Datagram{Number: s.frame, Time: time.Unix(1000, 0).Add(time.Duration(s.frame) * time.Second), Src: p.addr, Dst: host}
	if dir == dissect.FromHost {
		d.Src, d.Dst = host, p.addr
	}
	r.Datagram, r.Dir, r.Player = d, dir, &p.Player
	if err := s.b.Record(&r); err != nil {
		s.t.Fatal(err)
	}
}

// refuse has the host let a client in and remove it at once.
func (s *stage) refuse(p *actor) {
	s.t.Helper()
	host := netip.MustParseAddrPort(s.host)
	d := &dissect.Datagram{Number: s.frame, Time: time.Unix(1000, 0).Add(time.Duration(s.frame) * time.Second), Src: host, Dst: p.addr}
	for _, m := range []decode.Message{&transport.Accept{ID: p.ID}, &transport.Boot{Reason: transport.BootFull, ID: p.ID}} {
		if err := s.b.Record(&dissect.Record{Datagram: d, Dir: dissect.FromHost, ClientID: p.ID, Message: m}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// says makes a record of a game message.
func says(m decode.Message) dissect.Record { return dissect.Record{Message: m, Payload: []byte{0xFF}} }

// play plays a line: who, what, and more.
func (s *stage) play(line string) {
	s.t.Helper()
	s.frame++
	words := strings.Fields(line)
	if after, ok := strings.CutPrefix(words[0], "@"); ok { // at another host
		s.host, words = after, words[1:]
	}
	number := func(i int) int32 {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			s.t.Fatal(err)
		}
		return int32(n)
	}
	var first *actor
	for _, p := range s.players {
		if !p.gone && (first == nil || p.ID < first.ID) {
			first = p
		}
	}
	p := first
	if words[0] != "host" {
		p = s.player(words[0])
	}
	switch words[1] {
	case "joins":
		p.gone = false
		s.send(p, dissect.FromHost, dissect.Record{Message: &transport.Accept{}})
		s.send(p, dissect.ToHost, dissect.Record{Transport: transport.Header{Type: transport.NameChange}, Message: &transport.Identity{}})
	case "quits":
		p.gone = true
		s.send(p, dissect.ToHost, dissect.Record{Transport: transport.Header{Type: transport.Leave}})
	case "is": // there already, or refused before the host has heard a name
		if words[2] == "refused" {
			s.refuse(p)
			break
		}
		s.send(p, dissect.ToHost, dissect.Record{Transport: transport.Header{Type: transport.NameChange}, Message: &transport.Identity{}})
	case "flies":
		p.ships++
		s.send(p, dissect.ToHost, says(&msg.ObjectCreateTeam{Slot: uint8(p.Slot), Object: msg.Object{Class: msg.ClassShip, ID: p.ship(), Species: 1}}))
	case "team":
		p.Team = int(number(2))
		s.send(p, dissect.ToHost, dissect.Record{Transport: transport.Header{Type: transport.NameChange}, Message: &transport.Identity{}})
	case "named":
		p.Name = wire.Untrusted(words[2])
		s.send(p, dissect.ToHost, dissect.Record{Transport: transport.Header{Type: transport.NameChange}, Message: &transport.Identity{}})
	case "leaves":
		p.gone = true
		s.send(p, dissect.ToHost, dissect.Record{Message: &transport.Goodbye{ID: p.ID}})
	case "starts": // the host tells its settings
		s.send(p, dissect.FromHost, says(&msg.Settings{Slot: uint8(p.Slot)}))
	case "deletes": // a player, by number
		s.send(p, dissect.FromHost, says(&msg.PlayerAnnounce{Event: event.Event{Class: event.ClassPlayer, Code: event.CodeDeletePlayer, Player: s.player(words[2]).ID}}))
	case "misses": // a player, by name
		s.send(p, dissect.FromHost, says(&msg.PlayerDeleted{Name: wire.Chars(words[2])}))
	case "kills": // by the host's scores: whom, the killer's kills and score
		s.deaths[words[2]]++
		s.send(p, dissect.FromHost, says(&msg.ScoreChange{Killer: int32(p.ID), Kills: number(3), Score: number(4), Victim: int32(s.player(words[2]).ID), Deaths: s.deaths[words[2]]}))
	case "has": // kills, deaths and score, as hosts tell newcomers
		s.send(p, dissect.FromHost, says(&msg.Score{Player: int32(p.ID), Kills: number(2), Deaths: number(3), Score: number(4)}))
	case "reports": // the loss of a ship
		s.send(p, dissect.ToHost, says(&msg.DestroyObject{Object: s.player(words[2]).ship()}))
	case "counts": // for a team: kills and score
		s.send(p, dissect.FromHost, says(&msg.TeamScore{Team: uint8(number(2)), Kills: number(3), Score: number(4)}))
	case "ends": // with the number of a reason
		s.send(p, dissect.FromHost, says(&msg.EndGame{Reason: uint32(number(2))}))
	case "restarts":
		for _, q := range s.players {
			s.send(q, dissect.FromHost, says(&msg.RestartGame{}))
		}
	case "asks": // asks the host to end the match
		s.send(p, dissect.ToHost, says(&msg.EndGame{}))
	case "fires": // with a beam, or with a pulse weapon whose PulseFire follows
		s.send(p, dissect.ToHost, says(&msg.StartFiring{Event: event.Event{Dest: p.ship()}}))
		s.send(p, dissect.ToHost, says(&msg.StopFiring{Event: event.Event{Dest: p.ship()}}))
	case "pulses": // at whom
		s.send(p, dissect.ToHost, says(&msg.StartFiring{Event: event.Event{Dest: p.ship()}}))
		s.send(p, dissect.ToHost, says(&msg.PulseFire{Weapon: p.ship(), Target: s.player(words[2]).ship()}))
	case "launches": // a torpedo at whom
		s.send(p, dissect.ToHost, says(&msg.TorpedoFire{Tube: p.ship(), Target: s.player(words[2]).ship()}))
	case "hits": // whom, with the damage
		s.send(p, dissect.ToHost, says(&msg.Explosion{Object: s.player(words[2]).ship(), Damage: wire.CF16Of(float32(number(3)))}))
	case "explodes": // as the host says, who names no killer
		s.send(p, dissect.FromHost, says(&msg.HostEvent{Event: event.Event{Code: event.CodeObjectExploding, Dest: p.ship()}}))
	case "closes":
		s.send(p, dissect.FromHost, dissect.Record{Message: &transport.Goodbye{ID: transport.HostPeer}})
	default:
		s.t.Fatalf("%q is no line", line)
	}
}

// outcomes returns the results of matches, and what each player did.
func outcomes(all []*match.Match) (lines []string) {
	for _, m := range all {
		if m.Result.Rests == match.ByKills && slices.ContainsFunc(m.Players, func(p match.Player) bool { return p.HostSays != nil || p.Score != nil }) {
			lines = append(lines, "the host keeps no score, and says something of a player")
		}
		line := fmt.Sprintf("%v: %v; %s; %s", m.Result.Value, m.Verdict(m.NameOf).Raw(), m.Result.Reason, m.Result.Rests)
		for i := range m.Players {
			p := &m.Players[i]
			line += fmt.Sprintf("; %s %d/%d", p.Name.Raw(), p.Kills, p.Deaths)
			if p.TeamKills > 0 {
				line += fmt.Sprintf(" and %d of the team", p.TeamKills)
			}
			if m.Won(i) {
				line += " won"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// duel is the beginning of most matches.
const duel = "Ann joins\nBen joins\nAnn flies\nBen flies\n"

const teams = "Ann joins\nBen joins\nCid joins\nDan joins\nAnn team 0\nBen team 1\nCid team 0\nDan team 1\nAnn flies\nBen flies\nCid flies\nDan flies\n"

// TestResults plays matches whose results were worked out by hand. What comes
// after the line of dashes is after the end: without it the result is the same.
func TestResults(t *testing.T) {
	for _, tt := range []struct {
		name, play string
		want       []string
	}{
		{"time up", duel + "Ann kills Ben 1 100\nBen flies\nBen kills Ann 1 90\nhost ends 1", []string{"winner: Ann won; time up; host; Ann 1/1 won; Ben 1/1"}},
		{"score reached", duel + "Ann kills Ben 1 100\nBen flies\nBen kills Ann 1 300\nhost ends 3", []string{"winner: Ben won; score limit reached; host; Ann 1/1; Ben 1/1 won"}},
		{"kills reached", duel + "Ann kills Ben 1 500\nBen flies\nBen kills Ann 1 90\nAnn flies\nBen kills Ann 2 200\nhost ends 2", []string{"winner: Ben won; frag limit reached; host; Ann 1/2; Ben 2/1 won"}},
		{"host decides", duel + "Ann kills Ben 1 100\nhost ends 0", []string{"winner: Ann won; just over; host; Ann 1/0 won; Ben 0/1"}},
		{"no scores", duel + "Ann reports Ben\nhost ends 1", []string{"winner: Ann won; time up; kills; Ann 1/0 won; Ben 0/1"}},
		{"draw", duel + "Ann kills Ben 1 100\nBen flies\nBen kills Ann 1 100\nhost ends 1", []string{"draw: Draw: Ann and Ben were equal; time up; host; Ann 1/1; Ben 1/1"}},
		{"nothing happens", duel + "host ends 1", []string{"draw: Draw: no player scored; time up; kills; Ann 0/0; Ben 0/0"}},
		{"host counts otherwise", duel + "Ann reports Ben\nBen flies\nAnn reports Ben\nAnn flies\nBen kills Ann 1 10\nhost ends 1", []string{"winner: Ben won; time up; host; Ann 2/1; Ben 1/2 won"}},
		{"late kill", duel + "Ann kills Ben 1 100\nhost ends 1\n---\nBen flies\nBen kills Ann 1 300\nAnn flies\nBen reports Ann\nAnn leaves", []string{"winner: Ann won; time up; host; Ann 1/0 won; Ben 0/1"}},
		{"late teams", duel + "Ann kills Ben 1 100\nhost ends 1\n---\nAnn team 0\nBen team 1\nhost counts 1 5 500", []string{"winner: Ann won; time up; host; Ann 1/0 won; Ben 0/1"}},
		{"a client asks for the end", duel + "Ann kills Ben 1 100\nBen asks\nBen flies\nBen kills Ann 1 300\nhost ends 1", []string{"winner: Ben won; time up; host; Ann 1/1; Ben 1/1 won"}},
		{"host quits", duel + "Ann kills Ben 1 100\nhost closes", []string{"undecided: Undecided: Ann led; the host closed the game; host; Ann 1/0; Ben 0/1"}},
		{"all leave", duel + "Ann kills Ben 1 100\nAnn leaves\nBen leaves", []string{"undecided: Undecided: Ann led; all players left; host; Ann 1/0; Ben 0/1"}},
		{"one stays", duel + "Ann kills Ben 1 100\nAnn leaves", []string{"unknown: Unknown: Ann leads; the capture ends before the match does; host; Ann 1/0; Ben 0/1"}},
		{"end missing", duel + "Ann kills Ben 1 100", []string{"unknown: Unknown: Ann leads; the capture ends before the match does; host; Ann 1/0; Ben 0/1"}},
		{"start missing", "Ann is there\nBen is there\nAnn flies\nBen flies\nAnn kills Ben 4 100\nhost ends 1", []string{"unknown: Unknown: Ann led; the capture begins within the match; host; Ann 1/0; Ben 0/1"}},
		{"restart", duel + "Ann kills Ben 1 100\nhost restarts\n---\nAnn flies\nBen flies\nBen kills Ann 1 300\nhost ends 1", []string{
			"undecided: Undecided: Ann led; restart; host; Ann 1/0; Ben 0/1",
			"winner: Ben won; time up; host; Ann 0/1; Ben 1/0 won",
		}},
		{"restart after the end", duel + "Ann kills Ben 1 100\nhost ends 1\nhost restarts\nAnn flies\nBen flies\nBen kills Ann 1 300\nhost ends 1\n---\nBen leaves", []string{
			"winner: Ann won; time up; host; Ann 1/0 won; Ben 0/1",
			"winner: Ben won; time up; host; Ann 0/1; Ben 1/0 won",
		}},
		{"several in one file", duel + "Ann kills Ben 1 100\nAnn leaves\nBen leaves\nBen joins\nCid joins\nBen flies\nCid flies\nCid kills Ben 1 70\nhost ends 3", []string{
			"undecided: Undecided: Ann led; all players left; host; Ann 1/0; Ben 0/1",
			"winner: Cid won; score limit reached; host; Ben 0/1; Cid 1/0 won",
		}},
		{"rejoin", duel + "Ann kills Ben 1 100\nAnn leaves\nAnn joins\nAnn flies\nBen flies\nAnn kills Ben 2 200\nhost ends 1", []string{"winner: Ann won; time up; host; Ann 2/0 won; Ben 0/2"}},
		{"renamed in the middle", duel + "Ann kills Ben 1 100\nAnn named Anna\nBen flies\nAnn kills Ben 2 200\nhost ends 1", []string{"winner: Anna won; time up; host; Anna 2/0 won; Ben 0/2"}},
		{"same name twice", "Ann joins\nAnn#2 joins\nAnn flies\nAnn#2 flies\nAnn kills Ann#2 1 100\nhost ends 1", []string{"winner: Ann won; time up; host; Ann 1/0 won; Ann 0/1"}},
		{"two hosts at once", duel + "Ann kills Ben 1 100\n@10.0.0.2:22101 Uli joins\nVic joins\nUli flies\nVic flies\nVic kills Uli 1 50\n@10.0.0.1:22101 host ends 1\n@10.0.0.2:22101 Uli leaves\nVic leaves", []string{
			"winner: Ann won; time up; host; Ann 1/0 won; Ben 0/1",
			"undecided: Undecided: Vic led; all players left; host; Uli 0/1; Vic 1/0",
		}},
		{"team", teams + "host counts 0 1 200\nhost counts 1 0 0\nAnn kills Ben 1 200\nhost ends 1", []string{"winner: Team 1 won; time up; host; Ann 1/0 won; Ben 0/1; Cid 0/0 won; Dan 0/0"}},
		{"only zeros", duel + "Ann has 0 0 0\nBen has 0 0 0\nAnn reports Ben\nhost ends 1", []string{"winner: Ann won; time up; kills; Ann 1/0 won; Ben 0/1"}},
		{"zeros without losses", duel + "Ann has 0 0 0\nhost ends 1", []string{"draw: Draw: no player scored; time up; host; Ann 0/0; Ben 0/0"}},
		{"zeros, then a score", duel + "Ann has 0 0 0\nBen has 0 0 0\nAnn reports Ben\nCid joins\nBen has 0 0 50\nhost ends 1", []string{"winner: Ben won; time up; host; Ann 1/0; Ben 0/1 won; Cid 0/0"}},
		{"zeros of teams", teams + "host counts 0 0 0\nhost counts 1 0 0\nAnn reports Ben\nhost ends 1", []string{"winner: Team 1 won; time up; kills; Ann 1/0 won; Ben 0/1; Cid 0/0 won; Dan 0/0"}},
		{"team draw", teams + "host counts 0 2 200\nhost counts 1 2 200\nAnn kills Ben 2 200\nhost ends 1", []string{"draw: Draw: the teams were equal; time up; host; Ann 1/0; Ben 0/1; Cid 0/0; Dan 0/0"}},
		{"team without its score", teams + "Ann kills Ben 1 200\nBen flies\nBen kills Ann 1 90\nDan kills Cid 1 90\nhost ends 1", []string{"winner: Team 1 won; time up; host; Ann 1/1 won; Ben 1/1; Cid 0/1 won; Dan 1/0"}},
		{"team kill", teams + "Ann reports Cid\nDan reports Ann\nBen reports Dan\nhost ends 1", []string{"winner: Team 2 won; time up; kills; Ann 0/1 and 1 of the team; Ben 0/0 and 1 of the team won; Cid 0/1; Dan 1/1 won"}},
		{"turncoat", teams + "Ann kills Ben 1 200\nAnn team 1\nhost ends 1", []string{"winner: Team 2 won; time up; host; Ann 1/0 won; Ben 0/1 won; Cid 0/0; Dan 0/0 won"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			match, after, _ := strings.Cut(tt.play, "\n---\n")
			s := newStage(t)
			for line := range strings.SplitSeq(match, "\n") {
				s.play(line)
			}
			ended := outcomes(s.b.Matches())
			if after != "" {
				for line := range strings.SplitSeq(after, "\n") {
					s.play(line)
				}
			}
			got := outcomes(s.b.Matches())
			for i, want := range tt.want {
				if i >= len(got) || got[i] != want {
					t.Errorf("match %d of %d is\n%s, not\n%s", i+1, len(got), got[min(i, len(got)-1)], want)
				}
			}
			if ended[0] != tt.want[0] {
				t.Errorf("cut after its end, it is\n%s, not\n%s", ended[0], tt.want[0])
			}
			if len(got) != len(tt.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestSilentNamesake has a second Ann who comes when nothing is heard of the first.
// They are one player if the first is never heard again, which only the end tells.
// Matches that are shown before change nothing.
func TestSilentNamesake(t *testing.T) {
	const (
		begin = duel + "Ann#2 joins\nAnn#2 flies"
		one   = "unknown: Unknown: no player scored; the capture ends before the match does; kills; Ann 0/0; Ben 0/0"
		two   = one + "; Ann 0/0"
	)
	quiet := strings.Repeat("\nBen is there", 20)
	for _, tt := range []struct{ name, play, before, after string }{
		{"heard again", begin + quiet + "\nAnn is there\nAnn#2 is there", two, two},
		{"never heard again", begin + quiet + "\nAnn#2 is there", two, one},
		{"leaves", duel + "Ann leaves\nAnn#2 joins" + quiet + "\nAnn#2 is there", one, one},
	} {
		for _, live := range []bool{false, true} {
			s := newStage(t)
			for line := range strings.SplitSeq(tt.play, "\n") {
				s.play(line)
				if live {
					s.b.Matches()
				}
			}
			before := outcomes(s.b.Matches())
			if err := s.b.Close(); err != nil {
				t.Fatal(err)
			}
			if after := outcomes(s.b.Matches()); !slices.Equal(before, []string{tt.before}) || !slices.Equal(after, []string{tt.after}) {
				t.Errorf("%s, shown before: %v: got\n%q, and at the end\n%q", tt.name, live, before, after)
			}
		}
	}
}

// TestRecordedResults has the results of captures, which follow from the messages
// in them: "read -Y" with EndGame, RestartGame, ScoreChange, TeamScore and goodbyes.
// Cut after the frame that ends its match, each has the same.
func TestRecordedResults(t *testing.T) {
	for _, tt := range []struct {
		capture string
		frame   int // frame that ends the first match
		want    string
	}{
		{"battle_mix.pcap.gz", 9534, "draw: Draw: the teams were equal; time up; host"},
		{"opcode_tour.pcap", 381, "undecided: Undecided: no player scored; restart; host"},
		{"restart.pcap", 70, "undecided: Undecided: no player scored; restart; host"},
		{"networked_battle.pcap", 4143, "undecided: Undecided: no player scored; all players left; host"},
		{"field/c15.router.pcap.gz", 4112, "undecided: Undecided: Pilot3 led; all players left; host"},
		{"field/c21.client.pcap.gz", 7868, "undecided: Undecided: Pilot1 led; all players left; host"},
		{"field/c21.host.pcap.gz", 7635, "undecided: Undecided: Pilot1 led; all players left; host"},
		{"field/p187.host.pcap.gz", 2422, "undecided: Undecided: Pilot1 and Pilot3 were equal; all players left; host"},
		{"stock_client.pcap", 0, "unknown: Unknown: no player scored; the capture ends before the match does; host"},
	} {
		t.Run(tt.capture, func(t *testing.T) {
			whole := part(t, tt.capture, all)
			cut := whole
			if tt.frame > 0 {
				cut = part(t, tt.capture, func(d *dissect.Datagram) bool { return d.Number <= tt.frame })
			}
			got, again := outcomes(whole)[0], outcomes(cut)[0]
			if whole[0].Result.Frame != tt.frame || !strings.HasPrefix(got, tt.want+";") {
				t.Errorf("got %s in frame %d", got, whole[0].Result.Frame)
			}
			if again != got {
				t.Errorf("cut after its end it is %s, not %s", again, got)
			}
		})
	}
}
