package wireshark

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/report"
)

// An item is an item of a tree, with its children.
type item struct {
	name     string
	value    string // "" for a group
	source   int
	from, to int
	children []item

	label, bytes string // value that tshark shows, bytes in hexadecimal
}

// fields is the table of the plugin.
var fields = newTable(nil)

// parse returns the items of a trailer, and the data sources: the first is the
// payload in the frame.
func parse(tb testing.TB, frame []byte) (items []item, sources [][]byte, info string) {
	tb.Helper()
	u16 := binary.LittleEndian.Uint16
	u32 := binary.LittleEndian.Uint32
	foot := frame[len(frame)-footerSize:]
	if string(foot[24:]) != magic || u32(foot[4:]) != fields.sum {
		tb.Fatalf("no footer: %x", foot)
	}
	trailer := frame[len(frame)-int(u32(foot)):]
	at, size, ids, infos := u32(foot[8:]), int(u16(foot[12:])), int(u16(foot[14:])), int(u16(foot[16:]))
	b := trailer[len(magic):]
	if at != noPayload {
		sources = append(sources, frame[at:][:size])
	}
	for range int(foot[19]) {
		n := int(u16(b))
		sources = append(sources, b[2:2+n])
		b = b[2+n:]
	}
	body, b := b[:u32(foot[20:])], b[u32(foot[20:]):]
	listed, chained := map[uint16]bool{}, map[uint16]uint16{}
	all := body
	for i := range ids {
		listed[u16(b[4*i:])] = true
		place := u16(b[4*i+2:])
		for first := true; first || place != 0; first = false {
			chained[place] = u16(b[4*i:])
			place = u16(body[place+nextAt:])
		}
	}
	info = string(b[4*ids : 4*ids+infos])
	if rest := b[4*ids+infos:]; len(rest) != footerSize {
		tb.Fatalf("%d bytes after the text for the Info column", len(rest))
	}
	found := map[uint16]bool{}
	var open []*[]item
	open = append(open, &items)
	for len(body) > 0 {
		place := uint16(len(all) - len(body))
		id, from, n, depth, source := u16(body), int(u16(body[2:])), int(u16(body[4:])), int(body[8]), int(body[9])
		body = body[itemSize:]
		text := func() string {
			n := int(u16(body))
			switch n {
			case sameText:
				old := all[u16(body[2:]):]
				body = body[4:]
				return string(old[2 : 2+u16(old)])
			case partText:
				from, n := u16(body[2:]), u16(body[4:])
				body = body[6:]
				return info[from : from+n]
			}
			s := string(body[2 : 2+n])
			body = body[2+n:]
			return s
		}
		if id == idExpert {
			_ = experts[from]
			text()
			continue
		}
		if chained[place] != id {
			tb.Fatalf("the item at %d is not in the list", place)
		}
		if int(id) >= firstID+len(fields.fields) {
			tb.Fatalf("no field %d", id)
		}
		f := fields.fields[id-firstID]
		if depth >= len(open) || from+n > len(sources[source]) {
			tb.Fatalf("item %d at %d+%d of %d, depth %d of %d", id, from, n, len(sources[source]), depth, len(open))
		}
		found[id] = true
		it := item{name: f.name, source: source, from: from, to: from + n}
		switch f.form {
		case formUint, formHex, formByte, formFrame:
			it.value = strconv.FormatUint(uint64(u32(body)), 10)
			body = body[4:]
		case formInt:
			it.value = strconv.Itoa(int(int32(u32(body))))
			body = body[4:]
		case formFloat:
			it.value = number(math.Float64frombits(binary.LittleEndian.Uint64(body)))
			body = body[8:]
		case formBool:
			it.value = strconv.FormatBool(body[0] != 0)
			body = body[1:]
		case formText:
			it.value = text()
		case formGroup:
			text()
		case formBytes:
			it.value = fmt.Sprintf("%x", sources[source][from:from+n])
		case formIPv4:
			it.value = netip.AddrFrom4([4]byte(sources[source][from : from+n])).String()
		}
		list := open[depth]
		*list = append(*list, it)
		open = append(open[:depth+1], &(*list)[len(*list)-1].children)
	}
	if len(listed) != len(found) {
		tb.Fatalf("%d fields are listed, there are %d", len(listed), len(found))
	}
	return items, sources, info
}

