//go:build linux && !(libpcap && cgo)

package device

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The kernel writes packets into a ring of blocks in shared memory, and hands
// over a block when it is full or some time after its first packet. Unlike a
// socket buffer, the ring may be large without the right to configure the
// network.
const (
	blockSize     = 1 << 20
	defaultBuffer = 32 << 20
	retireMillis  = 20
)

// A socket is a packet socket with a ring.
type socket struct {
	name   string
	kind   uint16 // LINKTYPE
	index  int    // index of the interface, 0 for all
	fd     int
	ring   []byte
	block  int    // index of the current block
	held   bool   // the kernel has handed over the current block
	left   uint32 // number of packets left in it
	at     uint32 // offset of the next packet
	made   []byte // buffer for a packet that must be rewritten
	end    error  // error to return when the ring is empty
	counts Counters
}

func newDriver(i *Interface) driver { return &socket{name: i.Name, fd: -1} }

// open prepares the socket. Packets arrive only after start.
func (s *socket) open(o *Options) (err error) {
	// Protocol 0 keeps the socket from receiving before it is bound, so that no
	// packet arrives without the filter or from other interfaces.
	if s.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return refused(err)
	}
	hardware := uint16(unix.ARPHRD_VOID)
	if s.name != anyName {
		i, err := net.InterfaceByName(s.name)
		if err != nil {
			return ErrNoInterface
		}
		s.index = i.Index
		if hardware, err = s.hardware(); err != nil {
			return err
		}
	}
	var cooked bool
	if s.kind, cooked = linkOf(hardware); cooked {
		_ = unix.Close(s.fd) // errors do not matter, since nothing was written
		if s.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return refused(err)
		}
	}
	if s.index == 0 || hardware == unix.ARPHRD_LOOPBACK {
		// Saves the ring the outgoing copies of loopback packets, if the kernel
		// supports it. They are skipped in any case. Other interfaces need their
		// outgoing packets.
		if s.index != 0 {
			_ = unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
		}
	} else if o.Promiscuous {
		m := unix.PacketMreq{Ifindex: int32(s.index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m); err != nil {
			return fmt.Errorf("promiscuous mode: %w", err)
		}
	}
	return s.share(o.Buffer)
}

// linkOf returns the link type for a kind of hardware, and whether it is the
// cooked one.
func linkOf(hardware uint16) (link uint16, cooked bool) {
	switch hardware {
	case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
		return linkEthernet, false
	case unix.ARPHRD_NONE, unix.ARPHRD_RAWIP, unix.ARPHRD_TUNNEL, unix.ARPHRD_TUNNEL6, unix.ARPHRD_SIT:
		return linkRaw, false
	}
	return linkSLL2, true
}

// hardware returns the ARPHRD number of the interface.
func (s *socket) hardware() (uint16, error) {
	r, err := unix.NewIfreq(s.name)
	if err != nil {
		return 0, ErrNoInterface
	}
	if err := unix.IoctlIfreq(s.fd, unix.SIOCGIFHWADDR, r); err != nil {
		return 0, fmt.Errorf("its kind: %w", err)
	}
	return r.Uint16(), nil // family of the returned address
}

// share sets up the ring, with a smaller size if memory is short.
func (s *socket) share(size int) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("packet ring: %w", err)
	}
	const frame = 1 << 11 // unused by this version of the ring
	for blocks := max(2, min(size/blockSize, 1<<10)); ; blocks /= 2 {
		err := unix.SetsockoptTpacketReq3(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq3{
			Block_size:     blockSize,
			Block_nr:       uint32(blocks),
			Frame_size:     frame,
			Frame_nr:       uint32(blocks * (blockSize / frame)),
			Retire_blk_tov: retireMillis,
		})
		if err == nil {
			s.ring, err = unix.Mmap(s.fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.ENOMEM) || blocks <= 2 {
			return fmt.Errorf("packet ring: %w", err)
		}
	}
}

func (s *socket) link() uint16 { return s.kind }
func (s *socket) digits() int8 { return 9 }

