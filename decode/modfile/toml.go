package modfile

import (
	"bytes"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A nodeKind is the type of a TOML value.
type nodeKind uint8

const (
	text nodeKind = iota
	integer
	boolean
	array
	tables // named "table" in errors
	other  // floats and dates, which no key takes
)

// String returns the type with its article.
func (k nodeKind) String() string {
	return [...]string{"a text in quotes", "a whole number", "true or false", "an array", "a table", "a float or a date"}[k]
}

// A node is a value with its line.
type node struct {
	kind   nodeKind
	line   int
	text   string
	number int64
	yes    bool

	items    []*node // elements of an array
	appended bool    // an array of tables that [[x]] extends

	entries []entry // contents of a table, in the order of the file
	header  bool    // the table has a header [x] or [[x]]
	fixed   bool    // an inline table, which cannot be extended
}

type entry struct {
	key   string
	line  int
	value *node
}

func (n *node) find(key string) *entry {
	i := slices.IndexFunc(n.entries, func(e entry) bool { return e.key == key })
	if i < 0 {
		return nil
	}
	return &n.entries[i]
}

// Limits of a file. They are far above what definitions need.
const (
	maxKeys  = 512 // keys of a table
	maxDepth = 16  // depth of nested arrays and tables
)

// A builder makes a tree from the parser's expressions.
type builder struct {
	data     []byte
	newlines []int
	p        unstable.Parser
	root     *node
	current  *node // table that gets new keys
}

// parse returns the file as a table.
func parse(data []byte) (*node, *fault) {
	if len(data) > MaxSize {
		return nil, faultAt(0, "larger than %d KiB", MaxSize>>10)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	data = data[:len(data):len(data)] // the parser's values are located by their capacity
	b := &builder{data: data, root: &node{kind: tables, line: 1, header: true}}
	b.current = b.root
	const replaced = string(utf8.RuneError) // the parser also puts it in the place of bytes that are not UTF-8
	for i, c := range string(data) {
		switch {
		case c == '\n':
			b.newlines = append(b.newlines, i)
		case c == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte(replaced)):
			return nil, faultAt(b.line(i), "not UTF-8 text")
		}
	}
	b.p.Reset(data)
	for b.p.NextExpression() {
		if err := b.expression(b.p.Expression()); err != nil {
			return nil, err
		}
	}
	if err := b.p.Error(); err != nil {
		e, ok := errors.AsType[*unstable.ParserError](err)
		if !ok {
			return nil, faultAt(0, "%v", err)
		}
		return nil, faultAt(b.line(cap(data)-cap(e.Highlight)), "%s", e.Message)
	}
	return b.root, nil
}

// line returns the line of an offset, counted from 1.
func (b *builder) line(offset int) int { return 1 + sort.SearchInts(b.newlines, offset) }

func (b *builder) expression(x *unstable.Node) *fault {
	switch x.Kind {
	case unstable.KeyValue:
		return b.assign(b.current, x, 0)
	case unstable.Table, unstable.ArrayTable:
		return b.open(x)
	default:
		return nil
	}
}

// open makes the table of a header current.
func (b *builder) open(x *unstable.Node) *fault {
	t := b.root
	for it := x.Key(); it.Next(); {
		k := it.Node()
		key, line := string(k.Data), b.line(int(k.Raw.Offset))
		e := t.find(key)
		last := it.IsLast()
		switch {
		case e == nil && last && x.Kind == unstable.ArrayTable:
			list := &node{kind: array, line: line, appended: true}
			if err := t.add(key, line, list); err != nil {
				return err
			}
			t = list.push(line)
		case e == nil:
			next := &node{kind: tables, line: line, header: last}
			if err := t.add(key, line, next); err != nil {
				return err
			}
			t = next
		case last && x.Kind == unstable.ArrayTable:
			if !e.value.appended {
				return faultAt(line, "%s is %s since line %d; [[%s]] cannot add to it", shorten(key), e.value.kind, e.line, shorten(key))
			}
			t = e.value.push(line)
		case e.value.appended && !last:
			t = e.value.items[len(e.value.items)-1]
		case e.value.kind != tables || e.value.fixed || last && e.value.header:
			return faultAt(line, "%s is already defined in line %d", shorten(key), e.line)
		default:
			t = e.value
			t.header = t.header || last
		}
	}
	b.current = t
	return nil
}

// push adds a table to an array of tables.
func (n *node) push(line int) *node {
	t := &node{kind: tables, line: line, header: true}
	n.items = append(n.items, t)
	return t
}

func (n *node) add(key string, line int, value *node) *fault {
	if len(n.entries) == maxKeys {
		return faultAt(line, "a table has more than %d keys", maxKeys)
	}
	n.entries = append(n.entries, entry{key, line, value})
	return nil
}

// assign adds a key and its value to a table.
func (b *builder) assign(t *node, x *unstable.Node, depth int) *fault {
	for it := x.Key(); it.Next(); {
		k := it.Node()
		key, line := string(k.Data), b.line(int(k.Raw.Offset))
		e := t.find(key)
		if it.IsLast() {
			if e != nil {
				return faultAt(line, "the key %s is already defined in line %d", shorten(key), e.line)
			}
			value, err := b.value(x.Value(), line, depth)
			if err != nil {
				return err
			}
			return t.add(key, line, value)
		}
		if e == nil {
			next := &node{kind: tables, line: line}
			if err := t.add(key, line, next); err != nil {
				return err
			}
			t = next
			continue
		}
		if e.value.kind != tables || e.value.fixed {
			return faultAt(line, "%s is %s since line %d; nothing can be added to it", shorten(key), e.value.kind, e.line)
		}
		t = e.value
	}
	return nil
}

// value returns a value. The argument line is the line of its key.
func (b *builder) value(x *unstable.Node, line, depth int) (*node, *fault) {
	if depth == maxDepth {
		return nil, faultAt(line, "more than %d nested arrays and tables", maxDepth)
	}
	if x.Raw.Length > 0 {
		line = b.line(int(x.Raw.Offset))
	}
	n := &node{line: line}
	switch x.Kind {
	case unstable.String:
		n.kind, n.text = text, string(x.Data)
	case unstable.Bool:
		n.kind, n.yes = boolean, string(x.Data) == "true"
	case unstable.Integer:
		v, ok := number(string(x.Data))
		if !ok {
			return nil, faultAt(line, "%s is not a TOML number, or too large", shorten(string(x.Data)))
		}
		n.kind, n.number = integer, v
	case unstable.Array:
		n.kind = array
		for it := x.Children(); it.Next(); {
			item, err := b.value(it.Node(), line, depth+1)
			if err != nil {
				return nil, err
			}
			line = item.line
			n.items = append(n.items, item)
		}
	case unstable.InlineTable:
		n.kind, n.fixed = tables, false
		for it := x.Children(); it.Next(); {
			if err := b.assign(n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
		n.fixed, n.header = true, true
	default:
		n.kind = other
	}
	return n, nil
}

// number reads a whole number in TOML's notation: decimal, or with 0x, 0o or
// 0b. The parser has already rejected leading zeros, which ParseInt would read
// as octal.
func number(s string) (int64, bool) {
	v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64)
	return v, err == nil
}
