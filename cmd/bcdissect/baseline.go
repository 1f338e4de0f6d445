package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
)

// baselining are the flags for the known mistakes of a host.
type baselining struct {
	name  string
	write bool
	known *result.Baseline // nil without a baseline
}

func (b *baselining) define(fl *pflag.FlagSet) {
	fl.StringVar(&b.name, "baseline", "", "accept what this `FILE` lists, and fail only on more; see 'bcdissect help replay'")
	fl.BoolVar(&b.write, "write-baseline", false, "write what was found to the file of --baseline, and accept it")
}

// open reads the baseline. It is called before any other input is read.
func (b *baselining) open(stdin io.Reader, inputs ...string) error {
	switch {
	case b.write && b.name == "":
		return errors.New("--write-baseline needs a file: --baseline FILE")
	case b.write:
		return cli.CheckInput("--baseline", b.name, stdin, inputs...)
	case b.name == "":
		return nil
	}
	f, err := os.Open(b.name)
	if err != nil {
		return cli.Failed(cli.PlainPath(b.name, err))
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
	if b.known, err = result.ReadBaseline(f); err != nil {
		return cli.Failed(cli.PlainPath(b.name, err))
	}
	return nil
}

// settle compares the mistakes with the baseline. If the user wants a new
// baseline, settle writes it first.
func (b *baselining) settle(s cli.Streams, found func() *result.Baseline, judge func(*result.Baseline)) error {
	if b.write {
		b.known = found()
		if err := cli.WriteOutput(b.name, s, func(out *cli.Output) error { return b.known.Write(out) }); err != nil {
			return err
		}
		cli.Say(s.Err, "%s: %s", b.name, plural.Count(len(b.known.Accepted), "accepted cause"))
	}
	if b.known != nil {
		judge(b.known)
	}
	return nil
}
