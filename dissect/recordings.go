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
	headDatagrams = 64               // of the game in a file, which tell whether it continues another one
	headFrames    = 1 << 16          // of all UDP datagrams that are looked at for them
	partGap       = 30 * time.Second // between the end of a part and the beginning of the next one, in which players send
	mostPairs     = 4096             // of addresses in a file
)

// Recordings groups capture files into recordings: the parts of a recording, such
// as those of a ring buffer, are read one after another as one. A part continues a
// file if it begins within a conversation that the file has up to shortly before.
// The groups, and the files in each, are in the order of time. copies are the names
// of files, each with that of an earlier file of the same bytes, and in no group. If
// a name is that of a pipe, each is a group.
func Recordings(cfg Config, names []string) (groups [][]string, copies map[string]string) {
	names, copies = Distinct(names)
	var files []*part
	for _, name := range names {
		if _, ok := regular(name); !ok || len(names) == 1 { // it can't be read twice
			files = nil
			break
		}
		files = append(files, begin(cfg, name))
	}
	if files == nil {
		for _, name := range names {
			groups = append(groups, []string{name})
		}
		return groups, copies
	}
	slices.SortStableFunc(files, func(a, b *part) int { return a.begin.Compare(b.begin) })
	last := map[*part]int{} // group of each file that no other continues yet
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

// A pair is the addresses of a conversation, the lower one first.
type pair [2]netip.AddrPort

func pairOf(d *packet.Datagram) pair {
	if d.Src.Compare(d.Dst) < 0 {
		return pair{d.Src, d.Dst}
	}
	return pair{d.Dst, d.Src}
}

// A part is a file that may continue another one.
type part struct {
	name    string
	begin   time.Time
	goesOn  []pair // conversations that it begins within
	latest  map[pair]time.Time
	scanned bool
}

// begin reads the beginning of a file.
func begin(cfg Config, name string) *part {
	f := &part{name: name}
	src, err := capture.OpenAll([]string{name}, nil)
	if err != nil {
		return f // whoever reads it reports that
	}
	defer func() { _ = src.Close() }() // nothing was written
	p := New(cfg)
	seen := map[pair]bool{}
	for n, all := 0, 0; n < headDatagrams && all < headFrames; all++ {
		d, err := src.Next()
		if err != nil {
			break
		}
		_ = p.Push(d, func(r *Record) error { // it never fails
			pair := pairOf(d)
			if r.Kind == KindMessage && r.Part == 0 {
				n++
			}
			if r.Kind == KindGameSpy || r.Dir == DirUnknown || seen[pair] {
				return nil
			}
			seen[pair] = true
			if r.Transport.Type != transport.Connect {
				f.goesOn = append(f.goesOn, pair)
			}
			return nil
		})
	}
	f.begin = src.Stats().FirstTime
	return f
}

// scan finds when each conversation of a file ends.
func (f *part) scan() {
	if f.scanned {
		return
	}
	f.scanned, f.latest = true, map[pair]time.Time{}
	src, err := capture.OpenAll([]string{f.name}, nil)
	if err != nil {
		return
	}
	defer func() { _ = src.Close() }() // nothing was written
	_ = src.Each(func(d *packet.Datagram) bool {
		p := pairOf(d)
		if _, known := f.latest[p]; known || len(f.latest) < mostPairs {
			f.latest[p] = d.Time
		}
		return true
	})
}

// follows returns the file that this one continues: the one whose conversation
// ends last.
func (f *part) follows(all map[*part]int) (before *part) {
	if len(f.goesOn) == 0 {
		return nil
	}
	least := partGap
	for other := range all {
		other.scan()
		for _, p := range f.goesOn {
			end, ok := other.latest[p]
			if gap := f.begin.Sub(end); ok && gap >= 0 && (gap < least || gap == least && before != nil && other.name < before.name) {
				before, least = other, gap
			}
		}
	}
	return before
}

// regular reports whether a name is that of a file that can be read again, and its
// size.
func regular(name string) (size int64, ok bool) {
	info, err := os.Stat(name)
	if name == "-" || err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Distinct returns the names of files without those that have the same bytes as an
// earlier one. copies are the others, each with the name of the earlier one.
func Distinct(names []string) (kept []string, copies map[string]string) {
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
	first := map[[sha256.Size]byte]string{}
	for _, name := range names {
		if size, ok := regular(name); ok && sizes[size] > 1 {
			sum, err := digest(name)
			if other, known := first[sum]; known && err == nil {
				copies[name] = other
				continue
			}
			first[sum] = name
		}
		kept = append(kept, name)
	}
	return kept, copies
}

// digest returns a hash of the bytes of a file.
func digest(name string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	h := sha256.New()
	_, err = io.Copy(h, f)
	h.Sum(sum[:0])
	return sum, err
}
