package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/browser"
)

var begins = time.Date(2002, 3, 1, 20, 0, 0, 123456000, time.UTC)

// used returns the options with the marks of captures.
func used(names ...string) (o browser.Options) {
	useMarks(&o, names, begins)
	return o
}

// Marks are there again the next time, in a file for its owner only.
func TestMarksLast(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.pcap")
	file := name + ".marks.json"
	o := used(name)
	if o.Marks != nil || o.Keep == nil || o.Why != "" {
		t.Fatalf("%v, %q", o.Marks, o.Why)
	}
	want := []browser.Mark{{Frame: 3, Message: 1, Note: "a \"note\"\x1b\u202e"}, {Frame: 4}}
	for range 2 {
		if err := o.Keep(want); err != nil {
			t.Fatal(err)
		}
	}
	if got := used(name); !slices.Equal(got.Marks, want) || got.Keep == nil {
		t.Errorf("%v, want %v", got.Marks, want)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 && !cli.OnWindows {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if all, err := os.ReadDir(filepath.Dir(name)); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	for range 2 { // the file is removed if there are no marks
		if err := o.Keep(nil); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Error(err)
		}
	}
	if err := used(filepath.Join(t.TempDir(), "none", "a.pcap")).Keep(want); err == nil {
		t.Error("saved in a folder that isn't there")
	}
}

// A file with other contents is not changed, and the user sees the reason that
// nothing is saved.
func TestOtherMarks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.pcap")
	for text, why := range map[string]string{
		"":                       "a.pcap.marks.json is not a file of marks",
		"[]":                     "not a file of marks",
		"{}":                     "not a file of marks",
		`{"marks_of":"a.pcap"`:   "not a file of marks",
		`{"marks_of":"a","x":1}`: "the marks of another capture",
		`{"marks_of":"a.pcap","begins":"2002-03-01T20:00:01Z","marks":[]}`:            "the marks of another capture",
		`{"marks_of":"a.pcap","begins":"2002-03-01T20:00:01Z","marks":[{"frame":{}}]`: "not a file of marks",
		strings.Repeat(" ", maxMarksFile+1):                                           "not a file of marks",
	} {
		if err := os.WriteFile(name+marksSuffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := used(name); o.Keep != nil || o.Marks != nil || !strings.HasPrefix(o.Why, "not saved: ") || !strings.Contains(o.Why, why) {
			t.Errorf("%.60q: %q, want %q", text, o.Why, why)
		}
	}
	// Marks without a position are skipped. Unknown keys may come from later
	// versions.
	text := fmt.Sprintf(`{"marks_of":"b.pcap","begins":%q,"later":1,"marks":[{"frame":-1},{"message":-7},{"frame":9,"note":"x","colour":"red"}]}`, begins.Format(time.RFC3339Nano))
	if err := os.WriteFile(name+marksSuffix, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := used(name); !slices.Equal(o.Marks, []browser.Mark{{Frame: 9, Note: "x"}}) || o.Keep == nil { // the capture may have been renamed
		t.Errorf("%v, %q", o.Marks, o.Why)
	}
	for why, names := range map[string][]string{"a single capture": {"a", "b"}, "named as a file": {"-"}} {
		if o := used(names...); o.Keep != nil || !strings.Contains(o.Why, why) {
			t.Errorf("%q: %q", names, o.Why)
		}
	}
}
