package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Selection chooses the records to show. The program decodes all records, since
// later ones depend on the state that earlier ones set.
type Selection struct {
	expression                       string
	player, object, from, to, frames string
	dir                              Choice
	noAcks, noUpdates, once          bool

	filter              *filter.Filter // nil for none
	objectID            wire.ObjectID
	peer                int           // -1 if the player is given by name
	stays               map[stay]bool // conversations of the player, nil until they are known
	firstFrame          int
	lastFrame           int // 0 for no end
	fromTime, untilTime time.Time
	viewer              decode.Viewer
	names               []wire.Untrusted // names of players, collected while looking for one
	met                 wire.Untrusted   // the last of names
	All                 bool             // all records are shown
	onlyRange           bool             // only frames and times select
}

// DefineSelection defines the flags.
func (s *Selection) DefineSelection(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&s.expression, "filter", "Y", "", "only records that match `EXPR`, such as 'Chat.text contains \"lag\"'; see 'bcdissect help filter'")
	fl.StringVar(&s.player, "player", "", "only the conversation of the player with this `NAME` or peer id")
	fl.StringVar(&s.object, "object", "", "only messages that name the object with this `ID`, such as 0x3FFFFFFF, or a part of it")
	fl.StringVar(&s.from, "from", "", "only from this `TIME` on: seconds or H:MM:SS after the first frame, 15:04:05Z, or RFC 3339 (UTC)")
	fl.StringVar(&s.to, "to", "", "only up to this `TIME`")
	fl.StringVar(&s.frames, "frames", "", "only frames `A-B`, A- or -B")
	s.dir.Define(cmd, "dir", "", "only this direction", "", "c2s", "s2c", "unknown")
	fl.BoolVar(&s.noAcks, "no-acks", false, "without acknowledgements")
	fl.BoolVar(&s.once, "once", false, "each message once: no retransmissions, no copies by a host")
	fl.BoolVar(&s.noUpdates, "no-updates", false, "without ship updates")
}

// CompileFilter compiles an expression. Its error points at the fault.
func CompileFilter(flag, expression string, catalog *decode.Catalog) (*filter.Filter, error) {
	f, err := filter.Compile(expression, catalog)
	return f, ofFilter(flag, err)
}

// CompileFilter compiles an expression in the way of -Y, with presets replaced
// by their expressions.
func (f *Common) CompileFilter(flag, expression string, catalog *decode.Catalog) (*filter.Filter, error) {
	config, err := f.Configuration()
	if err != nil {
		return nil, err
	}
	if expression, err = config.Filter(flag, expression, catalog); err != nil {
		return nil, err
	}
	return CompileFilter(flag, expression, catalog)
}

// ofFilter converts the error of a filter to a usage error of the flag.
func ofFilter(flag string, err error) error {
	if bad := (*filter.Error)(nil); errors.As(err, &bad) {
		return &StatusError{ExitUsage, fmt.Errorf("%s: %s", flag, bad.Reason()), bad.Caret()}
	}
	return err
}

// TakeFilter removes the expression of the filter from the selection and
// returns it. The next call of Config does not use it.
func (s *Selection) TakeFilter() (expression string) {
	expression, s.expression, s.filter = s.expression, "", nil
	return expression
}

// check parses the flags that do not depend on the capture.
func (s *Selection) check(catalog *decode.Catalog) (err error) {
	s.peer = -1
	if s.expression != "" {
		if s.filter, err = CompileFilter("--filter", s.expression, catalog); err != nil {
			return err
		}
	}
	if n, err := strconv.ParseUint(s.player, 0, 8); err == nil {
		s.peer = int(n)
	}
	if s.object != "" {
		id, err := strconv.ParseUint(s.object, 0, 32)
		if err != nil {
			return fmt.Errorf("--object %s: an object id is a number of 32 bits, such as 0x3FFFFFFF", s.object)
		}
		s.objectID = wire.ObjectID(id)
	}
	if s.frames != "" {
		if err := s.parseFrames(); err != nil {
			return fmt.Errorf("--frames %s: %w", s.frames, err)
		}
	}
	s.onlyRange = s.filter == nil && s.player == "" && s.object == "" && s.dir.Value == "" && !s.noAcks && !s.noUpdates && !s.once
	s.All = s.onlyRange && s.from == "" && s.to == "" && s.frames == ""
	// This finds times that are not well formed without a capture.
	return s.Begin(time.Unix(0, 0))
}

