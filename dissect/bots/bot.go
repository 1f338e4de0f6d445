package bots

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/chance"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The times of a bot.
const (
	betweenSteps = 50 * time.Millisecond   // shortest time between two steps
	betweenBots  = 250 * time.Millisecond  // time between joins, so that bots join in order
	joinsWithin  = 30 * time.Second        // after this time the bot gives up its join
	tryAgain     = 5 * time.Second         // pause before a new join, since OpenBC refuses clients that come back sooner
	leavesWithin = 1500 * time.Millisecond // how long a leave is repeated
	goodbyeAgain = 400 * time.Millisecond  // time between the leaves of OpenBC's clients, which hosts do not acknowledge
	lostAfter    = 45 * time.Second        // silence after which the host is lost. Hosts drop players after the same time.
)

// perSecond is the most datagrams that a bot sends in a second. OpenBC's
// clients acknowledge each message in a separate datagram.
const perSecond = 200

// mostShips is the maximum number of others' ships that a bot watches at once.
const mostShips = 64

// A state is the state of a bot's session.
type state uint8

const (
	offline state = iota
	joining
	playing
	leaving
)

// A bot is one player.
type bot struct {
	run    *run
	index  int // number of the bot, from 1
	name   string
	openBC bool // dialect of the next session
	steps  func() (Step, bool)

	state        state
	since        time.Time // when the state began
	settled      time.Time // when the host had last acknowledged all that the bot sent
	until        time.Time // when the next step may begin
	again        time.Time // while offline: when it joins again after its removal, zero for never. While leaving: when it repeats its leave.
	done         bool      // it has no more steps
	client       *relay.Client
	local        netip.AddrPort
	lastReceived time.Time // time of the host's last datagram

	craft   *craft
	flown   int                       // number of ships in this session
	ceases  time.Time                 // when it stops firing its phasers, zero if it does not fire
	targets [wire.Slots]wire.ObjectID // the latest ship of each other player
	streams map[wire.ObjectID]*stream

	second time.Time // begin of the second for the limit
	sent   int       // datagrams sent in that second

	counts Player
	felt   felt
}

// connects makes the bot ask to be let in, from a new socket.
func (b *bot) connects(now time.Time) error {
	local, err := b.run.d.Open()
	if err != nil {
		return err
	}
	serial := b.run.serial
	b.run.serial++
	o := &b.run.o
	b.local, b.run.byLocal[local], b.again = local, b, time.Time{}
	b.client = relay.NewClient(relay.ClientConfig{
		// The stock host distinguishes joining clients by the address that they
		// claim.
		Name: b.name, Password: o.Password, Claimed: [4]byte{10, 2, byte(serial >> 8), byte(serial)},
		Nonce:  uint32(chance.Bits(o.Seed, uint64(b.index), 'n', uint64(serial)))>>1 + 1,
		OpenBC: b.openBC, Answer: o.answer, Enter: true, Ask: true, Deliver: b.deliver,
	})
	b.streams, b.targets, b.flown, b.lastReceived = map[wire.ObjectID]*stream{}, [wire.Slots]wire.ObjectID{}, 0, now
	b.client.Connect(now, nil)
	b.enter(joining, now)
	return nil
}

func (b *bot) enter(s state, now time.Time) { b.state, b.since = s, now }

// parts ends the session.
func (b *bot) parts(now time.Time) {
	for id := range b.streams {
		b.sum(now, id)
	}
	stats := b.client.Link()
	b.counts.Messages += stats.Sent
	b.counts.Resent += stats.Retransmitted
	b.run.d.Close(b.local)
	delete(b.run.byLocal, b.local)
	b.loses()
	b.enter(offline, now)
	b.again = time.Time{}
}

// acts performs what is due.
func (b *bot) acts(now time.Time) error {
	if b.state != offline {
		b.watches(now)
	} else if !b.again.IsZero() && !b.again.After(now) && !b.run.ending {
		if err := b.connects(now); err != nil {
			return err
		}
	}
	// The bot takes its next step unless it is joining or leaving.
	for !b.until.After(now) && !b.done && !b.run.ending && (b.state == playing || b.state == offline && b.again.IsZero()) {
		step, ok := b.steps()
		if b.done = !ok; ok {
			if err := b.does(now, step); err != nil {
				return err
			}
		}
	}
	if b.craft == nil {
		return nil
	}
	if !b.craft.next.After(now) {
		b.flies(now)
		if b.craft.next = b.craft.next.Add(updateEvery); b.craft.next.Before(now) { // the program was delayed
			b.craft.next = now.Add(updateEvery)
		}
	}
	if !b.ceases.IsZero() && !b.ceases.After(now) {
		b.stops(now)
	}
	return nil
}

