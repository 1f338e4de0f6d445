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
// read twice: first to learn which conversation it is. Records from a pipe or
// the network are held back until there is a name.

// learn reads files to find the conversation of the wanted player. It leaves
// pipes to the holder, and errors to the second reading.
func learn(f *cli.Common, cfg dissect.Config, names []string) error {
	if slices.ContainsFunc(names, func(name string) bool { return !regular(name) }) {
		return nil
	}
	return learnFrom(names, nil, f, cfg)
}

// learnFrom reads captures to find the conversation of the wanted player. An error
// behind their beginning is left to whoever reads them again.
func learnFrom(names []string, stdin io.Reader, f *cli.Common, cfg dissect.Config) error {
	src, err := capture.OpenAll(names, stdin)
	if err != nil {
		return ofCapture(err)
	}
	defer func() { _ = src.Close() }() // nothing was written
	f.Learn(&dissect.Record{})         // even if there are no records
	p := dissect.New(cfg)
	p.Need(dissect.Needs{Updates: dissect.UpdateHeaders})
	_, err = p.PushAll(src, func(r *dissect.Record) error { f.Learn(r); return nil })
	return err
}

// regular reports whether a name is that of a file that can be read again.
func regular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Limits of the records held back.
const (
	heldOfOne = 256       // records of a conversation
	heldOfAll = 16 * 1024 // records
	heldAtAll = 1024      // conversations
)

// A holder holds back the records of conversations without a name.
type holder struct {
	is    func(*dissect.Record) bool
	show  func(*dissect.Record) error
	of    map[int]*held // by conversation
	count int
}

// held are the records of a conversation that wait.
type held struct {
	records []*dissect.Record
	gone    int // records before those
}

func newHolder(is func(*dissect.Record) bool, show func(*dissect.Record) error) *holder {
	return &holder{is: is, show: show, of: map[int]*held{}}
}

// record shows a record of the player, after those that were held back; it holds
// back those of nobody, and forgets those of others.
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
