package suite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// shipAt is where the id of the ship is in a creation.
const shipAt = 7

// A faulty host is the relay's behind a layer that changes messages to and from it.
type faulty struct {
	w      *world
	peers  map[netip.AddrPort]*peer
	silent bool   // the host has crashed
	second uint32 // ship of a player
	links  map[netip.AddrPort]*link
	shown  [256]uint8 // ids that clients know instead of the host's
	left   uint8      // id of the last leaver, as shown
}

// A link holds the state of the layer for an address, whoever uses it.
type link struct {
	connects int
	request  []byte // a connect
	accepts  int
	sent     map[uint16]bool // game messages of the host
	last     uint16          // the highest number of those
	pieces   int             // fragments taken
	kept     []byte          // a message that waits
	named    bool
	real     uint8 // id of the client
	acked    map[[2]uint16]time.Time
}

func (f *faulty) link(at netip.AddrPort) *link {
	if f.links[at] == nil {
		f.links[at] = &link{sent: map[uint16]bool{}}
	}
	return f.links[at]
}

// A peer holds the state of the layer for a client.
type peer struct {
	id, slot  uint8
	loaded    bool // it was sent 01
	ready     bool // it has said 2A
	announced bool // it was sent its own 17
	asked     bool // it has asked for an object that is not answered yet
	seqs      map[uint16]bool
	first     []byte // the first game message
	copies    int
}

// A fault is one that is built into a host.
type fault struct {
	name    string
	profile Profile // Stock if none
	caught  string  // by these cases, and by no others
	known   string  // the cases in caught that find a documented difference of OpenBC
	only    string  // the cases to run; all if empty
	in, out func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) (keep bool)
	text    func(string) string // changes a reply, which has a line for each datagram
	beat    func(string) string // changes a heartbeat
	tail    string              // bytes behind some datagrams of the host
	slow    bool                // it shows only in slow cases
	slowly  string              // more cases that catch it, slow ones and the ones after them: it also breaks their rules
	// raw returns the sender of a datagram in clear as the host sees it; ok is
	// false if the host never sees it.
	raw func(f *faulty, from netip.AddrPort, plain []byte) (as netip.AddrPort, ok bool)
}

// world returns a host with the fault.
func (ft *fault) world() *world {
	w := newWorld(3, gameOf(max(ft.profile, Stock)), relay.Trouble{Delay: 5 * time.Millisecond})
	behind(w, ft)
	return w
}

