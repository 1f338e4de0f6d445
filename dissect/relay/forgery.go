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

// An attacker who can forge a player's source address, but does not get the
// replies, has to guess the player's id: 124 datagrams cover all ids. Each
// wrong id shows that an attacker guesses. From then on, the host accepts the
// attacker's kinds of messages from that address only after the player has
// answered a challenge: see [arq.Endpoint.Challenge].
const (
	suspectFor     = time.Minute             // how long after the last wrong id the address is suspect
	challengeEvery = 22 * time.Millisecond   // time between challenges, so short that hardly a datagram of the game leaves without an answer. It doesn't divide a second, or all repetitions of a message could fall between two answers.
	challengeFast  = 11 * time.Millisecond   // the same while the address is suspect
	answersWithin  = 900 * time.Millisecond  // how long after the first wrong id a client has for an answer. By then the game has repeated messages, so a client without an answer may not support challenges.
	challengeSlow  = time.Second             // time between challenges while the player sends nothing, or has answered none
	fastFor        = 2 * time.Second         // how long to use challengeFast for a player who has not answered
	signedFor      = 3 * time.Second         // how long an answer shows that a player answers challenges
	slowAfter      = 2 * time.Second         // how long the player must be silent for challengeSlow
	ghostAfter     = 2 * time.Second         // longest time between steps of a join
	contestedFor   = 700 * time.Millisecond  // after a wrong id, how long its kind of messages is rejected for a client that answers no challenges
	repeatedAfter  = 500 * time.Millisecond  // shortest time from a message to its repetition
	repeatedBefore = 2500 * time.Millisecond // longest time from a message to its repetition: the game's first two follow the previous copy after one and two seconds
	reportedIDs    = 2                       // how many wrong ids are reported. A single one may be an accident.
	rememberIDs    = time.Hour               // how long a wrong id counts, so that an attacker who guesses once a minute is reported
	forgetIDs      = 10 * time.Second        // how long an earlier id of the address is not a guess
)

// Leaves. The game's clients repeat theirs every second until it is acknowledged.
const (
	leaveRepeated = 800 * time.Millisecond // shortest time from a leave to its repetition
	leaveLast     = 300 * time.Millisecond // how long after a leave earlier messages may arrive
)

// OpenBC's clients send a leave only once. The host asks whether such a client
// is still there.
const (
	leaveAsked = 1500 * time.Millisecond // how long after a leave a client that is still there takes to acknowledge something
	leaveAsks  = 400 * time.Millisecond  // time between two questions
)

// How long a client that is still there may be silent.
const (
	leastSilence   = 300 * time.Millisecond
	idleSilence    = 7 * time.Second  // keepalives are five seconds apart
	loadingSilence = 20 * time.Second // while it loads a mission
	awayAtMost     = arq.SilenceLimit // the same if it has answered a challenge
)

// A forgery is what the host knows about forged use of a player's address.
type forgery struct {
	began  time.Time // time of the first wrong id in a row
	last   time.Time // time of the last wrong id
	ids    [2]uint64 // one bit for each wrong id, also those before
	told   bool
	asked  time.Time // when the player was last challenged
	signed time.Time // when the player last answered a challenge

	contested [kindCount]time.Time // when a message of each kind last had a wrong id
	second    time.Time            // second for which looked counts
	looked    int                  // number of datagrams with wrong ids that were examined
	refused   []refused            // messages that were rejected
	next      int                  // index of the next entry of refused to replace
}

// A refused is a message with the right id that was rejected.
type refused struct {
	hash uint64
	at   time.Duration // time since the first wrong id
}

// Limits of what the host remembers about a forgery. An attacker can send many
// messages with the right id, but must not make the host forget the player's
// messages within a second.
const (
	lookedAtMost    = 16 << 10 // per second
	refusedMost     = 2048
	refusedDatagram = 8 // messages per datagram. The game repeats one in each.
)

// kinds are the purposes of forged messages, one bit for each.
type kinds uint8

const (
	kindAck   kinds = 1 << iota // make messages of the player or the host count as delivered
	kindGame                    // send game messages as the player
	kindName                    // rename the player
	kindLeave                   // remove the player
	kindNone                    // no purpose
	kindCount = 4
	allKinds  = kindNone - 1
)

// kindOf returns the purpose for which messages of a type can be forged.
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
	at   time.Time // zero if there is none
	wait time.Duration
	asks time.Time // when to ask next whether the client is still there, zero for never

	unsigned bool // it came without a sign from a client that answers challenges
	certain  bool // it came with a sign
}

// answered notes that the player has answered a challenge. If the leave came
// without a sign, the player may be staying, or waits for the acknowledgement of
// its leave. The leave is forgotten if the player goes on answering.
func (f *farewell) answered(now time.Time) {
	switch since := now.Sub(f.at); {
	case !f.unsigned || since < leaveLast:
	case since < signedFor:
		f.wait = max(f.wait, since+signedFor)
	default:
		*f = farewell{}
	}
}

// suspected reports whether the player's address is forged.
func (h *Host) suspected(p *peer) bool {
	return !p.forgery.last.IsZero() && h.now.Sub(p.forgery.last) < suspectFor
}

