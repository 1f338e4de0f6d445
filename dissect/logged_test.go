package dissect_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// The logs of fixtures/logs are of this host in stock_client.pcap.
var loggedHost = dissect.Config{Ports: []uint16{29904}}

// eachLogged calls each with the records of a log.
func eachLogged(t *testing.T, name string, cfg dissect.Config, each func(*dissect.Record)) capture.Stats {
	t.Helper()
	src, err := capture.Open(fixtures.Path("logs/"+name), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }() // nothing was written
	p := dissect.New(cfg)
	emit := func(r *dissect.Record) error { each(r); return nil }
	var d *dissect.Datagram
	for d, err = src.Next(); err == nil; d, err = src.Next() {
		if err := p.Push(d, emit); err != nil {
			t.Fatal(err)
		}
	}
	if err != io.EOF { //nolint:errorlint // the end itself
		t.Fatal(err)
	}
	if err := p.Flush(emit); err != nil {
		t.Fatal(err)
	}
	return src.Stats()
}

// TestLoggedPackets compares every key of every record of a packet trace with
// the capture's, except frames, addresses, and times, which are to the
// millisecond.
func TestLoggedPackets(t *testing.T) {
	t.Parallel()
	var want, got []string
	nobody := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	line := func(r *dissect.Record) string {
		d := *r.Datagram
		e := ndjson.NewEncoder(ndjson.Options{Start: time.Unix(0, 0)})
		other := *r
		if other.CopyOf > 0 {
			other.CopyOf = -1
		}
		d.Number, d.Time, d.Digits, d.Src, d.Dst = 1, time.Unix(0, 0), 0, nobody, nobody
		other.Datagram, other.Conversation, other.Pieces = &d, 1, nil
		return fmt.Sprintf("%d %s", len(r.Pieces), e.Append(nil, &other))
	}
	recorded.Records(t, "stock_client.pcap", loggedHost, func(r *dissect.Record) { want = append(want, line(r)) })
	s := eachLogged(t, "stock_client.packet_trace.log", dissect.Config{}, func(r *dissect.Record) { got = append(got, line(r)) })
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("record %d of the log:\n%s\nof the capture:\n%s", i, got[i], want[i])
		}
	}
	if len(got) != len(want) || len(got) != 535 || len(s.Remarks) > 0 {
		t.Errorf("the log has %d records, the capture %d; remarks %q", len(got), len(want), s.Remarks)
	}
	if gap := s.LastTime.Sub(s.FirstTime); gap.Milliseconds() != 11551 {
		t.Errorf("the log lasts %v, over midnight", gap)
	}
}

// TestLoggedMessages finds the messages that the host received, in order, with
// both clients' messages mixed.
func TestLoggedMessages(t *testing.T) {
	t.Parallel()
	var want, got []string
	recorded.Records(t, "stock_client.pcap", loggedHost, func(r *dissect.Record) {
		if r.Dir == dissect.ToHost && r.Kind == dissect.KindMessage {
			want = append(want, hex.EncodeToString(r.Bytes))
		}
	})
	chat := 0
	eachLogged(t, "stock_client.message_trace.log", dissect.Config{}, func(r *dissect.Record) {
		if r.Dir != dissect.ToHost || r.Err != nil || len(r.Rest) > 0 || r.Peer != 0 {
			t.Errorf("frame %d: %v, %v, %d bytes left", r.Datagram.Number, r.Dir, r.Err, len(r.Rest))
		}
		if r.Spec != nil && r.Spec.Name == "Chat" {
			chat++
		}
		got = append(got, hex.EncodeToString(r.Bytes))
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %d messages, want %d", len(got), len(want))
	}
	if chat == 0 {
		t.Error("no chat was decoded")
	}
}

// TestLoggedPayloads finds the game messages, each with its direction.
func TestLoggedPayloads(t *testing.T) {
	t.Parallel()
	var want, got []string
	text := func(r *dissect.Record) string { return fmt.Sprintf("%v %x", r.Dir, r.Payload) }
	recorded.Records(t, "stock_client.pcap", loggedHost, func(r *dissect.Record) {
		if len(r.Payload) > 0 && r.Status != dissect.StatusDuplicate {
			want = append(want, text(r))
		}
	})
	var clients []string
	copies := 0
	eachLogged(t, "stock_client.obctrace", dissect.Config{}, func(r *dissect.Record) {
		if r.Err != nil || len(r.Rest) > 0 {
			t.Errorf("frame %d: %v, %d bytes left", r.Datagram.Number, r.Err, len(r.Rest))
		}
		client := r.Datagram.Src
		if r.Dir == dissect.FromHost {
			client = r.Datagram.Dst
		}
		if s := client.String(); !slices.Contains(clients, s) {
			clients = append(clients, s)
		}
		if r.CopyOf > 0 {
			copies++
		}
		got = append(got, text(r))
	})
	slices.Sort(clients)
	slices.Sort(want) // a tick is coarser than the capture's clock
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %d messages, want %d", len(got), len(want))
	}
	if fmt.Sprint(clients) != "[0.0.0.0:1 0.0.0.0:2]" || copies == 0 {
		t.Errorf("got clients %v, %d copies", clients, copies)
	}
}

// TestLoggedCut takes messages that a log has in part, or with foreign memory
// behind them.
func TestLoggedCut(t *testing.T) {
	t.Parallel()
	log := "# STBC Message Trace\n# Session: 2026-03-01 10:00:00\n\n" +
		"[10:00:01.000] #1 MSG type=0x01 vtbl=0x0\n    0000: 01 00 00 02 FF FF FF\n\n" +
		"[10:00:01.000] #2 MSG type=0x32 size=27 vtbl=0x0\n    0000: 32 1B 80 00 00\n\n" +
		"[10:00:01.000] #3 MSG type=0x01 size=6 vtbl=0x0\n    0000: 01 00 00 02 00 00\n\n"
	src, err := capture.NewReader("log", strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	p := dissect.New(dissect.Config{})
	var out bytes.Buffer
	emit := func(r *dissect.Record) error {
		fmt.Fprintf(&out, "%d %v %x %v cut=%v\n", r.Datagram.Number, r.Status, r.Bytes, r.Err, r.Cut)
		return nil
	}
	for d, err := src.Next(); err == nil; d, err = src.Next() {
		if err := p.Push(d, emit); err != nil {
			t.Fatal(err)
		}
	}
	const want = `1  01000002 <nil> cut=false
2 malformed 321b800000 the capture holds only a part of the datagram: 5 of 27 bytes cut=true
3  01000002 <nil> cut=false
3 malformed 0000 bytes after the last message: 2 cut=false
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
