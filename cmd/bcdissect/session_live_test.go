package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report"
)

// TestPageWhilePlaying has a page written a minute into a capture of 84
// seconds, and at its end.
func TestPageWhilePlaying(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "evening.html")
	src, err := capture.OpenAll([]string{fixtures.Path("captures/battle_mix.pcap.gz")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	makeSink := withPage(name, t.Errorf, func(*cli.Output, time.Time) (report.Sink, func(*reading.Counts) error) {
		return new(measure.Tally), nil
	})
	var sink report.Sink
	var early []byte
	p := dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if sink == nil {
			sink, _ = makeSink(nil, src.Stats().FirstTime)
		}
		if err := p.Push(d, sink.Record); err != nil {
			t.Fatal(err)
		}
		if early == nil && d.Time.Sub(src.Stats().FirstTime) > 65*time.Second {
			if early, err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(early, []byte("</html>")) || !bytes.Contains(last, []byte("</html>")) || bytes.Equal(early, last) {
		t.Errorf("pages of %d and %d bytes", len(early), len(last))
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}
