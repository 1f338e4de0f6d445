package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/control"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

const longest = 64 // characters of a game's name or password

// hosting are the flags of a host.
type hosting struct {
	running

	listen     string
	name       string
	rules      cli.GameRules
	players    int
	perAddress int
	password   string
	collisions bool
	mode       cli.Choice
	strangers  bool
	bans       string
	checksums  string
	heartbeat  string
	control    string
	metrics    string
	socket     string // path of the socket of relay ctl, set once it is open

	config relay.Config
}

func newRelay(s cli.Streams) *cobra.Command {
	var f cli.Common
	var h hosting
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Host a game that clients can join",
		Long: `Relay hosts a game as the game's own dedicated server does. Clients find it on
the local network or join by address, and relay forwards their messages. It does
not simulate the game: players tell where their ships are, and it counts no
kills.

Events go to standard error. With -T relay also reports every message, and with
-w it records them. Ctrl-C disconnects all players and ends the program. A
second Ctrl-C aborts.`,
		Example: `  # host a game in the system Poseidon
  bcdissect relay --name 'Friday night' --system Poseidon
  # host a game for four players who know the password
  bcdissect relay --listen 192.168.1.5:22102 --players 4 --password tranya
  # record the game, and read the chat meanwhile
  bcdissect relay -w evening.pcapng -T table -Y Chat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Format.Value == cli.FormNone && !cmd.Flags().Changed("format") && cli.WantsReport(cmd) {
				f.Format.Value = "table"
			}
			if err := h.messages.Check(&f, cmd); err != nil {
				return err
			}
			cfg, err := f.Config()
			if err != nil {
				return err
			}
			h.config.Catalog = cfg.Catalog
			h.config.PerAddress = slotsPerAddress(h.perAddress, cmd.Flags().Changed("per-address"))
			if err := h.checkGame(); err != nil {
				return err
			}
			if err := h.check(&f, h.bans, h.checksums); err != nil {
				return err
			}
			return h.run(&f, s, cfg)
		},
	}
	cmd.AddCommand(newControl(s))
	h.define(cmd)
	f.DefineReport(cmd, "none", "none", "table", "json", "histogram", "csv", "fields")
	h.messages.Define(&f, cmd)
	cli.Hide(cmd, "clear", "from", "to", "frames") // only for captures
	return cmd
}

func (h *hosting) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&h.listen, "listen", "l", ":"+server.GamePort, "`ADDRESS` and UDP port to listen on (clients look for hosts on 22101 to 22201)")
	fl.StringVar(&h.name, "name", "bcdissect", "`NAME` of the game in server lists")
	h.rules.Define(cmd, "Mission1", "Multi1")
	fl.IntVar(&h.players, "players", 8, "limit of `N` players, at most 16 (the game's own hosts offer up to 8)")
	fl.IntVar(&h.perAddress, "per-address", 4, "slots for the players of one address, such as those behind one router (default no limit for this computer)")
	fl.BoolVar(&h.config.Proof, "proof", false, "refuse players who do not prove their address all the time, such as OpenBC's test clients")
	fl.StringVar(&h.password, "password", "", "`PASSWORD` that clients must give")
	fl.BoolVar(&h.collisions, "collisions", true, "collisions do damage")
	h.mode.Define(cmd, "mode", "", "strict forwards as the game's own host does; playable also ship updates", relay.Playable.String(), relay.Playable.String(), relay.Strict.String())
	h.recording.Define(cmd, "record the game's datagrams in this `FILE`, as pcapng (%Y%m%d-%H%M%S is the time)")
	fl.BoolVar(&h.strangers, "strangers", false, "also record and report datagrams that the host ignores")
	fl.StringVar(&h.page, "session", "", "keep a page of the matches in this HTML `FILE`, written every minute")
	h.web.define(cmd)
	fl.StringVar(&h.bans, "bans", "", "`FILE` of banned addresses, one a line, 255 for any number (SIGHUP reads it again)")
	fl.StringVar(&h.checksums, "checksums", "", "`FILE` of hashes that players' files must have; see 'bcdissect help relay'")
	fl.StringVar(&h.control, "control", "", "`SOCKET` for 'relay ctl', or none (default PORT.sock in a folder of the user)")
	fl.StringVar(&h.metrics, "metrics", "", "serve metrics for Prometheus on this port or `ADDRESS`")
	h.defineUser(cmd)
	fl.StringVar(&h.heartbeat, "heartbeat", "", "announce the game to the master server at `HOST`[:PORT]")
}

// checkGame parses the flags.
func (h *hosting) checkGame() (err error) {
	c := &h.config
	c.Name, c.Password, c.Players, c.Collisions = h.name, h.password, h.players, h.collisions
	for flag, text := range map[string]string{"--name": h.name, "--password": h.password} {
		if len([]rune(text)) > longest {
			return fmt.Errorf("%s: at most %d characters", flag, longest)
		}
	}
	if h.name == "" {
		return errors.New("--name: give the game a name")
	}
	if h.players < 1 || h.players > relay.MaxPlayers {
		return fmt.Errorf("--players %d: between 1 and %d can play", h.players, relay.MaxPlayers)
	}
	if h.perAddress < 1 || h.perAddress > relay.MaxPlayers {
		return fmt.Errorf("--per-address %d: an address can have 1 to %d slots", h.perAddress, relay.MaxPlayers)
	}
	if err := h.rules.Fill(c, true); err != nil {
		return err
	}
	c.Mode = relay.Playable
	if h.mode.Value == relay.Strict.String() {
		c.Mode = relay.Strict
	}
	if err := h.recording.Check(time.Now()); err != nil {
		return err
	}
	if h.checksums != "" {
		list, err := server.LoadChecksums(h.checksums)
		if err != nil {
			return cli.Failed(err)
		}
		c.Check = list.Check
	}
	return nil
}

// run hosts a game until a limit, a signal or an error ends it.
func (h *hosting) run(f *cli.Common, s cli.Streams, cfg dissect.Config) (err error) {
	conn, err := server.Listen(h.listen)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing more is written to it
	at := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	h.config.Map = mapOf(h.config.Mission)
	srv := server.New(conn, server.SeenAs(at))
	metrics, err := h.listenMetrics()
	if err != nil {
		return err
	}
	if metrics != nil {
		defer func() { _ = metrics.Close() }() // it has no data to write
	}
	h.begin(&s, wantsStatus(f, s), h.bans != "")
	defer h.end(&err)
	if err := h.web.open(h.log); err != nil {
		return err
	}
	if err := h.giveUp(s); err != nil {
		return err
	}
	h.config.Banned = srv.Bans.Holds
	if srv.Bans.File = h.bans; h.bans != "" {
		if err := srv.Bans.Load(); err != nil {
			return cli.Failed(err)
		}
	}
	if h.heartbeat != "" {
		if srv.Master, err = server.Master(h.heartbeat); err != nil {
			return err
		}
	}
	log := h.log
	srv.Strangers = h.strangers
	if err := h.record(f, &srv.Recorder, "relay", "the host's traffic", h.bans, h.checksums); err != nil {
		return err
	}
	h.config.Report = srv.Event
	srv.Name, srv.Players = h.name, h.players
	h.config.Random, h.config.Public = unforeseen, true
	srv.Host = relay.NewHost(h.config)
	log.Say("hosting %q on %s (%s)", h.name, at, h.mode.Value)
	closeControl, err := h.openControl(srv, log, at.Port())
	if err != nil {
		return err
	}
	defer closeControl()
	if metrics != nil {
		log.Say("metrics on http://%s/metrics", metrics.Addr())
		srv.Metrics = true
		go func() {
			defer cli.Guard()
			srv.ServeMetrics(metrics)
		}()
	}
	if err := h.confine(f, s, h.bans, h.socket); err != nil {
		return err
	}
	if h.silent(f) {
		cli.LimitMemory(56 << 20) // the game also runs on machines with little memory
		return srv.Serve(h.interrupts.Stopped, h.interrupts.Reread)
	}

	cfg.Ports = []uint16{at.Port()}
	srv.Feed = server.NewFeed()
	serve := func(stop <-chan struct{}) error { return srv.Serve(stop, h.interrupts.Reread) }
	return h.serve(srv.Feed, h.interrupts.Stopped, serve, func() error { return reading.Report(f, s, cfg, srv.Feed, h.withPage(h.sinks(f))) })
}

// slotsPerAddress returns a function that limits the slots of an address.
// Players on this computer have no limit unless the user gave one.
func slotsPerAddress(n int, given bool) func(netip.Addr) int {
	return func(a netip.Addr) int {
		if a.IsLoopback() && !given {
			return relay.MaxPlayers
		}
		return n
	}
}

// listenMetrics opens the port of the metrics. It returns nil if the user gave
// none.
func (h *hosting) listenMetrics() (net.Listener, error) {
	if h.metrics == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	return server.ListenMetrics(h.metrics)
}

// unforeseen returns a cryptographically random number.
func unforeseen() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // crypto/rand never returns an error
	return binary.LittleEndian.Uint32(b[:])
}

// openControl opens the socket of relay ctl. If the default socket cannot be
// opened, the game is hosted without it.
func (h *hosting) openControl(srv *server.Server, log *cli.Log, port uint16) (closeControl func(), err error) {
	if h.control == "none" {
		return func() {}, nil
	}
	path := h.control
	if path == "" {
		path, err = control.Path(port)
	}
	var l *control.Listener
	if err == nil {
		l, err = control.Listen(path)
	}
	if err != nil && h.control != "" {
		return nil, cli.Failed(fmt.Errorf("--control %w", err))
	}
	if err != nil {
		log.Say("relay ctl cannot reach this host: %s; choose another socket with --control PATH", err.Error())
		return func() {}, nil
	}
	h.socket = path
	go func() {
		defer cli.Guard()
		l.Serve(srv.Handle)
	}()
	return l.Close, nil
}

// mapOf returns the name that server lists show for a mission. Of the missions
// of the original game, this name is known only for the first.
func mapOf(mission string) string {
	name := mission[strings.LastIndexByte(mission, '.')+1:]
	if name == "Mission1" {
		return "DM"
	}
	return name
}
