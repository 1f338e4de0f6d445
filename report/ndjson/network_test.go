package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// named knows every object by the same name.
type named string

func (n named) Player(decode.Number, int64) *dissect.Player          { return nil }
func (n named) Object(wire.ObjectID) wire.Untrusted                  { return wire.Untrusted(n) }
func (n named) AppendObject(dst []byte, _ wire.ObjectID) []byte      { return append(dst, n...) }
func (n named) ShipOf(id wire.ObjectID) (ship wire.ObjectID, _ bool) { return id, true }

func TestNetwork(t *testing.T) {
	m := new(measure.Meter)
	n := 0
	add := func(us int, dir dissect.Dir, h transport.Header, status dissect.Status, payload string) {
		n++
		d := &dissect.Datagram{Number: n, Time: start.Add(time.Duration(us) * time.Microsecond), Src: client, Dst: host, Full: 20}
		r := &dissect.Record{Datagram: d, Dir: dir, Transport: h, Status: status, Repeat: status == dissect.StatusDuplicate, Payload: []byte(payload)}
		if dir == dissect.FromHost {
			d.Src, d.Dst = host, client
		} else {
			r.Client, r.ClientID, r.Session = "\"\x1b[2J\u202e", 2, named("Akira \x07")
		}
		if h.Seq == 8 {
			r.Gap = 2
		}
		_ = m.Record(r)
	}
	message := transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: 5}
	later := message
	later.Seq = 8
	leave := transport.Header{Type: transport.Disconnect, Reliable: true, HasSeq: true, Seq: 1}
	ack := transport.Header{Type: transport.Acknowledge, HasSeq: true, Seq: 5}
	loose := transport.Header{Type: transport.Standard}
	idle := transport.Header{Type: transport.DoNothing}
	add(0, dissect.ToHost, message, dissect.StatusOK, "\x2c")
	add(47123, dissect.FromHost, ack, dissect.StatusOK, "")
	add(100000, dissect.ToHost, message, dissect.StatusDuplicate, "\x2c")
	add(200000, dissect.ToHost, later, dissect.StatusOK, "\x2c")
	add(200000, dissect.ToHost, leave, dissect.StatusOK, "")
	add(300000, dissect.ToHost, loose, dissect.StatusOK, "\x1c\xff\xff\xff\x3f_____")
	add(330000, dissect.ToHost, loose, dissect.StatusOK, "\x1c\xff\xff\xff\x3f_____")
	add(370001, dissect.ToHost, loose, dissect.StatusOK, "\x1c\xff\xff\xff\x3f_____")
	add(400000, dissect.FromHost, loose, dissect.StatusOK, "\x1c\x00\x00\x00\x00_____")
	add(5400000, dissect.ToHost, idle, dissect.StatusOK, "")
	add(10450000, dissect.ToHost, idle, dissect.StatusOK, "")
	_ = m.Record(&dissect.Record{Datagram: &dissect.Datagram{}})

	ends := `{"host":"192.168.0.1:22101","client":"192.168.0.10:22102","player_name":"\"\u001b[2J\u202e","peer":2,`
	limits := `"limits":{"links":{"max":512,"given_up":0},"outstanding":{"max":1024,"given_up":0},` +
		`"ships":{"max":4096,"given_up":0},"undirected":`
	tests := []struct {
		name string
		m    *measure.Meter
		want string
	}{
		{"nothing", new(measure.Meter), `{"links":[],"ships":[],` + limits + `0}}`},
		{"a game", m, `{"links":[` + ends +
			`"dir":"c2s","first":"2026-01-02T03:04:05Z","last":"2026-01-02T03:04:15.45Z","restarts":0,"datagrams":9,"bytes":180,"messages":9,` +
			`"reliable":4,"retransmissions":1,"duplicates":1,"acknowledged":1,"lost":2,"late":0,` +
			`"data":{"reliable":3,"retransmissions":1,"duplicates":1,"acknowledged":1,"lost":2,"late":0},` +
			`"control":{"reliable":1,"retransmissions":0,"duplicates":0,"acknowledged":0,"lost":0,"late":0},"acks":0,` +
			`"rtt_n":1,"rtt_ms_min":47.123,"rtt_ms_median":47.123,"rtt_ms_p95":47.123,"rtt_ms_max":47.123,` +
			`"silence_ms_longest":5050,"keepalives":2,"keepalive_ms_mean":5050,"keepalive_ms_longest":5050},` + ends +
			`"dir":"s2c","first":"2026-01-02T03:04:05.047123Z","last":"2026-01-02T03:04:05.4Z","restarts":0,"datagrams":2,"bytes":40,"messages":2,` +
			`"reliable":0,"retransmissions":0,"duplicates":0,"acknowledged":0,"lost":0,"late":0,` +
			`"data":{"reliable":0,"retransmissions":0,"duplicates":0,"acknowledged":0,"lost":0,"late":0},` +
			`"control":{"reliable":0,"retransmissions":0,"duplicates":0,"acknowledged":0,"lost":0,"late":0},"acks":1,` +
			`"rtt_n":0,"silence_ms_longest":352.877,"keepalives":0}],"ships":[` + ends +
			`"dir":"c2s","object_id":1073741823,"object_slot":0,"object_name":"Akira \u0007",` +
			`"first":"2026-01-02T03:04:05.3Z","last":"2026-01-02T03:04:05.370001Z","updates":3,` +
			`"rate_per_s":28.571,"interval_ms_mean":35.001,"interval_ms_longest":40.001,"jitter_ms":10.001},` + ends +
			`"dir":"s2c","object_id":0,` +
			`"first":"2026-01-02T03:04:05.4Z","last":"2026-01-02T03:04:05.4Z","updates":1}],` + limits + `1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Network(&out, test.m, nil); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != test.want+"\n" {
				t.Errorf("\ngot  %swant %s", got, test.want)
			}
			if !json.Valid(out.Bytes()) {
				t.Error("not JSON")
			}
		})
	}
	if err := Network(&failing{}, m, nil); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
