package reference

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// What a kind consists of takes the bytes that the kind takes at least.
func TestKinds(t *testing.T) {
	widths := map[string]int{"": 0}
	for _, n := range []string{"8", "16", "32"} {
		bits, _ := strconv.Atoi(n)
		widths["u"+n], widths["s"+n] = bits/8, bits/8
	}
	widths["f32"] = 4
	all := Kinds()
	for k, d := range all {
		least, bytes := decode.Kind(k).Size()
		if d.Layer != "kind" || d.Name != decode.Kind(k).String() || d.Bytes != bytes || d.Type == "" {
			t.Errorf("%+v", d)
		}
		n := widths[d.Length] + d.Terminator
		for _, p := range d.Parts {
			width, ok := widths[p]
			if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == p }); !ok && i >= 0 {
				width, _ = decode.Kind(i).Size()
			} else if !ok {
				t.Errorf("%s: no part is called %s", d.Name, p)
			}
			n += width
		}
		if !d.Array && n != least {
			t.Errorf("%s: %d bytes, want %d", d.Name, n, least)
		}
	}
	if last := decode.Kind(len(all)); last.String() != "?" || all[len(all)-1].Type != "numbers" {
		t.Errorf("%v has no line", last)
	}
}

// Whatever a condition, a count or a source of a field names is a field or a list
// before it.
func TestNames(t *testing.T) {
	named := 0
	for _, e := range append(Entries(msg.Catalog()), TransportEntries()...) {
		for _, l := range e.Layouts {
			var before []string
			check := func(f *Field, path string) {
				if named++; path != f.Path && !slices.Contains(before, path) {
					t.Errorf("%s, %s: %q is no field before it", e.Name, f.Path, path)
				}
			}
			for i := range l.Fields {
				f := &l.Fields[i]
				for _, c := range f.If {
					switch {
					case c.Op == "more" || c.Op == "fits":
						check(f, c.At)
					case c.Op == "":
						t.Errorf("%s, %s: no comparison", e.Name, f.Path)
					case c.Subsystem == "":
						check(f, c.Field)
					}
				}
				if c := f.Count; c != nil {
					for _, path := range []string{c.Field, c.List, c.First} {
						if path != "" {
							check(f, path)
						}
					}
				}
				if f.Kind == "list" && f.Count == nil {
					t.Errorf("%s, %s: nothing tells how many elements there are", e.Name, f.Path)
				}
				if derived := strings.HasPrefix(f.Kind, "derived"); derived != (f.From != nil) {
					t.Errorf("%s, %s: from %v", e.Name, f.Path, f.From)
				} else if derived && f.From.Of != "" {
					check(f, f.From.Of)
				}
				before = append(before, f.Path)
			}
		}
	}
	if named < 500 {
		t.Errorf("only %d names", named)
	}
}

// The list of a ship, as the game's script has it.
func TestShips(t *testing.T) {
	ships := Ships()
	i := slices.IndexFunc(ships, func(s Ship) bool { return s.Name == "Akira" })
	akira := ships[i]
	if akira.Species != 1 || akira.Hash != 0xFB37 || !akira.Playable || len(akira.Subsystems) != 11 {
		t.Errorf("got %+v", akira)
	}
	if s := akira.Subsystems[3]; s.Name != "Warp Core" || s.Kind != "reactor" || s.Offset != 4 || len(s.Children) != 0 {
		t.Errorf("got %+v", s)
	}
	if s := akira.Subsystems[4]; s.Kind != "powered" || len(s.Children) != 2 || s.Children[1] != (Part{"Star Impulse", "impulse engine", 10}) {
		t.Errorf("got %+v", s)
	}
}
