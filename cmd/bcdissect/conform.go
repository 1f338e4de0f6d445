package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/cmd/internal/stage"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report/table"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// quickly is the time after which a run without --slow starts no further case.
const quickly = 270 * time.Second

// Default values of flags.
const (
	usualClients = 3
	usualTimeout = 2 * time.Second
	usualSeed    = 1
)

// conforming are the flags of conform.
type conforming struct {
	format  cli.Choice
	color   cli.Choice
	profile cli.Choice
	only    cli.Choice
	output  string
	list    bool
	clients int
	slow    bool
	long    bool
	timeout time.Duration
	pass    string
	hashes  string
	master  string
	remote  bool
	write   string
	force   bool
	junit   string
	html    string
	read    string
	matrix  bool
	quiet   bool
	known   baselining
	start   starting
	game    gaming
	fuzz    fuzzing
	seed    uint64
	given   []string // the given flags that some cases need
}

func newConform(s cli.Streams) *cobra.Command {
	var c conforming
	cmd := &cobra.Command{
		Use:   "conform HOST:PORT|--read FILE [ID|GROUP...]",
		Short: "Try a running host with a suite of cases",
		Long: `Conform connects scripted clients to a running host and tries numbered cases.
Each case is one rule of the game, with its source. For a failed case you see
what was expected, what came, and the command that repeats it.

The game should be empty, as other players change the results. The clients leave
when the run ends. Each sends at most 50 datagrams a second, unless a case needs
more. The exit status is 4 if a case failed, or if a capture shows that its host
ignores acknowledgements (--only content ignores this). It is 1 if the run was
interrupted.

--start starts your server before the run and ends it afterwards. --bots adds a
game on a bad line, and --fuzz adds mutated messages. 'bcdissect help
test-your-server' leads from nothing to a check in CI.

--read answers the cases that a capture can answer. --matrix makes a page of
several reports that -T json wrote.`,
		Example: `  # try your server with all cases
  bcdissect conform localhost:22101
  # try one case and one group, by the rules of a playable host
  bcdissect conform localhost:22101 J-5 R --profile playable
  # keep a recording, a page and a report for CI
  bcdissect conform localhost:22101 -w run.pcapng --html run.html --junit r.xml
  # start your server, then let eight bots play on a bad line
  bcdissect conform localhost:22101 --start './server' --bots 8 --impair loss=5%
  # send mutated messages for ten minutes
  bcdissect conform localhost:22101 fuzz --start './server' --fuzz 10m --seed 7
  # list the cases
  bcdissect conform --list
  # answer the cases from a capture
  bcdissect conform --read evening.pcap
  # compare two servers on a page
  bcdissect conform --matrix a.json b.json -o servers.html`,
		ValidArgsFunction: completeCases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckEffect(cmd, c.format.Value); err != nil {
				return err
			}
			if err := c.check(cmd); err != nil {
				return err
			}
			if err := c.known.open(s.In, c.read); err != nil {
				return err
			}
			switch {
			case c.list:
				return c.listed(s, args)
			case c.matrix:
				return c.compared(s, args)
			case c.read != "":
				return c.captured(s, args)
			case len(args) == 0:
				return errors.New("conform needs the address of a host as HOST:PORT, or --list, --read or --matrix")
			}
			return c.run(s, args[0], args[1:])
		},
	}
	c.define(cmd)
	return cmd
}

