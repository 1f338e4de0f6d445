package reading

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/table"
)

func every(*dissect.Record) bool { return true }

// lines returns the lines of a reel from a record on, after the number of the
// first.
func lines(tb testing.TB, l *Reel, from int) (first int, all []string) {
	tb.Helper()
	sink := table.New(nil, table.Options{Start: time.Unix(0, 0)})
	first = -1
	err := l.Scan(from, func(n int, r *dissect.Record) bool {
		if first < 0 {
			first = n
		}
		if n != first+len(all) {
			tb.Fatalf("record %d after %d others from %d on", n, len(all), first)
		}
		all = append(all, sink.Line(r))
		return true
	})
	if err != nil {
		tb.Fatal(err)
	}
	return first, all
}

// A reel has the records that the pipeline had while the datagrams came, and
// their numbers, also after it has dropped the oldest.
func TestReel(t *testing.T) {
	for _, most := range []int{reelBytes, 3 << 20} {
		l := NewReel(dissect.Config{}, every)
		l.most = most
		p := dissect.New(dissect.Config{})
		sink := table.New(nil, table.Options{Start: time.Unix(0, 0)})
		var want []string
		scanned := 0
		recorded.Datagrams(t, "battle_mix.pcap.gz", func(d *dissect.Datagram) {
			_ = p.Push(d, func(r *dissect.Record) error { want = append(want, sink.Line(r)); return nil })
			other := dissect.Datagram{Number: d.Number, Time: d.Time, Src: netip.MustParseAddrPort("1.2.3.4:53"), Dst: d.Dst, Payload: []byte("no game")}
			l.Add(&other)
			l.Add(d)
			if d.Number%1000 == 0 { // as the browser does
				first, got := lines(t, l, scanned)
				if first != scanned || len(got) != len(want)-scanned || got[0] != want[scanned] {
					t.Fatalf("%d bytes: %d records from %d on, want %d from %d on", most, len(got), first, len(want)-scanned, scanned)
				}
				scanned = len(want)
			}
		})
		all, gone := l.Records()
		if all != len(want) || gone > 0 != (most < reelBytes) {
			t.Fatalf("%d bytes: %d records, %d gone, want %d", most, all, gone, len(want))
		}
		if l.memory > most && len(l.stretches) > leastStretches {
			t.Errorf("%d bytes in %d stretches, the most is %d", l.memory, len(l.stretches), most)
		}
		for _, from := range []int{0, gone, gone + 1, all - 5000, all - 1, all - 5000} {
			first, got := lines(t, l, from)
			if first != max(from, gone) || len(got) != all-first {
				t.Fatalf("from %d on there are %d records from %d on", from, len(got), first)
			}
			for i, line := range got {
				if line != want[first+i] {
					t.Fatalf("record %d is\n%s\nnot\n%s", first+i, line, want[first+i])
				}
			}
		}
	}
}

// A reel can be read while datagrams come and go.
func TestReelGrows(t *testing.T) {
	l := NewReel(dissect.Config{}, every)
	l.most = 2 << 20
	done := make(chan struct{})
	go func() {
		defer close(done)
		recorded.Datagrams(t, "networked_battle.pcap", l.Add)
		recorded.Datagrams(t, "networked_battle.pcap", l.Add)
	}()
	next := 0
	for more := true; more; {
		select {
		case <-done:
			more = false
		default:
		}
		last := next - 1
		if err := l.Scan(next, func(n int, r *dissect.Record) bool {
			if n <= last || r.Datagram == nil {
				t.Fatalf("record %d after %d", n, last)
			}
			last = n
			return n%977 != 976 // some scans end early
		}); err != nil {
			t.Fatal(err)
		}
		more = more || last >= next
		next = last + 1
	}
	if all, gone := l.Records(); next != all || gone == 0 {
		t.Errorf("%d records, %d of them gone, %d were read", all, gone, next)
	}
}

// Traffic of other programs takes no room.
func TestReelOfOthers(t *testing.T) {
	l := NewReel(dissect.Config{}, every)
	d := dissect.Datagram{Src: netip.MustParseAddrPort("1.2.3.4:53"), Dst: netip.MustParseAddrPort("1.2.3.5:53"), Payload: make([]byte, 1400)}
	for range 10_000 {
		l.Add(&d)
	}
	if all, gone := l.Records(); all != 0 || gone != 0 || l.memory > 0 {
		t.Errorf("%d records, %d gone, %d bytes", all, gone, l.memory)
	}
}

// What the browser saves of a tape and of a reel is what was chosen.
func TestSaveChosen(t *testing.T) {
	const capture = "stock_client.pcap"
	l := NewReel(dissect.Config{}, every)
	recorded.Datagrams(t, capture, l.Add)
	tape := openTape(t, filepath.Join("..", "..", "..", "fixtures", "captures", capture))
	frames := new(extract.Frames)
	want := map[string]int{}
	n := 0
	teller := table.NewTeller()
	_ = tape.Scan(0, func(_ int, r *dissect.Record) bool {
		if frame := r.Datagram.Number; frame%10 == 3 {
			frames.Add(frame)
			if op, ok := r.Opcode(); ok && len(r.Pieces) == 0 {
				want[op.String()+teller.Cells(r).Name]++
				n++
			}
		}
		return true
	})
	if n < 20 {
		t.Fatalf("%d messages are chosen", n)
	}
	dir := t.TempDir()
	for name, save := range map[string]func(string, *extract.Frames) (string, error){"tape.pcapng": tape.Save, "tape.pcap": tape.Save, "reel.pcapng": l.Save} {
		name = filepath.Join(dir, name)
		if said, err := save(name, frames); err != nil || said == "" {
			t.Fatalf("%s: %q, %v", name, said, err)
		}
		if _, err := save(name, frames); err == nil || cli.OneLine(err.Error()) != name+": the file is not empty; give another name" {
			t.Errorf("%s: the second time: %v", name, err)
		}
		got := map[string]int{}
		count := 0
		_ = openTape(t, name).Scan(0, func(_ int, r *dissect.Record) bool {
			count++
			if op, ok := r.Opcode(); ok && len(r.Pieces) == 0 {
				got[op.String()+teller.Cells(r).Name]++
			}
			return true
		})
		for name, k := range want {
			if got[name] < k {
				t.Errorf("%s: %d, want %d", name, got[name], k)
			}
		}
		if count == 0 || count > 10*n {
			t.Errorf("%s: %d records", name, count)
		}
	}
	if said, err := tape.Save(tape.names[0], frames); err == nil {
		t.Errorf("the capture itself was overwritten: %s", said)
	}
}
