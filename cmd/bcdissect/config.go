package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/modfile"
)

func newConfig(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the settings in effect and their origin",
		Long: `Config shows the settings of the configuration file and of the environment, and
where each comes from. It also checks files of definitions, and the presets of
filters and columns that -Y @NAME and -e @NAME use.`,
		Example: `  # see which settings are in effect
  bcdissect config
  # use your presets in another command
  bcdissect read battle.pcap -Y '@kills and player == "Bot0"' -e @ships`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return showConfig(s) },
	}
}

// showConfig writes a line for each setting, and returns the first mistake.
func showConfig(s cli.Streams) error {
	var f cli.Common
	c, err := f.Configuration()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(s.Out, 0, 8, 2, ' ', 0)
	row := func(name, value, origin string) {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", name, cli.OneLine(value), origin) // Flush returns the error
	}
	origin := "default place"
	switch {
	case c.Chosen:
		origin = cli.ConfigVariable
	case c.File == "":
		origin = "none is used"
	case !c.Found:
		origin += "; there is no file"
	}
	row("file", c.File, origin)
	list := func(kind string, all []modfile.Setting) {
		for i := range all {
			name := kind
			if all[i].Name != "" {
				name += " @" + all[i].Name
			}
			row(name, strings.Join(all[i].Values, ","), fmt.Sprintf("line %d", all[i].Line))
		}
	}
	list("define", c.Define)
	list("filter", c.Filters)
	list("columns", c.Columns)
	for _, name := range []string{"NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"} {
		if value := os.Getenv(name); value != "" {
			row(name, value, "environment")
		}
	}
	if err := t.Flush(); err != nil {
		return cli.Failed(err)
	}
	catalog, err := f.Catalog()
	if err != nil {
		return err
	}
	return c.Check(catalog)
}
