package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/cmd/internal/stage"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report/table"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// quickly is the time after which a run without --slow begins no further case.
const quickly = 80 * time.Second

// conforming are the flags of conform.
type conforming struct {
	format  cli.Choice
	color   cli.Choice
	profile cli.Choice
	output  string
	list    bool
	clients int
	slow    bool
	timeout time.Duration
	pass    string
	remote  bool
}

func newConform(s cli.Streams) *cobra.Command {
	var c conforming
	cmd := &cobra.Command{
		Use:   "conform HOST:PORT [ID|GROUP...]",
		Short: "Try a running host with a suite of cases",
		Long: `Conform connects scripted clients to a running host and tries numbered cases:
each is one rule of the game with its source. A failed case shows what was
expected and what came, and the command that repeats it. See docs/conform.md.

The game should be empty: other players change the results. The clients leave
when the run ends, and send at most 50 datagrams a second each, unless a case
needs more. The exit status is 4 if a case failed.`,
		Example: `  bcdissect conform localhost:22101
  bcdissect conform localhost:22101 J-5 R --profile playable
  bcdissect conform --list`,
		ValidArgsFunction: completeCases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckEffect(cmd, c.format.Value); err != nil {
				return err
			}
			switch {
			case c.list:
				return c.listed(s, args)
			case len(args) == 0:
				return errors.New("conform needs the address of a host as HOST:PORT, or --list")
			}
			if err := c.check(); err != nil {
				return err
			}
			return c.run(s, args[0], args[1:])
		},
	}
	c.define(cmd)
	return cmd
}

func (c *conforming) define(cmd *cobra.Command) {
	c.format = cli.NewChoice("table", "table", "json")
	c.color = cli.NewChoice("auto", "auto", "always", "never")
	c.profile = cli.NewChoice("stock", suite.Profiles()...)
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.VarP(&c.format, "format", "T", "form of the report")
	fl.StringVarP(&c.output, "output", "o", "", "write the report to this `FILE`")
	fl.BoolVar(&c.list, "list", false, "list the cases with their rules and sources")
	fl.Var(&c.profile, "profile", "kind of host: the rules to expect")
	fl.IntVar(&c.clients, "clients", 3, "`N` clients in the game, 2 to 8")
	fl.BoolVar(&c.slow, "slow", false, "also cases that take longer than 5 s")
	fl.DurationVar(&c.timeout, "timeout", 2*time.Second, "time to wait for an answer")
	fl.StringVar(&c.pass, "password", "", "`PASSWORD` of the game")
	fl.BoolVar(&c.remote, "yes-remote", false, "allow a remote host (ask its owner first)")
	fl.Var(&c.color, "color", "colours in the table")
	c.format.Complete(cmd, "format")
	c.profile.Complete(cmd, "profile")
	c.color.Complete(cmd, "color")
}

// completeCases offers ids and groups after the address.
func completeCases(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	list, err := cmd.Flags().GetBool("list")
	if len(args) == 0 && (err != nil || !list) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := suite.Groups()
	for _, c := range suite.Cases() {
		words = append(words, c.ID+"\t"+c.Title)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (c *conforming) check() error {
	const most = 8
	switch {
	case c.clients < 2 || c.clients > most:
		return fmt.Errorf("--clients %d: must be 2 to %d", c.clients, most)
	case c.timeout < 100*time.Millisecond || c.timeout > time.Minute:
		return fmt.Errorf("--timeout %v: must be 100ms to 1m", c.timeout)
	}
	return nil
}

// cases returns the cases that the words choose.
func cases(words []string) ([]*suite.Case, error) {
	list, unknown := suite.Select(words)
	if unknown != "" {
		return nil, fmt.Errorf("%s: no case and no group; choose from %s, or see bcdissect conform --list", unknown, strings.Join(suite.Groups(), ", "))
	}
	return list, nil
}

// listed lists the cases.
func (c *conforming) listed(s cli.Streams, words []string) error {
	list, err := cases(words)
	if err != nil {
		return err
	}
	out, err := cli.OpenOutput(c.output, s)
	if err != nil {
		return err
	}
	if c.format.Value == "json" {
		err = verdicts.List(out, list)
	} else {
		err = table.Cases(out.Text(), list)
	}
	return cli.Failed(errors.Join(err, out.Close()))
}

// run tries the cases on a host.
func (c *conforming) run(s cli.Streams, host string, words []string) error {
	list, err := cases(words)
	if err != nil {
		return err
	}
	to, err := stage.Target("conform", host, c.remote)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s.Graceful = true
	out, err := cli.OpenOutput(c.output, s)
	if err != nil {
		return err
	}
	repeat := "bcdissect conform " + host
	if c.profile.Value != "stock" {
		repeat += " --profile " + c.profile.Value
	}
	if c.pass != "" {
		repeat += " --password ..."
	}
	o := suite.Options{
		Cases: list, Profile: suite.ProfileOf(c.profile.Value), Clients: c.clients, Slow: c.slow || len(words) == 1 && len(list) == 1, Timeout: c.timeout,
		Password: c.pass, Seed: rand.Uint64(), Repeat: repeat, Stopped: func() bool { return ctx.Err() != nil },
	}
	if !c.slow {
		o.Budget = quickly
	}
	rep, err := suite.Run(sockets.New(ctx, to), o)
	if err != nil {
		return cli.Failed(errors.Join(err, out.Close()))
	}
	if c.format.Value == "json" {
		err = verdicts.JSON(out, rep)
	} else {
		err = table.Conform(out.Text(), rep, table.Options{Color: out.Colored(c.color.Value), ASCII: out.ASCII, Width: out.Width})
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return cli.Failed(err)
	}
	if !rep.Passed() {
		return &cli.StatusError{Code: cli.ExitDiffers}
	}
	return nil
}
