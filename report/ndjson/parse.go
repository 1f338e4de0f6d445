package ndjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Parsed is a record in JSON that is to be converted to bytes.
type Parsed struct {
	object  map[string]any
	catalog *decode.Catalog
}

// Parse parses the object on one line. The catalogue defines its messages.
func Parse(text []byte, c *decode.Catalog) (Parsed, error) {
	l := Parsed{catalog: c}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return l, errors.New("the JSON object does not end on its line; put each object on one line, as jq -c does")
		}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return l, fmt.Errorf("not JSON: %q at byte %d does not belong there", text[max(syntax.Offset, 1)-1], syntax.Offset)
		}
		return l, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("more than one JSON object; begin a line for each")
	}
	if key := repeatedKey(text); key != "" {
		return l, fmt.Errorf("%s: the key is there twice; keep one of them", key)
	}
	var ok bool
	if l.object, ok = v.(map[string]any); !ok {
		return l, errors.New("not a JSON object in braces; -T json writes one a line")
	}
	return l, nil
}

// repeatedKey returns the path of the first key that is repeated in an object
// of valid JSON, or "" if there is none. JSON parsers differ in which of the
// values they use.
func repeatedKey(text []byte) string {
	type level struct {
		keys map[string]bool // nil in an array
		key  string          // current key
		want bool            // the next token is a key
	}
	var stack []level
	value := func() { // called after a complete value
		if n := len(stack); n > 0 && stack[n-1].keys != nil {
			stack[n-1].want = true
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		if n := len(stack); n > 0 && stack[n-1].want && token != json.Delim('}') {
			top := &stack[n-1]
			top.key, top.want = fmt.Sprint(token), false
			if top.keys[top.key] {
				var path []string
				for _, l := range stack {
					if l.keys != nil {
						path = append(path, l.key)
					}
				}
				return strings.Join(path, ".")
			}
			top.keys[top.key] = true
			continue
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}, want: true})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			value()
		default:
			value()
		}
	}
}

// Part returns the index of the message in its datagram. If the line does not
// contain it, ok is false.
func (l Parsed) Part() (n int, ok bool) {
	if l.object["msg"] == nil || l.object["peer"] == nil {
		return 0, false
	}
	n, err := l.number("msg", transport.MaxCount-1)
	return n, err == nil
}

// Peer returns the peer ID of the sender.
func (l Parsed) Peer() (uint8, error) {
	n, err := l.number("peer", 0xFF)
	return uint8(n), err
}

// Whole reports whether the line has the header of a transport message.
func (l Parsed) Whole() bool { return l.object["kind"] != nil }

// number returns a number from 0 to most, or 0 if the key is absent.
func (l Parsed) number(key string, most uint64) (int, error) { return number64(l.object, key, most) }

