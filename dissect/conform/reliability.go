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

// findings judges how the host handles numbers and acknowledgements. The
// argument line has the losses on the line to each client.
func (t *timeline) findings(line []measure.Loss) (list []result.Finding) {
	for _, c := range t.all {
		c.got[1].takeBack(c.shown)
	}
	for i := range spans {
		if f, ok := t.ignoredAcks(i, line); ok {
			list = append(list, f)
			if g := t.givenUp(f.Players); len(g.Players) > 0 {
				g.Chance = f.Chance
				list = append(list, g)
			}
		}
	}
	for _, c := range t.all {
		if t.dismissedWhileActive(c) && !slices.ContainsFunc(list, func(f result.Finding) bool { return slices.Contains(f.Players, &c.Player) }) {
			f := result.Finding{Kind: result.GivenUp, Number: -1}
			f.Add(&c.Player, c.dismissed.frame, 1, 1)
			list = append(list, f)
		}
	}
	return append(list, t.neverRepeated()...)
}

// dismissedWhileActive reports whether the host told others that a client has
// left, although the client did not leave, still sends, and reaches the host.
// The client was not silent for long, and acknowledged the host's
// retransmissions.
func (t *timeline) dismissedWhileActive(c *Client) bool {
	at := c.dismissed
	if at.frame == 0 || c.Adopted || c.given == 0 || c.after <= len(rounds) || c.lastFromHost.frame > at.frame {
		return false
	}
	unacknowledged := func(r *receipt) bool { return r != nil && r.again > 0 && r.acked < r.last }
	return c.seen.frame > at.frame && c.seen.time.Sub(at.time) > arq.FirstInterval && at.since(c.lastFromHost) < arq.FirstInterval && at.since(c.taken) < arq.SilenceLimit && !slices.ContainsFunc(c.got[1].of[:], unacknowledged)
}

// ignoredAcks judges whether the host retransmits messages with numbers in a
// span although it received their acknowledgements. It counts only
// retransmissions that came after the host had shown that it received a later
// message of the client. The losses of the line decide whether each time only
// the acknowledgement was lost.
func (t *timeline) ignoredAcks(span int, losses []measure.Loss) (f result.Finding, found bool) {
	f = result.Finding{Kind: result.IgnoredAcks, Number: math.MaxInt64}
	players, weight := 0, 0.0
	for _, c := range t.all {
		var line measure.Trials // transmissions that may not have reached the host
		for _, l := range losses {
			if l.Client == c.Addr && l.Dir == dissect.ToHost {
				line.Of, line.Failed = int(l.Sent), int(l.Unanswered)
			}
		}
		for _, below := range c.got[1].acks[:span] {
			line.Of, line.Failed = line.Of+below.first.Of, line.Failed+below.first.Failed
		}
		y := &c.got[1].acks[span]
		by := y.more.Against(line.Most()) + measure.Trials{Of: y.first.Of - y.first.Failed + y.apart, Failed: y.apart}.Against(line.Most())
		if y.more.Failed+y.first.Failed > 0 {
			players++
			weight += by
		}
		if by < adding {
			continue
		}
		f.Add(&c.Player, y.frame, y.all, y.first.Failed+y.more.Failed)
		f.Number, f.Most, f.Loss = min(f.Number, y.number), max(f.Most, int(y.most)), max(f.Loss, line.Most())
	}
	if weight -= float64(players); weight < sure || len(f.Players) == 0 {
		return f, false
	}
	f.Chance = -weight * math.Log10E
	if span > 0 {
		f.From, f.Short = spans[span-1], span == 1
	}
	return f, true
}

// givenUp returns which players, whose acknowledgements the host ignores, it
// removes. It tells others that they have left, or sends them no keepalives any
// more although they still send.
func (t *timeline) givenUp(players []*result.Player) result.Finding {
	f := result.Finding{Kind: result.GivenUp, Number: -1}
	for _, c := range t.all {
		told := c.dismissed.frame > 0 && (c.seen.frame > c.dismissed.frame || !t.lossy())
		silent := c.after > 0 && t.lastFromHost.since(c.lastFromHost) > arq.KeepaliveAfter
		if slices.Contains(players, &c.Player) && (told || silent) {
			f.Add(&c.Player, c.lastFromHost.frame, 1, 1)
		}
	}
	return f
}

// neverRepeated finds joins that stopped because a message of the host was
// lost: no acknowledgement came, and the host did not retransmit it. It
// excludes a host that repeats a client's id and waits until the client uses
// it.
func (t *timeline) neverRepeated() (list []result.Finding) {
	for _, c := range t.all {
		last, accept := c.got[1].of[uint8(c.got[1].next-1)], c.got[0].of[0] //nolint:gosec // the low byte
		if c.Adopted || c.letIn() || last == nil || !c.spoke && accept != nil && accept.again > 0 {
			continue
		}
		waited := min(c.lastFromHost.time.Sub(last.at), c.seen.time.Sub(last.at))
		if last.again == 0 && !last.acknowledged() && waited > arq.AllWaits {
			f := result.Finding{Kind: result.NeverRepeated, Number: last.number}
			f.Add(&c.Player, last.frame, 1, 1)
			list = append(list, f)
		}
	}
	return list
}
