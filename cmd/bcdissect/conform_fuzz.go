package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
)

// A fuzzing is the part of a conform run that tries mutated messages.
type fuzzing struct {
	length time.Duration
	keep   string
	again  string
}

func (z *fuzzing) define(fl *pflag.FlagSet) {
	fl.DurationVar(&z.length, "fuzz", 0, "also send mutated messages for this `TIME`; see 'bcdissect help test-your-server'")
	fl.StringVar(&z.keep, "keep", "fuzz.txt", "with --fuzz: keep the input that stops the server in this `FILE`")
	fl.StringVar(&z.again, "again", "", "with --fuzz: send the input of this `FILE` once, and no other")
}

func (z *fuzzing) check(set func(flag string) bool) error {
	switch {
	case z.length == 0 && (set("keep") || set("again")):
		return errors.New("--keep and --again are about mutated messages: add --fuzz 1m")
	case set("fuzz") && (z.length < leastRun || z.length > mostRun):
		return fmt.Errorf("--fuzz %v: must be %v to %v", z.length, leastRun, mostRun)
	}
	return cli.CheckDistinct("--keep", z.keep, "--again", z.again)
}

// mutate adds mutated messages to a run.
func (c *conforming) mutate(ctx context.Context, s cli.Streams, o suite.Options, rep *suite.Report) error {
	z := &c.fuzz
	if z.length == 0 || ctx.Err() != nil {
		return nil
	}
	how := suite.Fuzzing{For: z.length, Seed: c.seed, First: len(rep.Frames) + rep.Lost + 1}
	if z.again != "" {
		text, err := cli.ReadDefinitions(z.again)
		if err == nil {
			how.Again, err = suite.ReadSteps(bytes.NewReader(text))
		}
		if err != nil {
			return cli.PlainPath(z.again, err)
		}
	}
	if err := c.start.begin(ctx); err != nil {
		return err
	}
	if c.start.command != "" {
		said := false
		how.Restart = func() (suite.Driver, error) {
			if !said && c.start.server != nil { // the server stopped for the first time
				said = true
				_ = c.start.died() // its last words may come a moment later
				c.start.quote()
			}
			c.start.end()
			return sockets.New(ctx, c.start.to), c.start.begin(ctx)
		}
	}
	progress := cli.NewProgress(s, c.quiet)
	defer progress.Done()
	how.Sent = func(steps int) { progress.Show(plural.Count(steps, "mutated message") + " sent") }
	begun := time.Now()
	fuzzed, err := suite.Fuzz(sockets.New(ctx, c.start.to), o, how)
	took := time.Since(begun)
	rep.Took += took
	if err != nil {
		rep.Add(suite.Outcome{ID: "F-1", Skip: err.Error(), Took: took})
		return nil
	}
	rep.Frames, rep.Lost = append(rep.Frames, fuzzed.Frames...), rep.Lost+fuzzed.Lost
	rep.Add(fuzzed.Outcome(took))
	if ctx.Err() != nil {
		rep.Interrupt()
	}
	progress.Done()
	if fuzzed.Input == nil {
		cli.Say(s.Err, "fuzzing: the server answers after %s", plural.Count(fuzzed.Steps, "mutated message"))
		return nil
	}
	return c.keepInput(s, fuzzed)
}

// keepInput writes the input that stopped the server.
func (c *conforming) keepInput(s cli.Streams, fuzzed *suite.Fuzzed) error {
	err := cli.WriteOutput(c.fuzz.keep, s, func(out *cli.Output) error {
		for _, step := range fuzzed.Input {
			if _, err := fmt.Fprintln(out, step); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		cli.Say(s.Err, "%s: the input that stops the server, %s of %d; add --fuzz 1s --again %s to send it once more",
			c.fuzz.keep, plural.Count(len(fuzzed.Input), "datagram"), fuzzed.Steps, quoted(c.fuzz.keep))
	}
	return err
}
