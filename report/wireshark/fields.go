package wireshark

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A form is the type of a field in Wireshark, and the encoding of its value in
// an item.
type form uint8

// The forms.
const (
	formGroup form = iota // text: the label
	formUint              // 32 bits
	formHex               // 32 bits
	formByte              // 32 bits, a byte shown in hexadecimal
	formInt               // 32 bits, signed
	formFloat             // 64 bits
	formBool              // a byte
	formText              // a text
	formBytes             // the bytes of the item
	formIPv4              // the bytes of the item
	formFrame             // 32 bits, a frame number
)

// formNames are the names of the forms in the plugin.
var formNames = [...]string{
	formGroup: "NONE", formUint: "UINT", formHex: "HEX", formByte: "BYTE", formInt: "INT", formFloat: "DOUBLE",
	formBool: "BOOLEAN", formText: "STRING", formBytes: "BYTES", formIPv4: "IPv4", formFrame: "FRAMENUM",
}

// prefix begins the names of all fields in Wireshark.
const prefix = "bc."

// The ID of expert information, and the first ID of a field.
const (
	idExpert = iota + 1
	firstID
)

// A field is a field that is defined in Wireshark.
type field struct {
	id       uint16
	name     string // name in filters without the prefix
	form     form
	doc      string
	values   []value // names of values
	onParent bool    // describes the value of the parent item

	// The following is for display.
	title string   // such as "Object" for object_id
	unit  string   // unit after the value, or one of the percentages below
	flags []string // names of bits, from bit 0 on
}

// Units that choose a format of numbers, as in read -V.
const (
	unitShare   = "share"   // 1 is shown as 100 %, with a decimal
	unitShares  = "shares"  // like unitShare without a decimal, for lists
	unitTenths  = "tenths"  // per cent with a decimal
	unitPercent = "percent" // per cent without a decimal
	unitObject  = "object"  // the ID, with words for 0 and for all objects
	unitCode    = "code"    // large numbers in hexadecimal
	unitHash    = "hash"    // a hash with 4 digits
)

// A value is a value with a name.
type value struct {
	value uint64
	name  string
}

// maxValues is the maximum number of named values in the plugin.
const maxValues = 64

// A node is a field, group or list of a message, with its members.
type node struct {
	*field                  // the field of the value or of the group
	views  [8]*field        // indexed by display.View
	parts  []*field         // components of a vector
	member map[string]*node // members of a group

	described bool // the names of its values have been set
}

// A fieldTable holds all fields.
type fieldTable struct {
	fields []*field
	own    int // number of fields of the original game
	byName map[string]*field
	sum    uint32

	keys    []keyField
	game    map[string]*node // by the name of the message
	gamespy map[string]*field

	message, element, other, pair *field // fields for a record, an element of a list, a field not in the table, and a pair of GameSpy text
	player                        *field // player of a conversation
	unknown                       *node  // node for a member that is not in the table
}

// A keyField is a key of a record and its field.
type keyField struct {
	*key.Key
	*field
	datagram bool // the key is the same for all messages of a datagram
}

// ofDatagram are the keys that describe a datagram.
var ofDatagram = []string{"dir", "conversation", "player", "player_name", "peer"}

// leftOut are the keys without a field. Wireshark has its own fields for the
// capture, and the members of the other keys have fields.
var leftOut = map[string]bool{
	"frame": true, "capture": true, "ts": true, "rel": true, "src": true, "dst": true, "fields": true, "payload": true,
}

// newTable returns the table of the original game's messages, followed by
// messages that a catalogue adds. The catalogue may be nil.
func newTable(c *decode.Catalog) *fieldTable {
	t := &fieldTable{byName: map[string]*field{}, game: map[string]*node{}, gamespy: map[string]*field{}, unknown: &node{}}
	t.message = t.add("message", formGroup, "a transport message, or another part of a datagram")
	t.element = t.add("element", formGroup, "an element of a list")
	t.other = t.add("other", formText, "a field that the plugin does not know")
	t.addKeys()
	t.addGameSpy()
	for _, s := range msg.Catalog().All() {
		t.addSpec(s)
	}
	for _, s := range transport.Specs() {
		t.addSpec(s)
	}
	t.own = len(t.fields)
	if c != nil {
		for _, s := range c.All() {
			if !slices.Contains(msg.Catalog().All(), s) {
				t.addSpec(s)
			}
		}
	}
	t.sum = t.checksum()
	return t
}

