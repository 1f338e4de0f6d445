package relay_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A forger writes the address of a player as its own. It knows how the game
// works and which numbers come next, but not the id, so it tries all.
type forger struct {
	*siege
	victim  *chatter
	sent    int // datagrams
	bytes   int
	right   int  // datagrams with the victim's id
	when    int  // in the second, in hundredths, it attacks
	unlucky bool // the first id of a sweep is never the right one
	lucky   bool // it is always the right one
	knows   bool // it uses only the right id
	delay   time.Duration
}

// write sends a datagram in the victim's name.
func (f *forger) write(plain []byte) {
	f.sent++
	f.bytes += len(plain)
	if plain[0] == f.victim.ID {
		f.right++
	}
	f.send(f.victim.addr, cipher.Encrypt(nil, plain), &relay.Trouble{Delay: f.delay})
}

// sweep sends a datagram for every id, in a new random order each time.
func (f *forger) sweep(make func(id uint8) []byte) {
	order := f.rand.Perm(125)
	if last := len(order) - 1; f.unlucky && 2+order[0] == int(f.victim.ID) {
		order[0], order[last] = order[last], order[0]
	}
	if right := int(f.victim.ID) - 2; f.lucky || f.knows {
		i := slices.Index(order, right)
		order[0], order[i] = order[i], order[0]
	}
	if f.knows {
		order = order[:1]
	}
	for _, i := range order {
		if id := uint8(2 + i); id != '\\' {
			f.write(make(id))
		}
	}
}

// next returns the number of the victim's next reliable game message.
func (f *forger) next() uint16 { return uint16(pastJoin + f.victim.next) }

// controlNumber is the number of a client's second control message after its
// connect and its name.
const controlNumber = 2

// forgedChat is a line of chat with a text that tests look for.
func forgedChat(id uint8) []byte { return chatAs(id, "forged line") }

// shortConnect is a connect as OpenBC's clients write it.
var shortConnect = []byte{transport.UnassignedPeer, 1, byte(transport.Connect), 8, 1, 0, 0, 0, 127, 0}

// idle returns a keepalive, which shows no more than the id.
func idle(id uint8) []byte { return []byte{id, 1, byte(transport.DoNothing)} }

// forgedLeave returns a leave.
func forgedLeave(id uint8) []byte {
	return one(id, transport.Header{Type: transport.Disconnect, Priority: true, Seq: controlNumber}, []byte{id, 10, 0, 0, 1})
}

// forgedName returns a name that tests look for.
func forgedName(id uint8) []byte {
	return one(id, transport.Header{Type: transport.NameChange, Priority: true, Seq: controlNumber},
		append(wire.AppendWideTextOf([]byte{id, 10, 0, 0, 1}, "forged name"), 0, 0))
}

// A forgery is an attack on one player by a stranger who writes the player's
// address.
type aForgery struct {
	name string
	// at is called a hundred times a second.
	at func(f *forger, tick int)
}

// everyFive returns an attack that is made every five seconds.
func everyFive(attack func(f *forger)) func(*forger, int) {
	return func(f *forger, tick int) {
		if tick%500 == 100+f.when {
			attack(f)
		}
	}
}

var forgeries = []aForgery{
	{"leave", everyFive(func(f *forger) {
		f.sweep(forgedLeave)
	})},
	{"leave, repeated as the game does", func(f *forger, tick int) {
		if tick >= 100 && tick < 1500 && tick%100 == 0 {
			f.sweep(forgedLeave)
		}
	}},
	{"short leave", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte { return []byte{id, 1, byte(transport.Leave), 2} })
	})},
	{"kick", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return one(id, transport.Header{Type: transport.BootPlayer, Priority: true, Seq: controlNumber}, []byte{transport.BootKicked, id})
		})
	})},
	{"chat with the next number", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte { return one(id, reliable(f.next()), forgedChat(id)) })
	})},
	{"chat without a number", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte { return one(id, transport.Header{Type: transport.Standard}, forgedChat(id)) })
	})},
	{"one guess every tenth of a second", func(f *forger, tick int) {
		if id := uint8(2 + tick/10%125); tick%10 == 0 && id != '\\' {
			f.write(one(id, reliable(f.next()), forgedChat(id)))
		}
	}},
	{"rename", everyFive(func(f *forger) {
		f.sweep(forgedName)
	})},
	{"next numbers, filled with rubbish", everyFive(func(f *forger) {
		for n := range uint16(3) {
			f.sweep(func(id uint8) []byte { return one(id, reliable(f.next()+n), []byte{0xEE, 1, 2, 3}) })
		}
	})},
	{"many numbers at once", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(n int) (transport.Header, []byte) { return reliable(f.next() + uint16(n)), []byte{0xEE} })
		})
	})},
	{"other numbers and other rubbish all the time", tenTimes(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(n int) (transport.Header, []byte) {
				return reliable(f.next() + uint16(n)), binary.LittleEndian.AppendUint64([]byte{0xEE}, f.rand.Uint64())
			})
		})
	})},
	{"fragments", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			h := reliable(f.next())
			h.Fragment, h.Count = true, 200
			return one(id, h, []byte{0xEE})
		})
	})},
	{"acknowledgements of what was sent and of what was not", everyFive(func(f *forger) {
		for range 2 {
			f.sweep(func(id uint8) []byte {
				return relaytest.Fill(id, func(n int) (transport.Header, []byte) {
					return transport.Header{Type: transport.Acknowledge, Seq: uint16(n)}, nil
				})
			})
		}
	})},
	{"acknowledgements of anything", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(int) (transport.Header, []byte) {
				return transport.Header{Type: transport.Acknowledge, Seq: uint16(f.rand.Uint32())}, nil
			})
		})
	})},
	{"chat with acknowledgements that may be a sign", everyFive(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(n int) (transport.Header, []byte) {
				if n == 0 {
					return reliable(f.next()), forgedChat(id)
				}
				return transport.Header{Type: transport.Acknowledge, Seq: 0x8000 + uint16(f.rand.IntN(0x8000))}, nil
			})
		})
	})},
	{"connects, and every id", everyFive(func(f *forger) {
		f.write(f.connect())
		f.sweep(idle)
		f.sweep(idle)
	})},
	{"connects, leaves and the id of OpenBC's clients", func(f *forger, _ int) {
		f.write(f.connect())
		f.write(shortConnect)
		f.write(idle(2))
		f.write(idle(3))
		f.write([]byte{transport.UnassignedPeer, 1, byte(transport.Leave), 2})
	}},
	{"ship updates", func(f *forger, tick int) {
		f.sweep(func(id uint8) []byte {
			return one(id, transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStateUpdate)}, append(idBytes(f.victim.player), 0, 0, 0, 0, 0x80)...))
		})
	}},
	{"all ids, all the time", func(f *forger, tick int) {
		f.sweep(idle)
	}},
	{"acknowledgements for all ids, all the time", tenTimes(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(n int) (transport.Header, []byte) {
				return transport.Header{Type: transport.Acknowledge, Seq: uint16(n)}, nil
			})
		})
	})},
}

