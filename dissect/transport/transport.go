// Package transport splits deciphered datagrams into transport messages and
// builds them. It knows their headers, but not the game messages inside.
//
// Slices in results share memory with the datagram they come from.
package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A Type is the first byte of a transport message.
type Type uint8

// The known types. Only OpenBC's test clients send Leave.
const (
	NameChange  Type = 0x00
	Acknowledge Type = 0x01
	DoNothing   Type = 0x02
	Connect     Type = 0x03
	BootPlayer  Type = 0x04
	Disconnect  Type = 0x05
	Leave       Type = 0x06
	Standard    Type = 0x32
)

// The game's size limits.
const (
	MaxDatagram = 512 // maximum size of a datagram in bytes
	MaxMessage  = 412 // maximum size of a Standard message in bytes. A longer one is sent in fragments.
	MaxCount    = 255 // messages in a datagram
)

// Special peer ids.
const (
	HostPeer       = 0x01 // the host
	UnassignedPeer = 0xFF // a client without an id
	noPeer         = 0x5C // never assigned, since GameSpy datagrams begin with this byte
	lastPeer       = 0x7E
)

// Known reports whether t is one of the known types.
func Known(t Type) bool { return t <= Leave || t == Standard }

// Ends reports whether a message of the type ends a connection: its sender leaves,
// or the host removes the client.
func (t Type) Ends() bool { return t == BootPlayer || t == Disconnect || t == Leave }

var kinds = [...]string{
	NameChange:  "name_change",
	Acknowledge: "ack",
	DoNothing:   "keepalive",
	Connect:     "connect",
	BootPlayer:  "boot",
	Disconnect:  "disconnect",
	Leave:       "type_06",
	Standard:    "standard",
}

// Kind returns the type's name in JSON.
func (t Type) Kind() string {
	if Known(t) {
		return kinds[t]
	}
	return fmt.Sprintf("type_%02X", uint8(t))
}

// The reasons why a datagram cannot be split further.
var (
	ErrType  = errors.New("unknown transport type")
	ErrSize  = errors.New("impossible size")
	ErrShort = errors.New("datagram ends inside the message")
	ErrExtra = errors.New("bytes after the last message")
	ErrEmpty = errors.New("too short for a datagram header")
	ErrCount = errors.New("datagram announces more messages than it holds")
)

// Bits of the u16 that holds flags and size.
const (
	flagReliable = 0x8000
	flagPriority = 0x4000
	flagFragment = 0x2000 // only Standard has it
	sizeControl  = 0x3FFF
	sizeStandard = 0x1FFF
	sizeShort    = 0xFF // size field of an OpenBC short form
)

// PlainHeader is the size of the header of a Standard message without the
// reliable, priority and fragment flags.
const PlainHeader = 3

// ackHeader is the size of an acknowledgement of a whole message.
const ackHeader = 4

// Bits of an acknowledgement's flags.
const (
	ackFragment = 0x01 // the acknowledged message was a fragment
	ackControl  = 0x02 // the acknowledged message had a type below 32
)

// A Header is the header of a transport message.
type Header struct {
	Type     Type
	Len      int // length of the message in bytes, header included
	Size     int // length of the header in bytes
	Reliable bool
	Priority bool
	Short    bool // 8-bit length and no sequence number, sent by OpenBC

	HasSeq bool
	Seq    uint16 // number of the message. For Acknowledge, the number of the acknowledged message.

	Fragment bool  // for Acknowledge, whether the acknowledged message was a fragment
	Index    uint8 // index of the fragment
	Count    uint8 // number of fragments, only in fragment 0

	AckFlags uint8 // only for Acknowledge
}

// Control reports whether the message, or the acknowledged message for
// Acknowledge, belongs to the sequence space of the types below 32.
func (h *Header) Control() bool {
	if h.Type == Acknowledge {
		return h.AckFlags&ackControl != 0
	}
	return h.Type < Standard
}

// A Part is a part of a header.
type Part uint8

// The parts.
const (
	PartType     Part = iota
	PartLength        // includes the flags, except for Acknowledge
	PartSeq           // number of the message, or for Acknowledge, of the acknowledged message
	PartIndex         // index of the fragment
	PartCount         // number of fragments
	PartAckFlags      // only for Acknowledge
)

// Span returns the offsets of a part in the message. Both are 0 if the header
// does not have the part.
func (h *Header) Span(p Part) (from, to int) {
	after := PlainHeader // offset of the sequence number
	if h.HasSeq {
		after += 2
	}
	ack := h.Type == Acknowledge
	switch {
	case p == PartType:
		return 0, 1
	case p == PartLength && h.Short:
		return 1, 2
	case p == PartLength && h.Size >= PlainHeader && !ack:
		return 1, PlainHeader
	case p == PartSeq && ack:
		return 1, 3
	case p == PartSeq && h.HasSeq:
		return PlainHeader, after
	case p == PartAckFlags && ack:
		return 3, 4
	case p == PartIndex && ack && h.Fragment:
		return 4, 5
	case p == PartIndex && h.Fragment && !ack:
		return after, after + 1
	case p == PartCount && h.Fragment && h.Index == 0 && !ack:
		return after + 1, after + 2
	}
	return 0, 0
}