func (c *conforming) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	c.format.Define(cmd, "format", "T", "form of the report", "table", "table", "json", "tap")
	fl.StringVarP(&c.output, "output", "o", "", "write the report to this `FILE`")
	fl.BoolVar(&c.list, "list", false, "list the cases with their rules and sources")
	c.profile.Define(cmd, "profile", "", "kind of host: the rules to expect", "stock", suite.Profiles()...)
	fl.IntVar(&c.clients, "clients", usualClients, "`N` clients in the game, 2 to 8")
	fl.BoolVar(&c.slow, "slow", false, "also cases that take longer than 5 s")
	fl.BoolVar(&c.long, "long", false, "also case T-31, which takes some minutes")
	fl.DurationVar(&c.timeout, "timeout", usualTimeout, "time to wait for an answer")
	fl.StringVar(&c.pass, "password", "", "`PASSWORD` of the game")
	fl.StringVar(&c.hashes, "checksums", "", "`FILE` of hashes that the clients' files have; see 'bcdissect help conform'")
	fl.StringVar(&c.master, "master", "", "listen on this `ADDRESS` as the host's master server, for case L-8")
	fl.BoolVar(&c.remote, "yes-remote", false, "allow a remote host (ask its owner first)")
	fl.StringVarP(&c.write, "write", "w", "", "record the run to this `FILE` (pcapng), each frame commented with its case")
	fl.BoolVar(&c.force, "force", false, "with -w: overwrite a file that is not empty")
	fl.StringVar(&c.junit, "junit", "", "also write JUnit XML to this `FILE`")
	fl.StringVar(&c.html, "html", "", "also write a page with decoded messages to this `FILE`")
	fl.StringVar(&c.read, "read", "", "answer from this capture `FILE` instead of a run")
	c.only.Define(cmd, "only", "", "with --read: judge all, or only the contents of messages", "all", "all", "content")
	c.known.define(fl)
	c.start.define(fl)
	c.game.define(fl)
	c.fuzz.define(fl)
	fl.Uint64Var(&c.seed, "seed", usualSeed, "what bots do and which messages are made, as a `NUMBER`")
	fl.BoolVar(&c.matrix, "matrix", false, "make a page of several reports of -T json")
	cli.DefineColor(cmd, &c.color, "colours in the table")
	fl.BoolVar(&c.quiet, "no-progress", false, "do not draw progress on standard error")
	cmd.MarkFlagsMutuallyExclusive("list", "read", "matrix")
}

// completeCases completes IDs and groups of cases after the address.
func completeCases(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	set := cmd.Flags().Changed
	switch {
	case set("matrix"):
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) == 0 && !set("list") && !set("read"):
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := suite.Groups()
	for _, c := range suite.Cases() {
		words = append(words, c.ID+"\t"+c.Title)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (c *conforming) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	const most = 8
	offline := c.list || c.matrix || c.read != ""
	c.given = slices.DeleteFunc([]string{"--start", "--bots", "--fuzz"}, func(flag string) bool { return !set(flag[2:]) })
	switch {
	case c.clients < 2 || c.clients > most:
		return fmt.Errorf("--clients %d: must be 2 to %d", c.clients, most)
	case c.timeout < 100*time.Millisecond || c.timeout > time.Minute:
		return fmt.Errorf("--timeout %v: must be 100ms to 1m", c.timeout)
	case (c.list || c.matrix) && (set("junit") || set("html")):
		return errors.New("--junit and --html need verdicts; drop them with --list and --matrix")
	case offline && set("write"):
		return errors.New("--write records a run against a host; drop it with --list, --read and --matrix")
	case offline && (set("checksums") || set("master") || set("password") || set("clients") || set("timeout") || set("yes-remote")):
		return errors.New("--checksums, --master, --password, --clients, --timeout and --yes-remote need a run against a host; drop them")
	case offline && (set("start") || set("bots") || set("fuzz") || set("seed")):
		return errors.New("--start, --bots, --fuzz and --seed are about a run; drop them with --list, --read and --matrix")
	case c.read == "" && set("only"):
		return errors.New("--only works only with --read; add --read FILE")
	case c.force && c.write == "":
		return errors.New("--force needs a file to write: -w FILE")
	case c.matrix && set("format"):
		return errors.New("--matrix writes a page; drop --format")
	case (c.list || c.matrix) && set("baseline"):
		return errors.New("--baseline needs verdicts; drop it with --list and --matrix")
	case c.list && c.format.Value == "tap":
		return errors.New("--list has no TAP; use -T table or -T json")
	}
	files := [][2]string{{"--output", c.output}, {"--write", c.write}, {"--junit", c.junit}, {"--html", c.html}, {"--baseline", c.known.name}, {"--impair-log", c.game.log}, {"--again", c.fuzz.again}}
	for i, a := range files {
		for _, b := range files[i+1:] {
			if err := cli.CheckDistinct(a[0], a[1], b[0], b[1]); err != nil {
				return err
			}
		}
	}
	if err := c.start.check(set); err != nil {
		return err
	}
	if err := c.game.check(set); err != nil {
		return err
	}
	return c.fuzz.check(set)
}

// cases returns the cases that the words select.
func cases(words []string) ([]*suite.Case, error) {
	list, unknown := suite.Select(words)
	if unknown != "" {
		return nil, fmt.Errorf("%s: no such case or group; choose from %s, or see 'bcdissect conform --list'", unknown, strings.Join(suite.Groups(), ", "))
	}
	return list, nil
}

// tried returns the cases that the words select. It returns an error for a word
// if the run or the capture can try none of its cases.
func (c *conforming) tried(words []string) ([]*suite.Case, error) {
	for _, word := range words {
		if err := c.triable(word); err != nil {
			return nil, err
		}
	}
	return cases(words)
}

// named reports whether all words are IDs of cases. Slow cases then run without
// --slow.
func named(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(w, "-") })
}

