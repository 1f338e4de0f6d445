package suite

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// fragile returns a world whose host ends at the first game message for which crashes is true.
func fragile(seed uint64, crashes func(body []byte) bool) *world {
	w := newWorld(seed, gameOf(Playable), relay.Trouble{Delay: time.Millisecond})
	dead := false
	w.in = func(_ time.Time, _ netip.AddrPort, d []byte) [][]byte {
		if list, _ := split(cipher.Decrypt(nil, d)); !dead && d[0] != '\\' {
			dead = slices.ContainsFunc(list, func(m transport.Message) bool {
				return m.Type == transport.Standard && !m.Fragment && len(m.Body) > 0 && crashes(m.Body)
			})
		}
		if dead {
			w.refused = errors.New("connection refused")
			return nil
		}
		return [][]byte{d}
	}
	return w
}

// shortTorpedo is a fault as servers have them: they read the direction of a torpedo, which ends before it.
func shortTorpedo(body []byte) bool {
	const direction, after = 7, 10 // offsets
	return decode.Opcode(body[0]) == msg.OpTorpedoFire && len(body) >= direction && len(body) < after
}

// A host that ends at one message is stopped, and the input shrinks to one datagram, which stops it again.
func TestFuzz(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 7} {
		started := 0
		z := Fuzzing{For: time.Minute, Seed: seed, First: 50, Restart: func() (Driver, error) {
			started++
			return fragile(uint64(started), shortTorpedo), nil
		}}
		got, err := Fuzz(fragile(9, shortTorpedo), optionsOf(Playable, seed), z)
		if err != nil {
			t.Fatal(err)
		}
		o := got.Outcome(time.Second)
		if !got.Shrunk || len(got.Input) != 1 || !shortTorpedo(got.Input[0].Body) || !strings.Contains(o.Came, "started anew, it stops again") || got.Frames[0].Number != 50 {
			t.Fatalf("seed %d: %d of %d datagrams: %v; %s", seed, len(got.Input), got.Steps, got.Input, o.Came)
		}
		t.Logf("seed %d: %d datagrams, %d starts: %s", seed, got.Steps, started, got.Input[0])

		// What was kept is read back, and does the same.
		steps, err := ReadSteps(strings.NewReader(o.More[0] + "\n\n# a comment\n"))
		if err != nil || len(steps) != 1 || steps[0].String() != got.Input[0].String() {
			t.Fatalf("%v, %v", steps, err)
		}
		z.Again = steps
		if got, err := Fuzz(fragile(9, shortTorpedo), optionsOf(Playable, seed), z); err != nil || got.Why == "" || got.Steps != 1 {
			t.Errorf("again: %+v, %v", got, err)
		}
		z.Again = []Step{{Player, Reliable, unhex(consumed)}}
		if got, err := Fuzz(fragile(9, shortTorpedo), optionsOf(Playable, seed), z); err != nil || got.Why != "" || got.Outcome(0).Came != "" {
			t.Errorf("another input: %+v, %v", got, err)
		}
	}
}

// Two messages are needed: the input shrinks to these two.
func TestFuzzTwo(t *testing.T) {
	t.Parallel()
	two := func() func([]byte) bool {
		armed := false
		return func(body []byte) bool {
			armed = armed || decode.Opcode(body[0]) == msg.OpStartCloaking
			return armed && decode.Opcode(body[0]) == msg.OpStopCloaking
		}
	}
	got, err := Fuzz(fragile(9, two()), optionsOf(Playable, 3), Fuzzing{For: time.Minute, Seed: 3, Restart: func() (Driver, error) { return fragile(4, two()), nil }})
	if err != nil || !got.Shrunk || len(got.Input) != 2 {
		t.Errorf("%+v, %v", got.Input, err)
	}
}

// Without a way to restart the host, the input is kept as a whole.
func TestFuzzUnshrunk(t *testing.T) {
	t.Parallel()
	got, err := Fuzz(fragile(9, shortTorpedo), optionsOf(Playable, 1), Fuzzing{For: time.Minute, Seed: 1})
	if err != nil || got.Shrunk || len(got.Input) < 2 || !slices.ContainsFunc(got.Input, func(s Step) bool { return len(s.Body) > 0 && shortTorpedo(s.Body) }) {
		t.Errorf("%+v, %v", got.Input, err)
	}
}

// The own host answers whatever comes.
func TestFuzzSound(t *testing.T) {
	t.Parallel()
	for _, p := range []Profile{Stock, Playable} {
		w := newWorld(5, gameOf(p), relay.Trouble{Delay: time.Millisecond})
		got, err := Fuzz(w, optionsOf(p, 5), Fuzzing{For: 5 * time.Second, Seed: 5})
		if err != nil || got.Why != "" || got.Steps < 500 {
			t.Errorf("%v: %d steps, %s, %v", p, got.Steps, got.Why, err)
		}
	}
}

// The same seed makes the same messages; they are of every opcode, and most of them can be decoded.
func TestMutator(t *testing.T) {
	const n = 4000
	a, b := newMutator(7), newMutator(7)
	ops, decoded := map[byte]int{}, 0
	for range n {
		s := a.step()
		if s.String() != b.step().String() {
			t.Fatal("two mutators differ")
		}
		if s.Form == Reliable && len(s.Body) > 0 {
			ops[s.Body[0]]++
			if res := gameMessage(s.Body).decoded(); res.Exact() {
				decoded++
			}
		}
	}
	for _, spec := range catalog().All() {
		if !spec.CatchAll && spec.Known() && ops[byte(spec.Code)] == 0 {
			t.Errorf("no %s", spec.Name)
		}
	}
	if decoded < n/10 {
		t.Errorf("%d of %d can be decoded", decoded, n)
	}
}

// A file that is none is refused with the line.
func TestReadSteps(t *testing.T) {
	for _, text := range []string{"player reliable 0g", "nobody reliable 07", "player loudly 07", "player"} {
		if _, err := ReadSteps(strings.NewReader("\n" + text)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