// guarded reports whether a player must answer challenges: its address is
// forged, or may be.
func (h *Host) guarded(p *peer) bool { return h.cfg.Proof || h.suspected(p) }

// suspect notes that a datagram from a player's address had a wrong id.
func (h *Host) suspect(p *peer, id uint8, datagram []byte) {
	if !h.cfg.Public || p.phase == Leaving || id == p.former && h.now.Sub(p.moved) < forgetIDs {
		return
	}
	f := h.alarm(p)
	h.look(f, datagram)
	f.ids[id/64%2] |= 1 << (id % 64)
	if bits.OnesCount64(f.ids[0])+bits.OnesCount64(f.ids[1]) >= reportedIDs {
		h.tellForged(p, "wrong ids come from its address")
	}
}

// alarm begins a minute of caution for a player's address.
func (h *Host) alarm(p *peer) *forgery {
	f := &p.forgery
	if !h.suspected(p) {
		before := f.ids
		if h.now.Sub(f.last) > rememberIDs {
			clear(before[:])
		}
		*f = forgery{began: h.now, ids: before}
	}
	f.last = h.now
	p.link.AckOnce(p.signed.IsZero())
	if h.mustSign(p) {
		p.goodbye = farewell{} // it was sent without a proof
	}
	h.challenge(p)
	return f
}

// tellForged reports once in a minute of caution that a player's address is
// forged.
func (h *Host) tellForged(p *peer, why string) {
	if f := &p.forgery; !f.told && len(p.alias) > 0 {
		f.told = true
		h.report(Forged, p, fmt.Sprintf("forged datagrams for %q: %s", wire.WideText(p.alias), why))
	}
}

// contradicted notes that a player has signed a message whose number others had
// used: they have guessed its id.
func (h *Host) contradicted(p *peer) {
	f := h.alarm(p)
	for i := range f.contested {
		f.contested[i] = h.now
	}
	h.tellForged(p, "others have guessed its id, and may have spoken for it")
}

// challenge challenges a player if it is time for that, so that datagrams that
// are under way when an attack begins have a sign. It returns the time of the
// next challenge, or zero for never.
func (h *Host) challenge(p *peer) (next time.Time) {
	if !h.cfg.Public || !p.known() || p.phase == Leaving || p.openBC() {
		return next
	}
	f, every := &p.forgery, challengeSlow
	suspected, answers := h.suspected(p), h.now.Sub(p.forgery.signed) < signedFor
	switch {
	case h.now.Sub(p.lastReceived) > slowAfter: // the client may be loading, and what it does not read piles up
	case suspected && (answers || h.now.Sub(f.began) < fastFor):
		every = challengeFast
	case answers && p.phase >= Loading, h.cfg.Proof && !p.trusted:
		every = challengeEvery
	}
	if !p.trusted && h.room(p) < allowance+smallest { // leave the allowance to its join
		every = challengeSlow
	}
	if h.now.Sub(f.asked) >= every {
		f.asked = h.now
		p.link.Challenge(h.now, h.cfg.Random(), suspected)
		if suspected && every == challengeSlow && p.phase == Playing {
			p.link.Ask(h.now) // a client that is silent, and answers no challenges, must not seem gone
		}
		p.awake = true
	}
	return f.asked.Add(every)
}

// mustSign reports whether a client whose address is forged is accepted only
// with answers to challenges. That is the case if it has answered one, or has
// hardly had time to. Each client has to show that it can answer, unless
// Config.Proof demands it of all.
func (h *Host) mustSign(p *peer) bool {
	f := &p.forgery
	return h.cfg.Proof || h.away(p) || !p.openBC() && (!f.signed.IsZero() || h.now.Sub(f.began) < answersWithin)
}

// away reports whether a client that answers challenges has answered none for a
// while, as a game that loads the mission. What comes in its name meanwhile may
// be an attacker's guess.
func (h *Host) away(p *peer) bool {
	silent := h.now.Sub(p.signed)
	return silent < awayAtMost && (p.phase == Loading || p.phase == Playing && silent >= signedFor)
}

