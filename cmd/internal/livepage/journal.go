package livepage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"sync"
	"time"
)

// A view is what a group of viewers can see.
type view uint8

// The owner's view shows the match without delay. The public view lacks chat
// and addresses.
const (
	pageOwner view = 1 << iota
	pagePublic
	apiOwner
	apiPublic
)

// A kind is the kind of a journal entry.
type kind uint8

// The kinds of entries.
const (
	whole  kind = iota // a complete match except its flights
	final              // a complete match after its end
	change             // changes of a match
	flight             // additional flights, shots and connections
)

// An entry is an addition to a match. Its text is a line of JSON.
type entry struct {
	at    time.Duration // time since the journal began
	text  int           // size of the text in bytes
	match int
	views view
	kind  kind
	place int64 // offset of the entry in the file
}

const (
	headSize    = 8 + 4 + 4 + 1 + 1
	mostJournal = 4 << 30 // bytes on disk, enough for weeks
	mostMatches = 256     // matches that viewers see, the last ones
)

// next returns the offset of the next entry.
func (e *entry) next() int64 { return e.place + headSize + int64(e.text) }

var errFull = fmt.Errorf("the live page has filled %d GiB of temporary files; restart the program", mostJournal>>30)

// A journal is the history of all matches, in a file that only the owner can
// read. One goroutine writes it, and each viewer reads it at its own pace. A
// slow viewer takes no memory and does not delay others. Entries never change.
type journal struct {
	file  *os.File
	began time.Time
	id    string // unique ID of this journal

	mu      sync.Mutex
	size    int64
	keys    []entry       // whole and final entries
	begun   []int64       // by match, the offset of its first entry
	changed chan struct{} // closed when the next entry is written
}

// newJournal returns an empty journal.
func newJournal() (*journal, error) {
	f, err := os.CreateTemp("", "bcdissect-live-*") // only the owner can read it
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" {
		_ = os.Remove(f.Name()) // frees the space however the program ends, on systems that can remove an open file
	}
	return &journal{file: f, began: time.Now(), id: rand.Text(), changed: make(chan struct{})}, nil
}

// close removes the file.
func (j *journal) close() error {
	err := j.file.Close()
	if runtime.GOOS == "windows" {
		err = errors.Join(err, os.Remove(j.file.Name()))
	}
	return err
}

// A draft is the text of the next entry. What it has beyond some size waits in
// the file, where viewers do not read it before the entry is added. After an hour the
// text of a whole entry has megabytes.
type draft struct {
	text  []byte // what is not in the file yet
	saved int    // bytes in the file
	into  *journal
	err   error
}

// mostText is how much text of a draft is in memory.
const mostText = 16 << 10

// size returns the size of the text in bytes.
func (d *draft) size() int { return d.saved + len(d.text) }

// spill moves text to the file if there is much. The last byte stays, since the next
// depends on it.
func (d *draft) spill() {
	if len(d.text) > mostText && d.into != nil {
		d.save(len(d.text) - 1)
	}
}

// save moves the first n bytes of the text to the file.
func (d *draft) save(n int) {
	at := d.into.size + headSize + int64(d.saved)
	switch {
	case d.err != nil:
	case at+int64(n) > mostJournal:
		d.err = errFull
	default:
		_, d.err = d.into.file.WriteAt(d.text[:n], at)
	}
	d.saved += n
	d.text = append(d.text[:0], d.text[n:]...)
}

// add writes the entry of a draft, which is empty afterwards.
func (j *journal) add(e entry, d *draft) error {
	e.at, e.text, e.place = time.Since(j.began), d.size(), j.size
	d.save(len(d.text))
	err := d.err
	if d.saved, d.err = 0, nil; cap(d.text) > 4*mostText {
		d.text = nil
	}
	if err != nil {
		return err
	}
	h := binary.LittleEndian.AppendUint64(make([]byte, 0, headSize), uint64(e.at))
	h = binary.LittleEndian.AppendUint32(h, uint32(e.text))
	h = binary.LittleEndian.AppendUint32(h, uint32(e.match))
	if _, err := j.file.WriteAt(append(h, byte(e.views), byte(e.kind)), e.place); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size = e.next()
	if e.match == len(j.begun) {
		j.begun = append(j.begun, e.place)
	}
	if e.kind <= final {
		j.keys = append(j.keys, e)
	}
	close(j.changed)
	j.changed = make(chan struct{})
	return nil
}

