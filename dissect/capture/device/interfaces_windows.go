package device

import (
	"fmt"
	"net/netip"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// npfPrefix is Npcap's prefix of adapter names.
const npfPrefix = `\Device\NPF_`

// candidates lists Npcap's interfaces by their Windows names. Without Npcap it
// lists those of Windows, with an error, since nothing can be opened then.
func candidates() ([]Interface, error) {
	known, err := adapters()
	if err != nil {
		return nil, err
	}
	lib, err := npcap()
	if err != nil {
		return known, err
	}
	all, err := lib.devices(known)
	if err != nil {
		return known, err
	}
	if len(all) == 0 {
		return known, fmt.Errorf("%w: Npcap shows no interfaces; run as administrator, or start its driver: net start npcap", ErrUnavailable)
	}
	return all, nil
}

// permitted does nothing. candidates and opening check permissions.
func permitted() error { return nil }

// devices lists Npcap's interfaces, with details from known.
func (l library) devices(known []Interface) ([]Interface, error) {
	var first *pcapIf
	why := new([pcapErrBufferLength]byte)
	r, _, _ := l["findalldevs"].Call(uintptr(unsafe.Pointer(&first)), uintptr(unsafe.Pointer(why)))
	if int32(r) != 0 {
		return nil, fmt.Errorf("%w: Npcap: %w", ErrUnavailable, text(&why[0]))
	}
	defer func() { _, _, _ = l["freealldevs"].Call(uintptr(unsafe.Pointer(first))) }() // it returns nothing
	var all []Interface
	for d := first; d != nil; d = d.next {
		handle := windows.BytePtrToString(d.name)
		i := Interface{
			Name:     handle,
			Up:       d.flags&pcapUp != 0,
			Running:  d.flags&pcapRunning != 0,
			Loopback: d.flags&pcapLoopback != 0,
		}
		for _, k := range known {
			if strings.EqualFold(k.handle, handle) {
				i = k
			}
		}
		if d.description != nil && i.Description == "" {
			i.Description = windows.BytePtrToString(d.description)
		}
		i.handle, i.Problem = handle, ""
		all = append(all, i)
	}
	return all, nil
}

// adapters lists the interfaces of Windows. An interface that Npcap does not
// list has no handle there and cannot be opened.
func adapters() ([]Interface, error) {
	const flags = windows.GAA_FLAG_SKIP_ANYCAST | windows.GAA_FLAG_SKIP_MULTICAST | windows.GAA_FLAG_SKIP_DNS_SERVER
	const most = 4 << 20
	var first *windows.IpAdapterAddresses
	for size := uint32(16 << 10); first == nil; {
		// The structures need an alignment of 8 bytes.
		b := make([]uint64, (size+7)/8)
		a := (*windows.IpAdapterAddresses)(unsafe.Pointer(&b[0]))
		err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, flags, 0, a, &size)
		switch {
		case err == windows.ERROR_NO_DATA: //nolint:errorlint // a number, never wrapped
			return nil, nil
		case err == nil:
			first = a
		case err != windows.ERROR_BUFFER_OVERFLOW || size > most: //nolint:errorlint // a number, never wrapped
			return nil, fmt.Errorf("network adapters: %w", err)
		}
	}
	var all []Interface
	for a := first; a != nil; a = a.Next {
		up := a.OperStatus == windows.IfOperStatusUp
		i := Interface{
			Name:        windows.UTF16PtrToString(a.FriendlyName),
			Description: windows.UTF16PtrToString(a.Description),
			Up:          up,
			Running:     up,
			Loopback:    a.IfType == windows.IF_TYPE_SOFTWARE_LOOPBACK,
			handle:      npfPrefix + windows.BytePtrToString(a.AdapterName),
		}
		if i.Loopback {
			i.handle = npfPrefix + "Loopback"
		}
		for u := a.FirstUnicastAddress; u != nil; u = u.Next {
			if addr, ok := netip.AddrFromSlice(u.Address.IP()); ok {
				i.Addresses = append(i.Addresses, netip.PrefixFrom(addr.Unmap(), int(u.OnLinkPrefixLength)))
			}
		}
		all = append(all, i)
	}
	return all, nil
}
