package measure

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Join is how one client joined a game, from its connect to the game.
type Join struct {
	Host    netip.AddrPort `json:"host"`
	Client  netip.AddrPort `json:"client"`
	Name    wire.Untrusted `json:"name,omitempty"`
	InGame  bool           `json:"in_game"`
	Stopped string         `json:"stopped,omitempty"`  // why the client is not in the game; may hold text from the network
	Left    int            `json:"left_out,omitempty"` // steps between the last two, beyond the limit
	Steps   []Step

	ended bool
	short bool
	heard instant // of the host
	again int     // datagrams of the client since, other than acknowledgements
	spoke instant // the last of these
}

// A Step is a message of a join.
type Step struct {
	Time     time.Time
	Frame    int `json:"frame"`
	FromHost bool
	Text     string `json:"text"`              // may hold text from the network
	Repeats  int    `json:"repeats,omitempty"` // times that it was sent again

	kind stepKind
	at   instant
}

// After returns the time from the first step to another one. The capture's clock
// may have jumped in between.
func (j *Join) After(s *Step) time.Duration { return s.at.since(j.Steps[0].at) }

// Took returns the time from the first step to the last one.
func (j *Join) Took() time.Duration { return j.After(&j.Steps[len(j.Steps)-1]) }

// A stepKind is the place of a step in a join.
type stepKind uint8

const (
	stepConnect stepKind = iota
	stepAccept
	stepName
	stepRequest
	stepAnswer
	stepLoad
	stepReady
	stepRules
	stepEnd
)

// stepKinds are the places of game messages; others have none.
var stepKinds = [256]stepKind{
	decode.StepAsk: stepRequest, decode.StepAnswer: stepAnswer, decode.StepLoad: stepLoad, decode.StepReady: stepReady, decode.StepEnter: stepRules,
}

// lacking says who does not take the next step, by the last one; %s is its text.
var lacking = [...]string{
	stepConnect: "the host does not answer the connect",
	stepAccept:  "the host does not ask for the client's files",
	stepName:    "the host does not ask for the client's files",
	stepRequest: "the client does not answer %s",
	stepAnswer:  "the host does not go on after %s",
	stepLoad:    "the client does not say that it is ready",
	stepReady:   "the host does not send MissionInit",
	stepRules:   "nothing more is in the capture",
	stepEnd:     "nothing more is in the capture",
}

// Limits of joins.
const (
	maxJoins = 1024
	maxSteps = 64
)

// Times of the stock game, see package arq.
const (
	soon   = arq.FirstInterval                                        // after a step nobody is late: whoever lost it sends it again then
	silent = arq.FirstInterval + arq.FirstInterval + arq.IntervalStep // without a word to a client that spoke: it has sent its messages again twice
	leap   = arq.KeepaliveAfter                                       // the longest pause that counts: nobody is silent for longer, so the clock was set
)

// An instant is a time by the capture's clock, without what was skipped of it.
type instant struct {
	time    time.Time
	skipped time.Duration
}

// since returns the time since an earlier instant, with all that was skipped.
func (t instant) since(o instant) time.Duration {
	return packet.Sum(t.time.Sub(o.time), t.skipped-o.skipped)
}

// Joins finds the joins in a capture. It is a sink of records.
type Joins struct {
	All    []*Join
	Passed int // joins beyond the limit
	open   map[pair]*Join
	clock  packet.Clock
	now    instant
}

// NewJoins returns a finder of joins.
func NewJoins() *Joins {
	return &Joins{open: map[pair]*Join{}, clock: packet.Clock{Leap: leap}}
}

// Record takes a record of the pipeline. It is borrowed until the call returns.
func (js *Joins) Record(r *dissect.Record) error {
	if r.DoubleOf > 0 {
		return nil
	}
	if r.Datagram != nil {
		js.now = instant{js.clock.Read(r.Datagram.Time), js.clock.Skipped()}
	}
	if r.Dir == dissect.DirUnknown || r.Kind != dissect.KindMessage {
		return nil
	}
	host, client := r.Ends()
	key := pair{host, client}
	j := js.open[key]
	if connects(r) && !r.Repeat && (j == nil || !j.waiting(r.Transport.Short)) {
		if len(js.All) >= maxJoins {
			js.Passed++
			return nil
		}
		j = &Join{Client: client, Host: host, short: r.Transport.Short}
		js.open[key] = j
		js.All = append(js.All, j)
	}
	if j == nil {
		return nil
	}
	if j.Name == "" {
		j.Name = r.Client
	}
	if !j.ended && !j.InGame {
		j.hear(r, js.now)
		j.take(r, js.now)
	}
	return nil
}

// connects reports whether a record is a client's wish to be let in.
func connects(r *dissect.Record) bool {
	return r.Dir == dissect.ToHost && r.Transport.Type == transport.Connect
}

