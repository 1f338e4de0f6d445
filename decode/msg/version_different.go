package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpVersionDifferent is the opcode of [VersionDifferent].
const OpVersionDifferent decode.Opcode = 0x23

var versionDifferentSpec = decode.Spec{
	Code:     OpVersionDifferent,
	Name:     "VersionDifferent",
	Constant: "VERSION_DIFFERENT",
	Aliases:  []string{"SystemChecksumFail"},
	Dir:      decode.FromHost,
	Reliable: true,
	Made:     decode.MadeByFiles,
	Step:     decode.StepFiles,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFiles,
	Doc:      "The client has another version of the game than the host, which removes it.",
	Brief:    []string{"text"},
	Layout:   decode.LayoutOf[VersionDifferent](),
}

// VersionDifferent (VERSION_DIFFERENT) tells a client that its version of the
// game differs from the host's.
type VersionDifferent struct{ Text wire.Chars }

// Walk implements [decode.Message].
func (m *VersionDifferent) Walk(c *decode.Codec) {
	c.Str16("text", &m.Text, "version of the host")
}
