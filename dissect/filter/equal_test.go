package filter

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

var elements = regexp.MustCompile(`\.\d+`)

// What Equal returns compiles, and is true of the message with the field. With
// another message it agrees with the JSON of the fields of that name.
func TestEqual(t *testing.T) {
	type value struct {
		field decode.Field
		json  string
	}
	var all []map[string][]value // values in each sample, by name
	var records []*dissect.Record
	for _, s := range messages.All(t) {
		r := game(t, s.Payload, s.Dialect, s)
		if r.Message == nil {
			continue
		}
		values := map[string][]value{}
		var p display.Presenter
		var w decode.Viewer
		r.Visit(&w, &display.Flat{Take: func(path string, f *decode.Field) {
			name := r.Spec.Name + "." + elements.ReplaceAllString(path, "")
			c := *f
			c.Bytes = bytes.Clone(f.Bytes)
			values[name] = append(values[name], value{c, string(p.AppendJSON(nil, f, display.Whole, nil))})
		}})
		all, records = append(all, values), append(records, r)
	}
	compared, without := 0, 0
	for i, values := range all {
		for name, list := range values {
			for _, v := range list {
				expr := Equal(name, &v.field)
				f := must(t, expr)
				if !f.Match(records[i]) {
					t.Errorf("%s is false of %s", expr, v.json)
				}
				if expr == name {
					without++
					continue
				}
				for k, others := range all {
					has, vector := false, len(others[name]) > 1 && v.field.Kind.Components() != ""
					for _, o := range others[name] {
						has = has || o.json == v.json
					}
					if compared++; f.Match(records[k]) != has && !vector { // components of several vectors may fit
						t.Errorf("%s is %t of %v", expr, !has, others[name])
					}
				}
			}
		}
	}
	if compared < 10_000 || without > 100 {
		t.Errorf("%d comparisons; %d values are not compared", compared, without)
	}
}
