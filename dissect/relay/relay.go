// Package relay implements the host of a game as a state machine: datagrams and
// the time go in, and datagrams come out. It has no socket and no clock. The
// program's server, the comparison with a capture, and tests in simulated time
// therefore run the same code.
//
// The host lets clients in as the stock game does, sends each client the
// current state of the game, and forwards messages by the relay class of their
// [decode.Spec], byte for byte. It does not simulate the game: it does not
// track the condition of ships, and counts no kills.
//
// Whatever clients send, the host's memory is bounded by its [Limits]. A Host
// is not safe for concurrent use.
package relay

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// A Mode tells how closely the host follows the stock game.
type Mode uint8

// The modes.
const (
	// Strict forwards what the stock host forwards. That excludes ship updates,
	// since the stock host simulates the ships and sends its own updates.
	Strict Mode = iota
	// Playable also passes on ship updates and explosions, so that players see
	// each other although the host simulates nothing.
	Playable
)

// String returns the mode in lower case.
func (m Mode) String() string {
	if m == Playable {
		return "playable"
	}
	return "strict"
}

// MaxPlayers is the number of slots.
const MaxPlayers = 16

// A Config describes a game.
type Config struct {
	Mode       Mode
	Name       string // name of the game in server lists
	Mission    string // the mission's script, such as Multiplayer.Episode.Mission1.Mission1
	Map        string // short name of the mission in server lists
	System     uint8  // star system, 1 to 9
	Players    int    // how many can play, 1 to MaxPlayers. 0 means 8.
	Password   string // empty if there is none
	TimeLimit  uint8  // in minutes, or msg.Unlimited
	FragLimit  uint8  // kills that end the game, or msg.Unlimited
	Collisions bool   // collisions do damage

	// Like is the dialect of the hosts that this one imitates when it forwards and
	// announces. Any dialect other than decode.OpenBC means the stock game.
	Like decode.Dialect
	// Catalog has the game messages. Nil means the game's catalogue.
	Catalog *decode.Catalog
	// Banned reports whether to refuse a client. Its arguments are the address
	// that the client claims to have, which the game checks, and the source
	// address of its datagrams. Nil bans no client.
	Banned func(claimed [4]byte, from netip.Addr) bool
	// PerAddress returns how many slots the clients of an address may have. Nil
	// means no limit.
	PerAddress func(netip.Addr) int
	// Check returns the name of the file for which a client's hashes are wrong, or
	// "". Nil accepts any well-formed answer.
	Check func(answer *msg.ChecksumResponse) (failed string)
	// Limits bound memory and rates. Zero fields mean the defaults.
	Limits Limits
	// Captured means that the clients are those of a capture, whose messages have
	// already been sent. No client is limited, corrected or removed because of
	// them.
	Captured bool
	// Deliver, if not nil, gets the messages for captured clients at once, so that
	// there are no datagrams. Their messages then come by [Host.Take]. The body
	// may be kept and does not change.
	Deliver func(to netip.AddrPort, m Message)
	// Departs, if not nil, is called with each message of a captured client that a
	// host with limits changes or refuses. The call comes right before the message
	// is passed on unchanged, and no other departure comes in between.
	Departs func(netip.AddrPort, Departure)
	// Shown returns what the capture shows of a client. Nil means nothing.
	Shown func(netip.AddrPort) Shown
	// Public means that anyone can send to the host, with any source address. The
	// host then checks more than the stock game: see docs/relay.md. It needs
	// Random.
	Public bool
	// Proof means that a public host trusts only clients that answer challenges:
	// see [arq.Endpoint.Challenge]. OpenBC's clients cannot play there.
	Proof bool
	// Random returns unpredictable random numbers for the ids of clients. By using
	// its id, a client proves that it receives at its address, so a host on a
	// network needs Random. If Random is nil, ids are given in order, as the stock
	// host does.
	Random func() uint32
	// Report, if not nil, is called with every event. The host waits until it
	// returns, so it must not block. A writer to a terminal or a pipe therefore
	// needs a queue that drops and counts events.
	Report func(Event)
}

// Shown is what a capture shows of a client.
type Shown struct {
	ID      uint8          // id that the client has for itself, 0 if it is the one that this host gives
	Slot    int            // -1 for any slot
	Dialect decode.Dialect // dialect of its messages, Undecided to detect it
}

