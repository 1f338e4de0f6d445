package wireshark

import (
	"bytes"
	_ "embed" // for the template
	"fmt"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

//go:embed plugin.lua
var pluginTemplate string

// Plugin writes the Lua file for Wireshark. The version is for its first lines.
// The file loads the engine at the given path, or the engine in its own folder
// if the path is empty.
func Plugin(w io.Writer, version, engine string) error {
	t := newTable(nil)
	var opcodes, kinds bytes.Buffer
	c := msg.Catalog()
	for op := range 256 {
		if s := c.Lookup(decode.Opcode(op)); s != nil && !s.CatchAll {
			fmt.Fprintf(&opcodes, "\t[%d] = %q,\n", op, s.Name)
		}
		if k := transport.Type(op); transport.Known(k) {
			fmt.Fprintf(&kinds, "\t[%d] = %q,\n", op, k.Kind())
		}
	}
	var list bytes.Buffer
	for i, e := range experts {
		fmt.Fprintf(&list, "\t[%d] = ProtoExpert.new(%q, %q, expert.group.%s, expert.severity.%s),\n",
			i, prefix+"expert."+e.name, e.text, e.group, e.severity)
	}
	number := func(n any) string { return fmt.Sprint(n) }
	_, err := strings.NewReplacer(
		"@VERSION@", strings.Map(printable, version), "@SUM@", number(t.sum), "@ANYONE@", number(uint32(wire.Anyone)), "@ENGINE@", strings.ReplaceAll(engine, `\`, `\\`), "@MAGIC@", magic,
		"@FOOTER@", number(footerSize), "@ITEM@", number(itemSize),
		"@EXPERT@", number(idExpert), "@SAME@", number(sameText), "@PART@", number(partText), "@FIELDS@\n", luaOf(t.fields), "@EXPERTS@\n", list.String(),
		"@OPCODES@\n", opcodes.String(), "@KINDS@\n", kinds.String(),
		"@STANDARD@", number(uint8(transport.Standard)), "@ACK@", number(uint8(transport.Acknowledge)),
		"@KEEPALIVE@", number(uint8(transport.DoNothing)), "@LEAVE@", number(uint8(transport.Leave)),
		"@PLAYER@", number(t.player.id), "@PEER@", number(t.byName["peer"].id), "@MESSAGE@", number(t.message.id), "@NAME@", number(t.byName["name"].id),
	).WriteString(w, pluginTemplate)
	return err
}

// printable maps control characters to -1, so that they are removed.
func printable(r rune) rune {
	if r < ' ' || r == 0x7F {
		return -1
	}
	return r
}

// luaOf returns the Lua calls that define fields.
func luaOf(fields []*field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "field(%d, %q, %q, %q, %q", f.id, formNames[f.form], f.name, f.title, f.doc)
		switch {
		case len(f.values) > 0:
			b.WriteString(", {")
			for i, v := range f.values {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "[%d] = %q", v.value, v.name)
			}
			b.WriteString("}")
		case f.onParent:
			fmt.Fprintf(&b, ", nil, %q", besideOf(f))
		case f.unit != "" && f.form != formGroup:
			fmt.Fprintf(&b, ", nil, nil, %q", f.unit)
		case f.flags != nil:
			b.WriteString(", nil, nil, nil, {")
			for bit, name := range f.flags {
				if name != "" {
					fmt.Fprintf(&b, "[%d] = %q, ", bit, name)
				}
			}
			b.WriteString("}")
		}
		b.WriteString(")\n")
	}
	return b.String()
}

// besideOf returns the format in which the value of a field is appended to the
// value of its parent, which is slot 3.
func besideOf(f *field) string {
	if f.form == formUint && strings.HasSuffix(f.name, "_slot") {
		return "slot %s"
	}
	return "%s"
}
