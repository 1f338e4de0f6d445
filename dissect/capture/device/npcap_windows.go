package device

import (
	"fmt"
	"path/filepath"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/windows"
)

// Npcap's library is loaded when a capture begins, so that a missing or
// unexpected library does not break the rest of the program. gopacket/pcap
// loads it in init, and panics.

// A library has the functions of wpcap.dll used here, by their names without pcap_.
type library map[string]*windows.Proc

var functions = []string{
	"findalldevs", "freealldevs", "create", "set_snaplen", "set_promisc", "set_timeout", "set_immediate_mode", "set_buffer_size",
	"activate", "datalink", "setfilter", "next_ex", "stats", "geterr", "statustostr", "close",
}

// npcap loads the library. Windows keeps it loaded.
func npcap() (library, error) {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil, err
	}
	// The first path is Npcap's. The second is WinPcap's, also used by Npcap as a
	// replacement. The altered search path finds the library's dependencies in its
	// folder.
	var dll *windows.DLL
	for _, path := range []string{filepath.Join(system, "Npcap", "wpcap.dll"), filepath.Join(system, "wpcap.dll")} {
		if h, err := windows.LoadLibraryEx(path, 0, windows.LOAD_WITH_ALTERED_SEARCH_PATH); err == nil {
			dll = &windows.DLL{Name: path, Handle: h}
			break
		}
	}
	if dll == nil {
		return nil, npcapMissingError{fmt.Errorf("%w: Npcap is not installed; get it from https://npcap.com", ErrUnavailable)}
	}
	l := library{}
	for _, name := range functions {
		if l[name], err = dll.FindProc("pcap_" + name); err != nil {
			return nil, npcapMissingError{fmt.Errorf("%w: %s is too old, it lacks pcap_%s; get Npcap from https://npcap.com", ErrUnavailable, dll.Name, name)}
		}
	}
	return l, nil
}

// npcapMissingError reports a missing or unfit library.
type npcapMissingError struct{ error }

func (e npcapMissingError) Unwrap() error { return e.error }

// Remedy returns alternatives to Npcap.
func (npcapMissingError) Remedy() string {
	return `without it: "bcdissect proxy HOST" records your own game; or "pktmon start --capture --pkt-size 0", "pktmon stop", "pktmon etl2pcap PktMon.etl", then ` +
		`"bcdissect read PktMon.pcapng"; or capture on another machine`
}

// Npcap's structures, from pcap.h. Go lays out structures with pointers as C
// does on every processor. A C long has 4 bytes here.
type (
	pcapIf struct {
		next        *pcapIf
		name        *byte
		description *byte
		addresses   uintptr
		flags       uint32
	}
	pcapHeader struct {
		sec, micro int32
		held, full uint32
	}
	pcapProgram struct {
		size uint32
		code *bpf.RawInstruction // same layout as a struct bpf_insn
	}
	pcapStats struct {
		received, dropped, ifDropped uint32
		_                            [5]uint32 // for longer versions of the structure
	}
)

// Status codes of pcap_activate and others, from pcap.h.
const (
	pcapErrNoDevice     = -5
	pcapErrPermission   = -8
	pcapErrNotUp        = -9
	pcapErrPromiscuous  = -11
	pcapErrBufferLength = 256
	pcapLoopback        = 1
	pcapUp              = 2
	pcapRunning         = 4
)

const defaultBuffer = 16 << 20

// An adapter is an interface of Npcap.
type adapter struct {
	lib    library
	name   string
	device string  // Npcap's name
	handle uintptr // a pcap_t
	kind   uint16  // LINKTYPE
}

func newDriver(i *Interface) driver { return &adapter{name: i.Name, device: i.handle} }

