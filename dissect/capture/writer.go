package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
)

// ngStatistics is the block with the counts of captured and lost packets.
const ngStatistics = 5

// Block options.
const (
	ngHardware    = 2 // option of a section
	ngSystem      = 3
	ngApplication = 4

	ngName        = 2 // option of an interface
	ngDescription = 3
	ngFilter      = 11

	ngStart    = 2 // option of statistics
	ngEnd      = 3
	ngReceived = 4
	ngDropped  = 5
	ngAccepted = 6
	ngOSDrop   = 7
)

// writeSize is the number of bytes to collect before a write.
const writeSize = 256 << 10

// WriterOptions describe a capture in its file. Empty options are not written.
type WriterOptions struct {
	Link        uint16 // LINKTYPE number
	SnapLen     int
	Start       time.Time // start of the capture
	Hardware    string    // hardware of this machine
	System      string    // its operating system
	Application string    // name and version of the writing program
	Interface   string
	Description string // description of the interface
	Filter      string // as typed

	Overwrite bool // allows an existing file with content

	// Keep makes a series of files delete its old files when it begins the next one:
	// those last written to longer ago than Keep, also from earlier series with the
	// same name. 0 deletes none.
	Keep   time.Duration
	Forgot func(name string) // is called with the name of each deleted file, may be nil
}

// A FileWriter writes packets to a file, or to several.
type FileWriter interface {
	PacketWriter
	Close() error
}

// ErrNotEmpty reports a non-empty file that must not be overwritten.
var ErrNotEmpty = errors.New("the file is not empty")

// A Writer writes packets as pcapng, with times in nanoseconds. The file is
// readable at any time, since it always ends with a whole block. It implements
// [PacketWriter].
type Writer struct {
	name     string // for errors
	w        io.Writer
	buf      []byte
	open     int   // offset in buf of the block being made
	size     int64 // size of the file, with the bytes in buf
	start    time.Time
	last     time.Time // time of the last packet
	counters Counters
	err      error
}

// NewWriter returns a writer and writes the headers. The name is for errors.
func NewWriter(name string, w io.Writer, o *WriterOptions) (*Writer, error) {
	n := &Writer{name: name, w: w, buf: make([]byte, 0, writeSize), start: o.Start, last: o.Start}
	n.beginSection()
	n.aboutSection(o)
	n.finish(true)

	n.beginInterface(o.Link, uint32(o.SnapLen))
	n.aboutInterface(o)
	n.finish(true)
	return n, n.flush()
}

// aboutSection appends the options of a section.
func (w *Writer) aboutSection(o *WriterOptions) {
	w.text(ngHardware, o.Hardware)
	w.text(ngSystem, o.System)
	w.text(ngApplication, o.Application)
}

// aboutInterface appends the options of an interface.
func (w *Writer) aboutInterface(o *WriterOptions) {
	w.text(ngName, o.Interface)
	w.text(ngDescription, o.Description)
	w.option(ngResolution, []byte{9})
	if o.Filter != "" {
		w.text(ngFilter, "\x00"+o.Filter) // a zero marks text
	}
}

// CreateWriter creates a file that only its owner can read, since packets hold
// names and chat. A non-empty regular file is an error unless o.Overwrite is
// set.
func CreateWriter(name string, o *WriterOptions) (*Writer, error) {
	f, err := create(name, o.Overwrite)
	if err != nil {
		return nil, named(name, err)
	}
	w, err := NewWriter(name, f, o)
	if err != nil {
		_ = f.Close() // there is an error already
		return nil, err
	}
	return w, nil
}

func create(name string, overwrite bool) (*os.File, error) {
	f, err := private.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		switch {
		case info.Size() > 0 && !overwrite:
			err = ErrNotEmpty
		case info.Mode().Perm() != private.Mode:
			err = f.Chmod(private.Mode)
		}
		if err == nil {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// A Comment in the ancillary data of a packet is a comment for the file that the
// packet is written to.
type Comment string

// commentOf returns the comment in ancillary data, cut to what is written.
func commentOf(ci *gopacket.CaptureInfo) string {
	for _, a := range ci.AncillaryData {
		if c, ok := a.(Comment); ok {
			return string(c[:min(len(c), longestComment)])
		}
	}
	return ""
}

// WritePacket implements [PacketWriter].
func (w *Writer) WritePacket(ci gopacket.CaptureInfo, data []byte) error {
	if w.err != nil {
		return w.err
	}
	comment := commentOf(&ci)
	if packetBlock(len(data))+commentOption(len(comment)) > cap(w.buf)-len(w.buf) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.last = ci.Timestamp
	w.beginPacket(0, nanoseconds(ci.Timestamp), data, ci.Length)
	w.text(ngComment, comment)
	w.finish(comment != "")
	return nil
}

// longestComment is the number of bytes of a packet's comment that are written.
const longestComment = 4 << 10

// commentOption returns the most bytes that a comment takes.
func commentOption(size int) int { return 12 + size }

// packetBlock returns the size of a packet's block.
func packetBlock(data int) int { return 32 + (data+3)&^3 }

// statisticsBlock is the size of the final block. moreStatistics is the size of
// its two optional counters.
const (
	statisticsBlock = 24 + 4*12 + 4
	moreStatistics  = 2 * 12
)

// Flush implements [PacketWriter].
func (w *Writer) Flush(c Counters) error {
	w.counters = c
	return w.flush()
}

// Close writes the last counters given to Flush. It closes the file if the
// writer created it or if it is an [io.Closer].
func (w *Writer) Close() error {
	err := w.close(w.finishFile())
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.name, os.ErrClosed)
	}
	return err
}

