package wireshark

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// Plugin writes the plugin for Wireshark. The plugin loads the engine from its
// own folder.
func Plugin(w io.Writer) error { return cli.Failed(wireshark.Plugin(w, cli.Version(), "")) }

// profileOf returns the folder of the profile.
func profileOf(p *place) string { return filepath.Join(p.config, "profiles", wireshark.ProfileName) }

// pluginOf returns the path of the plugin.
func pluginOf(p *place) string { return filepath.Join(p.plugins, "bcdissect.lua") }

// engineName returns the name of the engine's file on this system.
func engineName() string {
	if cli.OnWindows {
		return "bcdissect-engine.dll"
	}
	return "bcdissect-engine.so"
}

// engineOf returns the path of the engine for a program, or "" if there is
// none. The engine is in the program's folder or in the folder that packages
// use.
func engineOf(program string) string {
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	folder, name := filepath.Dir(program), engineName()
	for _, path := range []string{filepath.Join(folder, name), filepath.Join(folder, "..", "lib", "bcdissect", name)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// engineInstalled reports whether Install has copied the engine to the user's
// folders.
func engineInstalled() bool {
	p := new(place)
	if p.usualHere() != nil {
		return false
	}
	r, err := recordAt(p)
	if err != nil {
		return false
	}
	for path := range r.Files {
		if _, err := os.Stat(path); err == nil && filepath.Base(path) == engineName() {
			return true
		}
	}
	return false
}

// artefacts returns the Wireshark with the given name, or the first that is
// found, and the files to install for it.
func artefacts(of string) (*place, []artefact, error) {
	p, err := find(of)
	if err != nil {
		return nil, nil, err
	}
	var plugin bytes.Buffer
	if err := Plugin(&plugin); err != nil {
		return nil, nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("the path of this program is not known: %w", err)
	}
	extcap := artefact{kind: "extcap", path: filepath.Join(p.extcap, "bcdissect"), link: program}
	if cli.OnWindows { // there, ordinary users cannot create links, and ending a script does not end the program that it runs
		extcap = artefact{kind: "extcap", path: filepath.Join(p.extcap, "bcdissect.exe"), mode: 0o755}
		if extcap.content, err = os.ReadFile(program); err != nil {
			return nil, nil, err
		}
	}
	all := []artefact{{kind: "plugin", path: pluginOf(p), content: plugin.Bytes(), mode: 0o644}, extcap}
	if library := engineOf(program); library != "" {
		engine := artefact{kind: "engine", path: filepath.Join(p.plugins, engineName()), mode: 0o644}
		if engine.content, err = os.ReadFile(library); err != nil {
			return nil, nil, err
		}
		all = slices.Insert(all, 1, engine)
	}
	for name, content := range wireshark.Profile() {
		all = append(all, artefact{
			kind: "profile", path: filepath.Join(profileOf(p), name), content: []byte(content), mode: 0o644, shared: true,
			merged: name == "preferences",
		})
	}
	slices.SortStableFunc(all[len(all)-len(wireshark.Profile()):], func(a, b artefact) int { return strings.Compare(a.path, b.path) })
	return p, all, nil
}

// Install installs all files for the Wireshark with the given name, or for the
// first that is found.
func Install(s cli.Streams, program string) error {
	p, all, err := artefacts(program)
	if err != nil {
		return cli.Failed(err)
	}
	if err := install(p, all); err != nil {
		return cli.Failed(err)
	}
	asRoot(s.Err)
	for _, o := range all {
		if o.kept {
			cli.Say(s.Err, "%s: kept, because you changed it; to get a new one, remove it and install again", o.path)
		}
	}
	return show(s.Out, p, all)
}

// asRoot warns the user root that Wireshark will not load plugins.
func asRoot(w io.Writer) {
	if os.Geteuid() == 0 {
		fmt.Fprintf(w, "bcdissect: Wireshark loads no plugins as root; run it as another user\n")
	}
}

// Status shows the installed files and their versions.
func Status(s cli.Streams, program string) error {
	p, all, err := artefacts(program)
	if err != nil {
		return cli.Failed(err)
	}
	return show(s.Out, p, all)
}

// show writes the state of artefacts. The files of the profile are shown as
// one.
func show(w io.Writer, p *place, all []artefact) error {
	r, err := recordAt(p)
	if err != nil {
		return cli.Failed(err)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "Wireshark\t%s\t%s\n", p.release, p.program) // Flush returns the error
	if !slices.ContainsFunc(all, func(a artefact) bool { return a.kind == "engine" }) {
		defer cli.Say(w, "the engine isn't next to this program, so Wireshark shows the messages' names only; 'make wireshark-engine' builds it")
	}
	for i := range all {
		a := &all[i]
		path, state := a.path, r.state(a)
		if a.kind == "profile" {
			path = filepath.Dir(path)
			if i > 0 && all[i-1].kind == a.kind {
				continue
			}
			for k := range all[i:] {
				if other := r.state(&all[i+k]); other != current {
					state = other
				}
			}
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", a.kind, state, path)
	}
	return cli.Failed(t.Flush())
}

// current is the state of an installed artefact of this version.
const current = "installed"

// state describes whether an artefact is installed.
func (r *record) state(a *artefact) string {
	_, err := os.Lstat(a.path)
	_, ours := r.Files[a.path]
	switch {
	case err != nil:
		return "not installed"
	case a.is():
		return current
	case !ours:
		return "not from bcdissect"
	case a.link != "":
		return "of another program"
	case r.changed(a.path):
		return "installed, changed since"
	}
	return "of version " + cli.OneLine(r.Version)
}

// Uninstall removes all files that Install has installed.
func Uninstall(s cli.Streams, program string) error {
	p, err := find(program)
	if errors.Is(err, errNone) { // Wireshark was removed before
		p = new(place)
		err = p.usualHere()
	}
	if err != nil {
		return cli.Failed(err)
	}
	removed, err := uninstall(p, profileOf(p))
	for _, path := range removed {
		fmt.Fprintf(s.Out, "removed %s\n", path)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintf(s.Err, "bcdissect: nothing is installed\n")
	}
	return cli.Failed(err)
}
