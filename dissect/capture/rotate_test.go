package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRotationSet(t *testing.T) {
	var r Rotation
	for _, c := range []string{"duration:1.5", "filesize:100", "packets:7", "files:3"} {
		if err := r.Set(c); err != nil {
			t.Error(err)
		}
	}
	if want := (Rotation{1500 * time.Millisecond, 100000, 7, 3}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []string{
		"", "duration", "duration:", "duration:x", "duration:0", "duration:-1", "duration:NaN", "duration:1e30",
		"files:1.5", "filesize:0x", "interval:60", "nametimenum:1", ":5",
	} {
		if err := r.Set(c); err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), fmt.Sprintf("%q: ", c)) {
			t.Errorf("%q: got %v", c, err)
		}
	}
	if want := (Rotation{1500 * time.Millisecond, 100000, 7, 3}); r != want {
		t.Errorf("got %+v, want it as it was", r)
	}
	if err := (&Rotation{Files: 2}).Check(); err == nil {
		t.Error("got nil, want that files alone say nothing")
	}
}

// rotated writes 10 packets, one a second, and returns the payloads in each
// remaining file. Each file must be complete.
func rotated(t *testing.T, name string, r Rotation, size int) (names []string, payloads [][]string) {
	t.Helper()
	dir := t.TempDir()
	w, err := NewRotatingWriter(filepath.Join(dir, name), r, start, options())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		ci, data := packetOf(start.Add(time.Duration(i+1)*time.Second), []byte(fmt.Sprintf("%-*d", size, i)))
		if err := errors.Join(w.WritePacket(ci, data), w.Flush(Counters{})); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePacket(packetOf(start, nil)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want %v", err, os.ErrClosed)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if r.Size > 0 && int64(len(b)) > r.Size {
			t.Errorf("%s: got %d bytes, want at most %d", e.Name(), len(b), r.Size)
		}
		if little.Uint32(b[len(b)-statisticsBlock:]) != ngStatistics {
			t.Errorf("%s: got no statistics at the end", e.Name())
		}
		all, _ := mustRead(t, b)
		var texts []string
		for _, d := range all {
			texts = append(texts, strings.TrimSpace(string(d.Payload)))
		}
		payloads = append(payloads, texts)
	}
	var kept []string
	for _, k := range w.Files() {
		kept = append(kept, filepath.Base(k))
	}
	if !slices.Equal(kept, names) {
		t.Errorf("got %q, want %q", kept, names)
	}
	return names, payloads
}

func TestRotatingWriter(t *testing.T) {
	local := func(second int) string {
		return start.Add(time.Duration(second) * time.Second).Local().Format("20060102150405")
	}
	tests := []struct {
		name     string
		file     string
		rotation Rotation
		size     int
		names    []string
		payloads string
	}{
		{
			"without a limit", "a.pcapng",
			Rotation{},
			1,
			[]string{"a_00001_" + local(0) + ".pcapng"},
			"[[0 1 2 3 4 5 6 7 8 9]]",
		},
		{
			"packets", "a.b.pcapng",
			Rotation{Packets: 4},
			1,
			[]string{"a.b_00001_" + local(0) + ".pcapng", "a.b_00002_" + local(5) + ".pcapng", "a.b_00003_" + local(9) + ".pcapng"},
			"[[0 1 2 3] [4 5 6 7] [8 9]]",
		},
		{
			"duration", "a",
			Rotation{Duration: 3 * time.Second},
			1,
			[]string{"a_00001_" + local(0), "a_00002_" + local(4), "a_00003_" + local(7), "a_00004_" + local(10)},
			"[[0 1 2] [3 4 5] [6 7 8] [9]]",
		},
		{
			"files", "a",
			Rotation{Duration: 3 * time.Second, Files: 2},
			1,
			[]string{"a_00003_" + local(7), "a_00004_" + local(10)},
			"[[6 7 8] [9]]",
		},
		{
			"size", "a",
			Rotation{Size: 10000},
			2000,
			[]string{"a_00001_" + local(0), "a_00002_" + local(5), "a_00003_" + local(9)},
			"[[0 1 2 3] [4 5 6 7] [8 9]]",
		},
		{
			"one packet a file", "a",
			Rotation{Packets: 1, Files: 1},
			1,
			[]string{"a_00010_" + local(10)},
			"[[9]]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names, payloads := rotated(t, tt.file, tt.rotation, tt.size)
			if !slices.Equal(names, tt.names) || fmt.Sprint(payloads) != tt.payloads {
				t.Errorf("got %q and %v, want %q and %s", names, payloads, tt.names, tt.payloads)
			}
		})
	}
}

func TestRotatingWriterFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "a.pcapng")
	if _, err := NewRotatingWriter(missing, Rotation{}, start, options()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	if _, err := NewRotatingWriter("a", Rotation{Files: 2}, start, options()); err == nil {
		t.Error("got nil, want that files alone say nothing")
	}
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := NewRotatingWriter(filepath.Join(dir, "a.pcapng"), Rotation{Packets: 1}, start, options())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePacket(packetOf(start, nil)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		_ = w.Close()
		t.Skipf("an open file keeps its directory here: %v", err)
	}
	for range 2 {
		if err := w.WritePacket(packetOf(start, nil)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v, want %v", err, os.ErrNotExist)
		}
	}
	if err := w.Flush(Counters{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	_ = w.Close()
}

// TestKeep has old and new files of the series, of an earlier run too, and old files
// that only look like it.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	age := func(name string, hours int) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := start.Add(-time.Duration(hours) * time.Hour)
		if err := os.Chtimes(name, then, then); err != nil {
			t.Fatal(err)
		}
	}
	age("a_00001_20200101000000.pcapng", 25)
	age("a_00007_20200101000000.pcapng", 23)
	others := []string{"a.pcapng", "a_1_20200101000000.pcapng", "a_00001_20200101000000.pcapng.gz", "aa_00001_20200101000000.pcapng", "a_00001_20200101000000.pcap", "a_00001_2020010100000x.pcapng"}
	for _, name := range others {
		age(name, 1000)
	}
	var forgot []string
	o := options()
	o.Keep, o.Forgot = 24*time.Hour, func(name string) { forgot = append(forgot, filepath.Base(name)) }
	w, err := NewRotatingWriter(filepath.Join(dir, "a.pcapng"), Rotation{Packets: 1}, start, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a_00001_20200101000000.pcapng"}; !slices.Equal(forgot, want) {
		t.Errorf("%v were deleted, not %v", forgot, want)
	}
	all, _ := os.ReadDir(dir)
	if len(all) != len(others)+2 { // with the file of 23 hours, and the new one
		t.Errorf("%d files are left", len(all))
	}
}
