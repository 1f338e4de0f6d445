package wireshark

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// An artefact is a file to install for Wireshark.
type artefact struct {
	kind    string // plugin, engine, extcap or profile
	path    string
	content []byte // nil for a link
	link    string // target of the link
	mode    fs.FileMode
	shared  bool // Wireshark or the user may change the file
	merged  bool // the file has settings, of which only the unchanged ones are updated
	kept    bool // install has kept the existing file, since it was changed
}

// A record of an installation lists the files to remove. It is stored in the
// folder of the configuration.
type record struct {
	Version   string            `json:"version"`   // version of this program
	Wireshark string            `json:"wireshark"` // release of Wireshark
	Files     map[string]string `json:"files"`     // path to hash, or to "link"
	Folders   []string          `json:"folders"`   // folders that were created, outer ones first

	Settings map[string]map[string]string `json:"settings,omitempty"` // by path: the values that were installed
}

const (
	recordName = "bcdissect.json"
	isLink     = "link"
)

// recordAt reads the record of a place. If there is none, it returns an empty
// record.
func recordAt(p *place) (r record, err error) {
	r.Files = map[string]string{}
	path := filepath.Join(p.config, recordName)
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return r, cli.PlainPath(path, err)
	}
	if err := json.Unmarshal(b, &r); err != nil || r.Files == nil {
		return r, fmt.Errorf("%s: not a record of an installation; remove it and install again", path)
	}
	return r, nil
}

// write writes the record.
func (r *record) write(p *place) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replace(&artefact{path: filepath.Join(p.config, recordName), content: append(b, '\n'), mode: 0o644})
}

// hash returns the hash of a file for the record.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// is reports whether the artefact is installed with its current contents.
func (a *artefact) is() bool {
	if a.link != "" {
		to, err := os.Readlink(a.path)
		return err == nil && to == a.link
	}
	if a.merged {
		return a.holds()
	}
	b, err := os.ReadFile(a.path)
	return err == nil && bytes.Equal(b, a.content)
}

// changed reports whether a file differs from the one in the record.
func (r *record) changed(path string) bool {
	b, err := os.ReadFile(path)
	return err == nil && r.Files[path] != hash(b)
}

// replace writes an artefact, and replaces an existing file in one step.
func replace(a *artefact) error {
	f, err := os.CreateTemp(filepath.Dir(a.path), ".bcdissect-*")
	if err != nil {
		return cli.PlainPath(a.path, err)
	}
	_, err = f.Write(a.content)
	if e := f.Chmod(a.mode); err == nil && !cli.OnWindows {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil && a.link != "" {
		if err = os.Remove(f.Name()); err == nil {
			err = os.Symlink(a.link, f.Name())
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), a.path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is returned
		return cli.PlainPath(a.path, err)
	}
	return nil
}

// install writes artefacts. It does not overwrite files of other programs, and
// it keeps changes of shared files.
func install(p *place, all []artefact) error {
	old, err := recordAt(p)
	if err != nil {
		return err
	}
	fresh := record{
		Version: cli.Version(), Wireshark: p.release.String(), Files: map[string]string{}, Folders: old.Folders, Settings: map[string]map[string]string{},
	}
	for i := range all {
		a := &all[i]
		if _, err := os.Lstat(a.path); err == nil && !a.is() {
			_, ours := old.Files[a.path]
			if !ours {
				return fmt.Errorf("%s: exists and is not from bcdissect; move it away", a.path)
			}
			a.kept = a.shared && old.changed(a.path)
		}
		if a.merged {
			fresh.Settings[a.path] = valuesIn(a.content)
			if before := old.Settings[a.path]; a.kept && before != nil {
				b, err := os.ReadFile(a.path)
				if err != nil {
					return cli.PlainPath(a.path, err)
				}
				a.content, a.kept = merge(b, before, a.content), false
			}
		}
		switch {
		case a.link != "":
			fresh.Files[a.path] = isLink
		case a.kept:
			fresh.Files[a.path] = old.Files[a.path]
		default:
			fresh.Files[a.path] = hash(a.content)
		}
		fresh.Folders = addFolders(fresh.Folders, filepath.Dir(a.path))
	}
	fresh.Folders = addFolders(fresh.Folders, p.config)
	if err := os.MkdirAll(p.config, 0o755); err != nil {
		return cli.PlainPath(p.config, err)
	}
	// The record lists old and new files before any of them is written. After
	// an interruption all files are still known.
	both := fresh
	both.Files = map[string]string{}
	for _, r := range []record{old, fresh} {
		for path, sum := range r.Files {
			both.Files[path] = sum
		}
	}
	if err := both.write(p); err != nil {
		return err
	}
	for i := range all {
		a := &all[i]
		if a.kept || a.is() {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(a.path), 0o755); err != nil {
			return cli.PlainPath(filepath.Dir(a.path), err)
		}
		if err := replace(a); err != nil {
			return err
		}
	}
	for path := range old.Files {
		if _, still := fresh.Files[path]; !still { // the path was for an older Wireshark
			if err := remove(path); err != nil {
				return err
			}
		}
	}
	return fresh.write(p)
}

// addFolders adds a folder that does not exist, after the missing folders that
// contain it.
func addFolders(all []string, folder string) []string {
	if _, err := os.Stat(folder); err == nil || slices.Contains(all, folder) || filepath.Dir(folder) == folder {
		return all
	}
	return append(addFolders(all, filepath.Dir(folder)), folder)
}

// remove removes a file, which may not exist.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.PlainPath(path, err)
	}
	return nil
}

// uninstall removes all files that were installed, the profile with its
// changes, and folders that are then empty. It returns the paths that it
// removed.
func uninstall(p *place, profile string) (removed []string, err error) {
	r, err := recordAt(p)
	if err != nil {
		return nil, err
	}
	for path := range r.Files {
		if _, err := os.Lstat(path); err == nil {
			removed = append(removed, path)
		}
		if err := remove(path); err != nil {
			return removed, err
		}
	}
	slices.Sort(removed)
	if slices.Contains(r.Folders, profile) {
		if err := os.RemoveAll(profile); err != nil {
			return removed, cli.PlainPath(profile, err)
		}
	}
	if err := remove(filepath.Join(p.config, recordName)); err != nil {
		return removed, err
	}
	for _, folder := range slices.Backward(r.Folders) {
		_ = os.Remove(folder) // fails if the folder is not empty
	}
	return removed, nil
}
