package stage

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
)

// A capture's clock that jumps by centuries doesn't keep its clients waiting.
func TestJumpIsNotWaitedOut(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	host := netip.MustParseAddrPort("127.0.0.1:22101")
	s := New(ctx, host, MaxSpeed, conform.Config{}, nil)
	for _, year := range []int{2026, 2426, 2426} {
		d := dissect.Datagram{Time: time.Date(year, 11, 23, 0, 0, 0, 0, time.UTC), Dst: host, Payload: []byte(`\status\`)}
		if err := s.Record(&dissect.Record{Datagram: &d, Kind: dissect.KindGameSpy, GameSpy: gamespy.Parse(d.Payload)}); err != nil {
			t.Fatal(err)
		}
	}
	if said := strings.Join(s.Complaints(), "\n"); !strings.Contains(said, "its clock jumps: 2562047h") || strings.Contains(said, "\n") {
		t.Errorf("said %q", said)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
