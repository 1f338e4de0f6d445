package dissect_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A clone of a pipeline goes on with the same records as the pipeline itself, also
// after that has gone on.
func TestPipelineClone(t *testing.T) {
	paths := slices.Concat(fixtures.Glob(t, "captures/*.pcap"), fixtures.Glob(t, "captures/reliability/*.pcap.gz"), fixtures.Glob(t, "captures/battle_mix-s96.pcap.gz"))
	for _, path := range paths {
		name := strings.TrimPrefix(path, "captures/")
		t.Run(name, func(t *testing.T) {
			var all []dissect.Datagram
			recorded.Datagrams(t, name, func(d *dissect.Datagram) {
				c := *d
				c.Payload = bytes.Clone(d.Payload)
				all = append(all, c)
			})
			p := dissect.New(dissect.Config{})
			// rest returns the rest of the records as JSON, with notes and names.
			rest := func(p *dissect.Pipeline, from int) string {
				var out bytes.Buffer
				sink := ndjson.New(&out, ndjson.Options{Payload: true})
				for i := from; i < len(all); i++ {
					if err := p.Push(&all[i], sink.Record); err != nil {
						t.Fatal(err)
					}
				}
				if err := p.Flush(sink.Record); err != nil {
					t.Fatal(err)
				}
				_ = sink.Close() // cannot fail
				return fmt.Sprint(out.String(), p.Stats())
			}
			ignore := func(*dissect.Record) error { return nil }
			clones := map[int]*dissect.Pipeline{}
			step := max(len(all)/7, 1)
			for i := range all {
				if i%step == step/2 {
					clones[i] = p.Clone()
					if i > len(all)/2 && len(clones) < 6 {
						shared(t, p, clones[i])
					}
				}
				if err := p.Push(&all[i], ignore); err != nil {
					t.Fatal(err)
				}
			}
			for at, c := range clones {
				again := dissect.New(dissect.Config{})
				for i := range at {
					if err := again.Push(&all[i], ignore); err != nil {
						t.Fatal(err)
					}
				}
				if want, got := rest(again, at), rest(c, at); got != want {
					t.Errorf("from datagram %d on:\n%s", at, firstDifference(got, want))
				}
			}
		})
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("got  %s\nwant %s", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// shared fails for memory that both pipelines can reach and that is not constant.
func shared(t *testing.T, p, clone *dissect.Pipeline) {
	t.Helper()
	a, b := map[uintptr]string{}, map[uintptr]string{}
	reach(reflect.ValueOf(p), "", a)
	reach(reflect.ValueOf(clone), "", b)
	if len(a) < 10 {
		t.Fatalf("%d parts of a pipeline were found", len(a))
	}
	for at, path := range a {
		if other, ok := b[at]; ok {
			t.Errorf("%s is %s of the clone", path, other)
		}
	}
}

// constant are the types that pipelines may share.
var constant = map[string]bool{"ship.Class": true, "decode.Catalog": true, "decode.Spec": true, "netip.addrDetail": true, "[]uint16": true}

// reach collects the memory that a value leads to.
func reach(v reflect.Value, path string, seen map[uintptr]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() == reflect.Slice && v.Cap() == 0 {
			return
		}
		kind := v.Type().String()
		if v.Kind() == reflect.Pointer {
			kind = v.Type().Elem().String()
		}
		if constant[kind] || seen[v.Pointer()] != "" {
			return
		}
		if v.Kind() != reflect.Pointer || v.Type().Elem().Size() > 0 {
			seen[v.Pointer()] = path + " " + v.Type().String()
		}
	default:
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			reach(v.Elem(), path, seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			reach(v.Field(i), path+"."+v.Type().Field(i).Name, seen)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			reach(it.Value(), path+"[]", seen)
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Pointer, reflect.Struct, reflect.Map, reflect.Slice, reflect.Interface, reflect.Array:
			for i := range v.Len() {
				reach(v.Index(i), path+"[]", seen)
			}
		default:
		}
	default:
	}
}
