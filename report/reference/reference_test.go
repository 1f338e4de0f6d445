package reference

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

func samples(tb testing.TB) []*Sample {
	tb.Helper()
	var all []*Sample
	for _, s := range messages.All(tb) {
		all = append(all, &Sample{Title: s.Title, From: s.From, Dialect: s.Dialect, Env: s, Payload: s.Payload})
	}
	return all
}

// The page agrees with the program.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, msg.Catalog(), samples(t)); err != nil {
		t.Fatal(err)
	}
	fixtures.Golden(t, "../../docs/opcodes.md", b.Bytes())
}

func entry(t *testing.T, name string) Entry {
	t.Helper()
	s := msg.Catalog().Find(name)
	if s == nil {
		t.Fatalf("no message %s", name)
	}
	return NewEntry(s)
}

// Lengths as the protocol reference gives them.
func TestLengths(t *testing.T) {
	for name, want := range map[string]string{
		"Settings":            "9 or more",
		"GameInit":            "1",
		"ObjectCreate":        "48 or more",
		"HostEvent":           "17 or more",
		"CollisionSetting":    "2",
		"DestroyObject":       "5",
		"TorpedoFire":         "10 or 18",
		"PulseFire":           "10 or 14",
		"StateUpdate":         "10 or more",
		"VerifyExitedWarp":    "10 or more",
		"ChecksumRequest":     "7 or more",
		"Explosion":           "14",
		"ClientReady":         "2",
		"Chat":                "7 or more",
		"MissionInit":         "5 or 9",
		"Score":               "17",
		"ScoreInit":           "18",
		"TeamScore":           "10",
		"Team":                "6",
		"SelfDestructRequest": "1",
	} {
		if got := entry(t, name).Layouts[0].Length; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestEntry(t *testing.T) {
	e := entry(t, "PulseFire")
	opcode, target := 0x1A, int64(2)
	want := Entry{
		Layer: "game", Code: &opcode, Name: "PulseFire", Constant: "CREATE_PULSE", Aliases: []string{"BeamFire"}, Dir: "both", Reliable: true,
		Relay: "forward", Evidence: "on the wire", Topic: "weapons", Doc: e.Doc, Made: "never",
		Others: []Deviation{{
			"openbc", "forward", "readable", "drops-unread-shots",
			"drops TorpedoFire and PulseFire that it cannot read in its own layout; the stock host passes them on",
		}},
		Layouts: []Layout{{Dialect: "stock", Length: "10 or 14", Fields: []Field{
			{Path: "weapon", Kind: "object id", Bytes: "4", Doc: "the weapon that fired, a child of the pulse system"},
			{Path: "firing_player", Kind: "u8", Bytes: "1", Doc: "network id of the shooter"},
			{Path: "direction", Kind: "cv3", Bytes: "3", Doc: "of flight, in the world"},
			{Path: "flags", Kind: "flags8", Bytes: "1", Doc: "how it was fired", Values: []Value{{1, "sound"}, {2, "target"}}},
			{
				Path: "target", Kind: "object id", Bytes: "4", When: []string{"flags & 0x02 (target)"}, Doc: "the object aimed at",
				If: []Condition{{Op: "has", Field: "flags", Value: &target}},
			},
		}}},
	}
	got, _ := json.Marshal(&e)
	exp, _ := json.Marshal(&want)
	if !bytes.Equal(got, exp) {
		t.Errorf("got %s\nwant %s", got, exp)
	}
}

func TestEntries(t *testing.T) {
	all := Entries(msg.Catalog())
	if !slices.IsSortedFunc(all, func(a, b Entry) int { return a.Opcode - b.Opcode }) {
		t.Error("not in the order of opcodes")
	}
	for i := range all {
		e := &all[i]
		if e.Relay == "?" || e.Evidence == "?" || e.Dir == "" {
			t.Errorf("%s: %q, %q, %q", e.Name, e.Relay, e.Evidence, e.Dir)
		}
		for _, l := range e.Layouts {
			for _, f := range l.Fields {
				if f.Path == "" || f.Kind == "?" || f.Doc == "" {
					t.Errorf("%s: %+v", e.Name, f)
				}
			}
		}
	}
}

// A list with elements that hold the same list again is described once.
func TestNested(t *testing.T) {
	var trees []string
	for _, f := range entry(t, "ChecksumResponse").Layouts[0].Fields {
		if strings.HasPrefix(f.Path, "trees") {
			trees = append(trees, f.Path)
		}
		if f.Path == "trees[].trees" && (f.Like != "trees" || f.Levels != 3) {
			t.Errorf("like %q, %d levels", f.Like, f.Levels)
		}
	}
	want := []string{
		"trees", "trees[].name", "trees[].files_count", "trees[].files", "trees[].files[].name_hash", "trees[].files[].content_hash",
		"trees[].subdirs_count", "trees[].subdirs", "trees[].subdirs[].name_hash", "trees[].trees",
	}
	if !slices.Equal(trees, want) {
		t.Errorf("got %q, want %q", trees, want)
	}
}

func TestRows(t *testing.T) {
	s := &Sample{Dialect: decode.Stock, Payload: fixtures.Hex(t, "1a-target.hex")}
	var got strings.Builder
	for _, r := range Rows(msg.Catalog().Lookup(0x1A), s) {
		got.WriteString(bytesText(r.Bytes) + " " + r.Path + " = " + r.Value + "\n")
	}
	want := `77 00 00 40 weapon = 0x40000077 (slot 0)
02 firing_player = 2
75 0e d2 direction = (0.9212598, 0.11023622, -0.36220473)
03 flags = 0x03 (sound|target)
68 00 08 40 target = 0x40080068 (slot 2)
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if got := Rows(msg.Catalog().Lookup(0x04), &Sample{Payload: []byte{4}}); got != nil {
		t.Errorf("a message without a layout has the rows %v", got)
	}
}

// Every field that the walk of a message shows is in the JSON, for every
// sample.
func TestNothingIsMissing(t *testing.T) {
	var b bytes.Buffer
	if err := ndjson.Write(&b, append(Entries(msg.Catalog()), TransportEntries()...)...); err != nil {
		t.Fatal(err)
	}
	byName := map[string]Entry{}
	transports := 0
	for line := range bytes.Lines(b.Bytes()) {
		var w Entry
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch {
		case w.Layer == "game" && w.Code != nil && w.Type == nil:
			byName[w.Name] = w
		case w.Layer == "transport" && w.Code == nil && w.Type != nil:
			transports++
		default:
			t.Errorf("unknown layer %s", line)
		}
	}
	if len(byName) != len(msg.Catalog().All()) || transports != len(TransportEntries()) {
		t.Errorf("%d game messages, %d of the transport", len(byName), transports)
	}
	compared := 0
	for _, s := range messages.All(t) {
		spec := s.SpecIn(msg.Catalog())
		w := byName[spec.Name]
		i := slices.IndexFunc(w.Layouts, func(l Layout) bool { return l.Dialect == s.Dialect.String() })
		if i < 0 {
			t.Errorf("%s: no layout of %v", s.Name, s.Dialect)
			continue
		}
		r := decode.NewDecoder().Read(spec, s.Payload, s.Dialect, s)
		v := new(shownFields)
		new(decode.Viewer).Show(r.Message, s.Payload, 1, r.Dialect, v)
		for _, f := range v.fields {
			compared++
			if repeated(f.Path) == 0 && !slices.ContainsFunc(w.Layouts[i].Fields, func(g Field) bool {
				return g.Path == f.Path && g.Kind == f.Kind && g.Doc == f.Doc
			}) {
				t.Errorf("%s: %s, %s, is missing", s.Name, f.Path, f.Kind)
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d fields were compared", compared)
	}
}

// shownFields is a visitor that keeps paths, kinds and meanings.
type shownFields struct {
	path   path
	fields []Field
}

func (v *shownFields) Begin(g *decode.Group) { v.path.begin(g, "[]") }
func (v *shownFields) End(*decode.Group)     { v.path.end() }

func (v *shownFields) Field(f *decode.Field) {
	v.fields = append(v.fields, Field{Path: v.path.join(f.Name), Kind: f.Kind.String(), Doc: f.Doc})
}

// An entry tells which other message it replaces.
func TestInstead(t *testing.T) {
	c, err := msg.Catalog().With(&decode.Spec{Code: 0x2C, Name: "Emote"}, &decode.Spec{Code: 0xCD, Name: "Own"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range Entries(c) {
		if e.Instead != "" || e.Name == "Own" {
			got[e.Name] = e.Instead
		}
	}
	if len(got) != 3 || got["Emote"] != "Chat" || got["Own"] != "" || got["BootPlayer"] != "Unused04" {
		t.Errorf("got %v", got)
	}
}

func TestMeaning(t *testing.T) {
	for _, e := range Entries(msg.Catalog()) {
		if Meaning(e.Relay) == "" || Meaning(e.Evidence) == "" || Meaning(e.Topic) == "" {
			t.Errorf("%s: nothing is said of %s, %s or %s", e.Name, e.Relay, e.Evidence, e.Topic)
		}
		if e.Made != "" && MadeMeaning(e.Made) == "" || e.Step != "" && StepMeaning(e.Step) == "" || e.Playable != "" && PlayableMeaning(e.Playable) == "" {
			t.Errorf("%s: nothing is said of %s, %s or %s", e.Name, e.Made, e.Step, e.Playable)
		}
	}
	if Meaning("?") != "" {
		t.Error("? has a meaning")
	}
}