// EachOnce hides acknowledgements, retransmissions and the copies that a host
// passes on.
func (s *Selection) EachOnce() { s.noAcks, s.once = true, true }

// Again returns a copy of the selection that can be used at the same time. The
// capture begins at start.
func (s *Selection) Again(catalog *decode.Catalog, start time.Time) (*Selection, error) {
	other := *s
	other.viewer = decode.Viewer{}
	if s.filter != nil {
		var err error
		if other.filter, err = CompileFilter("--filter", s.expression, catalog); err != nil {
			return nil, err
		}
		other.filter.Start = start
	}
	return &other, nil
}

func (s *Selection) parseFrames() error {
	first, last, isRange := strings.Cut(s.frames, "-")
	if !isRange {
		last = first
	}
	for _, n := range []struct {
		text  string
		frame *int
	}{{first, &s.firstFrame}, {last, &s.lastFrame}} {
		if n.text == "" {
			continue
		}
		var err error
		if *n.frame, err = strconv.Atoi(n.text); err != nil {
			return errors.New("give frame numbers as A-B, A- or -B")
		} else if *n.frame < 1 {
			return errors.New("frames are counted from 1")
		}
	}
	if first == "" && last == "" || s.lastFrame != 0 && s.lastFrame < s.firstFrame {
		return errors.New("empty frame range")
	}
	return nil
}

// Begin sets the time of the first frame.
func (s *Selection) Begin(start time.Time) (err error) {
	if s.fromTime, err = timeOf(s.from, start, time.Time{}); err != nil {
		return fmt.Errorf("--from %s: %w", s.from, err)
	}
	// Without an end, the last possible time is the end.
	if s.filter != nil {
		s.filter.Start = start
	}
	if s.untilTime, err = timeOf(s.to, start, time.Unix(1<<40, 0)); err != nil {
		return fmt.Errorf("--to %s: %w", s.to, err)
	}
	if s.from != "" && s.to != "" && s.untilTime.Before(s.fromTime) && (s.sameKind() || start.Unix() != 0) {
		return fmt.Errorf("--from %s --to %s: empty time range; the end comes first", s.from, s.to)
	}
	return nil
}

// sameKind reports whether both times count from the first frame, or neither.
func (s *Selection) sameKind() bool {
	_, from := filter.Seconds(s.from)
	_, to := filter.Seconds(s.to)
	return from == to
}

// timeOf parses a time after start, a time on the day of start, or a full date
// and time.
func timeOf(text string, start, none time.Time) (time.Time, error) {
	if text == "" {
		return none, nil
	}
	if d, ok := filter.Seconds(text); ok {
		const longest = 1e9 * time.Second // no capture takes longer
		if d.Abs() >= longest {
			return none, errors.New("too many seconds")
		}
		return start.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse("15:04:05.999999999Z", text); err == nil {
		y, m, d := start.UTC().Date()
		return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), nil
	}
	return none, errors.New("give seconds, 00:01:30, 15:04:05Z, or 2006-01-02T15:04:05Z")
}

// A stay is the part of a conversation with one player. Player is -1 before the
// player is known.
type stay struct{ conversation, player int }

func stayOf(r *dissect.Record) stay {
	if r.Player == nil {
		return stay{r.Conversation, -1}
	}
	return stay{r.Conversation, r.Player.Index}
}

// WantsPlayer reports whether only the conversation of one player is selected.
func (s *Selection) WantsPlayer() bool { return s.player != "" }

// KnowsPlayer reports whether Learn has seen all records.
func (s *Selection) KnowsPlayer() bool { return s.stays != nil }

