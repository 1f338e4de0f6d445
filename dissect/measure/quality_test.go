package measure

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
)

// The worst measurement decides the verdict.
func TestQualities(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name     string
		up, down Link
		want     Grade
	}{
		{"all well", Link{RTT: RTT{Median: 74 * ms}}, Link{RTT: RTT{Median: 75 * ms}}, Good},
		{"both ways are slow", Link{RTT: RTT{Median: 75 * ms}}, Link{RTT: RTT{Median: 75 * ms}}, Fair},
		{"one way is slow", Link{}, Link{RTT: RTT{Median: 300 * ms}}, Poor},
		{"silence", Link{Silence: 3 * time.Second}, Link{}, Fair},
		{"long silence", Link{Silence: 10 * time.Second}, Link{}, Poor},
		{"silence of the host", Link{}, Link{Silence: 10 * time.Second}, Good},
		{"few losses", Link{Data: Class{Reliable: 100, Lost: 3}}, Link{}, Fair},
		{"retransmissions", Link{Data: Class{Reliable: 55, Repeated: 5}, settled: 55}, Link{Control: Class{Reliable: 50}}, Fair},
		{"many retransmissions", Link{Data: Class{Reliable: 55, Repeated: 5}, settled: 55}, Link{}, Poor},
		{"too few messages", Link{Data: Class{Reliable: 24, Repeated: 5}, settled: 24}, Link{}, Good},
		{"a host that ignores acknowledgements", Link{}, Link{Data: Class{Reliable: 90, Repeated: 40, Duplicates: 40}, settled: 50}, Good},
		{"a host that has removed the client", Link{Data: Class{Reliable: 90, Repeated: 40}, settled: 40, pending: 10}, Link{}, Good},
		{"the connection before the host restarted", Link{Data: Class{Reliable: 90, Repeated: 40}, settled: 90, moot: 40}, Link{}, Good},
	} {
		test.down.Dir, test.up.Dir = dissect.FromHost, dissect.ToHost
		got := Qualities([]Link{test.up, test.down})
		if len(got) != 1 || got[0].Grade != test.want {
			t.Errorf("%s: got %+v, want %v", test.name, got, test.want)
		}
	}
}
