package dissect_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// named records the fields that stand for players, with the players' names.
type named struct {
	r    *dissect.Record
	text string
}

func (v *named) Field(f *decode.Field) {
	if f.Who != decode.NoPlayer {
		v.text += fmt.Sprintf(" %s %d %s", f.Name, f.Uint+uint64(f.Int), v.r.NameOf(f))
	}
}

func (v *named) Begin(*decode.Group) {}
func (v *named) End(*decode.Group)   {}

// playersOf returns the players named in a frame's messages, each preceded by
// the player of the conversation.
func playersOf(t *testing.T, capture string, frame int, names ...string) (all []string) {
	t.Helper()
	var viewer decode.Viewer
	recorded.Records(t, capture, dissect.Config{}, func(r *dissect.Record) {
		if r.Datagram.Number != frame || r.Message == nil || r.Spec == nil || !slices.Contains(names, r.Spec.Name) {
			return
		}
		v := named{r: r, text: (r.Client + ":").Raw()}
		r.Visit(&viewer, &v)
		all = append(all, v.text)
	})
	return all
}

// The expected names come from the NameChange messages of the clients with the
// same addresses. The ids come from the accepts.
func TestPlayersByNumber(t *testing.T) {
	for _, tt := range []struct {
		capture string
		frame   int
		name    string
		want    []string
	}{
		// A slot: the client on port 40813 is Bot2, with slot 2 and id 4.
		{"battle_mix.pcap.gz", 3199, "Chat", []string{"Bot2: sender 2 Bot2"}},
		{"battle_mix.pcap.gz", 3202, "Chat", []string{"Bot0: sender 2 Bot2"}},
		{"battle_mix.pcap.gz", 3261, "TeamChat", []string{"Bot0: sender 3 Bot3"}},
		// The byte behind the slot is the team.
		{"battle_mix.pcap.gz", 149, "ObjectCreateTeam", []string{"Bot2: slot 2 Bot2 net_player 0 "}},
		{"battle_mix.pcap.gz", 151, "ObjectCreateTeam", []string{
			"Bot0: slot 1 Bot1 net_player 1 ", "Bot0: slot 2 Bot2 net_player 0 ", "Bot0: slot 3 Bot3 net_player 1 ",
		}},
		// Not the shooter's number.
		{"battle_mix.pcap.gz", 435, "PulseFire", []string{"Bot1: firing_player 0 "}},
		// Stock-shaped clients write network ids, the host's copies have slots. Frame
		// 115 is Cady2's, although it says 3.
		{"stock_client.pcap", 115, "Chat", []string{"Cady2: sender 3 Cady2"}},
		{"stock_client.pcap", 117, "Chat", []string{"Kirk: sender 0 Cady2"}},
		{"stock_client.pcap", 178, "Chat", []string{"Cady2: sender 1 Kirk"}},
		{"stock_client.pcap", 122, "NameChange", []string{"Kirk: id 3 Kirk"}},
		{"stock_client.pcap", 308, "ScoreChange", []string{"Kirk: killer 0  victim 2 Cady2"}},
		{"stock_client.pcap", 332, "Disconnect", []string{"Kirk: id 3 Kirk"}},
		{"stock_client.pcap", 75, "ObjectCreateTeam", []string{"Kirk: slot 1 Kirk net_player 3 Kirk"}},
		// A ship's name is not a player's.
		{"stock_replay.pcap", 32, "ObjectCreateTeam", []string{"Cady2: slot 1  net_player 3 "}},
		// The host assigned id 3 to Player2, but Player2's datagrams say 2.
		{"join_flow.pcap", 84, "PlayerAnnounce", []string{"Player2: player 3 Player2", "Player2: player 2 Player1"}},
		{"join_flow.pcap", 77, "Score", []string{"Player2: player 2 Player1", "Player2: player 3 Player2"}},
		{"two_teams.pcap", 141, "ObjectCreateTeam", []string{"Bot2: slot 2 Bot2 net_player 0 "}},
		{"two_teams.pcap", 148, "ObjectCreateTeam", []string{"Bot3: slot 2 Bot2 net_player 0 "}},
	} {
		t.Run(fmt.Sprint(tt.capture, " ", tt.frame), func(t *testing.T) {
			if got := playersOf(t, tt.capture, tt.frame, tt.name); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestShipsOfTeams(t *testing.T) {
	want := map[string]string{"Bot0": "Ambassador (Bot0)", "Bot1": "Galaxy (Bot1)", "Bot2": "Bird of Prey (Bot2)", "Bot3": "Galor (Bot3)"}
	ships := 0
	recorded.Records(t, "two_teams.pcap", dissect.Config{}, func(r *dissect.Record) {
		if m, ok := r.Message.(*msg.ObjectCreateOpenBC); ok && r.Dir == dissect.ToHost {
			ships++
			if got := r.Session.Object(m.ID); got.Raw() != want[r.Client.Raw()] {
				t.Errorf("frame %d: %s's ship is %q, want %q", r.Datagram.Number, r.Client, got, want[r.Client.Raw()])
			}
		}
	})
	if ships != 4 {
		t.Errorf("%d ships", ships)
	}
}

// Every record has its conversation and, from the player's NameChange on, the
// player.
func TestWhoseConversation(t *testing.T) {
	type place struct {
		frame, conversation, player int
		name                        string
	}
	var got []place
	recorded.Records(t, "join_flow.pcap", dissect.Config{}, func(r *dissect.Record) {
		now := place{r.Datagram.Number, r.Conversation, -1, r.Client.Raw()}
		if r.Player != nil {
			now.player = r.Player.Index
			if r.Player.Name != r.Client {
				t.Errorf("frame %d: player %q, client %q", r.Datagram.Number, r.Player.Name, r.Client)
			}
		}
		for _, before := range got {
			if before.conversation == now.conversation && before.player == now.player && before.name == now.name {
				return
			}
		}
		got = append(got, now)
	})
	// Frames of the first datagram and of the NameChange of each client, read by
	// hand from the addresses in the file.
	want := []place{
		{1, 1, -1, ""},                            // GameSpy
		{4, 2, -1, ""}, {7, 2, 0, "JoinFlowTest"}, // host on port 29870
		{31, 3, -1, ""},                        // GameSpy
		{34, 4, -1, ""}, {37, 4, 0, "Player1"}, // host on port 29871
		{60, 5, -1, ""}, {63, 5, 1, "Player2"}, // host on port 29871
		{94, 6, -1, ""},                          // GameSpy
		{97, 7, -1, ""}, {100, 7, 0, "Survivor"}, // host on port 29872
		{123, 8, -1, ""}, {126, 8, 1, "Leaver"}, // host on port 29872
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// A line of chat comes once from its author and once to each player in the
// game, including the author.
func TestCopiesOfChat(t *testing.T) {
	type line struct {
		author, text string
		to           map[int]bool
	}
	lines := map[int]*line{}
	copies, players := 0, 4 // until Bot3 leaves
	text := func(m decode.Message) (string, bool) {
		switch m := m.(type) {
		case *msg.Chat:
			return "all " + string(m.Text), true
		case *msg.TeamChat:
			return "team " + string(m.Text), true
		}
		return "", false
	}
	recorded.Records(t, "battle_mix.pcap.gz", dissect.Config{}, func(r *dissect.Record) {
		said, ok := text(r.Message)
		if !ok {
			return
		}
		if r.Dir == dissect.ToHost {
			if !r.First || r.CopyOf != 0 || r.Author != nil {
				t.Errorf("frame %d: an author's own line is first %v, copy of %d", r.Datagram.Number, r.First, r.CopyOf)
			}
			lines[r.Datagram.Number] = &line{r.Client.Raw(), said, map[int]bool{}}
			return
		}
		copies++
		l := lines[r.CopyOf]
		switch {
		case l == nil || r.First:
			t.Errorf("frame %d: copy of %d, first %v", r.Datagram.Number, r.CopyOf, r.First)
		case l.text != said || r.Author == nil || r.Author.Name.Raw() != l.author || l.to[r.Conversation]:
			t.Errorf("frame %d: %q is not the copy of frame %d, %q of %s", r.Datagram.Number, said, r.CopyOf, l.text, l.author)
		default:
			l.to[r.Conversation] = true
		}
	})
	// By hand: after Bot3 has left, one line of Bot3 reaches no player (frame 10626)
	// and two lines reach the three others (frames 11399 and 12250).
	full := 0
	for _, l := range lines {
		if len(l.to) == players {
			full++
		}
	}
	if len(lines) != 17 || copies != 62 || full != 14 {
		t.Errorf("%d lines, %d copies, %d lines with a copy to all four", len(lines), copies, full)
	}
}

// A client that the host refuses is not a player, whatever player has id 0 and
// whatever OpenBC's clients write into their NameChange.
func TestRefusedClientIsNobody(t *testing.T) {
	b := newTable(t)
	b.join(2, "P0")
	b.send(2, 2, transport.Header{Type: transport.NameChange, Reliable: true}, []byte{0, 10, 0, 0, 9, 'P', 0, '0', 0, 0, 0})
	b.send(-2, 1, transport.Header{Type: transport.NameChange, Reliable: true}, []byte{0, 10, 0, 0, 9, 'P', 0, '0', 0, 0, 0})
	if b.last.Client != "P0" {
		t.Fatalf("the player is %q", b.last.Client)
	}
	b.send(9, 0xFF, transport.Header{Type: transport.Connect, Reliable: true}, []byte{10, 0, 0, 9, 1, 2, 3, 4, 0, 0})
	b.send(-9, 1, transport.Header{Type: transport.BootPlayer, Reliable: true}, []byte{transport.BootFull, 0xFF})
	if b.last.Client != "" || b.last.Player != nil || b.last.Conversation != 2 {
		t.Errorf("the refused client is %q, %+v of conversation %d", b.last.Client, b.last.Player, b.last.Conversation)
	}
}
