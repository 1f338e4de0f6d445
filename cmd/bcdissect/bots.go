package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/cmd/internal/stage"
	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// The limits of a run of bots.
const (
	leastRun = time.Second
	mostRun  = 24 * time.Hour
)

// botting are the flags of bots.
type botting struct {
	format  cli.Choice
	color   cli.Choice
	dialect cli.Choice
	output  string
	n       int
	seed    uint64
	length  time.Duration
	script  string
	pass    string
	hashes  string
	remote  bool
	quiet   bool
}

func newBots(s cli.Streams) *cobra.Command {
	var b botting
	cmd := &cobra.Command{
		Use:   "bots HOST:PORT",
		Short: "Play scripted players on your server, and measure how the game feels",
		Long: `Bots joins your server with scripted players. They fly, fire, hit, talk, die,
leave and come back. At the end, or on Ctrl-C, you see what real players would
feel: how long joins and chat took, how long ships stood still, and which ship
updates and chat lines never came.

Without --script, the bots play the game that --seed chooses. The same seed
makes the same game. A script names each step.

At most 16 bots play at once. In a second, a bot sends ten ship updates and at
most 20 other actions, and never more than 200 datagrams.`,
		Example: `  # let four bots play for a minute
  bcdissect bots localhost:22101
  # let eight bots play a game that you can repeat
  bcdissect bots localhost:22101 -n 8 --seed 7 --for 5m
  # play your own script, and keep the report for a program
  bcdissect bots localhost:22101 --script duel.toml -T json -o felt.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckEffect(cmd, b.format.Value); err != nil {
				return err
			}
			switch {
			case b.n < 1 || b.n > bots.MostBots:
				return fmt.Errorf("-n %d: from 1 to %d can play", b.n, bots.MostBots)
			case b.length < leastRun || b.length > mostRun:
				return fmt.Errorf("--for %v: must be %v to %v", b.length, leastRun, mostRun)
			}
			return b.run(s, args[0], cmd.Flags().Changed("bots"))
		},
	}
	b.format = cli.NewChoice("table", "table", "json")
	b.color = cli.NewChoice("auto", "auto", "always", "never")
	b.dialect = cli.NewChoice("stock", "stock", "openbc", "mixed")
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVarP(&b.n, "bots", "n", 4, "`N` bots, 1 to 16 (default with --script: all bots in it)")
	fl.Uint64Var(&b.seed, "seed", 1, "`NUMBER` that chooses what the bots do")
	fl.DurationVar(&b.length, "for", time.Minute, "how long to play")
	fl.StringVar(&b.script, "script", "", "TOML `FILE` with the steps of each bot")
	fl.Var(&b.dialect, "dialect", "how the bots write (mixed: by turns)")
	fl.StringVar(&b.pass, "password", "", "`PASSWORD` of the game")
	fl.StringVar(&b.hashes, "checksums", "", "`FILE` of hashes that the bots' files have; see 'bcdissect help conform'")
	fl.BoolVar(&b.remote, "yes-remote", false, "allow a remote host (ask its owner first)")
	fl.VarP(&b.format, "format", "T", "form of the report")
	fl.StringVarP(&b.output, "output", "o", "", "write the report to this `FILE`")
	fl.Var(&b.color, "color", "colours in the table")
	fl.BoolVar(&b.quiet, "no-progress", false, "do not draw progress on standard error")
	_ = cmd.MarkFlagFilename("script", "toml") // the only error is that the flag does not exist
	b.format.Complete(cmd, "format")
	b.color.Complete(cmd, "color")
	b.dialect.Complete(cmd, "dialect")
	return cmd
}

// options returns the options for the bots.
func (b *botting) options(given bool) (o bots.Options, err error) {
	o = bots.Options{Bots: b.n, Seed: b.seed, For: b.length, Dialect: b.dialect.Value, Password: b.pass}
	if b.script != "" {
		data, err := cli.ReadDefinitions(b.script)
		if err != nil {
			return o, cli.Failed(cli.PlainPath(b.script, err))
		}
		if o.Scripts, err = bots.ReadScripts(modfile.File{Name: b.script, Data: data}); err != nil {
			return o, cli.Failed(err)
		}
		if !given {
			o.Bots = len(o.Scripts)
		}
	}
	o.Answers, err = answersOf(b.hashes)
	return o, err
}

// run runs the bots and writes the report.
func (b *botting) run(s cli.Streams, host string, given bool) error {
	to, err := stage.Target("bots", host, b.remote)
	if err != nil {
		return err
	}
	if err := cli.CheckOverwrite(b.output, s.In, b.script, b.hashes); err != nil {
		return err
	}
	o, err := b.options(given)
	if err != nil {
		return err
	}
	interrupts := cli.NewInterrupts(s, 0, false).Lenient()
	defer interrupts.Close()
	s.Graceful = true
	out, err := cli.OpenOutput(b.output, s)
	if err != nil {
		return err
	}
	progress := cli.NewProgress(s, b.quiet)
	progress.Show("no answer yet")
	o.Progress = func(inGame int, left time.Duration) {
		progress.Show(fmt.Sprintf("%d of %d in the game, %s left", inGame, o.Bots, left.Round(time.Second)))
	}
	ctx := interrupts.Context()
	o.Stopped = func() bool { return ctx.Err() != nil }
	rep, err := bots.Run(sockets.New(ctx, to), o)
	progress.Done()
	if err != nil {
		return cli.Failed(errors.Join(err, out.Discard()))
	}
	if b.format.Value == "json" {
		err = ndjson.Write(out, rep)
	} else {
		err = table.Bots(out.Text(), rep, look(out, &b.color))
	}
	return cli.Failed(errors.Join(err, out.Close()))
}
