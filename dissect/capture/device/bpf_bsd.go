//go:build (darwin || dragonfly || freebsd || netbsd || openbsd) && !(libpcap && cgo)

//nolint:staticcheck // the calls of syscall that are said to be superseded have no successor
package device

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// gopacket's bsdbpf is not used: it splits records by the word size, which is
// wrong on macOS, and panics if no device is free.

const (
	defaultBuffer = 4 << 20
	smallBuffer   = 32 << 10
	lookEvery     = 10 // checks the interface after so many reads without a packet
)

// A bpfDevice is an open /dev/bpf device.
type bpfDevice struct {
	name   string
	fd     int
	kind   uint16 // LINKTYPE
	layout layout
	buffer []byte
	rest   []byte // records not yet returned
	idle   int    // consecutive empty reads
}

func newDriver(i *Interface) driver {
	return &bpfDevice{name: i.Name, fd: -1, layout: layout{
		word:  int(unsafe.Sizeof(unix.BpfHdr{}.Tstamp)) / 2,
		align: unix.BPF_ALIGNMENT,
	}}
}

func (d *bpfDevice) open(o *Options) (err error) {
	if d.fd, err = openBPF(); err != nil {
		return err
	}
	// The system may grant less, and some systems reject a large size. The size
	// must be set before the interface.
	for size := o.Buffer; ; {
		granted, err := syscall.SetBpfBuflen(d.fd, size)
		if err == nil {
			d.buffer = make([]byte, granted)
			break
		}
		if size /= 2; size < smallBuffer {
			return fmt.Errorf("buffer: %w", err)
		}
	}
	if err := syscall.SetBpfInterface(d.fd, d.name); err != nil {
		if errors.Is(err, unix.ENETDOWN) {
			return errors.New(down(d.name))
		}
		return err
	}
	if err := syscall.SetBpfImmediate(d.fd, 1); err != nil {
		return fmt.Errorf("immediate mode: %w", err)
	}
	timeout := syscall.NsecToTimeval(int64(wait / time.Nanosecond))
	if err := syscall.SetBpfTimeout(d.fd, &timeout); err != nil {
		return fmt.Errorf("timeout: %w", err)
	}
	if o.Promiscuous {
		if err := syscall.SetBpfPromisc(d.fd, 1); err != nil {
			return fmt.Errorf("promiscuous mode: %w", err)
		}
	}
	kind, err := syscall.BpfDatalink(d.fd)
	if err != nil {
		return fmt.Errorf("its kind: %w", err)
	}
	d.kind = linkOf(uint32(kind)) // some calls set only half of an int
	return nil
}

// linkOf returns the LINKTYPE for the system's own number. They differ only for
// raw IP and OpenBSD's loopback.
func linkOf(kind uint32) uint16 {
	switch kind {
	case syscall.DLT_RAW:
		return linkRaw
	case syscall.DLT_LOOP:
		return linkLoop
	}
	return uint16(kind)
}

func (d *bpfDevice) link() uint16 { return d.kind }
func (d *bpfDevice) digits() int8 { return 6 }

// attach installs the filter. The system then discards the packets captured
// without it.
func (d *bpfDevice) attach(program []bpf.RawInstruction) bool {
	code := make([]syscall.BpfInsn, len(program))
	for i, in := range program {
		code[i] = syscall.BpfInsn{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return syscall.SetBpf(d.fd, code) == nil
}

func (d *bpfDevice) start() error { return nil }

func (d *bpfDevice) read(p *packet) (bool, error) {
	if len(d.rest) == 0 {
		n, err := unix.Read(d.fd, d.buffer)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			if d.idle++; d.idle%lookEvery == 0 {
				return false, gone(d.name)
			}
			return false, nil
		case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EIO), errors.Is(err, unix.ENETDOWN):
			if err := gone(d.name); err != nil {
				return false, err
			}
			return false, fmt.Errorf("%s: %w", d.name, ErrDown)
		case err != nil:
			return false, fmt.Errorf("%s: %w", d.name, err)
		}
		d.rest = d.buffer[:n]
	}
	var ok bool
	if d.rest, ok = d.layout.next(d.rest, p); !ok {
		return false, fmt.Errorf("%s: malformed record from the kernel", d.name)
	}
	return true, nil
}

func (d *bpfDevice) counters() (Counters, error) {
	s, err := syscall.BpfStats(d.fd)
	if err != nil {
		return Counters{}, fmt.Errorf("%s: %w", d.name, err)
	}
	return Counters{Received: uint64(s.Recv), Dropped: uint64(s.Drop)}, nil
}

func (d *bpfDevice) close() error {
	if d.fd < 0 {
		return nil
	}
	return unix.Close(d.fd)
}