// mostNames is the number of players that an error lists.
const mostNames = 32

// Players returns the names that were found while looking for the player.
func (s *Selection) Players() []wire.Untrusted { return s.names }

// meet remembers the player of a record.
func (s *Selection) meet(r *dissect.Record) {
	if r.Client == "" || r.Client == s.met || len(s.names) == mostNames {
		return
	}
	s.met = r.Client
	if !slices.Contains(s.names, r.Client) {
		s.names = append(s.names, r.Client)
	}
}

// HasRange reports whether the user selected times or frames.
func (s *Selection) HasRange() bool { return s.from != "" || s.to != "" || s.frames != "" }

// Given returns the flags that select records, as the user gave them.
func (s *Selection) Given() (flags []string) {
	for _, f := range []struct{ name, value string }{
		{"--player", s.player}, {"--object", s.object}, {"--from", s.from}, {"--to", s.to}, {"--frames", s.frames}, {"--dir", s.dir.Value},
	} {
		if f.value != "" {
			flags = append(flags, f.name+" "+f.value)
		}
	}
	for _, f := range []struct {
		name string
		on   bool
	}{{"-Y", s.filter != nil}, {"--no-acks", s.noAcks}, {"--no-updates", s.noUpdates}, {"--once", s.once}} {
		if f.on {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// IsPlayer reports whether the client of the record is known to be the player.
func (s *Selection) IsPlayer(r *dissect.Record) bool {
	s.meet(r)
	return strings.EqualFold(r.Client.Raw(), s.player) || s.peer > 0 && int(r.ClientID) == s.peer
}

// Learn records the players from a first reading. Match of a second reading
// then knows the player's conversation from its first datagram.
func (s *Selection) Learn(r *dissect.Record) {
	if s.stays == nil {
		s.stays = map[stay]bool{}
	}
	if s.IsPlayer(r) {
		s.stays[stayOf(r)] = true
		s.stays[stay{r.Conversation, -1}] = true
	}
}

// Match reports whether a record is to be shown.
func (s *Selection) Match(r *dissect.Record) bool {
	if s.All {
		return true
	}
	switch {
	case !s.InRange(r.Datagram.Number, r.Datagram.Time):
		return false
	case s.dir.Value != "" && r.Dir.String() != s.dir.Value:
		return false
	case s.noAcks && r.Kind == dissect.KindMessage && r.Transport.Type == transport.Acknowledge:
		return false
	case s.noUpdates && isUpdate(r):
		return false
	case s.once && (r.Status == dissect.StatusDuplicate || r.CopyOf != 0):
		return false
	case s.stays != nil && !s.stays[stayOf(r)]:
		return false
	}
	return (s.object == "" || r.NamesObject(&s.viewer, s.objectID)) && (s.filter == nil || s.filter.Match(r))
}

// Judge reports whether records with the transport type and spec of r are
// shown. If that depends on more than these two, known is false.
func (s *Selection) Judge(r *dissect.Record) (shown, known bool) {
	shown, known = true, true
	if s.filter != nil {
		shown, known = s.filter.Judge(r)
	}
	switch {
	case known && !shown, s.noAcks && r.Transport.Type == transport.Acknowledge, s.noUpdates && isUpdate(r):
		return false, true
	}
	return shown, known && !s.HasRange() && s.player == "" && s.object == "" && s.dir.Value == "" && !s.once
}

// InRange reports whether frames and times select a frame.
func (s *Selection) InRange(frame int, at time.Time) bool {
	switch {
	case frame < s.firstFrame, s.lastFrame != 0 && frame > s.lastFrame:
		return false
	case at.Before(s.fromTime) && s.from != "", at.After(s.untilTime):
		return false
	}
	return true
}

// OnlyRange reports whether only frames and times select.
func (s *Selection) OnlyRange() bool { return s.onlyRange }

func isUpdate(r *dissect.Record) bool {
	op, ok := r.Opcode()
	return ok && op == msg.OpStateUpdate
}
