package match

import "math"

// A thinner keeps as few samples of a track as lie close to the line between
// them. Between two samples that are kept it bounds the change per second of
// each value: as long as a straight line from the first can pass all that came
// since closely enough, no further one is needed.
type thinner struct {
	begun   bool
	pending bool   // last is not in the track yet
	anchor  Sample // the last that was kept
	last    Sample
	low     [10]float64 // change per second
	high    [10]float64
}

// Distances from the line: of a position in each axis, so that the whole is at
// most half a unit; of directions in each axis; of the speed.
const (
	closePosition  = 0.28
	closeDirection = 0.05
	closeSpeed     = 0.5
	trackGap       = 2.0 // seconds without a sample that end a line
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
	t := &g.state[i].track
	switch {
	case !t.begun:
		g.keep(i, s)
		return
	case s.T <= t.last.T: // of the same moment, or out of order
		return
	case s.Cloaked != t.last.Cloaked || s.T-t.last.T > trackGap:
		g.flushTrack(i)
		g.keep(i, s)
		return
	}
	if !t.fits(s) {
		last := t.last
		g.keep(i, &last)
	}
	t.take(s)
}

// fits reports whether the line from the anchor to the sample passes closely by
// all samples since.
func (t *thinner) fits(s *Sample) bool {
	if !t.pending {
		return true
	}
	perSecond := 1 / (s.T - t.anchor.T)
	a, v := values(&t.anchor), values(s)
	for k := range v {
		slope := (v[k] - a[k]) * perSecond
		if slope < t.low[k] || slope > t.high[k] {
			return false
		}
	}
	return true
}

// take makes the sample the last one since the anchor.
func (t *thinner) take(s *Sample) {
	perSecond := 1 / (s.T - t.anchor.T)
	a, v := values(&t.anchor), values(s)
	for k := range v {
		low, high := (v[k]-tolerances[k]-a[k])*perSecond, (v[k]+tolerances[k]-a[k])*perSecond
		if !t.pending {
			t.low[k], t.high[k] = low, high
		} else {
			t.low[k], t.high[k] = max(t.low[k], low), min(t.high[k], high)
		}
	}
	t.last, t.pending = *s, true
}

// keep puts a sample into the track, and makes it the anchor.
func (g *game) keep(i int, s *Sample) {
	t := &g.state[i].track
	t.begun, t.pending = true, false
	t.anchor, t.last = *s, *s
	if room(&g.b.used.samples, MaxSamples, &g.m.Evicted.Samples) {
		l := &g.m.Lives[i]
		l.Track = append(l.Track, *s)
	}
}

// flushTrack puts the last sample into the track.
func (g *game) flushTrack(i int) {
	if t := &g.state[i].track; t.pending {
		last := t.last
		g.keep(i, &last)
	}
}

// distance returns how far two ships are apart, if both were seen lately.
func (g *game) distance(a, b int) *float64 {
	const lately = 3
	if a == NoLife || b == NoLife {
		return nil
	}
	x, y := g.state[a], g.state[b]
	if !x.have || !y.have || g.b.now-x.seen > lately || g.b.now-y.seen > lately {
		return nil
	}
	sum := 0.0
	for k := range x.at {
		d := float64(x.at[k]) - float64(y.at[k])
		sum += float64(d * d) // rounded, lest some machine fuse it
	}
	d := math.Sqrt(sum)
	return &d
}
