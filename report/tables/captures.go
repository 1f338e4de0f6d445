package tables

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// An Origin describes the source of the tables of a capture. Captures with the
// same origin have the same tables.
type Origin struct {
	Capture string `json:"capture"`
	Schema  int    `json:"schema" table:"schema" doc:"number of the description of these tables"`
	Options string `json:"options,omitempty" table:"options" doc:"options that change what is read"`
	Files   []File `json:"files"` // in order of time
}

// A File is a file of a capture.
type File struct {
	Name   string `json:"file" table:"file" doc:"name of the file, without its folder"`
	SHA256 string `json:"sha256" table:"sha256" doc:"of the file, in hexadecimal digits"`
	Size   int64  `json:"size" table:"size" doc:"of the file in bytes"`
}

// keyOrigins is the key in the footer of the table of files under which the
// captures are stored as JSON. In CSV they are columns.
const keyOrigins = "captures"

// A Capture describes a capture by facts that the reader of its files knows.
type Capture struct {
	Name    string    `table:"file" doc:"name of the first file"`
	Parts   int       `table:"file_count" doc:"files of the capture; the table files has each"`
	Size    int64     `table:"size" doc:"of all files in bytes"`
	Version string    `table:"version" doc:"of the program"`
	Damage  string    `table:"read_error,omitempty" doc:"reason why the file could not be read to its end"`
	Begin   time.Time `table:"begin_ts,omitempty" doc:"first frame"`
	End     time.Time `table:"end_ts,omitempty" doc:"last frame"`
}

// ReadOrigins returns the captures in a file of the table of files.
func ReadOrigins(r io.ReaderAt, size int64, asCSV bool) (all []Origin, err error) {
	if asCSV {
		return originsOfCSV(io.NewSectionReader(r, 0, size))
	}
	m, err := readMetadata(r, size)
	if err != nil {
		return nil, err
	}
	for _, kv := range m.KeyValueMetadata {
		if kv.Key == keyOrigins && json.Unmarshal([]byte(kv.Value), &all) == nil {
			return all, nil
		}
	}
	return nil, errNotFiles
}

func originsOfCSV(r io.Reader) (all []Origin, err error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || !slices.Contains(lines[0], "sha256") {
		return nil, errNotFiles
	}
	for _, line := range lines[1:] {
		value := map[string]string{}
		for n, name := range lines[0] {
			value[name] = line[n]
		}
		number, err := strconv.Atoi(value["schema"])
		if err != nil || value["sha256"] == "" {
			return nil, errNotFiles
		}
		size, _ := strconv.ParseInt(value["size"], 10, 64) // the size is empty for files that are still being written
		if n := len(all); n == 0 || all[n-1].Capture != value[captureColumn] {
			all = append(all, Origin{Capture: value[captureColumn], Schema: number, Options: value["options"]})
		}
		o := &all[len(all)-1]
		o.Files = append(o.Files, File{value["file"], value["sha256"], size})
	}
	return all, nil
}

var errNotFiles = errors.New("not a file of bcdissect's table of files")

// fileColumns are the columns of a row in the table of files.
var fileColumns = match.Columns(reflect.TypeFor[fileRow](), match.Table)

type fileRow struct {
	Part int `table:"index" doc:"of the file in the capture, from 0"`
	*File
	*Origin
}

// fileTable returns the table of files.
func fileTable() Table {
	return Table{Name: Files, Doc: "a file of a capture: a recording in parts, as of a ring buffer, has several", Columns: columnsOf(fileColumns)}
}

// captureColumns are the columns of a row in the table of captures.
var captureColumns = match.Columns(reflect.TypeFor[captureRow](), match.Table)

type captureRow struct {
	*Capture
	*Origin
	*measure.Tally
}

// captureTable returns the table of captures.
func captureTable() Table {
	return Table{Name: Captures, Doc: "a capture, with the counts of `bcdissect stats`", Columns: columnsOf(captureColumns)}
}
