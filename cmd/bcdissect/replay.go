package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/stage"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// replaying are the flags of replay.
type replaying struct {
	cli.Common
	against cli.Choice
	mode    cli.Choice
	only    cli.Choice
	rules   cli.GameRules
	known   baselining
	players int
	to      string
	hashes  string
	speed   float64
	remote  bool
	verbose bool
	joins   bool

	shortest string // file of --minimize

	cfg conform.Config
}

func newReplay(s cli.Streams) *cobra.Command {
	var r replaying
	cmd := &cobra.Command{
		Use:     "replay FILE...",
		Aliases: []string{"check"},
		Short:   "Compare a captured host with a model of the original",
		Long: `Replay finds the host and its clients in a capture, and plays the clients'
messages to a model of the host. For each client, it compares what the model
sends with what the captured host sent. It reports the causes of the
differences, a table of all messages, the rules that every stock host keeps, and
the delay of copies. -V lists every difference with its frame.

If the host is of a known kind, such as OpenBC, replay takes a model of that
kind. It names documented differences and does not count them. --against stock
compares with the stock game's host. Messages from a host's own simulation
cannot be compared.

--handshake draws the join of each client as a ladder: its messages with their
times, and where and why it stopped.

--to plays the clients of the capture to a running host over UDP, at the speed
of the capture or --speed times as fast. Each client has its own socket, and
takes the ids and slots that this host gives it. Replay then compares the
messages of this host.

--minimize writes a capture of the first fault in the report, without frames
that the fault does not need. Read it, or send it to the author of the host.

With --baseline FILE, the check fails only for differences that FILE does not
list. --write-baseline writes this file.

Replay takes the rules of the game from the capture unless a flag sets them. The
exit status is 4 if there are differences, or findings about numbers and
acknowledgements. --only content ignores these findings. With --against stock,
documented differences count.`,
		Example: `  # see what a captured host does otherwise than the game's host
  bcdissect replay evening.pcap
  # count documented differences of its kind, such as OpenBC's, as well
  bcdissect replay evening.pcap --against stock
  # see where each client's join stopped
  bcdissect replay evening.pcap --handshake
  # get the differences for a program
  bcdissect replay evening.pcap -T json | jq '.differences[]'
  # make a short capture that shows the first fault
  bcdissect replay evening.pcap --minimize fault.pcapng
  # play the captured clients to your server, four times as fast
  bcdissect replay evening.pcap --to localhost:22101 --speed 4`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: r.CheckForm,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(cmd); err != nil {
				return err
			}
			if err := r.known.open(s.In, args...); err != nil {
				return err
			}
			if err := r.checkShortest(s, args); err != nil {
				return err
			}
			switch {
			case r.joins:
				return r.handshake(s, args)
			case r.to != "":
				return r.perform(s, args)
			}
			verdict := r.read(s, args)
			if r.shortest != "" && (verdict == nil || cli.StatusOf(verdict) == cli.ExitDiffers) {
				if err := r.minimize(s, args); err != nil {
					return err
				}
			}
			return verdict
		},
	}
	r.define(cmd)
	return cmd
}

func (r *replaying) define(cmd *cobra.Command) {
	r.DefineFormat(cmd, "table", "table", "json")
	fl := cmd.Flags()
	r.against.Define(cmd, "against", "", "expected host; auto = the captured host's dialect", "auto", "auto", "stock", "openbc")
	r.mode.Define(cmd, "mode", "", "model host: strict, or playable (forwards ship updates)", "strict", "strict", "playable")
	r.rules.Define(cmd, "", "")
	r.only.Define(cmd, "only", "", "judge all, or only the contents of messages", "all", "all", "content")
	fl.IntVar(&r.players, "player-limit", 0, "limit of `N` players, 1 to 16")
	fl.StringVar(&r.to, "to", "", "play the clients to the host at `HOST:PORT` and compare its messages")
	fl.Float64Var(&r.speed, "speed", 1, "with --to: playback speed (1 = real time)")
	fl.StringVar(&r.hashes, "checksums", "", "with --to: `FILE` of hashes that the clients' files have; see 'bcdissect help conform'")
	r.known.define(fl)
	fl.StringVar(&r.shortest, "minimize", "", "write the shortest capture that still shows a fault to this `FILE`")
	fl.BoolVarP(&r.verbose, "verbose", "V", false, "table: each difference with its frame and fields")
	fl.BoolVar(&r.joins, "handshake", false, "draw each client's join as a ladder, with where it stopped")
	fl.BoolVar(&r.remote, "yes-remote", false, "with --to: allow a remote host (ask its owner first)")
	r.DefinePorts(cmd)
	r.DefineReading(cmd)
	r.DefineJobs(cmd)
}

