package match

import "math"

// A thinner keeps as few samples of a track as possible, so that all others lie
// close to the line between kept ones. For each value, it tracks which changes
// per second a straight line from the last kept sample may have to pass closely
// by all samples since. A sample is kept when no such line is left.
type thinner struct {
	pending bool        // the last sample is not in the track yet
	from    [10]float64 // values of the last kept sample
	begin   float64     // time of that sample
	low     [10]float64 // limits of the change per second
	high    [10]float64
}

// Largest distances from the line. For positions and directions they apply to
// each axis. A position is then at most half a unit away.
const (
	closePosition  = 0.28
	closeDirection = 0.05
	closeSpeed     = 0.5
	trackGap       = 2.0 // a gap of so many seconds without a sample ends a line
)

func values(s *Sample) [10]float64 {
	return [10]float64{
		float64(s.At[0]), float64(s.At[1]), float64(s.At[2]),
		float64(s.Forward[0]), float64(s.Forward[1]), float64(s.Forward[2]),
		float64(s.Up[0]), float64(s.Up[1]), float64(s.Up[2]),
		float64(s.Speed),
	}
}

var tolerances = [10]float64{
	closePosition, closePosition, closePosition,
	closeDirection, closeDirection, closeDirection,
	closeDirection, closeDirection, closeDirection,
	closeSpeed,
}

// push adds a sample to the track of a life.
func (g *game) push(i int, s *Sample) {
	state := g.state[i]
	t, last := state.track, state.last
	switch {
	case t == nil:
		state.track = &thinner{}
		g.keep(i, s)
		return
	case s.T <= last.T: // the same moment, or out of order
		return
	case s.Cloaked != last.Cloaked || s.T-last.T > trackGap:
		g.flushTrack(i)
		g.keep(i, s)
		return
	}
	if !t.takes(s) {
		g.keep(i, &last)
		t.takes(s)
	}
	state.last = *s
}

// takes makes the sample the last one after the kept one. It reports false if
// the line between them does not pass closely by all samples in between.
func (t *thinner) takes(s *Sample) bool {
	perSecond := 1 / (s.T - t.begin)
	slopes := values(s)
	for k := range slopes {
		slopes[k] = (slopes[k] - t.from[k]) * perSecond
		if slopes[k] < t.low[k] || slopes[k] > t.high[k] {
			return false
		}
	}
	for k, slope := range slopes {
		off := float64(tolerances[k] * perSecond) // the conversion rounds, which prevents fused multiply-add
		if low := slope - off; low > t.low[k] {
			t.low[k] = low
		}
		if high := slope + off; high < t.high[k] {
			t.high[k] = high
		}
	}
	t.pending = true
	return true
}

// keep stores a sample in the track as the start of the next line.
func (g *game) keep(i int, s *Sample) {
	state := g.state[i]
	t := state.track
	state.last, t.pending = *s, false
	t.from, t.begin = values(s), s.T
	for k := range t.low {
		t.low[k], t.high[k] = math.Inf(-1), math.Inf(1)
	}
	if g.b.OnSample != nil {
		g.b.OnSample(g.m, i, s)
	} else if g.room(itemSamples) {
		l := &g.m.Lives[i]
		l.Track = append(l.Track, *s)
	}
}

// flushTrack stores the last sample in the track.
func (g *game) flushTrack(i int) {
	if t := g.state[i].track; t != nil && t.pending {
		last := g.state[i].last
		g.keep(i, &last)
	}
}

// flushTracks stores the last sample of each ship in its track.
func (g *game) flushTracks() {
	for i := range g.state {
		g.flushTrack(i)
	}
}

// distance returns how far apart two ships are, or nil if one was not seen
// lately.
func (g *game) distance(a, b int) *float64 {
	const lately = 3
	if a == NoLife || b == NoLife {
		return nil
	}
	x, y := g.state[a], g.state[b]
	if !x.have || !y.have || g.b.now-x.seen > lately || g.b.now-y.seen > lately {
		return nil
	}
	d := apart(&x.at, &y.at)
	return &d
}

// apart returns the distance between two positions.
func apart(a, b *[3]float32) float64 {
	sum := 0.0
	for k := range a {
		d := float64(a[k]) - float64(b[k])
		sum += float64(d * d) // the conversion rounds, which prevents fused multiply-add
	}
	return math.Sqrt(sum)
}
