package measure

import (
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// Updates are counted by ship and second; speed and hull stay until others come.
func TestFlights(t *testing.T) {
	host, client, other := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("192.0.2.2:5"), netip.MustParseAddrPort("192.0.2.3:5")
	start := time.Unix(1000, 0)
	update := func(ms int, from, to netip.AddrPort, m msg.StateUpdate) *dissect.Record {
		r := &dissect.Record{
			Datagram: &dissect.Datagram{Number: ms, Time: start.Add(time.Duration(ms) * time.Millisecond), Src: from, Dst: to},
			Dir:      dissect.ToHost, Client: "Kirk", Conversation: 1, Message: &m,
		}
		if from == host {
			r.Dir, r.Client, r.Conversation = dissect.FromHost, "Q", 2
		}
		return r
	}
	f := Flights{Start: start}
	add := func(r *dissect.Record) {
		t.Helper()
		if f.Due(r) || !f.Take(r) {
			t.Error("not taken")
		}
	}
	whole := []msg.Entry{{Index: 0, Condition: 255}}
	add(update(100, host, other, msg.StateUpdate{Object: 1, Flags: msg.DirtySubsystems, Class: ship.BySpecies(1), Entries: whole}))
	add(update(200, client, host, msg.StateUpdate{Object: 1, Flags: msg.DirtySpeed, Speed: wire.CF16(0)}))
	add(update(999, client, host, msg.StateUpdate{Object: 2}))
	later := update(1000, client, host, msg.StateUpdate{Object: 1})
	if !f.Due(later) {
		t.Error("another second, and the flights are not due")
	}
	all := f.All()
	if len(all) != 2 || all[0].Updates != 2 || !all[0].Both || !all[0].Several || all[0].Client != "Kirk" || all[0].Frame != 100 ||
		!all[0].Moves || !all[0].Hulled || all[0].Hull != 1 || all[1].Updates != 1 || all[1].Moves || all[1].Both {
		t.Errorf("got %+v", all)
	}
	f.Clear()
	add(later)
	if all := f.All(); len(all) != 1 || all[0].Updates != 1 || !all[0].Hulled || !all[0].Moves {
		t.Errorf("got %+v", all)
	}

	// Faults and notes are for people to see.
	noted, broken := update(1001, client, host, msg.StateUpdate{}), update(1001, client, host, msg.StateUpdate{})
	noted.Notes, broken.Status = []dissect.Note{{Code: "class"}}, dissect.StatusTrailing
	if f.Take(noted) || f.Take(broken) || f.Take(&dissect.Record{Datagram: later.Datagram}) {
		t.Error("taken")
	}

	// There is a limit to the ships of a second, and to those remembered.
	for id := range 10 * MaxFlights * 20 {
		r := update(1100, client, host, msg.StateUpdate{Object: wire.ObjectID(id)})
		if f.Due(r) {
			f.Clear()
		}
		f.Take(r)
		if len(f.All()) > MaxFlights || len(f.states) > maxCraft+MaxFlights {
			t.Fatalf("%d flights, %d states", len(f.All()), len(f.states))
		}
	}
}