// hear notes who spoke last.
func (j *Join) hear(r *dissect.Record, now instant) {
	switch {
	case r.Dir == dissect.FromHost:
		j.heard, j.again = now, 0
	case r.Part == 0 && r.Transport.Type != transport.Acknowledge:
		j.again++
		j.spoke = now
	}
}

// Close tells of each join where it stopped.
func (js *Joins) Close() error {
	for _, j := range js.All {
		last := &j.Steps[len(j.Steps)-1]
		switch {
		case j.InGame:
		case j.heard.time.IsZero() && len(j.Steps) > 1: // the client went on, so the host did, too
			j.Stopped = "the capture holds no message of the host"
			if last.kind == stepEnd {
				j.Stopped = last.Text + "; " + j.Stopped
			}
		case j.Stopped != "":
		case js.now.time.Sub(last.at.time) < soon && last.Repeats == 0:
			j.Stopped = fmt.Sprintf("%s before the capture ends, %.1f s later", j.waits(), js.now.time.Sub(last.at.time).Seconds())
		default:
			j.Stopped = j.waits()
		}
	}
	return nil
}

// waiting reports whether a connect without a number repeats that of the join.
func (j *Join) waiting(short bool) bool {
	return short == j.short && len(j.Steps) > 0 && j.Steps[len(j.Steps)-1].kind <= stepAccept
}

// take takes a message of the client or of the host.
func (j *Join) take(r *dissect.Record, now instant) {
	s := Step{at: now, Time: r.Datagram.Time, Frame: r.Datagram.Number, FromHost: r.Dir == dissect.FromHost}
	if !s.read(r) {
		return
	}
	if r.Repeat || connects(r) && len(j.Steps) > 0 { // a retransmission of the last step of its kind
		for i := len(j.Steps) - 1; i >= 0; i-- {
			if o := &j.Steps[i]; o.kind == s.kind && o.FromHost == s.FromHost {
				o.Repeats++
				return
			}
		}
		return
	}
	if len(j.Steps) == maxSteps { // the last one tells where it stopped
		j.Steps = j.Steps[:maxSteps-1]
		j.Left++
	}
	j.Steps = append(j.Steps, s)
	j.InGame = s.kind == stepRules
	if s.kind == stepEnd {
		j.ended, j.Stopped = true, s.Text
	}
}

// read names the message of a record; ok is false if it is none of a join.
func (s *Step) read(r *dissect.Record) (ok bool) {
	switch m := r.Message.(type) {
	case *transport.Accept:
		return s.set(stepAccept, "accept: id %d", m.ID)
	case *transport.Identity:
		return !s.FromHost && s.set(stepName, "name: %s", wire.WideText(m.Name).Raw())
	case *transport.Boot:
		own := m.ID == transport.UnassignedPeer || m.ID == r.ClientID || r.ClientID == 0
		return own && s.set(stepEnd, "the host put the client out: %s", names.BootReasons.Name(uint64(m.Reason)))
	case *msg.ChecksumRequest:
		return s.set(stepRequest, "ChecksumRequest %d: %s", m.Round, m.Dir)
	case *msg.ChecksumResponse:
		return s.set(stepAnswer, "ChecksumResponse %d", m.Round)
	case *msg.ChecksumFailed:
		return s.set(stepEnd, "the host says that the file %s differs", m.Text)
	case *msg.VersionDifferent:
		return s.set(stepEnd, "the host says that the version differs: %s", m.Text)
	case *msg.Settings:
		return s.set(stepLoad, "Settings: slot %d", m.Slot)
	}
	return s.readType(r)
}

// readType names a message by its type or spec.
func (s *Step) readType(r *dissect.Record) (ok bool) {
	switch r.Transport.Type {
	case transport.Connect:
		if s.FromHost {
			return s.set(stepAccept, "accept")
		}
		return s.set(stepConnect, "connect")
	case transport.Disconnect, transport.Leave:
		return !s.FromHost && s.set(stepEnd, "the client left")
	case transport.NameChange, transport.BootPlayer, transport.Acknowledge, transport.DoNothing:
	case transport.Standard:
		if r.Spec == nil {
			return false
		}
		kind := stepKinds[r.Spec.Step]
		return kind != 0 && (kind == stepAnswer || kind == stepReady) != s.FromHost && s.set(kind, "%s", r.Spec.Name)
	}
	return false
}

// set sets what the step is.
func (s *Step) set(kind stepKind, format string, args ...any) bool {
	s.kind, s.Text = kind, fmt.Sprintf(format, args...)
	return true
}

// waits returns the next step of a stopped join, and who does not take it.
func (j *Join) waits() string {
	last := &j.Steps[len(j.Steps)-1]
	if last.FromHost && j.again > 1 && j.spoke.time.Sub(j.heard.time) > silent {
		return fmt.Sprintf("the host sends nothing more, although the client speaks for %.1f s", j.spoke.since(j.heard).Seconds())
	}
	return strings.ReplaceAll(lacking[last.kind], "%s", last.Text)
}