// moreLucky are attacks that are worth it only for those who know the id.
var moreLucky = []aForgery{
	{"a flood of ship updates", func(f *forger, tick int) {
		for range 20 {
			f.sweep(func(id uint8) []byte {
				return relaytest.Fill(id, func(int) (transport.Header, []byte) {
					return transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStateUpdate)}, append(idBytes(f.victim.player), 0, 0, 0, 0, 0x80)...)
				})
			})
		}
	}},
	{"a flood of names", func(f *forger, tick int) {
		for range 20 {
			f.sweep(func(id uint8) []byte {
				return relaytest.Fill(id, func(n int) (transport.Header, []byte) {
					return transport.Header{Type: transport.NameChange, Priority: true, Seq: controlNumber + uint16(n)}, []byte{id, 0, 0, 0, 0, byte(n), 1, 0, 0}
				})
			})
		}
	}},
	{"a flood of lines", func(f *forger, tick int) {
		for range 20 {
			f.sweep(func(id uint8) []byte {
				return relaytest.Fill(id, func(n int) (transport.Header, []byte) { return reliable(f.next() + uint16(n)), []byte{0xEE, byte(n)} })
			})
		}
	}},
}

// A forger who writes a player's address, but does not read its traffic, can't throw
// the player out, speak for it, or silence it. A line comes back at once even if it is
// under way when the attack begins, since it has a sign.
func TestForgeries(t *testing.T) {
	type side struct {
		when  int // in the second, in hundredths
		proof bool
	}
	for n, tt := range forgeries {
		for i, side := range []side{{0, false}, {85, false}, {85, true}} {
			if (n+i)%2 == 1 && !long() {
				continue
			}
			when := side.when
			t.Run(fmt.Sprint(tt.name, "/", when, "/", side.proof), func(t *testing.T) {
				t.Parallel()
				s := besiege(t, 4, relay.Config{Proof: side.proof})
				s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
				f := &forger{siege: s, victim: s.chatters[1], when: when}
				mean, longest := f.attack(t, tt.at)
				if longest > 100*time.Millisecond {
					t.Errorf("a line takes %v to come back", longest)
				}
				t.Logf("%d datagrams (%d bytes), %d with the right id; echo %v, at worst %v; %d bytes to the victim, %d from it",
					f.sent, f.bytes, f.right, mean, longest, s.to[f.victim.addr], s.from[f.victim.addr]-f.bytes)
			})
		}
	}
}

// A client that answers no challenge is not silenced by who guesses its id either. It can lose the line
// that is under way then: the host acknowledges the forged one, which has the same number.
func TestLuckyForgerWithoutSigns(t *testing.T) {
	for n, tt := range forgeries {
		for i, openBC := range []bool{false, true} {
			if (n+i)%2 == 1 && !long() {
				continue
			}
			t.Run(fmt.Sprint(tt.name, "/", openBC), func(t *testing.T) {
				t.Parallel()
				s := besiegeMixed(t, []bool{false, openBC, false}, relay.Config{}, 1)
				s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
				f := &forger{siege: s, victim: s.chatters[1], lucky: true}
				s.events = nil
				s.chat(30*time.Second, func(tick int) { tt.at(f, tick) })
				s.advance(10*time.Second, nil)
				for n := range f.victim.said {
					if len(f.victim.said) > 1 {
						t.Errorf("line %d of %d has not come back", n, f.victim.next)
					}
					delete(f.victim.said, n)
					f.victim.next--
				}
				s.unharmed()
				s.keepsName(f.victim)
				s.told(f.victim)
				_, longest := s.echo()
				if longest > 1500*time.Millisecond {
					t.Errorf("a line takes %v to come back", longest)
				}
				t.Logf("at worst %v", longest)
			})
		}
	}
}

