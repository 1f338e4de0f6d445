package browser

import (
	"fmt"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// A follow restricts the list to a player or an object. The zero value does not
// restrict it.
type follow struct {
	label  string // text for the screen, empty for no restriction
	player int    // index of the player, -1 for none
	of     int    // index of the conversation, whose beginning belongs to the player as well
	object wire.ObjectID
}

// has reports whether a record belongs to the player or names the object.
func (f *follow) has(v *decode.Viewer, r *dissect.Record) bool {
	switch {
	case f.label == "":
		return true
	case f.object != 0:
		return r.NamesObject(v, f.object)
	case r.Player == nil:
		return r.Conversation == f.of
	}
	return r.Player.Index == f.player || f.player < 0 && r.Conversation == f.of
}

// playerOf returns the restriction to the player of a record. If the player is
// not known, it restricts the list to the conversation.
func playerOf(r *dissect.Record) follow {
	f := follow{player: -1, of: r.Conversation}
	if r.Player != nil {
		f.player = r.Player.Index
	}
	switch {
	case r.Client != "":
		f.label = "player " + clean(r.Client)
	default:
		f.label = fmt.Sprintf("conversation %d", r.Conversation)
	}
	return f
}

// objectOf returns the restriction to an object that a record names.
func objectOf(r *dissect.Record, id wire.ObjectID) follow {
	f := follow{object: id, player: -1, label: fmt.Sprintf("object 0x%08X", uint32(id))}
	if r.Session != nil {
		if name := r.Session.Object(id); name != "" {
			f.label += " (" + clean(name) + ")"
		}
	}
	return f
}
