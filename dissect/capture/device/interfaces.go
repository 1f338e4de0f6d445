package device

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// An Interface is a network interface for captures.
type Interface struct {
	Name        string
	Description string // empty if unknown
	Addresses   []netip.Prefix
	Up          bool   // switched on
	Running     bool   // switched on and connected
	Loopback    bool   // carries this machine's traffic to itself
	Problem     string // reason why it cannot be opened, with a remedy, or empty

	handle string // system name, if different from Name
}

// Interfaces lists the interfaces. It also returns an error if none of them can
// be opened now, with the reason and the remedy.
func Interfaces() ([]Interface, error) {
	all, err := candidates()
	if err == nil {
		err = permitted()
	}
	return all, err
}

// Default returns the name of the interface that leads to the internet. It asks
// the system for a route and sends nothing.
func Default() (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	// Addresses reserved for documentation.
	for _, to := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} {
		c, err := net.Dial("udp", to)
		if err != nil {
			continue
		}
		from := c.LocalAddr()
		_ = c.Close() // errors do not matter, since nothing was written
		if name := owner(all, from); name != "" {
			return name, nil
		}
	}
	var names, likely []string
	for _, i := range all {
		names = append(names, i.Name)
		if addrs, err := i.Addrs(); err == nil && len(addrs) > 0 && i.Flags&(net.FlagUp|net.FlagLoopback) == net.FlagUp {
			likely = append(likely, i.Name)
		}
	}
	if len(likely) == 1 {
		return likely[0], nil
	}
	return "", fmt.Errorf("no interface leads to the internet; choose one of %s", list(names))
}

// owner returns the name of the interface with an address.
func owner(all []net.Interface, of net.Addr) string {
	from, err := netip.ParseAddrPort(of.String())
	if err != nil {
		return ""
	}
	for _, i := range all {
		for _, p := range prefixes(&i) {
			if p.Addr() == from.Addr().Unmap().WithZone("") {
				return i.Name
			}
		}
	}
	return ""
}

func prefixes(i *net.Interface) []netip.Prefix {
	addrs, err := i.Addrs()
	if err != nil {
		return nil // an interface that has just disappeared has no addresses
	}
	var all []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
		}
	}
	return all
}

// choose returns the interface with a given name, or number in the list.
func choose(all []Interface, name string) (*Interface, error) {
	for i := range all {
		if all[i].Name == name || all[i].handle == name && name != "" {
			return &all[i], nil
		}
	}
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i], nil
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(all) {
		return &all[n-1], nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("%s: %w; there are %s", name, ErrNoInterface, list(names))
}

// list joins names for people, shortened if there are many.
func list(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
