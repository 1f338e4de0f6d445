package conform

import "time"

// maxAgain bounds the retransmissions that are remembered.
const maxAgain = 4096

// again are the latest retransmissions. A sender with 8-bit numbers may send the
// same bytes with the same number again as another message, and where the
// capture has holes the two cannot always be told apart.
type again struct {
	at map[resent][]time.Time
	n  int

	dropped int // before their time
}

// Limits of moments: half of them span more time than anything is remembered.
const (
	maxMoments   = 1024
	roundMoments = 100 * time.Millisecond
)

// moments are the latest times of something, in order and rounded.
type moments []time.Time

func (m *moments) take(at time.Time) {
	if n := len(*m); n > 0 && at.Sub((*m)[n-1]) < roundMoments {
		return
	}
	if len(*m) == maxMoments {
		*m = append((*m)[:0], (*m)[maxMoments/2:]...)
	}
	*m = append(*m, at)
}

// during reports whether it happened in a time.
func (m moments) during(from, till time.Time) bool { return near(m, from, till.Sub(from)) }

// A resent message is one to a client, or to the host if that is nil.
type resent struct {
	to  *Client
	key uint64
}

func (a *again) take(to *Client, key uint64, at time.Time) {
	if a.at == nil {
		a.at = map[resent][]time.Time{}
	}
	if a.n == maxAgain {
		var dropped int
		a.n, dropped = forget(a.at, func(t *time.Time) time.Time { return *t }, at.Add(-remembered), maxAgain)
		a.dropped += dropped
	}
	a.n++
	r := resent{to, key}
	a.at[r] = append(a.at[r], at)
}

// near reports whether there was one in a time.
func (a *again) near(to *Client, key uint64, from, till time.Time) bool {
	return near(a.at[resent{to, key}], from, till.Sub(from))
}
