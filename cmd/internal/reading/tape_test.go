package reading

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// copies are n files with the same capture, about 13,000 packets each, and different
// bytes: the same bytes count once.
func copies(tb testing.TB, n int) (names []string) {
	tb.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(fixtures.Read(tb, "captures/battle_mix.pcap.gz")))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(packed)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	for i := range n {
		var file bytes.Buffer
		w := gzip.NewWriter(&file)
		w.Comment = strconv.Itoa(i)
		_, _ = w.Write(b) // a Buffer takes everything
		_ = w.Close()
		names = append(names, filepath.Join(dir, strconv.Itoa(i)+".pcap.gz"))
		if err := os.WriteFile(names[i], file.Bytes(), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return names
}

func openTape(tb testing.TB, names ...string) *Tape {
	tb.Helper()
	tape, err := OpenTape(new(cli.Common), cli.Streams{}, names)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(tape.Close)
	return tape
}

// From any record on, a tape has the lines that the whole has there.
func TestTape(t *testing.T) {
	names := copies(t, 2)
	tape := openTape(t, names...)
	tape.spacing = 64
	var all []string
	sink := table.New(nil, table.Options{Start: time.Unix(0, 0)})
	if err := tape.Scan(0, func(_ int, r *dissect.Record) bool { all = append(all, sink.Line(r)); return true }); err != nil {
		t.Fatal(err)
	}
	if len(tape.points) < 5 || len(tape.points) > maxCheckpoints || len(all) < 60_000 {
		t.Fatalf("%d checkpoints in %d records", len(tape.points), len(all))
	}
	var want bytes.Buffer
	whole := table.New(&want, table.Options{Start: time.Unix(0, 0)})
	f := cli.Common{Jobs: 1}
	if err := Captures(&f, cli.Streams{Out: io.Discard, Err: io.Discard}, names, func(*cli.Output, time.Time) (report.Sink, func(*Counts) error) { return whole, nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(all, "\n")+"\n" != want.String() {
		t.Error("the tape has other records than read")
	}
	for _, first := range []int{len(all) - 1, len(all) / 2, 0, 1, 40_000, tape.points[2].records, tape.points[2].records - 1, len(all)} {
		n := first
		err := tape.Scan(first, func(number int, r *dissect.Record) bool {
			if number != n {
				t.Fatalf("from record %d on, record %d has the number %d", first, n, number)
			}
			if got := sink.Line(r); got != all[n] {
				t.Fatalf("from record %d on, record %d is\n%s\nnot\n%s", first, n, got, all[n])
			}
			n++
			return n < first+5000
		})
		if err != nil || n != min(first+5000, len(all)) {
			t.Errorf("from %d to %d: %v", first, n, err)
		}
	}
}

// Memory does not grow with the captures.
func TestTapeMemory(t *testing.T) {
	tape := openTape(t, copies(t, 6)...)
	tape.spacing = 16
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := tape.Scan(0, func(int, *dissect.Record) bool { return true }); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	if sum := int64(tape.memory); sum > checkpointBytes || sum < checkpointBytes/8 || grown > 2*sum {
		t.Errorf("%d checkpoints of %d bytes take %d", len(tape.points), sum, grown)
	}
	runtime.KeepAlive(tape)
}

// Pipelines that are too large are not kept.
func TestLargeCheckpoints(t *testing.T) {
	tape := openTape(t, fixtures.Path("captures/battle_mix.pcap.gz"))
	tape.spacing, tape.memory = 64, checkpointBytes // as if others took it
	n := 0
	if err := tape.Scan(0, func(int, *dissect.Record) bool { n++; return true }); err != nil || n == 0 || len(tape.points) > 0 || tape.spacing != 0 {
		t.Errorf("%d records, %d checkpoints, %v", n, len(tape.points), err)
	}
}

func TestTapeOfPipe(t *testing.T) {
	data := fixtures.Read(t, "captures/stock_client.pcap")
	tape, err := OpenTape(new(cli.Common), cli.Streams{In: bytes.NewReader(data)}, []string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	name := tape.stdin.Name()
	for range 2 {
		n := 0
		if err := tape.Scan(0, func(int, *dissect.Record) bool { n++; return true }); err != nil || n < 500 {
			t.Errorf("%d records, %v", n, err)
		}
	}
	tape.Close()
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the copy is left behind: %v", err)
	}
	if _, err := OpenTape(new(cli.Common), cli.Streams{}, []string{filepath.Join(t.TempDir(), "none.pcap")}); cli.StatusOf(err) != cli.ExitFailed {
		t.Errorf("a missing file: %v", err)
	}
}

// BenchmarkTape lists 79,632 packets, and reads the last page again.
func BenchmarkTape(b *testing.B) {
	count := func(tape *Tape, first int) (n int) {
		if err := tape.Scan(first, func(int, *dissect.Record) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
		return n
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			tape := openTape(b, copies(b, 6)...)
			if n := count(tape, 0); n < 200_000 {
				b.Fatal(n)
			}
			b.ReportMetric(float64(tape.memory)/1e6, "MB-checkpoints")
		}
	})
	tape := openTape(b, copies(b, 6)...)
	n := count(tape, 0)
	for _, part := range []int{2, 10} {
		b.Run(fmt.Sprintf("page at %d of 10", part), func(b *testing.B) {
			first := n*part/10 - 50
			for b.Loop() {
				left := 50
				if err := tape.Scan(first, func(int, *dissect.Record) bool { left--; return left > 0 }); err != nil || left != 0 {
					b.Fatal(left, err)
				}
			}
		})
	}
}