// triable returns nil if a case that the word selects can be tried, and
// otherwise an error with the reason.
func (c *conforming) triable(word string) error {
	list, err := cases([]string{word})
	if err != nil {
		return err
	}
	profile, why := suite.ProfileOf(c.profile.Value), ""
	for _, one := range list {
		switch reads := one.Reads(); {
		case one.Profiles&profile == 0:
			why = fmt.Sprintf("it is for --profile %s, not %s", strings.ReplaceAll(one.Profiles.String(), " ", " and "), c.profile.Value)
		case one.With != "" && !slices.Contains(c.given, one.With):
			why = "it needs " + one.With
		case c.read != "" && !reads:
			why = "a capture can't answer it; it needs a running host"
		case c.read == "" && one.LeftOut != "" && reads:
			why = one.LeftOut + "; captures answer it, with --read FILE"
		case c.read == "" && one.LeftOut != "":
			why = one.LeftOut
		case c.read == "" && one.Long && !c.long:
			why = "it takes some minutes; add --long"
		default:
			return nil
		}
	}
	return fmt.Errorf("%s can't be tried: %s; see 'bcdissect conform --list'", word, why)
}

// listed writes the list of the cases.
func (c *conforming) listed(s cli.Streams, words []string) error {
	list, err := cases(words)
	if err != nil {
		return err
	}
	return cli.WriteOutput(c.output, s, func(out *cli.Output) error {
		if c.format.Value == "json" {
			return verdicts.List(out, list)
		}
		return table.Cases(out.Text(), list, look(out, &c.color))
	})
}

// run tries the cases on a host.
func (c *conforming) run(s cli.Streams, host string, words []string) error {
	list, err := c.tried(words)
	if err != nil {
		return err
	}
	to, err := stage.Target("conform", host, c.remote)
	if err != nil {
		return err
	}
	var master netip.AddrPort
	if c.master != "" {
		at, err := net.ResolveUDPAddr("udp", c.master)
		if err != nil || at.IP == nil || at.IP.IsUnspecified() || at.Port == 0 {
			return fmt.Errorf("--master %s: give an address of this machine as HOST:PORT, with a port from 1 to 65535", c.master)
		}
		master = netip.AddrPortFrom(at.AddrPort().Addr().Unmap(), at.AddrPort().Port())
	}
	answers, err := answersOf(c.hashes)
	if err != nil {
		return err
	}
	s.Abort = c.start.abort(s.Abort)
	interrupts := cli.NewInterrupts(s, 0, false).Lenient()
	defer interrupts.Close()
	ctx := interrupts.Context()
	s.Graceful = true
	out, err := c.outputs(s)
	if err != nil {
		return err
	}
	o := suite.Options{
		Cases: list, Profile: suite.ProfileOf(c.profile.Value), Clients: c.clients, Slow: c.slow || named(words), Long: c.long, Timeout: c.timeout,
		Password: c.pass, Answers: answers, Master: master, Seed: rand.Uint64(), Repeat: c.again(host), Stopped: func() bool { return ctx.Err() != nil },
	}
	if !c.long {
		o.Budget = quickly
	}
	var file *capture.Writer
	if c.write != "" {
		if file, err = capture.CreateWriter(c.write, c.recordingOptions()); err != nil {
			if errors.Is(err, capture.ErrNotEmpty) {
				err = fmt.Errorf("%w; give another name, or --force", err)
			}
			return cli.Failed(errors.Join(err, discard(out)))
		}
	}
	progress, tried := cli.NewProgress(s, c.quiet), 0
	progress.Show("no answer yet")
	o.Done = func(res *suite.Result) {
		if res.Attempts > 0 {
			tried++
		}
		progress.Show(fmt.Sprintf("%s tried, the last %s", plural.Count(tried, "case"), res.Case.ID))
	}
	c.start.s, c.start.to, c.start.o = s, to, o
	defer c.start.end()
	var rep *suite.Report
	if err = c.start.begin(ctx); err == nil {
		rep, err = suite.Run(sockets.New(ctx, to), o)
	}
	progress.Done()
	if err == nil {
		c.start.judge(rep, nil)
		if err = c.play(ctx, s, o, rep); err == nil {
			c.start.judge(rep, list)
			err = c.mutate(ctx, s, o, rep)
		}
	}
	switch {
	case file != nil && rep != nil:
		err = errors.Join(err, recordRun(file, rep))
	case file != nil:
		dropRecording(file, c.write)
	}
	if err != nil {
		return c.start.status(errors.Join(err, discard(out)))
	}
	return c.report(s, out, rep)
}

