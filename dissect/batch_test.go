package dissect_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// Batched datagrams give the same records as single ones.
func TestPushBatch(t *testing.T) {
	for _, name := range captures(t) {
		t.Run(name, func(t *testing.T) {
			src, err := capture.Open(filepath.Join(fixtures.Dir(), "captures", name), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			var single, batched bytes.Buffer
			one, many := dissect.New(dissect.Config{}), dissect.New(dissect.Config{})
			ones, manys := ndjson.New(&single, ndjson.Options{}), ndjson.New(&batched, ndjson.Options{})
			var b dissect.Batch
			handOn := func() {
				b.Decipher()
				if err := many.PushBatch(&b, manys.Record); err != nil {
					t.Fatal(err)
				}
				b.Reset()
			}
			for {
				d, err := src.Next()
				if err != nil {
					break
				}
				if !b.Add(d) {
					handOn()
					if !b.Add(d) {
						t.Fatal("no room in an empty batch")
					}
				}
				if b.Last().Number != d.Number || !bytes.Equal(b.Last().Payload, d.Payload) {
					t.Fatalf("frame %d is kept as %+v", d.Number, b.Last())
				}
				if err := one.Push(d, ones.Record); err != nil {
					t.Fatal(err)
				}
			}
			handOn()
			for _, end := range []func() error{
				func() error { return one.Flush(ones.Record) }, func() error { return many.Flush(manys.Record) }, ones.Close, manys.Close,
			} {
				if err := end(); err != nil {
					t.Fatal(err)
				}
			}
			if one.Stats() != many.Stats() {
				t.Errorf("got %+v, want %+v", many.Stats(), one.Stats())
			}
			sameLines(t, batched.Bytes(), single.Bytes())
		})
	}
}

// sameLines compares outputs and shows the first line that differs.
func sameLines(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			t.Fatalf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	t.Fatalf("got %d lines, want %d", len(g), len(w))
}

// A batch has room for one datagram of any size, and for a few of the largest.
func TestBatchBounds(t *testing.T) {
	var b dissect.Batch
	small, large := dissect.Datagram{Payload: []byte("small")}, dissect.Datagram{Payload: make([]byte, 65507)}
	huge := dissect.Datagram{Payload: slices.Repeat([]byte{1, 2, 3}, 100_000)}
	for round := range 3 {
		n := 0
		for b.Add(&small) {
			n++
		}
		if n != b.Len() || n < 100 || n > 4000 {
			t.Errorf("round %d: got room for %d small datagrams", round, n)
		}
		b.Reset()
		for n = 0; b.Add(&large); n++ {
			continue
		}
		if n < 1 || n > 4 {
			t.Errorf("round %d: got room for %d large datagrams", round, n)
		}
		b.Reset()
		if !b.Add(&huge) || b.Add(&small) {
			t.Errorf("round %d: a batch with a huge datagram has room", round)
		}
		b.Decipher()
		b.Reset()
	}
}

// A batch does not decipher GameSpy text, whatever type its third byte would have.
func TestPushBatchGameSpy(t *testing.T) {
	var b dissect.Batch
	want := 0
	for third := range 256 {
		if b.Add(&dissect.Datagram{Number: third, Payload: []byte{'\\', 's', byte(third), 'x', '\\', 'y', '\\'}}) {
			want++
		}
	}
	b.Decipher()
	got := 0
	if err := dissect.New(dissect.Config{}).PushBatch(&b, func(r *dissect.Record) error {
		if r.Kind == dissect.KindGameSpy && bytes.Equal(r.Bytes, r.Datagram.Payload) {
			got++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got != want || want != 256 {
		t.Errorf("got %d records of GameSpy, want %d", got, want)
	}
}

// PushBatch stops at the first error.
func TestPushBatchFails(t *testing.T) {
	var b dissect.Batch
	for _, d := range hold(t, "join_flow.pcap")[:20] {
		b.Add(d)
	}
	b.Decipher()
	n := 0
	err := dissect.New(dissect.Config{}).PushBatch(&b, func(*dissect.Record) error {
		if n++; n == 3 {
			return io.ErrClosedPipe
		}
		return nil
	})
	if n != 3 || fmt.Sprint(err) != io.ErrClosedPipe.Error() {
		t.Errorf("got %d records and %v", n, err)
	}
}

func BenchmarkPushBatch(b *testing.B) {
	held := hold(b, "battle_mix.pcap.gz")
	emit := func(*dissect.Record) error { return nil }
	b.ReportAllocs()
	var batch dissect.Batch
	for b.Loop() {
		p := dissect.New(dissect.Config{})
		push := func() {
			batch.Decipher()
			if err := p.PushBatch(&batch, emit); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
		for _, d := range held {
			if !batch.Add(d) {
				push()
				batch.Add(d)
			}
		}
		push()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(held)), "ns/datagram")
}
