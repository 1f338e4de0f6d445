package dissect

import (
	"errors"
	"io"
	"iter"
	"os" //nolint:depguard // for standard input, which "-" means as in the program

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// File yields the records of a capture file or a log, or of standard input if
// the name is "-". A record is valid until the next one is yielded. Clone it to
// keep it. If the file cannot be read to its end, the last pair has the error
// and no record.
func File(name string) iter.Seq2[*Record, error] { return Files(Config{}, name) }

// Files works as File for several files, which are merged by time, and takes
// options.
func Files(cfg Config, names ...string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		src, err := capture.OpenAll(names, os.Stdin)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = src.Close() }() // errors do not matter, since nothing was written
		Read(cfg, src)(yield)
	}
}

// Read yields the records of a source, such as a live capture. It does not
// close the source.
func Read(cfg Config, src packet.Source) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		ended, err := New(cfg).PushAll(src, func(r *Record) error {
			if !yield(r, nil) {
				return errBreak
			}
			return nil
		})
		if err == nil && ended != nil {
			yield(nil, ended)
		}
	}
}

// Packets yields the records of packets from any source that programs with
// gopacket use: a pcap.Handle, an afpacket.TPacket, a pcapgo.Reader or your
// own. The argument link, such as the handle's LinkType, tells how packets
// begin. For link types above 255 call [capture.FromPackets] and Read.
func Packets(cfg Config, src gopacket.PacketDataSource, link layers.LinkType) iter.Seq2[*Record, error] {
	return Read(cfg, capture.FromPackets(src, uint16(link)))
}

// PushAll pushes all datagrams of a source and flushes the pipeline, even if
// the source cannot be read to its end. The result ended tells why reading
// ended, and is nil at the end of the source. The result err is an error of
// emit, and ends the reading.
func (p *Pipeline) PushAll(src packet.Source, emit func(*Record) error) (ended, err error) {
	for b, end := range Batches(src, BatchOptions{}) {
		if ended = end; end != nil {
			break
		}
		if err := p.PushBatch(b, emit); err != nil {
			return nil, err
		}
	}
	return ended, p.Flush(emit)
}

// Records yields the records of one datagram.
func (p *Pipeline) Records(d *Datagram) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		_ = p.Push(d, func(r *Record) error { // Push fails only if the function fails
			if !yield(r) {
				return errBreak
			}
			return nil
		})
	}
}

// errBreak ends reading after the consumer's loop has ended.
var errBreak = errors.New("the loop has ended")

// Datagrams yields the datagrams of a source, each of which is valid until the
// next one is yielded. If the source cannot be read to its end, the last pair
// has the error and no datagram.
func Datagrams(src packet.Source) iter.Seq2[*Datagram, error] {
	return func(yield func(*Datagram, error) bool) {
		if err := each(src, func(d *Datagram) bool { return yield(d, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// each passes the datagrams of a source to take until that returns false. It
// returns nil at the end of the source.
func each(src packet.Source, take func(*Datagram) bool) (err error) {
	if s, ok := src.(interface {
		Each(take func(*Datagram) bool) error // calls take for all datagrams, and returns nil if take ended it
	}); ok {
		err = s.Each(take)
	} else {
		var d *Datagram
		for d, err = src.Next(); err == nil && take(d); d, err = src.Next() {
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// BatchOptions are options of [Batches]. The zero value is ready to use.
type BatchOptions struct {
	// First, if not nil, is a datagram that was read from the source before. It
	// comes first.
	First *Datagram
	// Most is the maximum number of datagrams in a batch, unless it is 0.
	Most int
	// Empty returns the next batch to fill, or nil to end the reading. If Empty is
	// nil, the same batch is reused.
	Empty func() *Batch
	// Wait is called before each read that may block, after all datagrams so far
	// were yielded. Its error ends the reading without being yielded.
	Wait func() error
}

// Batches yields the datagrams of a source in deciphered batches, and an error
// as [Datagrams] does. A source such as a file calls the function given to
// BeforeRead when the next datagram may take long. The datagrams of sources
// without BeforeRead are yielded one by one.
func Batches(src packet.Source, o BatchOptions) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		f := filler{BatchOptions: o, yield: yield}
		if f.Empty == nil {
			own := new(Batch)
			f.Empty = func() *Batch { own.Reset(); return own }
		}
		if w, ok := src.(interface{ BeforeRead(f func() error) }); ok {
			w.BeforeRead(f.wait)
			defer w.BeforeRead(nil)
		} else {
			f.Most = 1
		}
		f.batch = f.Empty()
		if f.batch == nil || f.First != nil && !f.add(f.First) {
			return
		}
		if err := each(src, f.add); f.give() && err != nil {
			yield(nil, err)
		}
	}
}

// A filler fills batches.
type filler struct {
	BatchOptions
	batch *Batch
	yield func(*Batch, error) bool
	ended bool // the consumer wants no more
}

// add adds a datagram. It reports whether more are wanted. A packed file may
// have some left after wait has failed.
func (f *filler) add(d *Datagram) bool {
	if f.ended {
		return false
	}
	if !f.batch.Add(d) {
		if !f.give() {
			return false
		}
		f.batch.Add(d) // an empty batch has room for any datagram
	}
	return f.Most == 0 || f.batch.Len() < f.Most || f.give()
}

// give yields the batch unless it is empty. It reports whether more are wanted.
func (f *filler) give() bool {
	if !f.ended && f.batch.Len() > 0 {
		f.batch.Decipher()
		if f.ended = !f.yield(f.batch, nil); !f.ended {
			f.batch = f.Empty()
			f.ended = f.batch == nil
		}
	}
	return !f.ended
}

// wait is called before a read that may block.
func (f *filler) wait() error {
	if !f.give() {
		return errBreak
	}
	if f.Wait == nil {
		return nil
	}
	err := f.Wait()
	f.ended = err != nil
	return err
}
