package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

func newDecode(s cli.Streams) *cobra.Command {
	var f cli.Common
	var as cli.Choice
	var of shipFlag
	var hexDump, payload, deciphered bool
	cmd := &cobra.Command{
		Use:   "decode [HEX]",
		Short: "Decode a datagram, transport message or game payload given as hex",
		Long: `Decode takes hex digits from its arguments, or from standard input if there are
none. The bytes can be a datagram, enciphered or clear, a transport message, or
the payload of a game message. Decode tries which form fits. Use --as to tell
it. A clear datagram or message may be cut short, as it often is in documents
and logs. The first byte of a datagram is the sender's id, where 1 is the host.

The subsystems of a ship update can be read only if the ship is known. Name it
with --ship or --species.

Decode skips white space, colons, commas, dashes, 0x, and everything from # to
the end of a line.`,
		Example: `  # decode a datagram as it was sent
  bcdissect decode 01D73368C3BF76DB
  # decode a message from a document
  bcdissect decode 2C 02 00 00 00 05 00 68 65 6c 6c 6f
  # tell the form of the bytes, and get JSON
  bcdissect decode --as payload -T json < message.hex
  # name the ship of an update, to see its subsystems
  bcdissect decode --ship Sovereign 1CFFFFFF3F80EC04422000FFFF20FFFFFFFFFFFF`,
		PreRunE: f.CheckForm,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := f.Config()
			if err != nil {
				return err
			}
			if cfg.Ships, err = of.class(cmd); err != nil {
				return err
			}
			if err := checkAs(&as, deciphered); err != nil {
				return err
			}
			if err := cli.CheckOverwrite(f.Output, s.In, append(slices.Clone(f.Defined), "-")...); err != nil {
				return err
			}
			b, err := hexInput(args, s.In)
			if err != nil {
				return err
			}
			form, certain := guess(cfg, b)
			switch {
			case deciphered:
				form, certain = clearForm(b), true
			case as.Value != "auto":
				form, certain = forced(cfg, as.Value, b), true
			}
			if !certain {
				fmt.Fprintf(s.Err, "bcdissect: couldn't decode all the bytes; showing them as a %s. Try another form with --as\n", form.kind)
			}
			malformed := false
			if err := cli.WriteOutput(f.Output, s, func(out *cli.Output) error {
				var sink report.Sink = ndjson.New(out, ndjson.Options{NoCapture: true, Payload: payload})
				if f.Format.Value == "table" {
					o := look(out, &f.Color)
					o.Verbose, o.Hex, o.NoCapture = true, hexDump, true
					sink = table.New(out.Text(), o)
				}
				err := form.decode(dissect.New(cfg), b, func(r *dissect.Record) error {
					malformed = malformed || r.Status == dissect.StatusMalformed && !r.Cut
					return sink.Record(r)
				})
				if err == nil {
					err = sink.Close()
				}
				return err
			}); err != nil {
				return err
			}
			if f.Strict && malformed {
				return &cli.StatusError{Code: cli.ExitMalformed, Err: errors.New("the message is malformed (--strict)")}
			}
			return nil
		},
	}
	f.DefineFormat(cmd, "table", "table", "json")
	fl := cmd.Flags()
	defineAs(cmd, &as)
	fl.BoolVar(&deciphered, "clear", false, "the bytes are a deciphered datagram, or its beginning")
	of.define(cmd)
	fl.BoolVarP(&hexDump, "hex", "x", false, "table: hex dump of the deciphered message")
	fl.BoolVar(&payload, "payload", false, "json: the complete game payload as hex")
	f.DefineDialect(cmd, "dialect to assume for the sender")
	f.Definitions.Define(cmd)
	f.DefineOutput(cmd)
	fl.BoolVar(&f.Strict, "strict", false, "exit with status 5 if the message is malformed")
	return cmd
}

// defineAs defines the flag of decode and encode that selects the form of the
// bytes.
func defineAs(cmd *cobra.Command, as *cli.Choice) {
	as.Define(cmd, "as", "", "form of the bytes", "auto", "auto", "datagram", "message", "payload")
}

// checkAs returns an error for --clear with bytes that are never enciphered.
func checkAs(as *cli.Choice, deciphered bool) error {
	if deciphered && as.Value != "auto" && as.Value != "datagram" {
		return fmt.Errorf("--clear is for datagrams; --as %s is never enciphered", as.Value)
	}
	return nil
}

// maxHexInput limits the text read from standard input. A datagram has at most
// 64 KiB, and hex with comments has a few times as many characters.
const maxHexInput = 1 << 20

// hexInput parses bytes in hex from the arguments, or from standard input if
// there are none.
func hexInput(args []string, in io.Reader) ([]byte, error) {
	text := strings.Join(args, " ")
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		b, err := io.ReadAll(io.LimitReader(in, maxHexInput+1))
		if err != nil {
			return nil, cli.Failed(err)
		}
		if len(b) > maxHexInput {
			return nil, cli.Failed(errors.New("standard input is too long for the hex of one datagram"))
		}
		text = string(b)
	}
	b, err := parseHex(text)
	if err != nil {
		if _, missing := os.Stat(text); missing == nil && len(args) == 1 {
			err = fmt.Errorf("%s: decode takes hex digits, not files; use bcdissect read for a capture, or standard input for a file of hex", text)
		}
		return nil, cli.Failed(err)
	}
	if len(b) == 0 {
		return nil, errors.New("give hex digits, such as 2C020000000500")
	}
	return b, nil
}

// parseHex parses hex digits in pairs. White space may be anywhere. Colons,
// commas and dashes may be between pairs, and 0x or \x before them. # begins a
// comment.
func parseHex(text string) ([]byte, error) {
	var b []byte
	high := -1 // the first digit of a pair
	line, column := 1, 0
	comment, prefix := false, false
	for i, r := range text {
		column++
		if r == '\n' {
			line, column, comment = line+1, 0, false
		}
		if comment {
			continue
		}
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case prefix: // the x of a prefix
			prefix = false
		case (r == '0' || r == '\\') && (next == 'x' || next == 'X') && high < 0:
			prefix = true
		case hexDigit(r) >= 0 && high < 0:
			high = hexDigit(r)
		case hexDigit(r) >= 0:
			b = append(b, byte(high<<4|hexDigit(r)))
			high = -1
		case r == '#' && high < 0:
			comment = true
		case strings.ContainsRune(" \t\r\n", r): // also between the digits of a pair, since lines may be wrapped anywhere
		case strings.ContainsRune(":,-|", r) && high < 0:
		case strings.ContainsRune(":,-|#", r):
			return nil, fmt.Errorf("line %d, column %d: %q separates two digits of a pair; write them together", line, column, r)
		default:
			return nil, fmt.Errorf("line %d, column %d: %q is not a hex digit", line, column, r)
		}
	}
	if high >= 0 {
		return nil, errors.New("hex digits come in pairs; the last pair lacks a digit")
	}
	return b, nil
}

func hexDigit(r rune) int {
	switch {
	case r >= '0' && r <= '9':
		return int(r - '0')
	case r >= 'a' && r <= 'f':
		return int(r-'a') + 10
	case r >= 'A' && r <= 'F':
		return int(r-'A') + 10
	}
	return -1
}
