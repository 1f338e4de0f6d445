package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// doubled returns datagrams with a share of them once more, up to 50 ms later.
// The others keep their frame numbers, so that reports can be compared.
func doubled(all []dissect.Datagram, share float64, seed uint64) []dissect.Datagram {
	const most = int64(50 * time.Millisecond)
	r := rand.New(rand.NewPCG(seed, 0))
	number := 1 << 20
	var out, late []dissect.Datagram
	due := func(until time.Time, always bool) {
		n := 0
		for n < len(late) && (always || !late[n].Time.After(until)) {
			n++
		}
		out = append(out, late[:n]...)
		late = slices.Delete(late, 0, n)
	}
	for _, d := range all {
		due(d.Time, false)
		out = append(out, d)
		if r.Float64() >= share {
			continue
		}
		number++
		d.Number, d.Time = number, d.Time.Add(time.Duration(r.Int64N(most+1)))
		late = append(late, d)
		slices.SortStableFunc(late, func(a, b dissect.Datagram) int { return a.Time.Compare(b.Time) })
	}
	due(time.Time{}, true)
	return out
}

// told is all that reports tell of datagrams, other than the counts of datagrams and
// bytes.
type told struct {
	once, session, measure, network, replay string
	doubles                                 int   // datagrams
	updates                                 int64 // ship updates
}

