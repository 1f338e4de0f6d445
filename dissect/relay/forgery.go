package relay

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Whoever can write a false source address, but cannot read what comes back, has
// to guess the id of a player: 124 datagrams hold all of them. Each wrong one
// shows that somebody guesses. From then on the host believes messages
// of that kind from that address only with a sign of the player: see
// [arq.Endpoint.Challenge].
const (
	suspectFor     = time.Minute             // after the last wrong id
	challengeEvery = 30 * time.Millisecond   // so that hardly a datagram of the game's leaves without a sign
	challengeFast  = 10 * time.Millisecond   // the same until acknowledgements are repeated often
	fastFor        = 2 * time.Second         // the game repeats an acknowledgement on its own twice, and then in other datagrams
	answersWithin  = 900 * time.Millisecond  // after the first wrong id; a client that has answered no challenge by then, when the game repeats messages, may not know how
	challengeSlow  = time.Second             // the same while nothing comes from the player
	slowAfter      = 2 * time.Second         // without a word
	ghostAfter     = 2 * time.Second         // without progress in a join
	contestedFor   = 700 * time.Millisecond  // after a wrong id, how long messages of its kind are not believed of a client that answers none
	repeatedAfter  = 500 * time.Millisecond  // from a message to its repetition
	repeatedBefore = 2500 * time.Millisecond // the same: the game's first two are one and two seconds after the copy before
	reportedIDs    = 2                       // wrong ids; a single one may be an accident
	forgetIDs      = 10 * time.Second        // an id that the address had before is no guess
)

// Leaves. The game's clients repeat theirs every second until it is acknowledged.
const (
	leaveRepeated = 800 * time.Millisecond // from a leave to one that can be its repetition
	leaveLast     = 300 * time.Millisecond // after a leave, until when messages before it may arrive
)

// OpenBC's clients say once that they leave. The host asks whether one is still there.
const (
	leaveAsked = 1500 * time.Millisecond // after a leave, until when one that is there has acknowledged something
	leaveAsks  = 400 * time.Millisecond  // between two questions
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
	told   bool
	asked  time.Time // when the player was challenged last
	signed time.Time // when the player answered a challenge last

	contested [kindCount]time.Time // when a message of each kind last came with a wrong id
	second    time.Time            // in which looked counts
	looked    int                  // datagrams with wrong ids that were looked into
	refused   []refused            // messages that were not believed
	next      int                  // of them to be replaced
}

// A refused message had the right id and was not believed.
type refused struct {
	hash uint64
	at   time.Duration // since the first wrong id
}

// Bounds of what the host remembers of a forgery. A stranger can write many messages with
// the right id, but must not have the host forget a player's within a second.
const (
	lookedAtMost    = 16 << 10 // a second
	refusedMost     = 2048
	refusedDatagram = 8 // messages of a datagram; the game repeats one in each
)

// kinds are what a forger wants, a bit for each.
type kinds uint8

const (
	kindAck   kinds = 1 << iota // the player's own messages to be lost, or the host's
	kindGame                    // to speak for the player
	kindName                    // to rename it
	kindLeave                   // to be rid of it
	kindNone                    // nothing
	kindCount = 4
	allKinds  = kindNone - 1
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
	return kindNone
}

// A farewell is a leave that does not count yet.
type farewell struct {
	m    transport.Message
	at   time.Time // zero for none
	wait time.Duration
	asks time.Time // when the client is asked next whether it is there; zero for never
}

// suspected reports whether others use the player's address.
func (h *Host) suspected(p *peer) bool {
	return !p.forgery.last.IsZero() && h.now.Sub(p.forgery.last) < suspectFor
}

// guarded reports whether a player needs signs: others use its address, or might.
func (h *Host) guarded(p *peer) bool { return h.cfg.Proof || h.suspected(p) }