// A stranger who guesses the id at once, and one who then stays with it, can't rename or throw out a player
// whose game answers challenges, and loses none of its lines, although the network loses some datagrams:
// what has a sign counts. A stranger whose first guess was right speaks for the player at most once.
func TestLuckyForger(t *testing.T) {
	for n, tt := range slices.Concat(forgeries, moreLucky) {
		for i, knows := range []bool{false, true} {
			if !knows && n >= len(forgeries) || n < len(forgeries) && (n+i)%2 == 1 && !long() {
				continue
			}
			t.Run(fmt.Sprint(tt.name, "/", knows), func(t *testing.T) {
				t.Parallel()
				s := besiege(t, 3, relay.Config{})
				s.trouble = relay.Trouble{Delay: 40 * time.Millisecond, Loss: 0.03}
				for i, c := range s.chatters {
					c.frames = 2 + (n+i)%4
				}
				f := &forger{siege: s, victim: s.chatters[1], when: 83 + n%8, lucky: true, knows: knows}
				if n >= len(forgeries) { // it takes the room of others, which is shown by the time that lines take
					s.trouble.Loss, f.delay = 0, step/2
				}
				forged := s.forgedLines()
				s.events = nil
				s.chat(30*time.Second, func(tick int) { tt.at(f, tick) })
				s.advance(10*time.Second, nil)
				s.unharmed()
				s.keepsName(f.victim)
				if *forged > 3 { // one line, which three see
					t.Errorf("%d forged lines were shown", *forged)
				}
				_, longest := s.echo()
				if s.trouble.Loss == 0 && longest > 250*time.Millisecond {
					t.Errorf("a line takes %v to come back", longest)
				}
				t.Logf("%s %v %d forged lines; at worst %v; %v", tt.name, knows, *forged, longest, s.events)
			})
		}
	}
}

// Once a stranger has guessed wrong, no guess of the next minute is believed, be it
// right, so that a minute gives one chance in 124.
func TestPatientForger(t *testing.T) {
	for _, pause := range []time.Duration{step, 100 * time.Millisecond, 710 * time.Millisecond, time.Second, 2100 * time.Millisecond, 20 * time.Second, 59 * time.Second} {
		t.Run(pause.String(), func(t *testing.T) {
			t.Parallel()
			s := besiege(t, 3, relay.Config{})
			s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
			f := &forger{siege: s, victim: s.chatters[1]}
			forged := s.forgedLines()
			s.events = nil
			every := int(pause / step)
			guesses := []uint8{f.victim.ID ^ 1, f.victim.ID}
			s.chat(max(10*time.Second, 2*pause+2*time.Second), func(tick int) {
				if tick%every == 0 && tick > 0 {
					id := guesses[(tick/every-1)%2]
					f.write(one(id, reliable(f.next()), forgedChat(id)))
					f.write(one(id, transport.Header{Type: transport.Standard}, forgedChat(id)))
					f.write(forgedName(id))
					f.write(forgedLeave(id))
				}
			})
			if f.right == 0 || *forged > 0 {
				t.Errorf("of %d right guesses, %d lines got through", f.right, *forged)
			}
			s.unharmed()
			s.undeceived()
		})
	}
}

// Who guesses so rarely that each guess is the first one is reported all the same.
func TestRareGuesses(t *testing.T) {
	s := besiege(t, 2, relay.Config{})
	f := &forger{siege: s, victim: s.chatters[1]}
	s.events = nil
	for guess := range uint8(4) {
		f.write(one(f.victim.ID^(guess+1), reliable(f.next()), forgedChat(f.victim.ID)))
		s.advance(3*time.Minute, nil)
	}
	n := 0
	for _, e := range s.events {
		if e.Kind == relay.Forged && e.Addr == f.victim.addr {
			n++
		}
	}
	if n != 3 { // the first one may be an accident
		t.Errorf("reported %d times: %v", n, s.events)
	}
	s.unharmed()
}

// A host that wants proof of every client doesn't believe a guess, even if it is right
// and the first. It lets no client in that answers no challenge.
func TestProof(t *testing.T) {
	s := besiege(t, 3, relay.Config{Proof: true})
	f := &forger{siege: s, victim: s.chatters[1]}
	forged := s.forgedLines()
	s.events = nil
	s.chat(5*time.Second, func(tick int) {
		if tick%100 == 50 {
			f.write(one(f.victim.ID, reliable(f.next()), forgedChat(f.victim.ID)))
			f.write(one(f.victim.ID, transport.Header{Type: transport.Standard}, forgedChat(f.victim.ID)))
			f.write(forgedName(f.victim.ID))
			f.write(forgedLeave(f.victim.ID))
		}
	})
	s.unharmed()
	s.undeceived()
	if f.right != f.sent || *forged > 0 {
		t.Errorf("%d of %d forged lines got through", *forged, f.right)
	}
	for _, openBC := range []bool{false, true} {
		p := s.add(openBC)
		p.silent = true
		p.Connect(s.now)
		s.advance(10*time.Second, nil)
		if p.Phase == relaytest.Playing || s.to[p.addr] > 4*s.from[p.addr]+1<<10 {
			t.Errorf("OpenBC %v: phase %d after %d bytes for %d", openBC, p.Phase, s.to[p.addr], s.from[p.addr])
		}
	}
}

// forgedLines counts the forged lines that anybody is shown.
func (s *siege) forgedLines() *int {
	n := new(int)
	for _, c := range s.chatters {
		deliver := c.Deliver
		c.Deliver = func(now time.Time, m *arq.Message) {
			deliver(now, m)
			if decode.Opcode(m.Body[0]) == msg.OpChat && bytes.Contains(m.Body, []byte("forged line")) {
				*n++
			}
		}
	}
	return n
}

// told checks that the host reported exactly once that a stranger forges the
// victim's datagrams.
func (s *siege) told(victim *chatter) {
	s.t.Helper()
	n := 0
	for _, e := range s.events {
		if e.Kind == relay.Forged && e.Addr == victim.addr && strings.Contains(e.Text, fmt.Sprintf("forged datagrams for %q", victim.Name)) {
			n++
		}
	}
	if n != 1 {
		s.t.Errorf("reported %d times, want once: %v", n, s.events)
	}
}

// keepsName checks that others know the victim by its name.
func (s *siege) keepsName(victim *chatter) {
	s.t.Helper()
	for _, c := range s.chatters {
		if name, ok := c.Known[victim.ID]; ok && name != victim.Name {
			s.t.Errorf("%s was told that %s is called %q", c.Name, victim.Name, name)
		}
	}
}

