package reading

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report"
)

// An Extract writes frames of captures to another capture: all frames, or the
// frames with the selected messages. It reads the captures once to find these
// frames, and again to copy them.
type Extract struct {
	name     string
	reader   string // program that reads standard output, if it is known
	format   cli.Choice
	force    bool
	decrypt  bool
	annotate bool
}

// For returns an Extract that writes the selected frames with annotations to
// standard output. The argument names the program that reads it.
func For(reader string) *Extract {
	return &Extract{name: "-", reader: reader, format: cli.NewChoice("pcapng", "pcapng", "pcap"), decrypt: true, annotate: true}
}

// Define defines the flags.
func (e *Extract) Define(cmd *cobra.Command) {
	e.format = cli.NewChoice("pcapng", "pcapng", "pcap")
	fl := cmd.Flags()
	fl.StringVarP(&e.name, "write", "w", "", "write the selected frames to this `FILE`")
	fl.VarP(&e.format, "capture-format", "F", "with -w: form of the file")
	fl.BoolVar(&e.decrypt, "decrypt", false, "with -w: write deciphered datagrams")
	fl.BoolVar(&e.annotate, "annotate", false, "with -w: add all fields for Wireshark, deciphered")
	fl.BoolVar(&e.force, "force", false, "with -w: overwrite a file that is not empty")
	e.format.Complete(cmd, "capture-format")
}

// On reports whether the user wants a file.
func (e *Extract) On() bool { return e.name != "" }

// Check returns an error for flags that cannot be combined. It also reports
// whether the user wants a report.
func (e *Extract) Check(f *cli.Common, cmd *cobra.Command) (withReport bool, err error) {
	if !e.On() {
		for _, name := range []string{"annotate", "capture-format", "decrypt", "force"} {
			if cmd.Flags().Changed(name) {
				return false, fmt.Errorf("--%s needs a file to write: -w FILE", name)
			}
		}
		return true, nil
	}
	if e.annotate && e.format.Value != "pcapng" {
		return false, errors.New("--annotate: works only with pcapng; drop -F")
	}
	e.decrypt = e.decrypt || e.annotate
	for _, name := range []string{"format", "output", "fields", "verbose", "hex", "payload"} {
		withReport = withReport || cmd.Flags().Changed(name)
	}
	if withReport && e.name == "-" && (f.Output == "" || f.Output == "-") {
		return false, errors.New("--write -: standard output is for the report; give one of them a file (-o FILE)")
	}
	return withReport, nil
}

// Captures writes the frames. If makeSink is not nil, it also makes a report of
// the selected messages.
func (e *Extract) Captures(f *cli.Common, s cli.Streams, names []string, makeSink SinkMaker) error {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	if err := cli.CheckDistinct("--output", f.Output, "--write", e.name); err != nil {
		return err
	}
	if err := cli.CheckInput("--write", e.name, s.In, names...); err != nil {
		return err
	}
	names = distinct(s, names)
	if slices.Contains(names, "-") {
		interrupts := cli.NewInterrupts(s, 0, false)
		defer interrupts.Close()
		s.In = interrupts.Input(s.In)
	}
	x := extraction{Extract: e, Common: f, s: s, cfg: cfg, names: names}
	if !f.All || f.Count > 0 || len(cfg.Ports) > 0 {
		x.wanted = new(extract.Frames)
	}
	again := x.wanted != nil || makeSink != nil || f.Verify || f.Strict || len(names) > 1
	if again && slices.Contains(names, "-") {
		spooled, err := spool(s.In)
		if err != nil {
			return cli.Failed(err)
		}
		defer func() { _ = os.Remove(spooled.Name()) }() // a leftover file does not justify an error
		defer func() { _ = spooled.Close() }()           // nothing more is written to it
		x.stdin = spooled
	}
	if err := openable(names); err != nil {
		return cli.Failed(err)
	}
	var damage, verdict error
	if x.annotate && (again || !slices.Contains(names, "-")) { // a pipe may never end
		x.players = extract.Players{}
	}
	if x.wanted != nil || makeSink != nil || f.Verify || f.Strict || x.players != nil {
		err := x.find(makeSink)
		switch status := (*cli.StatusError)(nil); {
		case err == nil:
		case errors.As(err, &status) && status.Code == cli.ExitMalformed:
			verdict = err // the file is written even if --strict finds an error
		case errors.As(err, &status) && status.Code == cli.ExitDamaged:
		default:
			return err
		}
	}
	if err := x.survey(); err != nil {
		return err
	}
	if damage, err = x.copy(); err != nil {
		return err
	}
	if damage != nil {
		return ofCapture(damage)
	}
	return verdict
}

// openable returns an error for the first file that is not a capture, so that
// nothing is written in that case. It does not check pipes, which can be read
// only once.
func openable(names []string) error {
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			continue
		}
		src, err := capture.OpenAll([]string{name}, nil)
		if err != nil && !OnlyDamage(err) {
			return err
		}
		if err == nil {
			_ = src.Close() // it was opened only for reading
		}
	}
	return nil
}

// spool copies standard input to a file that can be read twice.
func spool(in io.Reader) (*os.File, error) {
	file, err := os.CreateTemp("", "bcdissect-*")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(file, in); err != nil {
		_ = file.Close()           // the first error is returned
		_ = os.Remove(file.Name()) // the first error is returned
		return nil, err
	}
	return file, nil
}

// An extraction is one call of an Extract.
type extraction struct {
	*Extract
	*cli.Common
	s         cli.Streams
	cfg       dissect.Config
	names     []string
	stdin     *os.File        // copy of standard input, nil if standard input is read only once
	wanted    *extract.Frames // frames to write, nil for all
	players   extract.Players // players of the frames, nil if they are not needed
	fragments int             // number of IP fragments in the captures
	sections  [][]byte        // options of all sections, nil for a single capture
	only      bool            // write only frames that are in wanted
}

