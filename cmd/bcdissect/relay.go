package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/report"
)

const (
	gamePort   = "22101" // where clients look for hosts
	masterPort = "27900"
	longest    = 64 // characters of a game's name or password
)

// hosting are the flags of a host.
type hosting struct {
	listen     string
	name       string
	rules      gameRules
	players    int
	password   string
	collisions bool
	mode       choice
	write      string
	bans       string
	checksums  string
	heartbeat  string
	stop       string

	config    relay.Config
	banned    banList
	stopAfter time.Duration // 0 for never
}

func newRelay(s streams) *cobra.Command {
	var f common
	var m messages
	var h hosting
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Host a game that clients can join",
		Long: `Relay is the host of a game: clients of the game find it on the local network, or
join it by its address, and it lets them in and passes on what they send, as the
game's own dedicated server does. It does not simulate the game: ships are where
their players say that they are, and nobody counts kills.

What happens is said on standard error. With -T it is also reported message by
message, like live traffic, and with -w recorded. Ctrl-C takes leave of all
players and ends; a second Ctrl-C aborts. See docs/relay.md.`,
		Example: `  bcdissect relay --name 'Friday night' --system Poseidon
  bcdissect relay --listen 192.168.1.5:22102 --players 4 --password tranya
  bcdissect relay -w evening.pcapng -T table -Y Chat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(&f, cmd); err != nil {
				return err
			}
			if f.format.value == "none" && reportWanted(cmd) {
				f.format.value = "table"
			}
			cfg, err := f.config()
			if err != nil {
				return err
			}
			h.config.Catalog = cfg.Catalog
			if err := h.check(); err != nil {
				return err
			}
			return h.run(&f, s, cfg, func(out *output, start time.Time) (report.Sink, func(*counts) error) {
				return m.sink(&f, out, start, true)
			})
		},
	}
	h.define(cmd)
	f.defineReport(cmd, "none", "none", "table", "json", "histogram", "csv")
	m.define(&f, cmd)
	return cmd
}

// reportWanted tells whether a flag was given that makes sense for a report
// only.
func reportWanted(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{
		"output", "filter", "player", "object", "from", "to", "frames", "dir", "no-acks", "verbose", "hex", "payload",
	}, cmd.Flags().Changed)
}

func (h *hosting) define(cmd *cobra.Command) {
	h.mode = choice{relay.Playable.String(), []string{relay.Playable.String(), relay.Strict.String()}}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&h.listen, "listen", "l", ":"+gamePort, "address and UDP port to listen on; clients look for hosts on ports 22101 to 22201")
	fl.StringVar(&h.name, "name", "bcdissect", "name of the game in server lists")
	h.rules.define(cmd, "Mission1", "Multi1")
	fl.IntVar(&h.players, "players", 8, "how many can play, at most 16; the game's own hosts offer up to 8")
	fl.StringVar(&h.password, "password", "", "password that clients must give")
	fl.BoolVar(&h.collisions, "collisions", true, "collisions do damage")
	fl.Var(&h.mode, "mode", "strict passes on only what the game's own host does, which leaves out where ships are")
	fl.StringVarP(&h.write, "write", "w", "", "record all that comes and goes in this file, as pcapng")
	fl.StringVar(&h.bans, "bans", "", "file of addresses that are not let in, one a line, 255 for any number; read again on SIGHUP")
	fl.StringVar(&h.checksums, "checksums", "", "file of hashes that players' files must have; see docs/relay.md")
	fl.StringVar(&h.heartbeat, "heartbeat", "", "announce the game to the master server at HOST[:PORT]; by default nobody is told")
	fl.StringVarP(&h.stop, "autostop", "a", "", "stop at duration:SECONDS")
	h.mode.complete(cmd, "mode")
}

// check parses the flags.
func (h *hosting) check() (err error) {
	c := &h.config
	c.Name, c.Password, c.Players, c.Collisions = h.name, h.password, h.players, h.collisions
	for flag, text := range map[string]string{"--name": h.name, "--password": h.password} {
		if len([]rune(text)) > longest {
			return fmt.Errorf("%s: at most %d characters", flag, longest)
		}
	}
	if h.name == "" {
		return errors.New("--name: a game must have one")
	}
	if h.players < 1 || h.players > relay.MaxPlayers {
		return fmt.Errorf("--players %d: between 1 and %d can play", h.players, relay.MaxPlayers)
	}
	if err := h.rules.fill(c, true); err != nil {
		return err
	}
	c.Mode = relay.Playable
	if h.mode.value == relay.Strict.String() {
		c.Mode = relay.Strict
	}
	if h.stop != "" {
		var packets int
		if h.stopAfter, packets, err = autostop(h.stop); err != nil || packets > 0 {
			return fmt.Errorf("--autostop %s: want duration:SECONDS", h.stop)
		}
	}
	if h.bans != "" {
		if err := h.banned.load(h.bans); err != nil {
			return failed(err)
		}
		c.Banned = h.banned.holds
	}
	if h.checksums != "" {
		list, err := loadChecksums(h.checksums)
		if err != nil {
			return failed(err)
		}
		c.Check = list.check
	}
	return nil
}

// run hosts a game until something ends it.
func (h *hosting) run(f *common, s streams, cfg dissect.Config, makeSink sinkMaker) error {
	conn, err := listen(h.listen)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is written to it any more
	at := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	h.config.Map = mapOf(h.config.Mission)
	srv := newServer(conn, seenAs(at))
	if h.heartbeat != "" {
		if srv.master, err = masterOf(h.heartbeat); err != nil {
			return err
		}
	}
	reporting := f.format.value != "none"
	toTerminal := reporting && f.output == "" && isTerminal(s.out)
	srv.console = newConsole(s.err, f.noProgress || toTerminal)
	if h.write != "" {
		if err := srv.record(h.write); err != nil {
			return failed(err)
		}
	}
	h.config.Report = srv.event
	srv.name, srv.players = h.name, h.players
	srv.host = relay.NewHost(h.config)
	if h.bans != "" {
		srv.reload = func() (string, error) {
			err := h.banned.load(h.bans)
			return fmt.Sprintf("%d bans read from %s", len(h.banned), h.bans), err
		}
	}
	fmt.Fprintf(s.err, "bcdissect: hosting %s on %s (%s)\n", oneLine(strconv.Quote(h.name)), at, h.mode.value)
	stop := h.stopping()
	if !reporting {
		return srv.serve(stop)
	}

	cfg.Ports = []uint16{at.Port()}
	srv.feed = newFeed()
	ended := make(chan error, 1)
	quit := make(chan struct{})
	go func() {
		defer srv.feed.close()
		ended <- srv.serve(either(stop, quit))
	}()
	reported := f.report(s, cfg, srv.feed, makeSink)
	close(quit) // there may be nobody left to report to
	if err := <-ended; err != nil {
		return err
	}
	return reported
}

// either returns a channel that is closed when one of two is.
func either(a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		select {
		case <-a:
		case <-b:
		}
	}()
	return c
}

// stopping returns a channel that is closed when the user or the clock says
// that it is time to stop. A second interrupt finds no handler and ends the
// program.
func (h *hosting) stopping() <-chan struct{} {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stop := make(chan struct{})
	var clock <-chan time.Time
	if h.stopAfter > 0 {
		clock = time.After(h.stopAfter)
	}
	go func() {
		select {
		case <-signals:
		case <-clock:
		}
		signal.Stop(signals)
		close(stop)
	}()
	return stop
}

// mapOf returns what server lists call a mission. Of the game's own only the
// first has been seen there.
func mapOf(mission string) string {
	name := mission[strings.LastIndexByte(mission, '.')+1:]
	if name == "Mission1" {
		return "DM"
	}
	return name
}

// listen opens the socket. The game knows no IPv6.
func listen(address string) (*net.UDPConn, error) {
	if !strings.Contains(address, ":") {
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			address = ":" + address
		} else {
			address += ":" + gamePort
		}
	}
	at, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: want an address of this machine and a port, such as :22101 or 192.168.1.5:22101 (%w)", address, plainNetwork(err))
	}
	conn, err := net.ListenUDP("udp4", at)
	if err == nil {
		_ = conn.SetReadBuffer(socketBuffer) // the system may have its own opinion
		return conn, nil
	}
	err = plainNetwork(err)
	switch {
	case isErrno(err, syscall.EADDRINUSE, windowsInUse):
		next := at.Port%0xFFFF + 1
		return nil, failed(fmt.Errorf("port %d is in use, by another host or the game itself; end that, or choose another with --listen :%d", at.Port, next))
	case isErrno(err, syscall.EACCES, windowsNoAccess):
		return nil, failed(fmt.Errorf("no permission to listen on %s; ports from 1024 on need none, such as --listen :%s", at, gamePort))
	case isErrno(err, syscall.EADDRNOTAVAIL, windowsNoAddress):
		return nil, failed(fmt.Errorf("no interface of this machine has the address %s; --listen :%d listens on all", at.IP, at.Port))
	}
	return nil, failed(fmt.Errorf("--listen %s: %w", at, err))
}

// plainNetwork leaves out of an error what its message says anyway.
func plainNetwork(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		err = sys.Err
	}
	return err
}

// The numbers that Windows has for what sockets complain of.
const (
	windowsNoAccess  = 10013
	windowsTooLong   = 10040
	windowsInUse     = 10048
	windowsNoAddress = 10049
	windowsReset     = 10054
)

// isErrno reports whether an error is one of the system's.
func isErrno(err error, number, windows syscall.Errno) bool {
	return errors.Is(err, number) || onWindows && errors.Is(err, windows)
}

// seenAs returns the address that recordings give the host: the one it listens
// on, or if that is any, one of this machine.
func seenAs(at netip.AddrPort) netip.AddrPort {
	if !at.Addr().IsUnspecified() {
		return at
	}
	found := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.AddrPortFrom(found, at.Port())
	}
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return netip.AddrPortFrom(prefix.Addr(), at.Port())
		}
	}
	return netip.AddrPortFrom(found, at.Port())
}

// masterOf finds the master server.
func masterOf(text string) (netip.AddrPort, error) {
	if !strings.Contains(text, ":") {
		text += ":" + masterPort
	}
	at, err := net.ResolveUDPAddr("udp4", text)
	if err == nil && at.IP == nil {
		err = errors.New("a host is missing")
	}
	if err != nil {
		return netip.AddrPort{}, failed(fmt.Errorf("--heartbeat %s: %w", text, plainNetwork(err)))
	}
	port := at.AddrPort()
	return netip.AddrPortFrom(port.Addr().Unmap(), port.Port()), nil
}
