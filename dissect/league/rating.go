package league

import (
	"cmp"
	"math"
	"slices"
)

// A Skill is an estimate of a player's strength: the mean of a normal
// distribution, and its standard deviation.
type Skill struct {
	Mu    float64 `json:"mu" doc:"estimated strength" digits:"3"`
	Sigma float64 `json:"sigma" doc:"standard deviation of the estimate" digits:"3"`
}

// The parameters of OpenSkill, as in its paper and in other implementations.
const (
	beginMu    = 25.0
	beginSigma = beginMu / 3
	beta       = beginSigma / 2 // variation of a player's performance between matches
	tau        = beginMu / 300  // how much skill can change between two matches
	kappa      = 1e-4           // least share of the variance that remains
)

// Least returns a lower bound of the player's strength, which is almost
// certain. Tables are sorted by it.
func (s Skill) Least() float64 { return s.Mu - 3*s.Sigma }

// A side is a team or a player in a match.
type side struct {
	rank    int
	players []*Skill
}

// A sum is the strength of a side.
type sum struct{ mu, variance float64 }

// rate changes the skills of players after a match. It implements the
// Plackett-Luce model of Weng and Lin, A Bayesian Approximation Method for
// Online Ranking (2011), algorithm 4.
func rate(sides []side) {
	slices.SortStableFunc(sides, func(a, b side) int { return cmp.Compare(a.rank, b.rank) })
	sums := make([]sum, len(sides))
	c := 0.0
	for i := range sides {
		for _, p := range sides[i].players {
			p.Sigma = math.Hypot(p.Sigma, tau)
			sums[i].mu += p.Mu
			sums[i].variance += p.Sigma * p.Sigma
		}
		c += sums[i].variance + beta*beta
	}
	c = math.Sqrt(c)
	// below is the sum over all sides that are not ahead of a side, and equal the
	// number of sides with the same rank.
	below, equal := make([]float64, len(sides)), make([]float64, len(sides))
	for q := range sides {
		for i := range sides {
			if sides[i].rank >= sides[q].rank {
				below[q] += math.Exp(sums[i].mu / c)
			}
			if sides[i].rank == sides[q].rank {
				equal[q]++
			}
		}
	}
	for i := range sides {
		mine, omega, delta := math.Exp(sums[i].mu/c), 0.0, 0.0
		for q := range sides {
			if sides[q].rank > sides[i].rank {
				break
			}
			share := mine / below[q]
			omega -= share / equal[q]
			delta += share * (1 - share) / equal[q]
			if q == i {
				omega += 1 / equal[q]
			}
		}
		change(sides[i].players, omega/c, delta*math.Sqrt(sums[i].variance)/(c*c*c))
	}
}

// change divides a side's change among its players by their variances.
func change(players []*Skill, omega, delta float64) {
	for _, p := range players {
		v := p.Sigma * p.Sigma
		p.Mu += v * omega
		p.Sigma *= math.Sqrt(max(1-v*delta, kappa))
	}
}
