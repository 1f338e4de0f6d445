package decode

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A pair is a message of two bytes.
type pair struct{ A, B uint8 }

func (m *pair) Walk(c *Codec) {
	c.U8("a", &m.A, "first")
	c.U8("b", &m.B, "second")
}

type single struct{ A uint8 }

func (m *single) Walk(c *Codec) { c.U8("a", &m.A, "only") }

type stateful struct{ A uint8 }

func (m *stateful) Walk(c *Codec) {
	c.U8("a", &m.A, "first")
	c.Unresolved("b", "nothing is known of it")
}

func TestWith(t *testing.T) {
	base := NewCatalog(
		&Spec{Code: 0x10, Name: "Pair", Aliases: []string{"Couple"}, Layout: LayoutOf[pair]()},
		&Spec{Code: 0x11, Name: "Unused"},
		&Spec{Code: 0x2B, Name: "Script", CatchAll: true, Layout: LayoutOf[single]()},
	)
	one := &Spec{Code: 0x10, Name: "One", Layout: LayoutOf[single]()}
	own := &Spec{Code: 0xCD, Name: "Own", Layout: LayoutOf[single]()}
	first := &Spec{Code: 0x2B, Name: "First", Layout: LayoutOf[single]()}
	now := &Spec{Code: 0x11, Name: "Now", Layout: LayoutOf[single]()}
	second := &Spec{Code: 0xCD, Name: "Second", Layout: LayoutOf[pair]()}
	c, err := base.With(one, own, first, now, second)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.All() {
		got = append(got, fmt.Sprintf("%v %s", s.Code, s.Name))
	}
	if g, want := strings.Join(got, ", "), "0x10 Pair, 0x10 One, 0x11 Unused, 0x11 Now, 0x2B Script, 0x2B First, 0xCD Own, 0xCD Second"; g != want {
		t.Errorf("got %s", g)
	}
	for op, want := range map[Opcode]string{0x10: "Pair", 0x11: "Unused", 0x2B: "First", 0x2C: "Script", 0xCD: "Own", 0xFF: "Script"} {
		if s := c.Lookup(op); s == nil || s.Name != want {
			t.Errorf("%v: got %v, want %s", op, s, want)
		}
	}
	for _, s := range []*Spec{one, own, second} {
		if c.Find(s.Name) != s && c.Find(s.Name).Code != s.Code {
			t.Errorf("%s is not found", s.Name)
		}
	}
	if c.Lookup(0x12) != nil || base.Lookup(0x2A) != nil || len(base.All()) != 3 || len(base.Lookup(0x10).Alternatives) != 0 || base.Lookup(0xCD).Name != "Script" {
		t.Error("the first catalogue is another now")
	}

	d := NewDecoder()
	for text, want := range map[string]string{
		"\x10\x01\x02":     "Pair, 0 over", // the stock layout fits
		"\x10\x01":         "One, 0 over",
		"\x10\x01\x02\x03": "Pair, 1 over", // neither layout fits
		"\x10":             "Pair, 0 over, decode: Pair.a at +1: message ends inside the field (need 1, have 0)",
		"\x11\x01":         "Now, 0 over",
		"\x11":             "Unused, 0 over", // no message
		"\xCD\x01\x02":     "Second, 0 over",
		"\xCD\x01":         "Own, 0 over",
	} {
		p := []byte(text)
		s := c.Lookup(Opcode(p[0]))
		r := d.ReadAlternatives(s, p, d.Read(s, p, Stock, nil), nil)
		got := fmt.Sprintf("%s, %d over", r.Spec.Name, len(r.Rest))
		if r.Err != nil {
			got += ", " + r.Err.Error()
		}
		if got != want {
			t.Errorf("%x: got %s, want %s", p, got, want)
		}
	}
	p := []byte("\x10\x01")
	s := c.Lookup(0x10)
	if n := testing.AllocsPerRun(10, func() { d.ReadAlternatives(s, p, d.Read(s, p, Stock, nil), nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Specs are sorted, and added alternatives come before the game's.
func TestOrderOfSpecs(t *testing.T) {
	game := &Spec{Code: 0x10, Name: "Game"}
	base := NewCatalog(&Spec{Code: 0x20, Name: "Late"}, &Spec{Code: 0x10, Name: "Early", Alternatives: []*Spec{game}})
	c, err := base.With(&Spec{Code: 0x10, Name: "First"}, &Spec{Code: 0x10, Name: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[*[]*Spec]string{
		ref(base.All()): "Early Game Late", ref(c.All()): "Early Game First Second Late", ref(c.Lookup(0x10).Alternatives): "First Second Game",
	} {
		var got []string
		for _, s := range *list {
			got = append(got, s.Name)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("got %s, want %s", g, want)
		}
	}
}

func ref(list []*Spec) *[]*Spec { return &list }

// A message that only lacks session state may still be the game's.
func TestInsteadOfUnresolved(t *testing.T) {
	base := NewCatalog(&Spec{Code: 0x10, Name: "Known", Layout: LayoutOf[stateful]()})
	c, err := base.With(&Spec{Code: 0x10, Name: "Own", Layout: LayoutOf[pair]()})
	if err != nil {
		t.Fatal(err)
	}
	d, s, p := NewDecoder(), c.Lookup(0x10), []byte("\x10\x01\x02")
	if r := d.ReadAlternatives(s, p, d.Read(s, p, Stock, nil), nil); r.Spec != s || !errors.Is(r.Err, ErrState) {
		t.Errorf("got %s, %v", r.Spec.Name, r.Err)
	}
}

func TestWithTakenNames(t *testing.T) {
	base := NewCatalog(&Spec{Code: 0x10, Name: "Pair", Constant: "PAIR_OF", Aliases: []string{"Couple"}})
	for _, s := range []*Spec{
		{Code: 0x20, Name: "pair"},
		{Code: 0x20, Name: "Own", Constant: "Couple"},
		{Code: 0x10, Name: "Own", Aliases: []string{"pair_of"}},
	} {
		_, err := base.With(&Spec{Code: 0x30, Name: "Other"}, s)
		e, ok := errors.AsType[*NameError](err)
		if !ok || e.Spec != s || e.Taken.Name != "Pair" {
			t.Errorf("%v: got %v", s.Names(), err)
		}
	}
}
