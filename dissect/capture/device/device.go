package device

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/google/gopacket"
	"golang.org/x/net/bpf"
)

// wait is the time that Read waits for a packet.
const wait = 100 * time.Millisecond

// A Device is an open interface.
type Device struct {
	driver driver
	name   string
	snap   int
	vm     *bpf.VM // filters in user space, nil if the system filters
	packet packet  // last packet read
}

// A driver captures packets on one operating system. Each system also has
// candidates, which lists the interfaces to choose from, permitted, which tells
// whether any can be opened, newDriver, which returns a driver that is not open, and
// defaultBuffer.
type driver interface {
	// open opens the interface.
	open(o *Options) error
	// link returns the LINKTYPE of all packets.
	link() uint16
	// digits returns the number of decimals of a second in timestamps.
	digits() int8
	// attach installs a filter in the system, or reports false if the system
	// cannot run it. Packets that it rejects are not read afterwards.
	attach(program []bpf.RawInstruction) bool
	// start begins the capture, unless it has begun.
	start() error
	// read waits for a packet, not much longer than wait, and reports whether one
	// arrived.
	read(p *packet) (bool, error)
	counters() (Counters, error)
	// close closes the driver, even if it is not or only partly open.
	close() error
}

// Open starts a capture on an interface.
func Open(o Options) (*Device, error) {
	if o.SnapLen == 0 {
		o.SnapLen = MaxSnapLen
	}
	if o.SnapLen < 0 || o.SnapLen > MaxSnapLen {
		return nil, fmt.Errorf("snap length %d is out of range; the maximum is %d", o.SnapLen, MaxSnapLen)
	}
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	all, err := candidates()
	if err != nil {
		return nil, err
	}
	i, err := choose(all, o.Interface)
	if err != nil {
		return nil, err
	}
	if i.Problem != "" {
		return nil, fmt.Errorf("%s: %s", i.Name, i.Problem)
	}
	d := &Device{driver: newDriver(i), name: i.Name, snap: o.SnapLen}
	if err = d.driver.open(&o); err != nil {
		err = fmt.Errorf("%s: %w", i.Name, err)
	} else {
		err = d.begin(o.Filter)
	}
	if err != nil {
		_ = d.driver.close() // errors do not matter, since nothing was written
		return nil, err
	}
	return d, nil
}

func (d *Device) begin(filter func(uint16) ([]bpf.RawInstruction, error)) error {
	if filter != nil {
		program, err := filter(d.driver.link())
		if err != nil {
			return err
		}
		if len(program) > 0 && !d.driver.attach(program) {
			if d.vm, err = machine(program); err != nil {
				return fmt.Errorf("%s: the filter cannot be run: %w", d.name, err)
			}
		}
	}
	return d.driver.start()
}

// machine returns the virtual machine for filtering in user space.
func machine(program []bpf.RawInstruction) (*bpf.VM, error) {
	code, _ := bpf.Disassemble(program) // the virtual machine rejects unknown instructions
	return bpf.NewVM(code)
}

// ZeroCopyReadPacketData implements [gopacket.ZeroCopyPacketDataSource]. If no
// packet arrives within about a tenth of a second, it returns
// [os.ErrDeadlineExceeded]: call it again, as gopacket's PacketSource does. Any
// other error ends the capture, after all earlier packets were returned.
func (d *Device) ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	p := &d.packet
	ok, err := d.driver.read(p)
	if err == nil && !ok {
		err = os.ErrDeadlineExceeded
	}
	if err != nil {
		return nil, ci, err
	}
	keep := d.snap
	if d.vm != nil {
		chosen, err := d.vm.Run(p.data)
		if err != nil {
			return nil, ci, fmt.Errorf("%s: the filter cannot be run: %w", d.name, err)
		}
		if chosen <= 0 {
			return nil, ci, os.ErrDeadlineExceeded
		}
		keep = min(keep, chosen)
	}
	data = p.data[:min(keep, len(p.data))]
	return data, gopacket.CaptureInfo{Timestamp: p.time, CaptureLength: len(data), Length: p.full}, nil
}

// ReadPacketData implements [gopacket.PacketDataSource]. It is
// ZeroCopyReadPacketData with bytes that belong to the caller.
func (d *Device) ReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	data, ci, err = d.ZeroCopyReadPacketData()
	return bytes.Clone(data), ci, err
}

// Name returns the name of the interface.
func (d *Device) Name() string { return d.name }

// LinkType returns the LINKTYPE of all packets.
func (d *Device) LinkType() uint16 { return d.driver.link() }

// SnapLen returns the snap length.
func (d *Device) SnapLen() int { return d.snap }

// Digits returns the number of decimals of a second in the times of packets.
func (d *Device) Digits() int8 { return d.driver.digits() }

// Counters returns the counts so far. If the Linux kernel cannot run a filter,
// the received packets include those that it rejects.
func (d *Device) Counters() (Counters, error) { return d.driver.counters() }

// Close ends the capture. It must not be called while Read runs.
func (d *Device) Close() error { return d.driver.close() }

// unixTime returns a system's time in UTC.
func unixTime(sec, nsec int64) time.Time { return time.Unix(sec, nsec).UTC() }
