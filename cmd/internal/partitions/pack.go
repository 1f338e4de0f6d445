package partitions

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
	"github.com/bcdissect/bcdissect/report/tables"
)

// packName is the prefix of the names of packs. Names of captures never contain
// the character ~.
const packName = "pack~"

// Limits of packs.
const (
	packBytes = 256 << 20 // from this size on, a pack takes no more captures
	packMost  = 1000      // captures, each of which is a row group in each table
	packSmall = packBytes / 4
)

// A move lists files of a draft to move to their places, and parts to remove.
// It is written to the draft when all files are complete. If a run is killed
// before the end of the move, the next run completes it.
type move struct {
	Drop  []string `json:"drop"`  // parts to remove
	Files []placed `json:"files"` // files of tables, with the table of captures last
}

// placed is a file of a table.
type placed struct {
	File  string `json:"file"`  // path in the draft
	Table string `json:"table"` // folder of the table
	Part  string `json:"part"`
}

// moveFile is the name of the file that contains the move in a draft.
const moveFile = "move.json"

// repack joins parts to one, without some captures. It removes parts without
// captures.
func (x *index) repack(parts []string, without map[string]bool) error {
	kept, dropped := []*entry{}, map[string]bool{}
	for _, part := range parts {
		dropped[part] = true
	}
	for _, e := range x.by {
		if dropped[e.part] && !without[e.Capture] {
			kept = append(kept, e)
		}
	}
	slices.SortFunc(kept, func(a, b *entry) int { return strings.Compare(a.Capture, b.Capture) })
	b, err := json.Marshal([]any{kept, parts})
	if err != nil {
		return err
	}
	pack := fmt.Sprintf("%s%.8x", packName, sha256.Sum256(b))
	temp := filepath.Join(x.path, unfinished, x.prefixOf(pack))
	if err := private.MakeDir(temp, 0o777); err != nil {
		return err
	}
	defer func() { _ = os.Remove(filepath.Join(x.path, unfinished)) }() // fails if others use it
	m := move{Drop: parts}
	if len(kept) > 0 {
		if m.Files, err = x.pack(temp, pack, parts, func(capture string) bool { return !without[capture] }); err != nil {
			_ = os.RemoveAll(temp) // the first error is returned
			return err
		}
	}
	if err := m.write(temp); err != nil {
		return err
	}
	if err := x.finish(temp); err != nil {
		return err
	}
	maps.DeleteFunc(x.by, func(_ string, e *entry) bool { return dropped[e.part] && without[e.Capture] })
	for _, e := range kept {
		e.part = pack
	}
	return nil
}

// pack joins the tables of some parts and writes them to a draft.
func (x *index) pack(temp, pack string, parts []string, wanted func(capture string) bool) (all []placed, err error) {
	byTable := map[string][]string{}
	for _, part := range parts {
		files, err := x.files(part)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			table, _ := filepath.Rel(x.path, filepath.Dir(filepath.Dir(name))) // cannot fail, since the file is inside the folder
			byTable[filepath.ToSlash(table)] = append(byTable[filepath.ToSlash(table)], name)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(byTable)) {
		shapes, err := x.shapes(byTable[table])
		if err != nil {
			return nil, err
		}
		n := 0 // number of files with rows, so that their numbers have no gaps
		for i, names := range shapes {
			to := placed{fmt.Sprintf("%s~%d", strings.ReplaceAll(table, "/", "~"), i), table, pack}
			if n > 0 { // another file with other columns, as for a mod's message
				to.Part = fmt.Sprintf("%s~%d", pack, n+1)
			}
			rows, err := x.packFile(filepath.Join(temp, to.File), names, wanted)
			if err != nil {
				return nil, err
			}
			if rows > 0 || i == len(shapes)-1 && n == 0 && !strings.Contains(table, "/") {
				all = append(all, to)
				n++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		last := map[bool]int{true: 1}
		return last[a.Table == tables.Captures] - last[b.Table == tables.Captures]
	})
	return all, nil
}

// shapes groups files by their columns.
func (x *index) shapes(names []string) (all [][]string, err error) {
	group := map[string]int{}
	for _, name := range names {
		r, p, err := open(name)
		if err != nil {
			return nil, err
		}
		shape, err := p.Shape(x.csv())
		_ = r.Close() // it was opened only for reading
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		i, known := group[shape]
		if !known {
			i = len(all)
			group[shape], all = i, append(all, nil)
		}
		all[i] = append(all[i], name)
	}
	return all, nil
}

// packFile joins some files of a table to one. It syncs the file to disk, since
// the original files are removed afterwards.
func (x *index) packFile(to string, names []string, wanted func(capture string) bool) (rows int64, err error) {
	var parts []tables.Part
	for _, name := range names {
		r, p, err := open(name)
		if err != nil {
			return 0, err
		}
		defer func() { _ = r.Close() }() // it was opened only for reading
		parts = append(parts, p)
	}
	w, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	rows, err = tables.Pack(w, parts, wanted, x.csv())
	if err == nil {
		err = w.Sync()
	}
	if e := w.Close(); err == nil {
		err = e
	}
	return rows, err
}

// write writes the move to a complete draft.
func (m *move) write(temp string) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	name := filepath.Join(temp, moveFile)
	w, err := os.Create(name + "~")
	if err != nil {
		return err
	}
	if _, err = w.Write(b); err == nil {
		err = w.Sync() // the parts in Drop are removed afterwards
	}
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(name+"~", name)
}

