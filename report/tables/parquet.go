package tables

import (
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// Sizes of a Parquet file.
const (
	groupRows = 100_000  // most rows of a row group
	groupText = 4 << 20  // bytes of text after which a row group ends
	pageBytes = 64 << 10 // of a page before it is encoded
)

// sorted are the columns whose bounds let an engine skip parts of a file.
var sorted = []string{"frame", "ts", "rel"}

// A parquetFile writes a table as Parquet.
type parquetFile struct {
	to   io.WriteCloser
	w    *parquet.GenericWriter[any]
	rows int // in the row group
	text int // bytes of text in it

	values, nulls []parquet.Value // of a batch
	scratch       []parquet.Value // of lists
}

func newParquet(t *Table, to io.WriteCloser, o *Options) *parquetFile {
	options := []parquet.WriterOption{
		schemaOf(t), parquet.CreatedBy("bcdissect", o.Version, ""), parquet.DataPageVersion(1),
		parquet.PageBufferSize(pageBytes), parquet.WriteBufferSize(16 << 10), parquet.DictionaryMaxBytes(1 << 20),
	}
	for _, m := range [][2]string{{keySum, o.Origin.SHA256}, {keySchema, strconv.Itoa(o.Origin.Schema)}, {keyOptions, o.Origin.Options}} {
		options = append(options, parquet.KeyValueMetadata(m[0], m[1]))
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !slices.Contains(sorted, c.Name) {
			path := leafPath(c)
			options = append(options, parquet.SkipPageBounds(path...), parquet.SkipPageStatistics(path...))
		}
	}
	return &parquetFile{to: to, w: parquet.NewGenericWriter[any](to, options...)}
}

// write implements file.
func (f *parquetFile) write(r *rows) error {
	if f.values == nil {
		f.values, f.nulls = make([]parquet.Value, r.batch), make([]parquet.Value, r.batch)
	}
	for i, w := range f.w.ColumnWriters() {
		if err := f.put(w, r, &r.cells[i]); err != nil {
			return err
		}
	}
	f.rows, f.text = f.rows+r.n, f.text+len(r.arena)
	if f.rows+r.batch <= groupRows && f.text < groupText {
		return nil
	}
	f.rows, f.text = 0, 0
	return f.w.Flush()
}

// put writes the values of a column in a batch.
func (f *parquetFile) put(w *parquet.ColumnWriter, r *rows, c *cells) error {
	all := f.nulls[:r.n] // they stay absent
	switch {
	case c.list:
		all = f.list(r, c)
	case c.full:
		all = f.values[:r.n]
		fill(all, r, c)
	case c.count() > 0:
		all = f.values[:r.n]
		fill(all, r, c)
		spread(all, c)
	}
	_, err := w.WriteRowValues(all)
	return err
}

// fill sets values from the first on.
func fill(all []parquet.Value, r *rows, c *cells) {
	switch c.kind {
	case Int, Time:
		for i, v := range c.ints {
			all[i] = parquet.Int64Value(v)
		}
	case Bool:
		for i, v := range c.ints {
			all[i] = parquet.BooleanValue(v != 0)
		}
	case Float:
		for i, v := range c.floats {
			all[i] = parquet.FloatValue(v)
		}
	case Double:
		for i, v := range c.reals {
			all[i] = parquet.DoubleValue(v)
		}
	case Text:
		for i, v := range c.texts {
			all[i] = parquet.ByteArrayValue(r.textOf(v))
		}
	}
}

// spread puts values, which stand one after another, into their rows.
func spread(all []parquet.Value, c *cells) {
	n := c.count()
	for i := len(c.levels) - 1; i >= 0; i-- {
		if c.levels[i] == absent {
			all[i] = parquet.Value{}
			continue
		}
		if n--; n < i {
			all[i] = all[n]
		}
		all[i].SetDefinitionLevel(1)
	}
}

// definitions are the definition levels of the elements of lists.
var definitions = [...]int{absent: 0, empty: 1, gap: 2, element: 3}

// list returns the values of a column of lists.
func (f *parquetFile) list(r *rows, c *cells) []parquet.Value {
	if c.count() == 0 && c.none {
		return f.nulls[:r.n]
	}
	n := c.count()
	f.scratch = slices.Grow(f.scratch[:0], n+len(c.levels))
	fill(f.scratch[:n], r, c)
	values := f.scratch[:n]
	all := f.scratch[n : n+len(c.levels)]
	for i, l := range c.levels {
		all[i] = parquet.Value{}
		if l&levelBits == element {
			all[i], values = values[0], values[1:]
		}
		all[i].SetDefinitionLevel(definitions[l&levelBits])
		all[i].SetRepetitionLevel(int(l >> 7))
	}
	return all
}

// close implements file.
func (f *parquetFile) close() error {
	err := f.w.Close()
	if e := f.to.Close(); err == nil {
		err = e
	}
	return err
}

// leafPath returns the path of a column's values in the schema.
func leafPath(c *Column) []string {
	if c.List {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// schemaOf returns the schema of a table.
func schemaOf(t *Table) *parquet.Schema {
	g := ordered{Group: parquet.Group{}}
	for i := range t.Columns {
		c := &t.Columns[i]
		n := leafOf(c.Type)
		switch {
		case c.List:
			n = parquet.Optional(parquet.List(parquet.Optional(n)))
		case !c.Full:
			n = parquet.Optional(n)
		}
		g.Group[c.Name] = n
		g.names = append(g.names, c.Name)
	}
	return parquet.NewSchema("bcdissect", g)
}

// leafOf returns the node of a type, in the encoding and compression that suit
// it: numbers are packed, and packing them again takes time and saves little.
func leafOf(t Type) parquet.Node {
	switch t {
	case Int:
		return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
	case Time:
		return parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
	case Float:
		return parquet.Compressed(parquet.Leaf(parquet.FloatType), &parquet.Snappy)
	case Double:
		return parquet.Compressed(parquet.Leaf(parquet.DoubleType), &parquet.Snappy)
	case Bool:
		return parquet.Leaf(parquet.BooleanType)
	case Text:
	}
	return parquet.Compressed(parquet.Encoded(parquet.String(), &parquet.RLEDictionary), &parquet.Snappy)
}

// An ordered group keeps its fields in the order of the table.
type ordered struct {
	parquet.Group
	names []string
}

// Fields implements [parquet.Node].
func (g ordered) Fields() []parquet.Field {
	by := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		by[f.Name()] = f
	}
	all := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		all[i] = by[name]
	}
	return all
}