// watches checks whether the bot has joined, or must leave.
func (b *bot) watches(now time.Time) {
	if b.client.Idle() {
		b.settled = now
	}
	gone := b.client.Phase == relay.ClientGone || b.client.Err != nil
	switch {
	case b.state == joining && b.client.Phase == relay.ClientPlaying:
		b.counts.Joins++
		b.feels(joinTime, now.Sub(b.since))
		b.enter(playing, now)
	case b.state == joining && (gone || now.Sub(b.since) > joinsWithin):
		b.counts.JoinsFailed++
		b.puts(now, gone)
	case b.state == playing && (gone || now.Sub(b.lastReceived) > lostAfter):
		b.counts.PutOut++
		b.puts(now, gone)
	case b.state == leaving && (b.client.Idle() && !b.client.OpenBC || now.Sub(b.since) > leavesWithin):
		b.parts(now)
	case b.state == leaving && b.client.OpenBC && !b.again.After(now):
		b.client.Leave(now)
		b.again = now.Add(goodbyeAgain)
	}
}

// puts ends the session of a removed bot and schedules its next join.
func (b *bot) puts(now time.Time, gone bool) {
	switch {
	case !gone:
		b.counts.Reason = "no answer"
	case b.client.Err != nil: // for example too many unacknowledged messages
		b.counts.Reason = b.client.Err.Error()
	case b.client.Reason >= 0:
		b.counts.Reason = names.Boot(uint8(b.client.Reason))
	default:
		b.counts.Reason = "the host has left"
	}
	b.parts(now)
	b.again = now.Add(tryAgain)
}

// does performs a step.
func (b *bot) does(now time.Time, s Step) error {
	b.until = now.Add(max(s.For, betweenSteps))
	in := b.state == playing
	if in && b.craft == nil && (s.Verb == Fly || s.Verb == Fire || s.Verb == Hit || s.Verb == Die) {
		b.creates(now)
	}
	switch s.Verb {
	case Dialect:
		b.openBC = s.Text == "openbc"
	case Join:
		if !in {
			return b.connects(now)
		}
	case Fire:
		b.fires(now, b.target())
	case Hit:
		b.hits(now, b.target())
	case Chat:
		b.counts.Lines++
		text := wire.AppendTextOf(nil, s.Text)
		b.run.says(now, b, string(text))
		b.client.Say(now, msg.OpChat, &msg.Chat{Sender: int32(b.client.ID), Text: text})
	case Die:
		b.dies(now)
	case Leave:
		b.leaves(now)
	case Fly, Wait, Repeat:
	}
	return nil
}

// restarts begins the match anew: the bot has a new ship if it had one, and forgets
// the ships of others.
func (b *bot) restarts(now time.Time) {
	flies := b.craft != nil
	b.loses()
	b.targets = [wire.Slots]wire.ObjectID{}
	if flies {
		b.creates(now)
	}
}

// leaves makes the bot leave.
func (b *bot) leaves(now time.Time) {
	if b.state == playing {
		b.counts.Leaves++
	}
	if !b.client.Idle() {
		b.run.abandons(b)
	}
	b.loses()
	b.client.Leave(now)
	b.enter(leaving, now)
	b.again = now.Add(goodbyeAgain)
}

// target returns a ship of another player, or 0 if the bot knows none.
func (b *bot) target() wire.ObjectID {
	known := slices.DeleteFunc(slices.Clone(b.targets[:]), func(id wire.ObjectID) bool { return id == 0 })
	if len(known) == 0 {
		return 0
	}
	return known[chance.Below(len(known), b.run.o.Seed, uint64(b.index), 't', uint64(b.counts.Shots))]
}

// sends sends the datagrams that are due.
func (b *bot) sends(now time.Time) {
	if now.Sub(b.second) >= time.Second {
		b.second, b.sent = now, 0
	}
	for ; b.state != offline && b.sent < perSecond; b.sent++ {
		d, ok := b.client.Datagram(now)
		if !ok {
			break
		}
		_ = b.run.d.Send(b.local, d) // Refused reports errors, and lost messages are retransmitted
	}
}

// deliver handles a message of the host.
func (b *bot) deliver(now time.Time, m *relay.Message) {
	if m.Type != transport.Standard || len(m.Body) == 0 {
		return
	}
	switch op := decode.Opcode(m.Body[0]); op {
	case msg.OpStateUpdate:
		if id, _, ok := msg.UpdateHead(m.Body); ok {
			b.sees(now, id, m.Body)
		}
	case msg.OpRestartGame:
		b.restarts(now)
	case msg.OpChat, msg.OpObjectCreateTeam, msg.OpDestroyObject:
		switch t := b.run.decoder.Read(msg.Catalog().Lookup(op), m.Body, decode.Undecided, nil).Message.(type) {
		case *msg.Chat:
			b.run.lineReceived(now, b, string(t.Text))
		case msg.Creation:
			id, _ := t.Created()
			b.meets(id)
		case *msg.DestroyObject:
			if slot, ok := t.Object.Slot(); ok && b.targets[slot] == t.Object {
				b.targets[slot] = 0
			}
		}
	}
}

// meets records a ship of another player.
func (b *bot) meets(id wire.ObjectID) {
	if slot, ok := id.Slot(); ok && slot != b.client.Slot {
		b.targets[slot] = id
	}
}