// joinings are attacks on a player who is joining.
var joinings = []aForgery{
	{"guesses five seconds apart", everyFive(func(f *forger) { f.sweep(idle) })},
	{"guesses a second apart", func(f *forger, tick int) {
		if tick%100 == 20 {
			f.sweep(idle)
		}
	}},
	{"guesses", tenTimes(func(f *forger) { f.sweep(idle) })},
	{"names", tenTimes(func(f *forger) { f.sweep(forgedName) })},
	{"leaves", tenTimes(func(f *forger) { f.sweep(forgedLeave) })},
	{"next numbers, filled with rubbish", tenTimes(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(n int) (transport.Header, []byte) { return reliable(uint16(n)), []byte{0xEE} })
		})
	})},
	{"answers without an end", tenTimes(func(f *forger) {
		for n := range uint16(6) {
			f.sweep(func(id uint8) []byte {
				return one(id, reliable(n), []byte{byte(msg.OpChecksumResponse), []byte{0, 1, 2, 3, 0xFF, 0}[n], 1, 2})
			})
		}
	})},
	{"answers", tenTimes(func(f *forger) {
		for n := range uint16(6) {
			f.sweep(func(id uint8) []byte {
				return one(id, reliable(n), append([]byte{byte(msg.OpChecksumResponse), []byte{0, 1, 2, 3, 0xFF, 0}[n]}, make([]byte, 20)...))
			})
		}
	})},
	{"acknowledgements", tenTimes(func(f *forger) {
		f.sweep(func(id uint8) []byte {
			return relaytest.Fill(id, func(n int) (transport.Header, []byte) {
				return transport.Header{Type: transport.Acknowledge, Seq: uint16(n)}, nil
			})
		})
	})},
	{"leaves without an id", func(f *forger, _ int) { f.write([]byte{transport.UnassignedPeer, 1, byte(transport.Leave), 2}) }},
	{"connects", func(f *forger, _ int) { f.write(f.connect()) }},
	{"short connects, and the id that follows", func(f *forger, _ int) {
		f.write(shortConnect)
		f.write(idle(2))
	}},
	{"connects, and every id", tenTimes(func(f *forger) {
		f.write(f.connect())
		f.sweep(idle)
	})},
}

// tenTimes returns an attack that is made ten times a second.
func tenTimes(attack func(f *forger)) func(*forger, int) {
	return func(f *forger, tick int) {
		if tick%10 == 2 {
			attack(f)
		}
	}
}

// refusals are attacks on a player who is joining a game with a password and bans.
var refusals = []aForgery{
	{"wrong passwords", func(f *forger, _ int) { f.write(f.connect()) }},
	{"a wrong password a second", func(f *forger, tick int) {
		if tick%100 == 50 {
			f.write(f.connect())
		}
	}},
	{"wrong passwords, and every id", func(f *forger, _ int) {
		f.write(f.connect())
		f.sweep(idle)
	}},
	{"a banned address", tenTimes(func(f *forger) { f.write(f.banned()) })},
	{"a banned address, and every id", tenTimes(func(f *forger) {
		f.write(f.banned())
		f.sweep(idle)
	})},
	{"OpenBC's connects", func(f *forger, _ int) {
		f.write(shortConnect)
		f.write(idle(2))
	}},
}

// locked is a game with a password and bans.
var locked = relay.Config{
	Password: "tranya",
	Banned:   func(claimed [4]byte, _ netip.Addr) bool { return claimed == [4]byte{10, 6, 6, 6} },
}

// banned returns a connect of a banned player.
func (f *forger) banned() []byte {
	d := f.connect()
	copy(d[5:], []byte{10, 6, 6, 6})
	return d
}

// A player gets in whatever others write in its name meanwhile, and plays. So does one
// that answers no challenge.
func TestForgedWhileJoining(t *testing.T) {
	for n, tt := range append(joinings, joinings...) {
		if n%2 == 0 || long() {
			forgedWhileJoining(t, relay.Config{}, tt, n, false)
		}
		if n < len(joinings) {
			forgedWhileJoining(t, relay.Config{Proof: true}, tt, n, false)
		}
		if (n%2 == 1 || long()) && tt.name != "names" { // those that are repeated are believed
			forgedWhileJoining(t, relay.Config{}, tt, n, true)
		}
	}
	for n, tt := range append(refusals, refusals...) {
		forgedWhileJoining(t, locked, tt, n, false)
	}
}

func forgedWhileJoining(t *testing.T, cfg relay.Config, tt aForgery, n int, silent bool) {
	t.Helper()
	begins := 200 + n // other places between two guesses
	t.Run(fmt.Sprint(tt.name, "/", n, "/", cfg.Proof, "/", silent), func(t *testing.T) {
		t.Parallel()
		s := besiege(t, 2, cfg)
		s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
		late := s.add(false)
		late.silent, late.instant = silent, true
		f := &forger{siege: s, victim: &chatter{player: late}}
		var from time.Time
		var took time.Duration
		s.chat(15*time.Second, func(tick int) {
			if tick == begins {
				late.Connect(s.now)
				from = s.now
			}
			tt.at(f, tick)
			if late.Phase == relaytest.Playing && took == 0 {
				took = s.now.Sub(from)
			}
		})
		if took == 0 || took > 10*time.Second || late.Phase != relaytest.Playing {
			t.Errorf("in after %v, phase %d; %v", took, late.Phase, s.events[max(0, len(s.events)-3):])
		}
		t.Logf("in after %v", took)
		s.unharmed()
		s.named(late)
	})
}

