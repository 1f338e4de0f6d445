package match_test

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// A pilot flies a ship, and turns by 45 degrees
// at each update.
type pilot struct {
	species uint8                   // 0 for an Akira
	turn    float64                 // seconds between updates
	speed   float32                 // in all updates
	fire    float64                 // seconds between torpedoes, 0 for none
	late    func(t float64) float64 // when something arrives that was sent at t
	change  func(t float64, m *msg.StateUpdate)
}

// eighths are the directions of an eighth of a circle each.
var eighths = [8]wire.Dir3{{127, 0, 0}, {90, 90, 0}, {0, 127, 0}, {-90, 90, 0}, {-127, 0, 0}, {-90, -90, 0}, {0, -127, 0}, {90, -90, 0}}

// fly returns the findings of a match of 60 seconds.
func fly(t *testing.T, pilots ...pilot) []match.Finding {
	t.Helper()
	const length = 60
	type sent struct {
		at  float64
		rec dissect.Record
	}
	var all []sent
	host := netip.MustParseAddrPort("10.0.0.1:22101")
	for n, p := range pilots {
		who := &dissect.Player{Index: n, Name: wire.Untrusted(rune('A' + n)), ID: uint8(n + 2), Slot: n, Team: -1}
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(n + 2)}), 1000)
		id := wire.FirstObject(n)
		add := func(at float64, op decode.Opcode, m decode.Message) {
			if p.late != nil {
				at = p.late(at)
			}
			all = append(all, sent{at, dissect.Record{
				Datagram: &dissect.Datagram{Src: addr, Dst: host}, Dir: dissect.ToHost, Spec: &decode.Spec{Code: op}, Payload: []byte{byte(op)}, Message: m,
				Player: who, Conversation: n + 1, Layout: decode.Stock, Sender: decode.Stock, First: true,
			}})
		}
		add(0, msg.OpObjectCreateTeam, &msg.ObjectCreateTeam{Slot: uint8(n), Player: who.ID, Object: msg.Object{
			Class: msg.ClassShip, ID: id, Species: max(p.species, 1), Ship: ship.BySpecies(max(p.species, 1)),
		}})
		for k := 0; float64(k)*p.turn < length; k++ {
			at := float64(k) * p.turn
			m := &msg.StateUpdate{Object: id, Flags: msg.DirtyForward | msg.DirtySpeed, Forward: eighths[k%8], Speed: wire.NewCF16(p.speed)}
			m.GameTime = wire.F32(math.Float32bits(float32(at)))
			if p.change != nil {
				p.change(at, m)
			}
			add(at, msg.OpStateUpdate, m)
		}
		for k := 1; p.fire > 0 && float64(k)*p.fire < length; k++ {
			add(float64(k)*p.fire, msg.OpTorpedoFire, &msg.TorpedoFire{Tube: id, FiringPlayer: who.ID, Flags: msg.TorpedoNoTarget})
		}
	}
	slices.SortStableFunc(all, func(a, b sent) int { return cmp.Compare(a.at, b.at) })
	b := match.New(time.Unix(1000, 0))
	for i := range all {
		r := &all[i].rec
		r.Datagram.Number, r.Datagram.Time = i+1, time.Unix(1000, 0).Add(time.Duration(all[i].at*float64(time.Second)))
		if err := b.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	matches := b.Matches()
	if len(matches) != 1 || len(matches[0].Players) != len(pilots) || len(matches[0].Lives) != len(pilots) {
		t.Fatalf("got %d matches", len(matches))
	}
	return matches[0].Unusual
}

// lag holds up everything between two times until the second.
func lag(from, to float64) func(float64) float64 {
	return func(t float64) float64 {
		if t > from && t < to {
			return to
		}
		return t
	}
}

// 45 degrees a second, 5 units a second, a torpedo in 2 seconds.
var usual = pilot{turn: 1, speed: 5, fire: 2}

func TestUnusual(t *testing.T) {
	for _, tt := range []struct {
		name         string
		of           pilot
		kind         string
		value, limit float64
		at           float64
	}{
		// 45 degrees in half a second; the second window ends after a second.
		{"turn", pilot{turn: 0.5, speed: 5, fire: 2}, "turn", 90, 45, 1},
		// The second update of the speed comes after a second.
		{"speed", pilot{turn: 1, speed: 8, fire: 2}, "speed", 8, 5, 1},
		// A torpedo a second: the first at one second begins the window of ten,
		// which holds the torpedoes from 1 to 10. Others: those at 2, 4, 6, 8, 10.
		{"fire", pilot{turn: 1, speed: 5, fire: 1}, "fire_rate", 10, 5, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := fly(t, usual, usual, tt.of, usual)
			if len(got) != 1 {
				t.Fatalf("got %+v", got)
			}
			f := got[0]
			if f.Kind != tt.kind || f.Player != 2 || f.Count != 1 || f.Frame == 0 ||
				math.Abs(f.Value-tt.value) > 0.01 || math.Abs(f.Limit-tt.limit) > 0.01 || math.Abs(f.T-tt.at) > 1e-6 {
				t.Errorf("got %+v, want %s %v, limit %v, at %v", f, tt.kind, tt.value, tt.limit, tt.at)
			}
		})
	}
}

// Events of ordinary matches are not unusual.
func TestUsual(t *testing.T) {
	straight := func(_ float64, m *msg.StateUpdate) { m.Forward = eighths[0] }
	for _, tt := range []struct {
		name   string
		pilots []pilot
	}{
		{"a little more than others: 45 degrees in 0.7 s, 7 units, 3 torpedoes for 2", []pilot{usual, usual, {turn: 0.7, speed: 7, fire: 1.4}, usual}},
		{"others fly straight", []pilot{
			{turn: 1, speed: 5, change: straight}, {turn: 1, speed: 5, change: straight}, usual, {turn: 1, speed: 5, change: straight},
		}},
		{"others of the class are slow, those of another one are not", []pilot{
			usual, usual, {turn: 0.5, speed: 8, fire: 1}, {turn: 0.5, speed: 8, fire: 1, species: 2},
		}},
		{"one other pilot only", []pilot{usual, {turn: 0.5, speed: 9, fire: 0.5}}},
		{"the line is held up for 8 s", []pilot{usual, usual, {turn: 1, speed: 5, fire: 2, late: lag(20.5, 28.5)}, usual}},
		{"the line is held up again and again", []pilot{usual, usual, {turn: 1, speed: 5, fire: 2, late: func(t float64) float64 {
			return math.Ceil(t/3) * 3
		}}, usual}},
		{"a jump to another place and direction", []pilot{usual, usual, {turn: 0.25, speed: 5, fire: 2, change: func(at float64, m *msg.StateUpdate) {
			m.Forward = eighths[int(at)%8] // 45 degrees a second
			if at >= 30 {
				m.Forward = eighths[(int(at)+4)%8]
			}
			m.Speed = wire.NewCF16(5)
			if at == 30 {
				m.Speed = wire.NewCF16(500)
			}
		}}, usual}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fly(t, tt.pilots...); len(got) != 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}
