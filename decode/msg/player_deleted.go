package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpPlayerDeleted is the opcode of [PlayerDeleted].
const OpPlayerDeleted decode.Opcode = 0x18

var playerDeletedSpec = decode.Spec{
	Code:      OpPlayerDeleted,
	Name:      "PlayerDeleted",
	Constant:  "DELETE_PLAYER_FROM_GAME",
	Aliases:   []string{"DeletePlayerAnim"},
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Relay:     decode.RelayConsume,
	Made:      decode.MadeByLeave,
	Evidence:  decode.FromGame,
	Topic:     decode.TopicLeaving,
	Doc:       "A player has left. The host sends it to the others after every kind of leave, and their games show it on the screen.",
	Brief:     []string{"name"},
	Layout:    decode.LayoutOf[PlayerDeleted](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The length of the name has 16 bits.",
		Common:  true,
		Layout:  decode.LayoutOf[PlayerDeletedOpenBC](),
	}},
}

// PlayerDeleted (DELETE_PLAYER_FROM_GAME) reports that a player has left.
type PlayerDeleted struct{ Name wire.Chars }

// Walk implements [decode.Message].
func (m *PlayerDeleted) Walk(c *decode.Codec) {
	c.Private(decode.PlayerName, func() { c.Str32("name", &m.Name, "player name") })
}

// PlayerDeletedOpenBC is the form that the OpenBC server sends.
type PlayerDeletedOpenBC struct{ Name wire.Chars }

// Walk implements [decode.Message].
func (m *PlayerDeletedOpenBC) Walk(c *decode.Codec) {
	c.Private(decode.PlayerName, func() { c.Str16("name", &m.Name, "player name") })
}
