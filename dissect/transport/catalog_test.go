package transport

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/fixtures"
)

// bodies are bodies from the datagram examples and the reference, with their
// meaning.
var bodies = []struct {
	spec, name, hex, want string
}{
	{"NameChange", "stock client", "02 0A 0A 0A EF 43 00 61 00 64 00 79 00 32 00 00 00", "id=2 ip=10.10.10.239 name=Cady2"},
	{"NameChange", "no name", "01 7F 00 00 01 00 00", "id=1 ip=127.0.0.1 name="},
	{"NameChange", "above Latin", "03 0A 00 00 01 3D D8 80 DE 16 04 00 00", "id=3 ip=10.0.0.1 name=🚀Ж"},
	{"Connect", "stock client", "0A 0A 0A EF 5F 0A 00 00 00 00", "ip=10.10.10.239 nonce=2655 password="},
	{"Connect", "with a password", "C0 A8 01 05 78 56 34 12 61 00 62 00 63 00 00 00", "ip=192.168.1.5 nonce=305419896 password=abc"},
	{"ConnectAccept", "stock host", "02", "id=2"},
	{"BootPlayer", "kick", "04 02", "reason=4(kicked by the server) id=2"},
	{"BootPlayer", "full", "03 02", "reason=3(too many players) id=2"},
	{"BootPlayer", "unknown reason", "65 FF", "reason=101() id=255"},
	{"Disconnect", "stock client", "02 0A 0A 0A EF", "id=2 ip=10.10.10.239"},
}

// A lister writes fields as name=value, and checks that they are contiguous.
type lister struct {
	t    *testing.T
	text []string
	at   int
}

func (l *lister) Field(f *decode.Field) {
	if f.Off != l.at {
		l.t.Errorf("%s begins at %d, want %d", f.Name, f.Off, l.at)
	}
	l.at = f.End
	var v string
	switch f.Kind {
	case decode.KindU8, decode.KindU32:
		v = fmt.Sprint(f.Uint)
	case decode.KindEnum8:
		v = fmt.Sprintf("%d(%s)", f.Uint, f.Names.Name(f.Uint))
	case decode.KindIPv4:
		v = fmt.Sprintf("%d.%d.%d.%d", f.Bytes[0], f.Bytes[1], f.Bytes[2], f.Bytes[3])
	case decode.KindWStrz:
		v = wire.WideText(f.Bytes).Raw()
	default:
		l.t.Errorf("%s has kind %v", f.Name, f.Kind)
	}
	l.text = append(l.text, f.Name+"="+v)
}

func (l *lister) Begin(g *decode.Group) { l.t.Errorf("group %s", g.Name) }
func (l *lister) End(*decode.Group)     {}

func spec(tb testing.TB, name string) *decode.Spec {
	tb.Helper()
	for _, s := range Catalog() {
		if s.Name == name {
			return s
		}
	}
	tb.Fatalf("no spec %s", name)
	return nil
}

