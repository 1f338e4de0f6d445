package partitions

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bcdissect/bcdissect/report/tables"
)

// Names are those of files without the ending of a packed one, and fit a folder of
// any system. Long ones differ if the names of the files do.
func TestNameOf(t *testing.T) {
	for file, want := range map[string]string{
		"evening.pcap":                "evening.pcap",
		"/a/b/evening.pcapng.gz":      "evening.pcapng",
		"evening.pcap.zst":            "evening.pcap",
		"evening.gz.zst":              "evening.gz",
		".gz":                         "%2Egz",
		"..":                          "%2E.",
		"a b=c%.pcap":                 "a%20b%3Dc%25.pcap",
		"é\n.pcap":                    "%C3%A9%0A.pcap",
		"con_1-2.log":                 "con_1-2.log",
		strings.Repeat("x", 180):      strings.Repeat("x", 180),
		"d/" + strings.Repeat("x", 9): strings.Repeat("x", 9),
	} {
		if got := nameOf(file); got != want {
			t.Errorf("%q: %q, not %q", file, got, want)
		}
	}
	seen := map[string]string{}
	for _, file := range []string{strings.Repeat("x", 181), strings.Repeat("x", 182), strings.Repeat("é", 100), strings.Repeat("é", 101)} {
		name := nameOf(file)
		if len(name) > 255-len("capture=") || strings.HasSuffix(strings.SplitN(name, "-", 2)[0], "%") {
			t.Errorf("%q: %q", file, name)
		}
		if other := seen[name]; other != "" {
			t.Errorf("%q and %q are both %q", file, other, name)
		}
		seen[name] = file
	}
}

