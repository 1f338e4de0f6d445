package measure

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Loss estimates which part of the datagrams of one direction is lost, from
// the numbers of the game's messages, and from retransmissions. Its text comes
// from the network: escape it for a terminal.
type Loss struct {
	Host   netip.AddrPort `json:"host"`
	Client netip.AddrPort `json:"client"`
	Player wire.Untrusted `json:"player_name,omitempty"`
	Dir    dissect.Dir    `json:"dir" as:"text"`

	Part float64 `json:"loss" digits:"4"`      // estimate, from 0 to 1
	Most float64 `json:"loss_most" digits:"4"` // upper bound for so few messages, as if all of Open were lost

	Numbers    int64 `json:"numbers"`    // sequence numbers that should have come
	Missing    int64 `json:"missing"`    // numbers that came only in a retransmission or never, since they were lost before the recording
	Sent       int64 `json:"sent"`       // transmissions until the last one whose message was acknowledged, without those of messages already acknowledged
	Unanswered int64 `json:"unanswered"` // of these, transmissions without an acknowledgement: they or the acknowledgement were lost after the recording
	Open       int64 `json:"open"`       // retransmissions after these: lost, or the other side had ended the connection
}

// Losses estimates the loss of both directions of the links, which must be in
// the order of [Meter.Links].
func Losses(links []Link) []Loss {
	all := make([]Loss, len(links))
	for i := range links {
		l := &links[i]
		c := &l.Data // OpenBC's clients acknowledge only these
		all[i] = Loss{
			Host: l.Host, Client: l.Client, Player: l.Player, Dir: l.Dir, Numbers: max(0, c.Reliable-c.Repeated+c.Lost),
			Missing: max(0, c.Lost+c.Late-l.overtaken), Sent: max(0, l.settled-l.moot), Open: l.ended(),
		}
		all[i].Unanswered = max(0, all[i].Sent-c.Acknowledged)
	}
	for i := range all {
		l, back := &all[i], &Loss{}
		for _, k := range [...]int{i - 1, i + 1} {
			if k >= 0 && k < len(all) && all[k].Host == l.Host && all[k].Client == l.Client {
				back = &all[k]
			}
		}
		before, behind := share(l.Missing, l.Numbers), share(l.Unanswered, l.Sent)
		if answered := 1 - share(back.Missing, back.Numbers); answered > 0 { // acknowledgements are also lost before the recording
			behind = max(0, 1-(1-behind)/answered)
		}
		l.Part = 1 - (1-before)*(1-behind)
		l.Most = max(l.Part, 1-(1-Most(l.Missing, l.Numbers))*(1-Most(l.Unanswered+l.Open, l.Sent+l.Open)))
	}
	return all
}

func share(n, of int64) float64 { return min(1, float64(n)/float64(max(of, 1))) }

// Most returns an upper bound of the share that fails, given that failed of so
// many failed.
func Most(failed, of int64) float64 {
	k := float64(max(failed, 0))
	return min(1, (k+3*math.Sqrt(k)+3)/float64(max(of, 1)))
}

// Who returns the player's name if it is known, and otherwise the client's
// address. It is safe for a terminal.
func (l *Loss) Who() string {
	if l.Player != "" {
		return l.Player.String()
	}
	return l.Client.String()
}

// String returns the estimate and its basis.
func (l Loss) String() string {
	return fmt.Sprintf("%.1f %%, at most %.1f %% (%d of %d numbers missing, %d of %d transmissions unanswered)",
		100*l.Part, 100*l.Most, l.Missing, l.Numbers, l.Unanswered, l.Sent)
}

// unsettled counts the game's messages whose acknowledgement may still come,
// since no later transmission has been acknowledged.
func (l *link) unsettled() (n int64) {
	for i := range l.spaces[1].waiting.ring {
		if m := &l.spaces[1].waiting.ring[i]; m.key != 0 && m.nth > l.settled {
			n++
		}
	}
	return n
}

// ended counts the retransmissions of game messages after which no transmission
// of that connection was acknowledged.
func (l *Link) ended() int64 {
	return max(0, l.Data.transmissions()-l.settled+l.moot-l.pending)
}

// transmissions counts the messages of a class, each until its first
// acknowledgement.
func (c *Class) transmissions() int64 { return c.Reliable - c.Duplicates }

// maxGaps is how many missing numbers of each link have their time remembered.
const maxGaps = 256

// gaps are the times when numbers of the game's messages were found missing,
// indexed by the numbers' low bits.
type gaps [maxGaps]moment

// missed notes the numbers that are missing before a message. It also handles a
// message that was overtaken, which comes too soon to be a retransmission.
func (l *link) missed(r *dissect.Record, at moment) {
	if r.Transport.Control() {
		return
	}
	if r.Gap > 0 && l.gaps == nil {
		l.gaps = new(gaps)
	}
	for n := r.Number - int64(min(r.Gap, maxGaps)); n < r.Number; n++ {
		l.gaps[uint64(n)%maxGaps] = at
	}
	if r.Late && l.gaps != nil {
		if ns, ok := at.since(l.gaps[uint64(r.Number)%maxGaps]); ok && ns < int64(transport.Detour) {
			l.overtaken++
		}
	}
}

// Trials are the numbers of attempts and of failures among them.
type Trials struct{ Of, Failed int }

// Most returns an upper bound of the share that fails.
func (t Trials) Most() float64 { return Most(int64(t.Failed), int64(t.Of)) }

// Against returns the negative logarithm of the probability that so many fail
// if each fails with probability p (Chernoff's bound).
func (t Trials) Against(p float64) float64 {
	k, n := float64(t.Failed), float64(t.Of)
	switch q := k / max(n, 1); {
	case q <= p:
		return 0
	case q == 1:
		return -n * math.Log(p)
	default:
		return k*math.Log(q/p) + (n-k)*math.Log((1-q)/(1-p))
	}
}
