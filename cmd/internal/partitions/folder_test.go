package partitions

import (
	"errors"
	"fmt"
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

// Names are the names of files without the extension for compression, and are
// valid folder names on all systems. Long ones differ if the names of the files
// differ.
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
		if len(name) > 255-len(partKey) || strings.HasSuffix(strings.SplitN(name, "-", 2)[0], "%") {
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

// The files of a draft are not visible until it is published. Then they replace
// all files of the capture, including tables that it no longer has. Files of
// other captures and in the other format are not changed.
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
		"captures/part=a/part.csv": "a1\n", "kills/part=a/part.csv": "1\n", "messages/Chat/part=a/part.csv": "c\n",
		"captures/part=b/part.csv": "b\n", "kills/part=b/part.csv": "2\n", "kills/part=a/part.parquet": "PAR1",
	})
	publish("a", map[string]string{"captures": "a2\n", "lives": "3\n"})
	check(map[string]string{
		"captures/part=a/part.csv": "a2\n", "lives/part=a/part.csv": "3\n", "kills/part=a/part.parquet": "PAR1",
		"captures/part=b/part.csv": "b\n", "kills/part=b/part.csv": "2\n",
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

// A capture has its name as long as no other has it. The same files are there, a file
// that grew and a recording with more parts replace what they were, and others with
// the name of one that is there get another.
func TestClaim(t *testing.T) {
	files := func(sums string) (all []tables.File) {
		for sum := range strings.FieldsSeq(sums) {
			all = append(all, tables.File{Name: sum[:1] + ".pcap", SHA256: sum + "0123456", Size: int64(len(sum))})
		}
		return all
	}
	there := map[string]string{"a.pcap": "a1", "b.pcap": "b1 c1", "d.pcap": "d1"}
	for _, tt := range []struct {
		sums, options, begin string
		replace              bool
		want                 string // the name, and the captures that are replaced
	}{
		{"x1", "", "", false, "x.pcap"},
		{"a1", "", "", false, "already there"},
		{"c1", "", "", false, "already there"},
		{"a2", "", "", false, "a.pcap-a2012345"},
		{"a2", "", "a1", false, "a.pcap a.pcap"},
		{"a2", "", "", true, "a.pcap a.pcap"},
		{"b1 c1 e1", "", "", false, "b.pcap b.pcap"},
		{"a1 d1", "", "", false, "a.pcap a.pcap d.pcap"},
		{"c1 e1", "", "", false, "capture=b.pcap has this file and others; give all of them, or replace the tables with --replace"},
		{"c1 e1", "", "", true, "c.pcap b.pcap"},
		{"a1", "clear", "", false, "capture=a.pcap was read with other options (none); replace the tables with --replace"},
		{"a1", "clear", "", true, "a.pcap a.pcap"},
		{"f1", "", "", false, "f.pcap"},
		{"z1", "", "", false, filepath.Join("captures", "part=z.pcap") + ": damaged; --replace writes it anew"},
	} {
		x := &index{folder: &folder{t.TempDir(), "csv"}, by: map[string]*entry{}, having: map[string][]*entry{}, taken: map[string]bool{}}
		x.broken = map[string]error{"z.pcap": errors.New("damaged")}
		for name, sums := range there {
			x.add(&entry{tables.Origin{Capture: name, Schema: tables.Schema, Files: files(sums)}, name})
		}
		o := tables.Origin{Schema: tables.Schema, Options: tt.options, Files: files(tt.sums)}
		if tt.begin != "" {
			tt.begin += "0123456"
		}
		old, err := x.claim(&o, tt.begin, false, tt.replace)
		got := o.Capture
		for _, e := range old {
			got += " " + e.Capture
		}
		if err != nil {
			got = strings.TrimPrefix(strings.Replace(err.Error(), filepath.Join("z.pcap", "part.csv"), "z.pcap", 1), x.path+string(filepath.Separator))
		}
		if got != tt.want && !strings.HasSuffix(tt.want, "anew") || !strings.HasSuffix(got, tt.want[len(tt.want)-5:]) {
			t.Errorf("%q begin %q, replace %v: got %q, want %q", tt.sums, tt.begin, tt.replace, got, tt.want)
		}
	}
}

// Two files of one name in one run do not take each other's place.
func TestClaimTwice(t *testing.T) {
	x, err := (&folder{t.TempDir(), "csv"}).newIndex()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sum := range []string{"aaaaaaaaa", "bbbbbbbbb"} {
		o := tables.Origin{Files: []tables.File{{Name: "x.pcap", SHA256: sum}}}
		_, err := x.claim(&o, "", false, true)
		got = append(got, fmt.Sprint(o.Capture, err))
	}
	if want := []string{"x.pcap<nil>", "x.pcap-bbbbbbbb<nil>"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A folder of another version is an error. A damaged row is not a capture.
func TestIndex(t *testing.T) {
	files := func(schema int) string {
		return fmt.Sprintf("index,file,sha256,size,schema,options,capture\n0,a.pcap,00,5,%d,,a.pcap\n1,b.pcap,01,6,%d,,a.pcap\n", schema, schema)
	}
	for _, tt := range []struct{ part, files, want string }{
		{"part=a", files(tables.Schema), ""},
		{"part=a", "neither a row\n", ""},
		{"part=a", files(tables.Schema + 1), fmt.Sprintf("capture=a.pcap has tables of schema %d, and this program knows %d; use a newer bcdissect", tables.Schema+1, tables.Schema)},
		{"capture=a", files(tables.Schema), "holds tables of an earlier version of bcdissect; write the captures into a new folder"},
	} {
		f := &folder{t.TempDir(), "csv"}
		for table, text := range map[string]string{tables.Captures: "x\n", tables.Files: tt.files} {
			dir := filepath.Join(f.path, table, tt.part)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "part.csv"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x, err := f.newIndex()
		switch {
		case tt.want != "" && (err == nil || err.Error() != f.path+": "+tt.want):
			t.Errorf("%s: %v, want %s", tt.part, err, tt.want)
		case tt.want != "":
		case err != nil:
			t.Errorf("%s: %v", tt.part, err)
		case strings.HasPrefix(tt.files, "index") && (x.by["a.pcap"] == nil || len(x.by["a.pcap"].Files) != 2 || x.by["a.pcap"].Files[1].Size != 6):
			t.Errorf("%s: got %v", tt.part, x.by)
		case !strings.HasPrefix(tt.files, "index") && (len(x.by) > 0 || x.broken["a"] == nil):
			t.Errorf("%s: got %v and %v", tt.part, x.by, x.broken)
		}
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
