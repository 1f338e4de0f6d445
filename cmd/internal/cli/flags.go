package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/report/csv"
)

const mostJobs = 64

// Common are the flags of every command that reads traffic.
type Common struct {
	Format     Choice
	Dialect    Choice
	Color      Choice
	ports      []uint
	Output     string
	Count      int
	Jobs       int
	Strict     bool
	Verify     bool
	NoProgress bool
	NoNames    bool
	Columns    []string // columns of csv, fields and json
	clear      bool
	Definitions
	Selection
}

// Define defines the flags.
func (f *Common) Define(cmd *cobra.Command, format string, formats ...string) {
	f.DefineReport(cmd, format, formats...)
	fl := cmd.Flags()
	fl.IntVarP(&f.Count, "count", "c", 0, "stop after `N` records (0 = all)")
	f.DefinePorts(cmd)
	fl.BoolVar(&f.Verify, "verify", false, "encode everything anew and report differences")
	fl.BoolVar(&f.Strict, "strict", false, "exit with status 5 if anything is malformed, or differs with --verify")
}

// DefineReport defines the flags that select records and their form.
func (f *Common) DefineReport(cmd *cobra.Command, format string, formats ...string) {
	f.DefineFormat(cmd, format, formats...)
	f.DefineReading(cmd)
	f.defineSelection(cmd)
}

// defineSelection defines the flags that select records, with shell completion
// of their values.
func (f *Common) defineSelection(cmd *cobra.Command) {
	f.DefineSelection(cmd)
	f.completeFilter(cmd, "filter", filterPresets)
	f.completePlayer(cmd)
}

// CheckForm returns an error for flags that have no effect on the form of the
// report.
func (f *Common) CheckForm(cmd *cobra.Command, _ []string) error {
	return CheckEffect(cmd, f.Format.Value)
}

// DefineFormat defines the flag that chooses the form of the report.
func (f *Common) DefineFormat(cmd *cobra.Command, format string, formats ...string) {
	cmd.Flags().SortFlags = false
	f.Format.Define(cmd, "format", "T", "form of the report", format, formats...)
}

// DefinePorts defines the flag for the ports of the game.
func (f *Common) DefinePorts(cmd *cobra.Command) {
	cmd.Flags().UintSliceVarP(&f.ports, "port", "p", nil, "host `PORT`, repeatable; without it the game is recognised by content")
}

// DefineReading defines the flags of all commands that decode traffic.
func (f *Common) DefineReading(cmd *cobra.Command) {
	f.DefineDecoding(cmd)
	f.DefineOutput(cmd)
}

// DefineOutput defines the flags of all commands that write a report.
func (f *Common) DefineOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.Output, "output", "o", "", "write the report to this `FILE`")
	DefineColor(cmd, &f.Color, "colour in the report (NO_COLOR turns it off)")
}

// DefineColor defines the flag that chooses colours.
func DefineColor(cmd *cobra.Command, c *Choice, usage string) {
	c.Define(cmd, "color", "", usage, "auto", "auto", "always", "never")
}

var dialects = map[string]decode.Dialect{"stock": decode.Stock, "openbc": decode.OpenBC}

// DialectOf returns the dialect that a choice names. For auto it is undecided.
func DialectOf(c *Choice) decode.Dialect { return dialects[c.Value] }

// DefineDialect defines the flag for the dialect of senders.
func (f *Common) DefineDialect(cmd *cobra.Command, usage string) {
	f.Dialect.Define(cmd, "dialect", "", usage, "auto", "auto", "stock", "openbc")
}

// DefineDecoding defines the flags that control how traffic is decoded.
func (f *Common) DefineDecoding(cmd *cobra.Command) {
	f.defineSenders(cmd)
	cmd.Flags().BoolVar(&f.NoProgress, "no-progress", false, "do not draw progress on standard error")
}

// defineSenders defines the flags that describe how senders encode messages.
func (f *Common) defineSenders(cmd *cobra.Command) {
	f.DefineDialect(cmd, "dialect to assume for all senders")
	cmd.Flags().BoolVar(&f.clear, "clear", false, "all datagrams are deciphered already")
	f.Definitions.Define(cmd)
}

// DefineScreen defines the flags of a full-screen command that shows selected
// records.
func (f *Common) DefineScreen(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	f.defineSenders(cmd)
	DefineColor(cmd, &f.Color, "colour on the screen (NO_COLOR turns it off)")
	f.defineSelection(cmd)
	f.DefinePorts(cmd)
}

// DefineJobs defines the flag for the number of processors to use.
func (f *Common) DefineJobs(cmd *cobra.Command) {
	cmd.Flags().IntVarP(&f.Jobs, "jobs", "j", 0, "use `N` processors (0 = automatic)")
}

// Clear reports whether all datagrams are treated as already deciphered.
func (f *Common) Clear() bool { return f.clear }

// OnPorts returns text such as " on port 1" for the ports that the user gave,
// or "" for none.
func (f *Common) OnPorts() string {
	if len(f.ports) == 0 {
		return ""
	}
	list := make([]string, len(f.ports))
	for i, p := range f.ports {
		list[i] = strconv.FormatUint(uint64(p), 10)
	}
	return " on port " + strings.Join(list, ", ")
}

// Config returns the pipeline's configuration.
func (f *Common) Config() (dissect.Config, error) {
	cfg := dissect.Config{Clear: f.clear}
	for _, p := range f.ports {
		if p == 0 || p > 0xFFFF {
			return cfg, fmt.Errorf("--port %d: ports go from 1 to 65535", p)
		}
		cfg.Ports = append(cfg.Ports, uint16(p))
	}
	if f.Count < 0 {
		return cfg, fmt.Errorf("--count %d: cannot be negative", f.Count)
	}
	if f.Jobs < 0 || f.Jobs > mostJobs {
		return cfg, fmt.Errorf("--jobs %d: give 1 to %d, or 0 for automatic", f.Jobs, mostJobs)
	}
	config, err := f.Configuration()
	if err != nil {
		return cfg, err
	}
	if len(f.Defined) > 0 {
		if cfg.Catalog, err = f.Catalog(); err != nil {
			return cfg, err
		}
	}
	if f.expression, err = config.Filter("--filter", f.expression, cfg.Catalog); err != nil {
		return cfg, err
	}
	if f.Columns, err = config.Expand("--fields", f.Columns); err != nil {
		return cfg, err
	}
	if err := f.check(cfg.Catalog); err != nil {
		return cfg, err
	}
	for _, c := range f.Columns {
		if err := checkColumn("--fields", c, cfg.Catalog); err != nil {
			return cfg, err
		}
	}
	cfg.Dialect = DialectOf(&f.Dialect)
	return cfg, nil
}

// checkColumn returns an error unless a column has the name.
func checkColumn(flag, name string, catalog *decode.Catalog) error {
	if err := ofFilter(flag, filter.CheckColumn(name, catalog)); err != nil {
		return err
	}
	if err := csv.Check(name, filter.Names(catalog)); err != nil {
		return fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return nil
}
