package device

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// An Interface is one that packets may be captured from.
type Interface struct {
	Name        string
	Description string // what it is, if that is known
	Addresses   []netip.Prefix
	Up          bool   // switched on
	Running     bool   // and connected
	Loopback    bool   // for what this machine sends to itself
	Problem     string // why it cannot be opened and what to do, or empty

	handle string // what the system calls it, if that is not its name
}

// Interfaces lists the interfaces. The list comes with an error if none of
// them can be opened now; the error says why and what to do.
func Interfaces() ([]Interface, error) { return interfaces() }

// Default returns the name of the interface that leads to the internet. It
// asks the system for a route there, and sends nothing.
func Default() (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	// The addresses are for documentation, and belong to nobody.
	for _, to := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} {
		c, err := net.Dial("udp", to)
		if err != nil {
			continue
		}
		from := c.LocalAddr()
		_ = c.Close() // nothing was written
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

// owner returns the name of the interface that has an address.
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
		return nil // an interface that has just gone has no addresses
	}
	var all []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
		}
	}
	return all
}

// choose returns the interface that somebody calls by a name, or by a number
// in the list.
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

// list joins names for people, not too many of them.
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
