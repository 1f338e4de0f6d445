package reference

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// vectorsVersion is the version of the format of docs/vectors/messages.json.
const vectorsVersion = 1

// A vector is one message for the tests of decoders.
type vector struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Message  string          `json:"message"`
	Dialect  string          `json:"dialect"`
	Species  uint8           `json:"species,omitempty"`
	Evidence string          `json:"evidence"`
	From     string          `json:"from"`
	Checked  string          `json:"checked,omitempty"`
	Bytes    string          `json:"bytes"`
	Fields   json.RawMessage `json:"fields"`
}

// Docs/vectors has each sample with its fields. What it calls checked was decoded to the
// same values by other software: the tests of package msg compare them.
func TestVectors(t *testing.T) {
	checked := examples(t)
	var b bytes.Buffer
	b.WriteString("{\"version\":1,\"vectors\":[\n")
	n := 0
	for i, s := range messages.All(t) {
		spec := s.SpecIn(msg.Catalog())
		r := decode.NewDecoder().Read(spec, s.Payload, s.Dialect, s)
		if !r.Exact() || r.Dialect != s.Dialect {
			t.Errorf("%s: rest %x, error %v, dialect %v", s.Name, r.Rest, r.Err, r.Dialect)
		}
		v := &bare{JSON: display.JSON{Presenter: new(display.Presenter), B: []byte{'{'}}}
		new(decode.Viewer).Show(r.Message, s.Payload, 1, r.Dialect, v)
		out := vector{
			Name: s.Name, Title: s.Title, Message: spec.Name, Dialect: s.Dialect.String(), Species: s.Species, Evidence: spec.Evidence.String(),
			From: s.From, Checked: checked[string(s.Payload)], Bytes: hex.EncodeToString(s.Payload), Fields: append(v.B, '}'),
		}
		if out.Checked != "" {
			n++
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(out); err != nil {
			t.Fatal(err)
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteString("\n]}\n")
	fixtures.Golden(t, "../../docs/vectors/messages.json", b.Bytes())
	var file struct {
		Version int
		Vectors []vector
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil || file.Version != vectorsVersion {
		t.Errorf("version %d, %v", file.Version, err)
	}
	for _, s := range msg.Catalog().All() {
		if s.Known() && !slices.ContainsFunc(file.Vectors, func(v vector) bool { return v.Message == s.Name }) {
			t.Errorf("no vector has a %s", s.Name)
		}
	}
	if n < 75 {
		t.Errorf("other software decoded only %d of them", n)
	}
}

// examples returns the messages that other software decoded, by their bytes.
func examples(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"transport-examples", "game-examples"} {
		var file struct {
			Examples []struct {
				ID, Name, Layer string
				Hex             any
			}
		}
		if err := json.Unmarshal(fixtures.Read(t, "vectors/"+name+".json"), &file); err != nil {
			t.Fatal(err)
		}
		for _, e := range file.Examples {
			if text, ok := e.Hex.(string); ok && (e.Layer == "app" || e.Layer == "") {
				if e.ID == "" {
					e.ID = e.Name
				}
				all[string(fixtures.Unhex(t, text))] = e.ID
			}
		}
	}
	return all
}

// bare is a visitor that shows the values of fields only, and no texts that follow from others.
type bare struct{ display.JSON }

func (v *bare) Field(f *decode.Field) {
	if f.Kind == decode.KindText || f.Kind == decode.KindPlace {
		return
	}
	if v.B[len(v.B)-1] != '{' {
		v.B = append(v.B, ',')
	}
	v.B = append(append(append(v.B, '"'), f.Name...), '"', ':')
	v.B = v.Presenter.AppendJSON(v.B, f, display.Whole, nil)
}
