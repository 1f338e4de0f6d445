package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestExpand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"b.pcap", "a.pcap", "C.PCAP", "notes.txt", "copy[1].pcap", "copy1.pcap", "day1/a.pcap", "day2/b.pcap", "day[3]/c.pcap"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		names string
		want  string
	}{
		{"", ""},
		{"-", "-"},
		{"a.pcap", "a.pcap"},
		{"absent.pcap", "absent.pcap"},
		{"*.pcap", "C.PCAP a.pcap b.pcap copy1.pcap copy[1].pcap"},
		{"?.pcap", "C.PCAP a.pcap b.pcap"},
		{"*.PCAP", "C.PCAP a.pcap b.pcap copy1.pcap copy[1].pcap"},
		{"b.pcap *.txt - a.pcap", "b.pcap notes.txt - a.pcap"},
		{"COPY[1]*", "copy[1].pcap"},
		{"copy[1].pcap", "copy[1].pcap"},
		{"day?/*.pcap", "day1/a.pcap day2/b.pcap"},
		{"day[3]/*", "day[3]/c.pcap"},
		{"a.* a.*", "a.pcap a.pcap"},
	}
	for _, tt := range tests {
		got, err := Expand(strings.Fields(tt.names))
		if err != nil {
			t.Errorf("%s: %v", tt.names, err)
		}
		for i := range got {
			got[i] = filepath.ToSlash(got[i])
		}
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s: got %q, want %q", tt.names, got, tt.want)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Expand([]string{filepath.Join(dir, "n*")}); err != nil || !slices.Equal(got, []string{filepath.Join(dir, "notes.txt")}) {
		t.Errorf("with its folder: got %q, %v", got, err)
	}
}

func TestExpandNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, pattern := range []string{"*.pcap", "absent/?.pcap", "[*"} {
		got, err := Expand([]string{pattern})
		if err == nil || !strings.HasPrefix(err.Error(), pattern+": no file matches this pattern") || StatusOf(err) != ExitFailed {
			t.Errorf("%s: got %q, %v", pattern, got, err)
		}
	}
}

// A file of another system may have such a name.
func TestExpandExisting(t *testing.T) {
	if OnWindows {
		t.Skip("Windows has no such file names")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"a*.pcap", "ab.pcap"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Expand([]string{"a*.pcap"}); err != nil || !slices.Equal(got, []string{"a*.pcap"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestExpandFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.pcap", "b.pcap"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ use, args, want string }{
		{"show FILE...", "*.pcap", "a.pcap b.pcap"},
		{"show FILE...", "-r b.* a.*", "b.pcap a.pcap"},
		{"show FILE...", "-r *.pcap *.pcap -- -Y a.*", "a.pcap b.pcap a.pcap b.pcap -Y a.*"},
		{"show DIR FILE...", "dir ?.pcap", "dir a.pcap b.pcap"},
		{"show [FILE...]", "", ""},
		{"show HOST...", "*.pcap", "*.pcap"},
	}
	for _, tt := range tests {
		var got []string
		cmd := &cobra.Command{Use: tt.use, RunE: func(_ *cobra.Command, args []string) error {
			got = args
			return nil
		}}
		expandFiles(cmd)
		files := readFlag(cmd)
		cmd.SetArgs(strings.Fields(tt.args))
		if err := cmd.Execute(); err != nil || !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s, %s: got %q, want %q; -r has %q, error %v", tt.use, tt.args, got, tt.want, *files, err)
		}
	}
}

// Quotes go if there is a file without them, and none with them.
func TestUnquote(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a b.pcap", "c.pcap"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"read", `"a b.pcap"`, `'c.pcap'`, `"c.pcap'`, `"absent.pcap"`, `""`, `"`, "c.pcap", `"c.pcap`}
	want := []string{"read", "a b.pcap", "c.pcap", `"c.pcap'`, `"absent.pcap"`, `""`, `"`, "c.pcap", `"c.pcap`}
	if got := Unquote(args); !slices.Equal(got, want) || args[2] != `'c.pcap'` {
		t.Errorf("got %q, want %q", got, want)
	}
	if OnWindows {
		return // such a name is not possible
	}
	if err := os.WriteFile(`'c.pcap'`, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Unquote(args[2:3]); got[0] != `'c.pcap'` {
		t.Errorf("got %q", got)
	}
}
