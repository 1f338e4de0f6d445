package match_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
)

// ring writes the frames of a capture, a pcap file of little-endian numbers, as three
// files of a ring buffer.
func ring(t *testing.T, name string) (files []string) {
	t.Helper()
	b := fixtures.Read(t, "captures/"+name)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err == nil {
			b, err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const header, head = 24, 16
	dir, begin := t.TempDir(), header
	for at, n := header, 1; at < len(b); {
		at += head + int(binary.LittleEndian.Uint32(b[at+8:]))
		if at >= header+(len(b)-header)*n/3 {
			file := filepath.Join(dir, "ring"+string(rune('0'+n))+".pcap")
			if err := os.WriteFile(file, append(bytes.Clone(b[:header]), b[begin:at]...), 0o600); err != nil {
				t.Fatal(err)
			}
			files, begin, n = append(files, file), at, n+1
		}
	}
	return files
}

// TestRings has captures as parts of a ring buffer in several orders, with a copy of
// one of them: each is one recording of one match, with the result and the players
// that TestMerge has for the whole.
func TestRings(t *testing.T) {
	for name, want := range map[string]string{
		"battle_mix.pcap.gz":       "draw: Bot0 0/0, Bot1 0/0, Bot2 0/0, Bot3 0/0",
		"networked_battle.pcap":    "undecided: Bot0 0/0, Bot1 0/0, Bot2 0/0",
		"field/c15.router.pcap.gz": "undecided: Pilot1 1/3, Pilot2 1/2, Pilot3 1/2, Pilot4 2/1",
		"field/c21.host.pcap.gz":   "undecided: Pilot1 2/3, Pilot2 4/2, Pilot3 0/4, Pilot4 2/2",
		"field/f1x.host.pcap.gz":   "undecided: Pilot1 0/2, Pilot2 3/2, Pilot3 0/4, Pilot4 4/2",
		"field/p187.host.pcap.gz":  "undecided: Pilot1 0/2, Pilot2 0/2, Pilot3 0/1, Pilot4 0/1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := ring(t, name)
			again := filepath.Join(t.TempDir(), "again.pcap")
			b, err := os.ReadFile(files[1])
			if err == nil {
				err = os.WriteFile(again, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range [][]string{{files[2], files[0], files[1]}, {again, files[2], files[1], files[0]}} {
				groups, copies := dissect.Recordings(dissect.Config{}, order)
				var all []match.Recording
				for _, group := range groups {
					all = append(all, match.Recording{Files: group, Matches: matchesOf(t, group)})
				}
				got := match.Merge(all)
				if len(got) != 1 || board(got[0]) != want || len(copies) != len(order)-3 {
					t.Errorf("%v: %d matches, %d copies, the first\n%s, not\n%s", order, len(got), len(copies), board(got[0]), want)
				}
			}
		})
	}
}

// matchesOf returns the matches of a recording.
func matchesOf(t *testing.T, files []string) []*match.Match {
	t.Helper()
	src, err := capture.OpenAll(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }() // nothing was written
	first, err := src.Next()
	b := match.New(src.Stats().FirstTime)
	p := dissect.New(dissect.Config{})
	for d := first; err == nil; d, err = src.Next() {
		if err := p.Push(d, b.Record); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, io.EOF) || p.Flush(b.Record) != nil || b.Close() != nil {
		t.Fatal(err)
	}
	return b.Matches()
}
