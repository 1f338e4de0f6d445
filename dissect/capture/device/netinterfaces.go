//go:build !windows

package device

import "net"

// netInterfaces lists the interfaces known to the standard library.
func netInterfaces() ([]Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	found := make([]Interface, 0, len(all)+1)
	for _, i := range all {
		found = append(found, Interface{
			Name:      i.Name,
			Addresses: prefixes(&i),
			Up:        i.Flags&net.FlagUp != 0,
			Running:   i.Flags&net.FlagRunning != 0,
			Loopback:  i.Flags&net.FlagLoopback != 0,
		})
	}
	return found, nil
}
