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
	Since   time.Time // time of the first call with a time, or zero before that
	Now     time.Time // time of the last such call
	Players int       // number of clients with a slot
	Playing int       // number of clients in the game
	Limit   int       // how many clients can play
	Down    bool      // Shutdown has been called
	Stats   Stats
}

// Status returns the current status of the game.
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
// came. The names belong to the caller, unlike the names in [Host.Peers].
func (h *Host) Players() (list []PeerInfo) {
	for p := range h.Peers() {
		if p.Slot >= 0 && (p.Proved || p.Assumed) {
			p.Name = bytes.Clone(p.Name)
			list = append(list, p)
		}
	}
	return list
}

// Kick removes a client, and tells the client and the others. It reports
// whether there is a client with the id. The reason is a constant of package
// transport, such as [transport.BootKicked].
func (h *Host) Kick(now time.Time, id, reason uint8) bool {
	h.tick(now)
	if id > lastID || h.ids[id] == nil || h.ids[id].phase == Leaving {
		return false
	}
	h.putOut(h.ids[id], Kicked, reason, names.BootReasons.Name(uint64(reason)))
	return true
}

// Recheck calls Config.Banned for all clients, removes those that are banned,
// and returns their number. Call it after the bans have changed.
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

// Restart begins the match anew and returns the number of players. The players lose
// their ships and scores, and choose ships again.
func (h *Host) Restart(now time.Time) int {
	h.tick(now)
	for _, p := range h.peers {
		p.objects, p.objectB = nil, 0
	}
	players, body := slices.Clone(h.playing()), h.encode(msg.OpRestartGame, &msg.RestartGame{})
	for _, p := range players {
		h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: body})
	}
	return len(players)
}

// longestLine is the longest chat line of the host in bytes.
const longestLine = 200

// Say sends text from the host to all players as chat of peer 1, and returns
// their number. A long text becomes several lines.
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
