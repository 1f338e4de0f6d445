package gamespy

import (
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/wire"
)

func TestReply(t *testing.T) {
	const (
		one = `\gamename\bcommander\hostname\Lab\numplayers\2\queryid\7.1`
		two = `\player_0\Dedicated Server\player_1\Picard\queryid\7.2`
		end = `\player_2\Worf\player_x\no\final\\queryid\7.3`
	)
	for _, tt := range []struct {
		name      string
		datagrams []string
		taken     string // a letter for each datagram
		complete  bool
		players   string
	}{
		{"the stock host's", []string{statusReply}, "y", true, "Dedicated Server"},
		{"three parts", []string{one, two, end}, "yyy", true, "Dedicated Server Picard Worf"},
		{"in another order, doubled", []string{end, one, end, two, one}, "yyyyy", true, "Dedicated Server Picard Worf"},
		{"one is missing", []string{one, end}, "yy", false, "Worf"},
		{"the end is missing", []string{one, two}, "yy", false, "Dedicated Server Picard"},
		{"of two queries", []string{one, strings.Replace(two, "7.2", "8.2", 1), two, end}, "ynyy", true, "Dedicated Server Picard Worf"},
		{"without a number", []string{`\hostname\Lab\player_0\A\final\`}, "y", true, "A"},
		{"a number that is none", []string{`\hostname\Lab\queryid\1.x`, `\hostname\Lab\queryid\1.0`, `\hostname\Lab\queryid\1.33`}, "nnn", false, ""},
		{"the last possible part", []string{`\player_0\A\queryid\1.32`}, "y", false, "A"},
		{"a query", []string{`\status\`}, "n", false, ""},
		{"a heartbeat", []string{`\heartbeat\0\gamename\bcommander`}, "n", false, ""},
		{"a datagram of the game", []string{"\x01\xD7\x33\x68\xC3\xBF\x76\xDB"}, "n", false, ""},
		{"no backslash before it", []string{`hostname\Lab\final\`}, "n", false, ""},
		{"nothing", []string{""}, "n", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Reply
			taken := ""
			for _, d := range tt.datagrams {
				if r.Add([]byte(d)) {
					taken += "y"
				} else {
					taken += "n"
				}
			}
			if taken != tt.taken || r.Complete() != tt.complete {
				t.Errorf("taken: %s, want %s; complete: %v", taken, tt.taken, r.Complete())
			}
			if got := joined(r.Players()); got != tt.players {
				t.Errorf("players: %q, want %q", got, tt.players)
			}
		})
	}
	var r Reply
	r.Add([]byte(end))
	r.Add([]byte(one))
	if v, ok := r.Get("hostname"); v != "Lab" || !ok {
		t.Errorf("hostname is %q, %v", v, ok)
	}
	if _, ok := r.Get("mapname"); ok {
		t.Error("a value that nobody has sent")
	}
	var keys []string
	for k := range r.Pairs() {
		keys = append(keys, k.Raw())
	}
	if want := strings.Fields("gamename hostname numplayers queryid player_2 player_x final queryid"); !slices.Equal(keys, want) {
		t.Errorf("keys: %q", keys)
	}
}

func joined(names []wire.Untrusted) string {
	var all []string
	for _, name := range names {
		all = append(all, name.Raw())
	}
	return strings.Join(all, " ")
}
