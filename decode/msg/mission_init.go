package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// OpMissionInit is the opcode of [MissionInit].
const OpMissionInit decode.Opcode = 0x35

var missionInitSpec = decode.Spec{
	Code:       OpMissionInit,
	Name:       "MissionInit",
	Constant:   "MISSION_INIT",
	Dir:        decode.FromHost,
	Reliable:   true,
	Step:       decode.StepEnter,
	Evidence:   decode.OnWire,
	Topic:      decode.TopicMatch,
	Doc:        "The rules of the mission, for a client that joins.",
	Brief:      []string{"system", "player_limit", "time_limit", "frag_limit"},
	HostFields: []decode.HostField{{Name: "end_time", From: decode.HostClock}},
	Harmless:   []string{"player_limit", "system", "time_limit", "end_time", "frag_limit"},
	Layout:     decode.LayoutOf[MissionInit](),
}

// Unlimited is the value for no limit.
const Unlimited = 255

// MissionInit holds the rules of the mission.
type MissionInit struct {
	PlayerLimit uint8
	System      uint8
	TimeLimit   uint8
	EndTime     int32 // absent if TimeLimit is Unlimited
	FragLimit   uint8
}

// Walk implements [decode.Message].
func (m *MissionInit) Walk(c *decode.Codec) {
	c.U8("player_limit", &m.PlayerLimit, "how many can play")
	decode.Enum8(c, "system", &m.System, names.Systems, "star system, which is the map")
	decode.Enum8(c, "time_limit", &m.TimeLimit, names.Limits, "minutes, 255 for none")
	c.When(decode.Differs("time_limit", m.TimeLimit, Unlimited), func() {
		c.I32("end_time", &m.EndTime, "when the game ends, in seconds of the game clock")
	})
	decode.Enum8(c, "frag_limit", &m.FragLimit, names.Limits, "kills that end the game, 255 for none")
}