// number returns a float as all of these tests write it: null stands for all that
// JSON has no number for.
func number(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "null"
	}
	if f == 0 {
		f = 0 // no sign
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// A message is one record as a tree or a line of JSON describes it.
type message []string

// datagramKeys are those that stand before the messages of a datagram.
var datagramKeys = []string{"dir", "conversation", "player_index", "player_name", "peer"}

// messages returns the messages of a tree. Keys about the datagram hold until
// there is another value.
func messages(items []item) (all []message) {
	of := map[string]string{}
	for _, it := range items {
		if slices.Contains(datagramKeys, it.name) {
			of[it.name] = it.value
			continue
		}
		if it.name == "player" {
			continue
		}
		var m message
		if body := flat(nil, it.children, it.name); slices.Contains(body, "notes.code=restart") { // it has no player
			delete(of, "player_index")
			delete(of, "player_name")
		}
		for _, k := range datagramKeys {
			if of[k] != "" {
				m = append(m, k+"="+of[k])
			}
		}
		all = append(all, flat(m, it.children, it.name))
	}
	return all
}

// flat appends the values below an item in their order.
func flat(m message, items []item, of string) message {
	for _, it := range items {
		name := it.name
		if path, ok := strings.CutPrefix(name, of+"."); ok {
			name = "fields." + path
		}
		if it.value != "" && it.name != "author" && it.name != "notes" {
			m = append(m, name+"="+it.value)
		}
		m = flat(m, it.children, of)
	}
	return m
}

// line returns the message of a line of JSON.
func line(tb testing.TB, text []byte) (frame int, m message) {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var head, body message
	var walk func(prefix string, depth int)
	walk = func(path string, depth int) {
		tok, err := dec.Token()
		if err != nil {
			tb.Fatal(err)
		}
		switch v := tok.(type) {
		case json.Delim:
			i := 0
			for dec.More() {
				at := path
				if v == '{' {
					key, _ := dec.Token()
					at = key.(string)
					if path != "" {
						at = path + "." + at
					}
				}
				if v == '[' && vectors[path[strings.LastIndexByte(path, '.')+1:]] {
					at = path + "." + components(path)[i:i+1]
				}
				walk(at, depth+1)
				i++
			}
			_, _ = dec.Token()
			return
		case nil:
			body = append(body, path+"=null")
			return
		default:
			value := fmt.Sprint(v)
			if n, ok := v.(json.Number); ok {
				if f, err := n.Float64(); err == nil && strings.ContainsAny(value, ".e") {
					value = number(f)
				}
			}
			if s, ok := v.(string); ok {
				value = report.Escape(s)
			}
			switch path {
			case "frame":
				frame, _ = strconv.Atoi(value)
				return
			case "ts", "rel", "src", "dst", "capture":
				return
			case "player", "author":
				path += "_index"
			}
			if slices.Contains(datagramKeys, path) {
				head = append(head, path+"="+value)
				return
			}
			if key, ok := strings.CutPrefix(path, "gamespy."); ok {
				if base, n, ok := strings.Cut(key, "_"); ok && n == "2" && fields.gamespy[base] != nil {
					path = "gamespy." + base
				} else if fields.gamespy[key] == nil {
					path, value = "gamespy.pair", key+`\`+value
				}
			}
			if value != "" {
				body = append(body, path+"="+value)
			}
		}
	}
	walk("", 0)
	slices.SortFunc(head, func(a, b string) int {
		return slices.IndexFunc(datagramKeys, func(k string) bool { return strings.HasPrefix(a, k+"=") }) -
			slices.IndexFunc(datagramKeys, func(k string) bool { return strings.HasPrefix(b, k+"=") })
	})
	return frame, append(head, body...)
}

// vectors are the last names of the fields that are vectors.
var vectors = func() map[string]bool {
	all := map[string]bool{}
	for _, f := range fields.fields {
		if name, ok := strings.CutSuffix(f.name, ".z"); ok {
			all[name[strings.LastIndexByte(name, '.')+1:]] = true
		}
	}
	return all
}()

// components are the letters of a vector's components.
func components(path string) string {
	if strings.HasSuffix(path, "orientation") || strings.HasSuffix(path, "rotation") || strings.HasSuffix(path, "quaternion") {
		return "wxyz"
	}
	return "xyz"
}

// lines returns the messages of JSON by frame. Evictions at the end of a capture
// have no time and belong to no frame.
func lines(tb testing.TB, r io.Reader) map[int][]message {
	tb.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	of := map[int][]message{}
	for text := range bytes.Lines(all) {
		if !bytes.Contains(text, []byte(`"ts":`)) {
			continue
		}
		n, m := line(tb, text)
		of[n] = append(of[n], m)
	}
	return of
}
