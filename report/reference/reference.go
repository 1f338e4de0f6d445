// Not part of the library: package reference describes the messages: the
// protocol table as plain data, and as the page docs/opcodes.md. It reads no
// files; the caller supplies sample messages for the page and owns the results.
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
	Transport bool `json:"-"` // of a transport message
	Opcode    int  `json:"-"` // or transport type

	Layer    string      `json:"layer,omitempty"`  // game or transport, which decides about the next two
	Code     *int        `json:"opcode,omitempty"` // Opcode
	Type     *int        `json:"type,omitempty"`   // the same of a transport message
	Name     string      `json:"name"`
	Constant string      `json:"constant,omitempty"` // the game's own name
	Aliases  []string    `json:"aliases,omitempty"`  // names in public documents
	Dir      string      `json:"dir"`                // c2s, s2c, both, none
	Reliable bool        `json:"reliable"`
	Relay    string      `json:"relay"` // the host's rule for a client's message
	Evidence string      `json:"evidence"`
	Topic    string      `json:"topic"`                  // theme, such as weapons or chat
	Hosts    string      `json:"host_dialect,omitempty"` // of all hosts that send it, if only such do
	Doc      string      `json:"doc"`
	Rest     bool        `json:"rest,omitempty"`        // stands for all higher opcodes without an entry
	BySender bool        `json:"by_sender,omitempty"`   // the dialect of the sender chooses the layout, even if another one fits
	Host     []HostField `json:"host_fields,omitempty"` // that hosts fill in by themselves
	Made     string      `json:"made,omitempty"`        // why hosts send it of their own accord, if that is known
	Step     string      `json:"join_step,omitempty"`   // of a client's join that it belongs to
	Playable string      `json:"playable,omitempty"`    // clients; a playable host passes on their messages of this kind, the stock host does not
	Others   []Deviation `json:"deviations,omitempty"`  // of hosts of other dialects from the stock host
	Instead  string      `json:"instead_of,omitempty"`  // taken only where the message of this name does not fit
	Layouts  []Layout    `json:"layouts,omitempty"`     // stock first; none if the layout is not known
}

// A HostField is a field that a host fills in by itself.
type HostField struct {
	Field string `json:"field"`
	From  string `json:"from"` // the source of the value
}

// A Deviation is the way of hosts of another dialect with a client's message.
type Deviation struct {
	Dialect string `json:"dialect"`
	Relay   string `json:"relay"`
	Only    string `json:"only,omitempty"` // the condition for that, else they consume it
	Rule    string `json:"rule"`           // as replay names it
	Text    string `json:"text"`
}

// A Layout is the way in which senders of one dialect write a message.
type Layout struct {
	Dialect string  `json:"dialect"`
	Doc     string  `json:"doc,omitempty"`    // how it differs from stock
	Common  bool    `json:"common,omitempty"` // senders of other dialects use it as well
	Length  string  `json:"length"`           // in bytes: 5, 10 or 18, 17 or more. Opcodes count, headers of transport messages do not
	Fields  []Field `json:"fields,omitempty"`
}

// A Field is one row of a layout: a value, or a list or struct of values that
// follow.
type Field struct {
	Path  string   `json:"path"`            // an element of list x is x[]
	Kind  string   `json:"kind"`            // how it is written; list, struct
	Bytes string   `json:"bytes,omitempty"` // 4, 2+n; absent if it has none of its own
	When  []string `json:"when,omitempty"`  // conditions that must all hold for the field to be there
	Doc   string   `json:"doc"`

	Values []Value `json:"values,omitempty"` // that have names, unless there are too many to list

	If       []Condition `json:"if,omitempty"`       // the conditions of When as data, without those of the list or struct that holds the field
	Count    *Count      `json:"count,omitempty"`    // of a list or an array
	Least    int         `json:"least,omitempty"`    // bytes that an element of a list takes at least
	Like     string      `json:"like,omitempty"`     // path of the list with the same elements, in which this one is
	Levels   int         `json:"levels,omitempty"`   // how deep such lists may be in each other; deeper ones must be empty
	Inverted bool        `json:"inverted,omitempty"` // of a bit: 0 is yes
	From     *Source     `json:"from,omitempty"`     // of a derived field
}

