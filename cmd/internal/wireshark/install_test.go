package wireshark

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tree lists a folder: each path with its content or the target of its link.
func tree(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line, _ := filepath.Rel(root, path)
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " -> " + to
		case !d.IsDir():
			b, _ := os.ReadFile(path)
			line += " " + string(b)
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func put(t *testing.T, content string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// some are artefacts of a version.
func some(p *place, version string) []artefact {
	extcap := artefact{kind: "extcap", path: filepath.Join(p.extcap, "bcdissect"), link: "/opt/bcdissect"}
	if runtime.GOOS == "windows" {
		extcap.link, extcap.content = "", []byte("program")
	}
	return []artefact{
		{kind: "plugin", path: filepath.Join(p.plugins, "bcdissect.lua"), content: []byte("plugin " + version), mode: 0o644},
		extcap,
		{kind: "profile", path: filepath.Join(p.config, "profiles", "P", "colorfilters"), content: []byte("rules " + version), mode: 0o644, shared: true},
		{kind: "profile", path: filepath.Join(p.config, "profiles", "P", "preferences"), content: []byte("columns " + version), mode: 0o644, shared: true},
	}
}

func placeIn(home string) *place {
	return &place{
		release: release{4, 0, 17}, config: filepath.Join(home, "config"), plugins: filepath.Join(home, "lib", "plugins"),
		extcap: filepath.Join(home, "config", "extcap"),
	}
}

// Uninstall restores the folders of the user, whatever happened in between.
func TestUninstall(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"no Wireshark was ever started": nil,
		"others have files there": {
			"config/preferences": "of the user", "config/profiles/Mine/preferences": "of the user", "lib/plugins/other.lua": "of another",
		},
		"an empty folder": {"config/extcap/x": ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for path, content := range before {
				put(t, content, home, path)
				if content == "" { // only its folder
					_ = os.Remove(filepath.Join(home, path))
				}
			}
			p := placeIn(home)
			was := tree(t, home)
			for _, version := range []string{"1", "1", "2"} {
				if err := install(p, some(p, version)); err != nil {
					t.Fatal(err)
				}
			}
			put(t, "as Wireshark left it", p.config, "profiles", "P", "recent")
			put(t, "columns as the user likes them", p.config, "profiles", "P", "preferences")
			removed, err := uninstall(p, filepath.Join(p.config, "profiles", "P"))
			if err != nil || len(removed) != 4 {
				t.Errorf("removed %q, %v", removed, err)
			}
			if is := tree(t, home); !slices.Equal(is, was) {
				t.Errorf("got %q, want %q", is, was)
			}
			if removed, err := uninstall(p, filepath.Join(p.config, "profiles", "P")); err != nil || len(removed) > 0 {
				t.Errorf("again: removed %q, %v", removed, err)
			}
		})
	}
}

