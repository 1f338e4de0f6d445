package reading

import (
	"fmt"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report"
)

// nothing returns a line that explains an empty report, or "" if the report is
// not empty. The capture may have no traffic of the game, or the user's
// selection may match none of it.
func (r *reading) nothing() string {
	stats, p := r.src.Stats(), r.one.pipeline.Stats()
	switch {
	case stats.Frames == 0:
		return "no frames"
	case p.Datagrams == p.Other:
		return r.foreign()
	case r.All || r.one.seen == 0 || r.one.shown > 0:
		return ""
	}
	text := plural.Count(r.one.seen, "record") + ", none match " + report.Escape(strings.Join(r.Given(), " "))
	if names := r.Players(); r.WantsPlayer() && len(names) > 0 {
		text += "; the players are " + wire.Join(names, ", ").String()
	}
	if r.HasRange() && !r.start.IsZero() {
		text += fmt.Sprintf("; the capture has %s in %.3f s", plural.Count(stats.Frames, "frame"), stats.LastTime.Sub(r.start).Seconds())
	}
	return text
}

// foreign describes a capture without traffic of the game.
func (r *reading) foreign() string {
	stats, other := r.src.Stats(), r.one.pipeline.Stats().Other
	var kinds []string
	rest := stats.Frames
	for _, k := range []struct {
		n    int
		kind string
	}{
		{other, "other UDP"}, {stats.Other.TCP, "TCP"}, {stats.Other.NotUDP - stats.Other.TCP, "other protocols"}, {stats.Other.NotIP, "not IP"},
	} {
		if rest -= k.n; k.n > 0 {
			kinds = append(kinds, plural.Thousands(k.n)+" "+k.kind)
		}
	}
	if rest > 0 {
		kinds = append(kinds, plural.Thousands(rest)+" not readable")
	}
	return plural.Count(stats.Frames, "frame") + ", none of the game" + r.OnPorts() + " (" + strings.Join(kinds, ", ") + ")"
}
