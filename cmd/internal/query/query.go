// Package query queries servers for their game, as a server browser does.
package query

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/gamespy"
)

// DefaultPort is the default port of the game.
const DefaultPort = "22101"

// query requests all facts that a host reports.
var query = []byte(`\status\`)

// Limits of a query.
const (
	atOnce  = 64 // servers that are queried at the same time
	waiting = 64 // datagrams that wait to be read
)

// Options set how long and how often a server is queried.
type Options struct {
	Timeout time.Duration // for each try
	Retries int           // after the first try
}

// A Result is the answer of a server, or the reason that there is none.
type Result struct {
	Host      string // the host as the user typed it, with a port
	Addr      netip.AddrPort
	RoundTrip time.Duration // time from the query to the first datagram of its reply
	Queries   int           // number of queries sent
	Reply     gamespy.Reply
	Err       error
}

// WithPort returns a host's address, with the default port added if it has
// none.
func WithPort(host string) (string, error) {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return net.JoinHostPort(addr.String(), DefaultPort), nil
	}
	if !strings.Contains(host, ":") {
		host += ":" + DefaultPort
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil || name == "" || port == "" || strings.Contains(host, "/") {
		return "", fmt.Errorf("%s: give the address of a server as HOST or HOST:PORT", host)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%s: ports go from 1 to 65535", host)
	}
	return host, nil
}

// All queries all servers and returns their results in the same order.
func All(ctx context.Context, hosts []string, o Options) []Result {
	results := make([]Result, len(hosts))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, host := range hosts {
		places <- struct{}{}
		all.Go(func() {
			defer cli.Guard()
			results[i] = One(ctx, host, o)
			<-places
		})
	}
	all.Wait()
	return results
}

// A part is a datagram from a server.
type part struct {
	try      int
	at       time.Time
	datagram []byte
	err      error
}

// One queries one server. The host must have a port. Each try uses a new
// socket, so that answers of different tries are not mixed up.
func One(ctx context.Context, host string, o Options) Result {
	r := Result{Host: host}
	name, port, _ := net.SplitHostPort(host) // cannot fail after WithPort
	number, _ := strconv.ParseUint(port, 10, 16)
	addr, err := lookUp(ctx, name)
	if err != nil {
		r.Err = fmt.Errorf("%s: %w", host, err)
		return r
	}
	r.Addr = netip.AddrPortFrom(prefer4(addr), uint16(number))
	ctx, stop := context.WithCancel(ctx)
	parts := make(chan part, waiting)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	replies := make([]gamespy.Reply, o.Retries+1)
	sent := make([]time.Time, o.Retries+1)
	var odd *part
	var refused error
	for try := range o.Retries + 1 {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(r.Addr))
		if err != nil {
			r.Err = fmt.Errorf("%s: %w", host, err)
			return r
		}
		defer func() { _ = conn.Close() }() // nothing is written to it
		readers.Go(func() {
			defer cli.Guard()
			read(ctx, conn, try, parts)
		})
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		sent[try] = time.Now()
		r.Queries++
		if _, err = conn.Write(query); err != nil {
			refused = err
		}
		timer := time.After(o.Timeout)
	listen:
		for {
			select {
			case p := <-parts:
				reply := &replies[p.try]
				switch {
				case p.err != nil:
					refused = p.err
					if p.try == try { // the socket failed, so no answer will come
						break listen
					}
				case !reply.Add(p.datagram):
					odd = &p
				case reply.Parts() == 1 && r.RoundTrip == 0:
					r.RoundTrip = p.at.Sub(sent[p.try])
				}
				if reply.Complete() {
					r.Reply = *reply
					r.Err = strange(&r)
					return r
				}
			case <-timer:
				break listen
			case <-ctx.Done():
				r.Err = fmt.Errorf("%s: interrupted", host)
				return r
			}
		}
	}
	for i := range replies { // a part of the answer is better than none
		if replies[i].Parts() > r.Reply.Parts() {
			r.Reply = replies[i]
		}
	}
	r.Err = fmt.Errorf("%s: %w", host, verdict(&r, odd, refused, o))
	return r
}

// read reads the datagrams that answer one try.
func read(ctx context.Context, conn *net.UDPConn, try int, parts chan<- part) {
	for {
		buf := make([]byte, gamespy.MaxPart)
		n, err := conn.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		p := part{try, time.Now(), buf[:n], err}
		select {
		case parts <- p:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return // the port is closed
		}
	}
}

// Game is the name of the game in replies.
const Game = "bcommander"

// strange returns the reason that a complete reply does not come from a server
// of the game, or nil if it does.
func strange(r *Result) error {
	if game, ok := r.Reply.Get("gamename"); ok && game != Game {
		return fmt.Errorf("%s: is a server of another game, %q", r.Host, game.Raw())
	}
	for key := range r.Reply.Pairs() {
		if key != "final" && key != "queryid" {
			return nil
		}
	}
	return fmt.Errorf("%s: its answer is empty; is that port a game's?", r.Host)
}

// verdict returns the reason that there is no complete answer.
func verdict(r *Result, odd *part, refused error, o Options) error {
	tries := fmt.Sprintf("%d queries of %v each", r.Queries, o.Timeout)
	if r.Queries == 1 {
		tries = fmt.Sprintf("1 query of %v", o.Timeout)
	}
	switch {
	case r.Reply.Parts() > 0:
		return fmt.Errorf("the answer is incomplete: got %d of its datagrams (%s); try again, or use a longer --timeout", r.Reply.Parts(), tries)
	case odd != nil:
		return fmt.Errorf("answers with %d bytes, which are not a GameSpy reply (%s); is that port a game's?", len(odd.datagram), tries)
	case refused != nil:
		if o := (*net.OpError)(nil); errors.As(refused, &o) {
			refused = o.Err
		}
		return fmt.Errorf("nothing listens there (%w); is the server running on that port?", refused)
	}
	return fmt.Errorf("no answer (%s); is the server running, and UDP let through?", tries)
}

// lookUp returns the addresses of a host. If the name is an IP address, it
// returns that with its zone.
func lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr}, nil
	}
	return new(net.Resolver).LookupNetIP(ctx, "ip", name)
}

// prefer4 returns an IPv4 address if there is one, since the game does not
// support IPv6.
func prefer4(all []netip.Addr) netip.Addr {
	for _, a := range all {
		if a.Unmap().Is4() {
			return a.Unmap()
		}
	}
	return all[0]
}
