package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpFleetOrders is the opcode of [FleetOrders].
const OpFleetOrders decode.Opcode = 0x3D

var fleetOrdersSpec = decode.Spec{
	Code:     OpFleetOrders,
	Name:     "FleetOrders",
	Constant: "FLEET_ORDERS",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.FromProse,
	Topic:    decode.TopicMatch,
	Doc:      "A player orders ships to do something.",
	Brief:    []string{"order"},
	Layout:   decode.LayoutOf[FleetOrders](),
}

// FleetOrders is FLEET_ORDERS.
type FleetOrders struct {
	Kind   uint8
	Ships  []wire.ObjectID
	Target wire.ObjectID // if Kind is 1
}

// Reset prepares the message for reuse.
func (m *FleetOrders) Reset() { *m = FleetOrders{Ships: m.Ships[:0]} }

// Walk implements [decode.Message].
func (m *FleetOrders) Walk(c *decode.Codec) {
	c.U8("order", &m.Kind, "what to do, 1 for attack")
	decode.List8(c, "ships", &m.Ships, 4, "the ships that get the order", func(s *wire.ObjectID) {
		c.Object("member", s, "a ship")
	})
	c.When(decode.Equals("order", m.Kind, 1), func() {
		c.Object("target", &m.Target, "what to attack")
	})
}