// in returns standard input, from its beginning if it was copied.
func (x *extraction) in() io.Reader {
	if x.stdin == nil {
		return x.s.In
	}
	_, _ = x.stdin.Seek(0, io.SeekStart) // the next read returns the error
	return x.stdin
}

// find reads the captures to find the frames of the selected messages.
func (x *extraction) find(makeSink SinkMaker) error {
	streams := x.s
	streams.In = x.in()
	return Captures(x.Common, streams, x.names, func(out *cli.Output, start time.Time) (report.Sink, func(*Counts) error) {
		sink := &finder{frames: x.wanted, players: x.players}
		var finish func(*Counts) error
		if makeSink != nil {
			sink.Sink, finish = makeSink(out, start)
		}
		return sink, func(c *Counts) error {
			x.fragments = c.capture.Other.Fragments
			if finish == nil {
				return nil
			}
			return finish(c)
		}
	})
}

// A finder is a sink that collects the frames of records. It passes the records
// to another sink, which may be nil.
type finder struct {
	report.Sink
	frames  *extract.Frames // frames found, nil if all are wanted
	players extract.Players // players found, nil if they are not needed
}

// Record implements [report.Sink].
func (f *finder) Record(r *dissect.Record) error {
	if f.frames != nil {
		f.frames.Add(r.Datagram.Number)
		for _, n := range r.Pieces {
			f.frames.Add(n)
		}
	}
	f.players.Learn(r)
	if f.Sink == nil {
		return nil
	}
	return f.Sink.Record(r)
}

// Close implements [report.Sink].
func (f *finder) Close() error {
	if f.Sink == nil {
		return nil
	}
	return f.Sink.Close()
}

// survey reads the captures to find the other frames of datagrams in IP
// fragments, and the sections of several captures.
func (x *extraction) survey() error {
	several := len(x.names) > 1 && x.format.Value == "pcapng"
	if !several && (x.wanted == nil || x.fragments == 0) {
		return nil
	}
	sections, err := extract.Sections(x.names, x.in(), func(f *capture.Frame) {
		if x.wanted != nil && len(f.Pieces) > 0 && x.keeps(f) {
			for _, n := range f.Pieces {
				x.wanted.Add(n)
			}
		}
	})
	if err != nil {
		return ofCapture(err)
	}
	if !several {
		return nil
	}
	x.sections = sections
	clear := 0
	for _, s := range x.sections {
		if capture.IsClear(s) {
			clear++
		}
	}
	if clear > 0 && clear < len(x.sections) && !x.decrypt {
		return errors.New("some of these captures are deciphered and others are not; add --decrypt")
	}
	return nil
}

// keeps reports whether to write a frame.
func (x *extraction) keeps(f *capture.Frame) bool {
	if x.wanted == nil || x.wanted.Has(f.Number) {
		return true
	}
	return !x.only && x.OnlyRange() && len(x.cfg.Ports) == 0 && x.Count == 0 && x.InRange(f.Number, f.Time)
}

// copy writes the frames. It returns the error that ended the captures.
func (x *extraction) copy() (damage, err error) {
	o := extract.Options{
		Config: x.cfg, Keep: x.keeps, Pcap: x.format.Value == "pcap", Decrypt: x.decrypt, Annotate: x.annotate, Sections: x.sections, Players: x.players,
	}
	job, err := extract.New(o, func(o capture.CopyOptions) (*capture.Copy, error) {
		if x.name == "-" {
			return capture.NewCopy("standard output", struct{ io.Writer }{x.s.Out}, o), nil
		}
		return cli.CreateCopy(x.name, x.force, o)
	})
	if err != nil {
		return nil, err
	}
	progress := cli.NewProgress(x.s, x.NoProgress)
	all, damage, err := job.Run(x.names, x.in(), func(src *capture.Series) {
		if s := src.Stats(); s.Frames%progressEvery == 0 {
			progress.Update(s.BytesRead, s.Size, s.Frames)
		}
	})
	progress.Done()
	if err != nil {
		return nil, ofCapture(err)
	}
	x.summary(all, job)
	return damage, nil
}

const progressEvery = 4096 // number of frames

// summary reports how much was written and how much was not.
func (x *extraction) summary(all capture.Stats, job *extract.Job) {
	c := job.Stats()
	done, left := job.Counts()
	say := func(format string, args ...any) { cli.Say(x.s.Err, format, args...) }
	name := x.name
	switch {
	case x.reader != "":
		name = x.reader
	case name == "-":
		name = "standard output"
	}
	say(plural.Form(all.Frames, "%s: %d of %d {frame|frames} written"), name, c.Frames, all.Frames)
	if x.decrypt {
		say(plural.Form(done, "%s: %d {datagram|datagrams} deciphered"), name, done)
		if x.format.Value == "pcap" {
			say("%s: a pcap file cannot say that it is deciphered; read it with --clear", name)
		}
	}
	if left > 0 {
		say(plural.Form(left, "%s: %d {datagram in IP fragments stays|datagrams in IP fragments stay} enciphered"), name, left)
	}
	if c.Lacking > 0 {
		say(plural.Form(c.Lacking, "%s: %d {frame|frames} dropped: too large, or of an interface that is not described"), name, c.Lacking)
	}
	if c.Blocks > 0 {
		say(plural.Form(c.Blocks, "%s: %d {block|blocks} dropped: too large"), name, c.Blocks)
	}
}