// close closes the file. It returns the first error.
func (w *Writer) close(err error) error {
	if c, ok := w.w.(io.Closer); ok {
		if e := c.Close(); e != nil && err == nil {
			err = named(w.name, e)
		}
	}
	return err
}

func (w *Writer) finishFile() error {
	if w.err != nil {
		return w.err
	}
	end := w.counters.Time
	if end.IsZero() {
		end = w.last
	}
	w.begin(ngStatistics)
	w.statistics(end)
	w.finish(true)
	return w.flush()
}

// statistics appends the body of a block of statistics.
func (w *Writer) statistics(end time.Time) {
	w.u32(0) // the interface
	w.stamp(nanoseconds(end))
	if !w.start.IsZero() {
		w.time(ngStart, w.start)
		w.time(ngEnd, end)
	}
	w.number(ngReceived, w.counters.Received)
	w.number(ngDropped, w.counters.Dropped)
	if c := &w.counters; c.Skipped > 0 || c.NoRoom > 0 {
		w.number(ngAccepted, c.Received-c.Dropped-c.Skipped)
		w.number(ngOSDrop, c.NoRoom)
	}
}

// flush writes the collected blocks. If there is no room for all of them, the
// file ends with the last complete one.
func (w *Writer) flush() error {
	if w.err == nil && len(w.buf) > 0 {
		if n, err := w.w.Write(w.buf); err != nil {
			w.err = named(w.name, err)
			if f, ok := w.w.(interface{ Truncate(size int64) error }); ok {
				_ = f.Truncate(w.size - int64(len(w.buf)-wholeBlocks(w.buf[:n]))) // a pipe cannot be cut
			}
		}
		w.buf = w.buf[:0]
	}
	return w.err
}

// wholeBlocks returns how many bytes at the beginning of b are whole blocks.
func wholeBlocks(b []byte) (whole int) {
	for len(b)-whole >= 8 {
		size := int(binary.LittleEndian.Uint32(b[whole+4:]))
		if size > len(b)-whole {
			break
		}
		whole += size
	}
	return whole
}

// begin begins a block. Its length is filled in by finish.
func (w *Writer) begin(kind uint32) {
	w.open = len(w.buf)
	w.u32(kind)
	w.u32(0)
}

// finish ends a block, and its options if it has any.
func (w *Writer) finish(options bool) {
	if options {
		w.u32(ngEndOfOptions)
	}
	size := len(w.buf) - w.open + 4
	w.u32(uint32(size))
	binary.LittleEndian.PutUint32(w.buf[w.open+4:], uint32(size))
	w.size += int64(size)
}

func (w *Writer) u32(v uint32) { w.buf = binary.LittleEndian.AppendUint32(w.buf, v) }

// beginSection begins a section up to its options.
func (w *Writer) beginSection() {
	w.begin(ngSection)
	w.u32(ngMagic)
	w.u32(1) // version 1.0
	w.u32(math.MaxUint32)
	w.u32(math.MaxUint32) // a section of unknown length
}

// beginInterface begins the description of an interface up to its options.
func (w *Writer) beginInterface(link uint16, snap uint32) {
	w.begin(ngInterface)
	w.u32(uint32(link))
	w.u32(snap)
}

// beginPacket begins a packet up to its options.
func (w *Writer) beginPacket(number uint32, stamp uint64, data []byte, full int) {
	w.begin(ngEnhanced)
	w.u32(number)
	w.stamp(stamp)
	w.u32(uint32(len(data)))
	w.u32(uint32(max(full, len(data))))
	w.padded(data)
}

// stamp appends a time as blocks have it, which begins with the upper half.
func (w *Writer) stamp(v uint64) {
	w.u32(uint32(v >> 32))
	w.u32(uint32(v))
}

// nanoseconds returns the time since 1970, or the nearest that has a number.
func nanoseconds(t time.Time) uint64 {
	const most = math.MaxUint64 / uint64(time.Second)
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case uint64(s) >= most:
		return math.MaxUint64
	default:
		return uint64(s)*1e9 + uint64(t.Nanosecond())
	}
}

func (w *Writer) padded(b []byte) {
	w.buf = append(w.buf, b...)
	w.buf = append(w.buf, make([]byte, -len(b)&3)...)
}

func (w *Writer) option(code uint16, value []byte) { w.buf = appendOption(w.buf, code, value) }

func (w *Writer) text(code uint16, value string) {
	if value != "" {
		w.option(code, []byte(value))
	}
}

func (w *Writer) number(code uint16, v uint64) {
	w.option(code, binary.LittleEndian.AppendUint64(nil, v))
}

// time appends a time as options have it.
func (w *Writer) time(code uint16, t time.Time) {
	v := nanoseconds(t)
	w.number(code, v>>32|v<<32)
}
