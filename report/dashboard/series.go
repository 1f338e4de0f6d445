package dashboard

// A series keeps the counts of the last span seconds. Rates are averages over
// recent seconds.
const (
	span   = 64
	recent = 5
)

// A series has counts for seconds of capture time.
type series struct {
	total int64
	last  int64 // the last second in n
	begun bool
	n     [span]uint32
}

func slot(sec int64) int { return int(uint64(sec) % span) } // span is a power of two

// add adds k to the count of a second. If the clock goes back a little, it adds
// to the earlier second. If the clock goes back far, it starts the series
// again.
func (s *series) add(sec, k int64) {
	s.total += k
	switch {
	case !s.begun || sec <= s.last-span || sec >= s.last+span:
		s.n, s.last, s.begun = [span]uint32{}, sec, true
	case sec > s.last:
		for i := s.last + 1; i <= sec; i++ {
			s.n[slot(i)] = 0
		}
		s.last = sec
	}
	s.n[slot(sec)] += uint32(min(k, 1<<24))
}

// at returns the count of a second.
func (s *series) at(sec int64) uint32 {
	if !s.begun || sec > s.last || sec <= s.last-span {
		return 0
	}
	return s.n[slot(sec)]
}

// rate returns the average count per second over the last complete seconds
// before now. In the first second of the capture, which began at since, it
// returns the current count.
func (s *series) rate(now, since int64) float64 {
	whole := min(now-since, recent)
	if whole <= 0 {
		return float64(s.at(now))
	}
	sum := 0.0
	for i := now - whole; i < now; i++ {
		sum += float64(s.at(i))
	}
	return sum / float64(whole)
}

// history returns the counts of the last complete seconds before now, the
// oldest first.
func (s *series) history(now int64) []uint32 {
	out := make([]uint32, span-1)
	for i := range out {
		out[i] = s.at(now - int64(len(out)) + int64(i))
	}
	return out
}
