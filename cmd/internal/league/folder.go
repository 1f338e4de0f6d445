package league

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/filelock"
	"github.com/bcdissect/bcdissect/dissect/capture/private"
	site "github.com/bcdissect/bcdissect/report/league"
)

// endings are the extensions of files with packets, without those for
// compression.
var endings = []string{".pcap", ".pcapng", ".cap", ".dmp", ".log"}

// recordings lists the recordings in a folder and its subfolders by name. It
// skips the site and hidden folders.
func recordings(dir, without string) (names []string, infos []fs.FileInfo, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return cli.PlainPath(dir, err)
		case err != nil: // the file has just been removed, or the folder cannot be read
			return nil //nolint:nilerr // as one that is not there
		case d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || path == without):
			return fs.SkipDir
		case d.IsDir() || !hasPackets(path):
			return nil
		}
		info, err := os.Stat(path) // facts about the target of a link
		if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			names, infos = append(names, path), append(infos, info)
		}
		return nil // skip a file that has just been removed
	})
	return names, infos, err
}

// hasPackets reports whether a file has the name of a recording.
func hasPackets(name string) bool {
	name = strings.ToLower(name)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return slices.Contains(endings, filepath.Ext(name))
}

// drafts is the folder for files that are being written.
const drafts = ".unfinished"

// locked is the file that a run locks while it writes a site.
const locked = ".lock"

// A target is the folder in which a site is written.
type target struct {
	dir     string
	written map[string]bool
	changed int    // number of changed files
	close   func() // allows other runs to write the site
}

// openTarget creates the folder of a site, or opens a folder with an older
// site. It waits until no other run writes there.
func openTarget(dir string, say io.Writer) (*target, error) {
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Failed(cli.PlainPath(dir, err))
	}
	ours := len(all) == 0 || slices.ContainsFunc(all, func(e fs.DirEntry) bool { return slices.Contains([]string{"league.json", drafts, locked}, e.Name()) })
	if !ours {
		return nil, fmt.Errorf("--output %s: holds other files; give an empty folder, or a new one", dir)
	}
	t := &target{dir: dir, written: map[string]bool{}}
	if err = private.MakeDir(dir, 0o777); err == nil {
		t.close, err = filelock.Lock(filepath.Join(dir, locked), func() { cli.Say(say, "waiting for another run of league that writes %s", dir) })
	}
	if err != nil {
		return nil, cli.Failed(cli.PlainPath(dir, err))
	}
	_ = os.RemoveAll(filepath.Join(dir, drafts)) // left by a run that was killed
	for _, sub := range []string{drafts, site.Matches, site.Players, site.Cards, site.Replays} {
		if err := private.MakeDir(filepath.Join(dir, sub), 0o777); err != nil {
			t.close()
			return nil, cli.Failed(cli.PlainPath(dir, err))
		}
	}
	return t, nil
}

// put writes a file of the site unless it already has these contents.
func (t *target) put(name string, data []byte) error {
	t.written[name] = true
	path := filepath.Join(t.dir, filepath.FromSlash(name))
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	t.changed++
	if err := replaceFile(filepath.Join(t.dir, drafts), path, data, 0o644); err != nil {
		return cli.PlainPath(path, err)
	}
	return nil
}

// has reports whether the site has a file whose contents never change.
func (t *target) has(name string) bool {
	_, err := os.Stat(filepath.Join(t.dir, filepath.FromSlash(name)))
	return err == nil
}

// tidy removes files of an earlier run that are no longer part of the site.
func (t *target) tidy() {
	for _, sub := range []string{site.Matches, site.Players, site.Cards, site.Replays} {
		all, _ := os.ReadDir(filepath.Join(t.dir, sub)) // the folder exists
		for _, e := range all {
			if !t.written[sub+"/"+e.Name()] {
				_ = os.Remove(filepath.Join(t.dir, sub, e.Name())) // the next run tries again
			}
		}
	}
	_ = os.Remove(filepath.Join(t.dir, drafts)) // the folder is empty
}
