package conform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// An edit passes on a record of a capture, changes it, or leaves it out.
type edit func(r *dissect.Record, pass func(*dissect.Record))

// compare compares the first host of a capture fixture after an edit of its
// records. The function wanted chooses datagrams, nil chooses all.
func compare(tb testing.TB, name string, against decode.Dialect, change edit, wanted func(*dissect.Datagram) bool) []*result.Report {
	tb.Helper()
	p := dissect.New(dissect.Config{})
	hosts := conform.NewHosts(conform.Config{Against: against})
	pass := func(r *dissect.Record) {
		if err := hosts.Record(r); err != nil {
			tb.Fatal(err)
		}
	}
	recorded.Datagrams(tb, name, func(d *dissect.Datagram) {
		if wanted != nil && !wanted(d) {
			return
		}
		err := p.Push(d, func(r *dissect.Record) error {
			if change == nil {
				pass(r)
			} else {
				change(r, pass)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	})
	reports, passed := hosts.Reports()
	if passed != 0 {
		tb.Errorf("%d messages of too many hosts", passed)
	}
	return reports
}

// openBC are the captures of the OpenBC server and its clients, with the number
// of servers in each. battle_large is too large for fixtures.
var openBC = map[string]int{
	"battle_mix.pcap.gz": 1, "networked_battle.pcap": 1, "opcode_tour.pcap": 1, "stock_client.pcap": 1, "join_flow.pcap": 3,
	"restart.pcap": 1, "lossy.pcap": 1, "opcode_coverage.pcap": 2, "no_identity.pcap": 1, "gamespy.pcap": 1,
}

// TestOpenBC: against its own kind the server shows no difference; against the
// stock host none that is not documented.
func TestOpenBC(t *testing.T) {
	for name, hosts := range openBC {
		for _, against := range []decode.Dialect{decode.Undecided, decode.OpenBC, decode.Stock} {
			t.Run(name+"/"+against.String(), func(t *testing.T) {
				reports := compare(t, name, against, nil, nil)
				if len(reports) != hosts {
					t.Errorf("%d hosts, want %d", len(reports), hosts)
				}
				for _, r := range reports {
					for _, d := range r.Differences {
						t.Errorf("%s in frame %d, opcode %v, to %v: %s", d.Kind, d.Frame, d.Opcode, d.To, d.Detail)
					}
					for _, d := range r.Deviations {
						if d.Rule.Name == "other" {
							t.Errorf("frame %d: a deviation that is not described", d.First)
						}
					}
					if r.Dialect != decode.OpenBC {
						t.Errorf("dialect %v", r.Dialect)
					}
					if want := against != decode.Stock && deaf[name] == 0; r.Conforms() != want {
						t.Errorf("conforms is %v, want %v", r.Conforms(), want)
					}
				}
			})
		}
	}
}

// TestDeviations compares the numbers of messages that rules explain with the
// counts of other software in the same captures: the stock host sends none of
// these, so all of them are documented.
func TestDeviations(t *testing.T) {
	for _, c := range []struct{ name, rule, opcode string }{
		{"stock_client.pcap", "passes-client-ready", "0x2a"},
		{"stock_client.pcap", "passes-collision", "0x15"},
		{"stock_client.pcap", "passes-explosion", "0x29"},
		{"networked_battle.pcap", "passes-client-ready", "0x2a"},
		{"networked_battle.pcap", "passes-state-update", "0x1c"},
		{"networked_battle.pcap", "passes-explosion", "0x29"},
		{"battle_mix.pcap.gz", "passes-collision", "0x15"},
		{"battle_mix.pcap.gz", "answers-unknown-object", "0x1d"},
		{"battle_mix.pcap.gz", "passes-explosion", "0x29"},
		{"opcode_tour.pcap", "passes-restart", "0x39"},
	} {
		truth := struct {
			Opcodes struct{ S2C map[string]int } `json:"game_opcodes_without_retransmissions"`
		}{}
		base, _, _ := strings.Cut(c.name, ".")
		if err := json.Unmarshal(fixtures.Read(t, "captures/"+base+".truth.json"), &truth); err != nil {
			t.Fatal(err)
		}
		want := truth.Opcodes.S2C[c.opcode]
		got := 0
		for _, d := range compare(t, c.name, decode.Stock, nil, nil)[0].Deviations {
			if d.Rule.Name == c.rule {
				got = d.Count
			}
		}
		if got != want || want == 0 {
			t.Errorf("%s: %s explains %d messages, the capture has %d of opcode %s", c.name, c.rule, got, want, c.opcode)
		}
	}
}

// fromHost reports whether a record is a game message of the host.
func fromHost(r *dissect.Record, op decode.Opcode, frame int) bool {
	got, ok := r.Opcode()
	return ok && got == op && r.Dir == dissect.FromHost && r.Datagram.Number == frame && r.Game()
}

// In networked_battle, frame 630 is a torpedo of slot 1, and frames 635 and 637
// hold the host's copies of it to slots 0 and 2. Frame 113 is a ship update,
// which comes back in frames 116 and 118.
const (
	torpedoFrame, torpedoCopy = 630, 635
	updateCopy                = 116
)

// TestAltered: a host that misbehaves is found, with every model that forbids
// it. TestJudge has hosts that pass on too much, or too little.
func TestAltered(t *testing.T) {
	const torpedo, update = 0x19, 0x1C
	other := func(r *dissect.Record) *dissect.Datagram {
		d := *r.Datagram
		return &d
	}
	once := func(op decode.Opcode, frame int, how edit) func() edit {
		return func() edit {
			done := false
			return func(r *dissect.Record, pass func(*dissect.Record)) {
				if done || !fromHost(r, op, frame) {
					pass(r)
					return
				}
				done = true
				how(r, pass)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func() edit
		stock  bool // a comparison with the stock host also finds it
		want   []string
	}{
		{"changed", once(torpedo, torpedoCopy, func(r *dissect.Record, pass func(*dissect.Record)) {
			r.Payload = bytes.Clone(r.Payload)
			r.Payload[len(r.Payload)-1] ^= 1
			pass(r)
		}), true, []string{"differs 635 0x19"}},
		{"changed update", once(update, updateCopy, func(r *dissect.Record, pass func(*dissect.Record)) {
			r.Payload = bytes.Clone(r.Payload)
			r.Payload[10] ^= 1
			pass(r)
		}), false, []string{"differs 116 0x1C"}},
		{"to its sender", once(torpedo, torpedoCopy, func(r *dissect.Record, pass func(*dissect.Record)) {
			d := other(r)
			recorded.Datagrams(t, "networked_battle.pcap", func(o *dissect.Datagram) {
				if o.Number == torpedoFrame {
					d.Dst = o.Src
				}
			})
			r.Datagram = d
			r.Transport.Seq += 100
			pass(r)
		}), true, []string{"extra 635 0x19"}}, // the capture may lack the true copy: its number is free
		{"unreliable", once(torpedo, torpedoCopy, func(r *dissect.Record, pass func(*dissect.Record)) {
			r.Transport.Reliable, r.Transport.HasSeq = false, false
			pass(r)
		}), true, []string{"extra 635 0x19"}}, // as above
	} {
		for _, against := range []decode.Dialect{decode.Undecided, decode.OpenBC, decode.Stock} {
			if against == decode.Stock && !c.stock {
				continue
			}
			t.Run(c.name+"/"+against.String(), func(t *testing.T) {
				r := compare(t, "networked_battle.pcap", against, c.change(), nil)[0]
				got := []string{}
				for _, d := range r.Differences {
					got = append(got, fmt.Sprintf("%s %d %v", d.Kind, d.Frame, d.Opcode))
				}
				if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
					t.Errorf("got %v, want %v", got, c.want)
				}
				if r.Conforms() {
					t.Error("it conforms")
				}
			})
		}
	}
}

// TestPartial: the host is not blamed for messages outside the capture.
func TestPartial(t *testing.T) {
	from := func(frame int) func(*dissect.Datagram) bool {
		return func(d *dissect.Datagram) bool { return d.Number >= frame }
	}
	only := func(addr string) func(*dissect.Datagram) bool {
		return func(d *dissect.Datagram) bool { return d.Src.String() == addr || d.Dst.String() == addr }
	}
	const late, one = "lacks the join", "without captured traffic"
	for _, c := range []struct {
		name   string
		wanted func(*dissect.Datagram) bool
		note   string
	}{
		{"networked_battle.pcap", from(50), late}, // while the second client joins
		{"networked_battle.pcap", from(100), late},
		{"networked_battle.pcap", from(2000), late},
		{"battle_mix.pcap.gz", from(100), late},
		{"battle_mix.pcap.gz", from(7000), late},
		{"stock_client.pcap", from(100), late},
		{"networked_battle.pcap", only("127.0.0.1:51818"), one},
		{"battle_mix.pcap.gz", only("127.0.0.11:39656"), one},
		{"stock_client.pcap", only("127.0.0.1:38447"), one},
	} {
		r := compare(t, c.name, decode.Undecided, nil, c.wanted)[0]
		if r.Found > 0 {
			t.Errorf("%s, %s: %d differences, the first %v", c.name, c.note, r.Found, r.Differences[0])
		}
		if !strings.Contains(strings.Join(r.Notes, " "), c.note) {
			t.Errorf("%s: the notes %q do not say %q", c.name, r.Notes, c.note)
		}
		matched := 0
		for _, row := range r.Rows {
			matched += row.Matched
		}
		if matched < 10 {
			t.Errorf("%s, %s: only %d messages were compared", c.name, c.note, matched)
		}
	}
}

// TestCutDatagrams: the host is not blamed for the cut parts of datagrams.
func TestCutDatagrams(t *testing.T) {
	r := compare(t, "battle_mix-s96.pcap.gz", decode.Undecided, nil, nil)[0]
	if r.Found > 0 {
		t.Errorf("%d differences, the first %v", r.Found, r.Differences[0])
	}
	// The number of packets in the file that are longer than their stored
	// part.
	if !strings.Contains(strings.Join(r.Notes, " "), "only a part of 5318 datagrams") {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestClients: the clients, as in stock_client.truth.json and the capture's
// Settings; and the invariants: that server's documented ways break
// four.
func TestClients(t *testing.T) {
	r := compare(t, "stock_client.pcap", decode.Stock, nil, nil)[0]
	if len(r.Clients) != 2 {
		t.Fatalf("%d clients", len(r.Clients))
	}
	for i, want := range []struct {
		name       string
		peer, slot int
	}{{"Cady2", 2, 0}, {"Kirk", 3, 1}} {
		c := r.Clients[i]
		if c.Name.Raw() != want.name || int(c.Peer) != want.peer || c.Slot != want.slot || c.Adopted {
			t.Errorf("client %d is %q, peer %d, slot %d, adopted %v; want %v", i, c.Name, c.Peer, c.Slot, c.Adopted, want)
		}
	}
	want := map[string]string{
		"forward-copies": "KNOWN", "exact-copies": "KNOWN", "creation-copies": "PASS", "nothing-for-consumed": "KNOWN",
		"chat-copies": "KNOWN", "announcements": "PASS", "checksum-requests": "PASS", "order": "PASS",
	}
	for i := range r.Invariants {
		v := &r.Invariants[i]
		if v.Verdict() != want[v.Name] {
			t.Errorf("%s: %s, want %s", v.Name, v.Verdict(), want[v.Name])
		}
		if v.Failed != v.Known {
			t.Errorf("%s: %d of %d failures are documented", v.Name, v.Known, v.Failed)
		}
	}
}