// tell reads datagrams into reports.
func tell(t *testing.T, all []dissect.Datagram, cfg dissect.Config) (o told) {
	t.Helper()
	var once, session, habits, network, replay bytes.Buffer
	start := all[0].Time
	records := ndjson.New(&once, ndjson.Options{Start: start})
	story, h, meter, tally := match.New(start), new(measure.Habits), new(measure.Meter), new(measure.Tally)
	hosts := conform.NewHosts(conform.Config{})
	p := dissect.New(cfg)
	frame := 0
	take := func(r *dissect.Record) error {
		if r.Status != dissect.StatusDuplicate && r.CopyOf == 0 {
			if err := records.Record(r); err != nil {
				t.Fatal(err)
			}
		}
		if r.DoubleOf > 0 && r.Datagram.Number != frame {
			frame = r.Datagram.Number
			o.doubles++
		}
		for _, record := range []func(*dissect.Record) error{story.Record, h.Record, meter.Record, tally.Record, hosts.Record} {
			if err := record(r); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	for i := range all {
		_ = p.Push(&all[i], take) // only take fails
	}
	_ = p.Flush(take)
	_ = story.Close()
	reports, _ := hosts.Reports()
	for _, r := range reports {
		if err := ndjson.Replay(&replay, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		records.Close(), ndjson.Session(&session, story.Matches(), match.Evenings{}, true), ndjson.Measure(&habits, h), ndjson.Network(&network, meter, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	counts := regexp.MustCompile(`"(datagrams|bytes)":\d+`)
	rates := regexp.MustCompile(`"rate":\{[^}]*\}`) // a rate covers the last seconds
	o.once, o.session, o.measure, o.replay = once.String(), session.String(), habits.String(), replay.String()
	o.network = rates.ReplaceAllString(counts.ReplaceAllString(network.String(), ""), "")
	o.updates = tally.Flags[dissect.ToHost].Total() + tally.Flags[dissect.FromHost].Total()
	return o
}

// captured returns the datagrams of a fixture.
func captured(t *testing.T, name string) (all []dissect.Datagram) {
	t.Helper()
	recorded.Datagrams(t, name, func(d *dissect.Datagram) {
		own := *d
		own.Payload = bytes.Clone(d.Payload)
		all = append(all, own)
	})
	return all
}

// differs returns the first line that two texts do not share.
func differs(a, b string) string {
	one, other := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(one), len(other)) {
		if x, y := one[i], other[i]; x != y {
			at := 0
			for at < min(len(x), len(y)) && x[at] == y[at] {
				at++
			}
			from := max(0, at-80)
			return fmt.Sprintf("line %d: got …%.200s, want …%.200s", i+1, y[from:], x[from:])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(other), len(one))
}

// A capture with doubled datagrams gives the same report as one without, except
// for the counts of datagrams and bytes.
func TestDoubled(t *testing.T) {
	for _, name := range []string{"stock_client.pcap", "gamespy.pcap", "lossy.pcap", "trouble/arrival.pcap", "variants/join_flow-snap60.pcap"} {
		t.Run(name, func(t *testing.T) { testDoubled(t, name, []uint64{1}) })
	}
}

// The same for every capture. If BCDISSECT_LONG is set, each is tried five times, also
// the longest ones and other forms of the same capture.
func TestDoubledAll(t *testing.T) {
	fixtures.System(t)
	long, seeds := os.Getenv("BCDISSECT_LONG") != "", []uint64{1}
	if long {
		seeds = []uint64{1, 2, 3, 4, 5}
	}
	n := 0
	root := fixtures.Path("captures")
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || e.IsDir() || !strings.Contains(name, ".pcap") || strings.HasSuffix(name, ".json") || strings.Contains(name, "headeronly") {
			return err
		}
		n++
		t.Run(name, func(t *testing.T) {
			if !long && (strings.Contains(name, "battle_large") || strings.HasPrefix(name, "battle_mix") && name != "battle_mix.pcap.gz") {
				t.Skip("takes half as long as all others: set BCDISSECT_LONG")
			}
			t.Parallel()
			testDoubled(t, filepath.ToSlash(name), seeds)
		})
		return nil
	})
	if err != nil || n < 30 {
		t.Errorf("%d captures: %v", n, err)
	}
}

// Pseudonyms leave doubles what they are.
func TestDoubledAnonymously(t *testing.T) {
	const header, record = 24, 16
	single := fixtures.Read(t, "captures/stock_client.pcap")
	twice := slices.Clone(single[:header])
	for rest := single[header:]; len(rest) > 0; {
		frame := rest[:record+binary.LittleEndian.Uint32(rest[8:])]
		rest = rest[len(frame):]
		twice = append(append(twice, frame...), frame...)
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	once := func(name string, capture []byte) (lines string, doubles int) {
		in, out := filepath.Join(dir, name+".pcap"), filepath.Join(dir, name+".pcapng")
		if err := os.WriteFile(in, capture, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"anonymize", "--key", key, in, out},
			{"read", "-Y", `notes.code == "doubled_datagram"`, "-T", "csv", "-e", "frame", out},
			{"read", "--once", "-T", "csv", "-e", "rel", "-e", "src", "-e", "dst", "-e", "len", "-e", "name", "-e", "player_name", "-e", "Chat.text", out},
		} {
			r := runWith(nil, args...)
			if r.status != 0 {
				t.Fatalf("%v: status %d, %s", args, r.status, r.err)
			}
			if args[1] == "-Y" {
				doubles = len(slices.Compact(strings.Fields(r.out))) - 1 // without the header
			}
			lines = r.out
		}
		return lines, doubles
	}
	want, _ := once("single", single)
	got, doubles := once("twice", twice)
	if got != want || doubles != 345 {
		t.Errorf("%d doubles; %s", doubles, differs(want, got))
	}
}

func testDoubled(t *testing.T, name string, seeds []uint64) {
	t.Helper()
	all := captured(t, name)
	cfg := dissect.Config{Clear: strings.HasPrefix(name, "clear/")}
	want := tell(t, all, cfg)
	for _, share := range []float64{0.01, 0.05, 1} {
		for _, seed := range seeds {
			changed := doubled(all, share, seed)
			got := tell(t, changed, cfg)
			for _, o := range []struct{ what, want, got string }{
				{"records", want.once, got.once},
				{"session", want.session, got.session},
				{"measure", want.measure, got.measure},
				{"network", want.network, got.network},
				{"replay", want.replay, got.replay},
			} {
				if o.want != o.got {
					t.Errorf("%g of the datagrams doubled, seed %d: %s: %s", share, seed, o.what, differs(o.want, o.got))
				}
			}
			if got.updates != want.updates {
				t.Errorf("%d ship updates, want %d", got.updates, want.updates)
			}
			if n := len(changed) - len(all); got.doubles < n*9/10 || got.doubles > n+want.doubles {
				t.Errorf("%d datagrams are marked of %d", got.doubles, n+want.doubles)
			}
		}
	}
}
