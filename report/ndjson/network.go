package ndjson

import (
	"io"
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// NetworkType is the type of the object that [Network] writes.
var NetworkType = reflect.TypeFor[network]()

type network struct {
	Links  []networkLink `json:"links"`
	Ships  []networkShip `json:"ships"`
	Limits networkLimits `json:"limits"`
}

type networkLink struct {
	*measure.Link
	measure.Class               // both directions together
	Data          measure.Class `json:"data"`
	Control       measure.Class `json:"control"`
	Acks          int64         `json:"acks"`
	measure.RTT
	Silence       *time.Duration `json:"silence_ms_longest,omitempty" as:"millis"`
	Keepalives    int64          `json:"keepalives"`
	KeepaliveMean time.Duration  `json:"keepalive_ms_mean,omitempty" as:"millis"`
	KeepaliveMax  time.Duration  `json:"keepalive_ms_longest,omitempty" as:"millis" if:"KeepaliveMean"`
}

type networkShip struct {
	*measure.Ship
	Slot   *int           `json:"object_slot>Object,omitempty"`
	Jitter *time.Duration `json:"jitter_ms,omitempty" as:"millis"`
}

type networkLimits struct {
	Links       networkLimit `json:"links"`
	Outstanding networkLimit `json:"outstanding"`
	Ships       networkLimit `json:"ships"`
	Undirected  int64        `json:"undirected"`
}

type networkLimit struct {
	Max     int   `json:"max"`
	GivenUp int64 `json:"given_up"`
}

// Network writes the measurements as one object on one line. The function text
// changes texts and may be nil.
func Network(w io.Writer, m *measure.Meter, text func(string) string) error {
	g := m.GivenUp()
	out := network{Limits: networkLimits{
		networkLimit{measure.MaxLinks, g.Links}, networkLimit{measure.MaxOutstanding, g.Outstanding}, networkLimit{measure.MaxShips, g.Ships}, g.Undirected,
	}}
	for _, l := range m.Links() {
		n := networkLink{
			Link: &l, Data: l.Data, Control: l.Control, Acks: l.Acks, RTT: l.RTT,
			Keepalives: l.Keepalives, KeepaliveMean: l.KeepaliveMean, KeepaliveMax: l.KeepaliveMax,
			Class: l.Both(),
		}
		if l.Datagrams > 1 && !l.First.IsZero() {
			n.Silence = &l.Silence
		}
		out.Links = append(out.Links, n)
	}
	for _, s := range m.Ships() {
		n := networkShip{Ship: &s}
		if slot, ok := s.Object.Slot(); ok {
			n.Slot = &slot
		}
		if s.Intervals > 1 {
			n.Jitter = &s.Jitter
		}
		out.Ships = append(out.Ships, n)
	}
	return (&Model{Output: match.JSON, Plain: true, Text: text}).write(w, &out)
}