// A Condition compares a field, or the subsystem that an element is about.
type Condition struct {
	Op        string   `json:"op"`                  // has, lacks, equals, differs, in, not_in; more: bytes remain; fits: the fields take the rest exactly
	Field     string   `json:"field,omitempty"`     // path of the field; the condition is not met without it
	At        string   `json:"at,omitempty"`        // of more and fits: path of the field before which it is tried, once for all fields
	Value     *int64   `json:"value,omitempty"`     // of has and lacks the bits
	Subsystem string   `json:"subsystem,omitempty"` // its property: kind, role, children
	Values    []string `json:"values,omitempty"`    // of the property
}

// A Count tells how many elements there are. One of the first members is set.
type Count struct {
	Field     string `json:"field,omitempty"`     // path of the field with the number
	List      string `json:"list,omitempty"`      // path of the list that has as many
	Subsystem string `json:"subsystem,omitempty"` // its property
	Value     int    `json:"value,omitempty"`     // this number
	Rest      bool   `json:"rest,omitempty"`      // to the end of the message
	Ship      bool   `json:"ship,omitempty"`      // one for each subsystem of the ship's class

	First string `json:"first,omitempty"` // path of the field with the index of the first element's subsystem, if not all have one
	Bytes int    `json:"bytes,omitempty"` // with First: bytes from that field on after which no element begins
	Least int    `json:"least,omitempty"` // with First: elements that there are in any case, unless the class has fewer
}

// A Source tells what a derived field follows from.
type Source struct {
	Is string `json:"is"`
	Of string `json:"of,omitempty"` // path of the field concerned
}

// A Value is a value that has a name. Of flags it is a single bit.
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
// fields of their own beside the header.
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

// word returns a value as text, nothing for none.
func word[T interface {
	~uint8
	String() string
}](v T) string {
	if v == 0 {
		return ""
	}
	return v.String()
}

// Meaning returns the meaning of a relay class, a grade of evidence or a topic,
// as entries name it; empty for any other word.
func Meaning(word string) string {
	return meaningOf(word, slices.Concat(relayMeanings, evidenceMeanings, topicMeanings))
}

// MadeMeaning returns the meaning of a reason for which hosts send a message of
// their own accord.
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

// rows is a visitor that makes a row of everything it sees.
type rows struct {
	path   path
	fields []Field
	names  map[string]decode.Names // of the enumerations so far
	places map[uint64]string       // where conditions about the place are tried, by their numbers
	outer  []int                   // how many conditions each open group has
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
	default: // in an element of itself
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

// find returns the path of a field that a condition, a count or a source names: it
// is in the same group or in one around it.
func (v *rows) find(name string) string {
	for p := v.path; len(p.groups) > 0; p.end() {
		if at := p.join(name); slices.ContainsFunc(v.fields, func(f Field) bool { return f.Path == at }) {
			return at
		}
	}
	return name
}

// ops are the comparisons of conditions.
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
				value = int64(int32(c.Value)) // a number with sign
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

// manyValues is how many values with names are not listed any more: file hashes
// and event codes.
const manyValues = 64

// values returns the values of a field that have names.
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

// when puts conditions into words, with the names of the values they are about.
func (v *rows) when(conds []decode.Cond) []string {
	var all []string
	others := map[string]int{} // values that a field must not have
	for _, c := range conds {
		if c.Op == decode.OpDiffers {
			others[c.Field]++
		}
	}
	for _, c := range conds {
		text := c.String()
		if c.Op == decode.OpDiffers && others[c.Field] > manyOthers {
			text = c.Field + " is any other"
			c.Op = decode.OpMore // no value
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

// manyOthers is how many values that a field must not have are listed.
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

// repeated returns how often a list stands directly in an element of a list of
// the same name.
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

// A path is where in a message a visitor is.
type path struct{ groups []string }

// begin goes into a group; index stands for the place of an element.
func (p *path) begin(g *decode.Group, index string) {
	if g.Kind == decode.GroupElement {
		p.groups = append(p.groups, index)
		return
	}
	p.groups = append(p.groups, g.Name)
}

func (p *path) end() { p.groups = p.groups[:len(p.groups)-1] }

// outer returns the path of the group around the innermost.
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

// A size is the length of a message as far as it follows from its description.
type size struct {
	list   int // lists that are open
	least  int // bytes of the fields that are always there
	bits   int // the same for bits
	open   bool
	some   map[string]int // bytes under a single condition
	nested bool           // there are conditions within conditions
	conds  []decode.Cond  // the keys of some
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

// opposite reports whether b holds exactly when a does not.
func opposite(a, b decode.Cond) bool {
	if a.Field != b.Field || a.Value != b.Value {
		return false
	}
	return a.Op == decode.OpEquals && b.Op == decode.OpDiffers
}
