package relay

import (
	"net/netip"
	"time"
)

// A bucket says whether something may happen now: it fills with the rate, and
// what happens takes from it.
type bucket struct {
	rate  Rate
	level float64
	last  time.Time
}

func (b *bucket) take(now time.Time, n float64) bool {
	if b.last.IsZero() {
		b.level = b.rate.Burst
	} else if now.After(b.last) {
		b.level = min(b.rate.Burst, b.level+b.rate.PerSecond*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.level < n {
		return false
	}
	b.level -= n
	return true
}

// rates keeps a bucket for each address. When there are too many it forgets
// those that are full, at most once a second; as long as none is, addresses
// that it does not know get nothing.
type rates struct {
	rate  Rate
	limit int
	by    map[netip.Addr]*bucket
	swept time.Time
}

func newRates(rate Rate, limit int) rates {
	return rates{rate: rate, limit: limit, by: map[netip.Addr]*bucket{}}
}

func (r *rates) take(now time.Time, addr netip.Addr) bool {
	b := r.by[addr]
	if b == nil {
		if len(r.by) >= r.limit && now.Sub(r.swept) >= time.Second {
			r.forget(now)
		}
		if len(r.by) >= r.limit {
			return false
		}
		b = &bucket{rate: r.rate}
		r.by[addr] = b
	}
	return b.take(now, 1)
}

// forget drops the buckets that are full by now: forgetting them changes
// nothing.
func (r *rates) forget(now time.Time) {
	r.swept = now
	for addr, b := range r.by {
		if b.level+r.rate.PerSecond*now.Sub(b.last).Seconds() >= r.rate.Burst {
			delete(r.by, addr)
		}
	}
}