// finish completes the move of a draft. An earlier run may have done a part of
// it.
func (f *folder) finish(temp string) error {
	b, err := os.ReadFile(filepath.Join(temp, moveFile))
	if err != nil {
		return err
	}
	var m move
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("%s: %w", temp, err)
	}
	for _, part := range m.Drop {
		if err := removeFile(f.file(tables.Captures, part)); err != nil {
			return err
		}
	}
	for _, part := range m.Drop {
		all, err := f.files(part)
		if err != nil {
			return err
		}
		for _, name := range all {
			if err := removeFile(name); err != nil {
				return err
			}
		}
	}
	for _, p := range m.Files {
		to := filepath.Join(f.path, filepath.FromSlash(p.Table), partKey+p.Part)
		if err := private.MakeDir(to, 0o777); err != nil {
			return err
		}
		err := os.Rename(filepath.Join(temp, p.File), filepath.Join(to, "part."+f.ext))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // otherwise the file was already moved
			return err
		}
	}
	return os.RemoveAll(temp)
}

// recover completes the moves of runs that were killed.
func (f *folder) recover() error {
	all := filepath.Join(f.path, unfinished)
	drafts, _ := os.ReadDir(all) // the folder may not exist
	for _, d := range drafts {
		temp := filepath.Join(all, d.Name())
		if !f.isPack(d) {
			continue
		}
		if _, err := os.Stat(filepath.Join(temp, moveFile)); err != nil {
			continue
		}
		if err := f.finish(temp); err != nil {
			return err
		}
	}
	_ = os.Remove(all) // fails if others use it
	return nil
}

// isPack reports whether a draft is a pack in the format of the folder.
func (f *folder) isPack(d fs.DirEntry) bool {
	return strings.HasPrefix(d.Name(), packName) && strings.HasSuffix(d.Name(), f.prefixOf(""))
}

// forget removes packs that a killed run did not complete.
func (f *folder) forget() {
	all := filepath.Join(f.path, unfinished)
	drafts, _ := os.ReadDir(all) // the folder may not exist
	for _, d := range drafts {
		if f.isPack(d) {
			_ = os.RemoveAll(filepath.Join(all, d.Name())) // a leftover file does not justify an error
		}
	}
}

// replace removes captures that another capture replaces. It skips a capture in
// the part of the new one, since publishing replaces the whole part. Other
// programs may have moved the captures since the index was read.
func (x *index) replace(old []*entry, capture string) error {
	if len(old) == 0 {
		return nil
	}
	now, err := x.newIndex()
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []*entry
	for _, e := range old {
		if is := now.by[e.Capture]; is != nil && is.part != capture {
			all = append(all, is)
		}
		delete(x.by, e.Capture)
	}
	return now.remove(all)
}

// remove removes captures.
func (x *index) remove(all []*entry) error {
	byPart := map[string]map[string]bool{}
	for _, e := range all {
		if byPart[e.part] == nil {
			byPart[e.part] = map[string]bool{}
		}
		byPart[e.part][e.Capture] = true
	}
	for _, part := range slices.Sorted(maps.Keys(byPart)) {
		if err := x.repack([]string{part}, byPart[part]); err != nil {
			return err
		}
	}
	return nil
}

// compact joins small parts to packs. It returns the number of captures that it
// moved and the number of packs.
func (x *index) compact() (captures, packs int, err error) {
	inPart := map[string]int{}
	for _, e := range x.by {
		inPart[e.part]++
	}
	var group []string
	size, n := int64(0), 0
	flush := func() error {
		if len(group) > 1 {
			if err := x.repack(group, nil); err != nil {
				return err
			}
			captures, packs = captures+n, packs+1
		}
		group, size, n = nil, 0, 0
		return nil
	}
	for _, part := range slices.Sorted(maps.Keys(inPart)) {
		s, err := x.size(part)
		if err != nil {
			return captures, packs, err
		}
		if s > packSmall || inPart[part] > packMost/2 {
			continue
		}
		group, size, n = append(group, part), size+s, n+inPart[part]
		if size > packBytes || n > packMost/2 {
			if err := flush(); err != nil {
				return captures, packs, err
			}
		}
	}
	return captures, packs, flush()
}

// size returns the size of a part in bytes.
func (f *folder) size(part string) (n int64, err error) {
	all, err := f.files(part)
	for _, name := range all {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n, err
}
