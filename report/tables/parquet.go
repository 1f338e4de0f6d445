package tables

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A batch of rows becomes a page of each column. The pages wait in memory until
// the row group is full, since Parquet stores the pages of a column together.
// This file uses only the encoders of parquet-go, which take columns as slices.
// Its writer takes one value at a time and needs four times as long.

// Limits of a row group.
const (
	groupRows  = 100_000
	groupBytes = 4 << 20 // encoded pages
	dictBytes  = 256 << 10
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// A parquetFile writes a table as Parquet.
type parquetFile struct {
	to      io.WriteCloser
	w       *bufio.Writer
	offset  int64
	chunks  []chunk
	rows    int // number of rows in the row group
	bytes   int // size of the pages in the row group
	meta    format.FileMetaData
	page    pageBuffers
	origins []Origin // origins of the captures in a packed file
}

// pageBuffers are the parts of a page that is being written.
type pageBuffers struct {
	levels, values, all, packed []byte
	repetitions, definitions    []byte
	indexes                     []int32
}

// A chunk is a column of the row group.
type chunk struct {
	column *Column
	path   []string
	pages  []byte
	meta   format.ColumnMetaData

	// Texts are stored as numbers in a dictionary until the dictionary is too
	// large.
	numbers map[string]int32
	texts   []byte // texts of the dictionary in order, each after its length
	plain   bool

	seen     bool // the row group has a value, so bounds are set
	min, max int64
	only     string // a value that all rows have
}

// bounded are the columns with bounds. Database engines use them to skip row
// groups.
var bounded = []string{"frame", "ts"}

func newParquet(t *Table, to io.WriteCloser, o *Options) *parquetFile {
	f := &parquetFile{to: to, w: bufio.NewWriterSize(to, 16<<10), chunks: make([]chunk, len(t.Columns))}
	f.meta = format.FileMetaData{Version: 1, Schema: schemaOf(t), CreatedBy: "bcdissect version " + o.Version}
	if t.Name == Files {
		f.meta.KeyValueMetadata = keyValue([]Origin{o.Origin})
	}
	for i := range f.chunks {
		c := &t.Columns[i]
		f.chunks[i] = chunk{column: c, path: pathOf(c)}
		if c.Name == captureColumn {
			f.chunks[i].only = o.Origin.Capture
		}
		f.meta.ColumnOrders = append(f.meta.ColumnOrders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
	}
	f.put([]byte(magic))
	return f
}

// keyValue returns the footer's entry for the captures of a file.
func keyValue(all []Origin) []format.KeyValue {
	b, _ := json.Marshal(all) // it never returns an error
	return []format.KeyValue{{Key: keyOrigins, Value: string(b)}}
}

// put writes bytes. The buffered writer keeps the error.
func (f *parquetFile) put(b []byte) {
	n, _ := f.w.Write(b)
	f.offset += int64(n)
}

// write implements file.
func (f *parquetFile) write(r *rows) error {
	for i := range f.chunks {
		before := len(f.chunks[i].pages)
		if err := f.chunks[i].add(r, &r.cells[i], &f.page); err != nil {
			return err
		}
		f.bytes += len(f.chunks[i].pages) - before
	}
	if f.rows += r.n; f.rows+r.batch > groupRows || f.bytes >= groupBytes {
		return f.endGroup()
	}
	return nil
}

// close implements file.
func (f *parquetFile) close() error {
	err := f.endGroup()
	if err == nil {
		err = f.footer()
	}
	if e := f.w.Flush(); err == nil {
		err = e
	}
	if e := f.to.Close(); err == nil {
		err = e
	}
	return err
}

// footer writes the metadata of the file.
func (f *parquetFile) footer() error {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &f.meta)
	if err != nil {
		return err
	}
	f.put(b)
	f.put(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), magic...))
	return nil
}

// endGroup writes the pages of the row group, column by column.
func (f *parquetFile) endGroup() error {
	if f.rows == 0 {
		return nil
	}
	g := format.RowGroup{NumRows: int64(f.rows), FileOffset: f.offset, Ordinal: int16(len(f.meta.RowGroups))}
	for i := range f.chunks {
		c := &f.chunks[i]
		begin := f.offset
		if len(c.texts) > 0 {
			c.meta.DictionaryPageOffset = f.offset
			page, err := c.dictionary(&f.page)
			if err != nil {
				return err
			}
			f.put(page)
		}
		c.meta.DataPageOffset = f.offset
		f.put(c.pages)
		c.meta.TotalCompressedSize = f.offset - begin
		c.describe()
		g.Columns = append(g.Columns, format.ColumnChunk{FileOffset: begin, MetaData: c.meta})
		g.TotalByteSize += c.meta.TotalUncompressedSize
		g.TotalCompressedSize += c.meta.TotalCompressedSize
		*c = chunk{column: c.column, path: c.path, only: c.only, pages: c.pages[:0], texts: c.texts[:0], numbers: c.numbers}
		clear(c.numbers)
	}
	f.meta.RowGroups = append(f.meta.RowGroups, g)
	f.meta.NumRows += g.NumRows
	f.rows, f.bytes = 0, 0
	return nil
}