// extent returns the size of the journal and a channel that is closed when the
// journal grows.
func (j *journal) extent() (size int64, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size, j.changed
}

// begins reports whether an entry begins or will begin at an offset. Offsets
// come from viewers, who may lie. At an offset inside an entry they could read
// text that is not for them.
func (j *journal) begins(place int64) bool {
	j.mu.Lock()
	size, keys := j.size, j.keys
	j.mu.Unlock()
	at := int64(0)
	for i := range keys {
		if keys[i].place <= place {
			at = keys[i].place
		}
	}
	for at < place && at < size {
		e, err := j.at(at)
		if err != nil {
			return false
		}
		at = e.next()
	}
	return at == place
}

// at reads the entry at an offset, which must be less than the journal's size.
func (j *journal) at(place int64) (e entry, err error) {
	var h [headSize]byte
	if _, err := j.file.ReadAt(h[:], place); err != nil {
		return e, err
	}
	return entry{
		at: time.Duration(binary.LittleEndian.Uint64(h[:])), text: int(binary.LittleEndian.Uint32(h[8:])), match: int(binary.LittleEndian.Uint32(h[12:])),
		views: view(h[16]), kind: kind(h[17]), place: place,
	}, nil
}

// text returns a reader for the text of an entry.
func (j *journal) text(e *entry) *io.SectionReader {
	return io.NewSectionReader(j.file, e.place+headSize, int64(e.text))
}

// A plan lists what a new viewer needs to know the contents of the journal at
// some time.
type plan struct {
	keys    map[int]entry // by match, the last whole entry
	current int           // the last match, -1 if there is none
	first   int           // the first match that viewers still see
	from    int64         // offset of the first entry that may be needed
	until   int64         // offset at which the viewer continues
}

// plan returns the plan of a view for entries that are at least as old as the
// delay.
func (j *journal) plan(v view, delay time.Duration) (p plan, err error) {
	horizon := time.Since(j.began) - delay
	j.mu.Lock()
	size, keys, begun := j.size, j.keys, j.begun
	j.mu.Unlock()
	p = plan{keys: map[int]entry{}, current: -1}
	for i := range keys {
		if e := &keys[i]; e.views&v != 0 && e.at <= horizon {
			p.keys[e.match] = *e
			p.current = max(p.current, e.match)
		}
	}
	p.first = max(0, p.current+1-mostMatches)
	maps.DeleteFunc(p.keys, func(m int, _ entry) bool { return m < p.first })
	for _, e := range p.keys {
		p.until = max(p.until, e.next())
	}
	// The rest is found by reading entries, since there are few of them.
	for p.until < size {
		e, err := j.at(p.until)
		if err != nil {
			return p, err
		}
		if e.at > horizon {
			break
		}
		p.until = e.next()
	}
	p.from = p.until
	for _, e := range p.keys {
		if e.kind == whole {
			p.from = min(p.from, e.place)
		}
	}
	if p.current >= 0 && v&(pageOwner|pagePublic) != 0 {
		p.from = min(p.from, begun[p.current])
	}
	return p, nil
}

// wants reports whether a viewer with this plan needs an older entry, for the
// state of a match or for the flights of the current match.
func (p *plan) wants(e *entry) bool {
	switch e.kind {
	case flight:
		return e.match == p.current
	case change:
		key, known := p.keys[e.match]
		return known && e.place > key.place
	default: // the keys were sent first
		return false
	}
}
