package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(recording) {
		return fmt.Errorf("uninstalled: in the folder are %v, want only the recording: %w", left, err)
	}
	if there(menu) == nil {
		return errors.New("uninstalled: still in the Start menu")
	}
	for key := range keys {
		if quiet(env, wine, "reg", "query", key) == nil {
			return fmt.Errorf("uninstalled: %s is left", key)
		}
	}
	log.Print("the installer installs and uninstalls under wine")
	return nil
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