// Wrong passwords and banned addresses that others write throw no player out.
func TestForgedPasswords(t *testing.T) {
	s := besiege(t, 3, locked)
	f := &forger{siege: s, victim: s.chatters[1]}
	s.events = nil
	s.chat(15*time.Second, func(tick int) {
		if tick%100 == 50 {
			f.write(f.connect())
			f.write(f.banned())
		}
	})
	s.unharmed()
	s.undeceived()
}

// A player with a wrong password learns so, and gets in with the right one. So does one
// whose name for its own address is banned.
func TestDenied(t *testing.T) {
	for _, tt := range []struct {
		name     string
		password string
		claimed  [4]byte
		reason   uint8
	}{
		{"wrong password", "x", [4]byte{10, 0, 0, 1}, transport.BootPassword},
		{"banned", locked.Password, [4]byte{10, 6, 6, 6}, transport.BootBanned},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, locked)
			w.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
			p := w.add(false)
			own := p.Client.Client.Claimed
			p.Client.Client.Password, p.Client.Client.Claimed = tt.password, tt.claimed
			p.Connect(w.now)
			w.advance(1300*time.Millisecond, nil)
			if p.Phase != relaytest.Gone || p.Reason != int(tt.reason) || !slices.Contains(w.kinds(relay.Refused), p.Name) {
				t.Fatalf("phase %d, reason %d; %v", p.Phase, p.Reason, w.events)
			}
			if sent := w.to[p.addr]; sent > w.from[p.addr] {
				t.Errorf("%d bytes for %d", sent, w.from[p.addr])
			}
			again := w.add(false)
			w.byAddr[p.addr] = again
			again.addr = p.addr
			again.Client.Client.Claimed = own
			w.join(again)
		})
	}
}

// Forged connects keep no player out, however far away the player is. They cost
// their sender more bytes than they bring to the forged addresses.
func TestForgedConnects(t *testing.T) {
	rates := []int{1500, -1500, 15000} // those below 0 are of OpenBC's form
	if !long() {
		rates = rates[:2]
	}
	for _, perSecond := range rates {
		form := (*siege).connect
		if perSecond < 0 {
			perSecond, form = -perSecond, func(*siege) []byte { return shortConnect }
		}
		s := besiege(t, 2, relay.Config{})
		s.trouble = relay.Trouble{Delay: 80 * time.Millisecond}
		lates := []*player{s.add(false), s.add(false)}
		began := map[*player]time.Time{}
		took := map[*player]time.Duration{}
		n := 0
		s.chat(12*time.Second, func(tick int) {
			for range perSecond / 100 {
				n++
				s.inject(netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(n >> 16), byte(n >> 8), byte(n)}), 5000), form(s))
			}
			if tick == 300 || tick == 500 {
				p := lates[tick/500]
				p.Connect(s.now)
				began[p] = s.now
			}
			for _, p := range lates {
				if p.Phase == relaytest.Playing && took[p] == 0 {
					took[p] = s.now.Sub(began[p])
				}
			}
		})
		s.unharmed()
		in, out := 0, 0
		for addr, size := range s.from {
			if addr.Port() == 5000 {
				in, out = in+size, out+s.to[addr]
			}
		}
		if out > in {
			t.Errorf("%d bytes out for %d in", out, in)
		}
		for _, p := range lates {
			if took[p] == 0 || took[p] > 4*time.Second {
				t.Errorf("%d a second: %s is in after %v, phase %d", perSecond, p.Name, took[p], p.Phase)
			}
			t.Logf("%d a second: in after %v; %d bytes in, %d out", perSecond, took[p], in, out)
		}
	}
}

// A client that answers no challenge, be it one of OpenBC's, gives no signs. It is
// not thrown out or silenced either, and a burst of guesses does not speak for it.
func TestForgeriesWithoutSigns(t *testing.T) {
	for _, openBC := range []bool{true, false} {
		for _, tt := range forgeries {
			switch tt.name {
			case "leave", "short leave", "kick", "chat without a number", "connects, and every id":
			default:
				if openBC { // its numbers have eight bits
					continue
				}
			}
			t.Run(fmt.Sprint(tt.name, "/", openBC), func(t *testing.T) {
				t.Parallel()
				s := besiegeMixed(t, []bool{false, openBC, false}, relay.Config{}, 1)
				s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
				f := &forger{siege: s, victim: s.chatters[1], unlucky: true}
				forged := s.forgedLines()
				s.events = nil
				s.chat(40*time.Second, func(tick int) { tt.at(f, tick) }) // a deaf client is put out after 30
				s.unharmed()
				s.told(f.victim)
				if *forged > 0 {
					t.Errorf("%d forged lines got through", *forged)
				}
				most := 1500 * time.Millisecond
				if tt.name == "all ids, all the time" { // they want nothing
					most = 100 * time.Millisecond
				}
				_, longest := s.echo()
				if longest > most {
					t.Errorf("a line takes %v to come back", longest)
				}
				t.Logf("at worst %v", longest)
			})
		}
	}
}

// OpenBC's clients say once that they leave, and nothing while they're idle. One that leaves is
// gone soon; one in whose name others write a leave stays, since it acknowledges what the host asks.
func TestLeaveAsked(t *testing.T) {
	s := besiegeMixed(t, []bool{true, true}, relay.Config{})
	s.trouble = relay.Trouble{Delay: 40 * time.Millisecond, Loss: 0.02}
	leaver, victim := s.chatters[0], s.chatters[1]
	s.events = nil
	s.advance(20*time.Second, nil)
	for range 5 {
		s.inject(victim.addr, []byte{victim.ID, 1, byte(transport.Leave), 2})
		s.advance(10*time.Second, nil)
	}
	s.unharmed()
	s.inject(leaver.addr, []byte{leaver.ID, 1, byte(transport.Leave), 2})
	s.byAddr[leaver.addr], victim.Deliver = nil, nil
	s.clients = slices.DeleteFunc(s.clients, func(p *player) bool { return p == leaver.player })
	s.advance(1600*time.Millisecond, nil)
	if !slices.ContainsFunc(s.events, func(e relay.Event) bool { return e.Kind == relay.Left && e.Addr == leaver.addr }) {
		t.Errorf("%s has not left: %v", leaver.Name, s.events)
	}
}

