package dissect

import (
	"crypto/sha256"
	"io"
	"net/netip"
	"os" //nolint:depguard // to compare files
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of the search for parts of a recording.
const (
	headDatagrams = 64               // how many of the game's datagrams at the start of a file are compared with other files
	headFrames    = 1 << 16          // how many UDP datagrams are read to find them
	partGap       = 30 * time.Second // longest time between the end of a part and the beginning of the next one, while players send
	mostPairs     = 4096             // address pairs in a file
)

// Parts is what is known about files, by their names. Keep it between calls of
// Recordings, even in a file, so that the files are not read again.
type Parts map[string]*Part

// A Part has the facts that tell whether a file is a copy of another one, or
// continues it.
type Part struct {
	Sum    []byte      // hash of the bytes, nil if no other file had the same size
	Head   bool        // whether the next three fields are known
	Begin  time.Time   // time of the first frame
	GoesOn []Pair      // conversations that had begun before the file
	Ends   bool        // whether Latest is known
	Latest []PairsTime // last time of each conversation, set only if another file has GoesOn

	name string
}

// A Pair is the two addresses of a conversation, the lower one first.
type Pair [2]netip.AddrPort

// A PairsTime is a conversation and the time of its last datagram.
type PairsTime struct {
	Pair Pair
	Time time.Time
}

// Recordings groups capture files into recordings. The files of a group, such
// as the files of a ring buffer, are parts of one recording and are read one
// after another. A file continues another one if it begins within a
// conversation that is in the other one until shortly before. The groups, and
// the files in each, are in the order of time. The result copies maps the name
// of each file that has the same bytes as an earlier one to the name of that
// file. Copies are in no group. If a name is not a regular file, such as a
// pipe, each file is its own group.
func Recordings(cfg Config, names []string) (groups [][]string, copies map[string]string) {
	return Parts{}.Recordings(cfg, names)
}

// of returns what is known about a file.
func (known Parts) of(name string) *Part {
	p := known[name]
	if p == nil {
		p = &Part{}
		known[name] = p
	}
	p.name = name
	return p
}

// Recordings works as the function [Recordings], and stores what it reads about
// files in the parts.
func (known Parts) Recordings(cfg Config, names []string) (groups [][]string, copies map[string]string) {
	names, copies = known.distinct(names)
	var files []*Part
	for _, name := range names {
		if _, ok := regular(name); !ok || len(names) == 1 { // a name that is not a regular file can be read only once
			files = nil
			break
		}
		f := known.of(name)
		if !f.Head {
			f.begin(cfg)
		}
		files = append(files, f)
	}
	if files == nil {
		for _, name := range names {
			groups = append(groups, []string{name})
		}
		return groups, copies
	}
	slices.SortStableFunc(files, func(a, b *Part) int { return a.Begin.Compare(b.Begin) })
	last := map[*Part]int{} // the group of each file that no other file continues so far
	for _, f := range files {
		before := f.follows(last)
		if before == nil {
			groups = append(groups, nil)
			last[f] = len(groups) - 1
		} else {
			last[f] = last[before]
			delete(last, before)
		}
		groups[last[f]] = append(groups[last[f]], f.name)
	}
	return groups, copies
}

func pairOf(d *packet.Datagram) Pair {
	if d.Src.Compare(d.Dst) < 0 {
		return Pair{d.Src, d.Dst}
	}
	return Pair{d.Dst, d.Src}
}

// begin reads the beginning of a file.
func (f *Part) begin(cfg Config) {
	f.Head = true
	src, err := capture.OpenAll([]string{f.name}, nil)
	if err != nil {
		return // reading the file later will report the error
	}
	defer func() { _ = src.Close() }() // errors do not matter, since nothing was written
	p := New(cfg)
	seen := map[Pair]bool{}
	for n, all := 0, 0; n < headDatagrams && all < headFrames; all++ {
		d, err := src.Next()
		if err != nil {
			break
		}
		_ = p.Push(d, func(r *Record) error { // the function never fails
			pair := pairOf(d)
			if r.Kind == KindMessage && r.Part == 0 {
				n++
			}
			if r.Kind == KindGameSpy || r.Dir == DirUnknown || seen[pair] {
				return nil
			}
			seen[pair] = true
			if r.Transport.Type != transport.Connect {
				f.GoesOn = append(f.GoesOn, pair)
			}
			return nil
		})
	}
	f.Begin = src.Stats().FirstTime
}

// scan finds when each conversation of a file ends.
func (f *Part) scan() {
	if f.Ends {
		return
	}
	f.Ends = true
	src, err := capture.OpenAll([]string{f.name}, nil)
	if err != nil {
		return
	}
	defer func() { _ = src.Close() }() // errors do not matter, since nothing was written
	latest := map[Pair]time.Time{}
	_ = src.Each(func(d *packet.Datagram) bool {
		p := pairOf(d)
		if _, known := latest[p]; known || len(latest) < mostPairs {
			latest[p] = d.Time
		}
		return true
	})
	for p, t := range latest {
		f.Latest = append(f.Latest, PairsTime{p, t})
	}
}

// follows returns the file that this one continues. If there are several, it is
// the one whose conversation ends last.
func (f *Part) follows(all map[*Part]int) (before *Part) {
	if len(f.GoesOn) == 0 {
		return nil
	}
	least := partGap
	for other := range all {
		other.scan()
		for _, last := range other.Latest {
			if gap := f.Begin.Sub(last.Time); slices.Contains(f.GoesOn, last.Pair) && gap >= 0 && (gap < least || gap == least && before != nil && other.name < before.name) {
				before, least = other, gap
			}
		}
	}
	return before
}

// regular reports whether a name is a regular file, which can be read again,
// and returns its size.
func regular(name string) (size int64, ok bool) {
	info, err := os.Stat(name)
	if name == "-" || err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Distinct returns the names of files without copies. The result copies maps
// the name of each file that has the same bytes as an earlier one to the name
// of that file.
func Distinct(names []string) (kept []string, copies map[string]string) {
	return Parts{}.distinct(names)
}

func (known Parts) distinct(names []string) (kept []string, copies map[string]string) {
	if len(names) < 2 {
		return names, nil
	}
	sizes := map[int64]int{}
	for _, name := range names {
		if size, ok := regular(name); ok {
			sizes[size]++
		}
	}
	copies = map[string]string{}
	first := map[string]string{}
	for _, name := range names {
		if size, ok := regular(name); ok && sizes[size] > 1 {
			f := known.of(name)
			if f.Sum == nil {
				f.Sum = digest(name)
			}
			if other, there := first[string(f.Sum)]; there && f.Sum != nil {
				copies[name] = other
				continue
			}
			first[string(f.Sum)] = name
		}
		kept = append(kept, name)
	}
	return kept, copies
}

// digest returns a hash of the bytes of a file, or nil if they cannot be read.
func digest(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // errors do not matter, since nothing was written
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil
	}
	return h.Sum(nil)
}
