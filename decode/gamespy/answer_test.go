package gamespy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stockGame is the game in the stock host's reply.
var stockGame = Game{
	Version: "60", Location: "1", Name: "My Game23",
	Mission: "Multiplayer.Episode.Mission1.Mission1", Map: "DM", Count: 0, Limit: 8, Playing: true,
	TimeLimit: NoTimeLimit, FragLimit: NoFragLimit, System: "Multi1", Players: []string{"Dedicated Server"},
}

// said returns the datagrams of an answer as text.
func said(query string, g *Game, n int) []string {
	var all []string
	for _, d := range Answer(Parse([]byte(query)), g, n) {
		all = append(all, string(d))
	}
	return all
}

func TestAnswer(t *testing.T) {
	const (
		basic = `\gamename\bcommander\gamever\60\location\1`
		info  = `\hostname\My Game23\missionscript\Multiplayer.Episode.Mission1.Mission1\mapname\DM` +
			`\numplayers\0\maxplayers\8\gamemode\openplaying`
		rules   = `\timelimit\-1\fraglimit\-2\system\Multi1\password\0`
		players = `\player_0\Dedicated Server`
	)
	lobby := stockGame
	lobby.Playing, lobby.Password = false, true
	lobby.TimeLimit, lobby.FragLimit = 20, 5
	lobby.Players, lobby.Count = []string{"Dedicated Server", `Q\password\0`, "Jörg\n", "李"}, 3
	for _, tt := range []struct {
		name, query string
		game        *Game
		want        []string
	}{
		{"status", `\status\`, &stockGame, []string{statusReply}},
		{"status with a number", `\status\\queryid\7.1`, &stockGame, []string{statusReply}},
		{"basic", `\basic\`, &stockGame, []string{basic + `\final\\queryid\2.1`}},
		{"info", `\info\`, &stockGame, []string{info + `\final\\queryid\2.1`}},
		{"rules", `\rules\`, &stockGame, []string{rules + `\final\\queryid\2.1`}},
		{"players", `\players\`, &stockGame, []string{players + `\final\\queryid\2.1`}},
		{"combined", `\rules\basic\`, &stockGame, []string{basic + rules + `\final\\queryid\2.1`}},
		{"asked twice", `\rules\\status\\rules\`, &stockGame, []string{statusReply}},
		{"packets", `\packets\`, &stockGame, []string{
			basic + `\queryid\2.1`, info + `\queryid\2.2`, rules + `\queryid\2.3`, players + `\final\\queryid\2.4`,
		}},
		{"echo", `\echo\hello`, &stockGame, []string{`\echo\hello\final\\queryid\2.1`}},
		{"secure", `\secure\LRPOPQ`, &stockGame, []string{`\validate\hMwdTNWS\final\\queryid\2.1`}},
		{"the master server", `\basic\\secure\LRPOPQ`, &stockGame, []string{basic + `\validate\hMwdTNWS\final\\queryid\2.1`}},
		{"closely", `\basic\secure\LRPOPQ\`, &stockGame, []string{basic + `\validate\hMwdTNWS\final\\queryid\2.1`}},
		{"the lobby", `\info\rules\players\`, &lobby, []string{
			`\hostname\*My Game23\missionscript\Multiplayer.Episode.Mission1.Mission1\mapname\DM\numplayers\3\maxplayers\8\gamemode\settings` +
				`\timelimit\20\fraglimit\5\system\Multi1\password\1` +
				"\\player_0\\Dedicated Server\\player_1\\Q/password/0\\player_2\\J\xF6rg?\\player_3\\?" + `\final\\queryid\2.1`,
		}},
		{"no query", `\nosuch\`, &stockGame, nil},
		{"a reply", statusReply, &stockGame, nil},
		{"an echo of ours", `\echo\hello\final\\queryid\1.1`, &stockGame, nil},
		{"beyond what the game reads", strings.Repeat("x", MaxQuery-7) + `\status\`, &stockGame, nil},
		{"all that the game reads", strings.Repeat("x", MaxQuery-8) + `\status\`, &stockGame, []string{statusReply}},
		{"nothing", ``, &stockGame, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := said(tt.query, tt.game, 2); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A long reply is cut between two keys, and only its last part has the end.
func TestAnswerParts(t *testing.T) {
	g := stockGame
	g.Players = nil
	for i := range 40 {
		g.Players = append(g.Players, fmt.Sprintf("%02d %s", i, strings.Repeat("n", 60+i)))
	}
	g.Name = strings.Repeat("long ", 1000)
	parts := said(`\status\\secure\ABCDEF`, &g, 12)
	if len(parts) != 4 { // 40 names of 63 to 102 characters and 10 of a key, 600 characters of the rest
		t.Fatalf("got %d datagrams, want 4", len(parts))
	}
	var names []string
	for i, part := range parts {
		m := Parse([]byte(part))
		if len(part) > MaxReply || m.Kind() != KindReply {
			t.Errorf("part %d: %d bytes, %s", i+1, len(part), m.Kind())
		}
		if id, _ := m.Get("queryid"); id.Raw() != fmt.Sprintf("12.%d", i+1) || !strings.HasSuffix(part, `\queryid\`+id.Raw()) {
			t.Errorf("part %d: got number %s", i+1, id)
		}
		if _, ok := m.Get("final"); ok != (i == len(parts)-1) {
			t.Errorf("part %d: final is %v", i+1, ok)
		}
		for k, v := range m.Pairs() {
			if strings.HasPrefix(k.Raw(), "player_") {
				names = append(names, v.Raw())
			}
		}
		if i+1 < len(parts) {
			next, _, _ := strings.Cut(parts[i+1][1:], `\queryid\`)
			key, value, _ := strings.Cut(next, `\`)
			value, _, _ = strings.Cut(value, `\`)
			if len(part)+2+len(key)+len(value) <= MaxReply {
				t.Errorf("part %d has room for %s", i+1, key)
			}
		}
	}
	if !slices.Equal(names, g.Players) {
		t.Errorf("got players %q", names)
	}
	if !strings.Contains(parts[3], `\validate\zfmiAycI\final\\queryid\12.4`) {
		t.Errorf("the last part ends otherwise: %q", parts[3])
	}
}

// A datagram is filled to its last byte.
func TestAnswerIsFull(t *testing.T) {
	full := strings.Repeat("n", maxValue)
	for last, want := range map[string][]int{
		// \player_0\ and 255 characters, five times; \player_5\ab; \queryid\2.1
		"ab": {5*(10+255) + 10 + 2 + 12, len(`\final\\queryid\2.2`)},
		// The sixth player doesn't fit into the first datagram.
		"abc": {5*(10+255) + 12, 10 + 3 + len(`\final\\queryid\2.2`)},
	} {
		g := stockGame
		g.Players = []string{full, full, full, full, full, last}
		var got []int
		for _, part := range said(`\players\`, &g, 2) {
			got = append(got, len(part))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: datagrams of %v bytes, want %v; at most %d", last, got, want, MaxReply)
		}
	}
}

// No query adds its own keys to a reply, and only a long query gets a long
// reply.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`\status\`), `name`)
	f.Add([]byte(`\echo\final\packets\secure\\`), `a\final\`)
	f.Add([]byte(`\packets\secure\`+strings.Repeat("c", 300)), "\x00\xFF\\")
	f.Fuzz(func(t *testing.T, query []byte, name string) {
		g := stockGame
		g.Name, g.Mission, g.Players = name, name, []string{name, name}
		m := Parse(query)
		parts := Answer(m, &g, 1)
		if len(parts) > 4 || len(parts) > 0 && !Parse(query[:min(len(query), MaxQuery)]).Query() {
			t.Fatalf("got %d datagrams", len(parts))
		}
		for i, part := range parts {
			reply := Parse(part)
			if len(part) > MaxReply || reply.Kind() != KindReply {
				t.Errorf("part %d: %d bytes, %s: %q", i, len(part), reply.Kind(), part)
			}
			keys := map[string]bool{}
			for key := range reply.Pairs() {
				k := key.Raw()
				known := slices.Contains(answers, k) || k == "echo" || k == "player_0" || k == "player_1"
				if !known || keys[k] {
					t.Errorf("part %d: key %q: %q", i, k, part)
				}
				keys[k] = true
			}
			if keys["final"] != (i == len(parts)-1) {
				t.Errorf("part %d of %d: final is %v", i, len(parts), keys["final"])
			}
		}
	})
}
