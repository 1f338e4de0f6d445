package match

import (
	"net/netip"
	"testing"
	"time"
)

// TestManyMatches has more lines of chat in many matches than a recording may
// have. A report that takes each match when it ends has them all.
func TestManyMatches(t *testing.T) {
	t.Parallel()
	const matches, lines = 300, 100
	for _, watched := range []bool{true, false} {
		b := New(time.Time{})
		g := newGame(b, netip.MustParseAddrPort("192.0.2.1:22101"))
		b.hosts[g.host] = g
		taken, refused := 0, 0
		for range matches {
			for range lines {
				if g.room(itemChat) {
					g.m.Chat = append(g.m.Chat, Talk{Player: NoPlayer})
				} else {
					refused++
				}
			}
			g.next(EndRestart)
			if watched {
				ended, _ := b.Watch()
				for _, m := range ended {
					taken += len(m.Chat)
				}
			}
		}
		switch {
		case watched && (taken != matches*lines || refused != 0):
			t.Errorf("watched: %d lines were taken, %d refused", taken, refused)
		case !watched && refused < matches*lines-MaxChat: // lines of the last matches that are not kept count as well
			t.Errorf("not watched: %d lines were refused", refused)
		}
	}
}