// inTwo returns a reply in two datagrams, with something at the end of the first.
func inTwo(reply, end string) string {
	head, tail, _ := strings.Cut(reply, `\numplayers\`)
	_, id, _ := strings.Cut(tail, `\queryid\`)
	n, _, _ := strings.Cut(id, ".")
	return head + end + `\queryid\` + n + ".1\n" + strings.Replace(`\numplayers\`+tail, `\queryid\`+id, `\queryid\`+n+".2", 1)
}

// A long reply that is split as the game does passes.
func TestLongReply(t *testing.T) {
	rep, err := Run((&fault{text: func(s string) string { return inTwo(s, "") }}).world(), optionsOf(Stock, 3, "Q-6"))
	if err != nil {
		t.Fatal(err)
	}
	if res := rep.Results[0]; res.Verdict != Pass {
		t.Errorf("%s: %s %v", res.Verdict, res.Why, res.Came)
	}
}

// harmless is a game message that has no effect.
var harmless = []byte{0x04, 0, 0, 0, 0}

func op(m *transport.Message) int {
	if m.Type != transport.Standard || len(m.Body) == 0 || m.Fragment {
		return -1
	}
	return int(m.Body[0])
}

// idIn returns where a message names a client by its id, -1 for nowhere.
func idIn(m *transport.Message) int {
	at := -1
	switch m.Type {
	case transport.NameChange, transport.Disconnect, transport.Connect:
		at = 0
	case transport.BootPlayer:
		at = 1
	default:
		switch decode.Opcode(op(m)) {
		case msg.OpChat, msg.OpTeamChat, msg.OpTeam, msg.OpScore, msg.OpScoreInit:
			at = 1
		case msg.OpObjectCreateTeam:
			at = 2
		case msg.OpPlayerAnnounce:
			at = 17
		}
	}
	if at >= len(m.Body) {
		return -1
	}
	return at
}

// body changes a copy of a message's body.
func body(m *transport.Message, change func(b []byte) []byte) {
	m.Body = change(slices.Clone(m.Body))
	m.Len = 0
}

// toOthers sends an unreliable game message to all clients but one.
func (f *faulty) toOthers(but netip.AddrPort, b []byte, which func(*peer) bool) {
	for a, p := range f.peers {
		if a != but && which(p) {
			f.says(a, b)
		}
	}
}

// says sends an unreliable game message.
func (f *faulty) says(to netip.AddrPort, b []byte) {
	if m, err := transport.Append(nil, &transport.Header{Type: transport.Standard}, b); err == nil {
		f.sends(0, to, m)
	}
}

// sends sends transport messages in a datagram after some time.
func (f *faulty) sends(after time.Duration, to netip.AddrPort, m ...[]byte) {
	f.w.network.Send(f.w.now.Add(after), hostAddr, to, cipher.Encrypt(nil, datagram(transport.HostPeer, m...)), &f.w.trouble)
}

// connected returns the peer with an id.
func (f *faulty) connected(id uint8) (at netip.AddrPort, ok bool) {
	for a, p := range f.peers {
		if p.id == id && a.Port() > at.Port() { // ids come again; sockets are opened in order
			at, ok = a, true
		}
	}
	return at, ok
}

func playing(p *peer) bool { return p.announced }

// carry changes the messages of a datagram.
func (f *faulty) carry(at netip.AddrPort, d []byte, change func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool, note func(*peer, *transport.Message)) []byte {
	p := f.peers[at]
	if p == nil {
		p = &peer{seqs: map[uint16]bool{}}
		f.peers[at] = p
	}
	plain := cipher.Decrypt(nil, d)
	out := []byte{plain[0], 0}
	if real := f.link(at).real; real != 0 && plain[0] == f.shown[real] {
		out[0] = real
	}
	split, err := transport.Split(plain)
	if err != nil {
		return d
	}
	changed := out[0] != plain[0]
	for {
		m, ok, err := split.Next()
		if err != nil {
			plain[0] = out[0] // the rest stays unchanged: only T-23 has a fault in such datagrams
			return cipher.Encrypt(nil, plain)
		}
		if !ok {
			break
		}
		before := m
		keep := change == nil || change(f, at, p, &m)
		note(p, &before)
		if !keep {
			changed = true
			continue
		}
		changed = changed || m.Len == 0 || m.Header != before.Header
		longer, err := transport.Append(out, &m.Header, m.Body)
		if err != nil {
			return d
		}
		out = longer
		out[1]++
	}
	switch {
	case !changed:
		return d
	case out[1] == 0:
		return nil
	}
	return cipher.Encrypt(nil, out)
}

// behind puts the layer before a host.
func behind(w *world, ft *fault) {
	f := &faulty{w: w, peers: map[netip.AddrPort]*peer{}, links: map[netip.AddrPort]*link{}}
	w.in = func(now time.Time, from netip.AddrPort, d []byte) [][]byte {
		if f.silent {
			return nil
		}
		if d[0] == '\\' {
			return [][]byte{d}
		}
		if ft.name == "answers to strangers" && d[0] == transport.UnassignedPeer && bytes.HasPrefix(cipher.Decrypt(nil, d)[1:], []byte{1, byte(transport.Standard)}) {
			f.says(from, harmless)
		}
		if p := f.peers[from]; d[0] == transport.UnassignedPeer && (p == nil || p.id != 0) {
			f.peers[from] = &peer{seqs: map[uint16]bool{}}
		}
		switch {
		case ft.name == "datagram with an unknown type" && cipherHas(d, 0x77):
			return nil
		case ft.name == "the host dies of a size" && bytes.HasSuffix(cipher.Decrypt(nil, d), append([]byte{1}, unhex("32000000")...)):
			f.silent = true
			return nil
		}
		if ft.raw != nil {
			as, ok := ft.raw(f, from, cipher.Decrypt(nil, d))
			if !ok || f.silent {
				return nil
			}
			if as != from {
				w.host.Receive(now, as, d)
				return nil
			}
		}
		d = f.carry(from, d, ft.in, func(p *peer, m *transport.Message) {
			if op(m) == int(msg.OpClientReady) {
				p.ready = true
			}
		})
		if d == nil || f.silent {
			return nil
		}
		return [][]byte{d}
	}
	w.out = func(now time.Time, to netip.AddrPort, d []byte) [][]byte {
		if f.silent {
			return nil
		}
		if d[0] == '\\' {
			change := ft.text
			if to == w.master {
				change = ft.beat
			}
			if change == nil {
				return [][]byte{d}
			}
			return bytes.Split([]byte(change(string(d))), []byte{'\n'})
		}
		d = f.carry(to, d, ft.out, func(p *peer, m *transport.Message) {
			switch {
			case m.Type == transport.Connect && len(m.Body) == 1:
				p.id = m.Body[0]
			case op(m) == int(msg.OpSettings) && len(m.Body) > 6:
				p.slot = m.Body[6]
			case op(m) == int(msg.OpGameInit):
				p.loaded = true
			case op(m) == int(msg.OpPlayerAnnounce) && len(m.Body) > 17 && m.Body[17] == p.id:
				p.announced = true
			}
		})
		list := [][]byte{}
		if d != nil {
			if ft.tail != "" {
				if plain := cipher.Decrypt(nil, d); bytes.Contains(plain, unhex(ft.tail)) {
					d = cipher.Encrypt(nil, append(plain, 0))
				}
			}
			if plain := cipher.Decrypt(nil, d); ft.name == "another peer id" && bytes.Equal(plain, []byte{1, 1, 2}) {
				d = cipher.Encrypt(nil, []byte{2, 1, 2})
			}
			list = append(list, d)
		}
		return list
	}
}

// cipherHas reports whether a deciphered datagram has a byte that begins no
// message.
func cipherHas(d []byte, b byte) bool {
	plain := cipher.Decrypt(nil, d)
	split, err := transport.Split(plain)
	for err == nil {
		_, ok, e := split.Next()
		if e != nil {
			return len(split.Rest()) > 0 && split.Rest()[0] == b
		}
		if !ok {
			return false
		}
	}
	return false
}

// changes returns a fault that changes the bodies of an opcode.
func changes(code int, change func(b []byte) []byte) func(*faulty, netip.AddrPort, *peer, *transport.Message) bool {
	return func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == code {
			body(m, change)
		}
		return true
	}
}

// passesOn returns a fault that passes on an opcode that is only for the host.
func passesOn(code int) func(*faulty, netip.AddrPort, *peer, *transport.Message) bool {
	return func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == code {
			f.toOthers(at, m.Body, playing)
		}
		return true
	}
}

// controls returns a fault that changes control messages of a type.
func controls(typ transport.Type, change func(p *peer, b []byte) []byte) func(*faulty, netip.AddrPort, *peer, *transport.Message) bool {
	return func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if m.Type == typ && len(m.Body) > 0 {
			body(m, func(b []byte) []byte { return change(p, b) })
		}
		return true
	}
}

// addressed returns a host's way of telling names with another address than the client
// gave: none, which is allowed, or another one, which is not.
func addressed(a ...byte) func(*faulty, netip.AddrPort, *peer, *transport.Message) bool {
	return controls(transport.NameChange, func(_ *peer, b []byte) []byte {
		copy(b[1:], a)
		return b
	})
}

func flipLast(b []byte) []byte { b[len(b)-1] ^= 1; return b }

func set(at int, v byte) func(b []byte) []byte {
	return func(b []byte) []byte { b[at] = v; return b }
}

// others returns a fault that changes the bodies of an opcode for clients that
// something holds for.
func others(code int, which func(*peer, []byte) bool) func(*faulty, netip.AddrPort, *peer, *transport.Message) bool {
	return func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == code && which(p, m.Body) {
			body(m, func([]byte) []byte { return slices.Clone(harmless) })
		}
		return true
	}
}

// dropsAck returns a fault that never acknowledges a control message.
func dropsAck(seq uint16) func(*faulty, netip.AddrPort, *peer, *transport.Message) bool {
	return func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		return m.Type != transport.Acknowledge || !m.Control() || m.Seq != seq
	}
}

var faults = []fault{
	{name: "final behind queryid", caught: "Q-1", text: func(s string) string {
		if strings.Contains(s, "mapname") && strings.Contains(s, "gamever") {
			at := strings.LastIndex(s, `\final\\queryid\`)
			return s[:at] + `\queryid\` + s[at+len(`\final\\queryid\`):] + `\final\`
		}
		return s
	}},
	{name: "rules in the info", caught: "Q-2", text: func(s string) string {
		if strings.HasPrefix(s, `\hostname`) {
			return `\system\Multi1` + s
		}
		return s
	}},
	{name: "echo in capitals", caught: "Q-3", text: func(s string) string { return strings.Replace(s, `\echo\conform`, `\echo\CONFORM`, 1) }},
	{name: "wrong validation", caught: "Q-4", text: func(s string) string { return strings.Replace(s, "hMwdTNWS", "hMwdTNWs", 1) }},
	{name: "no player names", caught: "Q-5", text: func(s string) string {
		return regexp.MustCompile(`\\player_([1-9])\\`).ReplaceAllString(s, `\nobody_$1\`)
	}},
	{name: "a long reply in one datagram", caught: "Q-6", text: func(s string) string {
		return strings.Replace(s, `\hostname\`, `\hostname\`+strings.Repeat("x", 1300), 1)
	}},
	{name: "two parts of a reply with final", caught: "Q-6", only: "Q-6", text: func(s string) string {
		return inTwo(s, `\final\`)
	}},
	{name: "one player less", caught: "Q-5", text: players(func(n int) int { return max(n-1, 0) })},
	{name: "one player more", caught: "Q-5", only: "Q-5", text: players(func(n int) int { return n + 1 })},
	{name: "names from player_1 on", caught: "Q-5", text: func(s string) string {
		for i := relay.MaxPlayers; i >= 0; i-- {
			s = strings.Replace(s, fmt.Sprintf(`\player_%d\`, i), fmt.Sprintf(`\player_%d\`, i+1), 1)
		}
		return s
	}},
	{name: "queries are not counted", caught: "Q-7", text: func(s string) string {
		at := strings.LastIndex(s, `\queryid\`)
		return s[:at] + `\queryid\1.1`
	}},
	{name: "accept without priority", caught: "T-1", out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Connect {
			m.Priority = false
		}
		return true
	}},
	{name: "connect not acknowledged", caught: "T-2", known: "T-2", out: dropsAck(0)},
	{name: "name not acknowledged", caught: "T-3", out: dropsAck(1)},
	{name: "a repetition acted on", caught: "T-6", in: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) && strings.HasSuffix(string(m.Body), "twice") {
			if p.seqs[m.Seq] {
				f.toOthers(at, m.Body, playing)
			}
			p.seqs[m.Seq] = true
		}
		return true
	}},
	{name: "early messages acted on", caught: "T-8", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) && strings.HasSuffix(string(m.Body), "gap 2") {
			f.toOthers(at, m.Body, playing)
		}
		return true
	}},
	{name: "fragments acknowledged as one message", caught: "T-11", out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Acknowledge && m.Fragment {
			m.Fragment, m.AckFlags, m.Len = false, 0, 0
		}
		return true
	}},
	{name: "acknowledged message sent again", caught: "T-15", out: func(f *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChecksumRequest) && m.Seq == 0 {
			p.first = standard(0, m.Body)
		}
		return true
	}, in: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if m.Type == transport.Acknowledge && !m.Control() && m.Seq == 0 && p.first != nil {
			f.sends(time.Second, at, p.first)
			p.first = nil
		}
		return true
	}},
	{name: "acknowledgements without a class", caught: "T-16", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Acknowledge && m.Seq < 3 && !m.Fragment {
			twin := ack(m.Seq, m.AckFlags^2)
			f.w.host.Receive(f.w.now, at, cipher.Encrypt(nil, datagram(f.peers[at].id, twin)))
		}
		return true
	}},
	{name: "no keepalives", caught: "T-17", out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		return m.Type != transport.DoNothing
	}},
	{name: "silence called a kick", caught: "T-19", out: controls(transport.BootPlayer, func(_ *peer, b []byte) []byte {
		if b[0] == transport.BootTimedOut {
			b[0] = transport.BootKicked
		}
		return b
	})},
	{name: "a byte behind the last message", caught: "T-20", tail: "320680050028"},
	{name: "datagram with an unknown type", caught: "T-23"},
	{name: "unknown opcode passed on", caught: "T-24", in: passesOn(0xCD)},
	{name: "outside the window acted on", caught: "T-26", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) && strings.HasSuffix(string(m.Body), "outside") {
			f.toOthers(at, m.Body, playing)
		}
		return true
	}},
	{name: "other letters in a round", caught: "J-2", out: changes(int(msg.OpChecksumRequest), func(b []byte) []byte {
		return bytes.Replace(b, []byte("Scripts/M"), []byte("scripts/M"), 1)
	})},
	{name: "acknowledgements after 1.5 s", caught: "T-8", slowly: "T-17", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type != transport.Acknowledge {
			return true
		}
		if b, err := transport.Append(nil, &m.Header, m.Body); err == nil {
			f.sends(1500*time.Millisecond, at, b)
		}
		return false
	}},
	{name: "numbers with the high byte first", caught: "T-9", only: "T-9", out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Standard && m.HasSeq {
			m.Seq, m.Len = bits.ReverseBytes16(m.Seq), 0
		}
		return true
	}},
	{name: "01 for all", caught: "J-5", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); op(m) == int(msg.OpGameInit) && !l.named {
			l.named = true
			f.toOthers(at, m.Body, playing)
		}
		return true
	}},
	{name: "another mission than queries are told", caught: "J-6", out: changes(int(msg.OpSettings), func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("Mission2"), []byte("Mission3"))
	})},
	{name: "another system than queries are told", caught: "J-9", out: changes(int(msg.OpMissionInit), set(2, 3))},
	{name: "a frag limit that queries are not told", caught: "J-9", out: changes(int(msg.OpMissionInit), set(4, 5))},
	{name: "another time limit than queries are told", profile: Playable, caught: "J-9", out: changes(int(msg.OpMissionInit), set(3, 19))},
	{name: "01 with a second byte", caught: "J-5", out: changes(int(msg.OpGameInit), func(b []byte) []byte { return append(b, 0) })},
	{name: "a byte behind the mission", caught: "J-6", out: changes(int(msg.OpSettings), func(b []byte) []byte { return append(b, 0x20) })},
	{name: "35 with a time that there is not", caught: "J-9", out: changes(int(msg.OpMissionInit), func(b []byte) []byte { return append(b, 0) })},
	{name: "own score for the newcomer", caught: "J-10", out: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpScore) {
			body(m, set(1, p.id))
		}
		return true
	}},
	{name: "17 with another class", caught: "J-11", out: changes(int(msg.OpPlayerAnnounce), set(1, 0x67))},
	{name: "ships with another player", caught: "J-13", out: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpObjectCreateTeam) && p.ready && !p.announced {
			body(m, func(b []byte) []byte { b[2] ^= 0x40; return b })
		}
		return true
	}},
	{name: "two ships in a datagram", caught: "J-13", known: "J-13", out: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		l := f.link(at)
		switch {
		case op(m) != int(msg.OpObjectCreateTeam) || !p.ready || l.sent[m.Seq]:
			return true
		case l.kept == nil:
			l.kept = standard(m.Seq, m.Body)
		default:
			f.sends(0, at, l.kept, standard(m.Seq, m.Body))
			l.kept = nil
		}
		l.sent[m.Seq] = true // it may be sent again
		return false
	}},
	{name: "names of others kept back", caught: "J-15", out: controls(transport.NameChange, func(p *peer, b []byte) []byte {
		if !p.loaded && b[0] != p.id {
			b[0] = 0
		}
		return b
	})},
	{name: "names for their owners alone", caught: "J-16", out: controls(transport.NameChange, func(p *peer, b []byte) []byte {
		if p.loaded && b[0] != p.id {
			b[0] = 0
		}
		return b
	})},
	{name: "no address in names", out: addressed(0, 0, 0, 0)},
	{name: "another address in names", caught: "T-3 J-16", out: addressed(192, 0, 2, 99)},
	{name: "23 without a length", caught: "J-18", out: changes(int(msg.OpVersionDifferent), set(1, 0))},
	{name: "22 with another file", caught: "J-19", out: changes(int(msg.OpChecksumFailed), func(b []byte) []byte { return bytes.Replace(b, []byte("App"), []byte("app"), 1) })},
	{name: "wrong password called a ban", caught: "J-21", out: controls(transport.BootPlayer, func(_ *peer, b []byte) []byte {
		if b[0] == transport.BootPassword {
			b[0] = transport.BootBanned
		}
		return b
	})},
	{name: "full called a kick", caught: "J-22", out: controls(transport.BootPlayer, func(_ *peer, b []byte) []byte {
		if b[0] == transport.BootFull {
			b[0] = transport.BootKicked
		}
		return b
	})},
	{name: "creations for those in the game alone", caught: "O-1", known: "O-1", out: others(int(msg.OpObjectCreateTeam), func(p *peer, _ []byte) bool { return p.loaded && !p.ready })},
	{name: "requests not answered", caught: "O-3", in: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpRequestObject) {
			p.asked = true
		}
		return true
	}, out: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpObjectCreateTeam) && p.asked {
			p.asked = false
			body(m, func([]byte) []byte { return slices.Clone(harmless) })
		}
		return true
	}},
	{name: "1D for an unknown object", caught: "O-4", known: "O-4", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpRequestObject) && binary.LittleEndian.Uint32(m.Body[1:]) == 0x3FEEEEEE {
			f.says(at, append([]byte{byte(msg.OpVerifyEnterSet)}, m.Body[1:]...))
		}
		return true
	}},
	{name: "a ship of the host's making", caught: "O-6", in: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpSelfDestructRequest) {
			c := unhex(akira)
			c[1] = p.slot
			binary.LittleEndian.PutUint32(c[shipAt:], 0x3FFFFFFF+uint32(p.slot)*0x40000+9)
			f.toOthers(at, c, playing)
		}
		return true
	}},
	{name: "no 1D to the owner", caught: "O-2", out: others(int(msg.OpVerifyEnterSet), func(p *peer, b []byte) bool {
		return (binary.LittleEndian.Uint32(b[1:])-0x3FFFFFFF)/0x40000 == uint32(p.slot)
	})},
	{name: "next ship not copied", caught: "D-4", out: others(int(msg.OpObjectCreateTeam), func(p *peer, b []byte) bool {
		return p.announced && (binary.LittleEndian.Uint32(b[shipAt:])-0x3FFFFFFF)%0x40000 == 34
	})},
	{name: "another code under 06", caught: "D-8", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpSelfDestructRequest) {
			f.toOthers(at, unhex("0601010000d80080000000000018000040"), playing)
		}
		return true
	}},
	{name: "a byte of 07 changed", caught: "R-07", out: changes(int(msg.OpStartFiring), flipLast)},
	{name: "19 without a target dropped", caught: "R-19", known: "R-19", out: others(int(msg.OpTorpedoFire), func(_ *peer, b []byte) bool { return len(b) == 10 })},
	{name: "1B cut", caught: "R-1B", out: changes(int(msg.OpTorpedoTypeChange), func(b []byte) []byte { return b[:len(b)-1] })},
	{name: "12 twice", caught: "R-12", in: passesOn(int(msg.OpSetPhaserLevel))},
	{name: "0D passed on", caught: "N-0D", in: passesOn(int(msg.OpChangedTarget))},
	{name: "13 passed on", caught: "N-13", in: passesOn(int(msg.OpSelfDestructRequest))},
	{name: "15 passed on", caught: "N-15", known: "N-15", in: passesOn(int(msg.OpCollisionEffect))},
	{name: "14 passed on", caught: "N-14", known: "N-14", in: passesOn(int(msg.OpDestroyObject))},
	{name: "18 passed on", caught: "N-18", in: passesOn(int(msg.OpPlayerDeleted))},
	{name: "29 passed on", caught: "N-29 J-14", known: "N-29 J-14", in: passesOn(int(msg.OpExplosion))},
	{name: "author of chat left out", caught: "R-2C", out: others(int(msg.OpChat), func(p *peer, b []byte) bool { return b[1] == p.id })},
	{name: "lines cut after 40 characters", caught: "R-2C", out: changes(int(msg.OpChat), func(b []byte) []byte {
		const head, most, fragmented = 7, 40, 400
		if len(b) > head+most && len(b) < fragmented {
			b = b[:head+most]
			b[head-2] = most
		}
		return b
	})},
	{name: "nobody told of silent players", caught: "T-19", slow: true, out: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if m.Type != transport.BootPlayer || len(m.Body) < 2 || m.Body[0] != transport.BootTimedOut {
			return true
		}
		f.link(at).named = f.link(at).named || m.Body[1] == p.id
		return false
	}, in: func(f *faulty, at netip.AddrPort, _ *peer, _ *transport.Message) bool {
		return !f.link(at).named // the one who was removed gets no answer
	}},
	{name: "players put out after 20 s", caught: "X-6", slowly: "T-19", in: func(f *faulty, at netip.AddrPort, p *peer, _ *transport.Message) bool {
		l := f.link(at)
		if l.acked == nil {
			l.acked = map[[2]uint16]time.Time{{}: f.w.now}
		}
		if f.w.now.Sub(l.acked[[2]uint16{}]) > 20*time.Second && !l.named {
			l.named = f.w.host.Kick(f.w.now, p.id, transport.BootKicked)
		}
		return true
	}},
	{name: "team chat for all", caught: "R-2D", in: passesOn(int(msg.OpTeamChat)), profile: Stock},
	{name: "author of 41 left out", caught: "R-41", known: "R-41", out: others(int(msg.OpTeam), func(p *peer, b []byte) bool { return b[1] == p.id })},
	{name: "chat for those who load", caught: "R-A1", known: "R-A1", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) {
			f.toOthers(at, m.Body, func(p *peer) bool { return p.loaded && !p.ready })
		}
		return true
	}},
	{name: "updates passed on by a stock host", caught: "U-1", known: "U-1", in: passesOn(int(msg.OpStateUpdate))},
	{name: "no updates", profile: Playable, caught: "P-1", out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		return op(m) != int(msg.OpStateUpdate)
	}},
	{name: "no explosions", profile: Playable, caught: "P-2", out: others(int(msg.OpExplosion), func(*peer, []byte) bool { return true })},
	{name: "leave kept secret", caught: "L-1", out: controls(transport.Disconnect, func(_ *peer, b []byte) []byte { b[0] = 0; return b })},
	{name: "18 with a short length", caught: "L-2", out: changes(int(msg.OpPlayerDeleted), func(b []byte) []byte { return slices.Delete(b, 3, 5) })},
	{name: "14 for a leave", caught: "L-3", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Disconnect {
			f.toOthers(at, unhex("14ffffff3f"), playing)
		}
		return true
	}},
	{name: "heartbeats without a change", caught: "L-8", beat: func(s string) string { return strings.Replace(s, `\statechanged\1`, "", 1) }},
	{name: "the host dies of a size", caught: "X-4"},
	{name: "the host dies of another's id", caught: "X-2", only: "X-2", raw: func(f *faulty, from netip.AddrPort, plain []byte) (netip.AddrPort, bool) {
		f.silent = f.silent || bytes.HasSuffix(plain, []byte("not me"))
		return from, true
	}},
	{name: "a stop is told with the ids of the clients", caught: "L-6", only: "L-6", in: func(f *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) {
			for at, p := range f.peers {
				f.sends(time.Millisecond, at, control(transport.Disconnect, 40, []byte{p.id, 192, 0, 2, 1}))
			}
		}
		return true
	}},
	{name: "another peer id", caught: "T-27", slow: true},
	{name: "no third copy", caught: "T-13", out: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		last := op(m) == int(msg.OpChecksumRequest) && m.Body[1] == msg.LastRound
		if last {
			p.copies++
		}
		return !last || p.copies < 3
	}},
	{name: "answers to strangers", caught: "T-25"},
	{name: "06 for those who load", caught: "J-8 R-A1", known: "J-8 R-A1", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) {
			f.toOthers(at, unhex("0601010000df0080000000000018000040"), func(p *peer) bool { return p.loaded && !p.ready })
		}
		return true
	}},
	{name: "no new name", caught: "J-17", known: "J-17", out: changes(int(msg.OpSettings), func(b []byte) []byte {
		b[5] &^= 4
		return b[:9+binary.LittleEndian.Uint16(b[7:])]
	})},
	{name: "a missing file matters", caught: "J-20", in: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChecksumResponse) && m.Body[1] == 3 && m.Body[6] == 3 {
			body(m, func([]byte) []byte { return slices.Clone(harmless) })
		}
		return true
	}},
	{name: "newest ship for any request", caught: "O-5", known: "O-5", in: func(f *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		const parts = 34
		if op(m) == int(msg.OpObjectCreateTeam) {
			if id := binary.LittleEndian.Uint32(m.Body[shipAt:]); (id-0x3FFFFFFF)%0x40000 == parts {
				f.second = id
			}
		}
		if op(m) == int(msg.OpRequestObject) && binary.LittleEndian.Uint32(m.Body[1:])+parts == f.second {
			body(m, func(b []byte) []byte { return binary.LittleEndian.AppendUint32(b[:1], f.second) })
		}
		return true
	}},
	{name: "time runs back", profile: Playable, caught: "P-1 U-11", out: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpStateUpdate) {
			p.copies++
			body(m, func(b []byte) []byte {
				binary.LittleEndian.PutUint32(b[5:], math.Float32bits(float32(1000-10*p.copies)))
				return b
			})
		}
		return true
	}},
	{name: "the host dies of a long name", caught: "X-3", in: func(f *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		f.silent = f.silent || m.Type == transport.NameChange && len(m.Body) > 400
		return true
	}},
	{name: "the host dies of fragment 255", caught: "X-5", in: func(f *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		f.silent = f.silent || m.Fragment && m.Index == 255 && m.Type == transport.Standard
		return true
	}},
	{name: "every copy of a connect gets an id", caught: "T-4", in: countConnects, out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); m.Type == transport.Connect {
			if l.accepts++; l.accepts > 1 && l.connects > 1 {
				body(m, func(b []byte) []byte { b[0]++; return b })
			}
		}
		return true
	}},
	{name: "second connect of an address ignored", caught: "T-5", known: "T-5", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type != transport.Connect {
			return true
		}
		l := f.link(at)
		if l.request == nil {
			l.request = slices.Clone(m.Body)
		}
		return bytes.Equal(l.request, m.Body)
	}},
	{name: "messages acted on as they come", caught: "T-7", in: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChat) && strings.HasSuffix(string(m.Body), "order 3") && !p.seqs[m.Seq] {
			p.seqs[m.Seq] = true
			f.toOthers(at, m.Body, playing)
		}
		return true
	}},
	{name: "a repeated accept takes the next number", caught: "T-9", in: countConnects, out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); m.Type == transport.Connect && l.connects == 1 {
			if l.accepts++; l.accepts > 1 {
				m.Seq, m.Len = 1, 0
			}
		}
		return true
	}},
	{name: "numbers of eight bits", caught: "T-10", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Standard && m.HasSeq {
			l := f.link(at)
			l.last = max(l.last, m.Seq)
			m.Seq, m.Len = m.Seq&0xFF, 0
		}
		return true
	}, in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); m.Type == transport.Acknowledge && !m.Control() {
			m.Seq, m.Len = l.last-(l.last-m.Seq)&0xFF, 0
		}
		return true
	}},
	{name: "numbers of fifteen bits", caught: "T-31", only: "T-31", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type == transport.Standard && m.HasSeq {
			f.link(at).last = m.Seq
			m.Seq, m.Len = m.Seq&0x7FFF, 0
		}
		return true
	}},
	{name: "fragments taken in order alone", caught: "T-12", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		l := f.link(at)
		if m.Type != transport.Standard || !m.Fragment {
			return true
		}
		if m.Index == 0 {
			l.pieces = 0
		}
		if int(m.Index) != l.pieces {
			return false
		}
		l.pieces++
		return true
	}},
	{name: "the first fragment alone passed on", caught: "T-29", out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		return m.Type != transport.Standard || !m.Fragment || m.Index == 0
	}},
	{name: "a number for two messages", caught: "T-30", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); op(m) == int(msg.OpChat) && !l.named {
			l.named = true
			f.sends(10*time.Millisecond, at, standard(m.Seq, harmless))
		}
		return true
	}},
	{name: "accept sent once", caught: "T-14", in: countConnects, out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		l := f.link(at)
		if m.Type == transport.Connect {
			l.accepts++
		}
		return m.Type != transport.Connect || l.accepts <= l.connects
	}},
	{name: "two repetitions in a datagram", caught: "T-21", known: "T-21", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		l := f.link(at)
		if op(m) != int(msg.OpChat) || !bytes.Contains(m.Body, []byte("again")) {
			return true
		}
		if !l.sent[m.Seq] {
			l.sent[m.Seq] = true
			return true
		}
		if copied := standard(m.Seq, m.Body); l.kept == nil {
			l.kept = copied
		} else {
			f.sends(0, at, l.kept, copied)
			l.kept = nil
		}
		return false
	}},
	{name: "the id of a leaver given to the next", caught: "T-28 L-5", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); m.Type == transport.Connect && l.real == 0 {
			l.real = m.Body[0]
			if f.left != 0 {
				f.shows(l.real, f.left)
			}
			f.left = 0
		}
		if i := idIn(m); i >= 0 && f.shown[m.Body[i]] != 0 {
			body(m, func(b []byte) []byte { b[i] = f.shown[b[i]]; return b })
		}
		return true
	}, in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		l, i := f.link(at), idIn(m)
		if m.Type == transport.Disconnect {
			f.left = m.Body[0]
		}
		if i >= 0 && f.shown[l.real] == m.Body[i] {
			body(m, func(b []byte) []byte { b[i] = l.real; return b })
		}
		return true
	}},
	{name: "last round asked for twice", caught: "J-1", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChecksumRequest) && m.Body[1] == msg.LastRound {
			f.link(at).kept = slices.Clone(m.Body)
		}
		if op(m) == int(msg.OpChecksumComplete) {
			f.says(at, f.link(at).kept)
		}
		return true
	}},
	{name: "no request before the name", caught: "J-3", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		l := f.link(at)
		if op(m) != int(msg.OpChecksumRequest) || m.Body[1] > 0 || l.named {
			return true
		}
		l.kept = standard(m.Seq, m.Body)
		return false
	}, in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); m.Type == transport.NameChange && !l.named {
			l.named = true
			if l.kept != nil {
				f.sends(0, at, l.kept)
			}
		}
		return true
	}},
	{name: "answer to the last round refused", caught: "J-1 J-4 J-5", in: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChecksumResponse) && m.Body[1] == msg.LastRound {
			body(m, func([]byte) []byte { return slices.Clone(harmless) })
		}
		return true
	}},
	{name: "another slot until the client is ready", caught: "J-7", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpSettings) {
			f.link(at).kept = slices.Clone(m.Body)
			body(m, func(b []byte) []byte { b[6] += 4; return b })
		}
		return true
	}, in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); op(m) == int(msg.OpClientReady) && l.kept != nil {
			f.says(at, l.kept)
		}
		return true
	}},
	{name: "17 before the ships", caught: "J-12", out: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		l := f.link(at)
		switch {
		case op(m) == int(msg.OpObjectCreateTeam) && p.ready && !p.announced && l.kept == nil:
			l.kept = slices.Clone(m.Body)
			body(m, func([]byte) []byte { return append(unhex("1766080000f100800000000000ffffff3f"), p.id) })
		case op(m) == int(msg.OpPlayerAnnounce) && l.kept != nil && m.Body[17] == p.id:
			f.sends(0, at, standard(m.Seq, l.kept)) // in a separate datagram: J-13 is about two creations in one
			return false
		}
		return true
	}},
	{name: "repetitions without their text", caught: "R-A2", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		l := f.link(at)
		if op(m) == int(msg.OpChat) && bytes.Contains(m.Body, []byte("loss")) {
			if l.sent[m.Seq] {
				body(m, func([]byte) []byte { return slices.Clone(harmless) })
			}
			l.sent[m.Seq] = true
		}
		return true
	}},
	{name: "07 of a ship that nobody knows", caught: "R-A3", in: func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpObjectCreateTeam) && !p.seqs[m.Seq] {
			p.seqs[m.Seq] = true
			const destAt = 13
			event := unhex(samples[0].bodies[0])
			copy(event[destAt:], m.Body[shipAt:shipAt+4])
			f.toOthers(at, event, playing)
		}
		return true
	}},
	{name: "the host dies of a damaged datagram", caught: "X-1", raw: func(f *faulty, from netip.AddrPort, plain []byte) (netip.AddrPort, bool) {
		_, known := f.connected(plain[0])
		split, err := transport.Split(plain)
		for more := true; err == nil && more; {
			_, more, err = split.Next()
		}
		f.silent = err != nil && !known && len(plain) > 40
		return from, true
	}},
	{name: "clients known by id alone", caught: "X-2", raw: func(f *faulty, from netip.AddrPort, plain []byte) (netip.AddrPort, bool) {
		if at, ok := f.connected(plain[0]); ok && bytes.HasSuffix(plain, []byte("not me")) {
			return at, true
		}
		return from, true
	}},
	{name: "2A passed on", caught: "N-2A J-8", known: "N-2A J-8", in: passesOn(int(msg.OpClientReady))},
	{name: "06 passed on", caught: "N-06", known: "N-06", in: passesOn(int(msg.OpHostEvent))},
	{name: "17 passed on", caught: "N-17", in: passesOn(int(msg.OpPlayerAnnounce))},
	{name: "acknowledgements sent once", caught: "T-18 L-4", slow: true, out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if m.Type != transport.Acknowledge {
			return true
		}
		key := [2]uint16{m.Seq, uint16(m.AckFlags)<<8 | uint16(m.Index)}
		l := f.link(at)
		if l.acked == nil {
			l.acked = map[[2]uint16]time.Time{}
		}
		if l.acked[key].IsZero() {
			l.acked[key] = f.w.now
		}
		return f.w.now.Sub(l.acked[key]) < 300*time.Millisecond
	}},
	{name: "01 in a datagram of its own", caught: "T-22", out: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		if l := f.link(at); op(m) == int(msg.OpGameInit) && l.kept == nil {
			l.kept = standard(m.Seq, m.Body)
			f.sends(time.Millisecond, at, l.kept)
			return false
		}
		return true
	}},
	{name: "much for a stranger", caught: "J-23", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		for i := 0; m.Type == transport.Connect && i < 60; i++ {
			f.sends(2*time.Second, at, []byte{byte(transport.DoNothing)})
		}
		return true
	}},
	{name: "updates with numbers", profile: Playable, caught: "U-2", in: func(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		const ahead = 300
		for a, p := range f.peers {
			if op(m) == int(msg.OpStateUpdate) && a != at && playing(p) {
				f.sends(0, a, standard(f.link(a).last+ahead, m.Body))
			}
		}
		return true
	}},
}

// players returns a fault that changes the number of players in a reply.
func players(change func(n int) int) func(string) string {
	key := regexp.MustCompile(`\\numplayers\\(\d+)`)
	return func(s string) string {
		at := key.FindStringSubmatchIndex(s)
		if at == nil {
			return s
		}
		n, _ := strconv.Atoi(s[at[2]:at[3]])
		return s[:at[2]] + strconv.Itoa(change(n)) + s[at[3]:]
	}
}

// countConnects counts the copies of an address's last connect.
func countConnects(f *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
	if l := f.link(at); m.Type == transport.Connect {
		if !bytes.Equal(l.request, m.Body) {
			l.request, l.connects, l.accepts = slices.Clone(m.Body), 0, 0
		}
		l.connects++
	}
	return true
}

// Every fault is caught by the case that is meant for it, and by no other.
func TestFaults(t *testing.T) {
	fixtures.System(t)
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("TestFaultsSlow tries these cases and more: set BCDISSECT_LONG for both")
	}
	findFaults(t, false, false)
}

// Each fault is caught by its cases.
func TestFaultsCaught(t *testing.T) { findFaults(t, false, true) }

// The slow cases do not catch the faults of others either.
func TestFaultsSlow(t *testing.T) {
	fixtures.System(t)
	findFaults(t, true, false)
}

// allFaults returns the faults, with one for each opcode that is forwarded.
func allFaults() []fault {
	list := slices.Clone(faults)
	for _, f := range samples {
		id := fmt.Sprintf("R-%02X", uint8(f.op))
		if f.forwarded() && !slices.ContainsFunc(list, func(ft fault) bool { return ft.caught == id }) {
			list = append(list, fault{name: "a byte of " + id + " changed", caught: id, out: changes(int(f.op), flipLast)})
		}
	}
	return list
}

// Every message that the stock host passes on to all others has a case that tries it.
func TestForwardedHaveSamples(t *testing.T) {
	for _, spec := range msg.Catalog().All() {
		if spec.Relay == decode.RelayForward && !slices.ContainsFunc(samples, func(s sample) bool { return s.op == spec.Code }) {
			t.Errorf("%s: no sample", spec.Name)
		}
	}
	for i := range samples {
		if s := &samples[i]; s.forwarded() == (s.toCase().ID[0] == 'N') || s.op != decode.Opcode(unhex(s.bodies[0])[0]) {
			t.Errorf("%02X: %s", uint8(s.op), s.toCase().ID)
		}
	}
}

// Every case has a fault that it catches. Cases that need a flag are tested elsewhere: with the commands,
// in package badline, and in TestFuzz.
func TestEveryCaseCatches(t *testing.T) {
	var caught []string
	for _, ft := range allFaults() {
		caught = append(caught, strings.Fields(ft.caught)...)
	}
	for _, c := range Cases() {
		if c.LeftOut == "" && c.With == "" && !slices.Contains(caught, c.ID) {
			t.Errorf("%s: no fault that it catches", c.ID)
		}
	}
}

// shows has clients know one id as another. The id that was shown as that is shown as
// the first was: no two players have the same.
func (f *faulty) shows(real, as uint8) {
	was := cmp.Or(f.shown[real], real)
	for id := range f.shown {
		if cmp.Or(f.shown[id], uint8(id)) == as {
			f.shown[id] = was
		}
	}
	f.shown[real] = as
}

// findFaults runs the suite against a host with each of the faults. With few,
// it first tries only the cases that catch the fault, and runs the others with
// them if they miss it: some of them need what others did.
func findFaults(t *testing.T, slow, few bool) {
	t.Helper()
	for _, ft := range allFaults() {
		t.Run(ft.name, func(t *testing.T) {
			t.Parallel()
			if ft.profile == 0 {
				ft.profile = Stock
			}
			want := strings.Fields(ft.caught)
			if slow {
				want = append(want, strings.Fields(ft.slowly)...)
			}
			slices.Sort(want)
			words := strings.Fields(ft.only)
			if few && ft.only == "" && ft.caught != "" {
				watched := append(slices.Clone(want), "N-13", "N-29", "R-A1") // for those that watch
				if caught, _ := caughtBy(t, ft, slow, watched); slices.Equal(caught, want) {
					return
				}
			}
			if caught, why := caughtBy(t, ft, slow, words); !slices.Equal(caught, want) {
				t.Errorf("caught by %v, want %v: %v", caught, want, why)
			}
		})
	}
}

// caughtBy returns the cases that catch a fault, sorted, with the reasons, of the
// cases with these words or of all.
func caughtBy(t *testing.T, ft fault, slow bool, words []string) (caught []string, why map[string]string) {
	t.Helper()
	o := optionsOf(ft.profile, 3, words...)
	o.Slow = slow || ft.slow || slices.ContainsFunc(o.Cases, func(c *Case) bool { return c.Slow && slices.Contains(strings.Fields(ft.caught), c.ID) })
	rep, err := Run(ft.world(), o)
	if err != nil {
		t.Fatal(err)
	}
	why = map[string]string{}
	for _, res := range rep.Results {
		if strings.HasPrefix(ft.name, "the host dies") && res.Verdict == Known {
			t.Errorf("%s: %s", res.Verdict, res.Why)
		}
		if res.Verdict == Fail || res.Verdict == Known && slices.Contains(strings.Fields(ft.caught), res.Case.ID) { // for information
			caught = append(caught, res.Case.ID)
			why[res.Case.ID] = fmt.Sprintf("%s; %v", res.Why, res.Came)
		}
	}
	slices.Sort(caught)
	return caught, why
}

// Of an OpenBC server, a rule that is broken in the documented way is KNOWN; broken in another
// way it is FAIL.
func TestDocumented(t *testing.T) {
	for _, ft := range allFaults() {
		words := strings.Fields(ft.caught)
		if ft.profile == Playable || !slices.ContainsFunc(words, func(id string) bool { return strings.Contains(caseLines()[id], "openbc: ") }) {
			continue
		}
		t.Run(ft.name, func(t *testing.T) {
			t.Parallel()
			rep, err := Run(ft.world(), optionsOf(OpenBC, 3, append(words, "N-13", "N-29", "R-A1")...)) // for those that watch
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range rep.Results {
				want := Fail
				if slices.Contains(strings.Fields(ft.known), res.Case.ID) {
					want = Known
				}
				if slices.Contains(words, res.Case.ID) && res.Case.OpenBC != "" && res.Verdict != want {
					t.Errorf("%s is %s, want %s: %s %v", res.Case.ID, res.Verdict, want, res.Why, res.Came)
				}
			}
		})
	}
}

// A host that refuses the clients' own answers is not blamed for refusing another version.
func TestOtherFiles(t *testing.T) {
	ft := fault{in: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
		if op(m) == int(msg.OpChecksumResponse) && m.Body[1] == 0 {
			body(m, func([]byte) []byte { return slices.Clone(harmless) })
		}
		return true
	}}
	rep, err := Run(ft.world(), optionsOf(Stock, 3, "J-4", "J-18"))
	if err != nil {
		t.Fatal(err)
	}
	if res := rep.Results[0]; res.Verdict != Fail {
		t.Errorf("%s is %s: %s", res.Case.ID, res.Verdict, res.Why)
	}
	if res := rep.Results[1]; res.Verdict != Skip || !strings.Contains(res.Why, "--checksums") {
		t.Errorf("%s is %s: %s", res.Case.ID, res.Verdict, res.Why)
	}
}

// A host that wants other files is told about once, with the remedy, and the cases that need a client in the game
// are not tried one by one.
func TestNoEntry(t *testing.T) {
	refuse := func(round byte) fault {
		return fault{in: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
			if op(m) == int(msg.OpChecksumResponse) && m.Body[1] == round {
				body(m, func([]byte) []byte { return slices.Clone(harmless) })
			}
			return true
		}}
	}
	for _, round := range []byte{0, 3} {
		ft := refuse(round)
		o := optionsOf(Stock, 3)
		o.Slow = false
		rep, err := Run(ft.world(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rep.NoEntry, "--checksums FILE") || rep.Kept() < 60 || rep.Took > 2*time.Minute {
			t.Errorf("round %d: %d cases after %v: %q", round, rep.Kept(), rep.Took, rep.NoEntry)
		}
		for _, res := range rep.Results {
			if res.NoEntry && res.Verdict != Skip {
				t.Errorf("round %d: %s is %s", round, res.Case.ID, res.Verdict)
			}
		}
	}
}

// Clients without files have none that the host could find to differ.
func TestNoFiles(t *testing.T) {
	o := optionsOf(Stock, 3, "J-19")
	o.Answers = map[uint8]*msg.ChecksumResponse{0: {Found: true}}
	rep, err := Run(newWorld(3, gameOf(Stock), relay.Trouble{Delay: 5 * time.Millisecond}), o)
	if err != nil {
		t.Fatal(err)
	}
	if res := rep.Results[0]; res.Verdict != Skip || !strings.Contains(res.Why, "no file of round 0") {
		t.Errorf("%s is %s: %s", res.Case.ID, res.Verdict, res.Why)
	}
}

// A host that answers no queries, and joins no clients by itself, is tried all the same: the
// suite's own clients leave, and only Q-1 is FAIL.
func TestMute(t *testing.T) {
	w := newWorld(3, gameOf(Stock), relay.Trouble{Delay: 5 * time.Millisecond})
	w.in = func(_ time.Time, _ netip.AddrPort, d []byte) [][]byte {
		if d[0] == '\\' {
			return nil
		}
		return [][]byte{d}
	}
	o := optionsOf(Stock, 3)
	o.Slow, o.Budget = false, 80*time.Second
	rep, err := Run(w, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range rep.Results {
		if (res.Case.ID == "Q-1") != (res.Verdict == Fail) {
			t.Errorf("%s is %s: %s", res.Case.ID, res.Verdict, res.Why)
		}
	}
	expectManners(t, w, rep)
}

// A host that keeps the places of players who left lets no client in any more. This is its
// fault, and the run ends.
func TestClosed(t *testing.T) {
	const places = 12
	let := map[netip.AddrPort]bool{}
	ft := fault{raw: func(_ *faulty, from netip.AddrPort, plain []byte) (netip.AddrPort, bool) {
		if plain[0] == transport.UnassignedPeer && len(let) < places {
			let[from] = true
		}
		return from, let[from]
	}}
	o := optionsOf(Stock, 3)
	o.Slow, o.Budget = false, 80*time.Second
	rep, err := Run(ft.world(), o)
	if err != nil {
		t.Fatal(err)
	}
	failed := slices.DeleteFunc(slices.Clone(rep.Results), func(res Result) bool { return res.Verdict != Fail })
	if len(failed) != 1 || !strings.Contains(failed[0].Expected, "the next client to be let in") || rep.Stopped != "the host no longer lets clients in" {
		t.Errorf("%v, stopped: %s", failed, rep.Stopped)
	}
}

// A host that never sends some messages that every join, line of chat and leave should bring is
// tried in full all the same, and in time.
func TestSparing(t *testing.T) {
	ft := fault{out: func(_ *faulty, _ netip.AddrPort, p *peer, m *transport.Message) bool {
		if d := decode.Opcode(op(m)); d == msg.OpPlayerAnnounce || d == msg.OpChat && m.Body[1] == p.id {
			body(m, func([]byte) []byte { return slices.Clone(harmless) })
		}
		return m.Type != transport.Acknowledge || !m.Control()
	}}
	o := optionsOf(Stock, 3)
	o.Slow, o.Budget = false, 80*time.Second
	rep, err := Run(ft.world(), o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Took > 90*time.Second {
		t.Errorf("the run took %v", rep.Took)
	}
	if n := rep.Tried(); n < 95 {
		t.Errorf("%d cases tried: %s", n, rep.Stopped)
	}
	want := []string{"T-2", "T-3", "J-11", "R-2C", "L-1"}
	for _, res := range rep.Results {
		if slices.Contains(want, res.Case.ID) != (res.Verdict == Fail) && !res.Case.Slow {
			t.Errorf("%s is %s: %s", res.Case.ID, res.Verdict, res.Why)
		}
	}
}

// Whatever a host sends, a run ends, and nothing falls over it.
func TestMangled(t *testing.T) {
	for seed := range fixtures.More[uint64](4, 12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := []Profile{Stock, Playable}[seed%2]
			w := newWorld(seed, gameOf(p), relay.Trouble{Delay: 5 * time.Millisecond})
			r := rand.New(rand.NewPCG(seed, 4))
			share := 0.02 + 0.1*r.Float64()
			mangle := func(b []byte) []byte {
				switch b = slices.Clone(b); {
				case len(b) == 0:
				case r.Float64() < 0.5:
					b = b[:r.IntN(len(b))]
				case r.Float64() < 0.5:
					b[r.IntN(len(b))] = byte(r.Uint32())
				default:
					b = append(b, make([]byte, r.IntN(40))...)
				}
				return b
			}
			behind(w, &fault{
				out: func(_ *faulty, _ netip.AddrPort, _ *peer, m *transport.Message) bool {
					if r.Float64() < share {
						body(m, mangle)
					}
					return true
				},
				text: func(s string) string {
					if r.Float64() < share {
						return `\` + string(mangle([]byte(s[1:])))
					}
					return s
				},
			})
			rep, err := Run(w, optionsOf(p, seed))
			if err != nil {
				return // it was not taken for a host
			}
			if w.now.Sub(began) > 3*time.Hour || len(rep.Results) < 100 {
				t.Errorf("%d results after %v", len(rep.Results), w.now.Sub(began))
			}
		})
	}
}
