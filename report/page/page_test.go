package page

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report"
)

func write(t *testing.T, all []*match.Match, o match.Evenings) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, all, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// between returns the only text between two others.
func between(t *testing.T, page, begin, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, begin)
	text, _, closed := strings.Cut(rest, end)
	if !ok || !closed || strings.Contains(rest, begin) {
		t.Fatalf("%q is not in the page once", begin)
	}
	return text
}

// shown is what the tests read of a page's data.
type shown struct {
	Captures []string
	League   []struct{ Name string }
	Matches  []struct {
		Server, Map string
		Verdict     string
		Ending      string
		EndedBy     string `json:"ended_by"`
		Players     []struct{ Name string }
		Lives       []struct {
			Ship   string
			Points int
			Box    box
		}
		Kills         []struct{ Weapon string }
		Chat, Unusual []struct{ Text string }
		Events        []struct{ Text string }
		Lines         []struct{ Verdict string }
	}
}

// dataOf returns the data of a page.
func dataOf(t *testing.T, page string) (d shown) {
	t.Helper()
	if err := json.Unmarshal([]byte(between(t, page, `id="data">`, "</script>")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestResult has matches with one leader. The page says what the report on the
// terminal says.
func TestResult(t *testing.T) {
	over, team := 9.0, 1
	ann := []match.Player{{Name: "Ann"}, {Name: "Ben"}}
	for _, tt := range []struct {
		match.Match
		verdict, ending string
	}{
		{match.Match{Over: &over, EndedBy: "time up", Result: match.Result{Value: match.Won}}, "Ann won", "The host ended it at 0:09.0: time up"},
		{match.Match{Over: &over, EndedBy: match.EndRestart, Result: match.Result{Value: match.Undecided}}, "Undecided: Ann led", "The host restarted it at 0:09.0"},
		{match.Match{Open: true}, "Unknown: Ann leads", "The capture ends before the match does"},
		{match.Match{Over: &over, EndedBy: "time up", Teams: true, LeadingTeam: &team, Result: match.Result{Value: match.Won, Frame: 7}}, "Team 2 won", "The host ended it at 0:09.0 (frame 7): time up"},
	} {
		tt.Players, tt.Leaders = ann, []int{0}
		if m := dataOf(t, write(t, []*match.Match{&tt.Match}, match.Evenings{})).Matches[0]; m.Verdict != tt.verdict || m.Ending != tt.ending {
			t.Errorf("the page says %q and %q; want %q and %q", m.Verdict, m.Ending, tt.verdict, tt.ending)
		}
	}
}

// rows decodes columns. The script's decoder is tested in a browser.
type rows struct {
	t *testing.T
	p []byte
}

func (r *rows) next(n int) []int64 {
	out, last := make([]int64, n), int64(0)
	for i := range out {
		u, shift := uint64(0), 0
		for {
			if len(r.p) == 0 {
				r.t.Fatal("the columns end early")
			}
			c := r.p[0]
			r.p = r.p[1:]
			u |= uint64(c&0x7F) << shift
			shift += 7
			if c < 0x80 {
				break
			}
		}
		last += int64(u>>1) ^ -int64(u&1)
		out[i] = last
	}
	return out
}

func unpack(t *testing.T, page string) *rows {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(between(t, page, `id="columns">`, "</script>"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	return &rows{t, p}
}

// TestPolicy checks that the page may run its own script and style, nothing
// else, and that it names no place to load from.
func TestPolicy(t *testing.T) {
	page := write(t, recorded.Matches(t, "battle_mix.pcap.gz"), match.Evenings{Captures: []string{"battle_mix.pcap.gz"}})
	of := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src " +
		of(between(t, page, "<script>", "</script>")) + "; style-src " + of(between(t, page, "<style>", "</style>"))
	if got := between(t, page, `<meta http-equiv="Content-Security-Policy" content="`, `">`); got != want {
		t.Errorf("the policy is\n%s\nnot\n%s", got, want)
	}
	rest := strings.ReplaceAll(page, "http://www.w3.org/2000/svg", "") // a name, not a place
	rest = strings.Replace(rest, `href="data:,"`, "", 1)
	if hit := regexp.MustCompile(`(?i)\b(https?|wss?|ftp|file):|url\(|@import|\b(src|href|action)\s*=|innerHTML|insertAdjacent|document\.write|\beval\(|\bfetch\(`).FindString(rest); hit != "" {
		t.Errorf("the page holds %q", hit)
	}
}

// TestSame writes two reads of one capture.
func TestSame(t *testing.T) {
	one := write(t, recorded.Matches(t, "battle_mix.pcap.gz"), match.Evenings{})
	if two := write(t, recorded.Matches(t, "battle_mix.pcap.gz"), match.Evenings{}); one != two {
		t.Error("two pages of one capture differ")
	}
}

// TestHostile has text that would end the data, begin markup, or turn the
// direction of writing.
func TestHostile(t *testing.T) {
	evil := "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\"'`&amp;\u2028\u2029\u202e\x00\x1b[31m\xff" + strings.Repeat("W", 300)
	team := 0
	m := &match.Match{
		Name: wire.Untrusted(evil), Map: evil, Mission: wire.Untrusted(evil), EndedBy: evil, Origin: time.Unix(0, 0), End: 2, Vantage: 0, Leaders: []int{0},
		Players: []match.Player{{Name: wire.Untrusted(evil), Names: []wire.Untrusted{wire.Untrusted(evil), wire.Untrusted(evil)}, Team: &team, LeftHow: evil}},
		Lives:   []match.Life{{Ship: evil, Name: wire.Untrusted(evil), Object: wire.ObjectID(1), End: 2, Systems: []match.System{{Name: evil}}}},
		Kills:   []match.Kill{{T: 1, Weapon: evil, Ship: evil, With: evil}},
		Chat:    []match.Talk{{T: 1, Text: wire.Untrusted(evil)}},
		Events:  []match.Event{{T: 1, Text: wire.Untrusted(evil)}},
		Lines:   []match.Line{{Verdict: evil}},
		Unusual: []match.Finding{{Text: wire.Untrusted(evil)}},
	}
	page := write(t, []*match.Match{m}, match.Evenings{Captures: []string{evil}, League: []match.Standing{{Name: wire.Untrusted(evil)}}})
	for _, tt := range []struct {
		text string
		n    int
	}{{"<script", 3}, {"</script", 3}, {"<!--", 0}, {"<img", 0}, {"\u2028", 0}, {"\u2029", 0}, {"\u202e", 0}, {"\x00", 0}, {"\x1b", 0}, {"\xff", 0}} {
		if n := strings.Count(page, tt.text); n != tt.n {
			t.Errorf("%q is in the page %d times, not %d", tt.text, n, tt.n)
		}
	}
	d := dataOf(t, page)
	escaped := report.Escape(evil)
	got := d.Matches[0]
	for _, text := range []string{d.Captures[0], d.League[0].Name, got.Server, got.Map, got.EndedBy, got.Players[0].Name, got.Lives[0].Ship, got.Kills[0].Weapon, got.Chat[0].Text, got.Events[0].Text, got.Lines[0].Verdict, got.Unusual[0].Text} {
		if text != escaped {
			t.Errorf("the page shows %q, not %q", text, escaped)
		}
	}
}

// TestTrack reads a flight back from a page.
func TestTrack(t *testing.T) {
	l := match.Life{Player: match.NoPlayer, Killer: match.NoPlayer, End: 9}
	for i := range 9 { // a second apart, so that each is a point by itself
		f := float32(i)
		l.Track = append(l.Track, match.Sample{T: float64(i), At: [3]float32{-100 + 3*f, f * f, 7}, Forward: [3]float32{0, -1, 0}, Up: [3]float32{0, 0, 1}, Speed: f / 2, Cloaked: i >= 5})
	}
	page := write(t, []*match.Match{{Lives: []match.Life{l}, End: 9}}, match.Evenings{})
	d := dataOf(t, page)
	p := d.Matches[0].Lives[0]
	if p.Points != 9 {
		t.Fatalf("%d points, not 9", p.Points)
	}
	r := unpack(t, page)
	var c [12][]int64
	for k := range c {
		c[k] = r.next(9)
	}
	for i := range 9 {
		f := float64(i)
		for k, want := range []float64{-100 + 3*f, f * f, 7} {
			if got := p.Box[k] + float64(c[1+k][i])*p.Box[3]; math.Abs(got-want) > 0.01 {
				t.Errorf("axis %d of point %d is %v, not %v", k, i, got, want)
			}
		}
		cloaked := int64(0)
		if i >= 5 {
			cloaked = 1
		}
		if c[0][i] != int64(i)*1000 || c[5][i] != -100 || c[9][i] != 100 || c[10][i] != int64(i)*5 || c[11][i] != cloaked {
			t.Errorf("point %d: time %d, forward y %d, up z %d, speed %d, cloaked %d", i, c[0][i], c[5][i], c[9][i], c[10][i], c[11][i])
		}
	}
	if len(r.p) != 0 {
		t.Errorf("%d bytes are left over", len(r.p))
	}
}

// TestSmooth has a ship that two sources place a unit apart, and that leaps.
func TestSmooth(t *testing.T) {
	var track []match.Sample
	for i := range 200 {
		x := float32(i) * 0.05
		if i%2 == 1 {
			x++
		}
		if i >= 100 {
			x += 500
		}
		track = append(track, match.Sample{T: float64(i) * 0.02, At: [3]float32{x, 0, 0}})
	}
	out := smooth(track, finest)
	if len(out) < 30 || len(out) > 40 {
		t.Fatalf("%d points of 4 seconds", len(out))
	}
	for _, s := range out {
		want := s.T/0.02*0.05 + 0.5
		if s.T >= 2 {
			want += 500
		}
		if math.Abs(float64(s.At[0])-want) > 0.35 {
			t.Errorf("at %.2f s the ship is at %.2f, not %.2f", s.T, s.At[0], want)
		}
	}
}

// TestImpossible has numbers that JSON cannot hold.
func TestImpossible(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	all := []*match.Match{{Lives: []match.Life{{
		Track:     []match.Sample{{At: [3]float32{nan, inf, -inf}, Forward: [3]float32{nan, inf, 0}, Speed: inf}, {T: 1, At: [3]float32{1e30, 5, -1e30}}},
		Condition: []match.Condition{{Hull: nan, Shields: [6]float32{inf, -1}}}, MaxSpeed: math.NaN(),
	}}, Unusual: []match.Finding{{Value: math.Inf(1)}}, Lines: []match.Line{{Points: []match.LinePoint{{RTT: nan, Silence: inf}}}}}}
	page := write(t, all, match.Evenings{})
	unpack(t, page)
}

// TestSystems has subsystems that are hit, repaired, lost, and not known.
func TestSystems(t *testing.T) {
	page := write(t, []*match.Match{{Lives: []match.Life{{Systems: []match.System{
		{Name: "Bridge", History: []match.Level{{T: 1, Value: 1}, {T: 2, Value: 0.25}, {T: 3, Value: 0.75}}},
		{Name: "Hull", History: []match.Level{{T: 4, Value: 0.5}, {T: 5, Value: 0}, {T: 6, Value: 0.5}, {T: 7, Value: 0}}},
		{Name: "Probe", History: []match.Level{{T: 8, Value: float32(math.NaN())}}},
	}}}}}, match.Evenings{})
	if want := `"systems":[{"name":"Bridge","least":0.25,"points":3},{"name":"Hull","least":0,"lost":5,"points":4},{"name":"Probe","least":1}]`; !strings.Contains(page, want) {
		t.Errorf("%s is missing from the page", want)
	}
}

// TestShapes has every class of ship in the replay: only probes and decoys, and
// ships that are not known, are darts.
func TestShapes(t *testing.T) {
	_, classes, ok := strings.Cut(scriptShapes, "const classes = {")
	other := regexp.MustCompile(`(?i)asteroid|station|outpost|starbase|facility|array|dock`) // as shapeOf has it
	if !ok || !strings.Contains(scriptShapes, "/asteroid/i") {
		t.Fatal("the script has no classes")
	}
	for c := range ship.All() {
		if !regexp.MustCompile(`(^|[ '"])`+regexp.QuoteMeta(c.Name)+`['"]?: '`).MatchString(classes) && !other.MatchString(c.Name) {
			t.Errorf("%s has no outline", c.Name)
		}
	}
}

// TestSize writes half an hour of eight ships that turn and fire all the time, with
// more of everything in the debriefing than such a match has.
func TestSize(t *testing.T) {
	const minutes, ships = 33, 8
	m := &match.Match{End: minutes * 60}
	seed := uint32(1)
	noise := func() float32 { seed = seed*1664525 + 1013904223; return float32(seed>>8)/(1<<24) - 0.5 }
	for i := range ships {
		m.Players = append(m.Players, match.Player{Name: "player"})
		l := match.Life{Player: i, End: m.End}
		for k := range minutes * 60 * 10 { // a tenth of a second apart
			at := float64(k) / 10
			a := at/7 + float64(i)
			l.Track = append(l.Track, match.Sample{
				T: at + float64(noise())/50, At: [3]float32{float32(80*math.Sin(a)) + noise(), float32(60*math.Cos(a*1.3)) + noise(), float32(20*math.Sin(a/3)) + noise()},
				Forward: [3]float32{float32(math.Cos(a)), float32(math.Sin(a)), noise() / 5}, Up: [3]float32{noise() / 5, 0, 1}, Speed: 4 + noise(),
			})
			if k%40 == 0 {
				l.Condition = append(l.Condition, match.Condition{T: at, Hull: 0.5 + noise()/2, Shields: [6]float32{1, 1, 1, 1, 1, noise() + 0.5}})
				m.Events = append(m.Events, match.Event{T: at, Frame: k * 7, Kind: match.EventCloak, Player: i, Text: "player cloaks"})
			}
		}
		for range 30 { // subsystems that are hit and repaired all the time
			s := match.System{Name: "Forward Torpedo 1"}
			for k := range 1000 {
				s.History = append(s.History, match.Level{T: float64(k) * 2, Value: noise() + 0.5})
			}
			l.Systems = append(l.Systems, s)
		}
		line := match.Line{Player: i}
		for k := range minutes * 12 {
			line.Points = append(line.Points, match.LinePoint{T: float64(k) * 5, RTT: 0.05 + noise()/20, Updates: 50, Silence: noise() + 0.5})
		}
		m.Lives, m.Lines = append(m.Lives, l), append(m.Lines, line)
	}
	for k := range 12_000 {
		m.Shots = append(m.Shots, match.Shot{T: float64(k) / 6, Life: k % ships, Target: (k + 3) % ships, Kind: match.ShotKind(k % 3)})
	}
	amount := 123.4
	for k := range 6 * ships * ships {
		m.Fire = append(m.Fire, match.Fire{Player: k % ships, Victim: k / ships % ships, Weapon: fmt.Sprint("Weapon ", k/ships/ships), Shots: k % 91, Hits: k % 37, Amount: &amount})
	}
	for k := range 30 * ships * ships {
		m.Wear = append(m.Wear, match.Wear{Victim: k % ships, Player: k / ships % ships, System: fmt.Sprint("System ", k/ships/ships), Lost: float64(k%700) / 100, Out: k % 3})
	}
	for k := range 6000 {
		m.Damage = append(m.Damage, match.Damage{T: float64(k) / 3, Player: k % ships, Victim: (k + 3) % ships, Amount: &amount})
	}
	for k := range 100 {
		kill := match.Kill{T: float64(k) * 19, Frame: k * 1000, Victim: k % ships, Killer: (k + 3) % ships, Life: k % ships, Weapon: "torpedo", Ship: "Galaxy", Fire: m.Fire[k : k+8]}
		for i := range 20 {
			gone := kill.T - float64(i)/3
			kill.Falls = append(kill.Falls, match.Fall{System: fmt.Sprint("System ", i), Before: noise() + 0.5, Gone: &gone})
		}
		m.Kills = append(m.Kills, kill)
	}
	const before = 798_410 // bytes of this match without the debriefing, which may add a tenth
	if size := len(write(t, []*match.Match{m}, match.Evenings{})); size > before*11/10 {
		t.Errorf("the page has %d bytes, more than a tenth above %d", size, before)
	} else {
		t.Logf("%d bytes", size)
	}
}
