package measure_test

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
	"github.com/bcdissect/bcdissect/fixtures/synth"
)

// A counter counts datagrams, with a record for every message or in runs.
type counter struct {
	measure.Tally
	pipeline *dissect.Pipeline
	messages int // in runs
}

func newCounter(cfg dissect.Config, runs bool) *counter {
	c := &counter{pipeline: dissect.New(cfg)}
	if runs {
		needs := c.Needs()
		needs.Run = func(r *dissect.Run) error {
			c.messages += len(r.Flags) + r.Acks
			return c.Run(r)
		}
		c.pipeline.Need(needs)
	}
	return c
}

func (c *counter) add(t *testing.T, d *dissect.Datagram) {
	t.Helper()
	if err := c.pipeline.Push(d, c.Record); err != nil {
		t.Fatal(err)
	}
}

func (c *counter) count(t *testing.T, src packet.Source) measure.Tally {
	t.Helper()
	for {
		d, err := src.Next()
		if err != nil {
			break
		}
		c.add(t, d)
	}
	return c.end(t)
}

func (c *counter) end(t *testing.T) measure.Tally {
	t.Helper()
	if err := c.pipeline.Flush(c.Record); err != nil {
		t.Fatal(err)
	}
	return c.Tally
}

// Counting in runs has the same result as counting records.
func TestRuns(t *testing.T) {
	var names []string
	for _, pattern := range []string{"*.pcap", "*.gz", "variants/*.pcap*", "reliability/*.gz"} {
		found, err := filepath.Glob(filepath.Join(fixtures.Dir(), "captures", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 30 {
		t.Fatalf("only %d captures", len(names))
	}
	for _, kind := range synth.Kinds() {
		var b bytes.Buffer
		n := 5_000
		if kind == synth.Records || kind == synth.Crowds {
			n = 100
		}
		if err := synth.Write(&b, synth.Options{Kind: kind, Datagrams: n, Seed: 3}); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), string(kind)+".pcap")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for _, name := range names {
		for _, cfg := range []dissect.Config{{}, {Dialect: decode.OpenBC}, {Dialect: decode.Stock, Ships: ship.BySpecies(3)}} {
			var tallies [2]measure.Tally
			inRuns := 0
			for i := range tallies {
				src, err := capture.Open(name, nil)
				if err != nil {
					t.Fatal(err)
				}
				c := newCounter(cfg, i > 0)
				tallies[i] = c.count(t, src)
				inRuns = c.messages
				if err := src.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if tallies[0] != tallies[1] {
				t.Errorf("%s, %+v:\n got %+v\nwant %+v", name, cfg, tallies[1], tallies[0])
			}
			if all := int(tallies[0].Messages); cfg.Dialect == decode.Undecided && strings.Contains(name, "battle_mix.pcap.gz") && inRuns < all*9/10 {
				t.Errorf("%s, %+v: only %d of %d messages in runs", name, cfg, inRuns, all)
			}
		}
	}
}

// FuzzRuns compares the two ways of counting for any deciphered datagrams. The
// first byte of each is its size.
func FuzzRuns(f *testing.F) {
	var long []byte
	for _, s := range messages.All(f) {
		body := append([]byte{0x32, byte(len(s.Payload) + 3), 0}, s.Payload...)
		if len(body) > 250 {
			continue
		}
		f.Add(append([]byte{byte(len(body) + 2), 2, 1}, body...), len(s.Payload)%2 == 0)
		long = append(append(long, byte(len(body)+6), 1, 2, 1, 7, 0, byte(len(s.Payload))), body...)
	}
	f.Add(long, false)
	host, client := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("192.0.2.2:4000")
	f.Fuzz(func(t *testing.T, data []byte, openBC bool) {
		cfg := dissect.Config{Clear: true}
		if openBC {
			cfg.Dialect = decode.OpenBC
		}
		one, two := newCounter(cfg, false), newCounter(cfg, true)
		d := dissect.Datagram{Time: time.Unix(0, 0).UTC(), Src: client, Dst: host}
		for len(data) > 0 {
			n := min(1+int(data[0]), len(data))
			d.Payload, data = data[1:n], data[n:]
			d.Number++
			d.Full = len(d.Payload)
			if d.Src = client; len(d.Payload) > 0 && d.Payload[0] == 1 {
				d.Src = host
			}
			if d.Dst = host; d.Src == host {
				d.Dst = client
			}
			one.add(t, &d)
			two.add(t, &d)
		}
		if want, got := one.end(t), two.end(t); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	})
}
