// Not part of the library: package result defines the result of comparing a
// captured host with a model. It has counts, differences and their causes,
// documented deviations, and what a baseline accepts. It does not judge
// messages.
package result

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Report is the result for one captured host.
type Report struct {
	Host     netip.AddrPort `json:"host"`
	Dialect  decode.Dialect `json:"dialect" as:"text"` // dialect of the captured host
	Against  decode.Dialect `json:"against" as:"text"` // dialect of the model that decides. Undecided means the host's dialect.
	Game     relay.Config   // game of the models
	Clients  []*Player      `json:"clients"`
	Line     []measure.Loss `json:"line"` // estimated losses
	Inputs   int            // messages of clients that were played
	Rows     []*Row
	Controls []*Row // rows of transport messages

	Differences []Difference // the first differences
	Found       int          // number of all differences
	Causes      []*Cause     // causes of all differences
	Findings    []Finding    // findings about numbers and acknowledgements, which are not differences
	Deviations  []*Deviation // documented ones, in the order in which they were found
	Ledger      []*Entry     // all documented deviations of the host's dialect
	Excused     []*Count     // messages that were not required
	Apart       []*Count     // messages of the host that cannot be compared
	Invariants  []Invariant
	Notes       []string    // notes about the capture
	Numbers     int64       // highest number of messages that the host numbered for a client, 0 if numbers are not checked
	Unneeded    []*Accepted `json:"unneeded,omitempty"` // entries of a baseline that no host of the check needs

	catalog       *decode.Catalog
	game, control [256]*Row // indexed by opcode and by type
	causes        map[causeKey]*Cause
}

// New returns an empty report.
func New(against decode.Dialect, catalog *decode.Catalog) *Report {
	return &Report{Against: against, catalog: catalog, Invariants: newInvariants(catalog), causes: map[causeKey]*Cause{}}
}

// A Player is one client of the captured host, from its connect to its end. If
// it connects again, that is another Player.
type Player struct {
	Addr    netip.AddrPort `json:"addr"`
	Peer    uint8          `json:"peer,omitempty"`            // id that the captured host gave it, 0 if unknown
	Slot    int            `json:"slot,omitempty" as:"index"` // -1 if unknown
	Name    wire.Untrusted `json:"name,omitempty"`
	First   int            `json:"frame"`
	Adopted bool           `json:"adopted,omitempty"` // its join is not in the capture
}

// String returns the player's name, or its address. The name is text from the
// network, escaped.
func (p *Player) String() string { return cmp.Or(p.Name.Raw(), p.Addr.String()) }

// A Row counts the messages of one opcode, or of one transport type.
type Row struct {
	Type    transport.Type
	Opcode  decode.Opcode
	Name    string `json:"name"`
	Relay   decode.Relay
	Control bool

	Expected      int           `json:"expected"`
	Emitted       int           `json:"emitted"`
	Matched       int           `json:"matched"`
	Missing       int           `json:"missing"`
	Extra         int           `json:"extra"`
	Differing     int           `json:"differs"`
	NotComparable int           `json:"not_comparable"`
	Explained     int           `json:"documented"`
	Excused       int           `json:"not_required"`
	Copies        int           // number of copies whose delay is known
	MedianLag     time.Duration `json:"latency_ms_median,omitempty" as:"millis" if:"Copies"`
	P95Lag        time.Duration `json:"latency_ms_p95,omitempty" as:"millis" if:"Copies"`
	lags          *measure.Times
	inputs        int // messages of clients that were played
	dropped       int // copies that the host does not send, as a rule documents
}

// A Difference is a message that is missing, surplus, or different.
type Difference struct {
	Kind   string `json:"kind"` // missing, extra or differs
	Frame  int    `json:"frame"`
	Opcode decode.Opcode
	To     netip.AddrPort `json:"to"`
	Name   string         `json:"name"`   // name of the message
	Detail string         `json:"detail"` // may contain text from the network
	Fields []Field        `json:"fields"`

	Type   transport.Type
	What   string // what happens to the message, in a few words
	ByRate bool   // there are more such messages than a line loses or doubles
}

// Control returns the type of the transport message that the difference is
// about. If it is about a game message, ok is false.
func (d *Difference) Control() (t transport.Type, ok bool) {
	return d.Type, d.Type != transport.Standard
}

// A Deviation counts the messages that a documented rule explains.
type Deviation struct {
	Rule     *decode.Rule
	Count    int  `json:"count"`
	First    int  `json:"frame"`
	Accepted bool `json:"accepted,omitempty"` // accepted by a baseline
	Rows     []*Row
	each     []int // indexed as Rows
}

// Of returns how many messages of a row the rule explains.
func (d *Deviation) Of(row *Row) int {
	if i := slices.Index(d.Rows, row); i >= 0 {
		return d.each[i]
	}
	return 0
}

// A Count counts messages with a common property.
type Count struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
	First int    `json:"frame"`
	Rows  []*Row
}

// Explain describes a rule for people, and names the hosts that follow it.
func (r *Report) Explain(rule *decode.Rule) string {
	if slices.Contains(relay.Rules[:], rule) {
		return "bcdissect relay " + rule.Text
	}
	return r.Dialect.String() + " " + rule.Text
}

// MaxDifferences is the maximum number of differences in a report. Others are
// only counted.
const MaxDifferences = 200

// Conforms reports whether the captured host agrees with the model, and there
// are no findings, except for what a baseline accepts. With the model of the
// host's dialect, documented deviations are not differences.
func (r *Report) Conforms() bool {
	differences, findings := r.Left()
	unaccepted := func(d *Deviation) bool { return !d.Accepted }
	return differences == 0 && findings == 0 && (r.Against != decode.Stock || !slices.ContainsFunc(r.Deviations, unaccepted))
}

