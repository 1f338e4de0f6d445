package tables

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/dissect/measure"
)

// An Origin is the source of the tables of a capture: if it is the same, so are
// the tables.
type Origin struct {
	SHA256  string // of the file, in hexadecimal digits
	Schema  int
	Options string // that change the result
}

// keys of the origin in the footer of a Parquet file; in CSV they are columns.
const (
	keySum     = "sha256"
	keySchema  = "schema"
	keyOptions = "options"
)

// A Capture is a capture as the reader of the file knows it.
type Capture struct {
	Origin
	File       string // name without its folder
	Size       int64
	Begin, End time.Time // of the frames
	Version    string    // of the program
	Damage     string    // reason why the file could not be read to its end
}

// ReadOrigin reads the origin from the file of a capture in the table of
// captures.
func ReadOrigin(r io.ReaderAt, size int64, asCSV bool) (*Origin, error) {
	if asCSV {
		return originOfCSV(io.NewSectionReader(r, 0, size))
	}
	m, err := readMetadata(r, size)
	if err != nil {
		return nil, err
	}
	return originOf(m[keySum], m[keySchema], m[keyOptions])
}

func originOfCSV(r io.Reader) (*Origin, error) {
	all, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	value := map[string]string{}
	for i := range all[min(1, len(all)):] {
		for n, name := range all[0] {
			value[name] = all[i+1][n]
		}
	}
	return originOf(value[keySum], value[keySchema], value[keyOptions])
}

func originOf(sum, number, options string) (*Origin, error) {
	n, err := strconv.Atoi(number)
	if err != nil || sum == "" {
		return nil, errNotCaptures
	}
	return &Origin{sum, n, options}, nil
}

var errNotCaptures = errors.New("not a file of bcdissect's table of captures")

var captureColumns = []struct {
	Column
	set func(t *rows, i int, c *Capture, n *measure.Tally)
}{
	{of("file", Text, "name of the file"), func(t *rows, i int, c *Capture, _ *measure.Tally) { t.text(i, c.File) }},
	{of(keySum, Text, "of the file, in hexadecimal digits"), func(t *rows, i int, c *Capture, _ *measure.Tally) { t.text(i, c.SHA256) }},
	{of("size", Int, "of the file in bytes"), func(t *rows, i int, c *Capture, _ *measure.Tally) { t.int(i, c.Size) }},
	{of(keySchema, Int, "number of the description of these tables"), func(t *rows, i int, _ *Capture, _ *measure.Tally) { t.int(i, Schema) }},
	{of("version", Text, "of the program"), func(t *rows, i int, c *Capture, _ *measure.Tally) { t.text(i, c.Version) }},
	{of(keyOptions, Text, "options that change what is read"), func(t *rows, i int, c *Capture, _ *measure.Tally) { t.text(i, c.Options) }},
	{of("read_error", Text, "reason why the file could not be read to its end"), func(t *rows, i int, c *Capture, _ *measure.Tally) { t.known(i, c.Damage) }},
	{of("begin_ts", Time, "first frame"), func(t *rows, i int, c *Capture, _ *measure.Tally) {
		if !c.Begin.IsZero() {
			t.int(i, c.Begin.UnixMicro())
		}
	}},
	{of("end_ts", Time, "last frame"), func(t *rows, i int, c *Capture, _ *measure.Tally) {
		if !c.End.IsZero() {
			t.int(i, c.End.UnixMicro())
		}
	}},
	{of("seconds", Double, "between the two"), func(t *rows, i int, _ *Capture, n *measure.Tally) { t.double(i, n.Duration.Seconds()) }},
	count("frames", "all frames", func(n *measure.Tally) int64 { return n.Frames }),
	count("datagrams_game", "datagrams of the game that split to their end", func(n *measure.Tally) int64 { return n.Game }),
	count("datagrams_gamespy", "datagrams of GameSpy text", func(n *measure.Tally) int64 { return n.GameSpy }),
	count("datagrams_malformed", "datagrams of the game that do not split", func(n *measure.Tally) int64 { return n.Malformed }),
	count("datagrams_other", "UDP datagrams that are not the game's", func(n *measure.Tally) int64 { return n.Other }),
	count("messages", "transport messages", func(n *measure.Tally) int64 { return n.Messages }),
	count("reliable_messages", "of them, those that ask for an acknowledgement", func(n *measure.Tally) int64 { return n.Reliable }),
	count("duplicates", "messages seen before", func(n *measure.Tally) int64 { return n.Duplicates }),
	count("fragments", "messages that are a part of a larger one", func(n *measure.Tally) int64 { return n.Fragments }),
	count("reassembled_messages", "game messages made of fragments", func(n *measure.Tally) int64 { return n.Reassembled }),
	count("incomplete_messages", "game messages with missing fragments", func(n *measure.Tally) int64 { return n.Incomplete }),
	count("game_messages", "game messages, complete and not seen before", func(n *measure.Tally) int64 { return n.Counted }),
	count("payload_bytes", "their bytes", func(n *measure.Tally) int64 { return n.PayloadBytes }),
	count("residue_bytes", "of them, undecoded", func(n *measure.Tally) int64 { return n.ResidueBytes }),
	count("errors", "malformed messages and datagrams", func(n *measure.Tally) int64 { return n.Errors }),
}

// count returns the column of a count of stats.
func count(name, doc string, get func(n *measure.Tally) int64) struct {
	Column
	set func(t *rows, i int, c *Capture, n *measure.Tally)
} {
	return struct {
		Column
		set func(t *rows, i int, c *Capture, n *measure.Tally)
	}{of(name, Int, doc), func(t *rows, i int, _ *Capture, n *measure.Tally) { t.int(i, get(n)) }}
}

// captureTable returns the table of captures.
func captureTable() Table {
	t := Table{Name: Captures, Doc: "a capture, with the counts of `bcdissect stats`"}
	for i := range captureColumns {
		t.Columns = append(t.Columns, captureColumns[i].Column)
	}
	return t
}
