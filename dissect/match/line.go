package match

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// lineState is the state of a player's connection.
type lineState struct {
	points []LinePoint
	step   float64 // seconds between points

	silence   time.Duration // the player's longest silence
	silenceAt float64
}

// endLap adds a point to every line.
func (b *Builder) endLap() {
	begin := b.lap - lapSeconds
	if b.lap <= b.now {
		b.lap += lapSeconds * (math.Floor((b.now-b.lap)/lapSeconds) + 1)
	}
	if begin < 0 {
		begin = max(0, b.lap-2*lapSeconds)
	}
	b.meter.Laps(func(l *measure.Lap) {
		if g := b.hosts[l.Host]; g != nil {
			g.lapOf(l, begin)
		}
	})
}

// lapOf adds the traffic of a link to a player's line.
func (g *game) lapOf(lap *measure.Lap, begin float64) {
	l := g.lines[lap.Client]
	if l == nil {
		if len(g.lines) >= MaxPlayers {
			return
		}
		l = &lineState{step: lapSeconds}
		g.lines[lap.Client] = l
	}
	if lap.Datagrams == 0 && lap.RTTs == 0 && lap.Lost == 0 && g.unused(lap.Client) {
		return
	}
	n := len(l.points)
	if n == 0 || l.points[n-1].T+l.step <= begin {
		if n == MaxPoints {
			l.halve()
		}
		l.points = append(l.points, LinePoint{T: begin, RTT: -1})
		n = len(l.points)
	}
	p := &l.points[n-1]
	if lap.RTT > 0 {
		p.RTT = max(p.RTT, 0) + float32(lap.RTT.Seconds())
	}
	p.Lost += int(lap.Lost)
	p.Resent += int(lap.Repeated)
	if lap.Dir != dissect.ToHost {
		return
	}
	p.Updates += int(lap.Updates)
	p.Silence = max(p.Silence, float32(lap.Silence.Seconds()))
	if lap.Silence > l.silence {
		l.silence, l.silenceAt = lap.Silence, lap.SilenceAt.Sub(g.b.origin).Seconds()
	}
	if lap.Silence.Seconds() >= silentSeconds {
		player, ok := g.who.clients[lap.Client]
		if !ok {
			return
		}
		t := lap.SilenceAt.Sub(g.b.origin).Seconds()
		g.eventAt(t, 0, EventSilence, player, g.m.NameOf(player)+wire.Untrusted(fmt.Sprintf(" is silent for %.1f s", lap.Silence.Seconds())))
	}
}

// unused reports whether the player of an address has left, or another player
// has the address now.
func (g *game) unused(client netip.AddrPort) bool {
	player, ok := g.who.clients[client]
	return ok && (g.m.Players[player].Left != nil || g.m.Players[player].Address != client)
}

// halve doubles the step of the points.
func (l *lineState) halve() {
	kept := l.points[:0]
	for i := 0; i < len(l.points); i += 2 {
		p := l.points[i]
		if i+1 < len(l.points) {
			q := &l.points[i+1]
			p.RTT, p.Silence = max(p.RTT, q.RTT), max(p.Silence, q.Silence)
			p.Lost, p.Resent, p.Updates = p.Lost+q.Lost, p.Resent+q.Resent, p.Updates+q.Updates
		}
		kept = append(kept, p)
	}
	l.points, l.step = kept, 2*l.step
}

// finishLines judges each player's connection. The round trip in each direction
// is measured from the place of the capture. The sum of both is the whole round
// trip, whatever that place is.
func (g *game) finishLines(links []measure.Link) {
	m := g.m
	m.Lines = nil
	for i := range links {
		l := &links[i]
		player, ok := g.who.clients[l.Client]
		if l.Host != g.host || !ok || l.Dir != dissect.ToHost {
			continue
		}
		line := Line{Player: player, Address: l.Client, RTT: l.RTT.Median}
		if i+1 < len(links) && links[i+1].Client == l.Client && links[i+1].Host == l.Host {
			line.RTT = packet.Sum(line.RTT, links[i+1].RTT.Median)
		}
		s := g.lines[l.Client]
		if s == nil {
			continue // no part of it belongs to this match
		}
		line.Points, line.Silence, line.SilenceAt = s.points, s.silence, s.silenceAt
		for k := range s.points {
			line.Lost += int64(s.points[k].Lost)
			line.Resent += int64(s.points[k].Resent)
		}
		line.Verdict = m.verdict(&line)
		m.Lines = append(m.Lines, line)
	}
	slices.SortStableFunc(m.Lines, func(a, b Line) int { return a.Player - b.Player })
}

// verdict returns the quality of a line in words.
func (m *Match) verdict(l *Line) string {
	text := measure.Words(l.RTT, l.Lost, l.Resent)
	if l.Silence.Seconds() >= silentSeconds {
		text += fmt.Sprintf(", silent %.1f s at %s", l.Silence.Seconds(), m.Clock(l.SilenceAt).UTC().Format(time.TimeOnly))
	}
	return text
}
