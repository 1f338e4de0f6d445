// Not part of the library: package acmi writes matches as flight recordings for
// Tacview, in ACMI 2.2 as text or zipped. One game unit is one metre of a flat
// world. Its x axis points east and its y axis north, and z = 0 is 10 km above
// the ground.
package acmi

import (
	"archive/zip"
	"bufio"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/dissect/match"
)

const (
	ground    = 10_000.0  // altitude of z = 0, in metres
	perDegree = 111_319.5 // metres in a degree at the equator
)

// WriteZip writes matches as a zipped recording.
func WriteZip(w io.Writer, all []*match.Match) error {
	z := zip.NewWriter(w)
	f, err := z.CreateHeader(&zip.FileHeader{Name: "session.txt.acmi", Method: zip.Deflate}) // the header has no time
	if err != nil {
		return err
	}
	if err := Write(f, all); err != nil {
		return err
	}
	return z.Close()
}

// Write writes matches as one recording.
func Write(w io.Writer, all []*match.Match) error {
	r := recording{w: bufio.NewWriter(w)}
	r.collect(all)
	r.head(all)
	for i := range r.entries {
		e := &r.entries[i]
		if i == 0 || e.t != r.entries[i-1].t {
			r.text("#", number(e.t, 3), "\n")
		}
		e.write()
	}
	return r.w.Flush() // returns the first error
}

// kind is the kind of an entry. Entries at the same time are written in the
// order of their kinds.
type kind uint8

const (
	appears kind = iota
	sample
	health
	target
	message
	loss
	vanishes
)

// An entry is an event at a time.
type entry struct {
	t     float64 // time since the beginning of the recording
	kind  kind
	write func()
}

type recording struct {
	w       *bufio.Writer
	begin   time.Time
	entries []entry
}

func (r *recording) text(parts ...string) {
	for _, p := range parts {
		_, _ = r.w.WriteString(p) // Flush returns the error
	}
}

// number formats a number with at most decimals decimals.
func number(x float64, decimals int) string {
	p := math.Pow10(decimals)
	x = math.Round(x*p) / p
	if x == 0 {
		x = 0 // avoids a negative zero
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// collect sorts all events by time.
func (r *recording) collect(all []*match.Match) {
	for _, m := range all {
		if r.begin.IsZero() || m.Origin.Before(r.begin) {
			r.begin = m.Origin
		}
	}
	objects := int64(0)
	for _, m := range all {
		add := func(t float64, k kind, write func()) {
			r.entries = append(r.entries, entry{m.Origin.Sub(r.begin).Seconds() + t, k, write})
		}
		ids := make([]string, len(m.Lives))
		for i := range m.Lives {
			l := &m.Lives[i]
			if len(l.Track) == 0 {
				continue // the position is unknown
			}
			objects++
			id := strconv.FormatInt(objects, 16)
			ids[i] = id
			add(l.Track[0].T, appears, func() { r.appears(m, l, id) })
			for n := range l.Track {
				add(l.Track[n].T, sample, func() { r.sample(l, n, id) })
			}
			for n := range l.Condition {
				if c := &l.Condition[n]; c.Hull >= 0 && c.T >= l.Track[0].T && c.T <= l.End {
					add(c.T, health, func() { r.text(id, ",Health=", number(float64(c.Hull), 3), "\n") })
				}
			}
			add(max(l.End, l.Track[len(l.Track)-1].T), vanishes, func() { r.text("-", id, "\n") })
		}
		r.shots(m, ids, add)
		for n := range m.Chat {
			c := &m.Chat[n]
			add(c.T, message, func() { r.text("0,Event=Message|", value(m.NameOf(c.Player)+": "+c.Text), "\n") })
		}
		for n := range m.Kills {
			k := &m.Kills[n]
			add(k.T, loss, func() {
				if k.Life >= 0 && ids[k.Life] != "" {
					r.text("0,Event=Destroyed|", ids[k.Life], "|\n")
				}
				r.text("0,Event=Bookmark|", value(m.Tell(k)), "\n")
			})
		}
	}
	slices.SortStableFunc(r.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(math.Round(a.t*1e3), math.Round(b.t*1e3)), cmp.Compare(a.kind, b.kind))
	})
	for i := range r.entries {
		r.entries[i].t = math.Round(r.entries[i].t*1e3) / 1e3
	}
}

