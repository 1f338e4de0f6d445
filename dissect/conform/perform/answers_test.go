package perform_test

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Clients play to a host that wants other files than they had, with the hashes that
// the user gives.
func TestAnswersGiven(t *testing.T) {
	const own = 0x12345678
	app := names.Hash("App.pyc")
	asked, refused := 0, 0
	l := newLive(t, relay.Config{Check: func(m *msg.ChecksumResponse) string {
		if m.Round > 0 {
			return ""
		}
		asked++
		if len(m.Tree.Files) == 1 && m.Tree.Files[0] == (msg.ChecksumFile{Name: app, Content: own}) {
			return ""
		}
		refused++
		return "App.pyc"
	}}, decode.Stock)
	l.performer.Answers = map[uint8]*msg.ChecksumResponse{0: {
		VersionHash: names.Hash("60"), Found: true, DirHash: names.Hash("scripts"),
		Tree: msg.ChecksumTree{Files: []msg.ChecksumFile{{Name: app, Content: own}}},
	}}
	l.play("join_flow.pcap")
	if asked == 0 || refused > 0 {
		t.Errorf("%d of %d answers were refused", refused, asked)
	}
}
