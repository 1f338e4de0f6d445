package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func robustnessCases() []Case {
	return []Case{
		{ID: "X-1", players: 2, client: (*T).stranger, run: damaged},
		{ID: "X-2", players: 3, run: othersID},
		{ID: "X-3", players: 2, client: (*T).joined, run: oddNames},
		{ID: "X-4", players: 2, client: (*T).joined, run: oddSizes},
		{ID: "X-5", players: 2, client: (*T).joined, run: oddFragments},
		{ID: staying, final: playersStay},
		{ID: "X-7"}, // the program that started the server tests it
	}
}

// staying is the case about clients that stay in the game.
const staying = "X-6"

// works fails the case if the host no longer works for others.
func (t *T) works(p []*client) {
	t.lives("the host to go on for others", p[0], p[1:]...)
}

func damaged(t *T) {
	t.c.fast, t.c.deaf = true, true
	whole := cipher.Encrypt(nil, datagram(t.p[0].ID, standard(7, t.p[0].chat("damaged"))))
	const each, pause = 2000, 5
	for i := range 2 * each {
		var d []byte
		if i%2 == 0 {
			d = make([]byte, 1+t.r.random(64))
			for k := range d {
				d[k] = byte(t.r.random(256))
			}
			if d[0] == '\\' {
				d[0] = 0
			}
		} else {
			d = slices.Clone(whole)
			bit := t.r.random(8 * len(d))
			d[bit/8] ^= 1 << (bit % 8)
		}
		t.r.send(t.now(), t.c.local, d)
		if i%pause == 0 {
			t.wait(time.Millisecond)
		}
	}
	t.works(t.p)
	if _, err := t.query(`\status\`); t.r.queries {
		must(true, err)
	}
	if _, err := t.joined(); err != nil {
		t.fails(false, "a client to get in", err.Error())
	}
}

func othersID(t *T) {
	t.settle(t.p[1], t.p...)
	last, ok := t.p[1].lastData()
	need(ok, "the other client has sent nothing")
	body := t.p[1].chat("not me")
	t.p[0].repeats(datagram(t.p[1].ID, standard(last+1, body)), 50*time.Millisecond)
	t.wait(shortWait)
	t.settle(t.p[0], t.p...)
	for _, o := range t.p {
		t.none("the line not to be taken for the other's", o.lines(body))
	}
	t.works(t.p)
}

func oddNames(t *T) {
	const longest = 240 // characters that fit into a datagram of the game
	names := []string{"", "x", strings.Repeat("y", 64), "a\x01\x1b[2Jb\n", strings.Repeat("z", longest)}
	for _, name := range names {
		body := controlBody(&transport.Identity{ID: t.c.ID, Addr: t.c.Claimed, Name: wire.AppendWideTextOf(nil, name)})
		t.c.Send(t.now(), arq.Message{Type: transport.NameChange, Body: body})
		t.rests(t.c, t.soon())
		t.wait(50 * time.Millisecond)
	}
	t.works(t.p)
}

func oddSizes(t *T) {
	for _, text := range []string{"32000000", "320200", "32ff002c", "32008000002c", "00c000", "0300c00000", "04ffff0000", "0105", "01000003"} {
		t.c.raw(t.now(), datagram(t.c.ID, unhex(text)))
	}
	t.c.raw(t.now(), []byte{t.c.ID, 255})
	t.c.raw(t.now(), []byte{t.c.ID})
	t.wait(50 * time.Millisecond)
	t.works(t.p)
	t.lives("the connection to live", t.c, t.p[0])
}

// playersStay tests all clients that stayed from case to case.
func playersStay(t *T) {
	t.r.notice()
	happened(t.r.stayed, "no client was in the game from case to case")
	t.proveNone("all clients in the game until they leave", t.r.putOut)
	need(!t.r.short || t.r.lasted, "T-10 failed, so clients left before they were sent 255 numbered messages; 'conform X-6' tries longer games")
}

// lasts tries whether clients stay who were sent more than 255 numbered messages.
// On a host that doesn't count further, the clients of other cases left before. It
// reports false if that could not be tried.
func (r *runner) lasts() (tried bool) {
	t := &T{r: r}
	_ = t.steps(func(t *T) { // without an answer, X-6 is SKIP
		t.p = must(t.players(2, mostNumbers))
		if t.pass255().highest < 1<<8 {
			t.stay(untilRemoved)
		}
		tried = true
	})
	r.endAttempt(t)
	return tried
}

// stay waits until the host removes a client that stays from case to case, for
// A host may do that without a message. It then sends the client nothing
// more, and doesn't answer it, though the client repeats what it says.
func (t *T) stay(most time.Duration) {
	const keepalives = 5 * time.Second // the game's host sends something at least that often
	frames, since := map[*client]int{}, map[*client]time.Time{}
	silent := func(c *client) bool {
		if frames[c] != c.frame {
			frames[c], since[c] = c.frame, t.now()
		}
		return t.now().Sub(since[c]) > keepalives
	}
	for end := t.now().Add(most); t.until(end.Sub(t.now()), func() bool { return t.r.notice() || slices.ContainsFunc(t.p, silent) }); {
		i := slices.IndexFunc(t.p, silent)
		if i < 0 {
			return // it was removed with a message
		}
		c, answered := t.p[i], false
		for range 2 {
			answered = answered || t.acks(c).answer()
		}
		if !answered && t.r.alive() && !t.r.notice() {
			t.r.expelled[c] = true
			t.r.putOut = append(t.r.putOut, note{fmt.Sprintf("frame %d: %s was removed without a message: the host goes on, but no longer answers this client", c.frame, c.name), []int{c.frame}})
			return
		}
	}
}

// untilRemoved is how long to wait until a host that counts to 255 removes a
// client, because it knows no later acknowledgement. OpenBC sends a message again
// 8 times, with 2 s between.
const untilRemoved = 30 * time.Second

// longGame is how long [runner.lasts] takes.
const longGame = untilRemoved + 10*time.Second

func oddFragments(t *T) {
	t.settle(t.c, t.p[0])
	last, _ := t.c.lastData()
	piece := func(seq uint16, index, count uint8) []byte {
		return written(&transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: seq, Fragment: true, Index: index, Count: count}, []byte("piece"))
	}
	t.c.raw(t.now(), datagram(t.c.ID, piece(last+1, 255, 0)))
	t.c.raw(t.now(), datagram(t.c.ID, piece(last+2, 0, 0)))
	t.c.raw(t.now(), datagram(t.c.ID, piece(last+3, 0, 2), piece(last+3, 0, 3), piece(last+3, 2, 0)))
	const many, perDatagram = 255, 15
	for i := 0; i < many; i += perDatagram {
		var list [][]byte
		for k := range perDatagram {
			list = append(list, piece(last+4+uint16(i+k), 0, 3))
		}
		t.c.raw(t.now(), datagram(t.c.ID, list...))
		t.wait(20 * time.Millisecond)
	}
	t.works(t.p)
}
