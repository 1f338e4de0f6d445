package msg

import (
	"math"
	"reflect"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// A walked update has no fast reader, so it is read by its walk.
type walked struct{ m StateUpdate }

func (w *walked) Walk(c *decode.Codec) { w.m.Walk(c) }
func (w *walked) Reset()               { w.m.Reset() }

var walkedSpec = decode.Spec{
	Code: 0x1C, Name: "walked", BySender: true, Layout: decode.LayoutOf[walked](),
	Forms: []decode.Form{{Dialect: decode.OpenBC, Layout: decode.LayoutOf[walked]()}},
}

// everyShip gives all ships one class, and knows all bases or none.
type everyShip struct {
	species uint8
	based   bool
}

func (e everyShip) Ship(wire.ObjectID) *ship.Class { return ship.BySpecies(e.species) }

func (e everyShip) Base(id wire.ObjectID) (wire.Vec3, bool) {
	return wire.Vec3{float32(id & 0xFF), 2, 3}, e.based
}

// compareFast compares the fast reader with the walk: it accepts a message if
// and only if the walk decodes it completely, with the same result.
func compareFast(t *testing.T, d *decode.Decoder, m *StateUpdate, payload []byte, as decode.Dialect, env decode.Env) (taken bool) {
	t.Helper()
	want := d.ReadAs(&walkedSpec, payload, as, env)
	if len(payload) > 0 && payload[0] == 0x1C {
		comparePlain(t, d, payload, as, env, want.Exact())
	}
	taken = m.ReadFast(payload, as, env)
	if taken != want.Exact() {
		t.Fatalf("% X, %v, %+v: taken %v, the walk leaves % X and %v", payload, as, env, taken, want.Rest, want.Err)
	}
	if !taken {
		return false
	}
	walk := &want.Message.(*walked).m
	compareShown(t, m, payload, as)
	m.parts = nil
	head := new(StateUpdate)
	if !head.ReadHead(payload, as, env) || head.Object != walk.Object || head.Flags != walk.Flags || head.Class != walk.Class ||
		head.Position != walk.Position || head.HasHash != walk.HasHash || head.Hash != walk.Hash {
		t.Fatalf("% X, %v, %+v: the head is %+v, want %+v", payload, as, env, head, walk)
	}
	// Lists keep their memory: an empty one may be nil or not.
	if len(m.Entries)+len(walk.Entries) == 0 {
		m.Entries, walk.Entries = nil, nil
	}
	if len(m.Power)+len(walk.Power) == 0 {
		m.Power, walk.Power = nil, nil
	}
	if !reflect.DeepEqual(m, walk) {
		t.Fatalf("% X, %v, %+v:\n got %+v\nwant %+v", payload, as, env, m, walk)
	}
	return true
}

// A call is a method call that a visitor got.
type call struct {
	name, doc string
	kind      any // kind of the field or group, nil for the end of a group
	off, end  int
	value     any
	names     decode.Names
}

// calls is a visitor that records its calls.
type calls struct {
	viewer decode.Viewer
	all    []call
}

func (v *calls) take(e call) { v.all = append(v.all, e) }

func (v *calls) Begin(g *decode.Group) {
	v.take(call{name: g.Name, doc: g.Doc, kind: g.Kind, value: g.Index})
}

func (v *calls) End(g *decode.Group) {
	v.take(call{name: g.Name, value: [2]int{int(g.Kind), g.Index}})
}

func (v *calls) Field(f *decode.Field) {
	e := call{name: f.Name, doc: f.Doc, kind: f.Kind, off: f.Off, end: f.End, value: f.Uint, names: f.Names}
	switch f.Kind {
	case decode.KindF32, decode.KindCF16, decode.KindRatio8, decode.KindPower8:
		e.value = f.Float
		if math.IsNaN(f.Float) { // never equal to itself
			e.value = "NaN"
		}
	case decode.KindVec3, decode.KindVec4h, decode.KindDir3, decode.KindPlace:
		e.value = [4]uint32{math.Float32bits(f.Vec[0]), math.Float32bits(f.Vec[1]), math.Float32bits(f.Vec[2]), math.Float32bits(f.Vec[3])}
	case decode.KindRatios:
		e.value = string(f.Bytes)
	case decode.KindText:
		e.value = f.Text
	default:
	}
	if f.Bytes != nil && f.Kind != decode.KindRatios {
		e.value = "bytes of another field"
	}
	v.take(e)
}

// shownSets are selections of fields.
var shownSets = []decode.FieldSet{
	{},
	decode.Fields("speed"), decode.Fields("subsystems", "entries", "condition"), decode.Fields("flags", "position", "has_hash"),
	decode.Fields("power_settings", "percent", "name"), decode.Fields("subsystems", "start", "cloaked"), decode.Fields("forward"),
}

// compareShown compares how the fast code shows an update that was read with how
// the walk shows it: all fields, and some.
func compareShown(t *testing.T, m *StateUpdate, payload []byte, as decode.Dialect) {
	t.Helper()
	show := func(m decode.Message, set decode.FieldSet) []call {
		var v calls
		v.viewer.Limit(set)
		v.viewer.Show(m, payload, 1, as, &v)
		return v.all
	}
	slow := &walked{*m}
	want := show(slow, decode.FieldSet{})
	fresh := *m
	fresh.parts = nil
	if got := show(&fresh, decode.FieldSet{}); !reflect.DeepEqual(got, want) {
		t.Fatalf("% X, %v, without its parts:\n got %+v\nwant %+v", payload, as, got, want)
	}
	sum := 0
	for _, c := range payload {
		sum += int(c)
	}
	for i, set := range shownSets {
		if i > 0 && sum%8 > 0 { // some messages are enough
			break
		}
		want := show(slow, set)
		if got := show(m, set); !reflect.DeepEqual(got, want) {
			t.Fatalf("% X, %v, set %d:\n got %+v\nwant %+v", payload, as, i, got, want)
		}
	}
}

// comparePlain compares PlainUpdate with the walk: it takes no update that the
// walk does not decode completely, and each of the stock game's that it does,
// unless there are subsystems.
func comparePlain(t *testing.T, d *decode.Decoder, payload []byte, as decode.Dialect, env decode.Env, exact bool) {
	t.Helper()
	plain := PlainUpdate(payload)
	if plain && !exact || !plain && exact && as == decode.Stock && UpdateFlags(payload)&DirtySubsystems == 0 {
		t.Fatalf("% X, %v, %+v: plain %v, the walk decodes it completely: %v", payload, as, env, plain, exact)
	}
	if !plain {
		return
	}
	walk := &d.ReadAs(&walkedSpec, payload, as, env).Message.(*walked).m
	if hash, ok := PlainHash(payload); ok != walk.HasHash || hash != walk.Hash || UpdateFlags(payload) != walk.Flags {
		t.Fatalf("% X: hash %v %04X, flags %v, want %+v", payload, ok, hash, UpdateFlags(payload), walk)
	}
}

// Every flag value, with every class of ship, in both dialects: whole, cut
// anywhere, with a trailing byte and, for some of the flags, with each byte
// changed.
func TestReadFast(t *testing.T) {
	d, m := decode.NewDecoder(), new(StateUpdate)
	taken := 0
	everyUpdate(t, func(flags int, payload []byte, as decode.Dialect, env everyShip) {
		if compareFast(t, d, m, payload, as, env) {
			taken++
		}
		for n := range payload {
			compareFast(t, d, m, payload[:n], as, env)
		}
		compareFast(t, d, m, append(payload[:len(payload):len(payload)], 0x21), as, env)
		if flags%11 == 0 {
			changeEach(t, d, m, payload, as, env)
		}
	})
	if taken < 480 { // 512 were made, and a cloak bit before a closed group is invalid
		t.Errorf("only %d whole messages were taken", taken)
	}
}

// The same with each byte changed, for every flag value.
func TestReadFastChanged(t *testing.T) {
	fixtures.System(t)
	d, m := decode.NewDecoder(), new(StateUpdate)
	everyUpdate(t, func(_ int, payload []byte, as decode.Dialect, env everyShip) { changeEach(t, d, m, payload, as, env) })
}

// everyUpdate calls each with an update for every flag value and dialect.
func everyUpdate(t *testing.T, each func(flags int, payload []byte, as decode.Dialect, env everyShip)) {
	t.Helper()
	var listed []uint8
	for c := range ship.All() {
		if len(c.Subsystems) > 0 {
			listed = append(listed, c.Species)
		}
	}
	for _, as := range []decode.Dialect{decode.Stock, decode.OpenBC} {
		for flags := range 256 {
			env := everyShip{listed[flags%len(listed)], flags%3 == 0}
			each(flags, someUpdate(t, Dirty(flags), as, env), as, env)
		}
	}
}

// changeEach compares the fast form with the walk for an update with each byte
// changed.
func changeEach(t *testing.T, d *decode.Decoder, m *StateUpdate, payload []byte, as decode.Dialect, env everyShip) {
	t.Helper()
	for i := 1; i < len(payload); i++ {
		for _, bit := range []byte{0x01, 0x20, 0x40, 0xFF} {
			payload[i] ^= bit
			compareFast(t, d, m, payload, as, env)
			compareFast(t, d, m, payload, as, nil)
			payload[i] ^= bit
		}
	}
}

// someUpdate returns a valid update with the parts named by the flags.
func someUpdate(t *testing.T, flags Dirty, as decode.Dialect, env everyShip) []byte {
	t.Helper()
	m := &StateUpdate{
		Object: 0x3FFFFFFF + wire.ObjectID(flags), GameTime: wire.FloatBits(12.5), Flags: flags, HasHash: flags&1 != 0, Hash: 0xBEEF,
		Forward: wire.Dir3{1, -2, 3}, Up: wire.Dir3{-4, 5, 6}, Speed: 0x4321, Cloak: flags&2 != 0,
		Class: ship.BySpecies(env.species), Power: []Setting{{1, 204}, {3, 0}},
	}
	list := m.Class.Subsystems
	m.Start = uint8(int(flags) % len(list))
	var b []byte
	for n := range 12 { // enough entries for a complete block
		m.Entries = m.Entries[:0]
		for i := range n {
			e := Entry{Condition: 200, HasPower: i%2 == 0, Power: 100, Facings: []byte{1, 2, 3, 4, 5, 6}, Main: 7, Backup: 8}
			e.Index = uint8((int(m.Start) + i) % len(list))
			e.Children = make([]byte, len(list[e.Index].Children))
			m.Entries = append(m.Entries, e)
		}
		var err error
		if b, err = decode.Append(b[:0], &walkedSpec, &walked{*m}, as); err != nil {
			t.Fatal(err)
		}
		if r := decode.NewDecoder().ReadAs(&walkedSpec, b, as, env); r.Exact() {
			break
		}
	}
	return b
}

func FuzzReadFast(f *testing.F) {
	for _, s := range messages.All(f) {
		if s.Payload[0] == 0x1C {
			f.Add(s.Payload, s.Species, s.Dialect == decode.OpenBC, true)
		}
	}
	d, m := decode.NewDecoder(), new(StateUpdate)
	f.Fuzz(func(t *testing.T, payload []byte, species uint8, openBC, based bool) {
		as := decode.Stock
		if openBC {
			as = decode.OpenBC
		}
		compareFast(t, d, m, payload, as, everyShip{species, based})
		compareFast(t, d, m, payload, as, nil)
	})
}

// The head of an update, cut anywhere.
func TestUpdateHead(t *testing.T) {
	// A client's update: object 0x3FFFFFFF, flags 0x9D.
	payload := []byte{0x1C, 0xFF, 0xFF, 0xFF, 0x3F, 0x00, 0x80, 0xE1, 0x41, 0x9D}
	for n := range len(payload) + 1 {
		id, ok := UpdatedObject(payload[:n])
		if want := n >= 5; ok != want || ok && id != 0x3FFFFFFF {
			t.Errorf("%d bytes: got %v, %v", n, id, ok)
		}
		id, flags, ok := UpdateHead(payload[:n])
		if want := n >= 10; ok != want || ok && (id != 0x3FFFFFFF || flags != 0x9D) {
			t.Errorf("%d bytes: got %v, flags %v, %v", n, id, flags, ok)
		}
	}
	payload[0] = 0x1D
	if _, ok := UpdatedObject(payload); ok {
		t.Error("another message is an update")
	}
	if _, _, ok := UpdateHead(payload); ok {
		t.Error("another message is an update")
	}
}

// A position comes from the update, from the one before and the difference, or
// is not known.
func TestAbsolutePosition(t *testing.T) {
	one := wire.CF16(0x3FFF) // the end of the third decade, 1
	delta := wire.Vec4h{Dir: wire.Dir3{127, 0, 0}, Len: one}
	base := wire.Vec3{10, 20, 30}
	at := [3]wire.F32{wire.FloatBits(1), wire.FloatBits(2), wire.FloatBits(3)}
	for _, tt := range []struct {
		name string
		m    StateUpdate
		want wire.Vec3
		ok   bool
	}{
		{"its own", StateUpdate{Flags: DirtyPosition | DirtyDelta, Position: at, Delta: delta, base: base, hasBase: true}, wire.Vec3{1, 2, 3}, true},
		{"relative", StateUpdate{Flags: DirtyDelta, Delta: delta, base: base, hasBase: true}, wire.Vec3{11, 20, 30}, true},
		{"relative to nothing known", StateUpdate{Flags: DirtyDelta, Delta: delta}, wire.Vec3{}, false},
		{"none", StateUpdate{base: base, hasBase: true}, wire.Vec3{}, false},
	} {
		got, ok := tt.m.AbsolutePosition()
		for i := range got {
			if d := got[i] - tt.want[i]; d < -1e-6 || d > 1e-6 {
				t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
			}
		}
		if ok != tt.ok {
			t.Errorf("%s: known is %v", tt.name, ok)
		}
	}
}

// ReadPosition takes no update that is cut anywhere, and none with subsystems.
func TestReadPosition(t *testing.T) {
	// Object 0x3FFFFFFF, flags 0x01, position 1, 2, 3, and a group of one bit.
	b := []byte{0x1C, 0xFF, 0xFF, 0xFF, 0x3F, 0, 0, 0, 0, 0x01, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0x20}
	var m StateUpdate
	for n := range len(b) {
		if got, want := m.ReadPosition(b[:n:n]), n >= 22; got != want {
			t.Errorf("%d bytes: got %v", n, got)
		}
	}
	if !m.ReadPosition(b) || m.Object != 0x3FFFFFFF || m.Position != [3]wire.F32{wire.FloatBits(1), wire.FloatBits(2), wire.FloatBits(3)} {
		t.Errorf("got %+v", m)
	}
	b[9] |= 0x20
	if m.ReadPosition(b) {
		t.Error("took an update with subsystems")
	}
}
