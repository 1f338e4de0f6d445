package server

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/control"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

const (
	orderWait = 2 * time.Second // timeout for a busy host to accept an order
	maxSaid   = 1000            // maximum bytes of chat that the host sends at once
	maxBans   = 4096            // maximum bans added while the host runs
)

// An order is a request that waits for the host.
type order struct {
	request control.Request
	answer  chan control.Answer
}

// Handle makes the host execute a request. Any goroutine may call it.
func (s *Server) Handle(r control.Request) control.Answer {
	o := order{r, make(chan control.Answer, 1)}
	wait := time.NewTimer(orderWait)
	defer wait.Stop()
	select {
	case s.orders <- o:
		select {
		case a := <-o.answer:
			return a
		case <-wait.C:
		}
	case <-wait.C:
	}
	return control.Answer{Error: "the host is busy"}
}

// obey executes a request.
func (s *Server) obey(now time.Time, r control.Request) control.Answer {
	var text string
	var err error
	switch r.Command {
	case "status":
		return control.Answer{Status: s.status()}
	case "players":
		return control.Answer{Players: s.players()}
	case "kick":
		text, err = s.kick(now, r.Argument)
	case "ban":
		text, err = s.ban(now, r.Argument)
	case "say":
		text, err = s.say(now, r.Argument)
	case "restart":
		text = "the match began anew for " + plural.Count(s.Host.Restart(now), "player")
	default:
		err = fmt.Errorf("%q: want kick, ban, say, restart, status or players", r.Command)
	}
	if err != nil {
		return control.Answer{Error: err.Error()}
	}
	s.Log.Say("control: %s", text)
	return control.Answer{Text: text}
}

func (s *Server) status() *control.Status {
	is := s.Host.Status()
	c := &control.Status{
		Name: s.Name, Mission: is.Mission, Mode: is.Mode.String(), Uptime: seconds(is.Now.Sub(is.Since)),
		Players: is.Players, Playing: is.Playing, Limit: is.Limit,
		Received: is.Stats.Received, Sent: is.Stats.Sent, BytesIn: s.bytesIn, BytesOut: s.bytesOut,
		Dropped: map[string]int{}, Recording: s.Active(),
	}
	for reason, n := range s.drops(&is.Stats) {
		if n > 0 {
			c.Dropped[reason] = n
		}
	}
	return c
}

// drops yields the numbers of datagrams that were not accepted or not sent, by
// reason.
func (s *Server) drops(stats *relay.Stats) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for why, n := range stats.Dropped {
			if !yield(relay.Drop(why).String(), n) {
				return
			}
		}
		_ = yield("socket-buffer", int(s.noRoom.Load())) && yield("host-busy", int(s.dropped.Load())) &&
			yield("too-large", int(s.cut.Load())) && yield("unsent", s.unsent)
	}
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func (s *Server) players() []control.Player {
	now := time.Now()
	list := []control.Player{}
	for _, p := range s.Host.Players() {
		list = append(list, control.Player{
			ID: p.ID, Slot: p.Slot, Name: nameOf(p.Name), Address: p.Addr.String(), Phase: p.Phase.String(),
			Connected: seconds(now.Sub(p.Since)), Silent: seconds(now.Sub(p.Heard)), RoundTrip: p.Link.RTT.Seconds(), Waiting: p.Link.Waiting,
		})
	}
	return list
}

// nameOf returns a player's name for a terminal.
func nameOf(wide []byte) string { return cli.OneLine(wire.WideText(wide).String()) }

// find returns the player with an ID, or else the only player with a name.
func (s *Server) find(who string) (found relay.PeerInfo, err error) {
	id, e := strconv.ParseUint(who, 10, 8)
	var same []string
	for _, p := range s.Host.Players() {
		switch name := nameOf(p.Name); {
		case e == nil && uint64(p.ID) == id:
			return p, nil
		case name == who || strings.EqualFold(name, who) || wire.WideText(p.Name) == wire.Untrusted(who):
			found = p
			same = append(same, strconv.Itoa(int(p.ID)))
		}
	}
	switch len(same) {
	case 1:
		return found, nil
	case 0:
		return found, fmt.Errorf("no player is called %q or has that id; relay ctl players lists them", who)
	}
	return found, fmt.Errorf("%d players are called %q; choose an id: %s", len(same), who, strings.Join(same, ", "))
}

func (s *Server) kick(now time.Time, who string) (string, error) {
	p, err := s.find(who)
	if err != nil {
		return "", err
	}
	s.Host.Kick(now, p.ID, transport.BootKicked)
	return fmt.Sprintf("%q (id %d) was removed", nameOf(p.Name), p.ID), nil
}

// ban bans an address, or the address of a player, and disconnects players with
// the address.
func (s *Server) ban(now time.Time, who string) (string, error) {
	addr, err := netip.ParseAddr(who)
	comment := ""
	if err != nil || !addr.Is4() {
		p, err := s.find(who)
		if err != nil {
			return "", err
		}
		addr, comment = p.Addr.Addr().Unmap(), nameOf(p.Name)
		if !addr.Is4() {
			return "", fmt.Errorf("%s is not an IPv4 address", addr)
		}
	}
	saved, err := s.Bans.Add(addr.As4(), comment)
	if err != nil && !saved {
		return "", err
	}
	text := fmt.Sprintf("%s is banned, %d removed", addr, s.Host.Recheck(now))
	switch {
	case err != nil:
		text += fmt.Sprintf("; it is not saved: %v", err)
	case s.Bans.File == "":
		text += "; it is not saved, since there is no --bans FILE"
	}
	return text, nil
}

func (s *Server) say(now time.Time, text string) (string, error) {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, text))
	if text == "" || len(text) > maxSaid {
		return "", fmt.Errorf("a host says between 1 and %d bytes", maxSaid)
	}
	return fmt.Sprintf("said to %s: %s", plural.Count(s.Host.Say(now, text), "player"), text), nil
}

// Bans are the banned addresses: those in a file and those added since it was
// read.
type Bans struct {
	File  string // name of the file, empty for none
	list  banList
	added banList
}

// Load reads the file. If that fails, the bans stay unchanged.
func (b *Bans) Load() error { return b.list.load(b.File) }

// Holds reports whether a client is banned.
func (b *Bans) Holds(claimed [4]byte, from netip.Addr) bool {
	return b.list.holds(claimed, from) || b.added.holds(claimed, from)
}

var errManyBans = errors.New("there are too many bans; put them into the file of --bans")

// Add adds an address, and writes it to the file if there is one. If added is
// true, the error tells why the address was not written to the file. If added
// is false, the error tells why the address was not banned.
func (b *Bans) Add(addr [4]byte, comment string) (added bool, err error) {
	if len(b.added) >= maxBans {
		return false, errManyBans
	}
	b.added = append(b.added, addr)
	if b.File == "" {
		return true, nil
	}
	f, err := os.OpenFile(b.File, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return true, cli.PlainPath(b.File, err)
	}
	line := netip.AddrFrom4(addr).String()
	if comment != "" {
		line += " # " + comment
	}
	if !endsLine(f) {
		line = "\n" + line
	}
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		err = cli.PlainPath(b.File, err)
	}
	return true, err
}

// endsLine reports whether a file is empty or ends with a line break.
func endsLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err == nil
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] == '\n'
}
