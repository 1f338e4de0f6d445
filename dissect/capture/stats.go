package capture

import (
	"cmp"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Stats counts the frames of a source so far. Each frame counts once: Frames is
// Datagrams plus Other.Total().
type Stats struct {
	Frames    int       // all frames
	Datagrams int       // frames with a datagram
	Other     Other     // all others
	FirstTime time.Time // time of the first frame, zero if there is none
	LastTime  time.Time // the latest of any frame

	Unfinished int // datagrams with missing IP fragments
	Evicted    int // dropped because they were too old, too many, or contradictory

	Anonymous bool // a file is marked by AnonymousMark

	Remarks     []string // on files that are read with reservations, such as logs. Only the first few are kept.
	MoreRemarks int      // how many further remarks were not kept

	BytesRead int64 // bytes of the files, packed or not
	Size      int64 // size of the files, 0 if not known
}

// Other counts frames without a datagram, by reason.
type Other struct {
	NotIP       int // ARP and the like
	NotUDP      int // TCP, ICMP and the like
	TCP         int // how many of NotUDP are TCP
	Fragments   int // IP fragments, except those that completed a datagram
	Cut         int // cut by the snap length before the end of the UDP header
	Malformed   int // inconsistent headers
	Oversized   int // too large to decode
	Unsent      int // datagrams in a log that could not be sent
	NoInterface int // frames of an interface that the file does not describe
	UnknownLink int // frames of an unknown link type
	Links       []LinkCount
}

// Total returns the number of frames without a datagram.
func (o Other) Total() int {
	return o.NotIP + o.NotUDP + o.Fragments + o.Cut + o.Malformed + o.Oversized + o.Unsent + o.NoInterface + o.UnknownLink
}

// A LinkCount counts the frames of one unknown link type. A hostile capture may
// have many. Only the first few are listed.
type LinkCount struct {
	Type   int // the LINKTYPE number
	Frames int
}

// maxLinks limits the number of unknown link types counted separately.
const maxLinks = 16

// An outcome is the fate of a frame.
type outcome uint8

const (
	gaveDatagram outcome = iota
	notIP
	notUDP
	isTCP
	fragment
	cutShort
	malformed
	oversized
	unsent
	noInterface
	unknownLink
	outcomes // number of outcomes
)

// A tally counts frames.
type tally struct {
	Stats  // without Datagrams, and with no more of Other than the links
	counts [outcomes]int
	before time.Time // time of the frame before
}

// maxRemarks limits the number of remarks that are kept.
const maxRemarks = 16

// remark keeps a remark on a file.
func (t *tally) remark(name, text string) {
	if len(t.Remarks) == maxRemarks {
		t.MoreRemarks++
		return
	}
	t.Remarks = append(t.Remarks, name+": "+text)
}

// saw counts a frame. It returns the time since the frame before.
func (t *tally) saw(at time.Time) time.Duration {
	if t.Frames == 0 {
		t.FirstTime, t.LastTime, t.before = at, at, at
	} else if at.After(t.LastTime) {
		t.LastTime = at
	}
	t.Frames++
	after := packet.Since(at, t.before)
	t.before = at
	return after
}

// sawLink counts a frame of an unknown link type.
func (t *tally) sawLink(link uint16) {
	links := &t.Other.Links
	i := slices.IndexFunc(*links, func(l LinkCount) bool { return l.Type == int(link) })
	switch {
	case i >= 0:
		(*links)[i].Frames++
	case len(*links) < maxLinks:
		*links = append(*links, LinkCount{Type: int(link), Frames: 1})
	}
}

// stats collects the counts of a source.
func (d *decoder) stats(p *progress) Stats {
	s := d.tally.stats()
	s.Unfinished, s.Evicted = d.joiner.unfinished(), d.joiner.evicted
	s.BytesRead, s.Size = p.get()
	return s
}

func (t *tally) stats() Stats {
	s := t.Stats
	s.Datagrams = t.counts[gaveDatagram]
	s.Remarks = slices.Clone(s.Remarks)
	s.Other = Other{
		NotIP:       t.counts[notIP],
		NotUDP:      t.counts[notUDP] + t.counts[isTCP],
		TCP:         t.counts[isTCP],
		Fragments:   t.counts[fragment],
		Cut:         t.counts[cutShort],
		Malformed:   t.counts[malformed],
		Oversized:   t.counts[oversized],
		Unsent:      t.counts[unsent],
		NoInterface: t.counts[noInterface],
		UnknownLink: t.counts[unknownLink],
		Links:       slices.Clone(s.Other.Links),
	}
	slices.SortFunc(s.Other.Links, func(a, b LinkCount) int { return cmp.Compare(a.Type, b.Type) })
	return s
}
