package device

import (
	"fmt"
	"time"

	"golang.org/x/net/bpf"
)

// wait is how long Read waits for a packet.
const wait = 100 * time.Millisecond

// A Device is an open interface.
type Device struct {
	driver driver
	name   string
	snap   int
	vm     *bpf.VM // filters if the system does not; otherwise nil
}

// A driver captures in the way of one system.
type driver interface {
	// link returns the LINKTYPE number of all packets.
	link() uint16
	// digits returns how many decimals of a second there are in times.
	digits() int8
	// attach lets the system run a filter. It reports false if the system
	// cannot run it. Nothing that the filter refuses is read afterwards.
	attach(program []bpf.RawInstruction) bool
	// start begins to capture, if that has not yet begun.
	start() error
	// read waits for a packet, but not much longer than wait, and reports
	// whether one came.
	read(p *Packet) (bool, error)
	counters() (Counters, error)
	close() error
}

// Open begins to capture from an interface.
func Open(o Options) (*Device, error) {
	if o.SnapLen == 0 {
		o.SnapLen = MaxSnapLen
	}
	if o.SnapLen < 0 || o.SnapLen > MaxSnapLen {
		return nil, fmt.Errorf("no snap length: %d, the most is %d", o.SnapLen, MaxSnapLen)
	}
	name, driver, err := openDriver(&o)
	if err != nil {
		return nil, err
	}
	d := &Device{driver: driver, name: name, snap: o.SnapLen}
	if err := d.begin(o.Filter); err != nil {
		_ = driver.close() // nothing was written
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

// machine returns what runs a filter where the system does not.
func machine(program []bpf.RawInstruction) (*bpf.VM, error) {
	code, _ := bpf.Disassemble(program) // what it does not know, the machine refuses
	return bpf.NewVM(code)
}

// Read fills p with the next packet. It reports false, to be called again, if
// none came within about a tenth of a second. An error is the end; what was
// captured before it has been returned.
func (d *Device) Read(p *Packet) (bool, error) {
	ok, err := d.driver.read(p)
	if !ok || err != nil {
		return false, err
	}
	keep := d.snap
	if d.vm != nil {
		chosen, err := d.vm.Run(p.Data)
		if err != nil {
			return false, fmt.Errorf("%s: the filter cannot be run: %w", d.name, err)
		}
		if chosen <= 0 {
			return false, nil
		}
		keep = min(keep, chosen)
	}
	p.Data = p.Data[:min(keep, len(p.Data))]
	return true, nil
}

// Name returns the name of the interface.
func (d *Device) Name() string { return d.name }

// LinkType returns the LINKTYPE number of all packets.
func (d *Device) LinkType() uint16 { return d.driver.link() }

// SnapLen returns how many bytes of a packet are kept.
func (d *Device) SnapLen() int { return d.snap }

// Digits returns how many decimals of a second there are in the times of
// packets.
func (d *Device) Digits() int8 { return d.driver.digits() }

// Counters returns what was counted so far. On Linux, packets that a filter
// refuses which the kernel cannot run are among the received.
func (d *Device) Counters() (Counters, error) { return d.driver.counters() }

// Close ends the capture. It must not be called while Read runs.
func (d *Device) Close() error { return d.driver.close() }

// unixTime returns the time that a system tells, in UTC.
func unixTime(sec, nsec int64) time.Time { return time.Unix(sec, nsec).UTC() }
