package match_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// acted plays lines, one a second, and returns the matches.
func acted(t *testing.T, s *stage, play string) []*match.Match {
	t.Helper()
	for line := range strings.SplitSeq(play, "\n") {
		s.play(line)
	}
	return s.b.Matches()
}

// TestShots has one shot a shot, with the hit and the damage that belongs to it.
func TestShots(t *testing.T) {
	const wait = "\nAnn is there\nAnn is there\nAnn is there\nAnn is there"
	for _, tt := range []struct{ name, play, shots, damage string }{
		{"two torpedoes", "Ann launches Ben\nAnn launches Ben\nAnn hits Ben 100\nAnn hits Ben 200", "torpedo hit, torpedo hit", "Ann Ben torpedo 0 100, Ann Ben torpedo 1 200"},
		{"one hits", "Ann launches Ben\nAnn hits Ben 100\nAnn launches Ben" + wait, "torpedo hit, torpedo missed", "Ann Ben torpedo 0 100"},
		{"too early to tell", "Ann launches Ben\nAnn hits Ben 100\nAnn launches Ben", "torpedo hit, torpedo", "Ann Ben torpedo 0 100"},
		{"nobody tells", "Ann launches Ben\nBen launches Ann" + wait, "torpedo, torpedo", ""},
		{"one tells", "Ben launches Ann\nAnn launches Ben\nAnn hits Ben 100" + wait, "torpedo, torpedo hit", "Ann Ben torpedo 1 100"},
		{"a pulse", "Ann pulses Ben\nAnn hits Ben 100", "pulse hit", "Ann Ben pulse 0 100"},
		{"two pulses", "Ann pulses Ben\nAnn pulses Ben", "pulse, pulse", ""},
		{"a beam and a pulse", "Ann fires\nAnn is there\nAnn pulses Ben", "beam, pulse", ""},
		{"friendly fire", "Ann team 1\nBen team 1\nCid joins\nCid team 0\nAnn launches Ben\nAnn hits Ben 100", "torpedo hit", "Ann Ben torpedo 0 100 friendly"},
		{"after the end", "host ends 1\nAnn launches Ben\nAnn hits Ben 100", "torpedo hit", "Ann Ben torpedo 0 100 after"},
	} {
		m := acted(t, newStage(t), duel+tt.play)[0]
		var shots, damage []string
		for i := range m.Shots {
			text := m.Shots[i].Kind.String()
			if hit := m.Shots[i].Hit; hit != nil {
				text += map[bool]string{true: " hit", false: " missed"}[*hit]
			}
			shots = append(shots, text)
		}
		for i := range m.Damage {
			d := &m.Damage[i]
			text := fmt.Sprintf("%s %s %s %d %.0f", m.NameOf(d.Player).Raw(), m.NameOf(d.Victim).Raw(), d.Weapon, d.Shot, *d.Amount)
			if d.Friendly {
				text += " friendly"
			}
			if d.After {
				text += " after"
			}
			damage = append(damage, text)
		}
		if got := strings.Join(shots, ", "); got != tt.shots {
			t.Errorf("%s: shots %q, not %q", tt.name, got, tt.shots)
		}
		if got := strings.Join(damage, ", "); got != tt.damage {
			t.Errorf("%s: damage %q, not %q", tt.name, got, tt.damage)
		}
		n := 0
		for i := range m.Players {
			n += m.Players[i].Shots
		}
		if want := len(m.Shots); n != want && tt.name != "after the end" {
			t.Errorf("%s: players count %d shots, not %d", tt.name, n, want)
		}
	}
}

// However many shots a file puts into the time of flight, a hit is compared with
// hundreds of them at most.
func TestHitLooksBack(t *testing.T) {
	for between, want := range map[int]int{0: 0, 400: 0, 10_000: -1} {
		s := newStage(t)
		acted(t, s, duel+"Cid joins\nCid flies\nAnn launches Ben")
		for range between {
			s.play("Ann launches Cid")
			s.frame--
		}
		if m := acted(t, s, "Ann hits Ben 100")[0]; m.Damage[0].Shot != want || len(m.Shots) != 1+between {
			t.Errorf("%d shots between: hit by %d of %d", between, m.Damage[0].Shot, len(m.Shots))
		}
	}
}

