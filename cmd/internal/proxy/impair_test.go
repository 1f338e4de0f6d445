package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/impair"
)

// A buffer is a log in memory.
type buffer struct {
	bytes.Buffer
	closed int
}

func (b *buffer) Close() error {
	b.closed++
	return nil
}

// entries returns the lines of a log.
func (b *buffer) entries(t *testing.T) (all []impair.Report) {
	t.Helper()
	for line := range bytes.Lines(b.Bytes()) {
		var e impair.Report
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func newImpairment(t *testing.T, tap Tap, flags ...string) (*Impairment, *buffer) {
	t.Helper()
	i, err := NewImpairment(flags, tap)
	if err != nil {
		t.Fatal(err)
	}
	b := &buffer{}
	i.Log = b
	return i, b
}

// Two runs with the same datagrams at the same times have equal logs, and what a line sends and
// notes agrees with its log. Time is virtual: timers fire when all else waits.
func TestEqualLogs(t *testing.T) {
	const n = 2000
	run := func(t *testing.T) (logged string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			i, b := newImpairment(t, AtHost, "loss=5%,burst=2,delay=40ms,jitter=30ms,reorder=5%,duplicate=3%,rate=24k,queue=100ms,seed=7")
			var mu sync.Mutex
			sent, noted := map[string]int{}, map[impair.Direction]int{}
			var lines []*line
			for client := range 3 {
				for _, to := range []impair.Direction{impair.ToServer, impair.ToClient} {
					l := i.newLine(to, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(client)}), 4000), client+1)
					l.send = func(payload []byte) bool {
						mu.Lock()
						defer mu.Unlock()
						sent[string(payload)]++
						return true
					}
					l.note = func([]byte) {
						mu.Lock()
						defer mu.Unlock()
						noted[to]++
					}
					lines = append(lines, l)
				}
			}
			payload := make([]byte, 100)
			for k := range n {
				time.Sleep(time.Duration(1+k%7) * time.Millisecond)
				l := lines[k%len(lines)]
				copy(payload, fmt.Sprintf("%d %d %d;", l.to, k%len(lines), k/len(lines)+1))
				l.put(payload[:30+k%70]) // the line keeps its own copy
			}
			for _, l := range lines {
				l.end()
				l.put([]byte("late"))
			}
			log := cli.NewLog(io.Discard, false)
			defer log.Close()
			if err := i.end(log); err != nil || b.closed != 1 {
				t.Errorf("closed %d times, %v", b.closed, err)
			}
			want, copies, fates := map[impair.Direction]int{}, 0, map[impair.Fate]int{}
			for _, e := range b.entries(t) {
				fates[e.Fate]++
				to := map[string]impair.Direction{"c2s": impair.ToServer, "s2c": impair.ToClient}[e.Dir]
				copies += e.Copies
				if to == impair.ToServer { // the tap is at the host
					want[to] += e.Copies
				} else {
					want[to]++
				}
				if (e.Delay > 0) != (e.Fate == impair.Passed) || e.Delay > 0 && e.Delay < 10 {
					t.Errorf("got %+v", e)
				}
			}
			total := 0
			for _, times := range sent {
				total += times
			}
			if total != copies || noted[impair.ToServer] != want[impair.ToServer] || noted[impair.ToClient] != want[impair.ToClient] {
				t.Errorf("sent %d, noted %v; the log says %d and %v", total, noted, copies, want)
			}
			if fates[impair.Unsent] < len(lines) || fates[impair.Lost] == 0 || fates[impair.Queued] == 0 ||
				fates[impair.Passed]+fates[impair.Lost]+fates[impair.Queued]+fates[impair.Unsent] != n+len(lines) {
				t.Errorf("got %v", fates)
			}
			logged = b.String()
		})
		return logged
	}
	if one, two := run(t), run(t); one != two || len(one) < n*50 {
		t.Errorf("two runs differ, or have a log of %d bytes", len(one))
	}
}

// each is the number of datagrams that TestImpaired sends in each direction.
const each = 100

