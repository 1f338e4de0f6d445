package tables

import (
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// An Origin is the source of the tables of a capture: if it is the same, so are
// the tables.
type Origin struct {
	SHA256  string `table:"sha256>File" doc:"of the file, in hexadecimal digits"`
	Schema  int    `table:"schema>Size" doc:"number of the description of these tables"`
	Options string `table:"options>Version" doc:"options that change what is read"`
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
	File    string    `table:"file" doc:"name of the file"` // without its folder
	Size    int64     `table:"size" doc:"of the file in bytes"`
	Version string    `table:"version" doc:"of the program"`
	Damage  string    `table:"read_error,omitempty" doc:"reason why the file could not be read to its end"`
	Begin   time.Time `table:"begin_ts,omitempty" doc:"first frame"`
	End     time.Time `table:"end_ts,omitempty" doc:"last frame"`
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

// captureColumns are the columns of a row in the table of captures.
var captureColumns = match.Columns(reflect.TypeFor[captureRow](), match.Table)

type captureRow struct {
	*Capture
	*measure.Tally
}

// captureTable returns the table of captures.
func captureTable() Table {
	return Table{Name: Captures, Doc: "a capture, with the counts of `bcdissect stats`", Columns: columnsOf(captureColumns)}
}
