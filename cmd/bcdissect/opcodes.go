package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/report/kaitai"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/reference"
	"github.com/bcdissect/bcdissect/report/table"
)

func newOpcodes(s cli.Streams) *cobra.Command {
	var f cli.Common
	cmd := &cobra.Command{
		Use:   "opcodes [NAME|OPCODE]",
		Short: "Show the protocol: opcodes, names, directions, relay classes, fields",
		Long: `Opcodes shows the messages of the game and of its transport: all of them in a
table, or one with every field. Name a message, its opcode, the game's constant,
or a name from other documents.

In the table, [] marks a list and a question mark marks a field that may be
absent. To check a definition file, add it with --define: its messages follow.

To make your own decoder, take -T json, which has all that a decoder needs. Or
take -T kaitai, a description from which Kaitai Struct makes parsers in many
languages.`,
		Example: `  # list all messages
  bcdissect opcodes
  # see the fields of a message
  bcdissect opcodes TorpedoFire
  # find a message by its opcode
  bcdissect opcodes 0x1C
  # make parsers in other languages
  bcdissect opcodes -T kaitai > bc_message.ksy
  # list the messages that a host forwards
  bcdissect opcodes -T json | jq -r 'select(.relay == "forward") | .name'`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			all, err := allEntries(&f)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var words []string
			for i := range all {
				words = append(words, cobra.CompletionWithDesc(all[i].Name, all[i].Doc))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		PreRunE: f.CheckForm,
		RunE: func(_ *cobra.Command, args []string) error {
			entries, err := allEntries(&f)
			if err != nil {
				return err
			}
			if len(args) > 0 && f.Format.Value == "kaitai" {
				return errors.New("-T kaitai describes all messages; drop the name")
			}
			if len(args) > 0 {
				if entries, err = choose(entries, args[0]); err != nil {
					return err
				}
			}
			return cli.WriteOutput(f.Output, s, func(out *cli.Output) error {
				switch {
				case f.Format.Value == "json" && len(args) > 0:
					return ndjson.Write(out, entries...)
				case f.Format.Value == "kaitai":
					description, err := kaitai.New(entries, reference.Ships())
					if err != nil {
						return err
					}
					e := json.NewEncoder(out)
					e.SetEscapeHTML(false)
					e.SetIndent("", " ")
					return e.Encode(description)
				case f.Format.Value == "json":
					return ndjson.Write(out, reference.Lines(entries)...)
				case len(args) == 0:
					return table.Catalog(out.Text(), entries, look(out, &f.Color))
				}
				for i := range entries {
					if i > 0 {
						if _, err := fmt.Fprint(out, "\n\n"); err != nil {
							return err
						}
					}
					if err := table.Entry(out.Text(), &entries[i], look(out, &f.Color)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f.DefineFormat(cmd, "table", "table", "json", "kaitai")
	f.Definitions.Define(cmd)
	f.DefineOutput(cmd)
	return cmd
}

// allEntries returns the reference entries of all messages in the catalogue.
func allEntries(f *cli.Common) ([]reference.Entry, error) {
	c, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	return append(reference.Entries(c), reference.TransportEntries()...), nil
}

// choose returns the entries with a name or an opcode. More than one entry has
// the name if a transport message has the name of a game message.
func choose(entries []reference.Entry, word string) ([]reference.Entry, error) {
	if n, err := strconv.ParseUint(strings.ToLower(word), 0, 64); err == nil && word[0] >= '0' && word[0] <= '9' {
		return withOpcode(entries, n)
	}
	var found []reference.Entry
	var known []string
	for i := range entries {
		e := &entries[i]
		all := append([]string{e.Name, e.Constant}, e.Aliases...)
		if slices.ContainsFunc(all, func(name string) bool { return strings.EqualFold(name, word) }) {
			found = append(found, *e)
		}
		known = append(known, all...)
	}
	if len(found) == 0 {
		hint := names.DidYouMean(word, known)
		if hint == "" {
			hint = "; bcdissect opcodes lists them all"
		}
		if _, err := strconv.ParseUint(word, 16, 8); err == nil {
			hint = fmt.Sprintf(" (did you mean 0x%s?)", strings.ToUpper(word))
		}
		return nil, fmt.Errorf("no message is called %q%s", word, hint)
	}
	return found, nil
}

// withOpcode returns the entries of game messages with an opcode.
func withOpcode(entries []reference.Entry, n uint64) (found []reference.Entry, err error) {
	if n > 0xFF {
		return nil, fmt.Errorf("opcodes go from 0 to 255, and %d is more", n)
	}
	var rest []reference.Entry
	for i := range entries {
		switch e := &entries[i]; {
		case e.Transport:
		case e.Rest && e.Opcode <= int(n):
			rest = append(rest, *e)
		case e.Opcode == int(n):
			found = append(found, *e)
		}
	}
	if len(found) == 0 {
		found = rest
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no message has the opcode 0x%02X", n)
	}
	return found, nil
}
