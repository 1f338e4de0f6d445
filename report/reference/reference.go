// Not part of the library: package reference describes the messages. It
// provides the protocol table as plain data and as the page docs/opcodes.md. It
// reads no files: the caller supplies sample messages for the page. The results
// belong to the caller.
package reference

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An Entry describes one message.
type Entry struct {
	Transport bool `json:"-"` // the entry describes a transport message
	Opcode    int  `json:"-"` // opcode or transport type

	Layer    string      `json:"layer,omitempty"`  // game or transport, which decides whether opcode or type is set
	Code     *int        `json:"opcode,omitempty"` // equals Opcode, for game messages
	Type     *int        `json:"type,omitempty"`   // equals Opcode, for transport messages
	Name     string      `json:"name"`
	Constant string      `json:"constant,omitempty"` // name in the original game
	Aliases  []string    `json:"aliases,omitempty"`  // names in public documents
	Dir      string      `json:"dir"`                // c2s, s2c, both, none
	Reliable bool        `json:"reliable"`
	Relay    string      `json:"relay"` // rule of hosts for the message of a client
	Evidence string      `json:"evidence"`
	Topic    string      `json:"topic"`                  // topic, such as weapons or chat
	Hosts    string      `json:"host_dialect,omitempty"` // the dialect of hosts that send it, empty if hosts of all dialects send it
	Doc      string      `json:"doc"`
	Rest     bool        `json:"rest,omitempty"`        // stands for all higher opcodes that have no entry
	BySender bool        `json:"by_sender,omitempty"`   // the dialect of the sender chooses the layout, even if another one also fits
	Host     []HostField `json:"host_fields,omitempty"` // fields that hosts fill in
	Made     string      `json:"made,omitempty"`        // reason for hosts to send it without a message of a client, if that is known
	Step     string      `json:"join_step,omitempty"`   // step of a client's join to which it belongs
	Playable string      `json:"playable,omitempty"`    // clients, if a playable host relays their messages of this kind but a host of the original game does not
	Others   []Deviation `json:"deviations,omitempty"`  // ways in which hosts of other dialects differ from the original game
	Instead  string      `json:"instead_of,omitempty"`  // used only if the message with this name does not fit
	Layouts  []Layout    `json:"layouts,omitempty"`     // the layout of the original game first, empty if no layout is known
}

// A HostField is a field that a host fills in.
type HostField struct {
	Field string `json:"field"`
	From  string `json:"from"` // source of the value
}

// A Deviation describes how hosts of another dialect handle a client's message.
type Deviation struct {
	Dialect string `json:"dialect"`
	Relay   string `json:"relay"`
	Only    string `json:"only,omitempty"` // the condition for this, and otherwise they consume the message
	Rule    string `json:"rule"`           // the rule in the words of replay
	Text    string `json:"text"`
}

// A Layout is the encoding of a message by senders of one dialect.
type Layout struct {
	Dialect string  `json:"dialect"`
	Doc     string  `json:"doc,omitempty"`    // how it differs from the layout of the original game
	Common  bool    `json:"common,omitempty"` // senders of other dialects use it as well
	Length  string  `json:"length"`           // in bytes, such as 5, 10 or 18, 17 or more. It includes opcodes but not headers of transport messages.
	Fields  []Field `json:"fields,omitempty"`
}

// A Field is one row of a layout: a value, or a list or struct whose members
// follow.
type Field struct {
	Path  string   `json:"path"`            // path, with x[] for an element of list x
	Kind  string   `json:"kind"`            // kind of the encoding, or list or struct
	Bytes string   `json:"bytes,omitempty"` // such as 4 or 2+n, absent if it has no separate bytes
	When  []string `json:"when,omitempty"`  // the field exists only if all these conditions are met
	Doc   string   `json:"doc"`

	Values []Value `json:"values,omitempty"` // values with names, empty if there are too many to list

	If       []Condition `json:"if,omitempty"`       // the conditions of When as data, without conditions of the list or struct that contains the field
	Count    *Count      `json:"count,omitempty"`    // number of elements of a list or an array
	Least    int         `json:"least,omitempty"`    // minimum bytes of an element of a list
	Like     string      `json:"like,omitempty"`     // path of the enclosing list that has the same elements
	Levels   int         `json:"levels,omitempty"`   // maximum depth of such lists, and deeper lists must be empty
	Inverted bool        `json:"inverted,omitempty"` // for a bit: 0 means yes
	From     *Source     `json:"from,omitempty"`     // origin of a derived field
}

