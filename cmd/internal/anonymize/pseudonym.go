package anonymize

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/anonymize/cryptopan"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// pseudonyms replace values. A pseudonym depends only on the key and the value.
type pseudonyms struct {
	ip4, ip6 *cryptopan.Mapping
	text     []byte // keys for texts
	hardware []byte
	memory   map[string]string // cache of texts and their pseudonyms
	packets  []uint16          // IDs of IP packets by their original ID, nil until the first is needed
}

// newPseudonyms returns the pseudonyms of a key.
func newPseudonyms(key []byte) (*pseudonyms, error) {
	var keys [4][]byte
	for i, use := range []string{"IPv4", "IPv6", "text", "hardware"} {
		var err error
		if keys[i], err = hkdf.Key(sha256.New, key, nil, "bcdissect "+use, cryptopan.KeySize); err != nil {
			return nil, err
		}
	}
	ip4, ip6 := cryptopan.New([cryptopan.KeySize]byte(keys[0])), cryptopan.New([cryptopan.KeySize]byte(keys[1]))
	return &pseudonyms{ip4: ip4, ip6: ip6, text: keys[2], hardware: keys[3], memory: map[string]string{}}, nil
}

// ofIP replaces an address of 4 or 16 bytes in place. An IPv4-mapped IPv6
// address stays IPv4-mapped.
func (p *pseudonyms) ofIP(b []byte) {
	mapped := []byte{10: 0xff, 11: 0xff}
	switch {
	case len(b) == 16 && bytes.HasPrefix(b, mapped):
		p.ofIP(b[len(mapped):])
	case len(b) == 16:
		elsewhere(p.ip6, b)
	case !unassigned(b):
		elsewhere(p.ip4, b)
	}
}

// elsewhere maps an address to the other half of all addresses. Thus no address
// stays unchanged, and neighbouring addresses do not swap.
func elsewhere(m *cryptopan.Mapping, b []byte) {
	const half = 0x80
	first := b[0] & half
	if m.Map(b); b[0]&half == first {
		b[0] ^= half
	}
}

// unassigned reports whether an address is all zeros or all ones, which no host
// has.
func unassigned(b []byte) bool {
	return bytes.Count(b, []byte{0}) == len(b) || bytes.Count(b, []byte{0xff}) == len(b)
}

// ofHardware replaces a MAC address in place. Broadcast and multicast addresses
// stay such. Other addresses become locally administered, which no manufacturer
// assigns.
func (p *pseudonyms) ofHardware(b []byte) {
	if unassigned(b) {
		return
	}
	const group, local = 1, 2
	first := b[0]
	copy(b, mac(p.hardware, b))
	b[0] = b[0]&^group | first&group | local
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, b := range parts {
		_, _ = h.Write(b) // a hash never returns an error
	}
	return h.Sum(nil)
}

// ofText replaces a text in Windows-1252 by a text with the same length and
// shape. If talk is set, punctuation between words is kept.
func (p *pseudonyms) ofText(b []byte, talk bool) []byte {
	if len(b) == 0 {
		return nil
	}
	key := strconv.FormatBool(talk) + string(b)
	if s, ok := p.memory[key]; ok {
		return []byte(s)
	}
	out := p.shaped(b, talk, 0)
	if bytes.Equal(out, b) {
		out = p.shaped(b, talk, 1)
	}
	const most = 1 << 14
	if len(p.memory) >= most {
		clear(p.memory)
	}
	p.memory[key] = string(out)
	return out
}

// ofWide is ofText for UTF-16LE. A text that Windows-1252 can also encode gets
// the same pseudonym as there.
func (p *pseudonyms) ofWide(b []byte, talk bool) []byte {
	narrow := wire.AppendTextOf(nil, wire.WideText(b))
	if bytes.Equal(wire.AppendWideTextOf(nil, wire.Text(narrow)), b) {
		return wire.AppendWideTextOf(nil, wire.Text(p.ofText(narrow, talk)))
	}
	const cyrillic, letters = 0x430, 32
	s := p.stream([]byte("wide"), b)
	out := bytes.Clone(b)
	for i := 0; i+1 < len(out); i += 2 {
		if c := binary.LittleEndian.Uint16(out[i:]); c > ' ' {
			binary.LittleEndian.PutUint16(out[i:], cyrillic+uint16(s.below(letters)))
		}
	}
	return out
}

// marks are punctuation characters that may replace those in a name. There is
// no backslash, which would end a GameSpy value.
const marks = "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"

