package dissect_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A scene is a sequence of datagrams in a form for fuzzing: for each a byte for
// sender and receiver, one for the elapsed time, two for the length, and the
// deciphered bytes.
type scene []byte

func (s scene) add(d *dissect.Datagram, clientPort uint16) scene {
	who := byte(0)
	if d.Src.Port() != clientPort && d.Src.Port() == host.Port() {
		who = 1
	}
	s = append(s, who, 1)
	s = binary.LittleEndian.AppendUint16(s, uint16(len(d.Payload)))
	if len(d.Payload) > 0 && d.Payload[0] == '\\' {
		return append(s, d.Payload...)
	}
	return append(s, cipher.Decrypt(nil, d.Payload)...)
}

// datagrams returns the datagrams of a scene, at most 200.
func (s scene) datagrams() (all []*dissect.Datagram) {
	now := start
	for len(s) >= 4 && len(all) < 200 {
		who, wait, size := s[0], s[1], int(binary.LittleEndian.Uint16(s[2:]))%2048
		s = s[4:]
		plain := s[:min(size, len(s))]
		s = s[len(plain):]
		now = now.Add(time.Duration(int8(wait)) * 300 * time.Millisecond)
		payload := bytes.Clone(plain)
		if len(plain) > 0 && plain[0] != '\\' {
			payload = cipher.Encrypt(nil, plain)
		}
		from := netip.AddrPortFrom(client.Addr(), client.Port()+uint16(who>>1&7))
		d := &dissect.Datagram{Number: len(all) + 1, Time: now, Digits: 6, Src: from, Dst: host, Payload: payload, Full: len(payload)}
		if who&1 != 0 {
			d.Src, d.Dst = d.Dst, d.Src
		}
		if who&0x80 != 0 { // truncated by the snap length
			d.Payload = payload[:len(payload)/2]
		}
		all = append(all, d)
	}
	return all
}

// FuzzSession pushes datagrams of several players through a pipeline with
// narrow limits. Every byte is accounted for, there are at most as many records
// as bytes, and memory is bounded by the input. A second pipeline, one with its
// borrowed memory overwritten, and one that takes batches all give the same
// records.
func FuzzSession(f *testing.F) {
	for _, name := range []string{"stock_replay.pcap", "join_flow.pcap", "gamespy.pcap", "lossy.pcap", "restart.pcap", "opcode_tour.pcap", "stock_client.pcap"} {
		held := hold(f, name)
		for len(held) > 0 {
			n := min(len(held), 40)
			var s scene
			for _, d := range held[:n] {
				s = s.add(d, d.Dst.Port())
			}
			f.Add([]byte(s), uint8(0))
			held = held[n:]
		}
	}
	limits := dissect.DefaultLimits()
	limits.Conversations, limits.Games, limits.Objects, limits.Tracks = 4, 2, 8, 4
	limits.Fragments.Groups, limits.Fragments.Bytes = 3, 4<<10
	f.Fuzz(func(t *testing.T, s []byte, how uint8) {
		cfg := dissect.Config{Dialect: decode.Dialect(how % 3), Limits: limits}
		if how&4 != 0 {
			cfg.Ports = []uint16{host.Port()}
		}
		all := scene(s).datagrams()
		size, records := 0, 0
		a := accounting{t: t}
		var first []string
		spent := fixtures.Allocated(func() {
			first = tellAll(t, cfg, all, func(r *dissect.Record) { records++; a.record(r) }, kept)
		})
		a.finish()
		for _, d := range all {
			size += len(d.Payload)
		}
		// A message has at least one byte. A datagram may add a record for its
		// malformed end, and evicted state came in earlier messages.
		if most := 2*size + 2*len(all); records > most {
			t.Errorf("%d records of %d bytes in %d datagrams", records, size, len(all))
		}
		if most := uint64(8<<20 + 4096*(size+64*len(all))); spent > most {
			t.Errorf("%d bytes were allocated for %d", spent, size)
		}
		for _, way := range []way{kept, overwritten, batched} {
			again := tellAll(t, cfg, all, func(*dissect.Record) {}, way)
			for i := range min(len(first), len(again)) {
				if first[i] != again[i] {
					t.Fatalf("%d: got\n%s, then\n%s", way, first[i], again[i])
				}
			}
			if len(again) != len(first) {
				t.Fatalf("%d: got %d records, then %d", way, len(first), len(again))
			}
		}
	})
}

// A way is a way to push datagrams into a pipeline.
type way int

const (
	kept        way = iota // one by one, from memory that stays unchanged
	overwritten            // one by one, with all borrowed memory overwritten as early as allowed
	batched                // in batches
)

// tellAll pushes datagrams through a new pipeline and returns its records.
func tellAll(t *testing.T, cfg dissect.Config, all []*dissect.Datagram, f func(*dissect.Record), how way) (told []string) {
	t.Helper()
	p := dissect.New(cfg)
	var v decode.Viewer
	emit := func(r *dissect.Record) error {
		f(r)
		w := new(fieldText)
		r.Visit(&v, w)
		told = append(told, fmt.Sprintf("%d %v %d %d %v %d %v %v %v %v %v %v %v %q %d %x %x %x %v", r.Datagram.Number, r.Kind, r.Part, r.Offset, r.Dir, r.Peer,
			r.Status, r.Layout, r.Sender, r.Pieces, r.Err, r.Notes, r.Cut, r.Client, r.ClientID, r.Bytes, r.Payload, r.Rest, w))
		if how == overwritten && r.Kind != dissect.KindGameSpy {
			scribble(r.Payload)
			r.Notes = nil
		}
		return nil
	}
	var b dissect.Batch
	for i, d := range all {
		lent := *d
		lent.Payload = bytes.Clone(d.Payload)
		if how == batched {
			if !b.Add(&lent) {
				t.Fatal("no room for a few datagrams")
			}
			scribble(lent.Payload)
			if b.Len() < 7 && i < len(all)-1 {
				continue
			}
			b.Decipher()
			if err := p.PushBatch(&b, emit); err != nil {
				t.Fatal(err)
			}
			b.Reset()
			continue
		}
		if err := p.Push(&lent, emit); err != nil {
			t.Fatal(err)
		}
		if how == overwritten {
			scribble(lent.Payload)
		}
	}
	if err := p.Flush(emit); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Datagrams != len(all) || s.Other > s.Datagrams {
		t.Errorf("got %+v of %d datagrams", s, len(all))
	}
	return told
}

func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0xA5
	}
}

// fieldText writes fields as text.
type fieldText struct{ bytes.Buffer }

func (w *fieldText) Field(f *decode.Field) {
	fmt.Fprintf(w, " %s %d-%d %v %d %d %v %v %q", f.Name, f.Off, f.End, f.Kind, f.Uint, f.Int, f.Float, f.Vec, f.Bytes)
}
func (w *fieldText) Begin(g *decode.Group) { fmt.Fprintf(w, " %s{", g.Name) }
func (w *fieldText) End(*decode.Group)     { w.WriteString(" }") }
