package main

import (
	"encoding/hex"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/watch"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func newBrowse(s cli.Streams) *cobra.Command {
	var f cli.Common
	cmd := &cobra.Command{
		Use:   "browse FILE...",
		Short: "Browse captures on the whole terminal: messages, fields, bytes",
		Long: `Browse shows a list of messages, the fields of the chosen message, and its
bytes. The bytes of the chosen field are marked. You can filter and search,
follow a player or an object, and copy a command that decodes the message. Press
? for all keys.

FILE can be all that read takes. Browse reads it again for each part that it
shows, so a large capture needs little memory. It copies standard input to a
temporary file.`,
		Example: `  # step through a capture
  bcdissect browse battle.pcap
  # start with the chat
  bcdissect browse battle.pcap -Y 'Chat or TeamChat'
  # follow one player through two evenings
  bcdissect browse monday.pcap.gz tuesday.pcap.gz --player Bot0
  # browse what another program writes
  bcdissect browse - < battle.pcap`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return watch.Browse(&f, s, args, func(r *dissect.Record) string { return decodeCommand(r, &f) })
		},
	}
	f.DefineScreen(cmd)
	return cmd
}

// decodeCommand returns a command that decodes the message of a record.
func decodeCommand(r *dissect.Record, f *cli.Common) string {
	args := []string{"bcdissect", "decode"}
	for _, name := range f.Defined {
		args = append(args, "--define", quoted(name))
	}
	dialect := r.Sender
	if r.Message != nil && r.Layout != decode.Undecided {
		dialect = r.Layout
	}
	if dialect != decode.Undecided && (dialect != decode.Stock || r.Sender == decode.OpenBC) {
		args = append(args, "--dialect", dialect.String())
	}
	if c := classOf(r); c != nil {
		args = append(args, "--ship", quoted(c.Name))
	}
	data := r.Bytes
	switch {
	case r.Kind == dissect.KindGameSpy:
		args = append(args, "--as", "datagram")
	case r.Form.Whole() && (r.Kind == dissect.KindMalformed || r.Transport.Type == transport.DoNothing): // the bytes before the message are needed as well
		data = r.Datagram.Payload
		if r.Form == packet.Clear || f.Clear() {
			args = append(args, "--clear")
		} else {
			args = append(args, "--as", "datagram")
		}
	case len(r.Pieces) > 0 || r.Kind == dissect.KindPayload || len(data) == 0:
		args = append(args, "--as", "payload")
		data = r.Payload
	default:
		args = append(args, "--as", "message")
	}
	return strings.Join(append(args, strings.ToUpper(hex.EncodeToString(data))), " ")
}

// classOf returns the class of the ship that an update is about. It returns nil
// if the command needs no class.
func classOf(r *dissect.Record) *ship.Class {
	var c *ship.Class
	switch m := r.Message.(type) {
	case *msg.StateUpdate:
		c = m.Class
	case *msg.SubsystemStatusOpenBC:
		c = m.Class
	}
	if c == nil {
		return nil
	}
	for known := range ship.All() { // an inferred class may have another name
		if known.Subsystems != nil && known.Name == strings.Split(c.Name, " or ")[0] {
			return known
		}
	}
	return nil
}

// quoted returns an argument for a shell.
func quoted(s string) string {
	if strings.ContainsAny(s, " '&()$\"\\;|<>*?#~`") {
		return `"` + strings.NewReplacer(`"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
	}
	return s
}