// A Condition compares a field, or the subsystem that an element describes.
type Condition struct {
	Op        string   `json:"op"`                  // has, lacks, equals, differs, in or not_in, or more if bytes must remain, or fits if the fields must use exactly the remaining bytes
	Field     string   `json:"field,omitempty"`     // path of the field, and without the field the condition is not met
	At        string   `json:"at,omitempty"`        // for more and fits: path of the field before which the condition is evaluated once for all fields
	Value     *int64   `json:"value,omitempty"`     // for has and lacks: the bits
	Subsystem string   `json:"subsystem,omitempty"` // property of the subsystem: kind, role, children
	Values    []string `json:"values,omitempty"`    // values of the property
}

// A Count gives the number of elements. Exactly one of the first members is
// set.
type Count struct {
	Field     string `json:"field,omitempty"`     // path of the field that contains the number
	List      string `json:"list,omitempty"`      // path of a list with the same number of elements
	Subsystem string `json:"subsystem,omitempty"` // property of the subsystem
	Value     int    `json:"value,omitempty"`     // a fixed number
	Rest      bool   `json:"rest,omitempty"`      // elements until the end of the message
	Ship      bool   `json:"ship,omitempty"`      // one element for each subsystem of the ship's class

	First string `json:"first,omitempty"` // path of the field with the index of the first element's subsystem, if the elements are only some of the subsystems
	Bytes int    `json:"bytes,omitempty"` // with First: number of bytes from that field on, after which no element begins
	Least int    `json:"least,omitempty"` // with First: minimum number of elements, or fewer if the class has fewer
}

// A Source tells how a derived field is computed.
type Source struct {
	Is string `json:"is"`
	Of string `json:"of,omitempty"` // path of the other field
}

// A Value is a value with a name. For flags it is a single bit.
type Value struct {
	Value uint64 `json:"value"`
	Name  string `json:"name"`
}

// Entries returns the entries of a catalogue in the order of their opcodes.
func Entries(c *decode.Catalog) []Entry {
	var all []Entry
	for _, s := range c.All() {
		e := NewEntry(s)
		if first := c.Lookup(s.Code); slices.Contains(first.Alternatives, s) {
			e.Instead = first.Name
		}
		all = append(all, e)
	}
	return all
}

// TransportEntries returns the entries of the transport messages that have
// fields in addition to the header.
func TransportEntries() []Entry {
	var all []Entry
	for _, s := range transport.Catalog() {
		all = append(all, newEntry(s, true))
	}
	return all
}

// NewEntry returns the entry of one game message.
func NewEntry(s *decode.Spec) Entry { return newEntry(s, false) }

func newEntry(s *decode.Spec, ofTransport bool) Entry {
	e := Entry{
		Transport: ofTransport, Opcode: int(s.Code), Name: s.Name, Constant: s.Constant, Aliases: slices.Clone(s.Aliases), Dir: dirs[s.Dir],
		Reliable: s.Reliable, Relay: s.Relay.String(), Evidence: s.Evidence.String(), Topic: s.Topic.String(), Doc: s.Doc, Rest: s.CatchAll,
		BySender: s.BySender,
	}
	number := e.Opcode
	if e.Layer, e.Code = "game", &number; ofTransport {
		e.Layer, e.Code, e.Type = "transport", nil, &number
	}
	for _, f := range s.HostFields {
		e.Host = append(e.Host, HostField{f.Name, f.From.String()})
	}
	e.Hosts, e.Made, e.Step, e.Playable = word(s.HostDialect), word(s.Made), word(s.Step), word(s.Need)
	for _, d := range s.Deviations {
		e.Others = append(e.Others, Deviation{d.Dialect.String(), d.Relay.String(), word(d.Only), d.Rule.Name, d.Rule.Text})
	}
	if s.Known() {
		e.Layouts = append(e.Layouts, describe(s.Layout, decode.Stock, "", ofTransport))
	}
	for _, f := range s.Forms {
		l := describe(f.Layout, f.Dialect, f.Doc, ofTransport)
		l.Common = f.Common
		e.Layouts = append(e.Layouts, l)
	}
	return e
}

// word returns a value as text, or "" for none.
func word[T interface {
	~uint8
	String() string
}](v T) string {
	if v == 0 {
		return ""
	}
	return v.String()
}

// Meaning returns the meaning of a relay class, a grade of evidence or a topic
// in an entry. For any other word it returns "".
func Meaning(word string) string {
	return meaningOf(word, slices.Concat(relayMeanings, evidenceMeanings, topicMeanings))
}

// MadeMeaning returns the meaning of a value of Made.
func MadeMeaning(word string) string { return meaningOf(word, madeMeanings) }