func TestBodies(t *testing.T) {
	var c decode.Codec
	for _, tt := range bodies {
		t.Run(tt.spec+", "+tt.name, func(t *testing.T) {
			s, b := spec(t, tt.spec), fixtures.Unhex(t, tt.hex)
			m := s.Layout.New()
			rest, err := decode.ReadFields(&c, s.Name, m, b, decode.Stock)
			if err != nil || len(rest) > 0 {
				t.Fatalf("got %v, rest % X", err, rest)
			}
			l := &lister{t: t}
			new(decode.Viewer).Show(m, b, 0, decode.Stock, l)
			if got := strings.Join(l.text, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if l.at != len(b) {
				t.Errorf("fields end at %d, want %d", l.at, len(b))
			}
			back, e := decode.AppendFields([]byte{0xAA}, s.Name, m, decode.Stock)
			if e != nil || !bytes.Equal(back, append([]byte{0xAA}, b...)) {
				t.Errorf("written back: got % X, %v, want % X", back, e, b)
			}
			for n := range b {
				rest, err := decode.ReadFields(&c, s.Name, s.Layout.New(), b[:n:n], decode.Stock)
				if err == nil {
					t.Errorf("%d bytes: no error", n)
					continue
				}
				if !errors.Is(err, decode.ErrShort) || err.Message != s.Name || err.Offset > n || err.Have >= err.Need || err.Have != n-err.Offset {
					t.Errorf("%d bytes: got %v", n, err)
				}
				if len(rest) != n-err.Offset {
					t.Errorf("%d bytes: rest % X, error at %d", n, rest, err.Offset)
				}
			}
			extra, err := decode.ReadFields(&c, s.Name, m, append(bytes.Clone(b), 0xEE), decode.Stock)
			if err != nil || !bytes.Equal(extra, []byte{0xEE}) {
				t.Errorf("a byte too many: got rest % X, %v", extra, err)
			}
			if got := testing.AllocsPerRun(100, func() { _, _ = decode.ReadFields(&c, s.Name, m, b, decode.Stock) }); got > 0 {
				t.Errorf("got %v allocations, want 0", got)
			}
		})
	}
}

// described records the names of fields.
type described struct {
	t     *testing.T
	names map[string]bool
}

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func (d *described) Field(f *decode.Field) {
	if !fieldName.MatchString(f.Name) || f.Doc == "" || d.names[f.Name] {
		d.t.Errorf("field %q with doc %q", f.Name, f.Doc)
	}
	d.names[f.Name] = true
}

func (d *described) Begin(*decode.Group) {}
func (d *described) End(*decode.Group)   {}

func TestCatalog(t *testing.T) {
	sampled := map[string]bool{}
	for _, b := range bodies {
		sampled[b.spec] = true
	}
	for _, s := range Catalog() {
		t.Run(s.Name, func(t *testing.T) {
			if !sampled[s.Name] {
				t.Error("no sample")
			}
			if !strings.HasSuffix(s.Doc, ".") || s.Constant == "" || !s.Reliable {
				t.Errorf("got %+v", s)
			}
			d := &described{t, map[string]bool{}}
			decode.Describe(s.Layout, decode.Stock, d)
			for _, path := range s.Brief {
				if !d.names[path] {
					t.Errorf("brief names %s, which is no field", path)
				}
			}
		})
	}
}

func TestSpecFor(t *testing.T) {
	for _, tt := range []struct{ name, hex, want string }{
		{"name change", "00 0C C0 01 00 01 7F 00 00 01 00 00", "NameChange"},
		{"short keepalive", "00 02", ""},
		{"acknowledge", "01 00 00 02", ""},
		{"keepalive", "02", ""},
		{"request", "03 0F C0 00 00 0A 0A 0A EF 5F 0A 00 00 00 00", "Connect"},
		{"accept", "03 06 C0 00 00 02", "ConnectAccept"},
		{"empty connect", "03 05 C0 00 00", "Connect"},
		{"short request", "03 08 01 00 00 7F 00 01", "ShortBody"},
		{"short request of one byte", "03 03 01", "ShortBody"},
		{"boot", "04 07 C0 02 00 04 02", "BootPlayer"},
		{"disconnect", "05 0A C0 02 00 02 0A 0A 0A EF", "Disconnect"},
		{"leave", "06 02", ""},
		{"data", "32 04 00 1C", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _, err := Next(fixtures.Unhex(t, tt.hex))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if s := SpecFor(&m); s != nil {
				got = s.Name
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzBody(f *testing.F) {
	for _, tt := range bodies {
		for i, s := range Catalog() {
			if s.Name == tt.spec {
				f.Add(uint8(i), fixtures.Unhex(f, tt.hex))
			}
		}
	}
	list := Catalog()
	f.Fuzz(func(t *testing.T, i uint8, body []byte) {
		s := list[int(i)%len(list)]
		m := s.Layout.New()
		var c decode.Codec
		rest, err := decode.ReadFields(&c, s.Name, m, body, decode.Stock)
		if err != nil {
			return
		}
		back, e := decode.AppendFields(nil, s.Name, m, decode.Stock)
		if e != nil || !bytes.Equal(append(back, rest...), body) {
			t.Errorf("written back: got % X and rest % X, %v, want % X", back, rest, e, body)
		}
	})
}

// Names, addresses and passwords are replaced in a copy for strangers, numbers are kept,
// and the short form is opaque.
func TestTreatment(t *testing.T) {
	want := map[string]decode.Treatment{
		"NameChange.id": decode.Kept, "NameChange.ip": decode.Addressed, "NameChange.name": decode.Renamed,
		"Connect.ip": decode.Addressed, "Connect.nonce": decode.Kept, "Connect.password": decode.Renamed,
		"ConnectAccept.id": decode.Kept, "BootPlayer.reason": decode.Kept, "BootPlayer.id": decode.Kept,
		"Disconnect.id": decode.Kept, "Disconnect.ip": decode.Addressed, "ShortBody.body": decode.Blanked,
	}
	for _, s := range Specs() {
		decode.Describe(s.Layout, decode.Stock, decode.FieldFunc(func(f *decode.Field) {
			name := s.Name + "." + f.Name
			if w, ok := want[name]; !ok || s.Treatment(f) != w {
				t.Errorf("%s is treated as %d, want %d", name, s.Treatment(f), w)
			}
			delete(want, name)
		}))
	}
	if len(want) > 0 {
		t.Errorf("fields are missing: %v", want)
	}
}