// check makes the configuration from the flags.
func (r *replaying) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	switch {
	case set("player-limit") && (r.players < 1 || r.players > relay.MaxPlayers):
		return fmt.Errorf("--player-limit %d: from 1 to %d can play", r.players, relay.MaxPlayers)
	case r.joins && r.known.name != "":
		return errors.New("--handshake finds no differences; drop it or --baseline")
	case r.joins && r.to != "":
		return errors.New("--handshake shows a capture; drop it or --to")
	case r.to == "" && (set("speed") || set("yes-remote") || set("checksums")):
		return errors.New("--speed, --checksums and --yes-remote work only with --to; add --to HOST:PORT")
	case !(r.speed > 0 && r.speed <= stage.MaxSpeed):
		return fmt.Errorf("--speed %v: must be more than 0 and not more than %d", r.speed, stage.MaxSpeed)
	}
	r.cfg = conform.Config{Game: relay.Config{Players: r.players}}
	game := &r.cfg.Game
	if err := r.rules.Fill(game, false); err != nil {
		return err
	}
	for flag, limit := range map[string]*uint8{"time-limit": &game.TimeLimit, "frag-limit": &game.FragLimit} {
		if !set(flag) {
			*limit = 0 // the capture shows it
		}
	}
	if r.mode.Value == "playable" {
		r.cfg.Game.Mode = relay.Playable
	}
	r.cfg.OnlyContent = r.only.Value == "content"
	r.cfg.Against, r.cfg.Dialect = cli.DialectOf(&r.against), cli.DialectOf(&r.Dialect)
	var err error
	r.cfg.Catalog, err = r.Catalog()
	return err
}

// memory is the heap size in bytes above which garbage is collected more often.
const memory = 52 << 20

// read compares captures.
func (r *replaying) read(s cli.Streams, names []string) error {
	cli.LimitMemory(memory)
	var verdict error
	hosts := conform.NewHosts(r.cfg)
	err := summarize(&r.Common, s, names, hosts, func(out *cli.Output, o table.Options, _ *reading.Counts) (err error) {
		verdict, err = r.write(s, out, o, hosts)
		return err
	})
	if err != nil {
		return err
	}
	return verdict
}

// write writes the reports and returns the verdict for the exit status.
func (r *replaying) write(s cli.Streams, out *cli.Output, o table.Options, hosts *conform.Hosts) (verdict, err error) {
	reports, passed := hosts.Reports()
	if len(reports) == 0 {
		return nil, errors.New("found no host and no client of the game; is it a capture of the game?")
	}
	if passed > 0 {
		fmt.Fprintf(s.Err, plural.Form(passed, "bcdissect: %d {message was|messages were} skipped: more than %d hosts; choose one with --port\n"), passed, conform.MaxHosts)
	}
	err = r.known.settle(s, func() *result.Baseline { return result.BaselineOf(reports) }, func(b *result.Baseline) { b.Judge(reports) })
	if err != nil {
		return nil, err
	}
	for i, rep := range reports {
		if !rep.Conforms() {
			verdict = &cli.StatusError{Code: cli.ExitDiffers}
		}
		if r.Format.Value == "json" {
			err = ndjson.Replay(out, rep)
		} else {
			if i > 0 {
				if _, err = out.Write([]byte("\n\n")); err != nil {
					return verdict, err
				}
			}
			o.Verbose = r.verbose
			err = table.Replay(out.Text(), rep, o)
		}
		if err != nil {
			return verdict, err
		}
	}
	return verdict, nil
}

// handshake writes the joins in captures.
func (r *replaying) handshake(s cli.Streams, names []string) error {
	joins := measure.NewJoins()
	return summarize(&r.Common, s, names, joins, func(out *cli.Output, o table.Options, _ *reading.Counts) error {
		if len(joins.All) == 0 {
			return errors.New("no client connects in the capture, so there is no handshake to show")
		}
		if joins.Passed > 0 {
			fmt.Fprintf(s.Err, plural.Form(joins.Passed, "bcdissect: %d {join is|joins are} not shown: there are too many\n"), joins.Passed)
		}
		if r.Format.Value != "json" {
			return table.Handshake(out.Text(), joins.All, o)
		}
		for _, j := range joins.All {
			if err := ndjson.Handshake(out, j); err != nil {
				return err
			}
		}
		return nil
	})
}

// perform plays the clients of captures to a host over UDP.
func (r *replaying) perform(s cli.Streams, names []string) error {
	to, err := stage.Target("--to", r.to, r.remote)
	if err != nil {
		return err
	}
	answers, err := answersOf(r.hashes)
	if err != nil {
		return err
	}
	interrupts := cli.NewInterrupts(s, 0, false)
	defer interrupts.Close()
	ctx := interrupts.Context()
	s.Graceful = true
	var verdict error
	st := stage.New(ctx, to, r.speed, r.cfg, answers)
	defer st.Shut()
	err = summarize(&r.Common, s, names, st, func(out *cli.Output, o table.Options, _ *reading.Counts) (err error) {
		for _, text := range st.Complaints() {
			cli.Say(s.Err, "%s", text)
		}
		broken := st.Failure()
		verdict, err = r.write(s, out, o, st.Hosts)
		switch {
		case err != nil:
			return errors.Join(broken, err)
		case broken != nil && verdict == nil:
			verdict = cli.Failed(broken)
		case broken != nil: // the exit status reports the differences
			cli.Say(s.Err, "%v", broken)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return verdict
}

// answersOf reads the hashes of the clients' files from the file, if one was
// given.
func answersOf(file string) (map[uint8]*msg.ChecksumResponse, error) {
	if file == "" {
		return nil, nil
	}
	answers, err := server.LoadAnswers(file)
	return answers, cli.Failed(err)
}
