package tables

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
)

// headers are the keys at the beginning of the rows of messages. The table of
// records has the other keys.
var headers = []string{"frame", "msg", "ts", "dir", "player", "player_name", "copy_of", "author", "author_name"}

// full are the columns of keys that have a value in each row.
var full = []string{
	"frame", "msg", "src_ip", "src_port", "dst_ip", "dst_port", "frame_len", "dir", "conversation", "peer", "kind", "len", "reliable", "priority", "status",
	"payload_len",
}

// A header sets the first columns of a table to keys of a record.
type header struct {
	keys  []headerKey
	start *time.Time // time of the first frame of the capture
	addrs [2]address // addresses of the last record
}

// A headerKey is a key and its column.
type headerKey struct {
	*key.Key
	of   *key.Key // the object that it is a member of, nil if it is not a member
	list bool
	more int // number of keys after it that are members of the same object
}

// An address is an IP address and its text.
type address struct {
	ip   netip.Addr
	text string
}

// newHeader returns the header for some keys.
func newHeader(names []string) *header {
	h := &header{start: new(time.Time)}
	for _, name := range names {
		k := headerKey{Key: key.Find(name)}
		k.list = k.List
		if object, _, ok := strings.Cut(name, "."); ok {
			k.of = key.Find(object)
			k.list = k.of.List
		}
		h.keys = append(h.keys, k)
	}
	for i := len(h.keys) - 2; i >= 0; i-- {
		if k, next := &h.keys[i], &h.keys[i+1]; k.of == next.of {
			k.more = next.more + 1
		}
	}
	return h
}

// recordKeys returns the names of the keys in the table of records.
func recordKeys() (names []string) {
	for _, k := range key.All() {
		switch {
		case k.Scope == key.Filter, k.Type == key.Object, k.Type == key.Address:
		case slices.Contains([]string{"capture", "payload", "notes.text"}, k.Name):
		default:
			names = append(names, k.Name)
		}
	}
	return names
}

// recordTable returns the table of records.
func recordTable() Table {
	return Table{Name: records, Doc: "a record: a message, a GameSpy datagram, or malformed bytes", Columns: newHeader(recordKeys()).columns()}
}

// columns returns the columns of the header.
func (h *header) columns() []Column {
	all := make([]Column, len(h.keys))
	for i, k := range h.keys {
		doc := k.Doc
		switch k.Name {
		case "ts":
			doc = "capture time, in microseconds"
		case "status":
			doc = "`ok`, or as in JSON"
		case "dialect":
			doc = "how the sender writes: `openbc` or `stock`"
		}
		all[i] = Column{Name: strings.ReplaceAll(k.Name, ".", "_"), Type: keyTypes[k.Type], List: k.list, Doc: doc, Full: slices.Contains(full, k.Name)}
	}
	return all
}

// keyTypes are the types of columns with the values of keys.
var keyTypes = [...]Type{
	key.Int: Int, key.Bool: Bool, key.Time: Time, key.Seconds: Double, key.Word: Text, key.Text: Text, key.Hex: Text, key.IP: Text,
}

// fill sets the columns of the header in the open row. Unlike JSON, the tables
// contain default values: ok, stock, false.
func (h *header) fill(t *rows, r *dissect.Record) {
	d := r.Datagram
	for i := 0; i < len(h.keys); i++ {
		k := &h.keys[i]
		if k.of != nil && !k.of.Present(r) {
			i += k.more
			continue
		}
		switch { // frequent keys are filled without an item
		case k.Int != nil && !k.list:
			if v, ok := k.Int(r, 0); ok {
				t.int(i, v)
			}
		case k.Word != nil:
			if w := k.Word(r); w >= 0 {
				t.text(i, k.Words[w])
			}
		case k.Text != nil && !k.list:
			if s, ok := k.Text(r, 0); ok {
				t.text(i, s.Raw())
			}
		case k.Type == key.IP:
			if a, ok := k.Addr(r, 0); ok {
				t.text(i, h.address(i&1, a.Addr()))
			}
		case k.Type != key.Time && k.Type != key.Seconds:
			t.key(i, k.Key, r)
		case d == nil || d.Time.IsZero():
		case k.Type == key.Time:
			t.int(i, d.Time.UnixMicro())
		default:
			if h.start.IsZero() {
				*h.start = d.Time
			}
			t.double(i, d.Time.Sub(*h.start).Seconds())
		}
	}
}

// key sets a column to the value or the values of a key.
func (r *rows) key(column int, k *key.Key, record *dissect.Record) {
	for i := 0; ; i++ {
		it, ok := k.Item(r.scratch[:0], record, i)
		if !ok {
			return
		}
		if it.Text != nil {
			r.scratch = it.Text
		}
		if !r.cells[column].list {
			r.put(column, &it)
			return
		}
		r.append(r.add(column, element), &it)
	}
}

// address returns the text of an IP address. The argument which selects one of
// the two remembered addresses.
func (h *header) address(which int, ip netip.Addr) string {
	a := &h.addrs[which]
	if a.ip != ip || a.text == "" {
		*a = address{ip, ip.String()}
	}
	return a.text
}
