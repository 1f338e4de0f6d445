// Package relay is the host of a game as a state machine: datagrams and the
// time go in, datagrams come out. It has no socket and no clock, so that the
// program's own server, the comparison with a capture, and tests in simulated
// time are all the same code.
//
// The host lets clients in as the stock game does, sends each the game as it
// is, and forwards messages by the relay class of their [decode.Spec], byte for
// byte. It does not simulate the game: it keeps no ships' condition and counts
// no kills.
//
// Whatever anybody sends, the host's memory is bounded by its [Limits].
// A Host is not safe for concurrent use.
package relay

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// A Mode says how far the host keeps to the stock game.
type Mode uint8

// The modes.
const (
	// Strict forwards as the stock host does, without ship updates: the stock
	// host simulates the ships and sends its own.
	Strict Mode = iota
	// Playable also passes on ship updates and explosions, so that players
	// see each other although nothing simulates.
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
	Name       string // of the game, in server lists
	Mission    string // the mission's script
	Map        string // its short name, in server lists
	System     uint8  // star system, 1 to 9
	Players    int    // how many can play, 1 to MaxPlayers; 0 stands for 8
	Password   string // empty for none
	TimeLimit  uint8  // minutes; msg.Unlimited for none
	FragLimit  uint8  // kills that end the game; msg.Unlimited for none
	Collisions bool   // collisions do damage

	// Like is the dialect of the host that this one imitates when it forwards
	// and announces: decode.OpenBC, or the stock game's for any other.
	Like decode.Dialect
	// Catalog holds the game messages; nil stands for those of the game.
	Catalog *decode.Catalog
	// Banned says who is not let in, by the address that the client claims to
	// have, as the game does, and by that of its datagrams. Nil bans nobody.
	Banned func(claimed [4]byte, from netip.Addr) bool
	// PerAddress returns how many slots the clients of an address may have; nil for
	// no limit.
	PerAddress func(netip.Addr) int
	// Check returns the name of the file that a client's hashes fail for, or
	// "". Nil accepts any well-formed answer.
	Check func(answer *msg.ChecksumResponse) (failed string)
	// Limits bound memory and rates; zero fields stand for the defaults.
	Limits Limits
	// Captured says that the clients are those of a capture: their messages have
	// happened. Nobody is limited, corrected or put out for them.
	Captured bool
	// Deliver takes the messages for captured clients at once, and [Host.Take]
	// theirs, so that no datagrams are needed; nil for datagrams. The body may be
	// kept and does not change.
	Deliver func(to netip.AddrPort, m Message)
	// Departs takes each message of a captured client that a host with limits
	// changes or refuses, right before the message is passed on as it is; nil for
	// nobody.
	Departs func(netip.AddrPort, Departure)
	// Shown returns what the capture shows of a client; nil if it shows nothing.
	Shown func(netip.AddrPort) Shown
	// Public says that anybody can send to the host, with any source address. It
	// then believes less than the stock game: see docs/relay.md. It needs Random.
	Public bool
	// Proof says that a public host believes nobody who answers no challenges: see
	// [arq.Endpoint.Challenge]. OpenBC's clients can't play there.
	Proof bool
	// Random returns random numbers that nobody can foresee, for the ids of
	// clients: by using its id a client proves that it receives at its address.
	// A host on a network needs it. Nil gives the ids in order, as the stock
	// host does.
	Random func() uint32
	// Report takes every event; nil for nobody. The host waits until it returns,
	// so it must not block: a writer to a terminal or a pipe needs a queue of
	// its own that drops and counts.
	Report func(Event)
}

// Shown is what a capture shows of a client.
type Shown struct {
	ID      uint8          // that the client knows as its own, 0 for the one that this host gave it
	Slot    int            // -1 for any
	Dialect decode.Dialect // that it writes, Undecided if its messages tell
}

// Limits bound the memory and the traffic that clients can cause.
type Limits struct {
	Link LinkLimits // of each client

	Objects     int // of one client, that are kept for those who join later: 64
	ObjectBytes int // in their creations: 16 KiB

	PeerRate        Rate // datagrams of one client: 500 a second, 1,000 at once
	PeerBytes       Rate // bytes in them: 64 KiB a second, 256 KiB at once
	MessageRate     Rate // transport messages of one client, acknowledgements included: 4,000 a second, 8,000 at once
	ControlRate     Rate // messages below 32 of one client, such as its name: 1 a second, 8 at once
	GameRate        Rate // game messages of one client: 400 a second, 1,000 at once
	ReliableRate    Rate // reliable ones of a client that others hear: 100 a second, 300 at once
	ReliableBytes   Rate // bytes in them: 16 KiB a second, 64 KiB at once
	FanOut          Rate // bytes that the host sends because of one client: 256 KiB a second, 1 MiB at once
	Patience        Rate // messages of a client beyond all of these before it is put out: 20 a second, 3,000 at once
	ConnectRate     Rate // connects of one address: 1 a second, 16 at once
	BrowserRate     Rate // GameSpy queries of one address: 5 a second, 10 at once
	AllBrowserRate  Rate // GameSpy queries of all addresses: 100 a second, 200 at once
	AllBrowserBytes Rate // bytes of answers beyond four times the queries, to all addresses of a public host: 1 MiB a second, 2 MiB at once
	Addresses       int  // with remembered rates: 4,096

	// Factor bounds the bytes sent to a client until it has proved that it
	// receives at its address, and got into the game: so many times the bytes
	// that came from it, and 1 KiB once it has used the id it was given. 4.
	Factor int
	// Unproved is how long such a client is remembered, however often it asks:
	// 10 s. It has no slot.
	Unproved time.Duration
	// Joining is how long a client may take from its connect to the game: 60 s.
	Joining time.Duration
}