// A Message is one transport message.
type Message struct {
	Header
	Body []byte // after the header
}

// Next splits the first message off b. The error wraps ErrType, ErrSize or
// ErrShort with the numbers.
func Next(b []byte) (m Message, rest []byte, err error) {
	if err := m.read(b); err != nil {
		return m, b, err
	}
	m.Body = b[m.Size:m.Len:m.Len]
	return m, b[m.Len:], nil
}

// read reads the header at the start of b into h, which must be zero.
func (h *Header) read(b []byte) (err error) {
	if len(b) == 0 {
		return fmt.Errorf("%w: no byte left", ErrShort)
	}
	h.Type = Type(b[0])
	switch h.Type {
	case DoNothing:
		h.Len, h.Size = 1, 1
		return nil
	case Acknowledge:
		return h.acknowledge(b)
	case NameChange, Connect, BootPlayer, Disconnect, Leave:
		return h.control(b)
	case Standard:
		return h.long(b, sizeStandard)
	default:
		return fmt.Errorf("%w 0x%02X", ErrType, b[0])
	}
}

func (h *Header) acknowledge(b []byte) error {
	if len(b) < ackHeader {
		return short(ackHeader, len(b))
	}
	h.Seq, h.HasSeq = binary.LittleEndian.Uint16(b[1:]), true
	h.AckFlags = AckFlags(b)
	h.Len = ackHeader
	if h.AckFlags&ackFragment != 0 {
		h.Len++
		if len(b) < h.Len {
			return short(h.Len, len(b))
		}
		h.Fragment, h.Index = true, b[ackHeader]
	}
	h.Size = h.Len
	return nil
}

// control reads the header of NameChange, Connect, BootPlayer, Disconnect and
// Leave. Stock senders always set the reliable bit. If it is not set, the byte
// after the type is an 8-bit length.
func (h *Header) control(b []byte) error {
	if h.Type == Leave || len(b) < 3 || b[2]&0x80 == 0 {
		if len(b) < 2 {
			return short(2, len(b))
		}
		h.Short, h.Len, h.Size = true, int(b[1]), 2
		return h.fits(b)
	}
	return h.long(b, sizeControl)
}

// long reads a header with flags and a size. The mask limit selects the size.
func (h *Header) long(b []byte, limit uint16) error {
	if len(b) < PlainHeader {
		return short(PlainHeader, len(b))
	}
	fl := binary.LittleEndian.Uint16(b[1:])
	h.Reliable, h.Priority = fl&flagReliable != 0, fl&flagPriority != 0
	h.Fragment = fl&^limit&flagFragment != 0
	h.Len, h.Size = int(fl&limit), PlainHeader
	if h.Reliable {
		h.Size += 2
	}
	at := h.Size
	if h.Fragment {
		h.Size++
	}
	if err := h.fits(b); err != nil {
		return err
	}
	if h.Reliable {
		h.Seq, h.HasSeq = binary.LittleEndian.Uint16(b[PlainHeader:]), true
	}
	if h.Fragment {
		h.Index = b[at]
		if h.Index == 0 {
			h.Size++
			if err := h.fits(b); err != nil {
				return err
			}
			h.Count = b[at+1]
		}
	}
	return nil
}

// fits checks the size of the message against its header and the datagram.
func (h *Header) fits(b []byte) error {
	if h.Len < h.Size {
		return fmt.Errorf("%w: type 0x%02X says %d bytes, its header alone has %d", ErrSize, uint8(h.Type), h.Len, h.Size)
	}
	if h.Len > len(b) {
		return short(h.Len, len(b))
	}
	return nil
}

func short(need, have int) error {
	return fmt.Errorf("%w: need %d bytes, have %d", ErrShort, need, have)
}

// A Splitter splits a deciphered datagram into messages.
type Splitter struct {
	Peer  uint8 // the sender's peer id
	Count int   // number of messages that the datagram announces

	b    []byte
	off  int
	done int

	tried bool // whether fits is valid
	fits  bool // the rest of the datagram fits if keepalives have one byte
}

// Split starts splitting a deciphered datagram. It returns ErrEmpty if there
// are fewer than two bytes.
func Split(plain []byte) (s Splitter, err error) {
	err = s.Start(plain)
	return s, err
}

// Start starts splitting another datagram, as Split does.
func (s *Splitter) Start(plain []byte) error {
	if len(plain) < 2 {
		*s = Splitter{}
		return fmt.Errorf("%w: %d bytes", ErrEmpty, len(plain))
	}
	s.Peer, s.Count = plain[0], int(plain[1])
	s.b, s.off, s.done = plain, 2, 0
	s.tried, s.fits = false, false
	return nil
}

