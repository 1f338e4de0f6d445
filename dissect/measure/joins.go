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

// A Join is one client's way into a game, from its connect on.
type Join struct {
	Host    netip.AddrPort `json:"host"`
	Client  netip.AddrPort `json:"client"`
	Name    wire.Untrusted `json:"name,omitempty"`
	InGame  bool           `json:"in_game"`
	Stopped string         `json:"stopped,omitempty"`  // why the client is not in the game. It may contain text from the network.
	Left    int            `json:"left_out,omitempty"` // number of dropped steps before the last one, beyond the limit
	Steps   []Step

	ended bool
	short bool
	heard instant // when the host last sent something
	again int     // datagrams of the client since then, except acknowledgements
	spoke instant // when the last of these was sent
}

// A Step is a message of a join.
type Step struct {
	Time     time.Time
	Frame    int `json:"frame"`
	FromHost bool
	Text     string `json:"text"`              // may contain text from the network
	Repeats  int    `json:"repeats,omitempty"` // number of retransmissions

	kind stepKind
	at   instant
}

// After returns the time from the first step to another step. The capture's
// clock may have jumped in between.
func (j *Join) After(s *Step) time.Duration { return s.at.since(j.Steps[0].at) }

// Took returns the time from the first step to the last one.
func (j *Join) Took() time.Duration { return j.After(&j.Steps[len(j.Steps)-1]) }

// A stepKind is the position of a step in a join.
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

// stepKinds are the positions of game messages. Other messages have none.
var stepKinds = [256]stepKind{
	decode.StepAsk: stepRequest, decode.StepAnswer: stepAnswer, decode.StepLoad: stepLoad, decode.StepReady: stepReady, decode.StepEnter: stepRules,
}

// lacking has, for each last step, a text that tells which next step is missing
// and from whom. %s is the step's text.
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

// Timers of the stock game, see package arq.
const (
	soon   = arq.FirstInterval                                        // shortly after a step, a missing next step is normal, since a lost message is only then retransmitted
	silent = arq.FirstInterval + arq.FirstInterval + arq.IntervalStep // how long a host is silent towards an active client before it counts as silent. By then, the client has retransmitted its messages twice.
	leap   = arq.KeepaliveAfter                                       // longest pause that counts. No side is silent for longer, so a longer pause means that the clock was set.
)

// An instant is a time of the capture's clock, and how much of the clock's time
// was skipped before it.
type instant struct {
	time    time.Time
	skipped time.Duration
}

// since returns the time since an earlier instant, including the skipped time.
func (t instant) since(o instant) time.Duration {
	return packet.Sum(t.time.Sub(o.time), t.skipped-o.skipped)
}

// Joins finds the joins in a capture. It is a sink of records.
type Joins struct {
	All    []*Join
	Passed int // number of joins beyond the limit
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

// connects reports whether a record is a client's connect.
func connects(r *dissect.Record) bool {
	return r.Dir == dissect.ToHost && r.Transport.Type == transport.Connect
}

// hear notes which side last sent something.
func (j *Join) hear(r *dissect.Record, now instant) {
	switch {
	case r.Dir == dissect.FromHost:
		j.heard, j.again = now, 0
	case r.Part == 0 && r.Transport.Type != transport.Acknowledge:
		j.again++
		j.spoke = now
	}
}

// Close completes the joins that have not ended.
func (js *Joins) Close() error {
	for _, j := range js.All {
		last := &j.Steps[len(j.Steps)-1]
		switch {
		case j.InGame:
		case j.heard.time.IsZero() && len(j.Steps) > 1: // the client went on, so the host did as well
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

// waiting reports whether a connect without a number repeats the join's
// connect.
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
	if len(j.Steps) == maxSteps { // keep the last one, which tells where the join stopped
		j.Steps = j.Steps[:maxSteps-1]
		j.Left++
	}
	j.Steps = append(j.Steps, s)
	j.InGame = s.kind == stepRules
	if s.kind == stepEnd {
		j.ended, j.Stopped = true, s.Text
	}
}

// read names the message of a record. If the message does not belong to a join,
// ok is false.
func (s *Step) read(r *dissect.Record) (ok bool) {
	switch m := r.Message.(type) {
	case *transport.Accept:
		return s.set(stepAccept, "accept: id %d", m.ID)
	case *transport.Identity:
		return !s.FromHost && s.set(stepName, "name: %s", wire.WideText(m.Name).Raw())
	case *transport.Boot:
		own := m.ID == transport.UnassignedPeer || m.ID == r.ClientID || r.ClientID == 0
		return own && s.set(stepEnd, "the host removed the client: %s", names.BootReasons.Name(uint64(m.Reason)))
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

// set sets the kind and the text of the step.
func (s *Step) set(kind stepKind, format string, args ...any) bool {
	s.kind, s.Text = kind, fmt.Sprintf(format, args...)
	return true
}

// waits returns the missing next step of a stopped join, with the side that
// should take it.
func (j *Join) waits() string {
	last := &j.Steps[len(j.Steps)-1]
	if last.FromHost && j.again > 1 && j.spoke.time.Sub(j.heard.time) > silent {
		return fmt.Sprintf("the host sends nothing more, although the client speaks for %.1f s", j.spoke.since(j.heard).Seconds())
	}
	return strings.ReplaceAll(lacking[last.kind], "%s", last.Text)
}
