package suite

import (
	"fmt"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// A beat is a heartbeat of a host, as its master server gets it.
type beat struct {
	frame   int
	text    string
	changed bool // it says that the game has changed
}

// takeBeat adds a datagram that came to the master server, if it is a heartbeat.
func takeBeat(list []beat, a relay.Arrival, frame int) []beat {
	const most, longest = 256, 200
	m := gamespy.Parse(a.Datagram)
	if m.Kind() != gamespy.KindHeartbeat || len(list) >= most {
		return list
	}
	changed, _ := m.Get("statechanged")
	return append(list, beat{frame, string(a.Datagram[:min(len(a.Datagram), longest)]), changed == "1"})
}

// leaveAnnounced has a client leave that has been in the game for so long that the host has
// announced its join.
func leaveAnnounced(t *T) error {
	if !t.r.o.Master.IsValid() {
		return skip("needs --master, and a host that announces its game there")
	}
	c, err := t.joined()
	if err != nil {
		return err
	}
	const within, late = 10 * time.Second, time.Second
	t.wait(within + late)
	before := len(t.r.beats)
	c.Leave(t.now())
	var came []any
	if t.until(within+late, func() bool {
		for ; before < len(t.r.beats); before++ {
			b := &t.r.beats[before]
			t.show(b.frame)
			came = append(came, fmt.Sprintf("frame %d: %q", b.frame, b.text))
			if b.changed {
				return true
			}
		}
		return false
	}) {
		return nil
	}
	if len(t.r.beats) == 0 {
		return skip("no heartbeat came: let the host announce its game to %v", t.r.o.Master)
	}
	return t.fail(`\heartbeat\ with \statechanged\1 within 10 s`, came...)
}
