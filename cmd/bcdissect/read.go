package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/watch"
	"github.com/bcdissect/bcdissect/report"
)

func newRead(s cli.Streams) *cobra.Command {
	var f cli.Common
	var w watch.Flags
	var m reading.Messages
	var x reading.Extract
	cmd := &cobra.Command{
		Use:   "read FILE...",
		Short: "Decode captures and report every message",
		Long: `Read decodes capture files and reports every message in them.

FILE is pcap, pcapng or a log ('bcdissect help logs'), plain, gzip or zstd; "-" is
standard input. Several files are merged by time. Undecodable bytes are part of
the report and change the exit status only with --strict.`,
		Example: `  bcdissect read battle.pcap
  bcdissect read battle.pcap --brief -t clock
  bcdissect read battle.pcap -V -x --color=always | less -R
  bcdissect read battle.pcap -Y 'Chat or TeamChat'
  bcdissect read battle.pcap -T csv -e rel -e object_name -e StateUpdate.speed
  bcdissect read battle.pcap -T json -Y Chat | jq .fields.text
  bcdissect read battle.pcap --player Bot0 -w bot0.pcapng
  dumpcap -i eth0 -w - | bcdissect read -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.Check(cmd); err != nil {
				return err
			}
			if w.On {
				return w.Captures(&f, s, args)
			}
			if err := m.Check(&f, cmd); err != nil {
				return err
			}
			live := slices.Contains(args, "-")
			withReport, err := x.Check(&f, cmd)
			if err != nil {
				return err
			}
			makeSink := func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
				return m.Sink(&f, out, start, live && out.Terminal)
			}
			switch {
			case !x.On():
				return reading.Captures(&f, s, args, makeSink)
			case !withReport:
				makeSink = nil
			}
			return x.Captures(&f, s, args, makeSink)
		},
	}
	f.Define(cmd, "table", "table", "json", "histogram", "csv", "fields")
	f.DefineJobs(cmd)
	m.Define(&f, cmd)
	x.Define(cmd)
	w.Define(cmd)
	return cmd
}
