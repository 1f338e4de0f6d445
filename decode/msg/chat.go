package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpChat is the opcode of [Chat].
const OpChat decode.Opcode = 0x2C

var chatSpec = decode.Spec{
	Code:     OpChat,
	Name:     "Chat",
	Constant: "CHAT",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayEcho,
	Evidence: decode.OnWire,
	Topic:    decode.TopicTalk,
	Doc:      "A player says something to all. The author sees it when the copy comes back.",
	Brief:    []string{"sender", "text"},
	Harmless: []string{"sender"},
	Layout:   decode.LayoutOf[Chat](),
	Habits:   []decode.Habit{slotAsSender},
}

// slotAsSender is the habit of OpenBC's hosts with chat.
var slotAsSender = decode.Habit{Dialect: decode.OpenBC, Rule: decode.Rule{
	Name: "chat-sender-is-slot",
	Text: "writes the sender's slot into chat lines; the stock host passes them on unchanged",
}}

// Chat is a line of chat.
type Chat struct {
	Sender int32
	Text   wire.Chars
}

// Walk implements [decode.Message].
func (m *Chat) Walk(c *decode.Codec) {
	c.Player32("sender", &m.Sender, decode.Speaker, "the author: the network id, from an OpenBC host the slot")
	c.Private(decode.ChatLine, func() { c.Str16("text", &m.Text, "the chat line") })
}