// StepMeaning returns the meaning of a step of a join.
func StepMeaning(word string) string { return meaningOf(word, stepMeanings) }

// PlayableMeaning returns the meaning of a value of Playable.
func PlayableMeaning(word string) string { return meaningOf(word, playableMeanings) }

func meaningOf(word string, list []meaning) string {
	for _, m := range list {
		if m.Word == word {
			return m.Meaning
		}
	}
	return ""
}

type meaning struct{ Word, Meaning string }

var madeMeanings = []meaning{
	{decode.MadeNever.String(), "hosts send only copies of clients' messages"},
	{decode.MadeBySimulation.String(), "a host's simulation of the ships and of the match decides"},
	{decode.MadeByStock.String(), "the stock host's simulation of the ships decides; OpenBC's sends only copies"},
	{decode.MadeByScores.String(), "a host keeps the scores"},
	{decode.MadeByState.String(), "a host tells of the players in the game and of their objects"},
	{decode.MadeByLeave.String(), "a host tells that a player leaves"},
	{decode.MadeByOptions.String(), "a host changes an option of the game"},
	{decode.MadeByFiles.String(), "a host compares the files of a client with its own"},
}

var stepMeanings = []meaning{
	{decode.StepAsk.String(), "the host asks for hashes of files"},
	{decode.StepAnswer.String(), "the client answers"},
	{decode.StepFiles.String(), "files differ, or are sent"},
	{decode.StepLoad.String(), "the host tells the client the mission to load"},
	{decode.StepReady.String(), "the client has loaded it"},
	{decode.StepEnter.String(), "the host tells the client the rules: it is in the game"},
}

var playableMeanings = []meaning{
	{decode.NeedAll.String(), "for all clients"},
	{decode.NeedOpenBC.String(), "for OpenBC's clients"},
}

var relayMeanings = []meaning{
	{decode.RelayForward.String(), "an unchanged copy goes to every other player in the game"},
	{decode.RelaySlots.String(), "an unchanged copy goes to every other occupied slot"},
	{decode.RelayEcho.String(), "a copy goes to all players, the sender included"},
	{decode.RelayTeam.String(), "a copy goes to the sender's team, the sender included"},
	{decode.RelayConsume.String(), "the host handles it and passes it to no client"},
	{decode.RelayAnswer.String(), "the host replies to the sender"},
	{decode.RelayNone.String(), "no client sends it"},
}

var evidenceMeanings = []meaning{
	{decode.OnWire.String(), "captured bytes of the real game parse to their end"},
	{decode.FromGame.String(), "the game's code or scripts show it"},
	{decode.FromProse.String(), "only documents tell it"},
	{decode.Open.String(), "not known"},
}

var topicMeanings = []meaning{
	{decode.TopicFlight.String(), "movement of ships, and orders of players"},
	{decode.TopicWeapons.String(), "shots"},
	{decode.TopicDamage.String(), "damage, repair and death"},
	{decode.TopicObjects.String(), "objects come, are asked for and change their set"},
	{decode.TopicJoining.String(), "a player comes"},
	{decode.TopicLeaving.String(), "a player goes"},
	{decode.TopicTalk.String(), "chat"},
	{decode.TopicMatch.String(), "the mission and its scores"},
	{decode.TopicFiles.String(), "the comparison of files"},
	{decode.TopicOther.String(), "none of these"},
}

var dirs = map[decode.Dir]string{decode.Either: "both", decode.FromClient: "c2s", decode.FromHost: "s2c", decode.Nobody: "none"}

func describe(l decode.Layout, d decode.Dialect, doc string, ofTransport bool) Layout {
	v := &rows{names: map[string]decode.Names{}, outer: []int{0}, places: map[uint64]string{}}
	if !ofTransport {
		v.size.least = 1 // the opcode
	}
	decode.Describe(l, d, v)
	return Layout{Dialect: d.String(), Doc: doc, Length: v.size.String(), Fields: v.fields}
}

// rows is a visitor that makes a row for every field, list and struct.
type rows struct {
	path   path
	fields []Field
	names  map[string]decode.Names // names of values by the path of their field
	places map[uint64]string       // paths of fields at which conditions on the position are evaluated, by their numbers
	outer  []int                   // number of conditions of each open group
	size   size
}