// However many ships a file damages within a second, a loss is compared with the losses of
// hundreds of them at most.
func TestLossLooksBack(t *testing.T) {
	for between, want := range map[int]int{0: 1, 400: 401, 10_000: 10_002} {
		s := newStage(t)
		acted(t, s, duel+"Ann is there")
		ben, class := s.player("Ben"), ship.BySpecies(1)
		hull := func(n int, condition uint8) {
			s.send(ben, dissect.ToHost, says(&msg.StateUpdate{
				Object: wire.FirstObject(ben.Slot) + wire.ObjectID(n), Flags: msg.DirtySubsystems, Class: class, Entries: []msg.Entry{{Condition: condition}},
			}))
		}
		hull(0, 255)
		hull(0, 200)
		for i := range between {
			hull(2+i, 255)
			hull(2+i, 200)
		}
		hull(0, 100)
		if m := s.b.Matches()[0]; len(m.Damage) != want {
			t.Errorf("%d ships between: %d losses, not %d", between, len(m.Damage), want)
		}
	}
}

// The owner says what is left of a hull until the host simulates the ship; a host that
// doesn't only repeats that it is whole.
func TestWhoSaysHull(t *testing.T) {
	s := newStage(t)
	acted(t, s, duel+"Ann is there")
	ben, class := s.player("Ben"), ship.BySpecies(1)
	object := wire.FirstObject(ben.Slot)
	owner := func(share float32) {
		s.frame++
		s.send(ben, dissect.ToHost, says(&msg.SubsystemStatusOpenBC{
			Object: object, Condition: wire.FloatBits(share * class.Subsystems[0].MaxCondition), Class: class,
		}))
	}
	host := func(condition uint8) {
		s.frame++
		s.send(ben, dissect.FromHost, says(&msg.StateUpdate{Object: object, Flags: msg.DirtySubsystems, Class: class, Entries: []msg.Entry{{Condition: condition}}}))
	}
	host(255)
	owner(0.5)
	host(255)
	owner(0.25)
	host(51) // 0.2
	owner(0.125)
	host(51)
	owner(1)
	host(255) // repaired
	host(102) // 0.4
	var got []float32
	lives := s.b.Matches()[0].Lives
	for _, c := range lives[len(lives)-1].Condition {
		got = append(got, c.Hull)
	}
	if want := []float32{1, 0.5, 0.25, 0.2, 1, 0.4}; !slices.Equal(got, want) {
		t.Errorf("hull %v, not %v", got, want)
	}
}

// TestOnKill has kills of which the killer is known at once, later, or never.
func TestOnKill(t *testing.T) {
	s := newStage(t)
	var told []string
	s.b.OnKill = func(m *match.Match, k *match.Kill) { told = append(told, m.Tell(k).Raw()) }
	check := func(when string, want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q, not %q", when, told, want)
		}
	}
	acted(t, s, duel+"Ben explodes")
	check("after the explosion")
	acted(t, s, "Ann kills Ben 1 100")
	const first = "Ann destroys Ben's Akira at 0 units" // species 1; both were created at one place
	check("after the score", first)
	acted(t, s, "Ben flies\nAnn explodes")
	check("after another explosion", first)
	acted(t, s, strings.Repeat("Ben is there\n", 16)+"Ben is there")
	if len(told) != 2 || !strings.HasPrefix(told[1], "Ann loses a") {
		t.Errorf("after the time for a score: told %q", told)
	}
	acted(t, s, "Ann flies\nAnn reports Ben")
	if err := s.b.Close(); err != nil || len(told) != 3 || !strings.HasPrefix(told[2], "Ann destroys Ben") {
		t.Errorf("at the end: %v, told %q", err, told)
	}
}
