package page

import (
	"encoding/binary"
	"math"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// columns contains rows of numbers, column by column. Each number is stored as
// the difference from the number above it, as a signed variable-length integer.
// The script reads the columns in the order in which they were written.
type columns struct {
	bytes   []byte
	systems float64 // seconds between the points of a subsystem's history
}

// add writes a column for each of the functions numbers. If c is nil, it writes
// nothing.
func add[T any](c *columns, rows []T, numbers ...func(row *T) int64) {
	if c == nil {
		return
	}
	for _, number := range numbers {
		last := int64(0)
		for i := range rows {
			v := number(&rows[i])
			c.bytes = binary.AppendVarint(c.bytes, v-last)
			last = v
		}
	}
}

// thousandths converts seconds to milliseconds, and a share to thousandths.
func thousandths(x float64) int64 { return whole(float64(x * 1000)) }

// share returns a share of the whole in thousandths, or -1 if it is unknown.
func share(x float32) int64 {
	if !(x >= 0) {
		return -1
	}
	return thousandths(min(float64(x), 1))
}

// whole rounds a number. A number that the script cannot represent becomes 0.
func whole(x float64) int64 {
	if !(math.Abs(x) < 1<<40) {
		return 0
	}
	return int64(math.Round(x))
}

// A box is the space in which a ship flew: its corner, and the step of its
// positions, which are numbers from 0 to 65535 on each axis.
type box [4]float64

const farthest = 1e7 // distance from the centre of the map, in game units

func boxOf(track []match.Sample) box {
	b := box{0, 0, 0, 1}
	if len(track) == 0 {
		return b
	}
	most := float32(math.MaxFloat32)
	low, high := [3]float32{most, most, most}, [3]float32{-most, -most, -most}
	for i := range track {
		for k, x := range track[i].At {
			if math.Abs(float64(x)) < farthest { // neither infinite nor NaN
				low[k], high[k] = min(low[k], x), max(high[k], x)
			}
		}
	}
	size := 0.01
	for k := range low {
		if low[k] > high[k] {
			continue
		}
		b[k] = round(float64(low[k]), 3)
		size = max(size, float64(high[k])-b[k])
	}
	b[3] = size / 65535
	return b
}

func (b *box) steps(axis int, x float32) int64 {
	return min(max(whole((float64(x)-b[axis])/b[3]), 0), 65535)
}

func round(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	if y := math.Round(x * p); !math.IsInf(y, 0) && !math.IsNaN(y) {
		return y / p
	}
	return 0
}

// Limits of the tracks in a page. A track has at most one point for each moment
// of a grid.
const (
	finest     = 0.125  // seconds between moments, doubled until there are few enough points
	mostPoints = 60_000 // points of a page
	leap       = 25     // distance in game units that no ship flies between two moments
)

// smooth returns the mean of the samples around each moment. The positions of a
// ship come from two sources, its player and the host's copies. They differ by
// the time that a message takes, so the ship would tremble. Leaps are not
// smoothed.
func smooth(track []match.Sample, step float64) []match.Sample {
	var out []match.Sample
	var sum match.Sample
	var n float32
	flush := func() {
		if n == 0 {
			return
		}
		s := sum
		s.T /= float64(n)
		for k := range s.At {
			s.At[k] /= n
			s.Forward[k] /= n
			s.Up[k] /= n
		}
		s.Speed /= n
		out = append(out, s)
		n = 0
	}
	for i := range track {
		s := &track[i]
		if n > 0 {
			last := &track[i-1]
			if math.Floor(s.T/step) != math.Floor(last.T/step) || s.Cloaked != last.Cloaked || far(&s.At, &last.At) {
				flush()
			}
		}
		if n == 0 {
			sum, n = *s, 1
			continue
		}
		sum.T += s.T
		for k := range s.At {
			sum.At[k] += s.At[k]
			sum.Forward[k] += s.Forward[k]
			sum.Up[k] += s.Up[k]
		}
		sum.Speed += s.Speed
		n++
	}
	flush()
	return even(out)
}

// even returns the weighted mean of each sample and its neighbours, up to the
// next leap or pause.
func even(track []match.Sample) []match.Sample {
	const pause = 1 // seconds
	out := make([]match.Sample, len(track))
	joined := func(i int) bool { // reports whether the sample belongs together with the one before
		return track[i].T-track[i-1].T < pause && !far(&track[i].At, &track[i-1].At)
	}
	for i := range track {
		out[i] = track[i]
		sum, weight := [3]float32{}, float32(0)
		add := func(k int, w float32) {
			for a := range sum {
				sum[a] += float32(w * track[k].At[a])
			}
			weight += w
		}
		// The same number of samples on both sides, so that the mean is not
		// delayed.
		n := 0
		for n < 3 && i-n > 0 && i+n+1 < len(track) && joined(i-n) && joined(i+n+1) {
			n++
		}
		add(i, 4)
		for k := 1; k <= n; k++ {
			add(i-k, float32(4-k))
			add(i+k, float32(4-k))
		}
		for a := range sum {
			out[i].At[a] = sum[a] / weight
		}
	}
	return out
}

func far(a, b *[3]float32) bool {
	for k := range a {
		if d := a[k] - b[k]; d > leap || d < -leap {
			return true
		}
	}
	return false
}

// tracks returns the flights of all ships. With more flights they have fewer
// points.
func tracks(all []*match.Match) map[*match.Life][]match.Sample {
	out := map[*match.Life][]match.Sample{}
	for step := finest; ; step *= 2 {
		n := 0
		for _, m := range all {
			for i := range m.Lives {
				l := &m.Lives[i]
				out[l] = smooth(l.Track, step)
				n += len(out[l])
			}
		}
		if n <= mostPoints || step > 60 {
			return out
		}
	}
}

// addTrack writes a flight.
func (c *columns) addTrack(track []match.Sample, b *box) {
	add(c, track, func(s *match.Sample) int64 { return thousandths(s.T) })
	for k := range 3 {
		add(c, track, func(s *match.Sample) int64 { return b.steps(k, s.At[k]) })
	}
	for k := range 3 {
		add(c, track, func(s *match.Sample) int64 { return whole(float64(s.Forward[k]) * 100) })
	}
	for k := range 3 {
		add(c, track, func(s *match.Sample) int64 { return whole(float64(s.Up[k]) * 100) })
	}
	add(c, track, func(s *match.Sample) int64 { return whole(float64(s.Speed) * 10) }, func(s *match.Sample) int64 { return oneIf(s.Cloaked) })
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// addCondition writes the condition of hull and shields over time.
func (c *columns) addCondition(h []match.Condition) {
	add(c, h, func(h *match.Condition) int64 { return thousandths(h.T) }, func(h *match.Condition) int64 { return share(h.Hull) })
	for k := range 6 {
		add(c, h, func(h *match.Condition) int64 { return share(h.Shields[k]) })
	}
}

// addShots writes shots. The end is -1 if it is unknown. The hit is 0 for no, 1
// for yes, and 2 for unknown.
func (c *columns) addShots(shots []match.Shot) {
	add(c, shots,
		func(s *match.Shot) int64 { return thousandths(s.T) },
		func(s *match.Shot) int64 {
			if s.End == nil {
				return -1
			}
			return thousandths(max(*s.End-s.T, 0))
		},
		func(s *match.Shot) int64 { return int64(s.Life) },
		func(s *match.Shot) int64 { return int64(s.Target) },
		func(s *match.Shot) int64 { return int64(s.Kind) },
		func(s *match.Shot) int64 {
			if s.Hit == nil {
				return 2
			}
			return oneIf(*s.Hit)
		})
}

// addLine writes the quality of a connection over time.
func (c *columns) addLine(points []match.LinePoint) {
	add(c, points,
		func(p *match.LinePoint) int64 { return thousandths(p.T) },
		func(p *match.LinePoint) int64 {
			if p.RTT < 0 {
				return -1
			}
			return whole(float64(p.RTT) * 1e4) // in tenths of a millisecond
		},
		func(p *match.LinePoint) int64 { return int64(p.Lost) },
		func(p *match.LinePoint) int64 { return int64(p.Resent) },
		func(p *match.LinePoint) int64 { return int64(p.Updates) },
		func(p *match.LinePoint) int64 { return thousandths(float64(p.Silence)) })
}
