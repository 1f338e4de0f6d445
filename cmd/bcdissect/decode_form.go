package main

import (
	"errors"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A form is a way to decode bytes, such as an enciphered datagram.
type form struct {
	kind string
	push func(p *dissect.Pipeline, d *dissect.Datagram, b []byte, emit func(*dissect.Record) error) error
	cut  bool // the bytes are only the beginning of the form
}

var (
	enciphered = form{kind: "datagram", push: func(p *dissect.Pipeline, d *dissect.Datagram, b []byte, emit func(*dissect.Record) error) error {
		return p.PushPlain(d, cipher.Decrypt(nil, b), emit)
	}}
	clear           = form{kind: "deciphered datagram", push: (*dissect.Pipeline).PushPlain}
	encipheredStart = form{"datagram that is cut short", enciphered.push, true}
	clearStart      = form{"deciphered datagram that is cut short", clear.push, true}
	gameSpy         = form{kind: "GameSpy datagram", push: func(p *dissect.Pipeline, d *dissect.Datagram, _ []byte, emit func(*dissect.Record) error) error {
		return p.Push(d, emit)
	}}
	message      = form{kind: "transport message", push: (*dissect.Pipeline).PushMessage}
	messageStart = form{"transport message that is cut short", message.push, true}
	gamePayload  = form{kind: "game payload", push: (*dissect.Pipeline).PushPayload}
)

// decode decodes bytes in the form with a pipeline.
func (f *form) decode(p *dissect.Pipeline, b []byte, emit func(*dissect.Record) error) error {
	d := uncaptured(b)
	if f.cut {
		d.Full = packet.FullUnknown
	}
	return f.push(p, d, b, emit)
}

// uncaptured returns a datagram that is not from a capture. Its addresses differ, so
// its peer ID determines the sender.
func uncaptured(b []byte) *dissect.Datagram {
	nowhere := netip.IPv4Unspecified()
	return &dissect.Datagram{Number: 1, Src: netip.AddrPortFrom(nowhere, 0), Dst: netip.AddrPortFrom(nowhere, 1), Payload: b, Full: len(b)}
}

// forced returns the form that a value of --as selects.
func forced(cfg dissect.Config, as string, b []byte) form {
	switch as {
	case "message":
		if starts(cfg, b) {
			return messageStart
		}
		return message
	case "payload":
		return gamePayload
	}
	if b[0] == '\\' {
		return gameSpy
	}
	plain := cipher.Decrypt(nil, b)
	switch {
	case transport.Plausible(plain, true):
		return enciphered
	case transport.Plausible(b, true):
		return clear
	}
	if f, ok := cut(cfg, b, encipheredStart, clearStart); ok {
		return f
	}
	return enciphered
}

// clearForm returns the form of a datagram that is not enciphered.
func clearForm(b []byte) form {
	if split, err := transport.Split(b); err == nil && endsEarly(&split) {
		return clearStart
	}
	return clear
}

// guess finds the form of bytes. It prefers a form that decodes all bytes, then
// one that decodes truncated bytes, then one that splits into messages. If none
// does, certain is false.
func guess(cfg dissect.Config, b []byte) (f form, certain bool) {
	if b[0] == '\\' {
		return gameSpy, true
	}
	var splits []form
	if transport.Plausible(cipher.Decrypt(nil, b), true) {
		splits = append(splits, enciphered)
	}
	if transport.Plausible(b, true) {
		splits = append(splits, clear)
	}
	if _, rest, err := transport.Next(b); err == nil && len(rest) == 0 {
		splits = append(splits, message)
	}
	for _, f := range append(splits, gamePayload) {
		if decodes(f, cfg, b) {
			return f, true
		}
	}
	if len(splits) > 0 {
		return splits[0], true
	}
	if f, ok := cut(cfg, b, messageStart, clearStart, encipheredStart); ok {
		return f, true
	}
	return gamePayload, false
}

// cut returns the first of the forms that the bytes can be the beginning of.
func cut(cfg dissect.Config, b []byte, forms ...form) (f form, ok bool) {
	for _, f := range forms {
		plain := b
		switch f.kind {
		case messageStart.kind:
			if starts(cfg, b) {
				return f, true
			}
			continue
		case encipheredStart.kind:
			plain = cipher.Decrypt(nil, b)
		}
		split, err := transport.Split(plain)
		if err == nil && split.Count > 0 && transport.PlausiblePeer(split.Peer) && endsEarly(&split) &&
			(split.Offset() > datagramHeader || starts(cfg, split.Rest())) && decodes(f, cfg, b) {
			return f, true
		}
	}
	return f, false
}

// datagramHeader is the number of bytes before the first message of a datagram.
const datagramHeader = 2

// endsEarly reads the messages of a datagram, and reports whether it ends
// before the end of the last message that it announces.
func endsEarly(split *transport.Splitter) bool {
	for {
		_, ok, err := split.Next()
		if err != nil {
			return errors.Is(err, transport.ErrShort) || errors.Is(err, transport.ErrCount)
		}
		if !ok {
			return false
		}
	}
}

// starts reports whether bytes are the beginning of a longer transport message
// with plausible content.
func starts(cfg dissect.Config, b []byte) bool {
	m, _, err := transport.Next(b)
	if !errors.Is(err, transport.ErrShort) || m.Short {
		return false
	}
	if m.Type != transport.Standard {
		return m.Reliable || m.Type == transport.Acknowledge && m.Len > 0
	}
	if m.Size == 0 || m.Size >= len(b) || m.Fragment && m.Index > 0 {
		return false
	}
	catalog := cfg.Catalog
	if catalog == nil {
		catalog = msg.Catalog()
	}
	spec := catalog.Lookup(decode.Opcode(b[m.Size]))
	return spec != nil && spec.Known() && !spec.CatchAll
}

// decodes reports whether a form decodes all bytes, or all that truncated bytes
// contain. A message that only lacks session state counts as decoded.
func decodes(f form, cfg dissect.Config, b []byte) bool {
	ok := true
	// The only error would be from the function below, which returns none.
	_ = f.decode(dissect.New(cfg), b, func(r *dissect.Record) error {
		if r.Kind == dissect.KindPayload && r.Spec != nil && r.Spec.CatchAll {
			ok = false // any bytes would decode
		}
		switch r.Status {
		case dissect.StatusMalformed:
			ok = ok && r.Cut
		case dissect.StatusTrailing, dissect.StatusUnknown:
			ok = false
		case dissect.StatusOK, dissect.StatusPending, dissect.StatusDuplicate, dissect.StatusUnresolved:
		}
		return nil
	})
	return ok
}