// add adds a field, or returns the existing one with the name. A signed form
// replaces an unsigned one.
func (t *fieldTable) add(name string, f form, doc string) *field {
	if old := t.byName[name]; old != nil {
		if f == formInt && (old.form == formUint || old.form == formHex) {
			old.form = formInt
		}
		return old
	}
	n := &field{id: uint16(firstID + len(t.fields)), name: name, form: f, doc: doc, title: titleOf(name), unit: unitOf(doc)}
	t.fields = append(t.fields, n)
	t.byName[name] = n
	return n
}

// addKeys adds the keys of records.
func (t *fieldTable) addKeys() {
	for i := range key.All() {
		k := &key.All()[i]
		if k.Scope != key.Everywhere || leftOut[k.Name] {
			continue
		}
		doc := strings.ReplaceAll(k.Doc, "`", "")
		switch k.Name {
		case "player": // filters compare the name
			t.player = t.add(k.Name, formText, "name of the player of this conversation, in all of its frames")
			t.addKey(k, k.Name+"_index", doc)
		case "author":
			t.addKey(key.Find("author_name"), k.Name, "name of the player who wrote the message that this is a copy of")
			t.addKey(k, k.Name+"_index", doc)
		default:
			t.addKey(k, k.Name, doc)
		}
	}
}

func (t *fieldTable) addKey(k *key.Key, name, doc string) {
	t.keys = append(t.keys, keyField{Key: k, field: t.add(name, keyForm(k), doc), datagram: slices.Contains(ofDatagram, k.Name)})
}

// keyForm returns the form of a key's value.
func keyForm(k *key.Key) form {
	switch {
	case k.Name == "copy_of" || k.Name == "reassembled":
		return formFrame
	case k.Opcode:
		return formByte
	case k.Name == "notes": // its value is the code
		return formText
	}
	return keyForms[k.Type]
}

var keyForms = [...]form{
	key.Object: formGroup, key.Int: formUint, key.Bool: formBool, key.Hex: formBytes, key.Word: formText, key.Text: formText,
	key.Address: formText, key.IP: formText, key.Time: formText, key.Seconds: formText,
}

// maxPlayers is the number of players in GameSpy text whose names have fields.
const maxPlayers = 32

// addGameSpy adds the keys of GameSpy text.
func (t *fieldTable) addGameSpy() {
	for _, name := range gamespy.Keys() {
		t.gamespy[name] = t.add("gamespy."+name, formText, "value of this key of a GameSpy datagram")
	}
	for n := range maxPlayers {
		name := fmt.Sprintf("player_%d", n)
		t.gamespy[name] = t.add("gamespy."+name, formText, "name of a player in the game")
	}
	t.pair = t.add("gamespy.pair", formText, "another key of a GameSpy datagram, with its value")
}

// addSpec adds a message with its fields.
func (t *fieldTable) addSpec(s *decode.Spec) {
	n := t.game[s.Name]
	if n == nil {
		n = &node{field: t.add(s.Name, formGroup, s.Doc), member: map[string]*node{}}
		t.game[s.Name] = n
	}
	if s.Known() {
		decode.Describe(s.Layout, decode.Stock, &describer{fieldTable: t, at: []*node{n}})
	}
	for _, f := range s.Forms {
		decode.Describe(f.Layout, f.Dialect, &describer{fieldTable: t, at: []*node{n}})
	}
}

// A describer is a visitor that adds the fields of a layout to the table.
type describer struct {
	*fieldTable
	at []*node
}

func (v *describer) top() *node { return v.at[len(v.at)-1] }

// child returns a member of the open group.
func (v *describer) child(name string) *node {
	n := v.top()
	c := n.member[name]
	if c == nil {
		c = &node{member: map[string]*node{}}
		n.member[name] = c
	}
	return c
}

// Begin implements [decode.Visitor].
func (v *describer) Begin(g *decode.Group) {
	if g.Kind == decode.GroupElement {
		return
	}
	c := v.child(g.Name)
	if c.field == nil {
		c.field = v.add(v.top().name+"."+g.Name, formGroup, g.Doc)
	}
	v.at = append(v.at, c)
}

// End implements [decode.Visitor].
func (v *describer) End(g *decode.Group) {
	if g.Kind != decode.GroupElement {
		v.at = v.at[:len(v.at)-1]
	}
}

// Field implements [decode.Visitor].
func (v *describer) Field(f *decode.Field) {
	within := v.top().name + "."
	c := v.child(f.Name)
	c.field = v.add(within+f.Name, fieldForm(f.Kind), f.Doc)
	c.forPeople(f)
	c.nameValues(f)
	for _, view := range display.Views(f)[1:] {
		of := formText
		if view == display.Slot || view == display.Byte {
			of = formUint
		}
		c.views[view] = v.add(within+view.Member(f.Name), of, f.Doc)
		c.views[view].onParent = true
	}
	if letters := f.Kind.Components(); letters != "" && c.parts == nil {
		for _, letter := range letters {
			c.parts = append(c.parts, v.add(within+f.Name+"."+string(letter), formFloat, f.Doc))
		}
	}
}

