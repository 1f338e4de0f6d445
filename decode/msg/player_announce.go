package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpPlayerAnnounce is the opcode of [PlayerAnnounce].
const OpPlayerAnnounce decode.Opcode = 0x17

var playerAnnounceSpec = decode.Spec{
	Code:       OpPlayerAnnounce,
	Name:       "PlayerAnnounce",
	Constant:   "NEW_PLAYER_IN_GAME",
	Aliases:    []string{"DeletePlayerUI"},
	Dir:        decode.FromHost,
	Broadcast:  true,
	Reliable:   true,
	Relay:      decode.RelayConsume,
	Made:       decode.MadeByState,
	Evidence:   decode.OnWire,
	Topic:      decode.TopicJoining,
	Doc:        "A player has joined the game. The layout allows for one who left, which the game's host does not send.",
	Brief:      []string{"player", "code"},
	HostFields: []decode.HostField{{Name: "dest", From: decode.HostIDs}, {Name: "player", From: decode.GivenID}},
	Harmless:   event.Harmless,
	Layout:     decode.LayoutOf[PlayerAnnounce](),
	Habits: []decode.Habit{{Dialect: decode.OpenBC, Rule: decode.Rule{
		Name: "announces-present-players",
		Text: "tells a newcomer of each player in the game with a PlayerAnnounce; the stock host announces only the newcomer",
	}}},
}

// PlayerAnnounce (NEW_PLAYER_IN_GAME) reports that a player has joined. Its
// event is NEW_PLAYER_IN_GAME or NETWORK_DELETE_PLAYER, and the destination is
// the host's game object.
type PlayerAnnounce struct{ event.Event }
