package match_test

import (
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A pipeline that omits the values of updates which a host passes on makes the
// same matches as one that does not.
func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"battle_mix.pcap.gz", "stock_client.pcap", "lossy.pcap"} {
		want, none := matches(t, name, false)
		got, omitted := matches(t, name, true)
		if len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the matches differ, or there are none", name)
		}
		if none != 0 || omitted == 0 && name == "battle_mix.pcap.gz" {
			t.Errorf("%s: %d and %d updates without values", name, none, omitted)
		}
	}
}

// matches returns the matches of a capture, and how many ship updates came
// without values.
func matches(t *testing.T, name string, omit bool) (all []*match.Match, omitted int) {
	t.Helper()
	src, err := capture.Open(filepath.Join(fixtures.Dir(), "captures", name), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	p := dissect.New(dissect.Config{})
	if omit {
		p.Need(new(match.Builder).Needs())
	}
	var b *match.Builder
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			b = match.New(d.Time)
		}
		if err := p.Push(d, func(r *dissect.Record) error {
			if _, ok := msg.UpdatedObject(r.Payload); ok && r.Message == nil && r.Status == dissect.StatusOK {
				omitted++
			}
			return b.Record(r)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Matches(), omitted
}
