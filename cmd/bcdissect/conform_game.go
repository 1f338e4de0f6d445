package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/badline"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A gaming is the game of bots in a conform run.
type gaming struct {
	bots   int
	length time.Duration
	impair []string
	log    string // log of the impairment

	line [2]impair.Config
}

func (g *gaming) define(fl *pflag.FlagSet) {
	fl.IntVar(&g.bots, "bots", 0, "also a game of `N` bots, 1 to 16; see 'bcdissect help test-your-server'")
	fl.DurationVar(&g.length, "for", time.Minute, "with --bots: how long they play")
	fl.StringArrayVar(&g.impair, "impair", nil, "with --bots: make the line bad: `PROPERTIES` such as loss=5%,delay=40ms, repeatable")
	fl.StringVar(&g.log, "impair-log", "", "with --impair: log what happened to each datagram in this `FILE`, as JSON lines")
}

func (g *gaming) check(set func(flag string) bool) (err error) {
	switch {
	case set("bots") && (g.bots < 1 || g.bots > bots.MostBots):
		return fmt.Errorf("--bots %d: from 1 to %d can play", g.bots, bots.MostBots)
	case g.bots == 0 && (set("for") || set("impair")):
		return errors.New("--for and --impair need a game: add --bots 8")
	case g.log != "" && len(g.impair) == 0:
		return errors.New("--impair-log needs an impaired line: add --impair loss=5%")
	case g.length < leastRun || g.length > mostRun:
		return fmt.Errorf("--for %v: must be %v to %v", g.length, leastRun, mostRun)
	}
	if g.line, err = impair.Parse(g.impair); err != nil {
		return fmt.Errorf("--impair %w", err)
	}
	return nil
}

// judge returns the configuration to judge a game by.
func (c *conforming) judge() (cfg conform.Config) {
	switch suite.ProfileOf(c.profile.Value) {
	case suite.Playable:
		cfg.Game.Mode = relay.Playable
	case suite.OpenBC:
		cfg.Dialect = decode.OpenBC
	default:
		cfg.Against = decode.Stock
	}
	return cfg
}

// play adds a game of bots to a run.
func (c *conforming) play(ctx context.Context, s cli.Streams, o suite.Options, rep *suite.Report) (err error) {
	g := &c.game
	if g.bots == 0 || ctx.Err() != nil {
		return nil
	}
	if err := c.start.begin(ctx); err != nil {
		return err
	}
	progress := cli.NewProgress(s, c.quiet)
	defer progress.Done()
	options := badline.Options{
		Bots: bots.Options{
			Bots: g.bots, Seed: c.seed, For: g.length, Password: c.pass, Answers: o.Answers,
			Stopped: func() bool { return ctx.Err() != nil || c.start.gone() },
			Progress: func(inGame int, left time.Duration) {
				progress.Show(fmt.Sprintf("%d of %d bots in the game, %s left", inGame, g.bots, left.Round(time.Second)))
			},
		},
		Line: g.line, Judge: c.judge(), First: len(rep.Frames) + rep.Lost + 1,
	}
	if g.log != "" {
		out, failed := cli.OpenOutput(g.log, s)
		if failed != nil {
			return failed
		}
		options.Log = func(r impair.Report) {
			if failed == nil {
				failed = ndjson.Write(out, r)
			}
		}
		defer func() { err = errors.Join(err, failed, out.Close()) }()
	}
	begun := time.Now()
	played, err := badline.Play(sockets.New(ctx, c.start.to), options)
	if err != nil {
		add(rep, badline.Unplayed(err))
		return nil
	}
	took := time.Since(begun)
	rep.Took += took
	rep.Frames, rep.Lost = append(rep.Frames, played.Frames...), rep.Lost+played.Left
	if played.Bots.Stopped && ctx.Err() != nil {
		rep.Interrupt()
	}
	add(rep, played.Outcomes(took))
	for _, r := range played.Reports {
		rep.Findings, rep.Numbers = append(rep.Findings, r.Findings...), max(rep.Numbers, r.Numbers)
	}
	progress.Done()
	cli.Say(s.Err, "the game sent %s, of which the line lost %d", plural.Count(played.Passed+played.Lost, "datagram"), played.Lost)
	return nil
}

// add adds the outcomes of cases to a report.
func add(rep *suite.Report, all []suite.Outcome) {
	for _, one := range all {
		rep.Add(one)
	}
}