// A written is an output of a run or of a capture.
type written struct {
	*cli.Output

	name  string
	write func(*cli.Output, *suite.Report) error
}

// outputs opens the output of -o and the outputs in other formats. All are
// opened before the first datagram is sent.
func (c *conforming) outputs(s cli.Streams) (all []written, err error) {
	for i, o := range []written{
		{nil, c.output, c.table},
		{nil, c.junit, func(o *cli.Output, r *suite.Report) error { return verdicts.JUnit(o, r) }},
		{nil, c.html, func(o *cli.Output, r *suite.Report) error { return verdicts.Page(o, r) }},
	} {
		if i > 0 && o.name == "" {
			continue
		}
		if o.Output, err = cli.OpenOutput(o.name, s); err != nil {
			return nil, errors.Join(err, discard(all))
		}
		all = append(all, o)
	}
	return all, nil
}

// discard closes the outputs without a report.
func discard(all []written) (err error) {
	for _, o := range all {
		err = errors.Join(err, o.Discard())
	}
	return err
}

// table writes the report in the format of -T.
func (c *conforming) table(out *cli.Output, rep *suite.Report) error {
	switch c.format.Value {
	case "json":
		return verdicts.JSON(out, rep)
	case "tap":
		return verdicts.TAP(out, rep)
	default:
		return table.Conform(out.Text(), rep, look(out, &c.color))
	}
}

// again returns the command that repeats cases, without their IDs.
func (c *conforming) again(host string) string {
	words := []string{"bcdissect", "conform", host}
	add := func(when bool, flag, value string) {
		if when {
			words = append(words, flag, value)
		}
	}
	add(c.profile.Value != "stock", "--profile", c.profile.Value)
	add(c.clients != usualClients, "--clients", strconv.Itoa(c.clients))
	add(c.timeout != usualTimeout, "--timeout", c.timeout.String())
	add(c.pass != "", "--password", "...")
	add(c.hashes != "", "--checksums", quoted(c.hashes))
	add(c.start.command != "", "--start", quoted(c.start.command))
	add(c.game.bots > 0, "--bots", strconv.Itoa(c.game.bots))
	add(c.game.bots > 0 && c.game.length != time.Minute, "--for", c.game.length.String())
	for _, properties := range c.game.impair {
		add(true, "--impair", properties)
	}
	add(c.fuzz.length > 0, "--fuzz", c.fuzz.length.String())
	add(c.seed != usualSeed, "--seed", strconv.FormatUint(c.seed, 10))
	add(c.master != "", "--master", c.master)
	if c.remote {
		words = append(words, "--yes-remote")
	}
	return strings.Join(words, " ")
}

