package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Rule is a documented behaviour in which hosts of a dialect differ from the
// stock game's.
type Rule struct {
	Name string // for scripts
	Text string // for people
}

// Rules of OpenBC.
var (
	ruleReady     = &Rule{"passes-client-ready", "passes ClientReady on to the other players; the stock host does not"}
	ruleCollision = &Rule{"passes-collision", "passes CollisionEffect on to the other players; the stock host does not"}
	ruleExplosion = &Rule{"passes-explosion", "passes a client's Explosion on to the other players; the stock host does not"}
	ruleEvent     = &Rule{"passes-host-event", "passes a client's HostEvent on to the other players; the stock host does not"}
	ruleDestroy   = &Rule{"passes-destroy-object", "passes a client's DestroyObject on to the other players; the stock host does not"}
	ruleState     = &Rule{"passes-state-update", "passes ship updates on as they are, but for those of subsystems alone; the stock host simulates the ships and sends its own"}
	rulePresent   = &Rule{"announces-present-players", "tells a newcomer of each player in the game with a PlayerAnnounce; the stock host announces the newcomer alone"}
	ruleEnter     = &Rule{"no-verify-enter-set", "sends no VerifyEnterSet when a ship is created; the stock host sends one to every player"}
	ruleUnknown   = &Rule{"answers-unknown-object", "answers a request for an object that it does not know with VerifyEnterSet; the stock host is silent"}
	ruleChat      = &Rule{"chat-sender-is-slot", "writes the sender's slot into chat lines; the stock host passes them on as they are"}
	ruleTeamChat  = &Rule{"team-chat-to-all", "sends team chat to all players; the stock host sends it to the team"}
	ruleLoading   = &Rule{"copies-while-loading", "passes messages on to players that are still loading; the stock host waits until they are ready"}
	ruleObjects   = &Rule{"objects-while-loading", "sends a newcomer the ships with the Settings; the stock host sends them when it is ready"}
	ruleOwner     = &Rule{"own-creations-only", "drops creations that name a slot other than the sender's; the stock host passes them on"}
	ruleTeam      = &Rule{"team-not-echoed", "does not send Team back to its sender; the stock host does"}
	rulePriority  = &Rule{"class-of-copies", "sends copies without priority, StateUpdate always unreliable and all others reliable; the stock host copies both from the original"}
	ruleRestart   = &Rule{"passes-restart", "lets the first player restart the game; the stock host alone restarts it"}
	ruleNames     = &Rule{"names-not-passed-on", "tells nobody the names of others; the stock host passes NameChange on to everybody"}
	ruleLeave     = &Rule{"leave-not-passed-on", "tells of a leave with game messages of its own; the stock host passes Disconnect on, names the player, and lets the ship explode"}
	ruleShots     = &Rule{"drops-unread-shots", "drops TorpedoFire and PulseFire that it cannot read in its own layout; the stock host passes them on"}
	ruleCloak     = &Rule{"refuses-cloak-and-warp", "passes StartCloaking and StartWarp on only if its own idea of the ship allows it; the stock host always does"}
	ruleFragments = &Rule{"fragments-in-order-only", "loses messages if their fragments come doubled or out of order; the stock host reassembles them"}
	ruleScores    = &Rule{"scores-while-loading", "sends scores with the Settings, the newcomer's own included; the stock host sends those of others when it is ready"}
	ruleRequest   = &Rule{"answers-by-slot", "answers a request for an object with the last ship of the player that owns its range; the stock host with that object or not at all"}
	ruleStrange   = &Rule{"other", "differs as hosts of its kind do, in a way that is not described"}
)

// deviationOf names the rule behind the two models' disagreement about a
// message. how is the captured host's difference from the stock host.
func deviationOf(x *expect, how string) *Rule {
	if x.typ != transport.Standard {
		switch x.typ {
		case transport.NameChange:
			return ruleNames
		case transport.Disconnect:
			return ruleLeave
		case transport.Acknowledge, transport.DoNothing, transport.Connect, transport.BootPlayer, transport.Leave, transport.Standard:
		}
		return ruleStrange
	}
	if x.src != nil && x.src.kind == Left {
		return ruleLeave
	}
	if x.src != nil && x.src.broken && how == "missing" {
		return ruleFragments
	}
	if how == "differs" {
		if x.op == msg.OpChat || x.op == msg.OpTeamChat {
			return ruleChat
		}
		if x.alt != nil && (x.alt.reliable != x.reliable || x.alt.priority != x.priority) {
			return rulePriority
		}
		return ruleStrange
	}
	copied := x.src != nil && x.src.op == x.op && x.src.client != x.to
	switch x.op {
	case msg.OpClientReady:
		return ruleReady
	case msg.OpCollisionEffect:
		return ruleCollision
	case msg.OpExplosion:
		return ruleExplosion
	case msg.OpHostEvent:
		return ruleEvent
	case msg.OpDestroyObject:
		return ruleDestroy
	case msg.OpStateUpdate:
		return ruleState
	case msg.OpPlayerAnnounce:
		if how == "extra" && x.src != nil && x.src.client != x.to {
			return ruleLoading
		}
		return rulePresent
	case msg.OpVerifyEnterSet:
		if how == "missing" {
			return ruleEnter
		}
		return ruleUnknown
	case msg.OpRestartGame:
		return ruleRestart
	case msg.OpTeam:
		if x.src != nil && x.src.client == x.to {
			return ruleTeam
		}
	case msg.OpTeamChat:
		return ruleTeamChat
	case msg.OpObjectCreate, msg.OpObjectCreateTeam:
		if copied && how == "missing" {
			return ruleOwner
		}
		if x.src != nil && x.src.op == msg.OpRequestObject {
			return ruleRequest
		}
		if !copied {
			return ruleObjects
		}
	case msg.OpTorpedoFire, msg.OpPulseFire:
		if how == "missing" {
			return ruleShots
		}
	}
	if how == "extra" && copied {
		return ruleLoading
	}
	return ruleStrange
}

// refusal returns the rule by which an OpenBC host passes a message on to
// nobody, because of its own state of the ship. It explains nothing if anybody
// got a copy.
func refusal(c *comparer, x *expect) *Rule {
	if c.sender != decode.OpenBC || c.models == stockModel || x.typ != transport.Standard || x.src == nil || x.src.op != x.op || x.src.matched > 0 {
		return nil
	}
	if x.op == msg.OpStartCloaking || x.op == msg.OpStartWarp {
		return ruleCloak
	}
	return nil
}
