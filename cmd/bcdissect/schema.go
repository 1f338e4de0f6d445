package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/schema"
)

func newSchema(s cli.Streams) *cobra.Command {
	var f cli.Definitions
	var output string
	var network, list, empty bool
	cmd := &cobra.Command{
		Use:   "schema [COMMAND]",
		Short: "Print the JSON Schema of a command's output",
		Long: `Schema prints the JSON Schema (draft 2020-12) of a command's -T json output. If
the command writes several lines, the schema is about one of them. Without
COMMAND it lists the commands. --define adds the messages of a mod.

Some engines learn the columns from the first lines of a file. For these, put
the line of --empty before the lines of a capture: it has every key, with null
for a value.`,
		Example: `  # list the commands that have a schema
  bcdissect schema
  # get the schema of a line of read
  bcdissect schema read >read.schema.json
  # get the schema of one form of stats
  bcdissect schema stats --network
  # get a line with every key
  bcdissect schema read --empty >keys.ndjson`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: slices.DeleteFunc(schema.Commands(), func(name string) bool { return strings.Contains(name, " ") }),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !network && !list && (empty || len(f.Defined) > 0) {
				return errors.New("schema: --empty and --define need COMMAND")
			}
			text := strings.Join(schema.Commands(), "\n") + "\n"
			if len(args) > 0 || network || list {
				name := strings.Join(args, "")
				if network {
					name += " --network"
				}
				if list {
					name += " --list"
				}
				c, err := f.Catalog()
				if err != nil {
					return err
				}
				found := schema.For(name, c)
				if found == nil {
					return fmt.Errorf("%s: no JSON output; choose one of %s", name, strings.Join(schema.Commands(), ", "))
				}
				b, err := found.Marshal()
				if err != nil {
					return cli.Failed(err)
				}
				if empty {
					b = found.Empty()
				}
				text = string(b)
			}
			return cli.WriteOutput(output, s, func(out *cli.Output) error {
				_, err := fmt.Fprint(out, text)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "of conform: the schema of conform --list")
	cmd.Flags().BoolVar(&network, "network", false, "of stats: the schema of stats --network")
	cmd.Flags().BoolVar(&empty, "empty", false, "instead, a line with every key and no values")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the schema to this `FILE`")
	f.Define(cmd)
	return cmd
}
