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

FILE is pcap, pcapng or a log ('bcdissect help logs'), plain or compressed with
gzip or zstd. For standard input, give "-". Several files are merged by time.
The report also has bytes that cannot be decoded. Only with --strict do they
change the exit status.`,
		Example: `  # list every message
  bcdissect read battle.pcap
  # list each message once, with the time of day
  bcdissect read battle.pcap --brief -t clock
  # see all fields and bytes, page by page
  bcdissect read battle.pcap -V -x --color=always | less -R
  # read the chat
  bcdissect read battle.pcap -Y 'Chat or TeamChat'
  # make a spreadsheet of the speed of ships
  bcdissect read battle.pcap -T csv -e rel -e object_name -e StateUpdate.speed
  # get the text of the chat for a program
  bcdissect read battle.pcap -T json -Y Chat | jq .fields.text
  # keep the packets of one player
  bcdissect read battle.pcap --player Bot0 -w bot0.pcapng
  # decode what another program captures
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
