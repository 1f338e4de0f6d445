package query

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/gamespy"
)

// The ports on which the game's clients search for servers on the local
// network.
const (
	FirstPort = 22101
	LastPort  = 22201
)

// mostServers is the maximum number of servers listed. Anybody on the network
// can answer from many addresses.
const mostServers = 256

// Networks returns the addresses at which servers on the local network receive
// a query: the broadcast addresses of this computer's networks, and the
// computer itself.
func Networks() []netip.Addr {
	to := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	all, err := net.Interfaces()
	if err != nil {
		return to
	}
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagBroadcast == 0 {
			continue
		}
		addrs, _ := i.Addrs() // an interface that has just been removed has none
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				to = appendBroadcast(to, n)
			}
		}
	}
	return to
}

// appendBroadcast appends the broadcast address of an IPv4 network.
func appendBroadcast(to []netip.Addr, n *net.IPNet) []netip.Addr {
	ip, ones := n.IP.To4(), 0
	if ip != nil {
		ones, _ = n.Mask.Size()
	}
	if ip == nil || len(n.Mask) != net.IPv4len || ones > 30 { // networks of two computers have no broadcast address
		return to
	}
	var all [4]byte
	for i := range all {
		all[i] = ip[i] | ^n.Mask[i]
	}
	if addr := netip.AddrFrom4(all); !slices.Contains(to, addr) {
		to = append(to, addr)
	}
	return to
}

// LAN queries all servers on the local network, one round for each try. It
// returns the game's servers by address, and the number of servers that are not
// listed.
func LAN(ctx context.Context, to []netip.Addr, o Options) (servers []Result, left int, err error) {
	found := map[netip.AddrPort]*Result{}
	others := map[netip.AddrPort]bool{}
	rounds := 0
	for range o.Retries + 1 {
		before := reset(found)
		sent, e := round(ctx, to, o.Timeout, found, others)
		if sent > 0 {
			rounds++
		}
		if settle(found, before, rounds); e != nil {
			err = e
		}
		if ctx.Err() != nil {
			break
		}
	}
	for at, r := range found {
		if r.Reply.Complete() && strange(r) != nil || at.Addr().IsLoopback() && twice(found, at.Port()) {
			continue
		}
		if !r.Reply.Complete() {
			r.Err = fmt.Errorf("%s: %w", r.Host, verdict(r, nil, nil, o))
		}
		servers = append(servers, *r)
	}
	slices.SortFunc(servers, func(a, b Result) int { return a.Addr.Compare(b.Addr) })
	if rounds > 0 {
		err = nil // some of the networks may reject broadcasts
	}
	return servers, len(others), err
}

// twice reports whether a server on this computer has also answered from its
// address in a network.
func twice(found map[netip.AddrPort]*Result, port uint16) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		addr, _ := netip.AddrFromSlice(n.IP)
		addr = addr.Unmap()
		return !addr.IsLoopback() && found[netip.AddrPortFrom(addr, port)] != nil
	})
}

// reset removes incomplete answers for another round, since the parts of its
// answers have another number. It returns the removed answers.
func reset(found map[netip.AddrPort]*Result) (before map[netip.AddrPort]Result) {
	before = map[netip.AddrPort]Result{}
	for at, r := range found {
		if !r.Reply.Complete() {
			before[at] = *r
			r.Reply, r.Queries = gamespy.Reply{}, 0
		}
	}
	return before
}

// settle keeps the better answer of the one before a round and the one in it.
// Servers without a complete answer were queried in all rounds.
func settle(found map[netip.AddrPort]*Result, before map[netip.AddrPort]Result, rounds int) {
	for at, r := range found {
		if old, ok := before[at]; ok && !r.Reply.Complete() && r.Reply.Parts() <= old.Reply.Parts() {
			*r = old
			r.Queries = 0
		}
		if r.Queries == 0 {
			r.Queries = rounds
		}
	}
}

// round sends each query once and collects the answers until the timeout. It
// returns the number of queries sent.
func round(ctx context.Context, to []netip.Addr, timeout time.Duration, found map[netip.AddrPort]*Result, others map[netip.AddrPort]bool) (sent int, err error) {
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	parts := make(chan arrival, waiting)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer cli.Guard()
		listen(ctx, conn, parts)
	})
	defer reader.Wait()
	defer func() { _ = conn.Close() }() // nothing is written to it
	defer stop()

	asked := time.Now()
	for port := uint16(FirstPort); port <= LastPort; port++ {
		for _, addr := range to {
			if _, e := conn.WriteToUDPAddrPort(query, netip.AddrPortFrom(addr, port)); e != nil {
				err = e
				continue
			}
			sent++
		}
	}
	timer := time.After(timeout)
	for {
		select {
		case p := <-parts:
			take(found, others, p, asked)
		case <-timer:
			return sent, err
		case <-ctx.Done():
			return sent, err
		}
	}
}

// take adds a datagram to the answer of its server.
func take(found map[netip.AddrPort]*Result, others map[netip.AddrPort]bool, p arrival, asked time.Time) {
	r := found[p.from]
	switch {
	case r == nil && p.from.Port() < FirstPort, r == nil && p.from.Port() > LastPort:
		return // an answer to no query
	case r == nil && len(found) == mostServers:
		if len(others) < mostServers {
			others[p.from] = true
		}
		return
	case r != nil && r.Reply.Complete():
		return
	}
	if r == nil {
		r = &Result{Host: p.from.String(), Addr: p.from}
	}
	first := r.Reply.Parts() == 0
	if r.Reply.Add(p.datagram) && first {
		r.RoundTrip = p.at.Sub(asked)
		found[p.from] = r
	}
}

// An arrival is a datagram received in a round.
type arrival struct {
	from     netip.AddrPort
	at       time.Time
	datagram []byte
}

// mostRefused is the maximum number of read errors. Windows reports an error
// for each closed port.
const mostRefused = 10_000

// listen reads the answers of a round until its socket is closed.
func listen(ctx context.Context, conn *net.UDPConn, parts chan<- arrival) {
	for refused := 0; refused < mostRefused; {
		buf := make([]byte, gamespy.MaxPart)
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			refused++
			continue
		}
		select {
		case parts <- arrival{netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), time.Now(), buf[:n]}:
		case <-ctx.Done():
			return
		}
	}
}
