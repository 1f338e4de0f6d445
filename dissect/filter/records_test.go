package filter

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

var (
	client = netip.MustParseAddrPort("10.0.0.5:22102")
	host   = netip.MustParseAddrPort("192.168.0.1:22101")
	start  = time.Date(2002, 3, 1, 20, 0, 0, 0, time.UTC)
	stock  = msg.Catalog()
	shared = newIndex(stock)
)

// datagram returns the records' datagram: frame 12, 13.5 s after the start.
func datagram() *dissect.Datagram {
	return &dissect.Datagram{Number: 12, Time: start.Add(13500 * time.Millisecond), Digits: 6, Src: client, Dst: host}
}

// game returns the record of a reliable game message from a client.
func game(tb testing.TB, payload []byte, d decode.Dialect, env decode.Env) *dissect.Record {
	tb.Helper()
	r := &dissect.Record{
		Datagram: datagram(), Dir: dissect.ToHost, Peer: 3, Part: 1, Conversation: 4, Player: &dissect.Player{Index: 1, Name: "Cady2", ID: 3}, Client: "Cady2", ClientID: 3, Sender: d,
		Bytes: append([]byte{0x32, byte(5 + len(payload)), 0x80, 0x2C, 0x03}, payload...), Payload: payload,
		Spec: stock.Lookup(decode.Opcode(payload[0])),
	}
	r.Transport = transport.Header{Type: transport.Standard, Len: len(r.Bytes), Size: 5, Reliable: true, HasSeq: true, Seq: 812}
	if r.Spec == nil {
		r.Status, r.Rest = dissect.StatusUnknown, payload[1:]
		return r
	}
	res := decode.NewDecoder().Read(r.Spec, payload, d, env)
	r.SetMessage(res, payload, 1)
	switch {
	case errors.Is(r.Err, decode.ErrState):
		r.Status = dissect.StatusUnresolved
	case res.Err != nil:
		r.Status = dissect.StatusMalformed
	case len(res.Rest) > 0:
		r.Status = dissect.StatusTrailing
	}
	return r
}

// sample returns the record of a message in fixtures/messages.
func sample(tb testing.TB, name string) *dissect.Record {
	tb.Helper()
	all := messages.All(tb)
	i := slices.IndexFunc(all, func(s *messages.Sample) bool { return s.Name == name })
	if i < 0 {
		tb.Fatalf("no sample %s", name)
	}
	return game(tb, all[i].Payload, all[i].Dialect, all[i])
}

// control returns the record of a transport message without a game message.
func control(tb testing.TB, bytes ...byte) *dissect.Record {
	tb.Helper()
	m, rest, err := transport.Next(bytes)
	if err != nil || len(rest) > 0 {
		tb.Fatalf("% x: %v, rest % x", bytes, err, rest)
	}
	r := &dissect.Record{Datagram: datagram(), Dir: dissect.FromHost, Peer: 1, Bytes: bytes, Transport: m.Header}
	r.Datagram.Src, r.Datagram.Dst = host, client
	if r.Spec = transport.SpecFor(&m); r.Spec != nil {
		r.SetMessage(decode.NewDecoder().ReadBody(r.Spec, m.Body), m.Body, 0)
	}
	return r
}

// oneClass gives every ship the same class.
type oneClass struct{ c *ship.Class }

func (e oneClass) Ship(wire.ObjectID) *ship.Class          { return e.c }
func (oneClass) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

// clone returns an independent copy of a record.
func clone(tb testing.TB, r *dissect.Record) *dissect.Record {
	tb.Helper()
	k := *r
	d := *r.Datagram
	d.Payload = slices.Clone(d.Payload)
	k.Datagram = &d
	k.Bytes, k.Payload, k.Rest = slices.Clone(r.Bytes), slices.Clone(r.Payload), slices.Clone(r.Rest)
	k.Notes, k.Pieces = slices.Clone(r.Notes), slices.Clone(r.Pieces)
	if r.Message == nil {
		return &k
	}
	status, sender := k.Status, k.Sender
	if k.Payload == nil {
		body := k.Bytes[k.Transport.Size:]
		k.SetMessage(decode.NewDecoder().ReadBody(k.Spec, body), body, 0)
	} else {
		var env oneClass
		if m, ok := r.Message.(*msg.StateUpdate); ok {
			env.c = m.Class
		}
		k.SetMessage(decode.NewDecoder().Read(k.Spec, k.Payload, r.Layout, env), k.Payload, 1)
	}
	k.Status, k.Sender = status, sender
	return &k
}

// must compiles a filter for the stock catalogue.
func must(tb testing.TB, expr string) *Filter {
	tb.Helper()
	f, err := compile(expr, shared)
	if err != nil {
		tb.Fatalf("%s\n%s", err.Caret(), err.Reason())
	}
	f.Start = start
	return f
}