// Limits bound the memory and the traffic that clients can cause.
type Limits struct {
	Link LinkLimits // limits of each client's link

	Objects     int // objects of one client that are kept for those who join later: 64
	ObjectBytes int // bytes of their creations: 16 KiB

	PeerRate        Rate // datagrams of one client: 500 a second, 1,000 at once
	PeerBytes       Rate // bytes in them: 64 KiB a second, 256 KiB at once
	MessageRate     Rate // transport messages of one client, acknowledgements included: 4,000 a second, 8,000 at once
	ControlRate     Rate // messages below 32 of one client, such as its name: 1 a second, 8 at once
	GameRate        Rate // game messages of one client: 400 a second, 1,000 at once
	ReliableRate    Rate // reliable game messages of a client that are passed on: 100 a second, 300 at once
	ReliableBytes   Rate // bytes in these: 16 KiB a second, 64 KiB at once
	FanOut          Rate // bytes that the host sends because of one client: 256 KiB a second, 1 MiB at once
	Patience        Rate // messages of a client beyond all these limits before it is removed: 20 a second, 3,000 at once
	ConnectRate     Rate // connects of one address: 1 a second, 16 at once
	BrowserRate     Rate // GameSpy queries of one address: 5 a second, 10 at once
	AllBrowserRate  Rate // GameSpy queries of all addresses: 100 a second, 200 at once
	AllBrowserBytes Rate // bytes of answers in excess of four times the queries, to all addresses of a public host: 1 MiB a second, 2 MiB at once
	Addresses       int  // addresses with remembered rates: 4,096

	// Factor limits the bytes sent to a client before it has proved that it
	// receives at its address and got into the game. The limit is Factor times the
	// bytes that came from it, and 1 KiB more once it has used the id it was
	// given. Default: 4.
	Factor int
	// Unproved is how long such a client is remembered, however often it asks. It
	// has no slot. Default: 10 s.
	Unproved time.Duration
	// Joining is how long a client may take from its connect to the game. Default:
	// 60 s.
	Joining time.Duration
}

// Limits of time and of waiting messages.
const (
	forgetAfter = 2 * time.Second        // how long a refused client is remembered
	idleJoin    = 10 * time.Second       // a client without progress for so long makes room for others
	deafFor     = 30 * time.Second       // longest time in which a client sends messages and acknowledges none
	deafAndFull = 10 * time.Second       // the same if many messages wait for it
	muchWaiting = 2048                   // how many waiting messages of a client count as many
	quietFor    = 10 * time.Second       // a client that is silent for so long is sent no more ship updates
	allowance   = 1 << 10                // bytes in excess of Factor for a client that has used its id, since it is sent the others' names
	someWaiting = 64                     // waiting messages for a client that has proved nothing
	pendingMost = 4                      // sessions of one address that have proved nothing
	bogusMost   = 16                     // how many acknowledgements of messages never sent count in one datagram
	aheadMost   = 1 << 10                // how many messages may be missing before an early one. It is more than a client may send while one message is repeated.
	rejectAfter = 800 * time.Millisecond // shortest time from a wrong password to the next one that is answered
	rejectEvery = 5 * time.Second        // time from that answer to the next one
	pauseAtMost = time.Second            // how long a session pauses because another one wants to replace it
)

// complaints is how many reports of useless or excessive messages a host makes
// for one client.
const complaints = 20

// A Rate is how often something may happen.
type Rate struct {
	PerSecond float64
	Burst     float64 // how often at once after a pause
}

func (l Limits) orDefault() Limits {
	number := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	rate := func(p *Rate, perSecond, burst float64) {
		if *p == (Rate{}) {
			*p = Rate{perSecond, burst}
		}
	}
	number(&l.Objects, 64)
	number(&l.ObjectBytes, 16<<10)
	rate(&l.PeerRate, 500, 1000)
	rate(&l.PeerBytes, 64<<10, 256<<10)
	rate(&l.MessageRate, 4000, 8000)
	rate(&l.ControlRate, 1, 8)
	rate(&l.GameRate, 400, 1000)
	rate(&l.ReliableRate, 100, 300)
	rate(&l.ReliableBytes, 16<<10, 64<<10)
	rate(&l.FanOut, 256<<10, 1<<20)
	rate(&l.Patience, 20, 3000)
	rate(&l.ConnectRate, 1, 16)
	rate(&l.BrowserRate, 5, 10)
	rate(&l.AllBrowserRate, 100, 200)
	rate(&l.AllBrowserBytes, 1<<20, 2<<20)
	number(&l.Addresses, 4096)
	number(&l.Factor, 4)
	if l.Unproved == 0 {
		l.Unproved = 10 * time.Second
	}
	if l.Joining == 0 {
		l.Joining = 60 * time.Second
	}
	return l
}

