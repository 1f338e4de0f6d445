package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/home"
	"github.com/bcdissect/bcdissect/cmd/internal/site"
)

func newHome(s cli.Streams) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "home [FILE...]",
		Short: "Record and watch your games on a page in the browser",
		Long: `Home opens a page in your browser for all that players need: record a game,
watch recordings, find servers, and make a copy without names for a developer.
On Windows, double-click the program to open the page. Name captures or drop
them on the program to open them.

Only this computer can reach the page, and only with the address that home
prints. A recording goes on when you close the page. Ctrl-C completes the
recording and ends the program.`,
		Example: `  # open the page
  bcdissect home
  # open the page with a recording
  bcdissect home evening.pcapng
  # keep the recordings in another folder
  bcdissect home --folder recordings`,
		RunE: func(_ *cobra.Command, args []string) error { return serveHome(s, folder, args) },
	}
	cmd.Flags().StringVar(&folder, "folder", "", "`FOLDER` of the recordings (default bcdissect in your documents)")
	return cmd
}

// serveHome serves the page until Ctrl-C.
func serveHome(s cli.Streams, folder string, names []string) (err error) {
	o := home.Options{Folder: folder}
	if o.Folder == "" {
		o.Folder, err = home.Folder()
	} else {
		o.Folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return cli.Failed(err)
	}
	if dir, err := os.UserConfigDir(); err == nil { // without such a folder the page does not remember servers
		o.Servers = filepath.Join(dir, "bcdissect", "servers.txt")
	}
	view, err := site.New(nil)
	if err != nil {
		return cli.Failed(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return cli.Failed(cli.Plain(err))
	}
	h, err := home.New(l, s.Err, view, o)
	if err != nil {
		_ = l.Close() // no connection was accepted
		return cli.Failed(err)
	}
	interrupts := cli.NewInterrupts(s, 0, false)
	defer interrupts.Close()
	defer h.Close()
	if len(names) > 0 {
		h.Open(names)
	}
	address := h.Address()
	h.Say("this is your page; it opens in the browser")
	fmt.Fprintf(s.Out, "%s\n", address)
	remove, err := site.Open(address)
	defer remove()
	if err != nil {
		h.Say("no browser was started; open the address in one")
	}
	h.Say("keep this window open; Ctrl-C ends the recording and the program")
	return cli.Failed(site.Serve(l, h, interrupts.Stopped))
}
