package suite

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The times of a frame enclose the one at which it was captured, in short captures
// and in long ones, up to the last frame.
func TestClock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed makes the same capture each time
	for _, frames := range []int{1, 10, mostPoints - 1, mostPoints, 10_000, 50_001} {
		var c clock
		at := make([]time.Time, frames+1)
		now := time.Unix(1e9, 0)
		for n := 1; n <= frames; n++ {
			now = now.Add(time.Duration(r.Int64N(int64(time.Second))))
			at[n] = now
			c.take(n, now)
		}
		for n := 1; n <= frames; n++ {
			if from, till := c.at(n); from.After(at[n]) || till.Before(at[n]) {
				t.Fatalf("frame %d of %d: %v before to %v after", n, frames, at[n].Sub(from), till.Sub(at[n]))
			}
		}
	}
}

// A capture that skips numbers in many conversations takes bounded memory, and
// forgotten gaps leave a doubt.
func TestLedgerIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var l ledger
	for n := range mostSides {
		r := dissect.Record{Datagram: &dissect.Datagram{Time: time.Unix(1e9, 0)}, Conversation: n, Dir: dissect.FromHost, Transport: transport.Header{Type: transport.Standard, HasSeq: true}}
		l.take(&r)
		r.Number = mostMissing
		l.take(&r)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int(after.HeapAlloc) - int(before.HeapAlloc); used > 16<<20 {
		t.Errorf("%d bytes for %d sides", used, len(l.by))
	}
	for s := range l.by {
		if !l.lacks(s) {
			t.Fatalf("%v lacks nothing", s)
		}
	}
}

// No watcher grows without bound with the conversations and ids of a capture.
func TestWatchersAreBounded(t *testing.T) {
	type message struct {
		dir     dissect.Dir
		op      decode.Opcode
		message decode.Message
	}
	catalog, start := msg.Catalog(), time.Unix(1e9, 0)
	feed := func(w *Watch, n int) {
		at := start.Add(time.Duration(n) * time.Millisecond)
		id, id32 := wire.ObjectID(uint32(0x40000000+n)), int32(n)
		team := &msg.ObjectCreateTeam{}
		team.ID, team.Species, team.Slot = id, 5, uint8(n%16)
		records := []dissect.Record{{
			Dir: dissect.ToHost, Peer: transport.UnassignedPeer, Transport: transport.Header{Type: transport.Connect}, Bytes: make([]byte, 8),
		}}
		for _, m := range []message{
			{dissect.FromHost, msg.OpChecksumRequest, &msg.ChecksumRequest{}},
			{dissect.ToHost, msg.OpChecksumResponse, &msg.ChecksumResponse{Round: msg.LastRound}},
			{dissect.FromHost, msg.OpChecksumComplete, &msg.ChecksumComplete{}},
			{dissect.FromHost, msg.OpSettings, &msg.Settings{Slot: uint8(n % 16)}},
			{dissect.FromHost, msg.OpGameInit, &msg.GameInit{}},
			{dissect.ToHost, msg.OpClientReady, &msg.ClientReady{}},
			{dissect.FromHost, msg.OpMissionInit, &msg.MissionInit{}},
			{dissect.FromHost, msg.OpRestartGame, &msg.RestartGame{}},
			{dissect.FromHost, msg.OpScore, &msg.Score{Player: id32}},
			{dissect.FromHost, msg.OpScoreChange, &msg.ScoreChange{Victim: id32, Deaths: 1}},
			{dissect.ToHost, msg.OpExplosion, &msg.Explosion{}},
			{dissect.ToHost, msg.OpObjectCreateTeam, team},
			{dissect.FromHost, msg.OpObjectCreateTeam, team},
			{dissect.FromHost, msg.OpHostEvent, &msg.HostEvent{Event: event.Event{Code: event.CodeObjectExploding, Dest: id, Lifetime: wire.FloatBits(9.5)}}},
			{dissect.FromHost, msg.OpStateUpdate, &msg.StateUpdate{Object: id}},
		} {
			records = append(records, dissect.Record{
				Dir: m.dir, Peer: transport.HostPeer, Transport: transport.Header{Type: transport.Standard, HasSeq: true, Reliable: true},
				Message: m.message, Spec: catalog.Lookup(m.op), Payload: []byte{byte(m.op), byte(n), byte(n >> 8), byte(n >> 16)},
			})
		}
		for i := range records {
			r := &records[i]
			r.Datagram, r.Conversation = &dissect.Datagram{Number: n + 1, Time: at}, n
			if err := w.Record(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	used := func(n int) int {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := NewWatch(Cases(), everyHost)
		for i := range n {
			feed(w, i)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(w)
		return int(after.HeapAlloc) - int(before.HeapAlloc)
	}
	few, many := used(5_000), used(10_000)
	t.Logf("%d bytes for 5,000 conversations, %d for 10,000", few, many)
	if many > few+few/8 {
		t.Errorf("%d bytes for 5,000 conversations, %d for 10,000", few, many)
	}
}