// suspect notes that a datagram from a player's address had a wrong id.
func (h *Host) suspect(p *peer, id uint8, datagram []byte) {
	if !h.cfg.Public || p.phase == Leaving || id == p.former && h.now.Sub(p.moved) < forgetIDs {
		return
	}
	f := &p.forgery
	if !h.suspected(p) {
		*f = forgery{began: h.now}
	}
	h.look(f, datagram)
	f.last = h.now
	f.ids[id/64%2] |= 1 << (id % 64)
	if !f.told && len(p.alias) > 0 && bits.OnesCount64(f.ids[0])+bits.OnesCount64(f.ids[1]) >= reportedIDs {
		f.told = true
		h.report(Forged, p, fmt.Sprintf("forged datagrams for %q: wrong ids come from its address", wire.WideText(p.alias)))
	}
	if h.mustSign(p) {
		p.goodbye = farewell{} // it has come without a sign
	}
	h.challenge(p)
}

// challenge asks a player whose address others use for a sign, if it is time to,
// and returns when it is the next time; zero for never.
func (h *Host) challenge(p *peer) (next time.Time) {
	if !h.guarded(p) || !p.known() || p.phase == Leaving || p.openBC() {
		return next
	}
	f, every := &p.forgery, challengeEvery
	switch {
	case h.now.Sub(f.began) < fastFor:
		every = challengeFast
	case h.now.Sub(p.heard) > slowAfter: // it may be loading, and what it doesn't read piles up
		every = challengeSlow
	}
	if h.now.Sub(f.asked) >= every {
		f.asked = h.now
		p.link.Challenge(h.now, h.cfg.Random())
		p.awake = true
	}
	return f.asked.Add(every)
}

// mustSign reports whether a client whose address others use is believed only with
// signs: it has answered a challenge, or there was hardly time to. That the game
// answers is known from its code only, so each client has to show it, unless the host
// wants proof of everybody.
func (h *Host) mustSign(p *peer) bool {
	f := &p.forgery
	return h.cfg.Proof || !p.openBC() && (!f.signed.IsZero() || h.now.Sub(f.began) < answersWithin)
}

// doubted returns which messages of a deciphered datagram with a player's id are
// not to be believed: it may come from somebody else.
func (h *Host) doubted(p *peer, plain []byte) (k kinds) {
	f := &p.forgery
	if !h.guarded(p) {
		return 0
	}
	if p.link.Signed(h.now, plain) == arq.TrueSign {
		f.signed = h.now
		return 0
	}
	lasts, strict := contestedFor, h.mustSign(p)
	switch {
	case h.cfg.Proof:
		return allKinds
	case strict:
		k, lasts = kindLeave, suspectFor
	}
	for i, at := range f.contested {
		if h.now.Sub(at) < lasts {
			k |= 1 << i
		}
	}
	if k&^kindAck != 0 && f.signed.IsZero() && h.plausible(p, plain) && h.repeated(f, plain, k) && !strict {
		return k & kindAck
	}
	return k
}

// plausible reports whether a datagram can be that of a client that is joining: it has
// no game message but the one that comes next. Others would take the numbers of the
// client's.
func (h *Host) plausible(p *peer, plain []byte) bool {
	split, err := transport.Split(plain)
	for err == nil && p.phase < Playing {
		var m transport.Message
		var ok bool
		if m, ok, err = split.Next(); err != nil || !ok {
			break
		}
		if m.Type == transport.Standard && (!p.link.Awaits(&m.Header) || m.Index == 0 && !h.awaits(p, &m)) {
			return false
		}
	}
	return true
}

// awaits reports whether a message, or its first fragment, is the one that a client
// sends next to get into the game.
func (h *Host) awaits(p *peer, t *transport.Message) bool {
	if len(t.Body) == 0 {
		return false
	}
	res := h.decoder.Read(h.catalog.Lookup(decode.Opcode(t.Body[0])), t.Body, decode.Stock, nil)
	if res.Err != nil && !t.Fragment {
		return false
	}
	switch m := res.Message.(type) {
	case *msg.ChecksumResponse:
		return p.phase == Checking && m.Round == checksums[p.round].Round
	case *msg.ClientReady:
		return p.phase == Loading
	}
	return false
}

