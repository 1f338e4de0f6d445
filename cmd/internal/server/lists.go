package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
)

// Limits of a list in a file.
const (
	maxListSize = 1 << 20 // bytes
	anyOctet    = 255
)

// listLines passes each line of a list to take, without comments and empty
// lines. Errors contain the file and the line number.
func listLines(name string, take func(line string) error) error {
	f, err := os.Open(name)
	if err != nil {
		return cli.PlainPath(name, err)
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
	lines := bufio.NewScanner(io.LimitReader(f, maxListSize+1))
	read := 0
	for n := 1; lines.Scan(); n++ {
		if read += len(lines.Bytes()) + 1; read > maxListSize {
			return fmt.Errorf("%s: more than %d bytes are too much for a list", name, maxListSize)
		}
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := take(line); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return cli.PlainPath(name, err)
	}
	return nil
}

// A banList is a list of banned addresses. 255 matches any number, as in the
// original game's banlist.txt.
type banList [][4]byte

// load reads the list from a file. If that fails, the list stays unchanged.
func (b *banList) load(name string) error {
	var list banList
	err := listLines(name, func(line string) error {
		addr, err := netip.ParseAddr(line)
		if err != nil || !addr.Is4() {
			return fmt.Errorf("%q: want an IPv4 address such as 192.0.2.255", line)
		}
		list = append(list, addr.As4())
		return nil
	})
	if err == nil {
		*b = list
	}
	return err
}

// holds reports whether a client is banned. It checks the address that the
// client claims, as the game does, and the address it sends from. A client can
// claim any address.
func (b *banList) holds(claimed [4]byte, from netip.Addr) bool {
	from = from.Unmap()
	for _, ban := range *b {
		if fits(ban, claimed) || from.Is4() && fits(ban, from.As4()) {
			return true
		}
	}
	return false
}

func fits(ban, addr [4]byte) bool {
	for i := range ban {
		if ban[i] != anyOctet && ban[i] != addr[i] {
			return false
		}
	}
	return true
}

// A checksumList has the hashes that the files of clients must have, indexed by
// the hashes of their paths.
type checksumList map[string]wantedFile

// A wantedFile is a file of a checksumList.
type wantedFile struct {
	path string
	hash uint32
}

// checkedDirs are the directories that clients are asked about, by round.
var checkedDirs = []struct {
	round uint8
	path  string
}{{0, "scripts"}, {1, "scripts"}, {2, "scripts/ships"}, {3, "scripts/mainmenu"}, {0xFF, "Scripts/Multiplayer"}}

// LoadChecksums reads a list of lines such as "F8A0A768 scripts/App.pyc".
func LoadChecksums(name string) (checksumList, error) {
	list := checksumList{}
	err := hashLines(name, func(path string, hash uint32) error {
		switch {
		case strings.HasSuffix(path, "/"):
			return fmt.Errorf("%s: is a directory; name a file", path)
		case !list.add(path, hash):
			return fmt.Errorf("%s: the game asks for no file there; it asks for those in scripts, scripts/ships, scripts/mainmenu and scripts/Multiplayer", path)
		}
		return nil
	})
	return list, err
}

// hashLines passes each line of a list of hashes to take.
func hashLines(name string, take func(path string, hash uint32) error) error {
	some := false
	err := listLines(name, func(line string) error {
		hash, path, ok := strings.Cut(line, " ")
		n, err := strconv.ParseUint(hash, 16, 32)
		if path = strings.TrimSpace(path); err != nil || !ok || path == "" {
			return fmt.Errorf("%q: want a hash and a path, such as F8A0A768 scripts/App.pyc", line)
		}
		some = true
		return take(strings.ReplaceAll(path, `\`, "/"), uint32(n))
	})
	if err == nil && !some {
		err = fmt.Errorf("%s: %w", name, errNoHashes)
	}
	return err
}

var errNoHashes = errors.New("it has no hashes; write lines such as F8A0A768 scripts/App.pyc")

// add adds a file. It returns false if the file is in no directory that clients
// are asked about.
func (l checksumList) add(path string, hash uint32) (ok bool) {
	for _, dir := range checkedDirs {
		n := len(dir.path)
		if len(path) <= n+1 || path[n] != '/' || !strings.EqualFold(path[:n], dir.path) {
			continue
		}
		key := []byte{dir.round}
		for part := range strings.SplitSeq(path[n+1:], "/") {
			key = binary.LittleEndian.AppendUint32(key, names.Hash(part))
		}
		l[string(key)] = wantedFile{path, hash}
		ok = true
	}
	return ok
}

// Check returns the first file whose hash differs, or "" if none does. It
// ignores files that only one side has, as hosts of the original game do.
func (l checksumList) Check(m *msg.ChecksumResponse) (failed string) {
	return l.checkTree([]byte{m.Round}, &m.Tree)
}

func (l checksumList) checkTree(at []byte, t *msg.ChecksumTree) string {
	for _, f := range t.Files {
		if want, ok := l[string(binary.LittleEndian.AppendUint32(at, f.Name))]; ok && want.hash != f.Content {
			return want.path
		}
	}
	for i := range min(len(t.Subdirs), len(t.Trees)) {
		if failed := l.checkTree(binary.LittleEndian.AppendUint32(at, t.Subdirs[i]), &t.Trees[i]); failed != "" {
			return failed
		}
	}
	return ""
}