// alphabet returns the first of the characters that may replace c, and their
// number. For punctuation the first character is 0.
func alphabet(c byte, talk bool) (first byte, n uint64) {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a', 26
	case c >= 'A' && c <= 'Z':
		return 'A', 26
	case c >= '0' && c <= '9':
		return '0', 10
	case c >= 0xC0:
		return 0xC0, 64
	case c >= 0x80: // may also be part of a letter in UTF-8
		return 0x80, 64
	case c < ' ' && !blank(c), c == 0x7f:
		return 1, 1
	case !talk && strings.IndexByte(marks, c) >= 0:
		return 0, uint64(len(marks))
	}
	return c, 1
}

// blank reports whether a character is white space or zero.
func blank(c byte) bool { return c == 0 || c >= '\t' && c <= '\r' || c == ' ' }

// shaped replaces letters by letters, digits by digits and so on. Different
// texts with the same shape get different pseudonyms if the shape has few
// enough texts.
func (p *pseudonyms) shaped(b []byte, talk bool, tweak byte) []byte {
	shape := []byte{tweak}
	number, size, large := uint64(0), uint64(1), false
	for _, c := range b {
		first, n := alphabet(c, talk)
		shape = append(shape, first, byte(n))
		hi, lo := bits.Mul64(size, n)
		if large = large || hi > 0 || lo >= 1<<62; !large {
			size = lo
			number = number*n + place(first, c)
		}
	}
	out := bytes.Clone(b)
	switch {
	case size == 1 && !large: // only spaces, or punctuation in talk
		s := p.stream(shape, b)
		for i := range out {
			out[i] = 'a' + byte(s.below(26))
		}
	case large:
		s := p.stream(shape, b)
		for i, c := range b {
			first, n := alphabet(c, talk)
			out[i] = character(first, s.below(n))
		}
	default:
		number = p.permute(shape, number, size)
		for i := len(b) - 1; i >= 0; i-- {
			first, n := alphabet(b[i], talk)
			out[i] = character(first, number%n)
			number /= n
		}
	}
	return out
}

func place(first, c byte) uint64 {
	switch first {
	case 0:
		return uint64(max(strings.IndexByte(marks, c), 0))
	case 1:
		return 0
	}
	return uint64(c - first)
}

// ofHash replaces a hash, and ofPacketID replaces the ID of an IP packet. Equal
// values have equal pseudonyms, and 0 stays 0.
func (p *pseudonyms) ofHash(v uint32) uint32 {
	if v == 0 {
		return 0
	}
	return uint32(p.permute([]byte("hash"), uint64(v-1), 1<<32-1) + 1)
}

func (p *pseudonyms) ofPacketID(v uint16) uint16 {
	if p.packets == nil { // nearly every packet has another ID, so shuffling all IDs is faster than permute
		p.packets = make([]uint16, 1<<16)
		s := p.stream([]byte("packet"), nil)
		for i := range p.packets {
			j := 0
			if i > 0 {
				j = 1 + int(s.below(uint64(i)))
			}
			p.packets[i] = p.packets[j]
			p.packets[j] = uint16(i)
		}
	}
	return p.packets[v]
}

func character(first byte, n uint64) byte {
	if first == 0 && n < uint64(len(marks)) {
		return marks[n]
	}
	return first + byte(n)
}

// permute permutes the numbers below size and returns the one that replaces x.
// It applies a Feistel network until the result is less than size.
func (p *pseudonyms) permute(shape []byte, x, size uint64) uint64 {
	const rounds = 10
	half := (bits.Len64(size-1) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		left, right := x>>half, x&mask
		for round := range byte(rounds) {
			var in [9]byte
			in[0] = round
			binary.LittleEndian.PutUint64(in[1:], right)
			f := binary.LittleEndian.Uint64(mac(p.text, shape, in[:]))
			left, right = right, left^f&mask
		}
		if x = left<<half | right; x < size {
			return x
		}
	}
}

// A stream is a source of pseudorandom numbers.
type stream struct{ s cipher.Stream }

// stream returns the stream for a text.
func (p *pseudonyms) stream(shape, text []byte) stream {
	seed := mac(p.text, []byte("stream"), shape, text)
	block, err := aes.NewCipher(seed[:16])
	if err != nil {
		panic(err) // cannot happen, since the size of the key is correct
	}
	return stream{cipher.NewCTR(block, seed[16:])}
}

// below returns a number that is less than n.
func (s stream) below(n uint64) uint64 {
	var b [8]byte
	s.s.XORKeyStream(b[:], b[:])
	return binary.LittleEndian.Uint64(b[:]) % n
}
