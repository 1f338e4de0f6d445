package relay

import (
	"bytes"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Status describes a game for people and for metrics.
type Status struct {
	Name    string
	Mission string
	Mode    Mode
	Since   time.Time // of the first call that gave the time; zero before that
	Now     time.Time // of the last one
	Players int       // clients that have a slot
	Playing int       // of them in the game
	Limit   int       // how many can play
	Down    bool      // Shutdown has been called
	Stats   Stats
}

// Status describes the game as it is.
func (h *Host) Status() Status {
	s := Status{
		Name: h.cfg.Name, Mission: h.cfg.Mission, Mode: h.cfg.Mode, Since: h.start, Now: h.now,
		Limit: h.cfg.Players, Down: h.down, Stats: h.stats,
	}
	for _, p := range h.slots {
		if p == nil || !p.known() {
			continue
		}
		s.Players++
		if p.phase == Playing {
			s.Playing++
		}
	}
	return s
}

// Players returns those clients that have a slot, in the order in which they
// came. Unlike those of [Host.Peers], names belong to the caller.
func (h *Host) Players() (list []PeerInfo) {
	for p := range h.Peers() {
		if p.Slot >= 0 && (p.Proved || p.Assumed) {
			p.Name = bytes.Clone(p.Name)
			list = append(list, p)
		}
	}
	return list
}

// Kick puts a client out, tells it and the others, and reports whether there is
// a client with that id. The reason is one of the transport's, such as
// [transport.BootKicked].
func (h *Host) Kick(now time.Time, id, reason uint8) bool {
	h.tick(now)
	if id > lastID || h.ids[id] == nil || h.ids[id].phase == Leaving {
		return false
	}
	h.putOut(h.ids[id], Kicked, reason, names.BootReasons.Name(uint64(reason)))
	return true
}

// Recheck asks Config.Banned about all who are there, puts those out that it
// names, and returns how many these are. It is for after the bans have changed.
func (h *Host) Recheck(now time.Time) (n int) {
	h.tick(now)
	if h.cfg.Banned == nil {
		return 0
	}
	for _, p := range slices.Clone(h.peers) {
		if p.phase != Leaving && h.cfg.Banned(p.claimed, p.addr.Addr()) {
			h.putOut(p, Kicked, transport.BootBanned, names.BootReasons.Name(uint64(transport.BootBanned)))
			n++
		}
	}
	return n
}

// longestLine is how many bytes of text one line of chat from the host has.
const longestLine = 200

// Say has the host say something to all who play, as a chat line of peer 1, and
// returns how many that are. Long text becomes several lines.
func (h *Host) Say(now time.Time, text string) (n int) {
	h.tick(now)
	for len(text) > 0 {
		end := len(text)
		if end > longestLine {
			for end = longestLine; end > 1 && !utf8.RuneStart(text[end]); end-- {
			}
		}
		body := h.encode(msg.OpChat, &msg.Chat{Sender: transport.HostPeer, Text: []byte(text[:end])})
		text = text[end:]
		players := slices.Clone(h.playing())
		for _, p := range players {
			h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: body})
		}
		n = len(players)
	}
	return n
}
