package anonymize

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
)

// A kind is a kind of replaced values, in the order of the summary.
type kind int

const (
	hardwareAddress kind = iota
	ipv4Address
	ipv6Address
	playerName
	chatLine
	serverName
	password
	freeText
	kinds // number of kinds
)

// kindNames are the names of the kinds in the summary.
var kindNames = [kinds]string{
	"hardware addresses",
	"IPv4 addresses",
	"IPv6 addresses",
	"names of players and ships",
	"lines of chat",
	"names of servers",
	"passwords",
	"texts of unknown meaning",
}

// kindOf maps the privacy of texts to their kind.
var kindOf = map[decode.Privacy]kind{
	decode.PlayerName: playerName, decode.ChatLine: chatLine, decode.ServerName: serverName, decode.Password: password,
	decode.FreeText: freeText, decode.Public: freeText,
}

// Limits of the values that are kept for the search.
const (
	maxValues     = 1 << 18
	maxValueBytes = 64 << 20
)

// A value has facts about an original value.
type value struct {
	kind     kind
	replaced bool // the value was replaced, not only found by the witness
}

// values replaces values and keeps the original ones for the search.
type values struct {
	*pseudonyms
	keepChat bool

	originals map[string]value
	distinct  [kinds]int
	times     [kinds]int
	names     [][2][]byte     // names of players with their pseudonyms, longest first, only if chat is kept
	own       map[string]bool // texts of the game that are not private
	size      int
	forgotten int // number of values beyond the limits, which are not searched for
}

func newValues(p *pseudonyms, keepChat bool) *values {
	return &values{pseudonyms: p, keepChat: keepChat, originals: map[string]value{}, own: map[string]bool{}}
}

// note counts a value that is replaced.
func (v *values) note(k kind, original []byte) {
	v.times[k]++
	v.remember(k, original)
	if of, ok := v.originals[string(original)]; ok && !of.replaced {
		of.kind, of.replaced = k, true
		v.originals[string(original)] = of
		v.distinct[k]++
	}
}

// remember keeps a value for the search.
func (v *values) remember(k kind, original []byte) {
	if _, known := v.originals[string(original)]; known {
		return
	}
	if len(v.originals) >= maxValues || v.size+len(original) > maxValueBytes {
		v.forgotten++
		return
	}
	v.size += len(original)
	v.originals[string(original)] = value{kind: k}
}

func (v *values) hardware(b []byte) {
	if !unassigned(b) {
		v.note(hardwareAddress, b)
	}
	v.ofHardware(b)
}

func (v *values) ip(b []byte) {
	switch a, _ := netip.AddrFromSlice(b); {
	case unassigned(b):
	case a.Unmap().Is4():
		v.note(ipv4Address, a.Unmap().AsSlice())
	default:
		v.note(ipv6Address, b)
	}
	v.ofIP(b)
}

// hash replaces a hash in place.
func (v *values) hash(b []byte) {
	binary.LittleEndian.PutUint32(b, v.ofHash(binary.LittleEndian.Uint32(b)))
}

// packetID replaces the ID of an IP packet in place.
func (v *values) packetID(b []byte) {
	binary.BigEndian.PutUint16(b, v.ofPacketID(binary.BigEndian.Uint16(b)))
}

// text returns the pseudonym of a private text.
func (v *values) text(p decode.Privacy, b []byte, wide bool) []byte {
	if len(b) == 0 {
		return nil
	}
	original := canonical(b, wide)
	v.note(kindOf[p], original)
	var out []byte
	if wide {
		out = v.ofWide(b, p == decode.ChatLine)
	} else {
		out = v.ofText(b, p == decode.ChatLine)
	}
	if v.keepChat && p == decode.PlayerName {
		v.named(original)
	}
	return out
}

// named remembers a player's name for later lines of chat.
func (v *values) named(name []byte) {
	const most = 1 << 10
	if len(name) < shortest || len(v.names) >= most {
		return
	}
	at, _ := slices.BinarySearchFunc(v.names, name, func(known [2][]byte, name []byte) int {
		return cmp.Or(cmp.Compare(len(name), len(known[0])), bytes.Compare(known[0], name))
	})
	if at < len(v.names) && bytes.Equal(v.names[at][0], name) {
		return
	}
	v.names = slices.Insert(v.names, at, [2][]byte{bytes.Clone(name), v.ofText(name, false)})
}

// namesIn replaces the names of players in a line of chat that is kept.
func (v *values) namesIn(line []byte) {
	for _, name := range v.names {
		v.times[playerName] += bytes.Count(line, name[0])
		copy(line, bytes.ReplaceAll(line, name[0], name[1])) // both have the same length
	}
}

// public records a text of the game. The text does not count as private, even
// if a player has the same name.
func (v *values) public(b []byte) {
	const most = 1 << 12
	if len(v.own) < most {
		v.own[string(b)] = true
	}
}
