package site

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// Secure returns a handler that accepts only reading requests. It protects its
// answers from other pages. It rejects requests for host names other than
// localhost: a page elsewhere can make its own name resolve to this computer's
// address, and could then read the answers.
func Secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		switch {
		case !direct(r.Host):
			http.Error(w, "open this page by its IP address or as localhost", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// direct reports whether the host of a request is an IP address or localhost.
func direct(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}

// Reachable returns the address at which this computer's browser reaches a listener.
func Reachable(at netip.AddrPort) netip.AddrPort {
	if !at.Addr().IsUnspecified() {
		return at
	}
	local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if at.Addr().Is6() && !at.Addr().Is4In6() {
		local = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(local, at.Port())
}

// Serve serves requests with a handler until the channel is closed.
func Serve(l net.Listener, h http.Handler, stopped <-chan struct{}) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	go func() {
		defer cli.Guard()
		<-stopped
		_ = server.Close() // pages have loaded all their files by now
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