func (v *rows) Begin(g *decode.Group) {
	in := v.outer[len(v.outer)-1]
	if v.path.begin(g, "[]"); g.Kind == decode.GroupElement {
		v.outer = append(v.outer, in)
		return
	}
	v.outer = append(v.outer, len(g.Conds))
	kind := "struct"
	if g.Kind == decode.GroupList {
		kind = "list"
		v.size.list++
	}
	at := v.path.String()
	f := Field{Path: at, Kind: kind, When: v.when(g.Conds), Doc: g.Doc, If: v.conditions(at, g.Conds[in:]), Count: v.count(g.Count), Least: g.Least}
	switch repeated(at) {
	case 0:
		v.fields = append(v.fields, f)
	default: // in an element of the same list
		like, in := strings.CutSuffix(v.path.outer(), g.Name+"[]")
		if f.Like = like + g.Name; in && repeated(at) == 1 {
			f.Doc += "; an element is as one of " + f.Like
			v.fields = append(v.fields, f)
		}
		for i := range v.fields {
			if v.fields[i].Like != "" && strings.HasPrefix(at, v.fields[i].Path) {
				v.fields[i].Levels = repeated(at)
			}
		}
	}
}

func (v *rows) End(g *decode.Group) {
	v.outer = v.outer[:len(v.outer)-1]
	if g.Kind == decode.GroupList {
		v.size.list--
	}
	v.path.end()
}

func (v *rows) Field(f *decode.Field) {
	at := v.path.join(f.Name)
	v.size.add(f)
	if repeated(at) > 0 {
		return
	}
	if f.Names != nil {
		v.names[at] = f.Names
	}
	_, size := f.Kind.Size()
	v.fields = append(v.fields, Field{
		Path: at, Kind: f.Kind.String(), Bytes: size, When: v.when(f.Conds), Doc: f.Doc, Values: values(f),
		If: v.conditions(at, f.Conds[v.outer[len(v.outer)-1]:]), Count: v.count(f.Count), Inverted: f.Inverted, From: v.source(f),
	})
}

// find returns the path of a field that a condition, a count or a source names.
// The field is in the same group or in a group that contains it.
func (v *rows) find(name string) string {
	for p := v.path; len(p.groups) > 0; p.end() {
		if at := p.join(name); slices.ContainsFunc(v.fields, func(f Field) bool { return f.Path == at }) {
			return at
		}
	}
	return name
}

// ops are the names of the comparisons in conditions.
var ops = map[decode.Op]string{
	decode.OpHas: "has", decode.OpLacks: "lacks", decode.OpEquals: "equals", decode.OpDiffers: "differs",
	decode.OpMore: "more", decode.OpFits: "fits", decode.OpIs: "in", decode.OpIsNot: "not_in",
}

// conditions returns the conditions of the field at a path.
func (v *rows) conditions(at string, conds []decode.Cond) (all []Condition) {
	for _, c := range conds {
		is := Condition{Op: ops[c.Op]}
		switch c.Op {
		case decode.OpMore, decode.OpFits:
			if v.places[c.Value] == "" {
				v.places[c.Value] = at
			}
			is.At = v.places[c.Value]
		case decode.OpIs, decode.OpIsNot:
			is.Subsystem, is.Values = c.Field, c.Words()
		default:
			is.Field = v.find(c.Field)
			value := int64(c.Value)
			if i := slices.IndexFunc(v.fields, func(f Field) bool { return f.Path == is.Field }); i >= 0 && strings.HasPrefix(v.fields[i].Kind, "i") {
				value = int64(int32(c.Value)) // a signed number
			}
			is.Value = &value
		}
		all = append(all, is)
	}
	return all
}

func (v *rows) count(c *decode.Count) *Count {
	if c == nil {
		return nil
	}
	is := &Count{Subsystem: c.Property, Value: c.Value, Rest: c.Rest, Ship: c.Ship, Bytes: c.Bytes, Least: c.Least}
	for _, p := range []struct {
		name string
		path *string
	}{{c.Field, &is.Field}, {c.List, &is.List}, {c.First, &is.First}} {
		if p.name != "" {
			*p.path = v.find(p.name)
		}
	}
	return is
}

func (v *rows) source(f *decode.Field) *Source {
	if !f.Kind.Derived() {
		return nil
	}
	is := &Source{Is: f.From.Is.String()}
	if f.From.Of != "" {
		is.Of = v.find(f.From.Of)
	}
	return is
}

// manyValues is the number of named values from which on they are not listed,
// as for file hashes and event codes.
const manyValues = 64

// values returns the named values of a field.
func values(f *decode.Field) []Value {
	if f.Names == nil {
		return nil
	}
	var all []Value
	if f.Kind == decode.KindFlags8 {
		for bit := range uint64(8) {
			if name := f.Names.Name(bit); name != "" {
				all = append(all, Value{1 << bit, name})
			}
		}
		return all
	}
	for v, name := range decode.Values(f.Names) {
		if len(all) == manyValues {
			return nil
		}
		all = append(all, Value{v, name})
	}
	return all
}

