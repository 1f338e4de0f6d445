package main

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/site"
)

func newWeb(s cli.Streams) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "web [FILE...]",
		Short: "Read captures in the browser: match, messages, fields and files to keep",
		Long: `Web opens a page in your browser that reads captures. Name one here, or drop it
on the page. The page shows the match with the replay, every message with its
fields and bytes, counts, and the quality of connections. It saves reports and
captures. The browser does the work, and nothing leaves the computer.

Other computers can reach the page only if --listen names an address for them.
They can reach the captures only by an address that is impossible to guess.
Ctrl-C ends the server. An open page keeps working.`,
		Example: `  # open the page, then drop a capture on it
  bcdissect web
  # open a capture
  bcdissect web evening.pcap
  # choose the port
  bcdissect web --listen 127.0.0.1:8080`,
		RunE: func(_ *cobra.Command, args []string) error { return serveWeb(s, listen, args) },
	}
	cmd.Flags().StringVarP(&listen, "listen", "l", "127.0.0.1:0", "`ADDRESS` and TCP port to listen on (0 takes a free one)")
	return cmd
}

func serveWeb(s cli.Streams, listen string, names []string) error {
	page, err := site.New(names)
	if err != nil {
		return cli.Failed(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return cli.Failed(cli.PlainPath(name, err))
		}
		if !info.Mode().IsRegular() {
			return cli.Failed(fmt.Errorf("%s: not a file; give the name of a capture", name))
		}
	}
	l, err := server.ListenLocally("--listen", listen, "8080", "; without --listen, web takes a free one")
	if err != nil {
		return err
	}
	interrupts := cli.NewInterrupts(s, 0, false)
	defer interrupts.Close()
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return cli.Failed(err)
	}
	address := page.Address(at)
	fmt.Fprintf(s.Out, "%s\n", address)
	remove, err := site.Open(address)
	defer remove()
	if err != nil {
		fmt.Fprintf(s.Err, "bcdissect: no browser was started; open this address in one\n")
	}
	fmt.Fprintf(s.Err, "bcdissect: Ctrl-C ends the page's server\n")
	if err := site.Serve(l, page, interrupts.Stopped); err != nil {
		return cli.Failed(err)
	}
	return nil
}
