// Package remark describes the parts of captures that could not be read.
package remark

import (
	"fmt"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// Of returns a line for each kind of frames and datagrams that could not be read.
func Of(c *capture.Stats) []string {
	all := c.Remarks[:len(c.Remarks):len(c.Remarks)]
	say := func(n int, format string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, fmt.Sprintf(plural.Form(n, format), args...)))
		}
	}
	say(c.MoreRemarks, "more {remark on logs was|remarks on logs were} dropped")
	say(c.Other.Unsent, "{datagram of a log was skipped: the log says that sending it|datagrams of a log were skipped: the log says that sending them} failed")
	for _, l := range c.Other.Links {
		say(l.Frames, "{frame was|frames were} skipped: link type %d is not supported", l.Type)
	}
	say(c.Other.NoInterface, "{frame was skipped: the file does not describe its|frames were skipped: the file does not describe their} interface")
	say(c.Other.Oversized, "{frame was skipped: it is|frames were skipped: they are} too large")
	say(c.Evicted, "{datagram in IP fragments was|datagrams in IP fragments were} given up: too old, too many or contradictory")
	say(c.Unfinished, "{datagram lacks some of its|datagrams lack some of their} IP fragments")
	return all
}
