package relay

import (
	"bytes"
	"fmt"
	"math/bits"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Whoever can write a false source address, but cannot read what comes back, has
// to guess the id of a player: 124 datagrams hold all of them. Each wrong one
// shows that somebody guesses. From then on the host believes a datagram from
// that address only with a sign of the player: see [arq.Endpoint.Challenge].
const (
	suspectFor     = time.Minute           // after the last wrong id
	challengeEvery = 30 * time.Millisecond // so that hardly a datagram of the game's leaves without a sign
	challengeFast  = 10 * time.Millisecond // the same until acknowledgements are repeated often
	fastFor        = 2 * time.Second
	answersWithin  = 3 * time.Second  // a client that answers no challenge for so long will answer none
	answersAmong   = 16               // datagrams that came since
	reportedIDs    = 2                // wrong ids; a single one may be an accident
	forgetIDs      = 10 * time.Second // an id that the address had before is no guess
)

// Leaves. The game's clients repeat theirs every second until it is acknowledged.
const (
	leaveRepeated = 800 * time.Millisecond // from a leave to one that can be its repetition
	leaveLast     = 300 * time.Millisecond // after a leave, until when messages before it may arrive
)

// How long a client that is there may say nothing.
const (
	leastSilence   = 300 * time.Millisecond
	idleSilence    = 7 * time.Second  // its keepalives are five seconds apart
	loadingSilence = 20 * time.Second // it loads a mission
)

// A forgery is what the host knows of others who use a player's address.
type forgery struct {
	began  time.Time // the first wrong id of a row
	last   time.Time // the last one
	ids    [2]uint64 // a bit for each wrong id
	wrong  int       // datagrams with them
	told   bool
	asked  time.Time // when the player was challenged last
	kinds  kinds     // of messages with wrong ids, until the first sign
	looked int       // datagrams with wrong ids that were looked into
	held   [][]byte  // datagrams with the right id that came before the first sign
	heard  int       // datagrams with the right id since the row began
	signed time.Time // when the last sign came
}

// Bounds of the time until the first sign.
const (
	lookedAtMost = 512
	heldAtMost   = 16
)

// kinds are what a forger wants, a bit for each.
type kinds uint8

const (
	kindAck   kinds = 1 << iota // the player's own messages to be lost, or the host's
	kindGame                    // to speak for the player
	kindName                    // to rename it
	kindLeave                   // to be rid of it
	allKinds  = kindAck | kindGame | kindName | kindLeave
)

// kindOf returns what a message is good for.
func kindOf(t transport.Type) kinds {
	switch t {
	case transport.Acknowledge:
		return kindAck
	case transport.Standard:
		return kindGame
	case transport.NameChange, transport.Connect, transport.BootPlayer:
		return kindName
	case transport.Disconnect, transport.Leave:
		return kindLeave
	case transport.DoNothing:
	}
	return 0
}

// A farewell is a leave that does not count yet.
type farewell struct {
	m    transport.Message
	at   time.Time // zero for none
	wait time.Duration
}

// suspected reports whether others use the player's address.
func (h *Host) suspected(p *peer) bool {
	return !p.forgery.last.IsZero() && h.now.Sub(p.forgery.last) < suspectFor
}

// suspect notes that a datagram from a player's address had a wrong id.
func (h *Host) suspect(p *peer, id uint8, datagram []byte) {
	if !h.cfg.Public || !p.proved || p.phase == Leaving || id == p.former && h.now.Sub(p.moved) < forgetIDs {
		return
	}
	f := &p.forgery
	if !h.suspected(p) {
		*f = forgery{began: h.now, signed: f.signed}
	}
	h.look(f, datagram)
	f.last = h.now
	f.wrong++
	f.ids[id/64%2] |= 1 << (id % 64)
	if !f.told && bits.OnesCount64(f.ids[0])+bits.OnesCount64(f.ids[1]) >= reportedIDs {
		f.told = true
		h.report(Forged, p, fmt.Sprintf("somebody forges %q: wrong ids come from its address", wire.WideText(p.alias)))
	}
	if !h.silentOnSigns(p) {
		p.goodbye = farewell{} // it has come without a sign
	}
	h.challenge(p)
}

// challenge asks a player whose address others use for a sign, if it is time to,
// and returns when it is the next time; zero for never.
func (h *Host) challenge(p *peer) (next time.Time) {
	if !h.suspected(p) || p.phase == Leaving || h.silentOnSigns(p) {
		return next
	}
	f, every := &p.forgery, challengeEvery
	if h.now.Sub(f.began) < fastFor {
		every = challengeFast
	}
	if h.now.Sub(f.asked) >= every {
		f.asked = h.now
		p.link.Challenge(h.now, h.cfg.Random())
		p.awake = true
	}
	return f.asked.Add(every)
}

// silentOnSigns reports whether a client answers no challenges. Such a client is
// believed as if nobody used its address.
func (h *Host) silentOnSigns(p *peer) bool {
	f := &p.forgery
	return p.openBC() || f.signed.IsZero() && f.heard >= answersAmong && h.now.Sub(f.began) >= answersWithin && p.phase == Playing
}

// believed reports whether a deciphered datagram with a player's id comes from
// the player, as far as the host can tell.
func (h *Host) believed(p *peer, plain []byte) bool {
	if !h.suspected(p) {
		return true
	}
	f := &p.forgery
	f.heard++
	if h.silentOnSigns(p) {
		return true
	}
	if p.link.Signed(h.now, plain) == arq.TrueSign {
		if first := f.signed.Before(f.began); first {
			f.signed = h.now
			h.believe(p)
		}
		f.signed = h.now
		return !p.gone
	}
	if f.signed.Before(f.began) && len(f.held) < heldAtMost {
		f.held = append(f.held, bytes.Clone(plain))
	}
	return false
}

// look notes what a datagram with a wrong id is good for. It does so until the
// player has given its first sign.
func (h *Host) look(f *forgery, datagram []byte) {
	if !f.signed.Before(f.began) || f.kinds == allKinds {
		return
	}
	if f.looked++; f.looked > lookedAtMost {
		f.kinds = allKinds
		return
	}
	h.wrong = cipher.Decrypt(h.wrong[:0], datagram)
	split, err := transport.Split(h.wrong)
	for err == nil {
		var m transport.Message
		var ok bool
		if m, ok, err = split.Next(); err != nil || !ok {
			return
		}
		f.kinds |= kindOf(m.Type)
	}
}

// believe takes the datagrams that came with a player's id before its first sign,
// without messages of those kinds that came with wrong ids, too.
func (h *Host) believe(p *peer) {
	held := p.forgery.held
	p.forgery.held = nil
	for _, plain := range held {
		if !p.gone {
			h.takeAll(p, plain, p.forgery.kinds)
		}
	}
}

// putsOff puts a player's leave off until it is certain: a stranger may have
// written it. It reports whether the leave is put off.
func (h *Host) putsOff(p *peer, m *transport.Message) bool {
	switch m.Type {
	case transport.Disconnect, transport.Leave:
	case transport.Acknowledge:
		return false
	case transport.NameChange, transport.Connect, transport.BootPlayer, transport.DoNothing, transport.Standard:
		h.stays(p)
		return false
	}
	suspected := h.suspected(p)
	if !h.cfg.Public || !p.known() || p.phase == Leaving || suspected && !h.silentOnSigns(p) {
		return false // a leave from an address that others use has come with a sign
	}
	f := &p.goodbye
	switch {
	case f.at.IsZero():
		f.m, f.at, f.wait = *m, h.now, p.usualSilence()
		f.m.Body = bytes.Clone(m.Body)
		return true
	case suspected || h.now.Sub(f.at) < leaveRepeated:
		return true
	}
	*f = farewell{}
	return false
}

// usualSilence returns for how long a client that is there may say nothing.
func (p *peer) usualSilence() time.Duration {
	if p.phase == Loading {
		return loadingSilence
	}
	return min(max(2*p.pace, leastSilence), idleSilence)
}

// present reports whether a client is there, as far as the host knows.
func (h *Host) present(p *peer) bool { return p.proved && h.now.Sub(p.heard) < p.usualSilence() }

// occupied reports whether the player who has a session's address is there, so
// that the session cannot take its place. Somebody may have guessed its id.
func (h *Host) occupied(p *peer, datagram []byte) bool {
	for _, o := range h.byAddr[p.addr] {
		if o != p && o.phase != Leaving && h.cfg.Public && h.present(o) {
			h.suspect(o, p.id, datagram)
			return true
		}
	}
	return false
}

// stays notes that a client does more than acknowledge. If it has left before,
// others have written that.
func (h *Host) stays(p *peer) {
	p.pace, p.active = h.now.Sub(p.active), h.now
	if f := &p.goodbye; !f.at.IsZero() && h.now.Sub(f.at) >= leaveLast {
		*f = farewell{}
	}
}

// due returns when the leave counts; zero for never.
func (f *farewell) due() (at time.Time) {
	if !f.at.IsZero() {
		at = f.at.Add(f.wait)
	}
	return at
}

// part has a leave count that was put off.
func (h *Host) part(p *peer) {
	m := p.goodbye.m
	p.goodbye = farewell{}
	p.link.Receive(h.now, &m, func(m *arq.Message) { h.deliver(p, m) })
	p.awake = true
}
