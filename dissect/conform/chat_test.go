package conform

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Chat in another's name that comes with the true sender is a deviation with a
// name; any other change is a difference.
func TestCorrectedChat(t *testing.T) {
	for _, tt := range []struct {
		name      string
		want, got string
		corrected bool
	}{
		{"true sender", "\x2C\x02\x00\x00\x00\x02\x00hi", "\x2C\x05\x00\x00\x00\x02\x00hi", true},
		{"third one", "\x2C\x02\x00\x00\x00\x02\x00hi", "\x2C\x03\x00\x00\x00\x02\x00hi", false},
		{"other text", "\x2C\x02\x00\x00\x00\x02\x00hi", "\x2C\x05\x00\x00\x00\x02\x00ho", false},
		{"not in another's name", "\x2C\x05\x00\x00\x00\x02\x00hi", "\x2C\x05\x00\x00\x00\x02\x00ho", false},
	} {
		rep := &Report{rows: map[rowKey]*Row{}, Invariants: newInvariants()}
		c := newComparer(newTimeline(msg.Catalog(), nil), rep, stockModel, stockModel)
		from, to := &Client{Peer: 5}, &Client{Peer: 2}
		src := &source{client: from, op: msg.OpChat}
		x := &expect{to: to, by: stockModel, src: src, typ: transport.Standard, op: msg.OpChat, body: []byte(tt.want)}
		g := &got{Event: &Event{Type: transport.Standard, Op: msg.OpChat, Body: []byte(tt.got)}}
		c.replaced(x, g)
		named := len(rep.Deviations) == 1 && rep.Deviations[0].Rule == ruleSender
		if named != tt.corrected || (rep.Found == 0) != tt.corrected {
			t.Errorf("%s: deviations %v, %d differences", tt.name, rep.Deviations, rep.Found)
		}
	}
}
