package dissect_test

import (
	"bytes"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A clone shows the same at the end of a capture as the record did when it was
// emitted.
func TestClone(t *testing.T) {
	for _, name := range []string{"stock_client.pcap", "networked_battle.pcap", "forged_small.pcap", "gamespy.pcap", "opcode_tour.pcap"} {
		var then [][]byte
		var clones []*dissect.Record
		enc := ndjson.NewEncoder(ndjson.Options{Payload: true})
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			then = append(then, enc.Append(nil, r))
			clones = append(clones, r.Clone())
		})
		again := ndjson.NewEncoder(ndjson.Options{Payload: true})
		for i, c := range clones {
			if got := again.Append(nil, c); !bytes.Equal(got, then[i]) {
				t.Fatalf("%s: got\n%s, want\n%s", name, got, then[i])
			}
		}
		if len(clones) == 0 {
			t.Errorf("%s: no records", name)
		}
	}
}
