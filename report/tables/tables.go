// Not part of the library: package tables writes records as typed tables in
// Parquet or CSV, for engines that read many captures at once. The columns are
// derived from the table of keys and the descriptions of the messages.
package tables

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Schema is the version of the tables and their columns. Captures whose tables
// have another version are written again.
const Schema = 3

// A Type is the type of a column.
type Type uint8

// The types of columns.
const (
	Int    Type = iota // 64 bits, signed
	Float              // 32 bits
	Double             // 64 bits
	Bool
	Text // UTF-8
	Time // microseconds since 1970, UTC
)

// String returns the name of the type in SQL.
func (t Type) String() string {
	return [...]string{Int: "BIGINT", Float: "FLOAT", Double: "DOUBLE", Bool: "BOOLEAN", Text: "VARCHAR", Time: "TIMESTAMP"}[t]
}

// A Column is a column of a table.
type Column struct {
	Name string
	Type Type
	Doc  string
	List bool // each value is a list
	Full bool // no value is absent: a missing value is 0, false or an empty text
}

// of returns a column.
func of(name string, t Type, doc string) Column { return Column{Name: name, Type: t, Doc: doc} }

// listOf returns a column of lists.
func listOf(name string, t Type, doc string) Column {
	return Column{Name: name, Type: t, Doc: doc, List: true}
}

// SQL returns the type of the column in SQL.
func (c *Column) SQL() string {
	if c.List {
		return c.Type.String() + "[]"
	}
	return c.Type.String()
}

// A Table is a table with its columns.
type Table struct {
	Name    string // path of its folder, such as updates or messages/Chat
	Doc     string
	Columns []Column
}

// Names of tables.
const (
	Captures   = "captures"
	Files      = "files"
	records    = "records"
	updates    = "updates"
	subsystems = "subsystems"
	links      = "links"
	gameSpy    = "messages/gamespy"
	messages   = "messages/"
)

// captureColumn is the last column of every table.
const captureColumn = "capture"

// Tables returns all tables of a catalogue. If c is nil, it uses the catalogue
// of the original game. Each capture has all tables without a slash in their
// names, and the tables of the messages that it contains.
func Tables(c *decode.Catalog) []Table {
	if c == nil {
		c = msg.Catalog()
	}
	all := []Table{captureTable(), fileTable()}
	for _, m := range modelTables() {
		all = append(all, m.Table)
	}
	all = append(all, recordTable())
	if p := planFor(update(c)); p.elements != nil {
		all = append(all, p.table, p.elements.table)
	}
	all = append(all, linkTable())
	specs := append(slices.Clone(c.All()), transport.Catalog()...)
	seen := map[string]bool{updates: true}
	for _, s := range specs {
		if p := planFor(s); s.Known() && !seen[p.table.Name] {
			seen[p.table.Name] = true
			all = append(all, p.table)
		}
	}
	return append(all, gameSpyTable())
}

// update returns the spec of ship updates.
func update(c *decode.Catalog) *decode.Spec {
	if c == nil {
		c = msg.Catalog()
	}
	return c.Lookup(msg.OpStateUpdate)
}
