// Package anonymize writes captures in which nothing tells of people or hosts.
package anonymize

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// Flags are the flags of the command.
type Flags struct {
	cli.Common
	write    string
	key      string
	force    bool
	keepChat bool
	keepRest bool
}

// Define defines the flags.
func (f *Flags) Define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.write, "write", "w", "", "write to this `FILE`; without it the last argument names the file")
	fl.BoolVar(&f.force, "force", false, "overwrite a file that is not empty")
	fl.StringVar(&f.key, "key", "", "`FILE` with a key, which is created if there is none: the same key gives the same pseudonyms")
	fl.BoolVar(&f.keepChat, "keep-chat", false, "keep lines of chat, but for the names of players in them")
	fl.BoolVar(&f.keepRest, "keep-undecoded", false, "keep bytes that do not decode, which may hold anything")
	f.DefinePorts(cmd)
	f.DefineDecoding(cmd)
}

// Run makes the captures anonymous.
func (f *Flags) Run(s cli.Streams, names []string) error {
	if f.write == "" {
		if len(names) < 2 {
			return errors.New("anonymize: needs a file to write: a second name, or -w FILE")
		}
		f.write, names = names[len(names)-1], names[:len(names)-1]
	}
	if f.write == "-" {
		return errors.New("--write -: the output is searched after it is written; give a file")
	}
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	if err := cli.CheckInput("--write", f.write, s.In, names...); err != nil {
		return err
	}
	if err := cli.CheckDistinct("--key", f.key, "--write", f.write); err != nil {
		return err
	}
	key, err := readKey(f.key, s.Err)
	if err != nil {
		return cli.Failed(err)
	}
	p, err := newPseudonyms(key)
	if err != nil {
		return cli.Failed(err)
	}
	draft, err := cli.CreateDraft(f.write, f.force, s)
	if err != nil {
		return err
	}
	to := capture.NewCopy(f.write, draft, capture.CopyOptions{Keep: keep, Hold: true, Sections: [][]byte{}})
	v := newValues(p, f.keepChat)
	w := &rewriter{values: v, to: to, pipeline: dissect.New(cfg), decoder: decode.NewDecoder(), clear: cfg.Clear, keepRest: f.keepRest}
	damage, err := f.rewrite(s, w, names)
	if err == nil && v.full {
		err = errValues
	}
	found := newSearch(v, cfg)
	if err == nil {
		err = found.file(draft.Name())
	}
	if err != nil {
		draft.Discard()
		return cli.Failed(err)
	}
	if err := draft.Accept(); err != nil {
		return cli.Failed(err)
	}
	if err := summary(s.Err, f.write, w, found); err != nil {
		return cli.Failed(err)
	}
	return damage
}

// keep chooses the frames that can be rewritten.
func keep(f *capture.Frame) bool { return f.Datagram != nil && f.Payload >= 0 }

// rewrite copies the captures. damage is the reason why one ended early.
func (f *Flags) rewrite(s cli.Streams, w *rewriter, names []string) (damage, err error) {
	t := &tap{Copy: w.to, w: w}
	src, err := capture.OpenTapped(names, s.In, t)
	if err != nil {
		_ = w.to.Close() // there is an error already
		return nil, err
	}
	defer func() { _ = src.Close() }() // nothing was written
	progress := cli.NewProgress(s, f.NoProgress)
	for damage == nil && w.to.Err() == nil && !w.full {
		var d *dissect.Datagram
		if d, damage = src.Next(); damage == nil {
			w.datagram(d)
		}
		const every = 4096 // frames
		if st := src.Stats(); st.Frames%every == 0 {
			progress.Update(st.BytesRead, st.Size, st.Frames)
		}
	}
	w.write(true)
	progress.Done()
	if err := w.to.Close(); err != nil {
		return nil, err
	}
	switch {
	case errors.Is(damage, io.EOF):
		return nil, nil
	case errors.Is(damage, capture.ErrCut), errors.Is(damage, capture.ErrDamaged):
		return &cli.StatusError{Code: cli.ExitDamaged, Err: damage}, nil
	}
	return nil, damage
}

// A tap passes on what a copy may have of a capture. Of the options of
// interfaces it keeps those that times depend on.
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

// readKey returns the key of a file, and creates the file if there is none; or a
// random key that nobody keeps.
func readKey(name string, report io.Writer) ([]byte, error) {
	const size = 32
	fresh := make([]byte, size)
	_, _ = rand.Read(fresh) // it does not fail
	if name == "" {
		return fresh, nil
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, cli.PlainPath(name, err)
		}
		_, err = fmt.Fprintln(file, hex.EncodeToString(fresh))
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, cli.PlainPath(name, err)
		}
		fmt.Fprintf(report, "bcdissect: %s: a new key; keep it to yourself\n", name)
		return fresh, nil
	case err != nil:
		return nil, cli.PlainPath(name, err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != size {
		return nil, fmt.Errorf("%s: not a key, which has %d hex digits; name a file that does not exist to create one", name, 2*size)
	}
	return key, nil
}

// summary says what was replaced, and what was left out.
func summary(to io.Writer, name string, w *rewriter, s *search) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(t, "different\treplaced\t\n") // Flush reports the error
	for k := range kinds {
		_, _ = fmt.Fprintf(t, "%d\t%d\t  %s\n", w.distinct[k], w.times[k], kindNames[k][0])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(to, "bcdissect: "+format+"\n", args...) }
	say("%s: %d frames written", name, w.to.Stats().Frames)
	for _, left := range []struct {
		n    int
		what string
	}{
		{w.others, "frames that are not of the game left out"},
		{w.pieces, "frames of datagrams in IP fragments left out"},
		{w.to.Stats().Lacking, "frames left out: too large, or of an interface that is not described"},
		{w.blocks, "blocks of pcapng left out"},
		{w.options, "comments and other options of pcapng left out"},
		{w.lost, "fragments blanked: their message is not complete"},
	} {
		if left.n > 0 {
			say("%s: %d %s", name, left.n, left.what)
		}
	}
	if w.blanked > 0 {
		say("%s: %d bytes that do not decode blanked, in %d messages", name, w.blanked, w.messages)
	}
	say("%s: searched for %d original values, none is left; %d were too short or the game's own words", name, len(w.originals)-s.skipped, s.skipped)
	return nil
}
