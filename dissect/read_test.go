package dissect_test

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// TestFile reads files with a loop: whole, up to a break, cut short, and not at
// all.
func TestFile(t *testing.T) {
	t.Parallel()
	want := 0
	recorded.Records(t, "join_flow.pcap", dissect.Config{}, func(*dissect.Record) { want++ })
	name := fixtures.Path("captures/join_flow.pcap")
	got := 0
	for rec, err := range dissect.File(name) {
		if err != nil || rec.Datagram == nil {
			t.Fatalf("got %v, %v", rec, err)
		}
		got++
	}
	if got != want || got == 0 {
		t.Errorf("got %d records, want %d", got, want)
	}

	got = 0
	for range dissect.Files(dissect.Config{}, name, name) {
		if got++; got == want+1 {
			break
		}
	}
	if got != want+1 {
		t.Errorf("got %d records before the break", got)
	}

	var last error
	got = 0
	for rec, err := range dissect.File(fixtures.Path("captures/variants/join_flow-filecut.pcap")) {
		if last != nil {
			t.Fatal("there is something behind the error")
		}
		if last = err; rec != nil {
			got++
		}
	}
	if !errors.Is(last, capture.ErrCut) || got == 0 || got >= want {
		t.Errorf("cut short: got %d records, then %v", got, last)
	}

	got, last = 0, nil
	for _, err := range dissect.File(fixtures.Path("captures/nosuch.pcap")) {
		got, last = got+1, err
	}
	if got != 1 || !errors.Is(last, fs.ErrNotExist) {
		t.Errorf("no file: got %d pairs, then %v", got, last)
	}
}

// TestPlayerName finds the names of the authors of chat, by network id from
// clients and stock hosts and by slot from an OpenBC host.
func TestPlayerName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"stock_client.pcap":  {"Cady2", "Kirk"},
		"battle_mix.pcap.gz": {"Bot0", "Bot1", "Bot2", "Bot3"},
	} {
		var names []string
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			chat, ok := r.Message.(*msg.Chat)
			if !ok {
				return
			}
			who := r.PlayerName(chat.Sender)
			if !slices.Contains(names, who.Raw()) {
				names = append(names, who.Raw())
			}
			if r.Dir == dissect.ToHost && who != r.Client {
				t.Errorf("%s, frame %d: %q says what %q wrote", name, r.Datagram.Number, who, r.Client)
			}
			if got := r.PlayerName(chat.Sender + 1000); got != "" && r.Author == nil {
				t.Errorf("%s, frame %d: a number that is not in the message is %q", name, r.Datagram.Number, got)
			}
		})
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("%s: got %q, want %q", name, names, want)
		}
	}
}

// A waiter is a source that announces when its next datagram may take long:
// before each with a number in pauses.
type waiter struct {
	next, last int
	pauses     map[int]bool
	before     func() error
	end        error
	ahead      bool // the error of before comes only after the last datagram, as from a packed file
}

func (w *waiter) BeforeRead(f func() error) { w.before = f }

func (w *waiter) Next() (*dissect.Datagram, error) {
	w.next++
	if w.pauses[w.next] && w.before != nil {
		if err := w.before(); err != nil && !w.ahead {
			return nil, err
		}
	}
	if w.next > w.last {
		return nil, w.end
	}
	return &dissect.Datagram{Number: w.next, Payload: []byte{byte(w.next)}}, nil
}

func (*waiter) Close() error { return nil }

// plainSource hides that a source announces pauses.
type plainSource struct{ packet.Source }

// TestBatches reads sources in batches, which end at pauses, at a largest
// number, and after each datagram of a source that announces no pauses.
func TestBatches(t *testing.T) {
	t.Parallel()
	broken, enough := errors.New("broken"), errors.New("enough")
	waits := 0
	for _, tt := range []struct {
		name  string
		src   packet.Source
		o     dissect.BatchOptions
		most  int // batches to take, 0 for all
		want  [][]int
		ended error
	}{
		{"to the end", &waiter{last: 3, end: io.EOF}, dissect.BatchOptions{}, 0, [][]int{{1, 2, 3}}, nil},
		{"to an error", &waiter{last: 3, end: broken}, dissect.BatchOptions{}, 0, [][]int{{1, 2, 3}}, broken},
		{"nothing but an error", &waiter{end: broken}, dissect.BatchOptions{}, 0, nil, broken},
		{"pauses", &waiter{last: 5, end: io.EOF, pauses: map[int]bool{1: true, 3: true, 6: true}}, dissect.BatchOptions{}, 0, [][]int{{1, 2}, {3, 4, 5}}, nil},
		{"a datagram read before", &waiter{next: 1, last: 3, end: io.EOF}, dissect.BatchOptions{First: &dissect.Datagram{Number: 1}}, 0, [][]int{{1, 2, 3}}, nil},
		{"at most two", &waiter{last: 5, end: io.EOF}, dissect.BatchOptions{Most: 2}, 0, [][]int{{1, 2}, {3, 4}, {5}}, nil},
		{"one by one", plainSource{&waiter{last: 2, end: broken}}, dissect.BatchOptions{}, 0, [][]int{{1}, {2}}, broken},
		{"a break", &waiter{last: 5, end: broken}, dissect.BatchOptions{Most: 2}, 1, [][]int{{1, 2}}, nil},
		{"a break at a pause", &waiter{last: 5, end: io.EOF, pauses: map[int]bool{2: true}}, dissect.BatchOptions{}, 1, [][]int{{1}}, nil},
		{"an error at a pause", &waiter{last: 5, end: io.EOF, pauses: map[int]bool{2: true, 4: true}}, dissect.BatchOptions{Wait: func() error {
			if waits++; waits > 1 {
				return enough
			}
			return nil
		}}, 0, [][]int{{1}, {2, 3}}, nil},
	} {
		var got [][]int
		var ended error
		for b, err := range dissect.Batches(tt.src, tt.o) {
			if ended = err; err != nil {
				continue
			}
			var numbers []int
			for n := b.Last().Number - b.Len() + 1; n <= b.Last().Number; n++ {
				numbers = append(numbers, n)
			}
			got = append(got, numbers)
			if len(got) == tt.most {
				break
			}
		}
		if !slices.EqualFunc(got, tt.want, slices.Equal[[]int]) || !errors.Is(ended, tt.ended) || (ended == nil) != (tt.ended == nil) {
			t.Errorf("%s: got %v and %v, want %v and %v", tt.name, got, ended, tt.want, tt.ended)
		}
	}
}

// TestBatchesEmpty fills other batches in turn, and ends where there is none.
func TestBatchesEmpty(t *testing.T) {
	t.Parallel()
	free := []*dissect.Batch{new(dissect.Batch), new(dissect.Batch)}
	seen := map[*dissect.Batch]int{}
	o := dissect.BatchOptions{Empty: func() *dissect.Batch {
		if len(free) == 0 {
			return nil
		}
		b := free[0]
		free = free[1:]
		return b
	}}
	for b, err := range dissect.Batches(&waiter{last: 9, end: io.EOF, pauses: map[int]bool{3: true, 5: true}, ahead: true}, o) {
		if err != nil {
			t.Fatal(err)
		}
		seen[b] = b.Len()
	}
	if len(seen) != 2 {
		t.Errorf("%d batches were filled, not 2", len(seen))
	}
	for _, n := range seen {
		if n != 2 {
			t.Errorf("a batch has %d datagrams, not 2", n)
		}
	}
}
