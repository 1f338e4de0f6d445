package match_test

import (
	"io"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/acmi"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// FuzzBuilder gives game messages of any content to a builder, from a client
// and from the host in turn. For any content, references are valid, tracks are
// finite and in order, and every report can be written.
func FuzzBuilder(f *testing.F) {
	for _, name := range fixtures.Glob(f, "messages/*.hex") {
		f.Add(fixtures.Hex(f, strings.TrimPrefix(name, "messages/")), uint8(3))
	}
	f.Add([]byte("\x1c\xff\xff\xff\x3f\x00\x00\x00\x00\x01\xff\xff\xff\xff\xca\xf2\x49\x71\x00\x00\xc0\x7f\x20"), uint8(2))
	host, client := netip.MustParseAddrPort("10.0.0.1:22101"), netip.MustParseAddrPort("10.0.0.2:1000")
	f.Fuzz(func(t *testing.T, message []byte, step uint8) {
		b := match.New(time.Time{})
		p := dissect.New(dissect.Config{Ports: []uint16{22101}})
		at := time.Unix(1000, 0)
		for n := range 6 {
			d := &dissect.Datagram{Number: n + 1, Time: at, Src: client, Dst: host}
			peer := byte(2)
			if n%2 == 1 {
				d.Src, d.Dst, peer = host, client, 1
			}
			if n > 3 { // other bytes of the same message
				message = append([]byte(nil), message...)
				for i := int(step) % 7; i < len(message); i += 1 + int(step)%5 {
					message[i] ^= byte(n)
				}
			}
			length := len(message) + 5
			if length >= 1<<13 {
				return
			}
			plain := append([]byte{peer, 1, 0x32, byte(length), byte(length >> 8), 0, 0}, message...)
			d.Payload = cipher.Encrypt(nil, plain)
			d.Full = len(d.Payload)
			if err := p.Push(d, b.Record); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Duration(step) * 50 * time.Millisecond)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		all := b.Matches()
		for _, m := range all {
			wellFormed(t, m)
		}
		for _, err := range []error{
			ndjson.Session(io.Discard, all, match.Evenings{League: match.League(all)}, true),
			table.Session(io.Discard, all, match.League(all), table.SessionOptions{}),
			table.Session(io.Discard, all, nil, table.SessionOptions{Events: true}),
			acmi.Write(io.Discard, all),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// wellFormed checks the rules for every match.
func wellFormed(t *testing.T, m *match.Match) {
	t.Helper()
	player := func(i int) {
		t.Helper()
		if i < match.NoPlayer || i >= len(m.Players) {
			t.Fatalf("player %d of %d", i, len(m.Players))
		}
	}
	life := func(i int) {
		t.Helper()
		if i < match.NoLife || i >= len(m.Lives) {
			t.Fatalf("life %d of %d", i, len(m.Lives))
		}
	}
	deaths := 0
	for i := range m.Kills {
		k := &m.Kills[i]
		player(k.Victim)
		player(k.Killer)
		life(k.Life)
		for _, a := range k.Assists {
			player(a.Player)
		}
		if k.Victim >= 0 {
			deaths++
		}
	}
	for i := range m.Players {
		deaths -= m.Players[i].Deaths
	}
	if deaths != 0 {
		t.Fatalf("%d more losses than deaths", deaths)
	}
	for i := range m.Shots {
		player(m.Shots[i].Player)
		life(m.Shots[i].Life)
		life(m.Shots[i].Target)
	}
	for i := range m.Lives {
		l := &m.Lives[i]
		player(l.Player)
		player(l.Killer)
		if l.End < l.Begin {
			t.Fatalf("life %d ends at %v and begins at %v", i, l.End, l.Begin)
		}
		for n, s := range l.Track {
			if n > 0 && s.T < l.Track[n-1].T {
				t.Fatalf("life %d: time goes back to %v", i, s.T)
			}
			for _, x := range s.At {
				if math.IsNaN(float64(x)) || math.Abs(float64(x)) > 1e6 {
					t.Fatalf("life %d is at %v", i, s.At)
				}
			}
		}
	}
	for i := range m.Events {
		player(m.Events[i].Player)
		if i > 0 && m.Events[i].T < m.Events[i-1].T {
			t.Fatalf("event %d comes too late", i)
		}
	}
}
