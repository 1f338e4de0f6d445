package impair

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/names"
)

// A Config sets the faults of a line. The zero value is a perfect line.
type Config struct {
	Loss      float64       // share of datagrams that are lost, 0 to 1
	Burst     float64       // mean number of consecutive losses, or 0 for independent losses
	Delay     time.Duration // mean delay
	Jitter    time.Duration // delays are evenly distributed between Delay-Jitter and Delay+Jitter
	Reorder   float64       // share of datagrams that later ones overtake
	Duplicate float64       // share of datagrams that arrive twice
	Rate      float64       // in bits per second, IP and UDP headers included. 0 means no limit.
	Queue     time.Duration // longest time that a datagram may wait because of Rate. Datagrams that would wait longer are dropped.
	Seed      uint64        // seed of all decisions
}

// A Direction is one of the two directions of datagrams.
type Direction uint8

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// String returns the direction as written in flags.
func (d Direction) String() string { return [...]string{"to-server", "to-client"}[d] }

// A property is what a flag sets. Its values have units. An empty unit means a
// plain number, and "s" means a time such as 40ms.
type property struct {
	name        string
	units       map[string]float64
	least, most float64
	says        string // what to give instead of a wrong value
	set         func(c *Config, v float64)
}

var (
	percent = map[string]float64{"%": 0.01}
	plain   = map[string]float64{"": 1}
	seconds = map[string]float64{"s": 1}
	rates   = map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
)

const (
	shares = "a share from 0% to 100%, such as 5%"
	times  = "a time from 0s to 10s, such as 40ms"
)

func asTime(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

var properties = []property{
	{"loss", percent, 0, 1, shares, func(c *Config, v float64) { c.Loss = v }},
	{"burst", plain, 1, 1000, "the mean number of datagrams lost in a row, 1 to 1000", func(c *Config, v float64) { c.Burst = v }},
	{"delay", seconds, 0, 10, times, func(c *Config, v float64) { c.Delay = asTime(v) }},
	{"jitter", seconds, 0, 10, times, func(c *Config, v float64) { c.Jitter = asTime(v) }},
	{"reorder", percent, 0, 1, shares, func(c *Config, v float64) { c.Reorder = v }},
	{"duplicate", percent, 0, 1, shares, func(c *Config, v float64) { c.Duplicate = v }},
	{"rate", rates, 1e3, 1e10, "bits a second from 1k to 10G, such as 256k", func(c *Config, v float64) { c.Rate = v }},
	{"queue", seconds, 0, 10, times, func(c *Config, v float64) { c.Queue = asTime(v) }},
	{"seed", plain, 0, 1 << 53, "a whole number up to 2^53", func(c *Config, v float64) { c.Seed = uint64(v) }},
}

// Parse reads flags such as "loss=5%,delay=40ms" or "to-client:rate=256k". A
// flag without a direction sets both. Later flags override earlier ones for the
// same property.
func Parse(flags []string) (both [2]Config, err error) {
	// Home routers of the time queued about half a second.
	usual := Config{Seed: 1, Queue: time.Second / 2}
	both = [2]Config{usual, usual}
	for _, flag := range flags {
		to, text, one := strings.Cut(flag, ":")
		if !one {
			text = flag
		} else if to != ToServer.String() && to != ToClient.String() {
			return both, fmt.Errorf("%s: no such direction; use to-server: or to-client:, or neither for both", to)
		}
		for i := range both {
			if d := Direction(i); !one || to == d.String() {
				if err := both[i].set(text); err != nil {
					return both, err
				}
			}
		}
	}
	for _, c := range both {
		if c.Jitter > c.Delay {
			return both, fmt.Errorf("jitter=%v: more than delay=%v, so that delays would be negative; raise the delay", c.Jitter, c.Delay)
		}
		if c.Burst > 0 && c.Loss < 1 && c.toBad() > 1 {
			return both, fmt.Errorf("burst=%v: too short for a loss of %v%%; give at least %.3g", c.Burst, 100*c.Loss, c.Loss/(1-c.Loss))
		}
	}
	return both, nil
}

// set reads properties such as "loss=5%,delay=40ms".
func (c *Config) set(text string) error {
next:
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return fmt.Errorf("%q: give a property and its value, such as loss=5%%", part)
		}
		known := []string{}
		for _, p := range properties {
			if known = append(known, p.name); p.name != name {
				continue
			}
			v, err := p.value(value)
			if err != nil || !(v >= p.least && v <= p.most) || name == "seed" && v != math.Trunc(v) {
				return fmt.Errorf("%s: give %s", part, p.says)
			}
			p.set(c, v)
			continue next
		}
		return fmt.Errorf("%s: no such property%s; choose from %s", name, names.DidYouMean(name, known), strings.Join(known, ", "))
	}
	return nil
}

// value reads a value with its unit.
func (p *property) value(text string) (float64, error) {
	if p.units["s"] > 0 {
		d, err := time.ParseDuration(text)
		return d.Seconds(), err
	}
	number := strings.TrimRight(text, "%kMG")
	factor, ok := p.units[text[len(number):]]
	if !ok {
		return 0, errors.New("another unit")
	}
	v, err := strconv.ParseFloat(number, 64)
	return v * factor, err
}

// toBad returns the probability that a run of losses begins after a datagram
// that was not lost. A run ends with probability 1/Burst, so that Loss is the
// share of datagrams in runs (Gilbert 1960).
func (c *Config) toBad() float64 { return c.Loss / (c.Burst * (1 - c.Loss)) }