// Whoever connects in the name of a player's address, from other ports, and guesses the ids doesn't
// take the slots that the address may have.
func TestForgedNeighbours(t *testing.T) {
	for _, short := range []bool{false, true} {
		s := besiege(t, 2, relay.Config{Players: 8, PerAddress: func(netip.Addr) int { return 4 }})
		s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
		late := s.add(false)
		var from time.Time
		var took time.Duration
		s.chat(15*time.Second, func(tick int) {
			for n := range 6 {
				f := &forger{siege: s, victim: &chatter{player: &player{Client: late.Client, addr: netip.AddrPortFrom(late.addr.Addr(), uint16(20000+n))}}}
				switch {
				case tick%20 > 0:
				case short:
					f.write(shortConnect)
					f.write(idle(2))
				default:
					f.write(f.connect())
					f.sweep(idle)
				}
			}
			if tick == 500 {
				late.Connect(s.now)
				from = s.now
			}
			if late.Phase == relaytest.Playing && took == 0 {
				took = s.now.Sub(from)
			}
		})
		s.unharmed()
		if took == 0 || took > 2*time.Second || late.Phase != relaytest.Playing {
			t.Errorf("OpenBC's form %v: in after %v, phase %d", short, took, late.Phase)
		}
	}
}

// A player who says nothing for a while, and sends no more than a keepalive in five seconds, is not
// thrown out by leaves for every id, not even if the first of them is the right one, or all of them.
func TestForgedLeaveOfIdle(t *testing.T) {
	leaves := map[string]func(id uint8) []byte{
		"leave":       forgedLeave,
		"short leave": func(id uint8) []byte { return []byte{id, 1, byte(transport.Leave), 2} },
	}
	for name, leave := range leaves {
		for _, openBC := range []bool{false, true} {
			for _, guess := range []string{"unlucky", "lucky", "knows"} {
				if openBC && guess == "knows" { // its leaves count
					continue
				}
				t.Run(fmt.Sprint(name, "/", openBC, "/", guess), func(t *testing.T) {
					t.Parallel()
					s := besiegeMixed(t, []bool{false, openBC, false}, relay.Config{})
					s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
					f := &forger{siege: s, victim: s.chatters[1], unlucky: guess == "unlucky", lucky: guess == "lucky", knows: guess == "knows"}
					s.events = nil
					s.advance(30*time.Second, nil)
					for n := range 12 { // at other times since the last keepalive
						f.sweep(leave)
						s.advance(time.Duration(5300+130*n)*time.Millisecond, nil)
					}
					s.advance(time.Minute, nil)
					if !f.knows {
						s.told(f.victim)
					}
					s.chat(5*time.Second, nil)
					s.unharmed()
					s.undeceived()
				})
			}
		}
	}
}

// A player leaves in a datagram without a sign, and answers challenges while it waits for an
// acknowledgement. The leave counts three seconds after the last answer. A leave that the player
// outlives by more than that is forgotten.
func TestLeaveWithoutSign(t *testing.T) {
	for _, stays := range []time.Duration{100 * time.Millisecond, 1500 * time.Millisecond, 2900 * time.Millisecond, 5 * time.Second} {
		t.Run(stays.String(), func(t *testing.T) {
			t.Parallel()
			s := besiege(t, 3, relay.Config{})
			s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
			f := &forger{siege: s, victim: s.chatters[1], knows: true}
			s.advance(10*time.Second, nil)
			s.events = nil
			f.sweep(forgedLeave)
			s.advance(stays, nil)
			s.absent(f.victim.player)
			s.advance(3500*time.Millisecond, nil)
			left := slices.ContainsFunc(s.events, func(e relay.Event) bool { return e.Kind == relay.Left && e.Addr == f.victim.addr })
			if want := stays < 3*time.Second; left != want {
				t.Errorf("it has left: %t, want %t", left, want)
			}
		})
	}
}

// A player who says nothing, and whose game answers no challenge, is not thrown out as silent while
// others write all that it could send. A third of what they write is tried, or all if
// BCDISSECT_LONG is set.
func TestForgedForSilent(t *testing.T) {
	for n, tt := range forgeries {
		if n%3 > 0 && !long() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := besiegeMixed(t, []bool{false, false, false}, relay.Config{}, 1)
			s.advance(time.Duration(n)*310*time.Millisecond, nil) // other times since the last keepalive
			s.trouble = relay.Trouble{Delay: 40 * time.Millisecond, Jitter: 15 * time.Millisecond, Loss: 0.01}
			f := &forger{siege: s, victim: s.chatters[1], unlucky: true}
			s.events = nil
			s.advance(50*time.Second, func(tick int) { tt.at(f, tick) })
			s.advance(2*time.Minute, nil)
			s.told(f.victim)
			s.chat(5*time.Second, nil)
			s.unharmed()
		})
	}
}

// What is under way when an attack begins has a sign, so that a line comes back within two
// round trips. It does so at another time in each attack, for clients that send a datagram a
// frame as the game does.
func TestForgedUnderWay(t *testing.T) {
	const trip = 2 * (40 + 15) * time.Millisecond // at most
	for n, tt := range forgeries {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := besiege(t, 4, relay.Config{})
			s.trouble = relay.Trouble{Delay: 40 * time.Millisecond, Jitter: 15 * time.Millisecond}
			for i, c := range s.chatters {
				c.frames = 2 + (n+i)%4
			}
			f := &forger{siege: s, victim: s.chatters[1], when: 83 + n%8}
			mean, longest := f.attack(t, tt.at)
			if longest > 2*trip {
				t.Errorf("a line takes %v to come back", longest)
			}
			t.Logf("echo %v, at worst %v", mean, longest)
		})
	}
}

