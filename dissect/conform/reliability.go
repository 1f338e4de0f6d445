package conform

import (
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
)

// Thresholds for findings, as negative logarithms of probabilities: for a
// finding, and for what one player contributes to it.
const (
	sure   = 20.0
	adding = 4.0
)

// goesOn is the number of messages of a client that show that it is still there,
// as a leave is repeated less often.
const goesOn = 6

// findings judges how the host handles numbers and acknowledgements. The
// argument line has the losses on the line to each client.
func (t *timeline) findings(line []measure.Loss) (list []result.Finding) {
	for i := range spans {
		list = append(list, t.ignoredAcks(i, line)...)
	}
	for _, c := range t.order {
		ignored := func(f result.Finding) bool { return slices.Contains(f.Players, &c.Player) }
		if t.dismissedWhileActive(c) && !slices.ContainsFunc(list, ignored) {
			list = append(list, about(result.GivenUp, -1, c, c.dismissed.frame))
		}
		if last := t.neverRepeated(c); last != nil {
			list = append(list, about(result.NeverRepeated, last.number, c, last.frame))
		}
	}
	return list
}

// about returns a finding about one player.
func about(kind string, number int64, c *Client, frame int) result.Finding {
	f := result.Finding{Kind: kind, Number: number}
	f.Add(&c.Player, frame, 1, 1)
	return f
}

// dismissedWhileActive reports whether the host told others that a client has
// left, although the client did not leave, still sends, and reaches the host.
// The client was not silent for long, and acknowledged the host's
// retransmissions.
func (t *timeline) dismissedWhileActive(c *Client) bool {
	at := c.dismissed
	if at.frame == 0 || c.Adopted || c.given == 0 || c.after == 0 || c.seen.since(at) < arq.AllWaits && c.still < goesOn {
		return false
	}
	unacknowledged := func(r *receipt) bool { return r != nil && r.again > 0 && r.acked < r.last }
	return c.seen.since(at) > arq.FirstInterval && at.since(c.lastFromHost).Abs() < arq.FirstInterval && at.since(c.taken) < arq.AllWaits && !slices.ContainsFunc(c.got[1].of[:], unacknowledged)
}

// ignoredAcks judges whether the host retransmits messages with numbers in a
// span although it received their acknowledgements, and removes players because
// of that. It counts only retransmissions that came after the host had shown
// that it received a later message of the client. The losses of the line decide
// whether each time only the acknowledgement was lost.
func (t *timeline) ignoredAcks(span int, losses []measure.Loss) []result.Finding {
	f, removed := result.Finding{Kind: result.IgnoredAcks, Number: math.MaxInt64}, result.Finding{Kind: result.GivenUp, Number: -1}
	weight := 0.0
	for _, c := range t.order {
		var line measure.Trials // transmissions that may not have reached the host
		if i := slices.IndexFunc(losses, func(l measure.Loss) bool { return l.Client == c.Addr && l.Dir == dissect.ToHost }); i >= 0 {
			line.Of, line.Failed = int(losses[i].Sent), int(losses[i].Unanswered)
		}
		for _, below := range c.got[1].acks[:span] {
			line.Of, line.Failed = line.Of+below.first.Of, line.Failed+below.first.Failed
		}
		y, most := &c.got[1].acks[span], min(line.Most(), c.heard.Most())
		if y.more.Failed+y.first.Failed == 0 {
			continue
		}
		by := y.more.Against(most) + measure.Trials{Of: y.first.Of - y.first.Failed + y.apart, Failed: y.apart}.Against(most)
		if weight += by - 1; by < adding {
			continue
		}
		f.Add(&c.Player, y.frame, y.all, y.first.Failed+y.more.Failed)
		f.Number, f.Most, f.Loss = min(f.Number, y.number), max(f.Most, int(y.most)), max(f.Loss, most)
		if t.removed(c) {
			removed.Add(&c.Player, c.lastFromHost.frame, 1, 1)
		}
	}
	if weight < sure || len(f.Players) == 0 {
		return nil
	}
	f.Chance = -weight * math.Log10E
	if span > 0 {
		f.From, f.Short = spans[span-1], span == 1
	}
	if removed.Chance = f.Chance; len(removed.Players) == 0 {
		return []result.Finding{f}
	}
	return []result.Finding{f, removed}
}

// removed reports whether the host removed a client that still sends: it told
// others that the client has left, or sends it no keepalives any more.
func (t *timeline) removed(c *Client) bool {
	told := c.dismissed.frame > 0 && (c.seen.frame > c.dismissed.frame || !t.lossy())
	return told || c.after > 0 && t.lastFromHost.since(c.lastFromHost) > arq.KeepaliveAfter
}

// neverRepeated returns the message of the host with which a client's join
// stopped because it was lost: no acknowledgement came, and the host did not
// retransmit it. It excludes a host that repeats a client's id and waits until
// the client uses it.
func (t *timeline) neverRepeated(c *Client) *receipt {
	last, accept := c.got[1].of[uint8(c.got[1].next-1)], c.got[0].of[0] //nolint:gosec // the low byte
	if c.Adopted || c.letIn() || last == nil || last.again > 0 || last.acknowledged() || !c.spoke && accept != nil && accept.again > 0 ||
		min(c.lastFromHost.time.Sub(last.at), c.seen.time.Sub(last.at)) <= arq.AllWaits {
		return nil
	}
	return last
}