// nameValues adds the names of values to the field. It removes the names if the
// field has other names in another layout of its message.
func (n *node) nameValues(f *decode.Field) {
	var values []value
	if f.Names != nil && f.Kind != decode.KindFlags8 {
		values = named(f.Names)
	}
	if !n.described {
		n.described, n.values = true, values
	} else if !slices.Equal(n.values, values) {
		n.values = nil
	}
	if n.form == formUint && slices.ContainsFunc(n.values, func(v value) bool { return v.value > math.MaxUint8 }) {
		n.form = formHex // read -V shows codes in hexadecimal
	}
}

// forPeople sets the properties for display that depend on the kind of a field.
func (n *field) forPeople(f *decode.Field) {
	switch f.Kind { //nolint:exhaustive // the others look like their type
	case decode.KindObject:
		n.title, n.unit = titleOf(strings.TrimSuffix(f.Name, "_id")), unitObject
	case decode.KindEnum32:
		n.unit = unitCode
	case decode.KindHash16:
		n.unit = unitHash
	case decode.KindRatio8:
		n.unit = unitShare
	case decode.KindRatios:
		n.unit = unitShares
	case decode.KindPower8:
		n.unit = unitTenths
	case decode.KindPercent8:
		n.unit = unitPercent
	case decode.KindFlags8:
		for bit := range 8 {
			n.flags = append(n.flags[:bit:bit], f.Names.Name(uint64(bit)))
		}
	}
}

// titles are titles of fields whose own names are too short to understand.
var titles = map[string]string{
	"dir": "Direction", "len": "Length", "msg": "Message number", "seq": "Sequence number", "ack": "Acknowledgement",
	"player_index": "Player number", "author_index": "Author number", "id": "ID", "ip": "IP address",
	"w": "w", "x": "x", "y": "y", "z": "z",
}

// titleOf returns a title for a field, such as "Game time" for
// StateUpdate.game_time.
func titleOf(name string) string {
	name = name[strings.LastIndexByte(name, '.')+1:]
	if title := titles[name]; title != "" {
		return title
	}
	name = strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(name[:1]) + name[1:]
}

// unitOf returns the unit that the documentation of a field mentions.
func unitOf(doc string) string {
	switch {
	case strings.HasPrefix(doc, "game units a second"):
		return "GU/s"
	case strings.HasSuffix(doc, "game units"):
		return "GU"
	case doc == "seconds", strings.HasSuffix(doc, " in seconds"), strings.HasSuffix(doc, ", in seconds of the game clock"):
		return "s"
	}
	return ""
}

// named returns values with names. It returns nil if there are too many.
func named(names decode.Names) []value {
	var all []value
	for v, name := range decode.Values(names) {
		if len(all) == maxValues {
			return nil
		}
		all = append(all, value{v, name})
	}
	return all
}

// fieldForm returns the form for a kind of field.
func fieldForm(k decode.Kind) form {
	switch k { //nolint:exhaustive // the others have the form of their type
	case decode.KindI8, decode.KindI16, decode.KindI32, decode.KindPercent8:
		return formInt
	case decode.KindFlags8:
		return formByte
	case decode.KindObject, decode.KindHash16, decode.KindHash32:
		return formHex
	}
	return typeForms[k.Type()]
}

var typeForms = [...]form{
	decode.TypeInt: formUint, decode.TypeBool: formBool, decode.TypeFloat: formFloat, decode.TypeVector: formGroup, decode.TypeShares: formFloat,
	decode.TypeText: formText, decode.TypeIPv4: formIPv4, decode.TypeBytes: formBytes,
}

// checksum identifies the table. A trailer can only be read with the table that
// was used to make it.
func (t *fieldTable) checksum() uint32 {
	h := crc32.NewIEEE()
	for _, f := range t.fields {
		_, _ = h.Write(append([]byte(f.name), 0, byte(f.form))) // it never returns an error
	}
	return h.Sum32()
}

// Sum identifies the table of fields. A plugin with another table cannot read
// the trailers of this program.
func Sum() uint32 { return sum() }

// Additions returns the lines of the plugin for the fields that a catalogue
// adds to those of the original game. The checksum is that of all fields.
func Additions(c *decode.Catalog) (lines string, sum uint32) {
	t := newTable(c)
	return luaOf(t.fields[t.own:]), t.sum
}

var sum = sync.OnceValue(func() uint32 { return newTable(nil).sum })
