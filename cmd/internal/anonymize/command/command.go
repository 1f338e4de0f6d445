// Package command provides the flags of the command anonymize.
package command

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/anonymize"
	"github.com/bcdissect/bcdissect/cmd/internal/cli"
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
	fl.StringVarP(&f.write, "write", "w", "", "write to this `FILE` (default the last argument)")
	fl.BoolVar(&f.force, "force", false, "overwrite a file that is not empty")
	fl.StringVar(&f.key, "key", "", "`FILE` with the key that chooses the pseudonyms, created if it is missing")
	fl.BoolVar(&f.keepChat, "keep-chat", false, "keep lines of chat, except names of players in them")
	fl.BoolVar(&f.keepRest, "keep-undecoded", false, "keep bytes that cannot be decoded, whatever they hold")
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
	drafts := drafts{name: f.write, force: f.force, s: s}
	job, damage, err := f.job(&drafts, anonymize.Options{Config: cfg, Key: key, KeepChat: f.keepChat, KeepRest: f.keepRest}, names)
	if err != nil {
		drafts.discard()
		return err
	}
	if err := drafts.accept(); err != nil {
		return cli.Failed(err)
	}
	if err := job.Summary(s.Err, f.write); err != nil {
		return cli.Failed(err)
	}
	if damage != nil {
		return &cli.StatusError{Code: cli.ExitDamaged, Err: damage}
	}
	return nil
}

// job writes and verifies a draft.
func (f *Flags) job(to *drafts, o anonymize.Options, names []string) (job *anonymize.Job, damage, err error) {
	name, out, err := to.create()
	if err != nil {
		return nil, nil, err
	}
	if job, err = anonymize.New(f.write, out, o); err != nil {
		return nil, nil, cli.Failed(errors.Join(err, out.Close()))
	}
	if damage, err = f.copy(to.s, job, names); err == nil {
		_, err = job.Verify(name, to.create)
	}
	return job, damage, cli.Failed(err)
}

// drafts are the versions of an output file. The last one that is verified
// replaces the file.
type drafts struct {
	name  string
	force bool
	s     cli.Streams
	all   []*cli.Draft
}

// create creates a draft that replaces the previous one. It compresses the
// contents if the name of the file requires that.
func (d *drafts) create() (string, io.WriteCloser, error) {
	draft, err := cli.CreateDraft(d.name, d.force, d.s)
	if err != nil {
		return "", nil, err
	}
	d.all = append(d.all, draft)
	return draft.Name(), capture.Pack(d.name, draft), nil
}

// accept replaces the file by the last draft.
func (d *drafts) accept() error {
	last := len(d.all) - 1
	for _, draft := range d.all[:last] {
		draft.Discard()
	}
	return d.all[last].Accept()
}

func (d *drafts) discard() {
	for _, draft := range d.all {
		draft.Discard()
	}
}

// copy copies the captures.
func (f *Flags) copy(s cli.Streams, job *anonymize.Job, names []string) (damage, err error) {
	progress := cli.NewProgress(s, f.NoProgress)
	defer progress.Done()
	return job.Write(names, s.In, func(src *capture.Series) {
		const every = 4096 // number of frames
		if st := src.Stats(); st.Frames%every == 0 {
			progress.Update(st.BytesRead, st.Size, st.Frames)
		}
	})
}

// readKey reads the key in a file. If the file does not exist, it creates a new
// key in it. Without a name it returns a random key that is not stored.
func readKey(name string, report io.Writer) ([]byte, error) {
	fresh := anonymize.NewKey()
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
		cli.Say(report, "%s: a new key; keep it to yourself", name)
		return fresh, nil
	case err != nil:
		return nil, cli.PlainPath(name, err)
	}
	key, err := anonymize.ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a file that does not exist to create one", name, err)
	}
	return key, nil
}