// Over sockets: the log has each datagram, and what host, client and recording get agrees with
// it, wherever the tap is.
func TestImpaired(t *testing.T) {
	for _, tap := range []Tap{AtHost, AtRouter, AtClient} {
		t.Run(string(tap), func(t *testing.T) {
			var said bytes.Buffer
			host := listenAt(t, "127.0.0.1:0")
			p := newTestProxy(t, &said, host.at.String())
			name := filepath.Join(t.TempDir(), "proxy.pcapng")
			file, err := capture.CreateWriter(name, capture.DatagramOptions(capture.WriterOptions{Interface: "proxy"}))
			if err != nil {
				t.Fatal(err)
			}
			p.Record(file)
			var b *buffer
			p.Impair, b = newImpairment(t, tap, "loss=20%,duplicate=20%,delay=5ms,seed=3", "to-client:loss=10%")
			at, end := serve(t, p)
			c := listenAt(t, "127.0.0.1:0")
			got := map[impair.Direction]int{}
			for k := range each {
				c.send(t, at, fmt.Sprint("to the host ", k))
			}
			from := receiveAll(t, host, p.Impair, "to the host ", got, impair.ToServer)
			for k := range each {
				host.send(t, from, fmt.Sprint("to the client ", k))
			}
			receiveAll(t, c, p.Impair, "to the client ", got, impair.ToClient)
			if err := end(); err != nil {
				t.Fatal(err)
			}
			sums, copies, lost := map[impair.Direction]int{}, map[impair.Direction]int{}, 0
			for _, e := range b.entries(t) {
				to := map[string]impair.Direction{"c2s": impair.ToServer, "s2c": impair.ToClient}[e.Dir]
				sums[to]++
				copies[to] += e.Copies
				if e.Fate == impair.Lost {
					lost++
				}
				if e.Client != c.at.String() || e.Line != 1 || e.N > each {
					t.Errorf("got %+v", e)
				}
			}
			if sums[impair.ToServer] != each || sums[impair.ToClient] != each || lost == 0 {
				t.Errorf("the log has %v datagrams, %d lost", sums, lost)
			}
			if got[impair.ToServer] != copies[impair.ToServer] || got[impair.ToClient] != copies[impair.ToClient] {
				t.Errorf("got %v, the log says %v", got, copies)
			}
			want := map[impair.Direction]int{}
			for _, to := range []impair.Direction{impair.ToServer, impair.ToClient} {
				if want[to] = sums[to]; tap.sees(to) {
					want[to] = copies[to]
				}
			}
			src, err := capture.OpenAll([]string{name}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = src.Close() }()
			recorded := map[impair.Direction]int{}
			for {
				d, err := src.Next()
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if d.Dst == host.at {
					recorded[impair.ToServer]++
				} else {
					recorded[impair.ToClient]++
				}
			}
			if recorded[impair.ToServer] != want[impair.ToServer] || recorded[impair.ToClient] != want[impair.ToClient] {
				t.Errorf("recorded %v, want %v", recorded, want)
			}
			p.Log.Close()
			if !strings.Contains(said.String(), fmt.Sprintf("to-server: 100 datagrams: %d passed", sums[impair.ToServer]-lostTo(b.entries(t), "c2s"))) {
				t.Errorf("said %s", said.String())
			}
		})
	}
}

func lostTo(all []impair.Report, dir string) (n int) {
	for _, e := range all {
		if e.Dir == dir && e.Fate == impair.Lost {
			n++
		}
	}
	return n
}

// receiveAll counts the datagrams that come until all of a direction have, and
// returns their sender. A datagram too many would come soon.
func receiveAll(t *testing.T, e endpoint, i *Impairment, prefix string, got map[impair.Direction]int, to impair.Direction) (from netip.AddrPort) {
	t.Helper()
	all := func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		s, known := &i.sums[to], 0
		for _, n := range s.fates {
			known += n
		}
		return known == each && got[to] >= s.fates[impair.Passed]+s.duplicates
	}
	b := make([]byte, largest)
	for began := time.Now(); time.Since(began) < wait; {
		if err := e.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, sender, err := e.ReadFromUDPAddrPort(b)
		if err != nil && all() {
			break
		}
		if err != nil {
			continue
		}
		if !strings.HasPrefix(string(b[:n]), prefix) {
			t.Errorf("got %q", b[:n])
		}
		from = sender
		got[to]++
	}
	return from
}

// A log that cannot be written is an error in the end.
func TestFailedLog(t *testing.T) {
	i, err := NewImpairment([]string{"loss=1%"}, AtHost)
	if err != nil {
		t.Fatal(err)
	}
	i.Log = broken{}
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	p.Impair = i
	at, end := serve(t, p)
	c := listenAt(t, "127.0.0.1:0")
	c.send(t, at, "one")
	host.expect(t, "one")
	if err := end(); !errors.Is(err, errFull) || cli.StatusOf(err) != cli.ExitFailed {
		t.Errorf("got %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errFull }
func (broken) Close() error              { return nil }
