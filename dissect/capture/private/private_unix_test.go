//go:build unix

package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
)

const flags = os.O_RDWR | os.O_CREATE | os.O_TRUNC

// In a directory that others can write, a link is not followed, and another user's file
// stays unchanged. Elsewhere links work as usual.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]error{os.ModeSticky | 0o777: private.ErrLink, 0o777: private.ErrLink, 0o755: nil} {
		folder := filepath.Join(dir, mode.String())
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, mode); err != nil { // the mask does not apply
			t.Fatal(err)
		}
		for name, to := range map[string]string{"there": target, "dangling": target + "2"} {
			link := filepath.Join(folder, name)
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
			f, err := private.Open(link, flags&^os.O_TRUNC)
			if !errors.Is(err, want) {
				t.Errorf("%v: %s: %v, want %v", mode, name, err, want)
			}
			if err == nil {
				_ = f.Close()
			}
		}
		_ = os.Remove(target + "2")
		f, err := private.Open(filepath.Join(folder, "new"), flags)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v: a new file has the mode %v, %v", mode, info.Mode(), err)
		}
		_ = f.Close()
		if os.Geteuid() == 0 && want != nil {
			foreign := filepath.Join(folder, "foreign")
			if err := errors.Join(os.WriteFile(foreign, nil, 0o666), os.Chown(foreign, 12345, 12345)); err != nil {
				t.Fatal(err)
			}
			if _, err := private.Open(foreign, flags); !errors.Is(err, private.ErrForeign) {
				t.Errorf("%v: a file of another user: %v", mode, err)
			}
		}
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "precious" {
		t.Errorf("the target holds %q, %v", b, err)
	}
}

// A directory that is a link in a directory that others can write is not entered, neither for
// a new file nor for an old one, and however far up it is.
func TestWay(t *testing.T) {
	dir := t.TempDir()
	target, shared := filepath.Join(dir, "target"), filepath.Join(dir, "shared")
	if err := errors.Join(os.MkdirAll(filepath.Join(target, "below"), 0o700), os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777|os.ModeSticky),
		os.Symlink(target, filepath.Join(shared, "link")), os.Symlink(target, filepath.Join(dir, "own")), os.Symlink(filepath.Join(dir, "none"), filepath.Join(shared, "dangling"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"shared/link/new": private.ErrLink, "shared/link/below/new": private.ErrLink, "own/new": nil, "own/below/new": nil, "target/new": nil,
	} {
		f, err := private.Open(filepath.Join(dir, name), flags)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			_ = f.Close()
		}
		folder := filepath.Join(filepath.Dir(filepath.Join(dir, name)), "folder", "in it")
		if err := private.MakeDir(folder, 0o700); !errors.Is(err, want) {
			t.Errorf("the directory %s: %v, want %v", folder, err, want)
		}
	}
	for name, want := range map[string]error{"shared/link": private.ErrLink, "shared/dangling": private.ErrLink, "own": nil, "shared/new": nil} {
		if err := private.MakeDir(filepath.Join(dir, name), 0o700); !errors.Is(err, want) {
			t.Errorf("the directory %s: %v, want %v", name, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where the dangling link leads: %v", err)
	}
}
