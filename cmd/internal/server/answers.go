package server

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
)

// onlyFile is the file to check in rounds that check a single file.
var onlyFile = map[uint8]string{0: "App.pyc", 1: "Autoexec.pyc"}

// LoadAnswers reads a list of lines such as "F8A0A768 scripts/App.pyc" and
// returns the answers of a client with these files, by round. A line with a
// directory, such as "C017D1C4 scripts/ships/", has the hash of the directory's
// name. Rounds without a line have no answer.
func LoadAnswers(name string) (map[uint8]*msg.ChecksumResponse, error) {
	answers := map[uint8]*msg.ChecksumResponse{}
	err := hashLines(name, func(file string, hash uint32) error {
		known := false
		for _, dir := range checkedDirs {
			if len(file) <= len(dir.path) || file[len(dir.path)] != '/' || !strings.EqualFold(file[:len(dir.path)], dir.path) {
				continue
			}
			inside := file[len(dir.path)+1:]
			if only := onlyFile[dir.round]; only != "" && inside != "" && inside != only {
				continue
			}
			known = true
			m := answers[dir.round]
			if m == nil {
				m = &msg.ChecksumResponse{Round: dir.round, Found: true, DirHash: names.Hash(dir.path)}
				if dir.round == 0 {
					m.VersionHash = names.Hash("60")
				}
				answers[dir.round] = m
			}
			if inside == "" {
				m.DirHash = hash
			} else {
				place(&m.Tree, inside, hash)
			}
		}
		if !known {
			return fmt.Errorf("%s: the game asks for no such file; it asks for scripts/App.pyc, scripts/Autoexec.pyc, and those in scripts/ships, scripts/mainmenu and scripts/Multiplayer", file)
		}
		return nil
	})
	return answers, err
}

// place adds a file to a tree of directories.
func place(t *msg.ChecksumTree, file string, hash uint32) {
	dir, base := path.Split(file)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			continue
		}
		n := names.Hash(part)
		i := slices.Index(t.Subdirs, n)
		if i < 0 {
			i = len(t.Subdirs)
			t.Subdirs, t.Trees = append(t.Subdirs, n), append(t.Trees, msg.ChecksumTree{})
		}
		t = &t.Trees[i]
	}
	t.Files = append(t.Files, msg.ChecksumFile{Name: names.Hash(base), Content: hash})
}