// describe completes the metadata of the column in the row group.
func (c *chunk) describe() {
	m := &c.meta
	of := &storage[c.column.Type]
	m.Type, m.PathInSchema, m.Codec = of.physical, c.path, of.codec
	m.Encoding = []format.Encoding{format.RLE, of.encoding}
	if len(c.texts) > 0 {
		m.Encoding = append(m.Encoding, format.RLEDictionary)
	}
	if c.only != "" {
		m.Statistics.MinValue, m.Statistics.MaxValue = []byte(c.only), []byte(c.only)
	}
	if c.seen {
		m.Statistics.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(c.min))
		m.Statistics.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(c.max))
	}
}

// storage defines how the values of each type are stored. Whole numbers are
// packed and texts are in a dictionary, so compressing them would save little
// space for the time it takes.
var storage = [...]struct {
	physical format.Type
	encoding format.Encoding // encoding of values that are not in a dictionary
	codec    format.CompressionCodec
}{
	Int:    {format.Int64, format.DeltaBinaryPacked, format.Uncompressed},
	Time:   {format.Int64, format.DeltaBinaryPacked, format.Uncompressed},
	Float:  {format.Float, format.Plain, format.Snappy},
	Double: {format.Double, format.Plain, format.Snappy},
	Bool:   {format.Boolean, format.Plain, format.Uncompressed},
	Text:   {format.ByteArray, format.Plain, format.Uncompressed},
}

// add adds the values of a batch as a page.
func (c *chunk) add(r *rows, v *cells, p *pageBuffers) error {
	n := r.n
	p.all = p.all[:0]
	var err error
	if !v.full {
		n = len(v.levels)
		if err = c.levels(v, p); err != nil {
			return err
		}
	}
	c.meta.NumValues += int64(n)
	c.meta.Statistics.NullCount += int64(n - v.count())
	encoding := storage[c.column.Type].encoding
	if c.column.Type == Text && !c.plain && v.count() > 0 { // the dictionary has at least one text
		encoding = format.RLEDictionary
	}
	switch c.column.Type {
	case Int, Time:
		if slices.Contains(bounded, c.column.Name) {
			c.bound(v.ints)
		}
		p.values, err = new(delta.BinaryPackedEncoding).EncodeInt64(p.values, v.ints)
	case Bool:
		p.values = packBits(p.values[:0], v.ints)
	case Float:
		p.values, err = new(plain.Encoding).EncodeFloat(p.values, v.floats)
	case Double:
		p.values, err = new(plain.Encoding).EncodeDouble(p.values, v.reals)
	case Text:
		err = c.textPage(r, v, p)
	}
	if err != nil {
		return err
	}
	p.all = append(p.all, p.values...)
	c.pages, err = c.page(c.pages, p, &format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(n), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})})
	return err
}

// page appends a page with the contents of p.all.
func (c *chunk) page(dst []byte, p *pageBuffers, h *format.PageHeader) (_ []byte, err error) {
	content := p.all
	if storage[c.column.Type].codec == format.Snappy {
		if p.packed, err = new(snappy.Codec).Encode(p.packed, content); err != nil {
			return dst, err
		}
		content = p.packed
	}
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(p.all)), int32(len(content))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	if err != nil {
		return dst, err
	}
	c.meta.TotalUncompressedSize += int64(len(head) + len(p.all))
	return append(append(dst, head...), content...), nil
}

// levels begins a page with the levels of its values.
func (c *chunk) levels(v *cells, p *pageBuffers) error {
	switch n := v.count(); {
	case v.list:
	case n == 0, n == len(v.levels): // all levels are equal: one run is enough
		run := append(binary.AppendUvarint(nil, uint64(len(v.levels))<<1), v.levels[0])
		p.all = append(binary.LittleEndian.AppendUint32(p.all, uint32(len(run))), run...)
		return nil
	default:
		return p.addLevels(v.levels, 1)
	}
	p.repetitions, p.definitions = p.repetitions[:0], p.definitions[:0]
	for _, l := range v.levels {
		p.repetitions = append(p.repetitions, l>>7)
		p.definitions = append(p.definitions, definitions[l&levelBits])
	}
	if err := p.addLevels(p.repetitions, 1); err != nil {
		return err
	}
	return p.addLevels(p.definitions, 2)
}

// definitions are the Parquet definition levels of lists.
var definitions = [...]uint8{absent: 0, empty: 1, gap: 2, element: 3}

