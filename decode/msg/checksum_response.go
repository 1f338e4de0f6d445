package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// OpChecksumResponse is the opcode of [ChecksumResponse].
const OpChecksumResponse decode.Opcode = 0x21

var checksumResponseSpec = decode.Spec{
	Code:     OpChecksumResponse,
	Name:     "ChecksumResponse",
	Constant: "CHECKSUM",
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayAnswer,
	Step:     decode.StepAnswer,
	Evidence: decode.OnWire,
	Topic:    decode.TopicFiles,
	Doc:      "A client's hashes of the files that ChecksumRequest (20) asked for.",
	Brief:    []string{"round", "dir_hash", "files_count", "subdirs_count"},
	Harmless: []string{"round", "files_count", "subdirs_count"},
	Layout:   decode.LayoutOf[ChecksumResponse](),
}

// ChecksumResponse (CHECKSUM) has a client's hashes of the files that a
// [ChecksumRequest] asked for.
type ChecksumResponse struct {
	Round       uint8
	VersionHash uint32 // only in round 0
	DirHash     uint32
	Found       bool // the directory exists, and the tree follows
	Tree        ChecksumTree
}

// A ChecksumTree is a directory with its contents.
type ChecksumTree struct {
	Files   []ChecksumFile
	Subdirs []uint32       // hashes of their names
	Trees   []ChecksumTree // contents of each of Subdirs
}

// A ChecksumFile has the hashes of a file.
type ChecksumFile struct {
	Name    uint32
	Content uint32
}

// Reset prepares the message for reuse.
func (m *ChecksumResponse) Reset() {
	m.Tree.Reset()
	*m = ChecksumResponse{Tree: m.Tree}
}

// Reset prepares the tree for reuse.
func (t *ChecksumTree) Reset() {
	*t = ChecksumTree{Files: t.Files[:0], Subdirs: t.Subdirs[:0], Trees: t.Trees[:0]}
}

// Walk implements [decode.Message].
func (m *ChecksumResponse) Walk(c *decode.Codec) {
	c.U8("round", &m.Round, "of the request: 0 to 3, then 255")
	c.When(decode.Equals("round", m.Round, 0), func() {
		c.Hash32("version_hash", &m.VersionHash, names.Files, "of the game's version, 60")
	})
	c.Hash32("dir_hash", &m.DirHash, names.Files, "of the directory's path; one more if there is no such directory")
	c.When(c.Remain(m.Found), func() {
		m.Found = true
		m.Tree.walk(c, 0)
	})
}

// checksumDepth is the maximum nesting of directories. The game's directories
// are nested two deep.
const (
	checksumDepth = 4
	tooDeep       = "more than 4 directories in each other"
)

// ofSubdirs tells that the number of trees is the number of subdirs.
var ofSubdirs = &decode.Count{List: "subdirs"}

func (t *ChecksumTree) walk(c *decode.Codec, depth int) {
	decode.List16(c, "files", &t.Files, 8, "files in the directory", func(e *ChecksumFile) {
		c.Hash32("name_hash", &e.Name, names.Files, "of the file's name")
		c.Hash32("content_hash", &e.Content, nil, "of its contents")
	})
	at := c.Offset()
	decode.List8(c, "subdirs", &t.Subdirs, 4, "directories in the directory", func(e *uint32) {
		c.Hash32("name_hash", e, names.Files, "of the directory's name")
	})
	if depth == checksumDepth {
		if len(t.Subdirs) > 0 {
			c.Reject("subdirs", at, tooDeep)
		}
		return
	}
	if !c.Reading() && len(t.Trees) != len(t.Subdirs) {
		c.Reject("trees", at, "not one for each of subdirs")
		return
	}
	i := 0
	decode.ListN(c, "trees", &t.Trees, len(t.Subdirs), ofSubdirs, 3, "the contents of each of subdirs", func(e *ChecksumTree) {
		name := ""
		if i < len(t.Subdirs) {
			name = names.FileName(t.Subdirs[i])
		}
		i++
		c.Text("name", decode.Source{Is: decode.FileName, Of: "subdirs[].name_hash"}, name, "of the directory, when known")
		e.walk(c, depth+1)
	})
}
