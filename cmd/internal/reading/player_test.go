package reading

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// shown collects the records that a holder shows: conversation and frame, and the
// codes of notes.
func shown() (h *holder, got *[]string) {
	got = new([]string)
	return newHolder(func(r *dissect.Record) bool { return r.Client == "Kirk" }, func(r *dissect.Record) error {
		text := fmt.Sprint(r.Conversation, " ", r.Datagram.Number)
		for _, n := range r.Notes {
			text += " " + n.Code
		}
		*got = append(*got, text)
		return nil
	}), got
}

func pass(t *testing.T, h *holder, conversation, frame int, client string) {
	t.Helper()
	if err := h.record(&dissect.Record{Datagram: &dissect.Datagram{Number: frame}, Conversation: conversation, Client: wire.Untrusted(client)}); err != nil {
		t.Fatal(err)
	}
}

func TestHeldBack(t *testing.T) {
	h, got := shown()
	pass(t, h, 1, 1, "")
	pass(t, h, 2, 2, "")
	pass(t, h, 1, 3, "")
	pass(t, h, 2, 4, "Ann")
	pass(t, h, 1, 5, "Kirk")
	pass(t, h, 2, 6, "Ann")
	pass(t, h, 1, 7, "Kirk")
	if want := []string{"1 1", "1 3", "1 5", "1 7"}; !slices.Equal(*got, want) || len(h.of) > 0 || h.count != 0 {
		t.Errorf("got %q, want %q; %d are held", *got, want, h.count)
	}
}

func TestBeginsLate(t *testing.T) {
	h, got := shown()
	for frame := range heldOfOne + 2 {
		pass(t, h, 1, frame+1, "")
	}
	pass(t, h, 1, 1000, "Kirk")
	if len(*got) != heldOfOne+1 || (*got)[0] != "1 3 late" || (*got)[1] != "1 4" {
		t.Errorf("%d records, the first %q", len(*got), (*got)[:2])
	}
}

func TestHeldIsBounded(t *testing.T) {
	h, _ := shown()
	for frame := range 3 * heldOfAll {
		pass(t, h, frame%(2*heldAtAll), frame, "")
		if len(h.of) > heldAtAll || h.count > heldOfAll {
			t.Fatalf("%d conversations, %d records", len(h.of), h.count)
		}
	}
	n := 0
	for _, w := range h.of {
		n += len(w.records)
	}
	if n != h.count {
		t.Errorf("%d are held, %d counted", n, h.count)
	}
}