// addLevels adds encoded levels after their length.
func (p *pageBuffers) addLevels(levels []uint8, width int) (err error) {
	if p.levels, err = (&rle.Encoding{BitWidth: width}).EncodeLevels(p.levels, levels); err != nil {
		return err
	}
	p.all = append(binary.LittleEndian.AppendUint32(p.all, uint32(len(p.levels))), p.levels...)
	return nil
}

// bound extends the bounds of the row group.
func (c *chunk) bound(values []int64) {
	if len(values) == 0 {
		return
	}
	low, high := slices.Min(values), slices.Max(values)
	if !c.seen {
		c.seen, c.min, c.max = true, low, high
	}
	c.min, c.max = min(c.min, low), max(c.max, high)
}

// packBits appends values as single bits, the lowest bit first.
func packBits(dst []byte, values []int64) []byte {
	for i, v := range values {
		if i%8 == 0 {
			dst = append(dst, 0)
		}
		dst[len(dst)-1] |= uint8(v) << (i % 8)
	}
	return dst
}

// textPage encodes texts as numbers in the dictionary, or as plain texts.
func (c *chunk) textPage(r *rows, v *cells, p *pageBuffers) (err error) {
	if c.plain || len(v.texts) == 0 {
		p.values = p.values[:0]
		for _, s := range v.texts {
			p.values = appendText(p.values, r.textOf(s))
		}
		return nil
	}
	if c.numbers == nil {
		c.numbers = map[string]int32{}
	}
	p.indexes = p.indexes[:0]
	var last span
	number := int32(-1)
	for _, s := range v.texts {
		if s != last || number < 0 {
			last, number = s, c.number(r.textOf(s))
		}
		p.indexes = append(p.indexes, number)
	}
	c.plain = len(c.texts) > dictBytes // takes effect from the next page on
	width := max(1, bits.Len(uint(len(c.numbers)-1)))
	if p.levels, err = (&rle.Encoding{BitWidth: width}).EncodeInt32(p.levels, p.indexes); err != nil {
		return err
	}
	p.values = append(append(p.values[:0], uint8(width)), p.levels...)
	return nil
}

// number returns the number of a text in the dictionary, and adds the text if
// needed.
func (c *chunk) number(s []byte) int32 {
	n, ok := c.numbers[string(s)]
	if !ok {
		n = int32(len(c.numbers))
		c.numbers[string(s)] = n
		c.texts = appendText(c.texts, s)
	}
	return n
}

// appendText appends a text after its length.
func appendText(dst, s []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
}

// dictionary returns the page of the dictionary.
func (c *chunk) dictionary(p *pageBuffers) ([]byte, error) {
	p.all = append(p.all[:0], c.texts...)
	return c.page(nil, p, &format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(len(c.numbers)), Encoding: format.Plain,
	})})
}

// pathOf returns the path of a column's values in the schema.
func pathOf(c *Column) []string {
	if c.List {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// schemaOf returns the schema of a table: its root, then each column. A list
// has two more levels below it.
func schemaOf(t *Table) []format.SchemaElement {
	all := []format.SchemaElement{{Name: "bcdissect", NumChildren: thrift.New(int32(len(t.Columns)))}}
	for i := range t.Columns {
		c := &t.Columns[i]
		value := format.SchemaElement{Name: c.Name, Type: thrift.New(storage[c.Type].physical), RepetitionType: thrift.New(format.Optional)}
		switch c.Type {
		case Text:
			value.ConvertedType = thrift.New(deprecated.UTF8)
			value.LogicalType.Value = new(format.StringType)
		case Time:
			value.ConvertedType = thrift.New(deprecated.TimestampMicros)
			value.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: new(format.MicroSeconds)}}
		default:
		}
		if c.Full {
			value.RepetitionType = thrift.New(format.Required)
		}
		if c.List {
			value.Name = "element"
			all = append(all, format.SchemaElement{
				Name: c.Name, RepetitionType: thrift.New(format.Optional), NumChildren: thrift.New(int32(1)),
				ConvertedType: thrift.New(deprecated.List), LogicalType: format.LogicalType{Value: new(format.ListType)},
			}, format.SchemaElement{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(1))})
		}
		all = append(all, value)
	}
	return all
}

var errNotParquet = errors.New("not a Parquet file, or a part of one")

// readMetadata returns the footer of a Parquet file.
func readMetadata(r io.ReaderAt, size int64) (*format.FileMetaData, error) {
	const end = 4 + len(magic)
	tail := make([]byte, end)
	if size < int64(len(magic)+end) {
		return nil, errNotParquet
	}
	if _, err := r.ReadAt(tail, size-int64(end)); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	const most = 64 << 20
	if string(tail[4:]) != magic || n > most || n > size-int64(end) {
		return nil, errNotParquet
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-int64(end)-n); err != nil {
		return nil, err
	}
	meta := new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b, meta); err != nil {
		return nil, errors.Join(errNotParquet, err)
	}
	return meta, nil
}
