package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/filter"
)

// completeFilter makes the shell complete an expression with keys, fields,
// values and the presets of the configuration file. It completes a column in
// the same way.
func (f *Common) completeFilter(cmd *cobra.Command, flag string, presets func(*Config) []modfile.Setting) {
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		f.Defined = once(f.Defined)
		return f.continuations(begun, presets), directive
	})
}

// continuations returns the ways to continue an unfinished expression.
func (f *Common) continuations(begun string, presets func(*Config) []modfile.Setting) (all []string) {
	config, err := f.Configuration()
	if err != nil {
		return nil
	}
	if at := strings.LastIndexByte(begun, '@'); at >= 0 {
		for _, name := range presetNames(presets(config)) {
			if strings.HasPrefix(name, begun[at:]) {
				all = append(all, begun[:at]+name)
			}
		}
		return all
	}
	catalog, err := f.Catalog()
	if err != nil {
		return nil
	}
	return filter.Complete(begun, catalog)
}

// Continuations returns the continuations of an unfinished filter.
func (f *Common) Continuations(begun string) []string {
	return f.continuations(begun, filterPresets)
}

func filterPresets(c *Config) []modfile.Setting { return c.Filters }

// CompleteColumns offers the shell columns.
func (f *Common) CompleteColumns(cmd *cobra.Command, flag string) {
	f.completeFilter(cmd, flag, func(c *Config) []modfile.Setting { return c.Columns })
}

// once drops the second half of values if it repeats the first: shell
// completion parses the flags twice.
func once(values []string) []string {
	if n := len(values) / 2; len(values)%2 == 0 && slices.Equal(values[:n], values[n:]) {
		return values[:n]
	}
	return values
}

// maxLooked is the number of datagrams of a capture that are read to find
// names.
const maxLooked = 200_000

// completePlayer offers the shell the players of the captures that are given.
func (f *Common) completePlayer(cmd *cobra.Command) {
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("player", func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if given, err := cmd.Flags().GetStringArray("read-file"); err == nil {
			args = append(once(given), args...)
		}
		var all []string
		for _, name := range f.players(args) {
			if strings.HasPrefix(strings.ToLower(name.Raw()), strings.ToLower(begun)) {
				all = append(all, OneLine(name.Raw()))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}

// players returns the names of the players in captures, sorted.
func (f *Common) players(files []string) (all []wire.Untrusted) {
	if len(files) == 0 || slices.Contains(files, "-") {
		return nil
	}
	f.Defined = once(f.Defined)
	cfg, err := f.Config()
	if err != nil {
		return nil
	}
	src, err := capture.OpenAll(files, nil)
	if err != nil {
		return nil
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	p := dissect.New(cfg)
	p.Need(dissect.Needs{Updates: dissect.UpdateHeaders})
	left := maxLooked
	for d, err := range dissect.Datagrams(src) {
		if err != nil {
			break
		}
		for r := range p.Records(d) {
			if r.Client != "" && !slices.Contains(all, r.Client) {
				all = append(all, r.Client)
			}
		}
		if left--; left == 0 {
			break
		}
	}
	slices.Sort(all)
	return all
}
