package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// keys are the registry keys that the installer writes, with one value of each.
var keys = map[string]string{
	`HKCU\Software\Classes\.pcap\OpenWithProgids`:                            "bcdissect.capture",
	`HKCU\Software\Classes\.pcapng\OpenWithProgids`:                          "bcdissect.capture",
	`HKCU\Software\Classes\bcdissect.capture\shell\open\command`:             `bcdissect.exe" "%1"`,
	`HKCU\Software\Classes\Applications\bcdissect.exe\shell\open\command`:    `bcdissect.exe" "%1"`,
	`HKCU\Software\Microsoft\Windows\CurrentVersion\App Paths\bcdissect.exe`: "bcdissect.exe",
	`HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\bcdissect`:     "QuietUninstallString",
}

// tryInstaller makes the installer for a program, runs it under wine, and
// uninstalls the program again.
func tryInstaller(env []string, wine, dir, program string) error {
	if found, _ := exec.LookPath("makensis"); found == "" {
		log.Print("the installer is not tried: makensis (Debian's package is nsis) is not installed")
		return nil
	}
	from := filepath.Join(dir, "installed")
	if err := os.MkdirAll(filepath.Join(from, "completions"), 0o700); err != nil {
		return err
	}
	b, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{"bcdissect.exe": b, "README.md": {'x'}, filepath.Join("completions", "bcdissect.ps1"): {'x'}} {
		if err := os.WriteFile(filepath.Join(from, name), b, 0o600); err != nil {
			return err
		}
	}
	setup := filepath.Join(dir, "bcdissect_setup.exe")
	if err := quiet(env, "cmd/bcdissect/packaging/windows/installer.sh", from, "v1.2.3", setup); err != nil {
		return err
	}
	for _, key := range []string{`Classes\Applications`, `Microsoft\Windows\CurrentVersion\App Paths`, `Microsoft\Windows\CurrentVersion\Uninstall`} { // Windows has them
		if err := quiet(env, wine, "reg", "add", `HKCU\Software\`+key, "/f"); err != nil {
			return err
		}
	}
	before, err := takeSnapshot(env, wine, dir)
	if err != nil {
		return err
	}
	if err := quiet(env, wine, setup, "/S"); err != nil {
		return err
	}
	home, err := profile(env, wine, dir)
	if err != nil {
		return err
	}
	to := filepath.Join(home, "AppData", "Local", "Programs", "bcdissect")
	menu := filepath.Join(home, "AppData", "Roaming", "Microsoft", "Windows", "Start Menu", "Programs", "bcdissect")
	recording := filepath.Join(to, "evening.pcapng")
	if err := errors.Join(
		quiet(env, wine, filepath.Join(to, "bcdissect.exe"), "version"),
		there(filepath.Join(to, "completions", "bcdissect.ps1"), filepath.Join(menu, "bcdissect.lnk")),
		registered(env, wine),
		os.WriteFile(recording, []byte{'x'}, 0o600),
		useInstalled(env, wine, menu),
	); err != nil {
		return fmt.Errorf("installed: %w", err)
	}
	// The uninstaller continues in a copy of itself.
	if err := quiet(env, wine, filepath.Join(to, "uninstall.exe"), "/S"); err != nil {
		return err
	}
	for range 300 {
		if _, err = os.Stat(filepath.Join(to, "uninstall.exe")); err != nil && quiet(env, wine, "reg", "query", `HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\bcdissect`) != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	after, err := takeSnapshot(env, wine, dir)
	if err != nil {
		return err
	}
	for name := recording; name != home; name = filepath.Dir(name) { // it stays, and so do its folders
		before[name] = true
	}
	if left := after.beyond(before); len(left) > 0 {
		return fmt.Errorf("uninstalled: left behind: %q", left)
	}
	if gone := before.beyond(after); len(gone) > 0 {
		return fmt.Errorf("uninstalled: removed: %q", gone)
	}
	log.Print("the installer installs, and uninstalls all but a recording")
	return nil
}

// useInstalled opens the program from the Start menu, and a capture with it. Wine 8 does
// not show programs what the user's part of the registry says about kinds of files, as
// Windows does, so it is copied to where wine looks, and removed again.
func useInstalled(env []string, wine, menu string) error {
	keys := []string{`bcdissect.capture`, `Applications\bcdissect.exe`}
	for _, key := range keys {
		if err := quiet(env, wine, "reg", "copy", `HKCU\Software\Classes\`+key, `HKCR\`+key, "/s", "/f"); err != nil {
			return err
		}
	}
	err := onDesktop(append(env[:len(env):len(env)], "BCDISSECT_MENU="+menu), "TestWindowsInstalled", "the Start menu opens home, and a capture opens with the program")
	for _, key := range keys {
		err = errors.Join(err, quiet(env, wine, "reg", "delete", `HKCR\`+key, "/f"))
	}
	return err
}

// settings matches registry keys of wine's console and Explorer.
var settings = regexp.MustCompile(`^\[HKEY_CURRENT_USER\\(Console|Software\\Wine|Software\\Microsoft\\Windows\\CurrentVersion\\Explorer)\b`)

// A snapshot has the paths of all files and the user's part of the registry, one string a
// file or value.
type snapshot map[string]bool

// takeSnapshot looks at the files and at the registry in the wine prefix.
func takeSnapshot(env []string, wine, dir string) (snapshot, error) {
	s := snapshot{}
	export := filepath.Join(dir, "registry.reg")
	if err := quiet(env, wine, "reg", "export", "HKCU", export, "/y"); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(export)
	if err != nil {
		return nil, err
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	key := ""
	for line := range strings.Lines(string(utf16.Decode(units))) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
			key = line
		}
		if line != "" && !settings.MatchString(key) {
			s[strings.TrimPrefix(key+" "+line, line+" ")] = true
		}
	}
	return s, filepath.WalkDir(filepath.Join(dir, "prefix", "drive_c"), func(path string, _ os.DirEntry, err error) error {
		if own, _ := filepath.Match("~nsu*.tmp", filepath.Base(path)); own { // the uninstaller's copy of itself, which Windows removes at its next start
			return filepath.SkipDir
		}
		s[path] = true
		return err
	})
}

// beyond returns what a snapshot has and an earlier one has not.
func (s snapshot) beyond(earlier snapshot) (more []string) {
	for name := range s {
		if !earlier[name] {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	return more
}

// profile returns the user's folder in the wine prefix.
func profile(env []string, wine, dir string) (string, error) {
	cmd := exec.Command(wine, "cmd", "/c", "echo %USERNAME%")
	cmd.Env = env
	out, err := cmd.Output()
	return filepath.Join(dir, "prefix", "drive_c", "users", strings.TrimSpace(string(out))), err
}

// there returns an error if a file is missing.
func there(names ...string) (err error) {
	for _, name := range names {
		_, e := os.Stat(name)
		err = errors.Join(err, e)
	}
	return err
}

// registered returns an error if a registry key is missing.
func registered(env []string, wine string) error {
	for key, value := range keys {
		cmd := exec.Command(wine, "reg", "query", key)
		cmd.Env = env
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), value) {
			return fmt.Errorf("%s: want %s, got %s: %w", key, value, out, err)
		}
	}
	return nil
}
