package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/report/csv"
)

// A choice is a flag whose value is one of a few words.
type choice struct {
	value string
	words []string
}

func (c *choice) String() string { return c.value }

// Type returns the words as help shows them.
func (c *choice) Type() string { return strings.Join(c.words, "|") }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.words, ", "))
	}
	c.value = s
	return nil
}

// complete offers the words to the shell.
func (c *choice) complete(cmd *cobra.Command, flag string) {
	// The error is that the flag does not exist, which the caller has just
	// defined.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
}

// common are the flags of every command that reads traffic.
type common struct {
	format     choice
	dialect    choice
	color      choice
	ports      []uint
	output     string
	count      int
	jobs       int
	strict     bool
	verify     bool
	noProgress bool
	columns    []string // of csv
	definitions
	selection
}

func (f *common) define(cmd *cobra.Command, format string, formats ...string) {
	f.defineReport(cmd, format, formats...)
	fl := cmd.Flags()
	fl.IntVarP(&f.count, "count", "c", 0, "stop after this many records; 0 for all")
	f.definePorts(cmd)
	fl.BoolVar(&f.verify, "verify", false, "encode every message and datagram anew and report what differs")
	fl.BoolVar(&f.strict, "strict", false, "exit with status 5 if anything was malformed, or differs under --verify")
}

// defineReport defines the flags of what is reported and how.
func (f *common) defineReport(cmd *cobra.Command, format string, formats ...string) {
	f.form(cmd, format, formats...)
	f.reading(cmd)
	f.selection.define(cmd)
}

// form defines the flag that chooses the form of the report.
func (f *common) form(cmd *cobra.Command, format string, formats ...string) {
	f.format = choice{format, formats}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.VarP(&f.format, "format", "T", "form of the report")
	f.format.complete(cmd, "format")
}

// definePorts defines the flag of the ports that are the game's.
func (f *common) definePorts(cmd *cobra.Command) {
	cmd.Flags().UintSliceVarP(&f.ports, "port", "p", nil, "host port, repeatable; by default the game is recognised by content on any UDP port")
}

// reading defines the flags of every command that decodes traffic.
func (f *common) reading(cmd *cobra.Command) {
	f.dialect = choice{"auto", []string{"auto", "stock", "openbc"}}
	f.color = choice{"auto", []string{"auto", "always", "never"}}
	fl := cmd.Flags()
	fl.Var(&f.dialect, "dialect", "how every sender is taken to write")
	fl.StringVarP(&f.output, "output", "o", "", "write the report to this file")
	fl.Var(&f.color, "color", "colour in the report; NO_COLOR is respected, too")
	fl.IntVarP(&f.jobs, "jobs", "j", 0, "how many processors to use; 0 for as many as are useful")
	fl.BoolVar(&f.noProgress, "no-progress", false, "do not draw progress on standard error")
	f.definitions.define(cmd)
	f.dialect.complete(cmd, "dialect")
	f.color.complete(cmd, "color")
}

// config returns the pipeline's configuration.
func (f *common) config() (dissect.Config, error) {
	var cfg dissect.Config
	for _, p := range f.ports {
		if p == 0 || p > 0xFFFF {
			return cfg, fmt.Errorf("--port %d: ports go from 1 to 65535", p)
		}
		cfg.Ports = append(cfg.Ports, uint16(p))
	}
	if f.count < 0 {
		return cfg, fmt.Errorf("--count %d: cannot be negative", f.count)
	}
	if f.jobs < 0 || f.jobs > mostJobs {
		return cfg, fmt.Errorf("--jobs %d: give 1 to %d, or 0 for as many as are useful here", f.jobs, mostJobs)
	}
	if len(f.defined) > 0 {
		var err error
		if cfg.Catalog, err = f.catalog(); err != nil {
			return cfg, err
		}
	}
	if err := f.check(cfg.Catalog); err != nil {
		return cfg, err
	}
	for _, c := range f.columns {
		if _, err := compileFilter("--fields", c, cfg.Catalog); err != nil {
			return cfg, err
		}
		if err := csv.Check(c, filter.Names(cfg.Catalog)); err != nil {
			return cfg, fmt.Errorf("--fields %s: %w", c, err)
		}
	}
	switch f.dialect.value {
	case "stock":
		cfg.Dialect = decode.Stock
	case "openbc":
		cfg.Dialect = decode.OpenBC
	}
	return cfg, nil
}
