package measure

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Grade rates a player's connection.
type Grade uint8

// The grades.
const (
	Good Grade = iota
	Fair
	Poor
)

// String returns the grade in a word.
func (g Grade) String() string { return [...]string{Good: "good", Fair: "fair", Poor: "poor"}[g] }

// A connection with these values or higher ones is fair, or poor.
const (
	fairRTT, poorRTT         = 150 * time.Millisecond, 300 * time.Millisecond
	fairSilence, poorSilence = 3 * time.Second, 10 * time.Second
	fairShare, poorShare     = 0.03, 0.10 // shares of reliable messages that were resent for lack of an answer, or lost
	leastReliable            = 20         // fewest reliable messages for which a share is meaningful
)

// A Quality summarises both directions between a client and its host.
type Quality struct {
	Host, Client netip.AddrPort
	Player       wire.Untrusted
	Grade        Grade

	RTT       time.Duration // sum of both directions' medians, 0 if not measured
	Reliable  int64         // reliable messages, without retransmissions
	Resent    int64         // retransmissions, without Acked and Ended
	Acked     int64         // retransmissions of messages that were acknowledged: OpenBC ignores acknowledgements above 255
	Ended     int64         // retransmissions after the last answer: the other side had ended the connection, or the line was cut
	Lost      int64
	Silence   time.Duration // the client's longest silence
	SilenceAt time.Time
}

// Qualities summarises links, which must be in the order of [Meter.Links].
func Qualities(links []Link) []Quality {
	var all []Quality
	for i := range links {
		l := &links[i]
		if n := len(all); n == 0 || all[n-1].Host != l.Host || all[n-1].Client != l.Client {
			all = append(all, Quality{Host: l.Host, Client: l.Client, Player: l.Player})
		}
		q := &all[len(all)-1]
		q.RTT = packet.Sum(q.RTT, l.RTT.Median)
		sums := l.Both()
		q.Reliable += sums.Reliable - sums.Repeated
		q.Acked += sums.Duplicates
		q.Ended += l.ended()
		q.Resent += max(0, sums.Repeated-sums.Duplicates-l.ended())
		q.Lost += sums.Lost
		if l.Dir == dissect.ToHost {
			q.Silence, q.SilenceAt = l.Silence, l.SilenceAt
		}
	}
	for i := range all {
		all[i].judge()
	}
	return all
}

// judge sets the grade.
func (q *Quality) judge() {
	share := 0.0
	if q.Reliable >= leastReliable {
		share = float64(max(q.Resent, q.Lost)) / float64(q.Reliable)
	}
	switch {
	case q.RTT >= poorRTT, q.Silence >= poorSilence, share >= poorShare:
		q.Grade = Poor
	case q.RTT >= fairRTT, q.Silence >= fairSilence, share >= fairShare:
		q.Grade = Fair
	}
}

// String tells the measurements, and those that a grade below Good rests on.
func (q *Quality) String() string {
	text := Words(q.RTT, q.Lost, q.Resent)
	if q.Resent > 0 && q.Reliable > 0 {
		text += fmt.Sprintf(" (%.0f%%)", 100*float64(q.Resent)/float64(q.Reliable))
	}
	if q.Silence >= fairSilence {
		text += fmt.Sprintf(", silent for %.1f s", q.Silence.Seconds())
	}
	if q.Acked > 0 {
		text += fmt.Sprintf(", %d resent although acknowledged", q.Acked)
	}
	if q.Ended > 0 {
		text += fmt.Sprintf(", %d resent after the last answer", q.Ended)
	}
	return text
}

// Words describes the round trip, losses and retransmissions of a connection.
func Words(rtt time.Duration, lost, resent int64) string {
	text := "round trip not measured"
	if rtt > 0 {
		text = "round trip " + Millis(rtt)
	}
	text += fmt.Sprintf(", %d lost", lost)
	if resent > 0 {
		text += fmt.Sprintf(", %d resent", resent)
	}
	return text
}

// Millis returns a time in milliseconds with as many digits as people need.
func Millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// A Trouble is the kind of a moment in which a connection was bad.
type Trouble uint8

// The kinds of such moments.
const (
	Silent    Trouble = iota // nothing was sent
	Slow                     // an acknowledgement took long
	NoUpdates                // there were no updates of a ship
)

// A Moment is a time when a connection was bad.
type Moment struct {
	At      time.Time
	Dir     dissect.Dir
	Client  netip.AddrPort
	Player  wire.Untrusted
	Trouble Trouble
	Length  time.Duration
	Object  wire.Untrusted // ship of NoUpdates
}

// Worst returns the worst moments, at most n, in the order of time. It
// considers the longest one of each direction and ship, if it is at least a
// tenth of a second long.
func (m *Meter) Worst(n int) []Moment {
	const shortest = 100 * time.Millisecond
	var all []Moment
	add := func(k Moment) {
		if k.Length >= shortest && !k.At.IsZero() {
			all = append(all, k)
		}
	}
	links := m.Links()
	for i := range links {
		l := &links[i]
		add(Moment{At: l.SilenceAt, Dir: l.Dir, Client: l.Client, Player: l.Player, Trouble: Silent, Length: l.Silence})
		add(Moment{At: l.RTT.MaxAt, Dir: l.Dir, Client: l.Client, Player: l.Player, Trouble: Slow, Length: l.RTT.Max})
	}
	ships := m.Ships()
	for i := range ships {
		s := &ships[i]
		if s.Updates > 1 {
			add(Moment{At: s.LongestAt, Dir: s.Dir, Client: s.Client, Player: s.Player, Trouble: NoUpdates, Length: s.Longest, Object: s.Name})
		}
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(b.Length, a.Length) })
	all = all[:min(n, len(all))]
	slices.SortStableFunc(all, func(a, b Moment) int { return a.At.Compare(b.At) })
	return all
}
