package dashboard

import (
	"sync"
	"time"
)

const (
	// nap is the longest time that a pacer sleeps, so that keys take effect
	// soon.
	nap = 50 * time.Millisecond

	// longestGap is the longest pause in a recording. Longer pauses, such as
	// between two files, are skipped.
	longestGap = time.Minute

	slowest, fastest = 1.0 / 16, 1024
)

// A Pacer makes the reading of a recorded session take as long as the session
// did, or a fraction of it. Its methods may be called concurrently.
type Pacer struct {
	now   func() time.Time
	sleep func(time.Duration)

	mu      sync.Mutex
	speed   float64
	begun   bool
	paused  bool
	stopped bool
	seeking bool      // records before at are shown without delay
	rewind  bool      // the recording must be read again to move back to at
	oneWay  bool      // the recording cannot be read again
	at      time.Time // position in the recording at the time since
	since   time.Time
}

// NewPacer returns a pacer that reads speed seconds of a recording in one
// second. It uses the given clock.
func NewPacer(speed float64, now func() time.Time, sleep func(time.Duration)) *Pacer {
	return &Pacer{now: now, sleep: sleep, speed: min(max(speed, slowest), fastest)}
}

// Wait returns when a packet captured at t is due. A time before the time of an
// earlier call, or long after it, begins a new recording.
func (p *Pacer) Wait(t time.Time) {
	if t.IsZero() {
		return
	}
	for first := true; ; first = false {
		d := p.left(t, first)
		if d <= 0 {
			return
		}
		p.sleep(min(d, nap))
	}
}

// left returns the time until t is due, or until it must check again.
func (p *Pacer) left(t time.Time, first bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.stopped || p.rewind {
		return 0
	}
	if !p.begun {
		p.begun, p.at, p.since = true, t, now
	}
	gap := t.Sub(p.position(now))
	if p.seeking {
		if gap < 0 {
			return 0
		}
		p.seeking, p.since = false, now
	}
	if first && (gap > longestGap || gap < -longestGap) {
		p.at, p.since, gap = t, now, 0
	}
	switch {
	case p.paused:
		return nap
	case gap <= 0:
		return 0
	}
	// A gap is at most a minute, so this does not overflow.
	return max(time.Duration(float64(gap)/p.speed), 1)
}

// position returns the position in the recording.
func (p *Pacer) position(now time.Time) time.Time {
	if p.paused || p.seeking || !p.begun {
		return p.at
	}
	return p.at.Add(time.Duration(float64(now.Sub(p.since)) * p.speed))
}

// rest sets the current position as the base for later positions.
func (p *Pacer) rest() {
	now := p.now()
	p.at, p.since = p.position(now), now
}

// Position returns the position in the recording. It is zero before the first
// Wait.
func (p *Pacer) Position() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.position(p.now())
}

// Speed returns the speed of the reading.
func (p *Pacer) Speed() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.speed
}

// SetSpeed sets the speed of the reading, within limits.
func (p *Pacer) SetSpeed(speed float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest()
	p.speed = min(max(speed, slowest), fastest)
}

// SetPaused pauses or resumes the recording.
func (p *Pacer) SetPaused(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest()
	p.paused = paused
}

// OneWay tells the pacer that the recording cannot be read again, since it
// comes from a pipe.
func (p *Pacer) OneWay() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oneWay = true
}

// Seek moves from the current time of the recording to another. It returns
// false if that is not possible.
func (p *Pacer) Seek(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	back := to.Before(from)
	if back && p.oneWay || !p.begun {
		return false
	}
	p.at, p.since, p.seeking = to, p.now(), true
	p.rewind = p.rewind || back
	return true
}

// Rewinds reports whether the recording must be read again from its beginning.
// The reader must then stop, call Rest, and begin again.
func (p *Pacer) Rewinds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rewind && !p.stopped
}

// Rest waits at the end of a recording until it must be read again. It returns
// false if the pacer was stopped.
func (p *Pacer) Rest() bool {
	for {
		p.mu.Lock()
		stopped, rewind := p.stopped, p.rewind
		p.rewind = false
		p.mu.Unlock()
		if stopped || rewind {
			return !stopped
		}
		p.sleep(nap)
	}
}

// Stop makes this and every later Wait return at once.
func (p *Pacer) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}