// An EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	Connected  EventKind = iota // a client was given an id
	Refused                     // a client was not let in. Text has the reason.
	Named                       // a client sent its name
	Ready                       // a client is in the game
	Left                        // a client left with a leave message
	TimedOut                    // a client was silent for too long
	Kicked                      // a client was removed. Text has the reason.
	Replaced                    // a client connected again from the same address
	Limited                     // a limit took effect. Text names it.
	Ignored                     // a client's message was useless. Text has the reason.
	Overloaded                  // a client was removed because too many messages wait for it, or because it acknowledges nothing
	Corrected                   // a client used another's identity. Text names the correction.
	Forged                      // datagrams with a player's address are forged
	EventKinds                  // number of kinds
)

// Routine reports whether strangers or a single client can cause such events as
// often as they like. A log may drop repetitions of these. All other events are
// limited in number, and people need each of them to know who has left and why.
func (k EventKind) Routine() bool {
	return k == Refused || k == Limited || k == Ignored || k == Corrected || k == Named
}

// String returns the kind in lower case.
func (k EventKind) String() string {
	names := [...]string{
		"connected", "refused", "named", "ready", "left", "timed-out", "kicked", "replaced", "limited", "ignored", "overloaded",
		"corrected", "forged",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// An Event reports what happened on the host.
type Event struct {
	Time time.Time
	Kind EventKind
	Addr netip.AddrPort
	Peer uint8  // id, or 0 if it has none
	Slot int    // slot, or -1 if it has none
	Name []byte // as the client sent it, in UTF-16 little-endian. Escape it for a terminal.
	Text string
}

// A Phase is a client's progress.
type Phase uint8

// The phases.
const (
	Checking Phase = iota // the host asks for the hashes of its files
	Loading               // it has the settings and loads the mission
	Playing               // it is in the game
	Leaving               // it has left, but its messages are still acknowledged
)

// String returns the phase in lower case.
func (p Phase) String() string { return [...]string{"checking", "loading", "playing", "leaving"}[p&3] }

// PeerInfo describes a client.
type PeerInfo struct {
	Addr  netip.AddrPort
	ID    uint8
	Slot  int // slot, or -1 if it has none
	Name  []byte
	Phase Phase
	Since time.Time // when it connected
	Heard time.Time // when its last datagram came
	// Proved means that it receives at its address.
	Proved  bool
	Assumed bool // it uses an id that it was not given, as OpenBC's test clients do
	OpenBC  bool // it connected as OpenBC's clients do
	Objects int  // number of its objects that are kept for those who join later
	Link    LinkStats
}

// A Drop is the reason why a host dropped a datagram or message.
type Drop uint8

// The reasons.
const (
	DropMalformed Drop = iota // all or part of it does not split
	DropStranger              // the sender is unknown and does not ask to be let in
	DropWrongID               // its id differs from the id of the client at its address
	DropForged                // it has a player's address and id, but no proof while the address is forged
	DropConnects              // too many connects of an address
	DropCrowd                 // a connect that has to wait, since its address has too many unfinished ones
	DropDatagrams             // too many datagrams of a client
	DropBytes                 // too many bytes
	DropMessages              // too many transport messages, acknowledgements included
	DropControl               // too many control messages, such as names
	DropGame                  // too many game messages
	DropReliable              // too many reliable game messages
	DropFanOut                // too many bytes to pass on for one client
	DropQueries               // too many queries of server browsers
	DropSend                  // a datagram to an address without a session that was not fetched by Send
	Drops                     // number of reasons
)

// String returns the reason in lower case, as one word.
func (d Drop) String() string {
	return [...]string{
		"malformed", "stranger", "wrong-id", "forged", "connects", "crowd", "datagrams", "bytes", "messages", "control", "game",
		"reliable", "fan-out", "queries", "send", "unknown",
	}[min(d, Drops)]
}

// Stats count a host's traffic and events.
type Stats struct {
	Received  int // datagrams received
	Sent      int // datagrams sent
	BytesIn   int64
	BytesOut  int64
	Malformed int // datagrams of which all or part does not split
	Strangers int // datagrams of unknown senders that do not ask to be let in
	Limited   int // datagrams and messages that a limit dropped
	Queries   int // GameSpy queries answered
	Stateless int // connects answered without a session
	Copies    int // messages passed on, counted for each receiver

	Dropped  [Drops]int                  // by reason. The sum is Malformed, Strangers and Limited.
	Events   [EventKinds]int             // by kind, including events that were not reported
	Messages [decode.RelayAnswer + 1]int // game messages taken, by relay class
}
