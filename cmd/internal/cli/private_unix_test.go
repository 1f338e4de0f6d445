//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A report is for its owner only, and -o does not follow a link that others could have
// put there, whether the file that it leads to is empty, full or absent.
func TestOutputIsPrivate(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) error {
		out, err := OpenOutput(name, Streams{})
		if err != nil {
			return err
		}
		_, err = out.Write([]byte("report"))
		if e := out.Close(); err == nil {
			err = e
		}
		return err
	}
	name := filepath.Join(dir, "new")
	if err := write(name); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new report: %v, %v", info.Mode(), err)
	}
	shared := filepath.Join(dir, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for target, holds := range map[string]string{"full": "precious", "empty": "", "absent": ""} {
		target = filepath.Join(dir, target)
		if !strings.HasSuffix(target, "absent") {
			if err := os.WriteFile(target, []byte(holds), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(shared, filepath.Base(target))
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := write(link); err == nil || !strings.Contains(err.Error(), "is a symbolic link in a directory that other users can write") {
			t.Errorf("%s: %v", link, err)
		}
		if b, err := os.ReadFile(target); string(b) != holds || (err != nil) != strings.HasSuffix(target, "absent") {
			t.Errorf("%s holds %q, %v", target, b, err)
		}
	}
}
