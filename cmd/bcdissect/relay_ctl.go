package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/control"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// controlling are the flags of relay ctl.
type controlling struct {
	listen string
	path   string
	format cli.Choice
}

func newControl(s cli.Streams) *cobra.Command {
	var c controlling
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Look after a running host: players, kick, ban, say, restart",
		Long: `Ctl looks after a host that runs on this machine as the same user: it lists,
kicks and bans players, writes to them, and begins the match anew. If several
hosts run, choose one with --listen or --control.`,
		Example: `  # see who plays
  bcdissect relay ctl players
  # make the player in slot 3 leave
  bcdissect relay ctl kick 3
  # write to all players of a second host
  bcdissect relay ctl -l 22102 say 'Five more minutes'`,
	}
	cli.Group(cmd)
	c.format = cli.NewChoice("table", "table", "json")
	fl := cmd.PersistentFlags()
	fl.SortFlags = false
	fl.StringVarP(&c.listen, "listen", "l", server.GamePort, "`PORT` of the host, or its --listen")
	fl.StringVar(&c.path, "control", "", "control `SOCKET` of the host, if it was given one")
	fl.VarP(&c.format, "format", "T", "form of the answer")
	c.format.Complete(cmd, "format")
	for _, sub := range []struct {
		use, short string
		args       cobra.PositionalArgs
	}{
		{"status", "Show how the game stands", cobra.NoArgs},
		{"players", "List the players", cobra.NoArgs},
		{"kick NAME|ID", "Remove a player", cobra.ExactArgs(1)},
		{"ban NAME|ID|ADDRESS", "Ban a player's address, or any; saved in the file of --bans", cobra.ExactArgs(1)},
		{"say TEXT...", "Say something to all players", cobra.MinimumNArgs(1)},
		{"restart", "Begin the match anew", cobra.NoArgs},
	} {
		name, _, _ := strings.Cut(sub.use, " ")
		cmd.AddCommand(&cobra.Command{
			Use: sub.use, Short: sub.short, Args: sub.args, ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.ask(s.Out, cmd.Flags().Changed("listen"), control.Request{Command: name, Argument: strings.Join(args, " ")})
			},
		})
	}
	return cmd
}

// ask sends a request and writes the answer. The argument listens tells that
// the user gave the port of --listen.
func (c *controlling) ask(out io.Writer, listens bool, r control.Request) error {
	path := c.path
	if path != "" && listens {
		return errors.New("--listen and --control name two hosts; drop one")
	}
	if path == "" {
		port, err := strconv.ParseUint(c.listen[strings.LastIndexByte(c.listen, ':')+1:], 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("--listen %s: want the port of a host, such as %s", c.listen, server.GamePort)
		}
		if path, err = control.Path(uint16(port)); err != nil {
			return cli.Failed(err)
		}
	}
	a, err := control.Ask(path, r)
	if err != nil {
		return cli.Failed(err)
	}
	if a.Error != "" {
		return cli.Failed(errors.New(a.Error))
	}
	asJSON := c.format.Value == "json"
	switch {
	case r.Command == "status" && asJSON:
		err = ndjson.Write(out, a.Status)
	case r.Command == "status":
		err = drawStatus(out, a.Status)
	case r.Command == "players" && asJSON:
		err = ndjson.Write(out, a.Players...)
	case r.Command == "players":
		err = drawPlayers(out, a.Players)
	case asJSON:
		err = ndjson.Write(out, a)
	default:
		_, err = fmt.Fprintln(out, cli.OneLine(a.Text))
	}
	return cli.Failed(err)
}

func drawStatus(out io.Writer, s *control.Status) error {
	if s == nil {
		return errors.New("the host's answer has no status; are host and ctl of the same version?")
	}
	var dropped []string
	for _, reason := range slices.Sorted(maps.Keys(s.Dropped)) {
		dropped = append(dropped, fmt.Sprintf("%d %s", s.Dropped[reason], reason))
	}
	if len(dropped) == 0 {
		dropped = []string{"nothing"}
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, cli.OneLine(fmt.Sprintf(format, args...))) // Flush returns the error
	}
	row("game", "%q, %s, %s", s.Name, s.Mission, s.Mode)
	row("players", "%d of %d, %d in the game", s.Players, s.Limit, s.Playing)
	row("up", "%v", (time.Duration(s.Uptime) * time.Second).String())
	row("received", plural.Form(s.Received, "%d {datagram|datagrams}, %d bytes"), s.Received, s.BytesIn)
	row("sent", plural.Form(s.Sent, "%d {datagram|datagrams}, %d bytes"), s.Sent, s.BytesOut)
	row("dropped", "%s", strings.Join(dropped, ", "))
	row("recording", "%s", map[bool]string{true: "yes", false: "no"}[s.Recording])
	return t.Flush()
}

func drawPlayers(out io.Writer, players []control.Player) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "id\tslot\tname\taddress\tphase\tconnected\tround trip\twaiting\n") // Flush returns the error
	for _, p := range players {
		_, _ = fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%v\t%.0f ms\t%d\n", p.ID, p.Slot, cli.OneLine(p.Name), p.Address, cli.OneLine(p.Phase),
			time.Duration(p.Connected)*time.Second, p.RoundTrip*1e3, p.Waiting)
	}
	return t.Flush()
}
