package wireshark

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// An expert is a kind of expert information.
type expert struct {
	name     string // name without the prefix
	text     string
	group    string // group in Wireshark
	severity string
}

// Indexes of the experts.
const (
	expertMalformed = iota
	expertTrailing
	expertUnresolved
	expertUnknown
	expertRetransmission
	expertMissing
	expertNote
)

// experts are the kinds of expert information.
var experts = [...]expert{
	expertMalformed:      {"malformed", "The message is malformed", "MALFORMED", "ERROR"},
	expertTrailing:       {"trailing", "Bytes are left over after the last field", "UNDECODED", "WARN"},
	expertUnresolved:     {"unresolved", "The layout depends on a fact outside the capture", "UNDECODED", "NOTE"},
	expertUnknown:        {"unknown", "There is no decoder for the message", "UNDECODED", "WARN"},
	expertRetransmission: {"retransmission", "The message was sent again", "SEQUENCE", "NOTE"},
	expertMissing:        {"missing", "Sequence numbers are missing or late", "SEQUENCE", "WARN"},
	expertNote:           {"remark", "There is a note about the message", "PROTOCOL", "NOTE"},
}

// expertOf returns the index of the expert for a status. If there is none, ok
// is false.
func expertOf(s dissect.Status) (n int, ok bool) {
	n = slices.Index(expertStatus[:], s)
	return n, n >= 0
}

// expertStatus are the statuses of the first experts.
var expertStatus = [...]dissect.Status{
	expertMalformed: dissect.StatusMalformed, expertTrailing: dissect.StatusTrailing, expertUnresolved: dissect.StatusUnresolved,
	expertUnknown: dissect.StatusUnknown, expertRetransmission: dissect.StatusDuplicate,
}

// experts adds expert information about the message.
func (a *Annotator) experts(r *dissect.Record) {
	if a.cut {
		return
	}
	if n, ok := expertOf(r.Status); ok && r.DoubleOf == 0 { // duplicates have a note instead
		a.expertInfo(n, statusText(r))
	}
	for _, n := range r.Notes {
		kind := expertNote
		if strings.HasPrefix(n.Code, "seq-") {
			kind = expertMissing
		}
		a.expertInfo(kind, n.Text)
	}
}

// expertInfo adds an item of expert information.
func (a *Annotator) expertInfo(kind int, text string) {
	if len(a.items)+len(a.sources) > maxItems {
		a.left++
		return
	}
	a.expert = true
	a.header(idExpert, kind, kind, a.depth)
	a.value = report.AppendEscaped(a.value[:0], text)
	a.putString(a.value)
}

// statusText describes the status.
func statusText(r *dissect.Record) string {
	switch {
	case r.Err != nil:
		return r.Status.String() + ": " + r.Err.Error()
	case r.Status == dissect.StatusDuplicate:
		return "retransmission"
	case r.Status == dissect.StatusTrailing:
		return strconv.Itoa(len(r.Rest)) + " bytes are left over"
	}
	return r.Status.String()
}

// find adds the findings about the message to the comment.
func (a *Annotator) find(r *dissect.Record) {
	add := func(text string) {
		if len(a.findings) > maxComment {
			return
		}
		a.findings = table.AppendName(a.findings, r)
		a.findings = append(a.findings, ": "...)
		a.findings = append(report.AppendEscaped(a.findings, text), '\n')
	}
	if _, ok := expertOf(r.Status); ok && r.DoubleOf == 0 {
		add(statusText(r))
	}
	for _, n := range r.Notes {
		add(n.Text)
	}
}

// remark returns the comment of the frame.
func (a *Annotator) remark() string {
	b := a.comment[:0]
	switch {
	case a.left > 0:
		b = append(strconv.AppendInt(b, int64(a.left), 10), " fields have no room in this frame; bcdissect read shows them\n"...)
	case a.cut:
		b = append(b, "The capture cut this frame, so that its fields stand here:\n"...)
	}
	b = append(b, a.text...)
	b = append(b, a.findings...)
	a.comment = b
	if len(b) > maxComment {
		const more = "\n…"
		b = append(cutText(b, maxComment-len(more)), more...)
	}
	return strings.TrimSuffix(string(b), "\n")
}

// Limits of the names of addresses.
const (
	maxAddresses = 4096
	maxNames     = 4 // names of one address
)

// A Name is the name of an address, made from the names of its players.
type Name struct {
	Addr netip.Addr
	Name string
}

// addressNames collects the names of the players' addresses.
type addressNames struct {
	of    map[netip.Addr][]wire.Untrusted
	fresh []Name
}

// meet adds the player of a record.
func (n *addressNames) meet(r *dissect.Record) {
	if r.Client == "" || r.Datagram == nil || r.Datagram.Src.Addr() == r.Datagram.Dst.Addr() {
		return // host players have no separate address
	}
	addr := r.Datagram.Src.Addr()
	switch r.Dir {
	case dissect.FromHost:
		addr = r.Datagram.Dst.Addr()
	case dissect.ToHost:
	case dissect.DirUnknown:
		return
	}
	names := n.of[addr]
	if slices.Contains(names, r.Client) || len(names) == maxNames || names == nil && len(n.of) == maxAddresses {
		return
	}
	if n.of == nil {
		n.of = map[netip.Addr][]wire.Untrusted{}
	}
	names = append(names, r.Client)
	n.of[addr] = names
	n.fresh = append(n.fresh, Name{addr, wire.Join(names, ", ").String()})
}

// Names returns the names of addresses that are new or have changed since the
// last call. A later name of an address replaces an earlier one.
func (a *Annotator) Names() []Name {
	fresh := a.names.fresh
	a.names.fresh = nil
	return fresh
}
