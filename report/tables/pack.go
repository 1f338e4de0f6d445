package tables

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A Part is a file of a table, with rows of one or more captures.
type Part struct {
	io.ReaderAt

	Size int64
}

func (p Part) all() *io.SectionReader { return io.NewSectionReader(p, 0, p.Size) }

// Shape returns a text that is equal for files with the same columns. Only such
// files can be packed into one.
func (p Part) Shape(asCSV bool) (string, error) {
	if asCSV {
		return bufio.NewReader(p.all()).ReadString('\n')
	}
	m, err := readMetadata(p, p.Size)
	if err != nil {
		return "", err
	}
	only := format.FileMetaData{Schema: m.Schema}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &only)
	return string(b), err
}

// Pack writes the rows of files with the same columns as one file, without the
// rows of unwanted captures. It copies row groups and lines without decoding
// them. It returns the number of rows.
func Pack(w io.Writer, parts []Part, wanted func(capture string) bool, asCSV bool) (rows int64, err error) {
	if asCSV {
		return packLines(w, parts, wanted)
	}
	f := &parquetFile{w: bufio.NewWriterSize(w, 256<<10)}
	f.put([]byte(magic))
	for _, p := range parts {
		m, err := readMetadata(p, p.Size)
		if err != nil {
			return 0, err
		}
		if f.meta.Schema == nil {
			f.meta.Version, f.meta.Schema, f.meta.CreatedBy, f.meta.ColumnOrders = m.Version, m.Schema, m.CreatedBy, m.ColumnOrders
		}
		for i := range m.RowGroups {
			if err := f.copyGroup(p, &m.RowGroups[i], wanted); err != nil {
				return 0, err
			}
		}
		if origins, err := ReadOrigins(p, p.Size, false); err == nil {
			f.origins = append(f.origins, slices.DeleteFunc(origins, func(o Origin) bool { return !wanted(o.Capture) })...)
		}
	}
	if f.origins != nil {
		f.meta.KeyValueMetadata = keyValue(f.origins)
	}
	if err := f.footer(); err != nil {
		return 0, err
	}
	return f.meta.NumRows, f.w.Flush()
}

// copyGroup copies a row group of another file if its capture is wanted.
func (f *parquetFile) copyGroup(p Part, g *format.RowGroup, wanted func(capture string) bool) error {
	last := len(g.Columns) - 1
	if last < 0 || len(g.Columns) >= len(f.meta.Schema) {
		return errNotParquet
	}
	if !wanted(string(g.Columns[last].MetaData.Statistics.MinValue)) {
		return nil
	}
	begin := f.offset
	for i := range g.Columns {
		c := &g.Columns[i]
		m := &c.MetaData
		moved := f.offset - c.FileOffset
		if c.FileOffset < 0 || m.TotalCompressedSize < 0 || c.FileOffset > p.Size-m.TotalCompressedSize {
			return errNotParquet
		}
		n, err := io.Copy(f.w, io.NewSectionReader(p, c.FileOffset, m.TotalCompressedSize))
		if f.offset += n; err != nil {
			return err
		}
		c.FileOffset += moved
		m.DataPageOffset += moved
		if m.DictionaryPageOffset > 0 {
			m.DictionaryPageOffset += moved
		}
	}
	g.FileOffset, g.Ordinal = begin, int16(len(f.meta.RowGroups))
	f.meta.RowGroups = append(f.meta.RowGroups, *g)
	f.meta.NumRows += g.NumRows
	return nil
}

// packLines is Pack for CSV. The capture is the last value of a line, and texts
// have no line breaks.
func packLines(w io.Writer, parts []Part, wanted func(capture string) bool) (rows int64, err error) {
	out := bufio.NewWriterSize(w, 256<<10)
	for i, p := range parts {
		in := bufio.NewReaderSize(p.all(), 256<<10)
		for n := 0; ; n++ {
			line, err := in.ReadString('\n')
			if errors.Is(err, io.EOF) && line == "" {
				break
			}
			if err != nil {
				return 0, err
			}
			capture := strings.TrimSuffix(line[strings.LastIndexByte(line, ',')+1:], "\n")
			switch {
			case n == 0 && i > 0: // only the first file's names of columns are written
			case n == 0:
				_, _ = out.WriteString(line) // Flush returns the error
			case wanted(capture):
				_, _ = out.WriteString(line)
				rows++
			}
		}
	}
	return rows, out.Flush()
}

// Whole reports whether a file is complete. After a power failure a file may
// exist without its contents.
func (p Part) Whole(asCSV bool) bool {
	end := []byte(magic)
	if asCSV {
		end = []byte("\n")
	}
	got := make([]byte, len(end))
	_, err := p.ReadAt(got, p.Size-int64(len(end)))
	return p.Size >= int64(len(end)) && (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(got, end)
}