func (a *adapter) open(o *Options) (err error) {
	if a.lib, err = npcap(); err != nil {
		return err
	}
	device, err := windows.BytePtrFromString(a.device)
	if err != nil {
		return ErrNoInterface
	}
	why := new([pcapErrBufferLength]byte)
	a.handle, _, _ = a.lib["create"].Call(uintptr(unsafe.Pointer(device)), uintptr(unsafe.Pointer(why)))
	if a.handle == 0 {
		return text(&why[0])
	}
	promiscuous := uintptr(0)
	if o.Promiscuous {
		promiscuous = 1
	}
	for name, value := range map[string]uintptr{
		"set_snaplen":        uintptr(o.SnapLen),
		"set_promisc":        promiscuous,
		"set_timeout":        uintptr(wait.Milliseconds()),
		"set_immediate_mode": 1,
		"set_buffer_size":    uintptr(o.Buffer),
	} {
		// These fail only on an active handle, and it is not active yet.
		_, _, _ = a.lib[name].Call(a.handle, value)
	}
	// Positive values are warnings.
	switch r, _, _ := a.lib["activate"].Call(a.handle); int32(r) {
	case pcapErrNoDevice:
		return ErrNoInterface
	case pcapErrPermission:
		return fmt.Errorf("%w: run as administrator; Npcap may be installed for administrators only", ErrPermission)
	case pcapErrNotUp:
		return fmt.Errorf("it is down (%w)", a.problem(int32(r)))
	case pcapErrPromiscuous:
		return fmt.Errorf("promiscuous mode: %w", a.problem(int32(r)))
	default:
		if int32(r) < 0 {
			return a.problem(int32(r))
		}
	}
	kind, _, _ := a.lib["datalink"].Call(a.handle)
	if int32(kind) < 0 {
		return a.problem(int32(kind))
	}
	a.kind = linkOf(uint32(kind))
	return nil
}

// linkOf returns the LINKTYPE for Npcap's own number. They differ only for raw
// IP.
func linkOf(kind uint32) uint16 {
	const raw = 12
	if kind == raw {
		return linkRaw
	}
	return uint16(kind)
}

// problem returns Npcap's error for a status.
func (a *adapter) problem(status int32) error {
	if r, _, _ := a.lib["geterr"].Call(a.handle); r != 0 {
		if err := text(*(**byte)(unsafe.Pointer(&r))); err.Error() != "" {
			return err
		}
	}
	r, _, _ := a.lib["statustostr"].Call(uintptr(status))
	return text(*(**byte)(unsafe.Pointer(&r)))
}

// text converts a C string, which may be nil, to an error.
func text(c *byte) error { return npcapError(windows.BytePtrToString(c)) }

// An npcapError is an error text from Npcap.
type npcapError string

func (e npcapError) Error() string { return string(e) }

func (a *adapter) link() uint16 { return a.kind }
func (a *adapter) digits() int8 { return 6 }

// attach installs the filter. Npcap then discards the packets captured without
// it.
func (a *adapter) attach(program []bpf.RawInstruction) bool {
	p := pcapProgram{size: uint32(len(program)), code: &program[0]}
	r, _, _ := a.lib["setfilter"].Call(a.handle, uintptr(unsafe.Pointer(&p)))
	return int32(r) == 0
}

func (a *adapter) start() error { return nil }

func (a *adapter) read(p *packet) (bool, error) {
	var h *pcapHeader
	var data *byte
	r, _, _ := a.lib["next_ex"].Call(a.handle, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&data)))
	switch int32(r) {
	case 1:
		p.time = unixTime(int64(uint32(h.sec)), int64(h.micro)*1000)
		p.data = unsafe.Slice(data, h.held)
		p.full = int(min(max(h.full, h.held), 1<<30))
		return true, nil
	case 0:
		return false, nil
	}
	return false, fmt.Errorf("%s: %w: %w", a.name, ErrDown, a.problem(int32(r)))
}

func (a *adapter) counters() (Counters, error) {
	var s pcapStats
	if r, _, _ := a.lib["stats"].Call(a.handle, uintptr(unsafe.Pointer(&s))); int32(r) < 0 {
		return Counters{}, fmt.Errorf("%s: %w", a.name, a.problem(int32(r)))
	}
	return Counters{Received: uint64(s.received), Dropped: uint64(s.dropped) + uint64(s.ifDropped)}, nil
}

func (a *adapter) close() error {
	if a.handle != 0 {
		_, _, _ = a.lib["close"].Call(a.handle) // it returns nothing
		a.handle = 0
	}
	return nil
}
