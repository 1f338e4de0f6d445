package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/gopacket"
)

// A Rotation limits each file and the number of files. Zero means no limit.
type Rotation struct {
	Duration time.Duration // covered by one file
	Size     int64         // bytes of a file
	Packets  int           // most packets in a file
	Files    int           // how many files to keep. The oldest are deleted.
}

// Set adds a condition in dumpcap's notation: duration:SECONDS, filesize:KB of
// 1000 bytes, packets:N or files:N.
func (r *Rotation) Set(condition string) error {
	what, text, ok := strings.Cut(condition, ":")
	if !ok {
		return fmt.Errorf("%q: %w", condition, errCondition)
	}
	n, err := strconv.ParseFloat(text, 64)
	const least, most = 1e-3, math.MaxInt32
	if err != nil || !(n >= least && n <= most) || what != "duration" && n != math.Trunc(n) {
		return fmt.Errorf("%q: %q is not a number that %s can have", condition, text, what)
	}
	switch what {
	case "duration":
		r.Duration = time.Duration(n * float64(time.Second))
	case "filesize":
		r.Size = int64(n) * 1000
	case "packets":
		r.Packets = int(n)
	case "files":
		r.Files = int(n)
	default:
		return fmt.Errorf("%q: %w", condition, errCondition)
	}
	return nil
}

var errCondition = errors.New("want duration:SECONDS, filesize:KB, packets:N or files:N")

// Check reports contradictions once all conditions are set.
func (r *Rotation) Check() error {
	if r.Files > 0 && r.Duration == 0 && r.Size == 0 && r.Packets == 0 {
		return errors.New("files:N needs to know when a file is full: duration:SECONDS, filesize:KB or packets:N")
	}
	return nil
}

// A RotatingWriter writes packets to a sequence of complete files, named as
// dumpcap names them: a.pcapng becomes a_00001_20061231235959.pcapng, with a
// number and the local start time of the file. It implements [PacketWriter].
//
// The first file is created at once, to detect a bad name early. Each later
// file is created with its first packet.
type RotatingWriter struct {
	prefix, suffix string
	rotation       Rotation
	options        WriterOptions
	file           *Writer
	begun          time.Time // time of the first packet in the file
	packets        int       // in the file
	number         int       // number of the file
	kept           []string
	counters       Counters
	err            error
}

// NewRotatingWriter creates the first file. The time is part of its name.
func NewRotatingWriter(name string, r Rotation, now time.Time, o *WriterOptions) (*RotatingWriter, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	suffix := filepath.Ext(name)
	w := &RotatingWriter{prefix: strings.TrimSuffix(name, suffix), suffix: suffix, rotation: r, options: *o}
	if err := w.next(now); err != nil {
		return nil, err
	}
	return w, nil
}

// next starts a file.
func (w *RotatingWriter) next(now time.Time) error {
	const numbers = 100000 // five digits
	w.number++
	name := fmt.Sprintf("%s_%05d_%s%s", w.prefix, w.number%numbers, now.Local().Format("20060102150405"), w.suffix)
	file, err := CreateWriter(name, &w.options)
	if err != nil {
		w.err = err
		return err
	}
	w.file, w.packets = file, 0
	w.kept = append(w.kept, name)
	if w.rotation.Files > 0 && len(w.kept) > w.rotation.Files {
		// It may already be deleted.
		if err := os.Remove(w.kept[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.err = named(w.kept[0], err)
			return w.err
		}
		w.kept = w.kept[1:]
	}
	w.forget(now)
	return nil
}

// forget deletes the files of the series that are too old. One that can't be deleted
// is tried again with the next file.
func (w *RotatingWriter) forget(now time.Time) {
	if w.options.Keep <= 0 {
		return
	}
	dir, base := filepath.Split(w.prefix)
	all, _ := os.ReadDir(filepath.Clean(dir)) // "." if it is empty: the folder of the file that was just created
	for _, e := range all {
		middle, ok := strings.CutPrefix(e.Name(), base)
		middle, of := strings.CutSuffix(middle, w.suffix)
		if !ok || !of || !series.MatchString(middle) || dir+e.Name() == w.kept[len(w.kept)-1] {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < w.options.Keep {
			continue
		}
		name := dir + e.Name()
		if os.Remove(name) == nil && w.options.Forgot != nil {
			w.options.Forgot(name)
		}
		w.kept = slices.DeleteFunc(w.kept, func(k string) bool { return k == name })
	}
}

// series matches what the names of a series have between the name that was asked for
// and its ending: the number and the time.
var series = regexp.MustCompile(`^_[0-9]{5}_[0-9]{14}$`)

// full reports whether a packet belongs in the next file. Each file has at least
// one.
func (w *RotatingWriter) full(ci *gopacket.CaptureInfo, data []byte) bool {
	r := &w.rotation
	return w.packets > 0 &&
		(r.Packets > 0 && w.packets >= r.Packets ||
			r.Duration > 0 && ci.Timestamp.Sub(w.begun) >= r.Duration ||
			r.Size > 0 && w.file.size+int64(packetBlock(len(data)))+statisticsBlock+moreStatistics > r.Size)
}

// WritePacket implements [PacketWriter].
func (w *RotatingWriter) WritePacket(ci gopacket.CaptureInfo, data []byte) error {
	if w.err != nil {
		return w.err
	}
	if w.full(&ci, data) {
		// All counters known by now.
		w.file.counters = w.counters
		w.file.counters.Time = w.file.last
		if w.err = w.file.Close(); w.err != nil {
			return w.err
		}
		if err := w.next(ci.Timestamp); err != nil {
			return err
		}
	}
	if w.packets == 0 {
		w.begun = ci.Timestamp
	}
	w.packets++
	return w.file.WritePacket(ci, data)
}

// Flush implements [PacketWriter].
func (w *RotatingWriter) Flush(c Counters) error {
	if w.err != nil {
		return w.err
	}
	w.counters = c
	return w.file.Flush(c)
}

// Files returns the names of the existing files, oldest first.
func (w *RotatingWriter) Files() []string { return w.kept }

// Close closes the last file.
func (w *RotatingWriter) Close() error {
	if w.file == nil {
		return w.err
	}
	err := w.file.Close()
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.prefix+w.suffix, os.ErrClosed)
	}
	return err
}