// tree returns the files below a folder with their contents.
func tree(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rest, _ := filepath.Rel(path, name)
		all[filepath.ToSlash(rest)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// draw makes a draft with a file for each table.
func draw(t *testing.T, f *folder, capture string, content map[string]string) *draft {
	t.Helper()
	d, err := f.begin(capture)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range slices.Sorted(maps.Keys(content)) {
		w, err := d.create(table)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content[table])); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// A draft shows nothing until it is published, and then replaces the files of its
// capture: also those of tables that the capture has no more, and of no other
// capture and no other form.
func TestDraft(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	publish := func(capture string, content map[string]string) {
		t.Helper()
		d := draw(t, f, capture, content)
		if err := d.publish(); err != nil {
			t.Fatal(err)
		}
		d.discard()
	}
	check := func(want map[string]string) {
		t.Helper()
		if got := tree(t, f.path); !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
	d := draw(t, f, "a", map[string]string{"kills": "1\n"})
	if found, err := f.files("a"); err != nil || len(found) > 0 {
		t.Errorf("an unfinished capture has the files %v: %v", found, err)
	}
	d.discard()
	check(map[string]string{})
	if _, err := os.Stat(filepath.Join(f.path, unfinished)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of drafts is left: %v", err)
	}
	publish("a", map[string]string{"captures": "a1\n", "kills": "1\n", "messages/Chat": "c\n"})
	publish("b", map[string]string{"captures": "b\n", "kills": "2\n"})
	parquet := filepath.Join(f.partition("kills", "a"), "part.parquet")
	if err := os.WriteFile(parquet, []byte("PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{
		"captures/capture=a/part.csv": "a1\n", "kills/capture=a/part.csv": "1\n", "messages/Chat/capture=a/part.csv": "c\n",
		"captures/capture=b/part.csv": "b\n", "kills/capture=b/part.csv": "2\n", "kills/capture=a/part.parquet": "PAR1",
	})
	publish("a", map[string]string{"captures": "a2\n", "lives": "3\n"})
	check(map[string]string{
		"captures/capture=a/part.csv": "a2\n", "lives/capture=a/part.csv": "3\n", "kills/capture=a/part.parquet": "PAR1",
		"captures/capture=b/part.csv": "b\n", "kills/capture=b/part.csv": "2\n",
	})
	if _, err := os.Stat(f.partition("messages/Chat", "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a file that was removed is left: %v", err)
	}
}

// The row in the table of captures stands for all files of a capture: a draft that
// cannot be published whole leaves none.
func TestPublishFails(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	d := draw(t, f, "a", map[string]string{"captures": "old\n", "kills": "1\n"})
	if err := d.publish(); err != nil {
		t.Fatal(err)
	}
	d = draw(t, f, "a", map[string]string{"captures": "new\n", "kills": "2\n", "lives": "3\n"})
	if err := os.WriteFile(filepath.Join(f.path, "lives"), nil, 0o600); err != nil { // where a folder has to be
		t.Fatal(err)
	}
	if err := d.plain(d.publish()); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(f.path, "lives")) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(f.file(tables.Captures, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a capture with a part of its tables has a row")
	}
}

// A draft removes the remains of a killed run of the same capture and form, and of
// no other.
func TestLeftBehind(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	old := draw(t, f, "a", map[string]string{"kills": "1\n"})
	other := draw(t, f, "ab", map[string]string{"kills": "1\n"})
	form := draw(t, &folder{f.path, "parquet"}, "a", map[string]string{"kills": "1\n"})
	d := draw(t, f, "a", map[string]string{"kills": "2\n"})
	for path, there := range map[string]bool{old.temp: false, other.temp: true, form.temp: true, d.temp: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	d.discard()
	if _, err := os.Stat(other.temp); err != nil {
		t.Errorf("the draft of another capture went with this one: %v", err)
	}
}

// A capture is whole if each of its files has its end.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		ext, content string
		want         bool
	}{
		{"csv", "a,b\n", true},
		{"csv", "a,b", false},
		{"csv", "", false},
		{"parquet", "PAR1 rows PAR1", true},
		{"parquet", "PAR1 rows PAR", false},
		{"parquet", "PA", false},
		{"parquet", "\x00\x00\x00\x00\x00\x00\x00\x00", false},
	} {
		f := &folder{t.TempDir(), c.ext}
		good := map[string]string{"csv": "x\n", "parquet": "PAR1PAR1"}[c.ext]
		d := draw(t, f, "a", map[string]string{"captures": good, "messages/Chat": c.content})
		if err := d.publish(); err != nil {
			t.Fatal(err)
		}
		if got := f.whole("a"); got != c.want {
			t.Errorf("%q of a %s file: %v", c.content, c.ext, got)
		}
	}
}

// A folder without the capture has no origin of it; one with a damaged row is an
// error.
func TestFind(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	if there, err := f.find("a"); there != nil || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	d := draw(t, f, "a", map[string]string{"captures": "neither a row\n"})
	if err := d.publish(); err != nil {
		t.Fatal(err)
	}
	if there, err := f.find("a"); there != nil || err == nil {
		t.Errorf("%v, %v", there, err)
	}
}

// Errors name the folder of the tables, not a draft that is gone.
func TestPlainError(t *testing.T) {
	d := &draft{folder: &folder{"league", "csv"}, temp: filepath.Join("league", unfinished, "a~1")}
	full := &fs.PathError{Op: "write", Path: filepath.Join(d.temp, "updates"), Err: syscall.ENOSPC}
	if got := d.plain(full); got.Error() != "league: "+syscall.ENOSPC.Error() || !errors.Is(got, syscall.ENOSPC) {
		t.Errorf("%v", got)
	}
	denied := &fs.PathError{Op: "mkdir", Path: filepath.Join("league", "kills"), Err: syscall.EACCES}
	if got, want := d.plain(denied), denied.Path+": "+syscall.EACCES.Error(); got.Error() != want {
		t.Errorf("%v, not %s", got, want)
	}
	other := errors.New("something else")
	if got := d.plain(other); !errors.Is(got, other) || got.Error() != other.Error() {
		t.Errorf("%v", got)
	}
	if d.plain(nil) != nil {
		t.Error("no error became one")
	}
}
