package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/query"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// mostRetries is the maximum of --retries.
const mostRetries = 20

func newQuery(s cli.Streams) *cobra.Command {
	var o query.Options
	var format cli.Choice
	var lan bool
	cmd := &cobra.Command{
		Use:   "query HOST[:PORT]...",
		Short: "Ask servers for name, map, players and round trip",
		Long: `Query asks each server as a server browser does, and shows the facts in its
answer. The table shortens long ones. The port is 22101 unless you give another.
The exit status is 1 if a server is of another game, or if it did not answer
completely.

With --lan it finds servers on the local network as the game does: it asks all
computers there on the ports 22101 to 22201.`,
		Example: `  # see what your own server answers
  bcdissect query localhost
  # find the servers on your network
  bcdissect query --lan
  # ask two servers, and get JSON
  bcdissect query game.example.org:22102 192.0.2.7 -T json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if lan {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			if lan && len(args) > 0 {
				return fmt.Errorf("--lan: asks all computers on the local network; drop %s", args[0])
			}
			if o.Timeout <= 0 || o.Timeout > time.Minute {
				return fmt.Errorf("--timeout %v: must be more than 0 and at most a minute", o.Timeout)
			}
			if o.Retries < 0 || o.Retries > mostRetries {
				return fmt.Errorf("--retries %d: must be 0 to %d", o.Retries, mostRetries)
			}
			hosts := make([]string, len(args))
			for i, a := range args {
				var err error
				if hosts[i], err = query.WithPort(a); err != nil {
					return err
				}
			}
			if lan {
				return askLAN(s, o, format.Value == "json")
			}
			return ask(s, hosts, o, format.Value == "json")
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&lan, "lan", false, "look for servers on the local network")
	format.Define(cmd, "format", "T", "form of the answers", "table", "table", "json")
	fl.DurationVar(&o.Timeout, "timeout", time.Second, "time to wait for the answer to each query")
	fl.IntVar(&o.Retries, "retries", 2, "further queries to a server that does not answer")
	return cmd
}

// ask asks all servers and reports their answers.
func ask(s cli.Streams, hosts []string, o query.Options, asJSON bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return reportServers(s, query.All(ctx, hosts, o), asJSON)
}

// askLAN asks the local network and reports its answers.
func askLAN(s cli.Streams, o query.Options, asJSON bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	to := query.Networks()
	results, left, err := query.LAN(ctx, to, o)
	if err != nil {
		return cli.Failed(fmt.Errorf("--lan: nothing could be sent: %w", cli.Plain(err)))
	}
	if left > 0 {
		cli.Say(s.Err, "--lan: more servers answered than are listed, at least %d", left)
	}
	if len(results) == 0 {
		return cli.Failed(fmt.Errorf("--lan: no server answered on the ports %d to %d of %s; a firewall may block the answers; for a server elsewhere, give its address",
			query.FirstPort, query.LastPort, strings.Join(addresses(to), ", ")))
	}
	return reportServers(s, results, asJSON)
}

// addresses returns addresses as text.
func addresses(all []netip.Addr) (texts []string) {
	for _, a := range all {
		texts = append(texts, a.String())
	}
	return texts
}

// reportServers reports the answers of servers.
func reportServers(s cli.Streams, results []query.Result, asJSON bool) error {
	var failed error
	list := make([]ndjson.Server, len(results))
	for i := range results {
		list[i] = query.Describe(&results[i])
		if e := results[i].Err; e != nil {
			failed = errors.Join(failed, e)
		}
	}
	err := cli.WriteOutput("", s, func(out *cli.Output) error {
		if asJSON {
			return ndjson.Write(out, list...)
		}
		return drawServers(out.Text(), list)
	})
	if err != nil || failed == nil {
		return err
	}
	if !asJSON {
		for i := range results {
			if e := results[i].Err; e != nil {
				cli.Say(s.Err, "%v", e)
			}
		}
	}
	return &cli.StatusError{Code: cli.ExitFailed}
}

// drawServers writes a table of the servers that have answered.
func drawServers(w io.Writer, list []ndjson.Server) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	some := false
	for i := range list {
		a := &list[i]
		if a.GameSpy == nil {
			continue
		}
		if !some {
			_, _ = fmt.Fprint(t, "server\tround trip\tname\tmap\tsystem\tstate\tplayers\tnames\n") // Flush returns the error
			some = true
		}
		of := func(s *wire.Untrusted) string {
			if s == nil {
				return "?"
			}
			return short(s.Raw(), widest)
		}
		count := func(n *int) string {
			if n == nil {
				return "?"
			}
			return strconv.Itoa(*n)
		}
		names := make([]string, len(a.PlayerNames))
		for i, name := range a.PlayerNames {
			names[i] = name.Raw()
		}
		_, _ = fmt.Fprintf(t, "%s\t%.1f ms\t%s\t%s\t%s\t%s\t%s of %s\t%s\n", a.Host, a.RoundTrip, of(a.Name), of(a.Map), of(a.System), of(a.State),
			count(a.Players), count(a.Limit), short(strings.Join(names, ", "), widestNames))
	}
	return t.Flush()
}

// Maximum characters of cells with text. JSON has the whole text.
const (
	widest      = 40
	widestNames = 100
)

// short returns a text for a cell, without control characters and at most most
// characters long.
func short(s string, most int) string {
	r := []rune(cli.OneLine(s))
	if len(r) > most {
		r = append(r[:most-3], []rune("...")...)
	}
	return string(r)
}
