package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

func newVersion(s cli.Streams) *cobra.Command {
	var format cli.Choice
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Version prints the version. -T json adds the number of the JSON description.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if format.Value == "json" {
				return cli.Failed(json.NewEncoder(s.Out).Encode(ndjson.Version{
					Version: cli.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Schema: ndjson.Schema,
				}))
			}
			_, err := fmt.Fprint(s.Out, versionLine())
			return cli.Failed(err)
		},
	}
	format.Define(cmd, "format", "T", "output format", "text", "text", "json")
	return cmd
}

// versionLine returns a line with the version.
func versionLine() string {
	return fmt.Sprintf("bcdissect %s (%s, %s/%s)\n", cli.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