func number64(object map[string]any, key string, most uint64) (int, error) {
	switch v := object[key].(type) {
	case nil:
		return 0, nil
	case json.Number:
		if n, err := strconv.ParseUint(string(v), 10, 32); err == nil && n <= most {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("%s: not a whole number from 0 to %d", key, most)
}

// text returns a string, or "" if the key is absent.
func (l Parsed) text(key string) string {
	s, _ := l.object[key].(string)
	return s
}

// has reports whether the value of a key is true.
func (l Parsed) has(key string) bool {
	b, _ := l.object[key].(bool)
	return b
}

// residue returns the bytes that are not decoded.
func (l Parsed) residue() ([]byte, error) {
	b, err := hex.DecodeString(l.text("residue"))
	if _, ok := l.object["residue"].(string); err != nil || !ok && l.object["residue"] != nil {
		return nil, errors.New("residue: not a string of hexadecimal digits in pairs")
	}
	return b, nil
}

// absent returns the error for a line without bytes.
func (l Parsed) absent() error {
	switch {
	case l.text("status") == "pending":
		return errors.New("the bytes of a fragment are not in its line; the line of its last fragment has the whole message: --as payload")
	case l.text("status") == "duplicate":
		return errors.New("a duplicate is not decoded again; encode the line of the message that it repeats")
	}
	return errors.New("the line has neither fields nor residue")
}

// Payload returns the game message, starting with the opcode.
func (l Parsed) Payload() ([]byte, error) { return l.payload(-1) }

// payload returns the game message. The size is its length in bytes, or
// negative if that is unknown.
func (l Parsed) payload(size int) ([]byte, error) {
	if l.object["opcode"] == nil && l.object["name"] == nil {
		if l.Whole() && l.text("kind") != transport.Standard.Kind() {
			return nil, fmt.Errorf("a line of kind %q is not a game message; --as message makes its transport message", l.text("kind"))
		}
		if l.object["fields"] != nil || l.object["residue"] != nil {
			return nil, errors.New("opcode: missing; add it, or name the message as in \"name\":\"Chat\"")
		}
		return nil, l.absent()
	}
	op, err := l.number("opcode", 0xFF)
	if err != nil {
		return nil, err
	}
	spec := l.catalog.Lookup(decode.Opcode(op))
	if name, ok := l.object["name"].(string); ok {
		if spec = l.catalog.Find(name); spec == nil {
			return nil, fmt.Errorf("name: no message is called %q%s", name, names.DidYouMean(name, l.names()))
		}
		switch {
		case l.object["opcode"] == nil:
			op = int(spec.Code)
		case op != int(spec.Code) && !spec.CatchAll:
			return nil, fmt.Errorf("opcode: %s has %d, not %d; remove one of the two", spec.Name, spec.Code, op)
		}
	}
	rest, err := l.residue()
	if err != nil {
		return nil, err
	}
	if l.text("status") == "duplicate" {
		return nil, l.absent()
	}
	var fields []byte
	switch {
	case l.object["fields"] != nil && spec == nil:
		return nil, fmt.Errorf("opcode: no message has %d; --define adds one", op)
	case l.object["fields"] != nil:
		fields, err = l.fields([]*decode.Spec{spec}, decode.Opcode(op), size-1-len(rest))
	case l.object["residue"] == nil && l.object["error"] == nil && (spec == nil || spec.Known()):
		return nil, l.absent()
	}
	if err != nil {
		return nil, err
	}
	return append(append([]byte{byte(op)}, fields...), rest...), nil
}

func (l Parsed) names() (all []string) {
	for _, s := range l.catalog.All() {
		all = append(all, s.Names()...)
	}
	return all
}

// fields returns the encoded fields of the first spec that the values fit. It
// prefers specs of the sender's dialect, and encodings with size bytes.
func (l Parsed) fields(specs []*decode.Spec, op decode.Opcode, size int) (fields []byte, err error) {
	values, ok := l.object["fields"].(map[string]any)
	if !ok {
		return nil, errors.New("fields: not an object")
	}
	dialects := [2]decode.Dialect{decode.Stock, decode.OpenBC}
	switch d := l.text("dialect"); d {
	case "", decode.Stock.String():
	case decode.OpenBC.String():
		dialects = [2]decode.Dialect{decode.OpenBC, decode.Stock}
	default:
		return nil, fmt.Errorf("dialect: %q is unknown; the dialects are stock and openbc", d)
	}
	found := false
	for _, s := range specs {
		for i, d := range dialects {
			if i > 0 && len(s.Forms) == 0 {
				break
			}
			_, b, e := decode.Fill(s, values, decode.Filling{Dialect: d, Opcode: op, Part: l.object["error"] != nil})
			switch {
			case e == nil && len(b) == size:
				return b, nil
			case e == nil && !found:
				fields, found = b, true
			case e != nil && err == nil:
				err = e
			}
		}
	}
	if found {
		return fields, nil
	}
	if f, ok := errors.AsType[*decode.FillError](err); ok {
		err = fmt.Errorf("fields.%s: %s", f.Field, f.Problem)
	}
	return nil, err
}

// Message returns the transport message, starting with its header.
func (l Parsed) Message() ([]byte, error) {
	if !l.Whole() {
		return nil, errors.New("kind: missing; add it, or give --as payload if the line is only a game message")
	}
	h, size, err := l.header()
	if err != nil {
		return nil, err
	}
	var body []byte
	switch {
	case h.Type == transport.Standard && h.Fragment:
		return nil, errors.New("the bytes of a fragment are not in its line; --as payload makes the whole message from the line of its last fragment")
	case h.Type == transport.Standard:
		at := 3
		if h.Reliable {
			at = 5
		}
		body, err = l.payload(size - at)
	case h.Type == transport.Acknowledge || h.Type == transport.DoNothing:
		body, err = l.residue()
	default:
		body, err = l.body(&h, size)
	}
	if err != nil {
		return nil, err
	}
	b, err := transport.Append(nil, &h, body)
	if err != nil {
		return nil, fmt.Errorf("the message does not fit: %w", err)
	}
	return b, nil
}

// header returns the header of the transport message, and the size of the
// message according to the line.
func (l Parsed) header() (h transport.Header, size int, err error) {
	get := func(object map[string]any, key string, most uint64) int {
		n, e := number64(object, key, most)
		if e != nil && err == nil {
			err = e
		}
		return n
	}
	h.Type = transport.Type(get(l.object, "type", 0xFF))
	if kind := l.text("kind"); l.object["type"] == nil || kind != h.Type.Kind() {
		return h, 0, fmt.Errorf("kind: no transport message is %q with type %d; GameSpy text and damaged datagrams cannot be made from JSON", kind, h.Type)
	}
	size = get(l.object, "len", 1<<14)
	h.Reliable, h.Priority = l.has("reliable"), l.has("priority")
	h.Short = !h.Reliable && h.Type != transport.Standard
	h.HasSeq = l.object["seq"] != nil
	h.Seq = uint16(get(l.object, "seq", 0xFFFF))
	h.Fragment = l.object["fragment"] != nil
	if ack, ok := l.object["ack"].(map[string]any); ok {
		first := transport.Header{Type: transport.Standard, Seq: uint16(get(ack, "seq", 0xFFFF))}
		if ack["kind"] == "control" {
			first.Type = transport.NameChange
		}
		first.Fragment, first.Index = ack["index"] != nil, uint8(get(ack, "index", 0xFF))
		h = transport.AckOf(&first)
	} else if h.Type == transport.Acknowledge {
		return h, 0, errors.New("ack: the object with the acknowledged message is missing")
	}
	return h, size, err
}

// body returns the body of a transport message that contains no game message.
func (l Parsed) body(h *transport.Header, size int) ([]byte, error) {
	rest, err := l.residue()
	if err != nil || l.object["fields"] == nil {
		if err == nil && rest == nil && h.Type != transport.Leave && !h.Short {
			err = l.absent()
		}
		return rest, err
	}
	head := 5
	if h.Short {
		head = 2
	}
	var specs []*decode.Spec
	for _, n := range []int{2, 1} { // the length of the body distinguishes the two kinds of Connect
		s := transport.SpecFor(&transport.Message{Header: *h, Body: make([]byte, n)})
		if s != nil && !slices.Contains(specs, s) {
			specs = append(specs, s)
		}
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("fields: a message of kind %q has none", h.Type.Kind())
	}
	fields, err := l.fields(specs, decode.Opcode(h.Type), size-head-len(rest))
	return append(fields, rest...), err
}
