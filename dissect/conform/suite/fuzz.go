package suite

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform/shrink"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// A Step is a datagram that may stop a host.
type Step struct {
	Who  Who
	Form Form
	Body []byte
}

// A Who is the kind of client that sends a step.
type Who string

// The senders.
const (
	Player   Who = "player"   // a client in the game, with a ship
	Guest    Who = "guest"    // a connected client that is not in the game
	Stranger Who = "stranger" // a client that has not connected
)

// A Form is the form of the bytes of a step.
type Form string

// The forms.
const (
	Reliable   Form = "reliable"   // a game message with the next number
	Unreliable Form = "unreliable" // a game message without a number
	Raw        Form = "datagram"   // a deciphered datagram, with the sender's id in its first byte
	Text       Form = "text"       // a datagram that is not enciphered
)

// String returns a step in the form that [ReadSteps] reads, with the name of a
// game message.
func (s Step) String() string {
	text := fmt.Sprintf("%s %s %s", s.Who, s.Form, hex.EncodeToString(s.Body))
	if s.Form != Raw && s.Form != Text && len(s.Body) > 0 {
		if spec := catalog().Lookup(decode.Opcode(s.Body[0])); spec != nil {
			text += "  # " + spec.Name
		}
	}
	return text
}

// mostSteps is the maximum number of remembered steps, and of steps in a file.
const mostSteps = 4096

// ReadSteps reads one step per line. Text after # is a comment.
func ReadSteps(r io.Reader) (list []Step, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		words = append(words, "", "")
		s := Step{Who: Who(words[0]), Form: Form(words[1])}
		s.Body, err = hex.DecodeString(words[2])
		known := slices.Contains([]Who{Player, Guest, Stranger}, s.Who) && slices.Contains([]Form{Reliable, Unreliable, Raw, Text}, s.Form)
		if err != nil || !known || len(list) >= mostSteps {
			return nil, fmt.Errorf("line %d: not a step such as \"player reliable 0728\"", n)
		}
		list = append(list, s)
	}
	return list, lines.Err()
}

// A Fuzzing configures how a host is tested with mutated messages.
type Fuzzing struct {
	For     time.Duration
	Seed    uint64
	First   int                    // number of the first frame
	Again   []Step                 // steps to send again instead of new ones, nil for none
	Restart func() (Driver, error) // restarts the host. It is nil if that is impossible.
	Sent    func(steps int)        // called with the number of steps. It may be nil.
}

// Fuzzed is the result of fuzzing.
type Fuzzed struct {
	Steps  int    // number of steps sent
	Input  []Step // steps that stopped the host, nil if it still answers
	Whole  int    // number of steps before shrinking
	Shrunk bool   // the restarted host stops at Input, and at no part of it
	Why    string // how the host stopped, or why the test ended early
	Frames []Frame
	Lost   int // number of frames beyond the limit
}

// The pace of fuzzing.
const (
	perRound   = 32
	pause      = time.Millisecond // after each step
	settling   = 60 * time.Millisecond
	shrinksFor = time.Minute
	fullChecks = 16 // rounds after which a new client must also be let in
)

// A fuzzer sends steps to a host.
type fuzzer struct {
	r        *runner
	t        *T
	m        *mutator
	by       map[Who]*client
	failures int          // consecutive failed joins of kinds of clients that were let in before
	barred   map[Who]bool // kinds of clients that were never let in
}

func newFuzzer(d Driver, o Options, z *Fuzzing) (*fuzzer, error) {
	o.Budget = 0
	f := &fuzzer{r: newRunner(d, o), m: newMutator(z.Seed), by: map[Who]*client{}, barred: map[Who]bool{}}
	f.t, f.r.rec.lost = &T{r: f.r}, max(z.First-1, 0)
	if err := f.r.probe(); err != nil {
		f.end()
		return nil, err
	}
	return f, nil
}

// end closes the sockets. It sends no leaves, since the host may be gone.
func (f *fuzzer) end() { f.r.shut() }

// client returns the sender of a step. It joins if necessary.
func (f *fuzzer) client(w Who) *client {
	c := f.by[w]
	if c != nil && !c.closed && c.Phase != relay.ClientGone && c.Err == nil {
		return c
	}
	if f.barred[w] {
		return nil
	}
	if c != nil {
		if c.ID != 0 { // the host needs its slot
			c.Leave(f.t.now())
			c.pump(f.t.now())
		}
		c.close()
		f.r.clients = slices.DeleteFunc(f.r.clients, func(o *client) bool { return o == c })
	}
	var err error
	switch w {
	case Player:
		if c, err = f.t.joined(); err == nil {
			c.creates(akira)
		}
	case Guest:
		c, err = f.t.connected()
	default:
		c, err = f.t.stranger()
	}
	if err != nil || c == nil {
		if f.barred[w] = f.by[w] == nil; !f.barred[w] {
			f.failures++
		}
		return nil
	}
	f.by[w], f.failures = c, 0
	c.fast, c.deaf = true, w == Stranger
	return c
}

