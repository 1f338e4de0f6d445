package conform

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A message that comes as one of two models sends it ends the wait for that of the
// other one, too.
func TestAlternativesDoNotWait(t *testing.T) {
	author, to := &Client{index: 0, Slot: 0, Peer: 2}, &Client{index: 1, Slot: 1, Peer: 3}
	for _, early := range []bool{false, true} { // the host's message comes before the models'
		for _, like := range []model{stockModel, dialectModel} {
			c := newComparer(newTimeline(msg.Catalog(), func(*Event) {}), &Report{}, dialectModel, stockModel|dialectModel)
			now := time.Unix(1e9, 0)
			line := map[model][]byte{
				stockModel:   {byte(msg.OpChat), author.Peer, 0, 0, 0, 2, 0, 'h', 'i'},
				dialectModel: {byte(msg.OpChat), byte(author.Slot), 0, 0, 0, 2, 0, 'h', 'i'},
			}
			output := func(n int) {
				c.output(&Event{Kind: Output, Time: now, Client: to, Type: transport.Standard, Op: msg.OpChat, Reliable: true, Body: line[like], Number: int64(n)})
			}
			const lines = 100
			for n := range lines {
				now = now.Add(time.Second)
				if early {
					output(n)
				}
				src := &source{client: author, time: now, kind: Input, typ: transport.Standard, op: msg.OpChat, number: int64(n)}
				for _, by := range []model{stockModel, dialectModel} {
					s := &sent{to: &end{client: to}, typ: transport.Standard, op: msg.OpChat, body: line[by]}
					s.header.Reliable = true
					c.expected(by, src, s)
				}
				c.settle(now)
				if !early {
					output(n)
				}
			}
			c.expire(now.Add(time.Minute))
			if c.load != (load{}) {
				t.Errorf("like model %d, early %v: %d messages of %d bytes are said to wait, none does", like, early, c.load.messages, c.load.bytes)
			}
			if row := c.rep.row(transport.Standard, msg.OpChat); row.Missing+row.Extra+row.Differing > 0 || row.Matched+row.Explained != lines {
				t.Errorf("like model %d, early %v: %+v", like, early, row)
			}
		}
	}
}
