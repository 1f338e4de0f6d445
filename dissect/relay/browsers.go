package relay

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
)

// Queries can have a forged source address, whose owner then gets the answers.
// So in ten seconds the host sends a network at most one full answer and four
// times the bytes of its queries.
const (
	quotaFor     = 10 * time.Second
	quotas       = 1 << 16 // size of the table of quotas. Networks with the same place in it share a quota.
	answerFactor = 4

	shortestAnswer = len(`\final\\queryid\1.1`)
)

// A quota is how much a network was sent in excess of four times its queries.
type quota struct {
	used int32
	last int32 // seconds since the host began
}

// networkOf returns the network of an address that shares a quota. An address
// that is not routed, such as a private one, is its own network.
func networkOf(a netip.Addr) netip.Addr {
	if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || !a.Is4() {
		return a
	}
	b := a.As4()
	b[3] = 0
	return netip.AddrFrom4(b)
}

// hash returns a number that others cannot predict.
func (h *Host) hash(addr netip.AddrPort) uint64 {
	for len(h.secret) < sha256.Size {
		h.secret = binary.LittleEndian.AppendUint32(h.secret, h.cfg.Random())
	}
	ip := addr.Addr().As16()
	b := append(h.secret[:sha256.Size:sha256.Size], ip[:]...)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint16(b, addr.Port()))
	return binary.LittleEndian.Uint64(sum[:])
}

// quotasOf returns the current quotas of an address's network. The network has
// used as much as the lowest of them: others may share one, but hardly all.
func (h *Host) quotasOf(from netip.Addr) (list [2]*quota, now int32) {
	if h.quotas == nil {
		h.quotas = make([]quota, quotas)
	}
	hash := h.hash(netip.AddrPortFrom(networkOf(from), 0))
	now = int32(h.now.Sub(h.start)/time.Second) + 1 // 0 stands for never
	for i := range list {
		list[i] = &h.quotas[hash>>(32*i)%quotas]
		if q := list[i]; q.last == 0 || now-q.last > int32(quotaFor/time.Second) {
			q.used = 0
		}
	}
	return list, now
}

// answerPublic answers a query to a public host.
func (h *Host) answerPublic(from netip.AddrPort, query gamespy.Message, size int) {
	list, now := h.quotasOf(from.Addr())
	used := int(min(list[0].used, list[1].used))
	if used > 0 && used+shortestAnswer-answerFactor*size > h.fullAnswer {
		h.drop(DropQueries)
		return
	}
	game := h.gameInfo()
	h.fullAnswer = sizeOf(gamespy.Answer(gamespy.Parse([]byte(`\packets\`)), game, h.queries+1))
	answer := gamespy.Answer(query, game, h.queries+1)
	beyond := sizeOf(answer) - answerFactor*size
	if beyond > 0 && (used+beyond > h.fullAnswer || !h.allBytes.take(h.now, float64(beyond))) {
		h.drop(DropQueries)
		return
	}
	if beyond > 0 {
		for _, q := range list {
			q.used, q.last = max(q.used, int32(used+beyond)), now
		}
	}
	h.stats.Queries++
	h.queries++
	for _, d := range answer {
		h.sendDirect(from, d)
	}
}

// sizeOf returns the size of datagrams in bytes.
func sizeOf(datagrams [][]byte) (n int) {
	for _, d := range datagrams {
		n += len(d)
	}
	return n
}
