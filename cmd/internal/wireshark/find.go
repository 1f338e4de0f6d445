package wireshark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// A release is a version of Wireshark.
type release struct{ major, minor, patch int }

func (r release) String() string { return fmt.Sprintf("%d.%d.%d", r.major, r.minor, r.patch) }

// since reports whether the release is the given one or a later one.
func (r release) since(major, minor int) bool {
	return r.major > major || r.major == major && r.minor >= minor
}

// A place is a Wireshark on this computer and the user's folders for it.
type place struct {
	program string // path of the program that was asked
	release release
	config  string // folder of the configuration
	plugins string // folder of plugins in Lua
	extcap  string
}

// errNone is the error if no Wireshark is found.
var errNone = errors.New("no Wireshark found; install it from https://www.wireshark.org, or name the program: --program PROGRAM")

// find returns the Wireshark of the given tshark or wireshark. If the name is
// empty, it looks in the search path and in the usual folder.
func find(name string) (*place, error) {
	program, err := programOf(name, "tshark", "wireshark")
	if err != nil {
		return nil, err
	}
	program = preferTshark(program)
	version, err := ask(program, "--version")
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a wireshark or tshark: --program PROGRAM", program, err)
	}
	p := &place{program: program}
	if p.release, err = releaseIn(version); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if err := p.usualHere(); err != nil {
		return nil, err
	}
	if folders, err := ask(program, "-G", "folders"); err == nil { // wireshark does not know this option, and the usual folders are right for it
		p.told(folders)
	}
	return p, nil
}

// programOf returns the path of the given program of Wireshark, or of the first
// of kinds that exists.
func programOf(name string, kinds ...string) (string, error) {
	if name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("--program %s: no such program", name)
		}
		return path, nil
	}
	for _, kind := range kinds {
		if path, err := exec.LookPath(kind); err == nil {
			return path, nil
		}
		for _, path := range usualPrograms(runtime.GOOS, kind, os.Getenv) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", errNone
}

// preferTshark returns the tshark next to a wireshark, if there is one: tshark
// reports its folders, wireshark does not.
func preferTshark(program string) string {
	folder, name := filepath.Split(program)
	if kind := strings.ToLower(strings.TrimSuffix(name, ".exe")); kind != "wireshark" {
		return program
	}
	tshark := filepath.Join(folder, "tshark"+filepath.Ext(name))
	if info, err := os.Stat(tshark); err != nil || !info.Mode().IsRegular() {
		return program
	}
	return tshark
}

// usualPrograms returns the usual paths of a program of Wireshark outside the
// search path.
func usualPrograms(system, kind string, env func(string) string) (paths []string) {
	switch system {
	case "windows":
		for _, folder := range []string{env("ProgramFiles"), env("ProgramW6432")} {
			if folder != "" {
				paths = append(paths, filepath.Join(folder, "Wireshark", kind+".exe"))
			}
		}
	case "darwin":
		if kind == "wireshark" {
			kind = "Wireshark"
		}
		paths = append(paths, filepath.Join("/Applications/Wireshark.app/Contents/MacOS", kind))
	}
	return paths
}

// askTimeout is the time that a program of Wireshark may take to answer.
const askTimeout = 20 * time.Second

// ask runs a program of Wireshark and returns its output.
func ask(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second // the program may have started others that keep the output open
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("no answer within %v", askTimeout)
	}
	return string(out), err
}

var versionLine = regexp.MustCompile(`(?mi)^(?:tshark|wireshark)\b[^\d\n]*(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?`)

// releaseIn parses the release in the output of --version.
func releaseIn(text string) (r release, err error) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		first, _, _ := strings.Cut(text, "\n")
		return r, fmt.Errorf("not Wireshark: its version is %q", cli.OneLine(first))
	}
	for i, to := range []*int{&r.major, &r.minor, &r.patch} {
		*to, _ = strconv.Atoi(m[i+1]) // matches are digits, or empty
	}
	return r, nil
}

// usualHere sets the documented folders for this system.
func (p *place) usualHere() error {
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("your folder is not known: %w", err)
	}
	p.usual(runtime.GOOS, home, os.Getenv)
	return nil
}

// usual sets the documented folders for a system.
func (p *place) usual(system, home string, env func(string) string) {
	local := filepath.Join(home, ".local", "lib", "wireshark")
	switch {
	case system == "windows":
		p.config = filepath.Join(env("APPDATA"), "Wireshark")
		local = p.config
	case env("XDG_CONFIG_HOME") != "":
		p.config = filepath.Join(env("XDG_CONFIG_HOME"), "wireshark")
	default:
		p.config = filepath.Join(home, ".config", "wireshark")
	}
	if own := env("WIRESHARK_CONFIG_DIR"); own != "" {
		p.config = own
	}
	p.plugins = filepath.Join(local, "plugins")
	p.extcap = filepath.Join(local, "extcap")
	if !p.release.since(4, 2) {
		p.extcap = filepath.Join(p.config, "extcap")
	}
}

// told sets the folders in the output of -G folders.
func (p *place) told(text string) {
	extcap := ""
	for line := range strings.Lines(text) {
		key, path, _ := strings.Cut(line, ":")
		if path = strings.TrimSpace(path); !filepath.IsAbs(path) {
			continue
		}
		switch strings.ToLower(key) {
		case "personal configuration":
			p.config = path
		case "personal lua plugins":
			p.plugins = path
		case "personal extcap path":
			extcap = path
		}
	}
	switch {
	case extcap != "":
		p.extcap = extcap
	case !p.release.since(4, 2): // earlier versions do not report this folder
		p.extcap = filepath.Join(p.config, "extcap")
	}
}