// An update replaces files, except changed files of the profile.
func TestInstallUpdate(t *testing.T) {
	home := t.TempDir()
	p := placeIn(home)
	if err := install(p, some(p, "1")); err != nil {
		t.Fatal(err)
	}
	put(t, "as the user likes it", p.config, "profiles", "P", "preferences")
	put(t, "edited", p.plugins, "bcdissect.lua")
	r, err := recordAt(p)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	all := some(p, "1")
	for i := range all {
		states = append(states, r.state(&all[i]))
	}
	if want := []string{"installed, changed since", "installed", "installed", "installed, changed since"}; !slices.Equal(states, want) {
		t.Errorf("got %q, want %q", states, want)
	}
	all = some(p, "2")
	if got := r.state(&all[2]); got != "of version "+r.Version {
		t.Errorf("an older version is %q", got)
	}
	if err := install(p, all); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, o := range all {
		if o.kept {
			kept = append(kept, filepath.Base(o.path))
		}
	}
	if !slices.Equal(kept, []string{"preferences"}) {
		t.Errorf("kept %q", kept)
	}
	for name, want := range map[string]string{"colorfilters": "rules 2", "preferences": "as the user likes it"} {
		if b, err := os.ReadFile(filepath.Join(p.config, "profiles", "P", name)); err != nil || string(b) != want {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(p.plugins, "bcdissect.lua")); err != nil || string(b) != "plugin 2" {
		t.Errorf("got %q, %v", b, err)
	}
}

// Files of other programs are not changed, and nothing is installed with them.
func TestInstallRefuses(t *testing.T) {
	home := t.TempDir()
	p := placeIn(home)
	put(t, "of somebody", p.config, "profiles", "P", "preferences")
	was := tree(t, home)
	if err := install(p, some(p, "1")); err == nil || !strings.HasSuffix(err.Error(), "preferences: exists and is not from bcdissect; move it away") {
		t.Errorf("got %v", err)
	}
	if is := tree(t, home); !slices.Equal(is, was) {
		t.Errorf("got %q, want %q", is, was)
	}
	put(t, "not JSON", p.config, "bcdissect.json")
	if err := install(p, some(p, "1")); err == nil || !strings.Contains(err.Error(), "not a record of an installation") {
		t.Errorf("got %v", err)
	}
}

// A newer Wireshark looks for extcap elsewhere: the old link goes.
func TestInstallMoves(t *testing.T) {
	home := t.TempDir()
	p := placeIn(home)
	if err := install(p, some(p, "1")); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(p.extcap, "bcdissect")
	p.extcap = filepath.Join(home, "lib", "extcap")
	if err := install(p, some(p, "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(before); err == nil {
		t.Error("the old link is there")
	}
	if _, err := os.Lstat(filepath.Join(p.extcap, "bcdissect")); err != nil {
		t.Error(err)
	}
	if _, err := uninstall(p, filepath.Join(p.config, "profiles", "P")); err != nil {
		t.Fatal(err)
	}
	if is := tree(t, home); !slices.Equal(is, []string{"."}) {
		t.Errorf("left %q", is)
	}
}

// An update changes only settings that the user has not changed, even after
// Wireshark has rewritten the file.
func TestMerge(t *testing.T) {
	p := placeIn(t.TempDir())
	install1 := func(content string) *artefact {
		a := []artefact{{
			kind: "profile", path: filepath.Join(p.config, "profiles", "P", "preferences"), content: []byte(content), mode: 0o644, shared: true, merged: true,
		}}
		if err := install(p, a); err != nil {
			t.Fatal(err)
		}
		return &a[0]
	}
	a := install1("columns: \n\t\"No.\", \"%m\",\n\t\"Info\", \"%i\"\nnames: TRUE\nwidth: 7\ngone: 1\n")
	rewritten := "# Wireshark wrote this\n\n#other.default: 1\nother: 5\ncolumns: \n\t\"No.\",\"%m\",\n\t\"Info\",\"%i\"\n\n# width\nwidth: 9\nnames: TRUE\n"
	put(t, rewritten, a.path)
	a = install1("columns: \n\t\"No.\", \"%m\"\nnames: FALSE\nwidth: 8\ngone: 2\nadded: yes\n")
	want := "# Wireshark wrote this\n\n#other.default: 1\nother: 5\ncolumns: \n\t\"No.\", \"%m\"\n\n# width\nwidth: 9\nnames: FALSE\nadded: yes\n"
	got, err := os.ReadFile(a.path)
	if err != nil || string(got) != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, got, want)
	}
	r, err := recordAt(p)
	if err != nil {
		t.Fatal(err)
	}
	pristine := *a
	pristine.content = []byte("names: FALSE\nadded: yes\n")
	if s := r.state(&pristine); s != current {
		t.Errorf("with all settings in another order, the state is %q", s)
	}
	pristine.content = []byte("width: 8\n")
	if s := r.state(&pristine); s == current {
		t.Errorf("with a setting of the user, the state is %q", s)
	}
}