// Done reports whether the whole datagram has been split into exactly the
// announced number of messages.
func (s *Splitter) Done() bool { return s.done == s.Count && s.off == len(s.b) }

// Next returns the next message. At the end, ok is false. An error ends the
// datagram. Then Rest returns the remaining bytes.
func (s *Splitter) Next() (m Message, ok bool, err error) {
	m.Body, ok, err = s.Read(&m.Header)
	return m, ok, err
}

// Read works as Next, but stores the header in h, which must be zero.
func (s *Splitter) Read(h *Header) (body []byte, ok bool, err error) {
	if s.done == s.Count {
		if s.off < len(s.b) {
			return nil, false, fmt.Errorf("%w: %d", ErrExtra, len(s.b)-s.off)
		}
		return nil, false, nil
	}
	if s.off == len(s.b) {
		return nil, false, fmt.Errorf("%w: %d of %d", ErrCount, s.done, s.Count)
	}
	b := s.b[s.off:]
	if err := h.read(b); err != nil {
		return nil, false, err
	}
	s.done++
	if h.Type == DoNothing {
		s.keepalive(h)
	}
	s.off += h.Len
	return b[h.Size:h.Len:h.Len], true, nil
}

// Unreliable returns the next message if it is a complete Standard message
// without the reliable, priority and fragment flags, and its body begins with
// first. Most messages are like that. Otherwise it returns nil: use Read.
func (s *Splitter) Unreliable(first byte) []byte {
	b := s.b[s.off:]
	if len(b) <= PlainHeader || s.done == s.Count {
		return nil
	}
	head := binary.LittleEndian.Uint32(b)
	n := int(head >> 8 & sizeStandard)
	if head&^(sizeStandard<<8) != uint32(Standard)|uint32(first)<<24 || n <= PlainHeader || n > len(b) {
		return nil
	}
	return b[:n:n]
}

// Acknowledgement returns the next message if it is a complete Acknowledge.
// Otherwise it returns nil: use Read.
func (s *Splitter) Acknowledgement() []byte {
	b := s.b[s.off:]
	if s.done == s.Count || len(b) < ackHeader || Type(b[0]) != Acknowledge {
		return nil
	}
	n := ackHeader
	if AckFlags(b)&ackFragment != 0 {
		n++
	}
	if n > len(b) {
		return nil
	}
	return b[:n:n]
}

// AckFlags returns the flags of an Acknowledge, which must be complete.
func AckFlags(message []byte) uint8 { return message[ackHeader-1] }

// Skip advances past the message returned by Unreliable or Acknowledgement.
func (s *Splitter) Skip(message []byte) {
	s.done++
	s.off += len(message)
}

// Left returns how many of the announced messages have not been returned.
func (s *Splitter) Left() int { return s.Count - s.done }

// keepalive handles a DoNothing message in the long form.
func (s *Splitter) keepalive(h *Header) {
	b, left := s.b[s.off:], s.Count-s.done
	if !s.tried { // the result is valid for all later keepalives
		s.tried, s.fits = true, fits(b[h.Len:], left)
	}
	if s.fits || len(b) == h.Len {
		return
	}
	if long, ok := longKeepalive(b); ok && fits(b[long.Len:], left) {
		*h, s.fits = long, true
	}
}

// fits reports whether b consists of exactly n messages.
func fits(b []byte, n int) bool {
	for ; n > 0; n-- {
		_, rest, err := Next(b)
		if err != nil {
			return false
		}
		b = rest
	}
	return len(b) == 0
}

// longKeepalive reads a DoNothing message with the header of the other types
// below 32. The game sends a single byte. This form is read only if the
// datagram does not fit otherwise.
func longKeepalive(b []byte) (h Header, ok bool) {
	if len(b) < 5 || b[2]&0xC0 != 0xC0 {
		return h, false
	}
	h.Type = DoNothing
	return h, h.control(b) == nil
}

// Offset returns the offset of the next message in the datagram.
func (s *Splitter) Offset() int { return s.off }

// Rest returns the bytes after the last message returned.
func (s *Splitter) Rest() []byte { return s.b[s.off:] }

// Plausible reports whether a deciphered datagram belongs to this game: the
// sender id is valid, and the message list fits to the last byte. A truncated
// datagram (whole is false) must fit up to its end, and have at least one
// message.
func Plausible(plain []byte, whole bool) bool {
	s, err := Split(plain)
	if err != nil || s.Count == 0 || !PlausiblePeer(s.Peer) {
		return false
	}
	for n := 0; ; n++ {
		_, ok, err := s.Next()
		if err != nil {
			cut := errors.Is(err, ErrShort) || errors.Is(err, ErrCount)
			return !whole && cut && n > 0
		}
		if !ok {
			return true
		}
	}
}

// PlausiblePeer reports whether a sender can have the peer id. The OpenBC
// server and its clients use the same range.
func PlausiblePeer(id uint8) bool {
	return id == UnassignedPeer || id >= HostPeer && id <= lastPeer && id != noPeer
}
