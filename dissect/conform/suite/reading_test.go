package suite

import (
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// Captures of an OpenBC server: its documented differences are KNOWN, others are FAIL, and a
// difference that another case is about is none. The StartWarp of opcode_tour, which its server
// drops, cannot be read. The server of join_flow announces those who are there in frame 84, that of no_identity
// does so in frame 58, and tells of a leave with a 17 in frame 76, and that of stock_client ends with a disconnect that has
// the id of its receiver, in frame 344. That of trouble/arrival passes lines on twice that the network repeated, which T-6 is about.
func TestDocumentedInCaptures(t *testing.T) {
	for _, tt := range []struct {
		capture, id string
		profile     Profile
		want        Verdict
		frame       int
	}{
		{"opcode_tour.pcap", "R-10", OpenBC, NotSeen, 0},
		{"opcode_tour.pcap", "R-10", Stock, NotSeen, 0},
		{"opcode_tour.pcap", "R-07", OpenBC, Pass, 0},
		{"join_flow.pcap", "J-11", OpenBC, Known, 0},
		{"join_flow.pcap", "J-11", Stock, Fail, 0},
		{"no_identity.pcap", "J-11", OpenBC, Known, 0},
		{"stock_client.pcap", "L-6", OpenBC, Fail, 344},
		{"stock_client.pcap", "L-3", OpenBC, Known, 334},
		{"stock_client.pcap", "L-3", Stock, Fail, 334},
		{"stock_client.pcap", "R-08", Stock, Pass, 0},
		{"battle_mix.pcap.gz", "U-11", OpenBC, Known, 0},
		{"trouble/arrival.pcap", "R-2C", OpenBC, Pass, 0},
	} {
		cases, _ := Select([]string{tt.id})
		g := NewReading(cases, tt.profile)
		recorded.Records(t, tt.capture, dissect.Config{}, func(r *dissect.Record) { _ = g.Record(r) }) // which never fails
		rep, _ := g.Report(tt.capture, began, began)
		if len(rep.Results) != 1 {
			t.Fatalf("%s: %d results", tt.capture, len(rep.Results))
		}
		res := &rep.Results[0]
		if res.Verdict != tt.want || tt.frame > 0 && !slices.Contains(res.Frames, tt.frame) {
			t.Errorf("%s, %v: %s is %v, frames %v; want %v, %d: %s %v", tt.capture, tt.profile, tt.id, res.Verdict, res.Frames, tt.want, tt.frame, res.Why, res.Came)
		}
	}
}
