package measure_test

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// joinsOf returns the joins in a part of a capture.
func joinsOf(t *testing.T, name string, wanted func(frame int) bool) []*measure.Join {
	t.Helper()
	joins := measure.NewJoins()
	p := dissect.New(dissect.Config{})
	recorded.Datagrams(t, name, func(d *dissect.Datagram) {
		if wanted(d.Number) {
			if err := p.Push(d, joins.Record); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := joins.Close(); err != nil {
		t.Fatal(err)
	}
	return joins.All
}

// TestHandshake: the steps of a join in stock_client.pcap, by hand, and where it
// stops if the capture ends after a frame.
func TestHandshake(t *testing.T) {
	all := joinsOf(t, "stock_client.pcap", func(int) bool { return true })
	if len(all) != 2 || all[0].Name != "Cady2" || all[1].Name != "Kirk" || !all[0].InGame || !all[1].InGame {
		t.Fatalf("joins %+v, want those of Cady2 and Kirk into the game", all)
	}
	frames := []int{}
	for _, s := range all[0].Steps {
		frames = append(frames, s.Frame)
	}
	want := []int{4, 5, 5, 8, 9, 10, 12, 13, 17, 18, 21, 22, 24, 25, 25, 25, 30, 31}
	if len(frames) != len(want) {
		t.Fatalf("steps in frames %v, want %v", frames, want)
	}
	for i := range want {
		if frames[i] != want[i] {
			t.Fatalf("steps in frames %v, want %v", frames, want)
		}
	}
	for last, stopped := range map[int]string{
		4: "does not answer the connect", 10: "does not answer ChecksumRequest 1", 12: "does not go on after ChecksumResponse 1",
		25: "does not say that it is ready", 30: "does not send MissionInit",
	} {
		j := joinsOf(t, "stock_client.pcap", func(frame int) bool { return frame <= last })[0]
		const later = " before the capture ends, 0.0 s later" // neither side is to blame
		if j.InGame || !strings.Contains(j.Stopped, stopped) || !strings.HasSuffix(j.Stopped, later) {
			t.Errorf("up to frame %d: %q, want %q", last, j.Stopped, stopped)
		}
	}
	// The other client joins in the next seconds.
	j := joinsOf(t, "stock_client.pcap", func(frame int) bool { return frame <= 9 || frame >= 34 && frame <= 64 })[0]
	if j.InGame || strings.Contains(j.Stopped, "capture ends") {
		t.Errorf("after frame 9: %q", j.Stopped)
	}
	// A capture of only the clients does not tell how far the host came.

	joins := measure.NewJoins()
	recorded.Records(t, "stock_client.pcap", dissect.Config{}, func(r *dissect.Record) {
		if r.Dir == dissect.ToHost {
			_ = joins.Record(r) // it never fails
		}
	})
	_ = joins.Close() // nor does this
	for _, j := range joins.All {
		if j.InGame || !strings.Contains(j.Stopped, "the capture holds no message of the host") {
			t.Errorf("of the clients alone: %q", j.Stopped)
		}
	}
}

// TestTroubledJoin: a host that says nothing more, although the client repeats
// its answer, is why the join stopped.
func TestTroubledJoin(t *testing.T) {
	all := joinsOf(t, "trouble/id.pcap", func(int) bool { return true })
	if len(all) != 4 || all[0].InGame || !all[1].InGame {
		t.Fatalf("%d joins, want four, and the second in the game", len(all))
	}
	if got, want := all[0].Stopped, "the host sends nothing more, although the client speaks for 7.2 s"; got != want {
		t.Errorf("it stopped because %q, want %q", got, want)
	}
}
