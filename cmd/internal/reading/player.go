package reading

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A player's conversation begins before the player's name is known. Files are
// therefore read twice, first to find the conversation. Records from a pipe or
// the network are held until a name is known.

// learn reads files to find the conversation of the wanted player. For pipes it
// does nothing, since the holder handles them. It ignores errors, which the
// second reading returns.
func learn(f *cli.Common, cfg dissect.Config, names []string) error {
	if slices.ContainsFunc(names, func(name string) bool { return !regular(name) }) {
		return nil
	}
	return learnFrom(names, nil, f, cfg)
}

// learnFrom reads captures to find the conversation of the wanted player. It
// ignores errors after the beginning, which the second reading returns.
func learnFrom(names []string, stdin io.Reader, f *cli.Common, cfg dissect.Config) error {
	src, err := capture.OpenAll(names, stdin)
	if err != nil {
		return ofCapture(err)
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	f.Learn(&dissect.Record{})         // needed if there are no records
	p := dissect.New(cfg)
	p.Need(dissect.Needs{Updates: dissect.UpdateHeaders})
	_, err = p.PushAll(src, func(r *dissect.Record) error { f.Learn(r); return nil })
	return err
}

// regular reports whether a name is a file that can be read again.
func regular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Limits of the records that are held.
const (
	heldOfOne = 256       // records of one conversation
	heldOfAll = 16 * 1024 // records of all conversations
	heldAtAll = 1024      // conversations
)

// A holder holds the records of conversations until a name is known.
type holder struct {
	is    func(*dissect.Record) bool
	show  func(*dissect.Record) error
	of    map[int]*held // held records by conversation
	count int
}

// held are the waiting records of a conversation.
type held struct {
	records []*dissect.Record
	gone    int // number of earlier records that were dropped
}

func newHolder(is func(*dissect.Record) bool, show func(*dissect.Record) error) *holder {
	return &holder{is: is, show: show, of: map[int]*held{}}
}

// record shows a record of the player, after the records that were held. It
// holds records of conversations without a name, and drops the records of other
// players.
func (h *holder) record(r *dissect.Record) error {
	w := h.of[r.Conversation]
	switch {
	case h.is(r):
		if w == nil {
			return h.show(r)
		}
		h.forget(r.Conversation)
		if w.gone > 0 {
			first := append(w.records, r)[0]
			first.Notes = append(first.Notes, dissect.Note{
				Code: "late", Text: fmt.Sprintf(plural.Form(w.gone, "the conversation begins late: %d {record|records} before this one came too long before the name"), w.gone),
			})
		}
		for _, r := range w.records {
			if err := h.show(r); err != nil {
				return err
			}
		}
		return h.show(r)
	case r.Client != "":
		h.forget(r.Conversation)
		return nil
	}
	if w == nil {
		if len(h.of) >= heldAtAll {
			h.forget(slices.Min(slices.Collect(maps.Keys(h.of))))
		}
		w = &held{}
		h.of[r.Conversation] = w
	}
	if len(w.records) >= heldOfOne || h.count >= heldOfAll {
		w.gone++
		if len(w.records) == 0 {
			return nil
		}
		w.records = slices.Delete(w.records, 0, 1)
		h.count--
	}
	w.records = append(w.records, r.Clone())
	h.count++
	return nil
}

// forget drops the held records of a conversation.
func (h *holder) forget(conversation int) {
	if w := h.of[conversation]; w != nil {
		h.count -= len(w.records)
		delete(h.of, conversation)
	}
}
