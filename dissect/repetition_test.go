package dissect_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A logged capture comes with the sending program's log of its retransmissions.
type logged struct {
	name  string
	list  []*dissect.Datagram
	again map[place]bool
}

func allLogged(t *testing.T) (all []logged) {
	t.Helper()
	for _, name := range fixtures.Glob(t, "captures/reliability/*.truth.json") {
		name = strings.TrimSuffix(name, ".truth.json")
		var truth struct {
			Again [][2]int `json:"retransmissions_frame_msg"`
		}
		if err := json.Unmarshal(fixtures.Read(t, name+".truth.json"), &truth); err != nil {
			t.Fatal(err)
		}
		again := map[place]bool{}
		for _, p := range truth.Again {
			again[place{p[0], p[1]}] = true
		}
		all = append(all, logged{name, hold(t, strings.TrimPrefix(name, "captures/")+".pcap.gz"), again})
	}
	return all
}

// A place is a frame and the index of a message in it.
type place struct{ frame, part int }

// TestRepetitions: exactly the messages that a host retransmitted are detected
// as duplicates.
func TestRepetitions(t *testing.T) {
	for _, l := range allLogged(t) {
		t.Run(l.name, func(t *testing.T) {
			reliable := 0
			run(t, l.list, func(r *dissect.Record) {
				if !r.Transport.Reliable || r.Transport.Type != transport.Standard {
					return
				}
				reliable++
				if got, want := r.Repeat, l.again[place{r.Datagram.Number, r.Part}]; got != want {
					t.Errorf("frame %d, message %d with number %d: repeated %v, want %v", r.Datagram.Number, r.Part, r.Number, got, want)
				}
				if r.Repeat != (r.Status == dissect.StatusDuplicate) {
					t.Errorf("frame %d: repeated %v, status %v", r.Datagram.Number, r.Repeat, r.Status)
				}
			})
			if reliable < 1000 {
				t.Errorf("only %d reliable messages", reliable)
			}
		})
	}
}

// TestRepetitionsOfLossyCaptures: if a capture lacks datagrams, no new message
// is taken for a duplicate, and no retransmission of a captured message is
// taken for a new one.
func TestRepetitionsOfLossyCaptures(t *testing.T) {
	for _, l := range allLogged(t) {
		t.Run(l.name, func(t *testing.T) {
			for seed := range uint64(6) {
				share := 0.02
				if seed%2 == 1 {
					share = 0.1
				}
				random := rand.New(rand.NewPCG(seed, 11))
				var some []*dissect.Datagram
				for _, d := range l.list {
					if d.Time.Sub(l.list[0].Time) < 5*time.Second || random.Float64() >= share {
						some = append(some, d)
					}
				}
				reliable, wrong := 0, 0
				run(t, some, func(r *dissect.Record) {
					if r.Transport.Reliable && r.Transport.Type == transport.Standard {
						reliable++
						if r.Repeat && !l.again[place{r.Datagram.Number, r.Part}] {
							wrong++
						}
					}
				})
				if wrong > 0 {
					t.Errorf("%.0f %% missing, seed %d: %d of %d messages are wrongly repetitions", share*100, seed, wrong, reliable)
				}
			}
		})
	}
}

// run passes the records of datagrams to f.
func run(t *testing.T, list []*dissect.Datagram, f func(*dissect.Record)) {
	t.Helper()
	p := dissect.New(dissect.Config{})
	emit := func(r *dissect.Record) error {
		f(r)
		return nil
	}
	for _, d := range list {
		if err := p.Push(d, emit); err != nil {
			t.Fatal(err)
		}
	}
}

// A keepalive is told from a retransmission by who sends it: the game's host sends
// a name again only until it is acknowledged.
func TestKeepalive(t *testing.T) {
	name := transport.Header{Type: transport.NameChange, Len: 22, Size: 5, Reliable: true, HasSeq: true}
	short := transport.Header{Type: transport.NameChange, Len: 2, Size: 2, Short: true}
	for what, tt := range map[string]struct {
		r    dissect.Record
		want bool
	}{
		"a DoNothing":                       {dissect.Record{Transport: transport.Header{Type: transport.DoNothing, Len: 1, Size: 1}}, true},
		"a damaged datagram":                {dissect.Record{Kind: dissect.KindMalformed, Transport: transport.Header{Type: transport.DoNothing}}, false},
		"an empty name":                     {dissect.Record{Transport: short, Dir: dissect.ToHost}, true},
		"a name":                            {dissect.Record{Transport: name, Dir: dissect.ToHost, Sender: decode.OpenBC}, false},
		"a client's name again":             {dissect.Record{Transport: name, Dir: dissect.ToHost, Sender: decode.OpenBC, Repeat: true}, false},
		"the host's first echo":             {dissect.Record{Transport: name, Dir: dissect.FromHost, Sender: decode.OpenBC}, false},
		"the host's later echo":             {dissect.Record{Transport: name, Dir: dissect.FromHost, Sender: decode.OpenBC, Repeat: true}, true},
		"the stock host's retransmission":   {dissect.Record{Transport: name, Dir: dissect.FromHost, Sender: decode.Stock, Repeat: true}, false},
		"the retransmission of a game text": {dissect.Record{Transport: transport.Header{Type: transport.Standard}, Dir: dissect.FromHost, Sender: decode.OpenBC, Repeat: true}, false},
	} {
		if got := tt.r.Keepalive(); got != tt.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
