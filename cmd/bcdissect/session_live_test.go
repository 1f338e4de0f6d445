package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report"
)

// TestPageWhilePlaying checks that a page is written before the game begins,
// after a minute even if no datagram arrives, and at the end.
func TestPageWhilePlaying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		name := filepath.Join(dir, "evening.html")
		var versions [][]byte
		look := func() {
			t.Helper()
			synctest.Wait()
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			versions = append(versions, b)
		}
		makeSink := withPage(name, t.Errorf, func(*cli.Output, time.Time) (report.Sink, func(*reading.Counts) error) {
			return new(measure.Tally), nil
		})
		look()
		src, err := capture.OpenAll([]string{fixtures.Path("captures/battle_mix.pcap.gz")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = src.Close() }()
		p := dissect.New(dissect.Config{})
		var sink report.Sink
		for d, err := range dissect.Datagrams(src) {
			if err != nil {
				t.Fatal(err)
			}
			if sink == nil {
				sink, _ = makeSink(nil, src.Stats().FirstTime)
			}
			if d.Time.Sub(src.Stats().FirstTime) > 65*time.Second && len(versions) < 3 {
				look() // nothing new is written yet
				time.Sleep(refresh)
				look()
			}
			if err := p.Push(d, sink.Record); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		look()
		if !bytes.Equal(versions[0], versions[1]) {
			t.Error("it is written before a minute is over")
		}
		for i, b := range versions[1:] {
			if !bytes.Contains(b, []byte("</html>")) || i > 0 && bytes.Equal(b, versions[i]) {
				t.Errorf("page %d has %d bytes, the one before %d", i+1, len(b), len(versions[i]))
			}
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("%d files, %v", len(files), err)
		}
	})
}