// doubted returns which messages to reject in a deciphered datagram with a
// player's id, because the sender may be an attacker.
func (h *Host) doubted(p *peer, plain []byte) (k kinds) {
	f := &p.forgery
	p.sign = p.link.Signed(h.now, plain) == arq.TrueSign
	away := h.away(p)
	if p.sign {
		if away {
			p.returned = h.now
		}
		f.signed, p.signed, away = h.now, h.now, false
		p.goodbye.answered(h.now)
	}
	p.unsigned = !p.sign && (away || p.trusted && p.phase != Leaving && h.now.Sub(p.signed) < signedFor)
	p.link.Unsigned(p.unsigned && (!away || p.phase == Loading)) // it may lack a challenge to answer
	p.link.Unsure(p.phase == Playing && p.known() && (away || p.signed.IsZero()))
	p.link.AckOnce(p.signed.IsZero() && h.suspected(p))
	switch {
	case p.sign:
		return 0
	case away:
		k = kindName | kindLeave
	case p.unsigned:
		k = kindName // it is repeated, and nearly always gets a sign soon
	}
	if !h.guarded(p) {
		return k
	}
	lasts, strict := contestedFor, h.mustSign(p)
	switch {
	case h.cfg.Proof:
		return allKinds
	case strict:
		k, lasts = k|kindLeave, suspectFor
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

// plausible reports whether a datagram can come from a joining client: its only
// game message is the one that comes next. Other messages would use up the
// client's numbers.
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

// awaits reports whether a message, or its first fragment, is the one that a
// client sends next in its join.
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

// repeated notes the numbered messages of a rejected datagram. It reports
// whether one of them came before, long enough ago to be repeated by a client
// that has received no acknowledgement.
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
		_, _ = hash.Write([]byte{byte(m.Type), byte(m.Seq), byte(m.Seq >> 8), m.Index}) // never fails
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

// look notes the purposes of a datagram with a wrong id.
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

// putsOff delays a player's leave until it is certain, since it may be forged.
// It reports whether the leave is delayed.
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
		return false // a leave from a forged address comes with a proof
	}
	f := &p.goodbye
	switch {
	case p.sign:
		if !f.certain {
			*f = farewell{m: *m, at: h.now, wait: leaveLast, certain: true}
			f.m.Body = bytes.Clone(m.Body)
		}
		return true
	case f.at.IsZero():
		f.m, f.at, f.wait, f.unsigned = *m, h.now, p.usualSilence(), p.unsigned
		asked := (p.openBC() || suspected || p.signed.IsZero()) && p.phase == Playing && p.link.Asks()
		if asked {
			f.asks = h.now.Add(leaveLast)
		}
		switch {
		case suspected:
			f.wait = max(f.wait, idleSilence)
		case f.unsigned:
			f.wait = max(f.wait, signedFor)
		case asked:
			f.wait = leaveAsked
		}
		f.m.Body = bytes.Clone(m.Body)
		return true
	case suspected || p.unsigned || f.certain || !f.asks.IsZero() || h.now.Sub(f.at) < leaveRepeated:
		return true
	}
	*f = farewell{}
	return false
}

// usualSilence returns how long a client that is still there may be silent.
func (p *peer) usualSilence() time.Duration {
	if p.phase == Loading {
		return loadingSilence
	}
	return min(max(2*p.pace, leastSilence), idleSilence)
}

// ghost reports whether a session may consist only of guesses of an attacker:
// it is not in the game, makes no progress, and has not answered a challenge
// lately.
func (h *Host) ghost(p *peer) bool {
	return p.phase < Playing && !h.away(p) && h.guarded(p) && h.now.Sub(p.moved) >= ghostAfter && h.now.Sub(p.forgery.signed) >= ghostAfter
}

// present reports whether a client is still there, as far as the host knows. If
// it has answered a challenge, a game that is begun again at its address does so,
// too: see occupied.
func (h *Host) present(p *peer) bool {
	silence := p.usualSilence()
	switch { // an attacker who guesses the id makes the usual one short
	case h.now.Sub(p.signed) < awayAtMost:
		return p.proved
	case p.phase == Playing && h.suspected(p):
		silence = idleSilence
	}
	return p.proved && !h.ghost(p) && h.now.Sub(p.lastReceived) < silence
}

// occupied reports whether the player who has a session's address is still
// there, so that the session cannot replace it. An attacker may have guessed
// the session's id, unless the datagram answers a challenge to that player: then
// the game that has the address uses the session.
func (h *Host) occupied(p *peer, datagram []byte) bool {
	for _, o := range h.byAddr[p.addr] {
		if o == p || o.phase == Leaving || !h.cfg.Public || !h.present(o) {
			continue
		}
		h.wrong = cipher.Decrypt(h.wrong[:0], datagram)
		if o.link.Signed(h.now, h.wrong) == arq.TrueSign {
			return false
		}
		h.suspect(o, p.id, datagram)
		return true
	}
	return false
}

// stays notes that a client sends more than acknowledgements. If it has left
// before, the leave was forged.
func (h *Host) stays(p *peer) {
	p.pace, p.active = h.now.Sub(p.active), h.now
	if f := &p.goodbye; !f.at.IsZero() && !f.certain && h.now.Sub(f.at) >= leaveLast {
		*f = farewell{}
	}
}

// inquire asks a client whose leave does not count yet whether it is still
// there. It returns the time of the next question, or zero for never.
func (h *Host) inquire(p *peer) time.Time {
	f := &p.goodbye
	if !f.asks.IsZero() && !f.asks.After(h.now) {
		f.asks = h.now.Add(leaveAsks)
		p.link.Ask(h.now)
		p.awake = true
	}
	return f.asks
}

// due returns when the leave counts, or zero for never.
func (f *farewell) due() (at time.Time) {
	if !f.at.IsZero() {
		at = f.at.Add(f.wait)
	}
	return at
}

// part makes a delayed leave count.
func (h *Host) part(p *peer) {
	m := p.goodbye.m
	p.goodbye = farewell{}
	p.unsigned = false
	p.link.Unsigned(false)
	p.link.Receive(h.now, &m, func(m *arq.Message) { h.deliver(p, m) })
	p.awake = true
}
