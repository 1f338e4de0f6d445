package dissect_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
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
			if !slices.Contains(names, who) {
				names = append(names, who)
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
