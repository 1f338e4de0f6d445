package partitions

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/tables"
)

// put writes the tables of a capture with one kill, and of one message.
func put(t *testing.T, f *folder, capture, message string) {
	t.Helper()
	d := draw(t, f, capture, map[string]string{
		"kills": "killer,capture\nBot of " + capture + "," + capture + "\n", "lives": "ship,capture\n", message: "text,capture\nhello," + capture + "\n",
		tables.Files:    fmt.Sprintf("index,file,sha256,size,schema,options,capture\n0,%[1]s,%[1]s00000000,5,%d,,%[1]s\n", capture, tables.Schema),
		tables.Captures: "file,capture\n" + capture + "," + capture + "\n",
	})
	if err := d.publish(); err != nil {
		t.Fatal(err)
	}
	d.discard()
}

// lines returns the lines of each table, in all parts, without the names of columns.
func lines(t *testing.T, f *folder) map[string]string {
	t.Helper()
	all := map[string]string{}
	files := tree(t, f.path)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		table, _, _ := strings.Cut(name, "/part=")
		_, rows, _ := strings.Cut(files[name], "\n")
		all[table] += rows
	}
	return all
}

func enter(t *testing.T, f *folder) *index {
	t.Helper()
	x, err := f.enter()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A pack has the rows of its captures, and can be packed again with others.
// Captures can be removed from it.
func TestCompact(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	put(t, f, "a", "messages/Chat")
	put(t, f, "b", "messages/Chat")
	before := lines(t, f)
	for _, step := range []struct {
		captures, packs int
		parts           int // in the table of kills
	}{{2, 1, 1}, {0, 0, 1}} {
		n, packs, err := enter(t, f).compact()
		parts, _ := os.ReadDir(filepath.Join(f.path, "kills"))
		if err != nil || n != step.captures || packs != step.packs || len(parts) != step.parts {
			t.Errorf("%d captures in %d packs, %d parts: %v", n, packs, len(parts), err)
		}
		if got := lines(t, f); !maps.Equal(got, before) {
			t.Errorf("got %v, want %v", got, before)
		}
	}
	put(t, f, "c", "messages/Hail")
	if n, packs, err := enter(t, f).compact(); n != 3 || packs != 1 || err != nil {
		t.Errorf("%d captures in %d packs: %v", n, packs, err)
	}
	x := enter(t, f)
	if err := x.remove([]*entry{x.by["a"], x.by["c"]}); err != nil || x.by["a"] != nil || enter(t, f).by["a"] != nil {
		t.Errorf("a is not removed: %v", err)
	}
	other := &folder{t.TempDir(), "csv"}
	put(t, other, "b", "messages/Chat")
	if got, want := lines(t, f), lines(t, other); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	x = enter(t, f)
	if err := x.remove([]*entry{x.by["b"]}); err != nil || len(tree(t, f.path)) > 0 {
		t.Errorf("there is %v: %v", tree(t, f.path), err)
	}
}

// Files with other columns stay apart, and go with their pack.
func TestCompactShapes(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	put(t, f, "a", "messages/Hail")
	put(t, f, "b", "messages/Hail")
	if err := os.WriteFile(f.file("messages/Hail", "b"), []byte("channel,text,capture\n5,hello,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := lines(t, f)
	if _, _, err := enter(t, f).compact(); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, f); !maps.Equal(got, before) {
		t.Errorf("got %v, want %v", got, before)
	}
	x := enter(t, f)
	if err := x.remove([]*entry{x.by["b"]}); err != nil || lines(t, f)["messages/Hail"] != "hello,a\n" {
		t.Errorf("got %v: %v", lines(t, f), err)
	}
}

// The rows of a capture go with it, also when a capture with other columns went
// before.
func TestRemoveShapes(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	for i, capture := range []string{"a", "b", "c"} {
		put(t, f, capture, "messages/Hail")
		more := strings.Repeat("x,", i)
		if err := os.WriteFile(f.file("messages/Hail", capture), []byte(more+"text,capture\n"+more+"hello,"+capture+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := enter(t, f).compact(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ capture, want string }{{"b", "hello,a\nx,x,hello,c\n"}, {"a", "x,x,hello,c\n"}, {"c", ""}} {
		x := enter(t, f)
		if err := x.remove([]*entry{x.by[step.capture]}); err != nil || lines(t, f)["messages/Hail"] != step.want {
			t.Errorf("without %s: got %v: %v", step.capture, lines(t, f), err)
		}
	}
	if left := tree(t, f.path); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// Packs of a killed run stay for the next one in their form, whatever other forms do.
func TestForgetForm(t *testing.T) {
	f, other := &folder{t.TempDir(), "csv"}, &folder{"", "parquet"}
	other.path = f.path
	draft := filepath.Join(f.path, unfinished, f.prefixOf(packName+"1"))
	if err := os.MkdirAll(draft, 0o700); err != nil {
		t.Fatal(err)
	}
	other.forget()
	if _, err := os.Stat(draft); err != nil {
		t.Errorf("the other form lost it: %v", err)
	}
	f.forget()
	if _, err := os.Stat(draft); err == nil {
		t.Error("it stays")
	}
}

// A capture that is named twice is removed once.
func TestRemoveTwice(t *testing.T) {
	f := &folder{t.TempDir(), "csv"}
	put(t, f, "a", "messages/Chat")
	put(t, f, "b", "messages/Chat")
	var out strings.Builder
	if err := (&Flags{remove: true}).change(cli.Streams{Out: &out}, f, []string{"a", "folder/a.gz"}); err != nil || out.String() != "1 capture removed\n" {
		t.Errorf("%q: %v", out.String(), err)
	}
}

// A run that is killed at any moment of a move leaves a folder that the next run
// completes.
func TestMoveKilled(t *testing.T) {
	fill := func() *folder {
		f := &folder{t.TempDir(), "csv"}
		put(t, f, "a", "messages/Chat")
		put(t, f, "b", "messages/Chat")
		return f
	}
	whole := fill()
	want := lines(t, whole)
	x := enter(t, whole)
	temp := filepath.Join(whole.path, unfinished, x.prefixOf(packName+"1"))
	if err := os.MkdirAll(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := x.pack(temp, packName+"1", []string{"a", "b"}, func(string) bool { return true })
	if err != nil || len(files) != 5 || files[4].Table != tables.Captures {
		t.Fatalf("%v: %v", files, err)
	}
	m := move{Drop: []string{"a", "b"}, Files: files}
	if err := m.write(temp); err != nil {
		t.Fatal(err)
	}
	// A folder in the place of a file stops the move. The next run completes
	// it.
	for i, file := range files {
		f := &folder{t.TempDir(), "csv"}
		if err := os.CopyFS(f.path, os.DirFS(whole.path)); err != nil {
			t.Fatal(err)
		}
		draft := filepath.Join(f.path, unfinished, filepath.Base(temp))
		inTheWay := f.file(file.Table, file.Part)
		if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := f.finish(draft); err == nil {
			t.Fatalf("step %d: nothing stopped it", i)
		}
		if _, err := os.Stat(f.file(tables.Captures, "a")); err == nil {
			t.Errorf("step %d: a capture is there while its rows move", i)
		}
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		if x := enter(t, f); len(x.by) != 2 || !maps.Equal(lines(t, f), want) {
			t.Errorf("step %d: got %v, want %v", i, lines(t, f), want)
		}
		if left, _ := os.ReadDir(filepath.Join(f.path, unfinished)); len(left) > 0 {
			t.Errorf("step %d: %v is left", i, left)
		}
	}
}

// A shard has every Nth capture.
func TestShard(t *testing.T) {
	for text, want := range map[string]string{"0/1": "0 1 2 3", "1/3": "1", "0/3": "0 3", "3/3": "no", "-1/3": "no", "1": "no", "1/0": "no", "1/3x": "no", "a/b": "no"} {
		var s shard
		got := ""
		if s.Set(text) != nil {
			got = "no "
		}
		for i := 0; i < 4 && got != "no "; i++ {
			if s.has(i) {
				got += fmt.Sprint(i, " ")
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if none := new(shard); !none.has(5) || none.String() != "" {
		t.Error("without a shard some captures are missing")
	}
}