// report writes the report of a run or of a capture in all formats that the
// user wants, and returns the exit status.
func (c *conforming) report(s cli.Streams, all []written, rep *suite.Report) (err error) {
	if err := c.known.settle(s, rep.Baseline, rep.Judge); err != nil {
		return errors.Join(err, discard(all))
	}
	for _, o := range all {
		err = errors.Join(err, o.write(o.Output, rep), o.Close())
	}
	if err != nil {
		return cli.Failed(err)
	}
	if rep.Interrupted() {
		err = fmt.Errorf(plural.Form(len(rep.Results), "interrupted: %d of %d {case was|cases were} tried"), rep.Tried(), len(rep.Results))
	}
	switch {
	case rep.Failed() > 0:
		return &cli.StatusError{Code: cli.ExitDiffers, Err: err}
	case err == nil && c.start.command != "":
		return c.start.decided(rep)
	}
	return cli.Failed(err)
}

// recordingOptions returns the options for the recording of a run.
func (c *conforming) recordingOptions() *capture.WriterOptions {
	return capture.DatagramOptions(capture.WriterOptions{
		Application: "bcdissect " + cli.Version(), System: runtime.GOOS, Hardware: runtime.GOARCH, Start: time.Now(),
		Interface: "conform", Description: "a run of the conformance suite, in packets made for the recording", Overwrite: c.force,
	})
}

// recordRun writes the datagrams of a run, each with a comment that lists its
// cases.
func recordRun(w *capture.Writer, rep *suite.Report) error {
	d, comments := capture.NewDatagramWriter(w), rep.Comments()
	var err error
	for i := range rep.Frames {
		f := &rep.Frames[i]
		d.Comment = comments[f.Number]
		if err = d.Write(f.At, f.From, f.To, f.Datagram); err != nil {
			break
		}
	}
	return errors.Join(err, w.Close())
}

// dropRecording removes the recording of a run that failed, so that another run
// can write it.
func dropRecording(w *capture.Writer, name string) {
	_ = w.Close() // its contents are not needed
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		_ = os.Remove(name) // the error of the run is reported instead
	}
}

// compared writes a page that compares several reports.
func (c *conforming) compared(s cli.Streams, names []string) error {
	if len(names) == 0 {
		return errors.New("--matrix needs reports that conform -T json wrote")
	}
	if err := cli.CheckOverwrite(c.output, s.In, names...); err != nil {
		return err
	}
	var reports []*verdicts.Report
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return cli.Failed(cli.PlainPath(name, err))
		}
		r, err := verdicts.Read(f)
		_ = f.Close() // it was opened only for reading
		if err != nil {
			return cli.Failed(fmt.Errorf("%s: %w", name, err))
		}
		reports = append(reports, r)
	}
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = strings.TrimSuffix(filepath.Base(name), ".json")
	}
	return cli.WriteOutput(c.output, s, func(out *cli.Output) error { return verdicts.Matrix(out, labels, reports) })
}

// captured judges the cases that a capture can decide.
func (c *conforming) captured(s cli.Streams, words []string) error {
	all, err := c.tried(words)
	if err != nil {
		return err
	}
	for _, name := range []string{c.output, c.junit, c.html} {
		if err := cli.CheckOverwrite(name, s.In, c.read); err != nil {
			return err
		}
	}
	profile := suite.ProfileOf(c.profile.Value)
	src, err := capture.OpenAll([]string{c.read}, s.In)
	if err != nil {
		return cli.Failed(err)
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	reading := suite.NewReading(all, profile)
	reading.OnlyContent = c.only.Value == "content"
	readErr, err := dissect.New(dissect.Config{}).PushAll(src, reading.Record)
	if err != nil {
		return cli.Failed(err)
	}
	stats := src.Stats()
	rep, ok := reading.Report(c.read, stats.FirstTime, stats.LastTime)
	if !ok {
		return cli.Failed(errors.Join(fmt.Errorf("%s: found no host and no client of the game; is it a capture of the game?", c.read), readErr))
	}
	out, err := c.outputs(s)
	if err != nil {
		return err
	}
	err = c.report(s, out, rep)
	if readErr != nil {
		return &cli.StatusError{Code: cli.ExitDamaged, Err: readErr}
	}
	return err
}