// send sends a step. It reports false if its sender cannot.
func (f *fuzzer) send(s Step) bool {
	ok := false
	_ = f.t.steps(func(*T) { // joins may end a case
		c := f.client(s.Who)
		if ok = c != nil; !ok {
			return
		}
		now := f.t.now()
		switch body := s.Body; s.Form {
		case Reliable, Unreliable:
			if s.Who == Player {
				body = f.m.adopt(c, body)
			}
			c.SendBody(now, s.Form == Reliable, body)
			c.pump(now)
		case Raw:
			if body = slices.Clone(body); len(body) > 0 && s.Who != Stranger {
				body[0] = c.ID
			}
			f.r.send(now, c.local, cipher.Encrypt(nil, body))
		default:
			f.r.send(now, c.local, body)
		}
		c.forget()
	})
	f.t.wait(pause)
	return ok
}

// stopped returns how the host has stopped, or "" if it answers.
func (f *fuzzer) stopped() string {
	const tries = 3
	switch {
	case f.r.dead != "":
		return f.r.dead
	case f.r.stopped() || f.r.alive() && f.failures < tries:
		return ""
	case f.failures >= tries:
		return "the host no longer lets clients in"
	case f.r.d.Refused() != nil:
		return "the host no longer answers: nothing listens at its port"
	}
	return "the host no longer answers"
}

// Fuzz tests the host of a driver with messages made by mutation from their
// specs. The error wraps ErrNoHost if there is no host.
func Fuzz(d Driver, o Options, z Fuzzing) (*Fuzzed, error) {
	f, err := newFuzzer(d, o, &z)
	if err != nil {
		return nil, err
	}
	defer f.end()
	out := &Fuzzed{}
	history := f.attack(out, z)
	out.Frames, out.Lost = f.r.rec.frames, f.r.rec.lost-max(z.First-1, 0)
	if out.Why == "" {
		return out, nil
	}
	out.Input, out.Whole = history, len(history)
	if z.Restart != nil && !f.r.stopped() {
		f.shrink(out, o, z)
	}
	return out, nil
}

// attack sends steps until the host stops or the time is over. It returns the
// last steps.
func (f *fuzzer) attack(out *Fuzzed, z Fuzzing) (history []Step) {
	end := f.r.d.Now().Add(z.For)
	for round := 1; f.r.d.Now().Before(end) && !f.r.stopped(); round++ {
		steps := z.Again
		for len(steps) < perRound && z.Again == nil {
			steps = append(steps, f.m.step())
		}
		for _, s := range steps {
			if f.send(s) {
				history = append(history, s)
				out.Steps++
			}
			if f.failures > 0 || f.r.d.Refused() != nil {
				break
			}
		}
		history = history[max(0, len(history)-mostSteps):]
		if round%fullChecks == 0 {
			if c := f.by[Guest]; c != nil {
				c.Phase = relay.ClientGone // another client must get in
			}
		}
		if z.Again != nil {
			f.t.wait(settling)
		}
		if out.Why = f.stopped(); out.Why != "" || z.Again != nil {
			break
		}
		if z.Sent != nil {
			z.Sent(out.Steps)
		}
	}
	return history
}

// shrink searches for the shortest input that stops the host, which is
// restarted for each trial.
func (f *fuzzer) shrink(out *Fuzzed, o Options, z Fuzzing) {
	begun := f.r.d.Now()
	clock := f.r.d
	stops := func(steps []Step) bool {
		d, err := z.Restart()
		if err != nil {
			return false
		}
		clock = d
		trial, err := newFuzzer(d, o, &z)
		if err != nil {
			return false
		}
		defer trial.end()
		for _, s := range steps {
			if !trial.send(s) || d.Refused() != nil {
				break
			}
		}
		trial.t.wait(settling)
		return trial.stopped() != ""
	}
	// Usually it is one of the last steps.
	for n := 1; ; n *= perRound {
		part := out.Input[max(0, len(out.Input)-n):]
		if stops(part) {
			search := shrink.Search[Step]{Shows: stops, Enough: func() bool {
				out.Shrunk = clock.Now().Sub(begun) < shrinksFor && !f.r.stopped()
				return !out.Shrunk
			}}
			out.Shrunk = true
			out.Input = search.List(part)
			return
		}
		if n >= len(out.Input) {
			return
		}
	}
}

// fuzzing is the case that fuzzing tests.
const fuzzing = "F-1"

// Outcome returns the outcome of the case.
func (z *Fuzzed) Outcome(took time.Duration) Outcome {
	o := Outcome{ID: fuzzing, Took: took}
	if z.Why == "" {
		return o
	}
	switch n := len(z.Input); {
	case z.Shrunk:
		o.Came = fmt.Sprintf("%s, after these %d of %d datagrams; started anew, it stops again", z.Why, n, z.Steps)
	default:
		o.Came = fmt.Sprintf("%s, after the last of %d datagrams", z.Why, z.Steps)
	}
	for _, s := range z.Input[max(0, len(z.Input)-mostCame):] {
		o.More = append(o.More, s.String())
	}
	if n := len(z.Frames); n > 0 {
		o.Frames = []int{z.Frames[n-1].Number}
	}
	return o
}
