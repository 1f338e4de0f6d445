package tracelog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

var obcMagic = []byte("OBCTRACE")

const (
	obcHeader      = 8    // bytes of a record's header
	obcLongest     = 4096 // maximum length of a payload in bytes when the program that writes the log reads it back
	ticksPerSecond = 30
)

// payloads reads a trace of OpenBC's battle test: the game messages that its
// clients sent and received, without transport messages and addresses.
type payloads struct {
	r      *bufio.Reader
	offset int64 // offset of the next record
	remark func(string)
}

func newPayloads(r io.Reader, remark func(string)) *payloads {
	remark("a trace of game messages: it holds no transport messages, no addresses (port N is the test's client N), and no clock (30 ticks are a second)")
	return &payloads{r: bufio.NewReaderSize(r, 2*obcLongest), remark: remark}
}

// Next implements [Log].
func (p *payloads) Next(r *Record) error {
	if p.offset == 0 {
		n, err := p.r.Discard(len(obcMagic))
		if err != nil {
			return err
		}
		p.offset = int64(n)
	}
	head, err := p.r.Peek(obcHeader)
	if err != nil {
		return p.ended(len(head), err)
	}
	tick, kind, slot := binary.LittleEndian.Uint32(head), head[4], head[5]
	size := int(binary.LittleEndian.Uint16(head[6:]))
	if kind != 'S' && kind != 'R' {
		return &DamageError{p.offset, fmt.Sprintf("a record is marked S or R, not 0x%02X", kind)}
	}
	if size > obcLongest {
		return &DamageError{p.offset, fmt.Sprintf("a message of %d bytes; the longest is %d", size, obcLongest)}
	}
	record, err := p.r.Peek(obcHeader + size)
	if err != nil {
		return p.ended(len(record), err)
	}
	_, _ = p.r.Discard(len(record)) // peeked before, so it cannot fail. The bytes stay in place until the next peek.
	p.offset += int64(len(record))
	*r = Record{}
	r.Form, r.Payload, r.Full = packet.FromHost, record[obcHeader:], size
	r.Time, r.Digits = time.Unix(0, int64(tick)*int64(time.Second)/ticksPerSecond).UTC(), 3
	client := netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(slot))
	if r.Src, r.Dst = own, client; kind == 'S' {
		r.Src, r.Dst, r.Form = client, own, packet.FromClient
	}
	return nil
}

// ended returns the error for a log that ends some bytes after the last
// complete record.
func (p *payloads) ended(some int, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if some > 0 {
		p.remark(fmt.Sprintf("the last record is cut short: skipped its %d bytes", some))
		p.offset += int64(some)
	}
	return io.EOF
}
