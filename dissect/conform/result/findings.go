package result

import (
	"fmt"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
)

// Kinds of findings.
const (
	IgnoredAcks   = "ignored-acks"   // the host ignores acknowledgements
	GivenUp       = "given-up"       // it removes a player who acknowledges
	NeverRepeated = "never-repeated" // it does not send a message of a join again
)

// A Finding is a fault of the host other than in the contents of its messages.
type Finding struct {
	Kind     string    `json:"kind"`
	Frame    int       `json:"frame"`              // frame of the first case
	Number   int64     `json:"number"`             // number of the first message, or -1 if it has none
	Messages int       `json:"messages"`           // messages that it happened to
	Count    int       `json:"count"`              // how often it happened
	Players  []*Player `json:"players"`            // players that it happened to
	Chance   float64   `json:"chance_log10"`       // logarithm of the probability that the line is the reason, and not the host. 0 if probability does not matter.
	Text     string    `json:"text"`               // text for people, which may contain names from the network
	Accepted bool      `json:"accepted,omitempty"` // accepted by a baseline
	From     int64     // number from which on it happens
	Short    bool      // numbers of 8 bits are confused with longer ones
	Most     int       // how often it happened to one message at most
	Loss     float64   // share of messages that the line loses at most
}

// Add adds what happened to a player from a frame on.
func (f *Finding) Add(p *Player, frame, messages, count int) {
	if len(f.Players) == 0 || frame < f.Frame {
		f.Frame = frame
	}
	f.Players = append(f.Players, p)
	f.Messages, f.Count = f.Messages+messages, f.Count+count
}

// describe returns the text of a finding.
func (f *Finding) describe() string {
	var names []string
	for _, p := range f.Players {
		names = append(names, p.String())
	}
	who := strings.Join(names, ", ")
	players := plural.Count(len(names), "player")
	switch {
	case f.Kind == NeverRepeated:
		return fmt.Sprintf("The join of %s stops, since the host never sends message %d again, which was not acknowledged.", who, f.Number)
	case f.Kind == GivenUp && f.Chance == 0:
		return fmt.Sprintf("The host tells others that %s has gone, who has not, and has acknowledged all that the host sent again.", who)
	case f.Kind == GivenUp:
		return fmt.Sprintf("The host removes %s (%s) because of the acknowledgements that it ignores.", players, who)
	}
	from := ""
	if f.From > 0 {
		from = fmt.Sprintf(" from number %d on", f.From)
	}
	if f.Short {
		from += ", as if it compared a longer count with acknowledgements of 8 bits"
	}
	return fmt.Sprintf("The host sends messages again, up to %s, although it got their acknowledgements,%s: %d of %s (%s). The line loses at most %.0f %%; the chance that it does this is 1 : 10^%.0f.",
		plural.Count(f.Most, "time"), from, f.Messages, players, who, 100*f.Loss, -f.Chance)
}