// The first attack in a minute makes no line late, whenever it begins. This is so for clients
// that send a datagram in each frame of 20 to 50 ms, with or without the updates of a ship.
func TestFirstForgery(t *testing.T) {
	const jitter = 15 * time.Millisecond
	rounds := fixtures.More(3, 10)
	if long() {
		rounds = 100
	}
	for _, frames := range []int{2, 3, 5} {
		for _, flies := range []bool{false, true} {
			t.Run(fmt.Sprint(frames, "/", flies), func(t *testing.T) {
				t.Parallel()
				s := besiege(t, 2, relay.Config{})
				s.trouble = relay.Trouble{Delay: 40 * time.Millisecond, Jitter: jitter}
				f := &forger{siege: s, victim: s.chatters[1], unlucky: true}
				f.victim.frames = frames
				forged := s.forgedLines()
				fly := func(tick int) {
					if flies && tick%10 == 0 {
						f.victim.Fight(s.now, 1) // updates
					}
				}
				for round := range rounds {
					s.events = nil
					s.chat(2*time.Second, func(tick int) {
						fly(tick)
						if tick == 83+round%8 {
							f.sweep(func(id uint8) []byte { return one(id, transport.Header{Type: transport.Standard}, forgedChat(id)) })
						}
					})
					s.told(f.victim)
					s.advance(time.Minute, fly)
				}
				s.unharmed()
				if _, longest := s.echo(); longest > 2*(80*time.Millisecond+2*jitter) || len(f.victim.echoes) < 2*rounds {
					t.Errorf("of %d lines one takes %v to come back", len(f.victim.echoes), longest)
				}
				if *forged > 0 {
					t.Errorf("%d forged lines got through", *forged)
				}
			})
		}
	}
}

// Challenges cost little, and next to nothing for clients that don't answer
// them.
func TestChallengesAreCheap(t *testing.T) {
	s := besiegeMixed(t, []bool{false, false, true, false}, relay.Config{}, 0)
	s.chatters[3].frames = 3
	s.advance(2*time.Minute, nil)
	for _, tt := range []struct {
		who            *chatter
		mostTo, mostIn int
	}{{s.chatters[0], 18, 4}, {s.chatters[2], 4, 4}, {s.chatters[3], 650, 1750}} {
		to, from := s.to[tt.who.addr], s.from[tt.who.addr]
		s.advance(time.Minute, nil)
		to, from = (s.to[tt.who.addr]-to)/60, (s.from[tt.who.addr]-from)/60
		if to > tt.mostTo || from > tt.mostIn {
			t.Errorf("%d bytes a second to %s, %d from it", to, tt.who.Name, from)
		}
		t.Logf("%d bytes a second to %s, %d from it", to, tt.who.Name, from)
	}
}

// attack has the players chat for 30 s under an attack, and checks that no player
// is harmed, no forged line gets through, and the attack is told. It returns how
// long a line takes to come back.
func (f *forger) attack(t *testing.T, at func(f *forger, tick int)) (mean, longest time.Duration) {
	t.Helper()
	s := f.siege
	forged := s.forgedLines()
	s.events = nil
	s.chat(30*time.Second, func(tick int) { at(f, tick) })
	s.unharmed()
	s.undeceived()
	s.told(f.victim)
	if *forged > 0 {
		t.Errorf("%d forged lines got through", *forged)
	}
	return s.echo()
}

// named checks that a player has kept its name.
func (s *siege) named(p *player) {
	s.t.Helper()
	for _, there := range s.host.Players() {
		if there.Addr == p.addr && wire.WideText(there.Name).Raw() != p.Name {
			s.t.Errorf("%v is called %q", p.addr, there.Name)
		}
	}
}

// besiegeLoading lets two players chat, and a third one join until its game loads the mission: it sends and
// reads nothing then.
func besiegeLoading(t *testing.T, seed int, silent bool, cfg relay.Config) (s *siege, late *player) {
	t.Helper()
	s = besiege(t, 2, cfg)
	s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
	late = s.add(false)
	late.silent = silent
	late.Client.Client.Enter = false
	late.Connect(s.now)
	for !late.Loaded {
		s.advance(step, nil)
	}
	s.advance(time.Duration(300+40*seed)*time.Millisecond, nil)
	s.absent(late)
	return s, late
}

// absent keeps a player from sending and reading.
func (s *siege) absent(p *player) {
	s.clients = slices.DeleteFunc(slices.Clone(s.clients), func(o *player) bool { return o == p })
	delete(s.byAddr, p.addr)
}

// wakes lets an absent player send and read again.
func (s *siege) wakes(p *player) { s.clients, s.byAddr[p.addr] = append(slices.Clone(s.clients), p), p }

