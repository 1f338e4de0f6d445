package anonymize

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

const (
	shortest = 3 // minimum bytes of a text to search for
	searched = 4 // minimum bytes of the form of a value to search for, since shorter ones occur everywhere by chance
)

// A hit is an occurrence of an original value in a datagram of the output.
type hit struct {
	lo, hi  int  // range of bytes in the payload
	address bool // the value is an address of four bytes, which numbers may contain by chance
}

// A check searches an output for original values. It does not decode messages.
// It compares all bytes, enciphered and deciphered, with each value in each
// encoding.
type check struct {
	byStart map[[searched]byte][]form
	starts  [1 << 16]bool // indexed by the first two bytes of a form
	values  int           // number of values that are searched for
	skipped int           // number of values that are too short or words of the game

	hits  map[int][]hit // indexed by frame of the output
	drops map[int]bool  // frames with a value outside their payload
}

// A form is a value in one encoding.
type form struct {
	text    string
	address bool
}

// newCheck prepares the search for values in all their encodings.
func newCheck(v *values) *check {
	c := &check{byStart: map[[searched]byte][]form{}}
	for text, of := range v.originals {
		switch of.kind {
		case hardwareAddress:
			c.add(text, false)
			for _, divider := range []string{":", "-"} {
				digits := strings.ReplaceAll(net.HardwareAddr(text).String(), ":", divider)
				c.add(digits, false)
				c.add(strings.ToUpper(digits), false)
			}
		case ipv4Address, ipv6Address:
			a, _ := netip.AddrFromSlice([]byte(text))
			if !a.IsLoopback() { // every machine has these addresses, and acknowledgements of message 127 look like them
				c.add(text, true)
				reversed := []byte(text)
				slices.Reverse(reversed)
				c.add(string(reversed), true)
			}
			c.addText(a.String())
		default:
			if len(text) < shortest || plain(text) || v.isOwn(text) {
				c.skipped++
				continue
			}
			c.addText(text)
		}
		c.values++
	}
	return c
}

// addText adds a text in Windows-1252 in the encodings that programs use. A
// text that is too short is searched for together with the length byte before
// it.
func (c *check) addText(text string) {
	wide := wire.AppendWideTextOf(nil, wire.Text([]byte(text)))
	c.add(string(wide), false)
	big := bytes.Clone(wide)
	for i := 0; i+1 < len(big); i += 2 {
		big[i], big[i+1] = big[i+1], big[i]
	}
	c.add(string(big), false)
	if len(text) >= searched {
		c.add(text, false)
		c.add(string(wire.AppendText(nil, []byte(text))), false)
		c.add(hex.EncodeToString([]byte(text)), false)
		if narrow := wideLetters(text); narrow != "" {
			c.add(narrow, false)
		}
		return
	}
	c.add(string(byte(len(text)))+text, false)
	c.add(string(byte(len(text)))+"\x00"+text, false)
	c.add(string(byte(len(text)+1))+"\x00\x00\x00"+text, false)
}

// wideLetters converts a UTF-16 text to UTF-8. Names with characters that
// Windows-1252 lacks are such texts. For other texts it returns "".
func wideLetters(text string) string {
	if len(text)%2 != 0 || strings.IndexByte(text, 0) < 0 && !slices.ContainsFunc([]byte(text), func(b byte) bool { return b < ' ' }) {
		return ""
	}
	var units []uint16
	for i := 0; i < len(text); i += 2 {
		units = append(units, uint16(text[i])|uint16(text[i+1])<<8)
	}
	return string(utf16.Decode(units))
}

// plain reports whether a text has too few letters and digits to identify
// anybody.
func plain(text string) bool {
	n := 0
	for _, b := range []byte(text) {
		if b > ' ' && b != 0x7f {
			n++
		}
	}
	return n < shortest
}

// isOwn reports whether a text is part of a text of the game that was kept.
func (v *values) isOwn(text string) bool {
	if gamespy.Own([]byte(text)) {
		return true
	}
	for own := range v.own {
		if strings.Contains(own, text) {
			return true
		}
	}
	return false
}

func (c *check) add(text string, address bool) {
	if len(text) < searched {
		return
	}
	start := [searched]byte([]byte(text))
	for _, f := range c.byStart[start] {
		if f.text == text {
			return
		}
	}
	c.byStart[start] = append(c.byStart[start], form{text, address && len(text) == searched})
	c.starts[uint16(text[0])|uint16(text[1])<<8] = true
}