// repeated notes the numbered messages of a datagram that is not believed. It
// reports whether one of them has come before, long enough ago to be repeated by
// a client that has had no acknowledgement.
func (h *Host) repeated(f *forgery, plain []byte, k kinds) (yes bool) {
	split, err := transport.Split(plain)
	now := h.now.Sub(f.began)
	for left := refusedDatagram; err == nil && left > 0; {
		var m transport.Message
		var ok bool
		if m, ok, err = split.Next(); err != nil || !ok {
			break
		}
		if !m.HasSeq || kindOf(m.Type)&k&^kindAck == 0 {
			continue
		}
		left--
		hash := fnv.New64a()
		_, _ = hash.Write([]byte{byte(m.Type), byte(m.Seq), byte(m.Seq >> 8), m.Index}) // it never fails
		_, _ = hash.Write(m.Body)
		sum := hash.Sum64()
		switch i := slices.IndexFunc(f.refused, func(r refused) bool { return r.hash == sum }); {
		case i >= 0 && now-f.refused[i].at > repeatedBefore:
			f.refused[i].at = now
		case i >= 0:
			yes = yes || now-f.refused[i].at >= repeatedAfter
		case len(f.refused) < refusedMost:
			f.refused = append(f.refused, refused{sum, now})
		default:
			f.refused[f.next] = refused{sum, now}
			f.next = (f.next + 1) % refusedMost
		}
	}
	return yes
}

// look notes what a datagram with a wrong id is good for.
func (h *Host) look(f *forgery, datagram []byte) {
	if h.now.Sub(f.second) >= time.Second {
		f.second, f.looked = h.now, 0
	}
	if f.looked++; f.looked > lookedAtMost {
		for i := range f.contested {
			f.contested[i] = h.now
		}
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
		if k := kindOf(m.Type); k != 0 && k != kindNone {
			f.contested[bits.TrailingZeros8(uint8(k))] = h.now
		}
	}
}

// putsOff puts a player's leave off until it is certain: a stranger may have
// written it. It reports whether the leave is put off.
func (h *Host) putsOff(p *peer, m *transport.Message) bool {
	switch m.Type {
	case transport.Disconnect, transport.Leave:
	case transport.Acknowledge:
		if f := &p.goodbye; !f.asks.IsZero() && h.now.Sub(f.at) >= leaveLast {
			*f = farewell{}
		}
		return false
	case transport.NameChange, transport.Connect, transport.BootPlayer, transport.DoNothing, transport.Standard:
		h.stays(p)
		return false
	}
	suspected := h.guarded(p)
	if !h.cfg.Public || !p.known() || p.phase == Leaving || suspected && h.mustSign(p) {
		return false // a leave from an address that others use has come with a sign
	}
	f := &p.goodbye
	switch {
	case f.at.IsZero():
		f.m, f.at, f.wait = *m, h.now, p.usualSilence()
		asked := p.openBC() && p.phase == Playing && p.link.Asks()
		if asked {
			f.asks = h.now.Add(leaveLast)
		}
		switch {
		case suspected:
			f.wait = max(f.wait, idleSilence)
		case asked:
			f.wait = min(f.wait, leaveAsked)
		}
		f.m.Body = bytes.Clone(m.Body)
		return true
	case suspected || !f.asks.IsZero() || h.now.Sub(f.at) < leaveRepeated:
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

// ghost reports whether a session may be no more than the guesses of others: it is
// not in the game, gets no further, and has lately answered no challenge.
func (h *Host) ghost(p *peer) bool {
	return p.phase < Playing && h.guarded(p) && h.now.Sub(p.moved) >= ghostAfter && h.now.Sub(p.forgery.signed) >= ghostAfter
}

// present reports whether a client is there, as far as the host knows.
func (h *Host) present(p *peer) bool {
	return p.proved && !h.ghost(p) && h.now.Sub(p.heard) < p.usualSilence()
}

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

// inquire asks a client whose leave does not count yet whether it is there. It returns when it
// will do so again; zero for never.
func (h *Host) inquire(p *peer) time.Time {
	f := &p.goodbye
	if !f.asks.IsZero() && !f.asks.After(h.now) {
		f.asks = h.now.Add(leaveAsks)
		p.link.Ask(h.now)
		p.awake = true
	}
	return f.asks
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