// A game that loads the mission sends nothing and reads nothing for a while. Whoever forges its address
// meanwhile doesn't throw it out, rename it or keep it from getting in, not even with the right id.
func TestForgedWhileLoading(t *testing.T) {
	attacks := slices.Concat(joinings, refusals, []aForgery{
		{"leaves, repeated as the game does", func(f *forger, tick int) {
			if tick%100 == 0 {
				f.sweep(forgedLeave)
			}
		}},
		{"short leaves", tenTimes(func(f *forger) {
			f.sweep(func(id uint8) []byte { return []byte{id, 1, byte(transport.Leave), 2} })
		})},
		{"ready", tenTimes(func(f *forger) {
			f.sweep(func(id uint8) []byte { return one(id, reliable(5), []byte{byte(msg.OpClientReady)}) })
		})},
	})
	for n, tt := range attacks {
		for i, guess := range []string{"unlucky", "lucky", "knows"} {
			for j, away := range []time.Duration{12 * time.Second, 30 * time.Second} {
				if (n+i+j)%2 == 1 && !long() {
					continue
				}
				t.Run(fmt.Sprint(tt.name, "/", guess, "/", away), func(t *testing.T) {
					t.Parallel()
					s, late := besiegeLoading(t, n, false, locked)
					f := &forger{siege: s, victim: &chatter{player: late}, unlucky: guess == "unlucky", lucky: guess == "lucky", knows: guess == "knows"}
					s.chat(away, func(tick int) { tt.at(f, tick) })
					s.wakes(late)
					late.Say(s.now, msg.OpClientReady, new(msg.ClientReady))
					took := s.until(late, 10*time.Second)
					if late.Phase != relaytest.Playing || took > 1500*time.Millisecond {
						t.Errorf("phase %d after %v, %v", late.Phase, took, s.events[max(0, len(s.events)-3):])
					}
					t.Logf("in after %v", took)
					s.unharmed()
					s.named(late)
				})
			}
		}
	}
}

// A game that ends while it loads, and begins again at its port, gets in at once, even while a stranger
// forges its address. So does a game that says that it leaves.
func TestBeginAgainWhileLoading(t *testing.T) {
	for n, away := range []time.Duration{0, time.Second, 3 * time.Second, 15 * time.Second} {
		for _, forged := range []bool{false, true} {
			for _, silent := range []bool{false, true} {
				if forged && silent {
					continue
				}
				t.Run(fmt.Sprint(away, "/", forged, "/", silent), func(t *testing.T) {
					t.Parallel()
					s, late := besiegeLoading(t, n, silent, relay.Config{})
					again := &player{
						Client: relaytest.NewClient(relaytest.Options{Name: late.Name, Nonce: 777}), addr: late.addr, damaged: true, silent: silent,
					}
					f := &forger{siege: s, victim: &chatter{player: again}}
					attack := func(tick int) {
						if forged && tick%10 == 2 {
							f.write(f.connect())
							f.sweep(idle)
						}
					}
					s.advance(away, attack)
					s.wakes(again)
					again.Connect(s.now)
					from := s.now
					for again.Phase != relaytest.Playing && s.now.Sub(from) < 30*time.Second {
						s.advance(100*time.Millisecond, func(tick int) { attack(tick) })
					}
					took := s.now.Sub(from)
					most := 2 * time.Second
					if silent {
						most = 21 * time.Second
					}
					if again.Phase != relaytest.Playing || took > most || again.Client.Client.Name != late.Name {
						t.Errorf("phase %d as %q after %v; %v", again.Phase, again.Client.Client.Name, took, s.events[max(0, len(s.events)-4):])
					}
					t.Logf("in after %v", took)
				})
			}
		}
	}
}

// A player who leaves while its game loads is gone soon, and one whose game has ended makes room for others
// if all slots are taken.
func TestSlotOfLoading(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		for _, forged := range []bool{false, true} {
			s, late := besiegeLoading(t, 0, false, relay.Config{Players: 3})
			f := &forger{siege: s, victim: &chatter{player: late}}
			most := 23 * time.Second
			if leaves {
				s.wakes(late)
				late.frames = 3
				late.Leave(s.now)
				most = 3 * time.Second
			}
			next := s.add(false)
			next.addr = s.guestAddr(9)
			s.byAddr[next.addr] = next
			from := s.now
			attack := func(tick int) {
				if forged && tick%10 == 2 {
					f.sweep(idle)
				}
			}
			for next.Phase != relaytest.Playing && s.now.Sub(from) < time.Minute {
				next.Client = relaytest.NewClient(relaytest.Options{Name: next.Name, Nonce: uint32(s.now.Unix())})
				next.Connect(s.now)
				for ticks := 0; ticks < 20 && next.Phase != relaytest.Playing && next.Phase != relaytest.Gone; ticks++ {
					s.advance(100*time.Millisecond, attack)
				}
			}
			if took := s.now.Sub(from); took > most {
				t.Errorf("leaves %v, forged %v: the next one is in after %v; %v", leaves, forged, took, s.events[6:])
			}
		}
	}
}

// The same holds for a game that is in play and stands still, as it does when the match begins anew.
func TestForgedWhileFrozen(t *testing.T) {
	for n, tt := range slices.Concat(forgeries, moreLucky) {
		for i, guess := range []string{"unlucky", "lucky", "knows"} {
			if n >= len(forgeries) && guess != "knows" || guess == "knows" && strings.Contains(tt.name, "leave") { // a leave counts after three seconds
				continue
			}
			for j, away := range []time.Duration{12 * time.Second, 35 * time.Second} {
				if (n+i+j)%2 == 1 && !long() {
					continue
				}
				t.Run(fmt.Sprint(tt.name, "/", guess, "/", away), func(t *testing.T) {
					t.Parallel()
					s := besiege(t, 3, relay.Config{})
					s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
					all, victim := s.chatters, s.chatters[1]
					f := &forger{siege: s, victim: victim, unlucky: guess == "unlucky", lucky: guess == "lucky", knows: guess == "knows"}
					s.chatters = []*chatter{all[0], all[2]}
					s.absent(victim.player)
					s.advance(time.Second, nil) // until the victim's datagrams under way have arrived
					s.events = nil
					s.advance(away, func(tick int) { tt.at(f, tick) })
					s.wakes(victim.player)
					s.advance(time.Second, nil)
					s.chatters = all
					s.chat(5*time.Second, nil)
					s.unharmed()
					s.keepsName(victim)
				})
			}
		}
	}
}
