package gamespy

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
)

// Private texts are marked in place with X for names and x for others; all else
// stays, so that the kind of the message does.
func TestEachPrivate(t *testing.T) {
	for text, want := range map[string]string{
		`\status\\queryid\7.1`: `\status\\queryid\7.1`,
		`\basic\info\`:         `\basic\info\`,
		`\hostname\*Lab\mapname\DM\numplayers\2\player_0\Bo`: `\hostname\*XXX\mapname\DM\numplayers\2\player_0\XX`,
		`\basic\Bob\`:                                          `\basic\xxx\`,
		`\echo\hello\final\\queryid\1.1`:                       `\echo\xxxxx\final\\queryid\1.1`,
		`\numplayers\Kirk`:                                     `\numplayers\xxxx`,
		`\hostname\A\B\C\final\\queryid\1.1`:                   `\hostname\X\x\x\final\\queryid\1.1`,
		`\player_x\Bob`:                                        `\xxxxxxxx\xxx`,
		`\secure\LRPOPQ`:                                       `\secure\xxxxxx`,
		`\secure\Hannah\echo\Hannah\`:                          `\secure\xxxxxx\echo\xxxxxx\`,
		`\location\203.0.113.5`:                                `\location\xxxxxxxxxxx`,
		`\mapname\Hannah's\system\Multi4`:                      `\mapname\xxxxxxxx\system\Multi4`,
		`\missionscript\Multiplayer.Episode.Mission1.Mission1`: `\missionscript\Multiplayer.Episode.Mission1.Mission1`,
		`\heartbeat\6500\gamename\bcommander`:                  `\heartbeat\6500\gamename\bcommander`,
		`\password\1\password\sesame`:                          `\password\1\password\xxxxxx`,
		`\`:                                                    `\`,
	} {
		b := []byte(text)
		m := Parse(b)
		kind := m.Kind()
		m.EachPrivate(func(p decode.Privacy, text []byte) {
			mark := "x"
			if p == decode.ServerName || p == decode.PlayerName {
				mark = "X"
			}
			copy(text, strings.Repeat(mark, len(text)))
		})
		if string(b) != want {
			t.Errorf("%s: got %s, want %s", text, b, want)
		}
		if text != `\basic\Bob\` && text != `\player_x\Bob` && m.Kind() != kind {
			t.Errorf("%s: a %s becomes a %s", text, kind, m.Kind())
		}
	}
}