// in calls found for each value in b.
func (c *check) in(b []byte, found func(hit)) {
	for i := 0; i+searched <= len(b); i++ {
		if !c.starts[uint16(b[i])|uint16(b[i+1])<<8] {
			continue
		}
		for _, f := range c.byStart[[searched]byte(b[i:])] {
			if bytes.HasPrefix(b[i:], []byte(f.text)) {
				found(hit{i, i + len(f.text), f.address})
			}
		}
	}
}

// File, Section, Interface and Block implement [capture.Tap]. They do nothing:
// the output has no block or option from the input except the resolution of
// times.
func (c *check) File(int)                     {}
func (c *check) Section([]byte)               {}
func (c *check) Interface(*capture.Interface) {}
func (c *check) Block(uint32, []byte)         {}

// Frame implements [capture.Tap].
func (c *check) Frame(f *capture.Frame) {
	drop := func(hit) { c.drops[f.Number] = true }
	c.in(f.Options, drop)
	if f.Datagram == nil || f.Payload < 0 {
		c.in(f.Data, drop)
		return
	}
	payload := f.Datagram.Payload
	c.in(f.Data[:f.Payload], drop)
	c.in(f.Data[f.Payload+len(payload):], drop)
	keep := func(h hit) { c.hits[f.Number] = append(c.hits[f.Number], h) }
	c.in(payload, keep)
	if !isText(payload) {
		c.in(cipher.Decrypt(nil, payload), keep)
	}
}

func isText(payload []byte) bool { return bytes.HasPrefix(payload, []byte{'\\'}) }

// file searches a file.
func (c *check) file(name string) error {
	c.hits, c.drops = map[int][]hit{}, map[int]bool{}
	src, err := capture.OpenTapped([]string{name}, nil, c)
	if err != nil {
		if errors.Is(err, capture.ErrEmpty) {
			return nil
		}
		return err
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	for _, end := range dissect.Datagrams(src) {
		err = end
	}
	return err
}

// clean copies a file without the values that were found in it. It blanks the
// messages that contain them, or drops the frame if there is no such message.
// If again is set, it drops the frames in all cases.
func (j *Job) clean(name string, to io.WriteCloser, again bool) error {
	c := j.check
	for n := range c.hits {
		if again {
			c.drops[n] = true
		}
	}
	j.dropped += len(c.drops)
	out := capture.NewCopy(name, to, capture.CopyOptions{Hold: true, Keep: func(f *capture.Frame) bool { return !c.drops[f.Number] }})
	src, err := capture.OpenTapped([]string{name}, nil, out)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	for d, end := range dissect.Datagrams(src) {
		if err = end; err != nil {
			break
		}
		if hits := c.hits[d.Number]; hits != nil && !c.drops[d.Number] {
			out.Held().SetPayload(without(bytes.Clone(d.Payload), hits))
			j.wounded++
		}
		out.Release()
	}
	return errors.Join(err, out.Close())
}

// without returns a payload without values. It replaces the message around a
// text by zeros, and the bytes of an address as well.
func without(payload []byte, hits []hit) []byte {
	if isText(payload) {
		for _, h := range hits {
			clear(payload[max(h.lo, 1):h.hi])
		}
		return payload
	}
	plain := cipher.Decrypt(nil, payload)
	split, err := transport.Split(plain)
	const header = 2 // sender ID and number of messages
	end := header
	for err == nil {
		m, ok, bad := split.Next()
		if !ok || bad != nil {
			break
		}
		lo, hi := end+m.Size, end+m.Len
		end = hi
		for _, h := range hits {
			switch {
			case h.hi <= lo || h.lo >= hi:
			case h.address:
				clear(plain[max(h.lo, lo):min(h.hi, hi)])
			case m.Type == transport.Standard && !m.Fragment && hi > lo:
				clear(plain[lo+1 : hi]) // keeps the opcode
			default:
				clear(plain[lo:hi])
			}
		}
	}
	clear(plain[min(end, len(plain)):])
	return cipher.Encrypt(nil, plain)
}

// Verify searches the written file for original values in all encodings. If it
// finds one, it writes a copy without the value to another file and searches
// that. It returns the name of a file without any values.
func (j *Job) Verify(name string, create func() (string, io.WriteCloser, error)) (verified string, err error) {
	const most = 5 // maximum number of copies, of which the second and later drop all frames with a value
	j.check = newCheck(j.w.values)
	for round := range most {
		if err := j.check.file(name); err != nil {
			return "", err
		}
		if len(j.check.hits) == 0 && len(j.check.drops) == 0 {
			return name, nil
		}
		next, to, err := create()
		if err != nil {
			return "", err
		}
		if err := j.clean(name, to, round > 0); err != nil {
			return "", err
		}
		name = next
	}
	return "", fmt.Errorf("the output still has original values after %d copies; please report this with the command", most)
}