// Bounds of the host's patience.
const (
	forgetAfter = 2 * time.Second        // the record of a client that was turned away
	idleJoin    = 10 * time.Second       // without progress, after which a client makes room for others
	deafFor     = 30 * time.Second       // that a client sends and acknowledges nothing
	deafAndFull = 10 * time.Second       // the same, when much waits for it
	muchWaiting = 2048                   // messages that wait for one client
	quietFor    = 10 * time.Second       // without a word, after which a client is sent no more ship updates
	allowance   = 1 << 10                // bytes beyond Factor that a client is sent that has used its id: the names of others
	someWaiting = 64                     // messages that wait for a client that has proved nothing
	pendingMost = 4                      // sessions of one address that have proved nothing
	bogusMost   = 16                     // acknowledgements of messages never sent that count, of one datagram
	aheadMost   = 1 << 10                // messages that may be missing before one that came early, more than a client may send while one is repeated
	rejectAfter = 800 * time.Millisecond // from a wrong password to the next one, which is answered
	rejectEvery = 5 * time.Second        // from that answer to the next one
	pauseAtMost = time.Second            // that a session keeps silent because another one wants its place
)

// complaints is how often a host reports useless or excessive messages of one
// client.
const complaints = 20

// A Rate is how often something may happen.
type Rate struct {
	PerSecond float64
	Burst     float64 // at once, after a rest
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
	Connected  EventKind = iota // a client has an id
	Refused                     // a client was not let in; Text says why
	Named                       // a client told its name
	Ready                       // a client is in the game
	Left                        // a client left in order
	TimedOut                    // a client was silent too long
	Kicked                      // a client was put out; Text says why
	Replaced                    // a client connected anew from the same address
	Limited                     // a limit took effect; Text says which
	Ignored                     // a client's message was of no use; Text says why
	Overloaded                  // a client was put out: too much waits for it, or it acknowledges nothing
	Corrected                   // a client spoke for somebody else; Text names the correction
	Forged                      // others write a player's address as their own
	EventKinds                  // how many kinds there are
)

// Routine reports whether an event is one that strangers or a single client can
// cause as often as they like. A log may leave out repetitions of those; all
// others happen a bounded number of times, and people need each of them to know
// who is gone and why.
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

// An Event tells of one thing that happened.
type Event struct {
	Time time.Time
	Kind EventKind
	Addr netip.AddrPort
	Peer uint8  // id; 0 if it has none
	Slot int    // -1 if it has none
	Name []byte // as the client wrote it, UTF-16 little-endian; not safe for a terminal
	Text string
}

// A Phase is how far a client has come.
type Phase uint8

// The phases.
const (
	Checking Phase = iota // its files are asked for
	Loading               // it has the settings and loads the mission
	Playing               // it is in the game
	Leaving               // it has left; its acknowledgements are still repeated
)

// String returns the phase in lower case.
func (p Phase) String() string { return [...]string{"checking", "loading", "playing", "leaving"}[p&3] }

// PeerInfo describes a client for people.
type PeerInfo struct {
	Addr  netip.AddrPort
	ID    uint8
	Slot  int // -1 if it has none
	Name  []byte
	Phase Phase
	Since time.Time // it connected
	Heard time.Time // a datagram of its came
	// Proved: it has shown that it receives at its address.
	Proved  bool
	Assumed bool // it uses an id that it was not given, as OpenBC's test clients do
	OpenBC  bool // it connected as OpenBC's clients do
	Objects int  // of its that are kept for those who join later
	Link    LinkStats
}

// A Drop is the reason that a host dropped a datagram or message.
type Drop uint8

// The reasons.
const (
	DropMalformed Drop = iota // it does not split, in whole or in part
	DropStranger              // its sender is unknown and asks for nothing
	DropWrongID               // it bears another id than the client at its address
	DropForged                // a player's address and id, but no sign of the player while others use the address
	DropConnects              // more connects of an address than allowed
	DropCrowd                 // a connect that has to wait: its address has too many unfinished ones
	DropDatagrams             // more datagrams of a client than allowed
	DropBytes                 // more bytes
	DropMessages              // more transport messages, acknowledgements included
	DropControl               // more control messages, such as names
	DropGame                  // more game messages
	DropReliable              // more reliable game messages
	DropFanOut                // more than may be passed on for one client
	DropQueries               // more queries of server browsers
	DropSend                  // a datagram to somebody without a session that nobody fetched
	Drops                     // how many reasons there are
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
	Received  int // datagrams
	Sent      int // datagrams
	BytesIn   int64
	BytesOut  int64
	Malformed int // datagrams that do not split, in whole or in part
	Strangers int // datagrams of unknown senders that ask for nothing
	Limited   int // datagrams and messages that a limit dropped
	Queries   int // GameSpy queries answered
	Stateless int // connects answered without a session
	Copies    int // messages passed on, counted for each receiver

	Dropped  [Drops]int                  // by reason; the sum of the three counts above
	Events   [EventKinds]int             // by kind, those that were not reported included
	Messages [decode.RelayAnswer + 1]int // game messages taken, by relay class
}