func (s *socket) attach(program []bpf.RawInstruction) bool {
	if s.kind == linkSLL2 {
		program = forCooked(program)
	}
	if len(program) == 0 || len(program) > unix.BPF_MAXINSNS {
		return false
	}
	code := make([]unix.SockFilter, len(program))
	for i, in := range program {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
		Len: uint16(len(code)), Filter: &code[0],
	}) == nil
}

func (s *socket) start() error {
	all := uint16(unix.ETH_P_ALL)
	err := unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: s.index})
	if errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%s: %w", s.name, ErrNoInterface)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func (s *socket) read(p *packet) (bool, error) {
	if s.left == 0 && !s.nextBlock() {
		if err := s.wait(); err != nil {
			return false, err
		}
		if !s.nextBlock() {
			return false, s.end
		}
	}
	for s.left > 0 {
		slot, ok := slotAt(s.current(), s.at)
		if !ok {
			return false, fmt.Errorf("%s: the kernel's packet ring is damaged", s.name)
		}
		s.left--
		s.at += slot.Next_offset
		if slot.echo() {
			continue
		}
		p.time = unixTime(int64(slot.Sec), int64(slot.Nsec))
		p.data, p.full = slot.data, slot.full
		switch {
		case s.kind == linkSLL2:
			s.made = append(slot.appendCooked(s.made[:0]), slot.data...)
			p.data, p.full = s.made, slot.full+cookedHeader
		case s.kind == linkEthernet && len(slot.data) >= 12:
			if tag, ok := slot.tag(); ok {
				s.made = append(append(append(s.made[:0], slot.data[:12]...), tag[:]...), slot.data[12:]...)
				p.data, p.full = s.made, slot.full+len(tag)
			}
		}
		return true, nil
	}
	return false, nil
}

// current returns the current block.
func (s *socket) current() []byte { return s.ring[s.block*blockSize:][:blockSize] }

// head returns the head of the current block.
func (s *socket) head() *unix.TpacketHdrV1 {
	b := (*unix.TpacketBlockDesc)(unsafe.Pointer(&s.current()[0]))
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&b.Hdr))
}

// nextBlock returns the finished block to the kernel, and reports whether
// another is ready.
func (s *socket) nextBlock() bool {
	if s.held {
		atomic.StoreUint32(&s.head().Block_status, unix.TP_STATUS_KERNEL)
		s.held = false
		s.block = (s.block + 1) % (len(s.ring) / blockSize)
	}
	h := s.head()
	if atomic.LoadUint32(&h.Block_status)&unix.TP_STATUS_USER == 0 {
		return false
	}
	s.held = true
	s.left, s.at = h.Num_pkts, h.Offset_to_first_pkt
	return true
}

// wait waits for a block. When the socket reports its end, the kernel may still
// hold a block with packets.
func (s *socket) wait() error {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, int(wait.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) == 0 {
		return nil
	}
	number, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	switch cause := unix.Errno(number); {
	case err != nil:
		s.end = fmt.Errorf("%s: %w", s.name, err)
	case cause == unix.ENETDOWN:
		s.end = fmt.Errorf("%s: %w", s.name, ErrDown)
		if r, err := unix.NewIfreq(s.name); err == nil && errors.Is(unix.IoctlIfreq(s.fd, unix.SIOCGIFFLAGS, r), unix.ENODEV) {
			s.end = fmt.Errorf("%s: %w and is no longer there", s.name, ErrDown)
		}
	default:
		s.end = fmt.Errorf("%s: %w", s.name, cause)
	}
	_, err = unix.Poll(nil, 2*retireMillis)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func (s *socket) counters() (Counters, error) {
	// The kernel resets the counters on every call.
	c, err := unix.GetsockoptTpacketStatsV3(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return s.counts, fmt.Errorf("%s: %w", s.name, err)
	}
	s.counts.Received += uint64(c.Packets)
	s.counts.Dropped += uint64(c.Drops)
	return s.counts, nil
}

func (s *socket) close() error {
	if s.fd < 0 {
		return nil
	}
	if s.ring != nil {
		_ = unix.Munmap(s.ring) // cannot fail for memory from Mmap
	}
	fd := s.fd
	s.fd, s.ring = -1, nil
	return unix.Close(fd)
}
