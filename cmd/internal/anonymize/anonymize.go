// Package anonymize copies captures without data that identifies people or
// hosts.
package anonymize

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report"
)

// Options control how captures are made anonymous.
type Options struct {
	Config   dissect.Config
	Key      []byte // key in the format of NewKey, and the same key gives the same pseudonyms
	KeepChat bool   // keep chat, except for the names of players in it
	KeepRest bool   // keep bytes that do not decode, which may contain private data
}

const keySize = 32

// NewKey returns a random key.
func NewKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never returns an error
	return key
}

// ParseKey parses a key in hexadecimal.
func ParseKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("not a key, which has %d hex digits", 2*keySize)
	}
	return key, nil
}

// A Job makes captures anonymous. Write writes them, Verify removes original
// values that remain, and Summary reports both.
type Job struct {
	w       *rewriter
	check   *check
	wounded int // number of datagrams in which the check found a value
	dropped int // number of frames dropped by the check
}

// New returns a job that writes to out. Write closes out. The name is for
// errors.
func New(name string, out io.Writer, o Options) (*Job, error) {
	p, err := newPseudonyms(o.Key)
	if err != nil {
		return nil, err
	}
	to := capture.NewCopy(name, out, capture.CopyOptions{Keep: keep, Hold: true, Sections: [][]byte{}, Comments: []string{capture.AnonymousMark}})
	w := &rewriter{values: newValues(p, o.KeepChat), to: to, pipeline: dissect.New(o.Config), decoder: decode.NewDecoder(), clear: o.Config.Clear, keepRest: o.KeepRest}
	w.witness = newWitness(w.values, &o.Config)
	return &Job{w: w}, nil
}

// Write copies the captures. It calls each after each datagram. The error
// damage reports captures that are cut short or damaged.
func (j *Job) Write(names []string, stdin io.Reader, each func(*capture.Series)) (damage, err error) {
	w := j.w
	src, err := capture.OpenTapped(names, stdin, &tap{Copy: w.to, w: w})
	if err != nil {
		_ = w.to.Close() // the first error is returned
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	for d, end := range dissect.Datagrams(src) {
		if damage = end; end == nil {
			w.datagram(d)
		}
		if each(src); w.to.Err() != nil {
			break
		}
	}
	w.write(true)
	if err := w.to.Close(); err != nil {
		return nil, err
	}
	if errors.Is(damage, capture.ErrCut) || errors.Is(damage, capture.ErrDamaged) {
		return damage, nil
	}
	return nil, damage
}

// keep selects the frames that can be rewritten.
func keep(f *capture.Frame) bool { return f.Datagram != nil && f.Payload >= 0 }

// A tap passes frames and interfaces to a copy. It counts the comments, other
// options and blocks that are not copied. It copies only those options of
// interfaces that are needed to read times.
type tap struct {
	*capture.Copy
	w *rewriter
}

// Section implements [capture.Tap].
func (t *tap) Section(options []byte) {
	t.w.options += capture.CountOptions(options)
	t.Copy.Section(nil)
}

// Interface implements [capture.Tap].
func (t *tap) Interface(i *capture.Interface) {
	kept := *i
	kept.Options = capture.TimeOptions(i.Options)
	t.w.options += capture.CountOptions(i.Options) - capture.CountOptions(kept.Options)
	t.Copy.Interface(&kept)
}

// Block implements [capture.Tap].
func (t *tap) Block(uint32, []byte) { t.w.blocks++ }

// Frame implements [capture.Tap].
func (t *tap) Frame(f *capture.Frame) {
	t.w.options += capture.CountOptions(f.Options)
	switch {
	case f.Datagram != nil && f.Payload < 0:
		t.w.pieces += 1 + len(f.Pieces)
	case f.Datagram == nil:
		t.w.others++
	}
	t.Copy.Frame(f)
}

// Summary writes the table of replacements, and notes about parts that were not
// copied.
func (j *Job) Summary(to io.Writer, name string) error {
	w, c := j.w, j.check
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(t, "different\treplaced\t\n") // Flush returns the error
	for k := range kinds {
		_, _ = fmt.Fprintf(t, "%d\t%d\t  %s\n", w.distinct[k], w.times[k], kindNames[k])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	name = report.Escape(name)
	say := func(format string, args ...any) { fmt.Fprintf(to, "bcdissect: "+format+"\n", args...) }
	say("%s: %s written", name, plural.Count(w.to.Stats().Frames-j.dropped, "frame"))
	for _, left := range []struct {
		n           int
		thing, rest string
	}{
		{w.others, "frame", "dropped: not of the game"},
		{w.pieces, "frame", "dropped: IP fragments"},
		{w.to.Stats().Lacking, "frame", "dropped: too large, or of an interface that is not described"},
		{w.blocks, "block", "of pcapng dropped"},
		{w.options, "option", "of pcapng dropped: comments, names and the like"},
		{w.lost, "fragment", "blanked: of messages that are not complete"},
		{w.malformed, "message", "blanked: malformed, or read in a form that is not its own"},
		{j.wounded, "datagram", "with blanked messages: the check found a value there"},
		{j.dropped, "frame", "dropped: the check found a value there"},
		{w.forgotten, "value", "not searched for: too many to remember"},
	} {
		if left.n > 0 {
			say("%s: %s %s", name, plural.Count(left.n, left.thing), left.rest)
		}
	}
	if w.blanked > 0 {
		say("%s: %s blanked in %s", name, plural.Count(w.blanked, "undecoded byte"), plural.Count(w.messages, "message"))
	}
	say("%s: searched for %s and found none; did not search for %d that are too short, or words of the game", name, plural.Count(c.values, "original value"), c.skipped)
	return nil
}