// shots adds the targets of ships when they change.
func (r *recording) shots(m *match.Match, ids []string, add func(t float64, k kind, write func())) {
	last := map[int]string{}
	for n := range m.Shots {
		s := &m.Shots[n]
		if s.Life < 0 || s.Target < 0 || ids[s.Life] == "" || ids[s.Target] == "" || last[s.Life] == ids[s.Target] {
			continue
		}
		if l := &m.Lives[s.Life]; s.T < l.Track[0].T || s.T > l.End {
			continue
		}
		last[s.Life] = ids[s.Target]
		add(s.T, target, func() { r.text(ids[s.Life], ",LockedTarget=", ids[s.Target], "\n") })
	}
}

// head writes the global properties of the recording. It writes no creation
// time.
func (r *recording) head(all []*match.Match) {
	r.text("FileType=text/acmi/tacview\nFileVersion=2.2\n")
	r.text("0,ReferenceTime=", r.begin.UTC().Format("2006-01-02T15:04:05.000Z"), "\n")
	r.text("0,ReferenceLongitude=0\n0,ReferenceLatitude=0\n0,DataSource=bcdissect\n")
	if len(all) > 0 {
		m := all[0]
		r.text("0,Title=", value(strings.TrimSpace(m.Map+" "+m.Name.Raw())), "\n")
	}
}

// value converts text to a value of a property. It escapes commas. It replaces
// backslashes by slashes, so that nothing else must be escaped, and removes
// invisible characters.
func value[T ~string](s T) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == ',':
			b.WriteString(`\,`)
		case c == '\\':
			b.WriteByte('/')
		case c == '|':
			b.WriteRune('¦')
		case unicode.IsGraphic(c):
			b.WriteRune(c)
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}

// colors are the colours that Tacview knows. A ship has the colour of its team,
// or else of its player.
var colors = [...]string{"Blue", "Red", "Green", "Orange", "Violet", "Cyan"}

func (r *recording) appears(m *match.Match, l *match.Life, id string) {
	ship := l.Ship
	if ship == "" {
		ship = "ship"
	}
	who := value(m.NameOf(l.Player))
	r.text(id, ",Type=Air+FixedWing,Name=", value(ship), ",CallSign=", who, ",Pilot=", who)
	color := max(l.Player, 0)
	if l.Player >= 0 {
		if team := m.Players[l.Player].Team; team != nil {
			color = *team
			r.text(",Coalition=Team ", strconv.Itoa(*team+1))
		}
	}
	r.text(",Color=", colors[color%len(colors)], "\n")
}

func (r *recording) sample(l *match.Life, n int, id string) {
	s := &l.Track[n]
	x, y, z := float64(s.At[0]), float64(s.At[1]), float64(s.At[2])
	roll, pitch, yaw := angles(&s.Forward, &s.Up)
	r.text(id, ",T=", number(x/perDegree, 9), "|", number(y/perDegree, 9), "|", number(z+ground, 3),
		"|", number(roll, 1), "|", number(pitch, 1), "|", number(yaw, 1), "|", number(x, 3), "|", number(y, 3), "|", number(yaw, 1))
	if before := n > 0 && l.Track[n-1].Cloaked; s.Cloaked != before {
		visible := "1"
		if s.Cloaked {
			visible = "0.3"
		}
		r.text(",Visible=", visible)
	}
	r.text("\n")
}

// angles returns roll, pitch and yaw in degrees. Yaw is clockwise from north,
// pitch is up from the horizon, and roll is to the right.
func angles(forward, up *[3]float32) (roll, pitch, yaw float64) {
	const degrees = 180 / math.Pi
	fx, fy, fz := float64(forward[0]), float64(forward[1]), float64(forward[2])
	length := math.Sqrt(fx*fx + fy*fy + fz*fz)
	if !(length > 0) {
		return 0, 0, 0
	}
	fx, fy, fz = fx/length, fy/length, fz/length
	pitch = math.Asin(min(max(fz, -1), 1)) * degrees
	yaw = math.Atan2(fx, fy) * degrees
	if yaw < 0 {
		yaw += 360
	}
	// The right vector of level wings is horizontal.
	flat := math.Hypot(fx, fy)
	if flat < 1e-6 {
		return 0, pitch, yaw
	}
	rx, ry := fy/flat, -fx/flat
	// The up vector of level wings is right x forward.
	lx, ly, lz := ry*fz, -rx*fz, rx*fy-ry*fx
	ux, uy, uz := float64(up[0]), float64(up[1]), float64(up[2])
	return math.Atan2(ux*rx+uy*ry, ux*lx+uy*ly+uz*lz) * degrees, pitch, yaw
}
