package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

func newEncode(s cli.Streams) *cobra.Command {
	var f cli.Definitions
	var as cli.Choice
	var output string
	var deciphered bool
	cmd := &cobra.Command{
		Use:   "encode [FILE]",
		Short: "Turn the JSON of messages back into hex",
		Long: `Encode reads the JSON of read, live and decode (-T json) from FILE or standard
input, one object a line. It writes the bytes of each line as a line of hex. You
can change lines or write new ones: {"name":"Chat","fields":{"sender":2,
"text":"hi"}} is a whole message. It is an error if a field is missing, or if
the message has no such field.

A line with peer and msg is a message of a datagram. The lines of one datagram
become one line of hex. Other lines are transport messages if they have a kind,
and game payloads if not. --as chooses another form.

Fragments and duplicates have no fields, so encode refuses their lines. The line
of a message's last fragment has the whole message (--as payload).`,
		Example: `  # see that a message comes back as it was
  bcdissect decode -T json 2C020000000500 68656C6C6F | bcdissect encode
  # write a message of your own
  echo '{"name":"Chat","fields":{"sender":2,"text":"hi"}}' | bcdissect encode
  # get some messages of a capture as hex
  bcdissect read game.pcap -Y 'name == "TorpedoFire"' -T json |
    bcdissect encode --as payload
  # make a clear datagram and read it
  bcdissect encode --clear datagram.ndjson | bcdissect decode --clear`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			catalog, err := f.Catalog()
			if err != nil {
				return err
			}
			if catalog == nil {
				catalog = msg.Catalog()
			}
			if err := checkAs(&as, deciphered); err != nil {
				return err
			}
			in := s.In
			if len(args) > 0 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return cli.Failed(cli.PlainPath(args[0], err))
				}
				defer func() { _ = file.Close() }()
				in = file
			}
			if err := cli.CheckOverwrite(output, s.In, append(slices.Clone(f.Defined), args...)...); err != nil {
				return err
			}
			return cli.WriteOutput(output, s, func(out *cli.Output) error {
				e := encoder{as: as.Value, clear: deciphered, catalog: catalog, out: out, errs: s.Err}
				return e.lines(in)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	defineAs(cmd, &as)
	fl.BoolVar(&deciphered, "clear", false, "do not encipher datagrams")
	f.Define(cmd)
	fl.StringVarP(&output, "output", "o", "", "write the hex to this `FILE`")
	return cmd
}

// Limits for the input of encode.
const (
	maxJSONLine   = 4 << 20 // bytes, many times the size of the longest message
	maxShownLines = 10      // errors that are reported one by one
)

// An encoder converts lines of JSON to lines of hex.
type encoder struct {
	as      string
	clear   bool
	catalog *decode.Catalog
	out     io.Writer
	errs    io.Writer

	datagram []byte // the current datagram, deciphered, nil if none has begun
	broken   bool   // a message of the current datagram could not be encoded
	failed   int    // number of lines that failed
}

// lines encodes every line. It reports lines that cannot be encoded and
// continues with the next.
func (e *encoder) lines(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxJSONLine)
	n, seen := 0, 0
	for lines.Scan() {
		n++
		text := lines.Bytes()
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // Windows editors write a byte order mark
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		seen++
		if err := e.line(text); err != nil {
			if errors.As(err, new(writeError)) {
				return err
			}
			if e.failed++; e.failed <= maxShownLines {
				cli.Say(e.errs, "line %d: %v", n, err)
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than 4 MiB; each record is one line", n+1)
	} else if err != nil {
		return err
	}
	if err := e.flush(); err != nil {
		return err
	}
	switch {
	case seen == 0:
		return errors.New("the input is empty; give encode the lines of -T json")
	case e.failed > 0:
		return fmt.Errorf(plural.Form(seen, "%d of %d {line was|lines were} not encoded"), e.failed, seen)
	}
	return nil
}

// line encodes one line.
func (e *encoder) line(text []byte) error {
	l, err := ndjson.Parse(text, e.catalog)
	if err != nil {
		return err
	}
	part, inDatagram := l.Part()
	form := e.as
	switch {
	case form != "auto":
	case inDatagram:
		form = "datagram"
	case l.Whole():
		form = "message"
	default:
		form = "payload"
	}
	switch form {
	case "payload":
		b, err := l.Payload()
		return e.write(b, err)
	case "message":
		b, err := l.Message()
		return e.write(b, err)
	}
	if !inDatagram {
		return errors.New("peer, msg: a datagram needs the sender's id and the index of the message; add them, or use --as message")
	}
	return e.add(l, part)
}

// add adds a message to the current datagram. The first message begins a new
// datagram.
func (e *encoder) add(l ndjson.Parsed, part int) error {
	peer, err := l.Peer()
	if err != nil {
		return err
	}
	if part == 0 {
		if err := e.flush(); err != nil {
			return err
		}
		e.datagram, e.broken = []byte{peer, 0}, false
	}
	b, err := l.Message()
	switch {
	case err != nil:
		e.broken = true
		return err
	case e.broken:
		return errors.New("an earlier message of its datagram was not encoded; --as message encodes one by one")
	case e.datagram == nil || e.datagram[0] != peer || int(e.datagram[1]) != part:
		e.broken = true
		return fmt.Errorf("msg: message %d of a datagram does not follow the one before; keep all its lines, or use --as message", part)
	}
	e.datagram = append(e.datagram, b...)
	e.datagram[1]++
	return nil
}

// flush writes the current datagram.
func (e *encoder) flush() error {
	b := e.datagram
	if e.datagram = nil; b == nil || e.broken || b[1] == 0 {
		return nil
	}
	if len(b) > transport.MaxDatagram {
		fmt.Fprintf(e.errs, "bcdissect: the datagram has %d bytes; the game takes %d\n", len(b), transport.MaxDatagram)
	}
	if !e.clear {
		b = cipher.Encrypt(nil, b)
	}
	return e.write(b, nil)
}

// A writeError is an error of writing the output.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

func (e *encoder) write(b []byte, err error) error {
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.out, "%X\n", b); err != nil {
		return writeError{err}
	}
	return nil
}