// Left returns how many differences and findings no baseline accepts.
func (r *Report) Left() (differences, findings int) {
	differences = r.Found
	for _, c := range r.Causes {
		differences -= c.Accepted
	}
	for i := range r.Findings {
		if !r.Findings[i].Accepted {
			findings++
		}
	}
	return differences, findings
}

// Compared returns the number of the host's messages that were compared, and of
// those that are missing.
func (r *Report) Compared() (n int) {
	for _, list := range [][]*Row{r.Rows, r.Controls} {
		for _, row := range list {
			n += row.Matched + row.Explained + row.Missing + row.Extra + row.Differing
		}
	}
	return n
}

// Row returns the row of an opcode or of a transport type.
func (r *Report) Row(typ transport.Type, op decode.Opcode) *Row {
	row := &r.game[op]
	if typ != transport.Standard {
		op, row = 0, &r.control[typ]
	}
	if *row == nil {
		*row = &Row{Type: typ, Opcode: op, Control: typ != transport.Standard}
	}
	return *row
}

// Differ counts a difference, and lists the first ones.
func (r *Report) Differ(d Difference) {
	row := r.Row(d.Type, d.Opcode)
	switch d.Kind {
	case "missing":
		row.Missing++
	case "extra":
		row.Extra++
	case "differs":
		row.Differing++
	}
	r.Found++
	r.because(&d)
	r.Break(d.Kind, d.Type, d.Opcode, d.Frame, false)
	if d.What == OutOfOrder {
		r.Break(Disordered, d.Type, d.Opcode, d.Frame, false)
	}
	if len(r.Differences) < MaxDifferences {
		r.Differences = append(r.Differences, d)
	}
}

// Deviate counts a message that a rule explains.
func (r *Report) Deviate(rule *decode.Rule, typ transport.Type, op decode.Opcode, frame int) {
	i := slices.IndexFunc(r.Deviations, func(d *Deviation) bool { return d.Rule.Name == rule.Name })
	if i < 0 {
		i = len(r.Deviations)
		r.Deviations = append(r.Deviations, &Deviation{Rule: rule, First: frame})
	}
	d := r.Deviations[i]
	d.Count++
	d.First = min(d.First, frame)
	row := r.Row(typ, op)
	i = slices.Index(d.Rows, row)
	if i < 0 {
		i = len(d.Rows)
		d.Rows, d.each = append(d.Rows, row), append(d.each, 0)
	}
	d.each[i]++
}

// Drop counts a copy that the host does not send, as a rule documents.
func (r *Report) Drop(typ transport.Type, op decode.Opcode, frame int) {
	r.Row(typ, op).dropped++
	r.Break("missing", typ, op, frame, true)
}

// Input counts a message of a client that was played.
func (r *Report) Input(typ transport.Type, op decode.Opcode) {
	r.Inputs++
	r.Row(typ, op).inputs++
}

// Excuse counts a message that is not required.
func (r *Report) Excuse(why string, typ transport.Type, op decode.Opcode, frame int) {
	row := r.Row(typ, op)
	row.Excused++
	count(&r.Excused, why, row, frame)
}

// Incomparable counts a message of the host that cannot be compared.
func (r *Report) Incomparable(why string, typ transport.Type, op decode.Opcode, frame int) {
	row := r.Row(typ, op)
	row.NotComparable++
	count(&r.Apart, why, row, frame)
}

func count(list *[]*Count, why string, row *Row, frame int) {
	i := slices.IndexFunc(*list, func(c *Count) bool { return c.Why == why })
	if i < 0 {
		i = len(*list)
		*list = append(*list, &Count{Why: why, First: frame})
	}
	c := (*list)[i]
	c.Count++
	c.First = min(c.First, frame)
	if !slices.Contains(c.Rows, row) {
		c.Rows = append(c.Rows, row)
	}
}

// Lag records the delay of a copy.
func (r *Row) Lag(d time.Duration) {
	if r.lags == nil {
		r.lags = new(measure.Times)
	}
	r.lags.Add(d)
}

// empty reports whether a row has nothing to report.
func (r *Row) empty() bool {
	return r.Expected == 0 && r.Emitted == 0 && r.Explained == 0 && r.Excused == 0 && r.Missing == 0
}

// Finish completes the report: names, order, causes and the ledger.
func (r *Report) Finish() {
	for _, row := range slices.Concat(r.game[:], r.control[:]) {
		if row == nil || row.empty() {
			continue
		}
		if row.lags != nil {
			lags := row.lags.Result()
			row.Copies, row.MedianLag, row.P95Lag = int(lags.N), lags.Median, lags.P95
		}
		if row.Control {
			row.Name = row.Type.Kind()
			r.Controls = append(r.Controls, row)
			continue
		}
		row.Name = "unknown"
		if spec := r.catalog.Lookup(row.Opcode); spec != nil {
			row.Name, row.Relay = spec.Name, spec.Relay
		}
		r.Rows = append(r.Rows, row)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		d.Name = d.Type.Kind()
		if _, control := d.Control(); !control {
			d.Name = r.Row(d.Type, d.Opcode).Name
		}
	}
	for i := range r.Findings {
		r.Findings[i].Text = r.Findings[i].describe()
	}
	r.findCauses()
	r.settleLedger()
	r.settleInvariants()
	slices.SortFunc(r.Rows, func(a, b *Row) int { return int(a.Opcode) - int(b.Opcode) })
	slices.SortFunc(r.Controls, func(a, b *Row) int { return int(a.Type) - int(b.Type) })
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return a.Frame - b.Frame })
	slices.SortFunc(r.Deviations, func(a, b *Deviation) int { return a.First - b.First })
}
