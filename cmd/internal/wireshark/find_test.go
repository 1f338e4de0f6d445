package wireshark

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The first lines of --version: of Debian's 4.0, and as documented of others.
func TestRelease(t *testing.T) {
	for text, want := range map[string]string{
		"TShark (Wireshark) 4.0.17 (Git v4.0.17 packaged as 4.0.17-0+deb12u3).\n\nCopyright 1998": "4.0.17",
		"TShark (Wireshark) 4.4.18.\n":          "4.4.18",
		"Wireshark 4.6.9 (v4.6.9-0-gabcdef).":   "4.6.9",
		"Running as user \"root\".\nTShark 3.6": "3.6.0",
		"GNU bash, version 5.2.15":              "",
		"":                                      "",
		"Wireshark without a number\n4.2.1":     "",
	} {
		r, err := releaseIn(text)
		if want == "" && err == nil || want != "" && (err != nil || r.String() != want) {
			t.Errorf("%q: got %v and %v, want %s", text, r, err, want)
		}
	}
}

func TestUsualFolders(t *testing.T) {
	j := filepath.Join
	for name, tt := range map[string]struct {
		system  string
		minor   int
		env     map[string]string
		config  string
		plugins string
		extcap  string
	}{
		"linux 4.0":   {"linux", 0, nil, j("/h", ".config", "wireshark"), j("/h", ".local", "lib", "wireshark", "plugins"), j("/h", ".config", "wireshark", "extcap")},
		"linux 4.4":   {"linux", 4, nil, j("/h", ".config", "wireshark"), j("/h", ".local", "lib", "wireshark", "plugins"), j("/h", ".local", "lib", "wireshark", "extcap")},
		"macOS 4.6":   {"darwin", 6, nil, j("/h", ".config", "wireshark"), j("/h", ".local", "lib", "wireshark", "plugins"), j("/h", ".local", "lib", "wireshark", "extcap")},
		"Windows 4.0": {"windows", 0, map[string]string{"APPDATA": "/a"}, j("/a", "Wireshark"), j("/a", "Wireshark", "plugins"), j("/a", "Wireshark", "extcap")},
		"Windows 4.4": {"windows", 4, map[string]string{"APPDATA": "/a"}, j("/a", "Wireshark"), j("/a", "Wireshark", "plugins"), j("/a", "Wireshark", "extcap")},
		"XDG 4.0":     {"linux", 0, map[string]string{"XDG_CONFIG_HOME": "/x"}, j("/x", "wireshark"), j("/h", ".local", "lib", "wireshark", "plugins"), j("/x", "wireshark", "extcap")},
		"own 4.0":     {"linux", 0, map[string]string{"WIRESHARK_CONFIG_DIR": j("/o")}, j("/o"), j("/h", ".local", "lib", "wireshark", "plugins"), j("/o", "extcap")},
	} {
		p := place{release: release{4, tt.minor, 0}}
		p.usual(tt.system, "/h", func(name string) string { return tt.env[name] })
		if p.config != filepath.Clean(tt.config) || p.plugins != tt.plugins || p.extcap != tt.extcap {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

// Answers to -G folders: of Debian's 4.0, which names no personal folder of
// extcap, and one with it.
func TestTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are not absolute there")
	}
	const old = `Temp:                	/tmp
Personal configuration:	/p/.config/wireshark
Global configuration:	/usr/share/wireshark
System:              	/etc
Program:             	/usr/bin
Personal Plugins:    	/p/.local/lib/wireshark/plugins/4.0
Global Plugins:      	/usr/lib/x86_64-linux-gnu/wireshark/plugins/4.0
Personal Lua Plugins:	/p/.local/lib/wireshark/plugins
Global Lua Plugins:  	/usr/lib/x86_64-linux-gnu/wireshark/plugins
Extcap path:         	/usr/lib/x86_64-linux-gnu/wireshark/extcap
MaxMind database path:	/usr/share/GeoIP
`
	for _, tt := range []struct {
		text  string
		minor int
		want  place
	}{
		{old, 0, place{config: "/p/.config/wireshark", plugins: "/p/.local/lib/wireshark/plugins", extcap: "/p/.config/wireshark/extcap"}},
		{
			"Personal configuration:\t/p/c\nPersonal Lua Plugins:\t/p/l\nPersonal Extcap path:\t/p/e\nGlobal Extcap path:\t/usr/libexec/wireshark/extcap\n", 4,
			place{config: "/p/c", plugins: "/p/l", extcap: "/p/e"},
		},
		{"nothing\nPersonal Extcap path:\tnot a path\n", 4, place{config: "/h/.config/wireshark", plugins: "/h/.local/lib/wireshark/plugins", extcap: "/h/.local/lib/wireshark/extcap"}},
	} {
		p := place{release: release{4, tt.minor, 0}}
		p.usual("linux", "/h", func(string) string { return "" })
		p.told(tt.text)
		tt.want.release = p.release
		if p != tt.want {
			t.Errorf("got %+v, want %+v", p, tt.want)
		}
	}
}

// Without a Wireshark the error tells the remedy.
func TestNoWireshark(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs may be in other folders")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := find(""); !errors.Is(err, errNone) || !strings.Contains(err.Error(), "--program PROGRAM") {
		t.Errorf("got %v", err)
	}
	if _, err := find("no-such-tshark"); err == nil || err.Error() != "--program no-such-tshark: no such program" {
		t.Errorf("got %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho other 1.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := find(other); err == nil || !strings.HasSuffix(err.Error(), `: not Wireshark: its version is "other 1.0"`) {
		t.Errorf("got %v", err)
	}
}

// The program wireshark does not know -G folders. Only tshark does.
func TestFindWireshark(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a shell script as a program")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"wireshark": "echo Wireshark 4.4.1.\ntest $1 = --version",
		"tshark":    "case $1 in --version) echo 'TShark (Wireshark) 4.0.17.';; *) printf 'Personal configuration:\\t/told\\n';; esac",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("HOME", "/h")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("WIRESHARK_CONFIG_DIR", "")
	p, err := find("")
	if want := (place{filepath.Join(dir, "tshark"), release{4, 0, 17}, "/told", "/h/.local/lib/wireshark/plugins", "/told/extcap"}); err != nil || *p != want {
		t.Errorf("got %+v and %v, want %+v", p, err, want)
	}
	if err := os.Remove(filepath.Join(dir, "tshark")); err != nil {
		t.Fatal(err)
	}
	p, err = find("")
	want := place{filepath.Join(dir, "wireshark"), release{4, 4, 1}, "/h/.config/wireshark", "/h/.local/lib/wireshark/plugins", "/h/.local/lib/wireshark/extcap"}
	if err != nil || *p != want {
		t.Errorf("got %+v and %v, want %+v", p, err, want)
	}
}
