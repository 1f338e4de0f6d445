package arq

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Two sides talk past the number at which counting begins again, while one
// challenges the other. Every message is acknowledged, and no datagram counts as
// a guess.
func TestSignsWhereNumbersBeginAgain(t *testing.T) {
	const around = 200 // messages before and after 65,535
	host, client := New(transport.HostPeer, Limits{}), New(2, Limits{})
	now := start
	say(t, host, now, "first")
	host.next[data] = 1<<16 - around
	client.in[data].expected = host.next[data]
	host.Abandon()
	random := rand.New(rand.NewPCG(1, 1))
	carry := func(from, to *Endpoint, arrived func(plain []byte)) {
		for {
			d, ok := from.Datagram(now, nil)
			if !ok {
				return
			}
			if arrived != nil {
				arrived(d)
			}
			for _, m := range split(t, d) {
				to.Receive(now, &m, func(*Message) {})
			}
		}
	}
	signed := 0
	for range 2 * around {
		now = now.Add(20 * time.Millisecond)
		say(t, host, now, "x")
		host.Challenge(now, random.Uint32())
		carry(host, client, nil)
		carry(client, host, func(plain []byte) {
			switch host.Signed(now, plain) {
			case FalseSign:
				t.Fatalf("number %d is next: an honest datagram counts as a guess", host.next[data])
			case TrueSign:
				signed++
			case NoSign:
			}
		})
	}
	if !host.Idle() || signed < 2*around*9/10 {
		t.Errorf("%d messages wait for acknowledgements; %d of %d rounds had a sign", host.Stats().Waiting, signed, 2*around)
	}
}