// when describes conditions in words, with the names of their values.
func (v *rows) when(conds []decode.Cond) []string {
	var all []string
	others := map[string]int{} // number of values that a field must not have
	for _, c := range conds {
		if c.Op == decode.OpDiffers {
			others[c.Field]++
		}
	}
	for _, c := range conds {
		text := c.String()
		if c.Op == decode.OpDiffers && others[c.Field] > manyOthers {
			text = c.Field + " is any other"
			c.Op = decode.OpMore // do not show the value
		}
		if name := v.valueName(c); name != "" {
			text += " (" + name + ")"
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// manyOthers is the maximum number of values listed that a field must not have.
const manyOthers = 2

func (v *rows) valueName(c decode.Cond) string {
	names := v.names[v.path.join(c.Field)]
	if names == nil {
		names = v.names[c.Field]
	}
	if names == nil {
		return ""
	}
	switch c.Op {
	case decode.OpEquals, decode.OpDiffers:
		return names.Name(c.Value)
	case decode.OpHas, decode.OpLacks:
		for bit := range uint64(8) {
			if c.Value == 1<<bit {
				return names.Name(bit)
			}
		}
	case decode.OpMore, decode.OpFits, decode.OpIs, decode.OpIsNot:
	}
	return ""
}

// repeated returns the number of lists with the same name that directly contain
// each other at the end of a path.
func repeated(at string) int {
	n := 0
	parts := strings.Split(at, ".")
	for i, p := range parts[1:] {
		if q := parts[i]; strings.HasSuffix(q, "[]") && strings.TrimSuffix(p, "[]") == strings.TrimSuffix(q, "[]") {
			n++
		}
	}
	return n
}

// A path is the position of a visitor in a message.
type path struct{ groups []string }

// begin enters a group. The index is for the path of an element.
func (p *path) begin(g *decode.Group, index string) {
	if g.Kind == decode.GroupElement {
		p.groups = append(p.groups, index)
		return
	}
	p.groups = append(p.groups, g.Name)
}

func (p *path) end() { p.groups = p.groups[:len(p.groups)-1] }

// outer returns the path of the group that contains the innermost group.
func (p *path) outer() string {
	q := path{p.groups[:len(p.groups)-1]}
	return q.String()
}

func (p *path) join(name string) string {
	at := p.String()
	if at == "" {
		return name
	}
	return at + "." + name
}

func (p *path) String() string {
	return strings.ReplaceAll(strings.Join(p.groups, "."), ".[", "[")
}

// A size is the length of a message, as far as its description determines it.
type size struct {
	list   int // number of open lists
	least  int // bytes of the fields that always exist
	bits   int // bits of the fields that always exist
	open   bool
	some   map[string]int // bytes of fields with a single condition
	nested bool           // some conditions are inside others
	conds  []decode.Cond  // the keys of some, in order
}

func (s *size) add(f *decode.Field) {
	if f.Kind.Derived() {
		return
	}
	least, text := f.Kind.Size()
	if s.list > 0 || strings.Contains(text, "n") {
		s.open = true
	}
	if s.list > 0 {
		return
	}
	switch len(f.Conds) {
	case 0:
		s.least += least
		if f.Kind == decode.KindBit {
			s.bits++
		}
	case 1:
		key := f.Conds[0].String()
		if _, ok := s.some[key]; !ok {
			if s.some == nil {
				s.some = map[string]int{}
			}
			s.conds = append(s.conds, f.Conds[0])
		}
		s.some[key] += least
		s.nested = s.nested || f.Kind == decode.KindBit
	default:
		s.nested = true
	}
}

// String returns the length.
func (s *size) String() string {
	const bitsInByte = 5
	n := s.least + (s.bits+bitsInByte-1)/bitsInByte
	for i, a := range s.conds {
		for _, b := range s.conds[i+1:] {
			if opposite(a, b) || opposite(b, a) {
				n += min(s.some[a.String()], s.some[b.String()])
			}
		}
	}
	switch {
	case s.open || s.nested || len(s.conds) > 1:
		return strconv.Itoa(n) + " or more"
	case len(s.conds) == 1:
		return strconv.Itoa(n) + " or " + strconv.Itoa(n+s.some[s.conds[0].String()])
	}
	return strconv.Itoa(n)
}

// opposite reports whether b is true exactly when a is false.
func opposite(a, b decode.Cond) bool {
	if a.Field != b.Field || a.Value != b.Value {
		return false
	}
	return a.Op == decode.OpEquals && b.Op == decode.OpDiffers
}
