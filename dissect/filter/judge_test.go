package filter

import (
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// judged are expressions with their verdicts on ship updates and on
// acknowledgements.
var judged = []struct {
	expr         string
	updates, ack verdict
}{
	{`Chat`, never, never},
	{`Chat.text contains "a"`, never, never},
	{`StateUpdate`, always, never},
	{`not StateUpdate`, never, always},
	{`opcode == 0x1c`, always, never},
	{`opcode != 0x1c`, never, never},
	{`opcode`, varies, varies},
	{`name contains "Update"`, always, never},
	{`kind == ack`, never, always},
	{`type in {1, 50}`, always, always},
	{`kind == standard and Chat.text == "x"`, never, never},
	{`kind == standard and frame > 3`, varies, never},
	{`Chat or frame == 3`, varies, varies},
	{`StateUpdate or frame == 3`, always, varies},
	{`StateUpdate.speed > 5`, varies, never},
	{`object_id == 1`, varies, never},
	{`not subsystems.entries.condition > 0.5`, varies, always},
	{`StateUpdate xor kind == ack`, varies, varies},
	{`dir == c2s`, varies, varies},
	{`seq`, varies, varies},
	{`gamespy.hostname == "x"`, varies, varies},
}

func TestJudge(t *testing.T) {
	update := sample(t, "1c-client-9d")
	ack := dissect.Record{}
	ack.Transport.Type, ack.Transport.Len = 1, 4
	for _, tt := range judged {
		f := must(t, tt.expr)
		for r, want := range map[*dissect.Record]verdict{update: tt.updates, &ack: tt.ack} {
			is, known := f.Judge(r)
			if known != (want != varies) || is != (want == always) {
				t.Errorf("%s, %v: got %v, known %v, want %d", tt.expr, r.Transport.Type, is, known, want)
			}
		}
	}
}

// A judgement before reading holds for every record of a battle.
func TestJudgeRecords(t *testing.T) {
	var filters []*Filter
	for _, tt := range judged {
		filters = append(filters, must(t, tt.expr))
	}
	known := 0
	recorded.Records(t, "networked_battle.pcap", dissect.Config{Catalog: stock}, func(r *dissect.Record) {
		kind := dissect.Record{Kind: r.Kind, Transport: r.Transport, Spec: r.Spec, Payload: r.Payload}
		for i, f := range filters {
			is, ok := f.Judge(&kind)
			if !ok {
				continue
			}
			if known++; is != f.Match(r) {
				t.Fatalf("frame %d, message %d, %s: it is judged %v", r.Datagram.Number, r.Part, judged[i].expr, is)
			}
		}
	})
	if known < 10000 {
		t.Errorf("only %d verdicts", known)
	}
}
