package conform

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
)

// A host is blamed for the requests of a join that it did not send, and not for
// those that the capture lacks.
func TestChecksumRequests(t *testing.T) {
	hole := [2]holes{1: {lost: 1}}
	for _, tt := range []struct {
		name            string
		client          Client
		checked, failed int
	}{
		{"five", Client{settled: true, asked: 5}, 1, 0},
		{"four", Client{settled: true, asked: 4}, 1, 1},
		{"six", Client{settled: true, asked: 6}, 1, 1},
		{"four of five in the capture", Client{settled: true, asked: 4, got: hole}, 0, 0},
		{"five, and another message missing", Client{settled: true, asked: 5, got: hole}, 1, 0},
		{"six, and another message missing", Client{settled: true, asked: 6, got: hole}, 1, 1},
		{"joined before the capture", Client{settled: true, asked: 4, Player: result.Player{Adopted: true}}, 0, 0},
	} {
		v := newInvariants(msg.Catalog())
		v.joined(&tt.client)
		if got := &v[invChecksums]; got.Checked != tt.checked || got.Failed != tt.failed {
			t.Errorf("%s: %d checked, %d failed; want %d, %d", tt.name, got.Checked, got.Failed, tt.checked, tt.failed)
		}
	}
}
