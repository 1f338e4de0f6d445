package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A Recording is the file to which a command writes packets, and the flags for
// it.
type Recording struct {
	Name    string        // name of the file, empty for none
	After   time.Duration // time after which the command stops, 0 for never
	Packets int           // number of packets after which the command stops, 0 for never

	Forgot func(name string) // called with each file that --keep deletes, may be nil

	rotate   []string
	stop     []string
	force    bool
	rotation capture.Rotation
	keep     string
	keepFor  time.Duration
}

// Define defines the flags.
func (r *Recording) Define(cmd *cobra.Command, write string) {
	fl := cmd.Flags()
	fl.StringVarP(&r.Name, "write", "w", "", write)
	fl.StringArrayVarP(&r.rotate, "ring-buffer", "b", nil, "with -w: a new file at each `WHEN`: duration:SECONDS or filesize:KB, or files:N to keep the last N, repeatable")
	fl.StringVar(&r.keep, "keep", "", "with -b: delete files of the series that are older than this `AGE`, such as 30d or 12h")
	fl.StringArrayVarP(&r.stop, "autostop", "a", nil, "stop at `WHEN`: duration:SECONDS or packets:N, repeatable")
	fl.BoolVar(&r.force, "force", false, "with -w: overwrite a file that is not empty")
}

// Check parses the flags. Patterns in the name are replaced by parts of now,
// the time at which the command begins.
func (r *Recording) Check(now time.Time) error {
	for _, c := range r.rotate {
		if err := r.rotation.Set(c); err != nil {
			return fmt.Errorf("--ring-buffer: %w", err)
		}
	}
	if err := r.rotation.Check(); err != nil {
		return fmt.Errorf("--ring-buffer: %w", err)
	}
	switch {
	case len(r.rotate) > 0 && r.Name == "":
		return errors.New("--ring-buffer needs a file to write: -w FILE")
	case r.force && r.Name == "":
		return errors.New("--force needs a file to write: -w FILE")
	}
	if r.keep != "" {
		if len(r.rotate) == 0 {
			return errors.New("--keep needs a series of files: -b duration:SECONDS or -b filesize:KB")
		}
		if r.keepFor = age(r.keep); r.keepFor <= 0 {
			return fmt.Errorf("--keep %s: not an age; give days or hours, such as 30d or 12h", r.keep)
		}
	}
	for _, c := range r.stop {
		after, packets, err := autostop(c)
		if err != nil {
			return err
		}
		if after > 0 {
			r.After = after
		} else {
			r.Packets = packets
		}
	}
	name, err := expandTime(r.Name, now)
	if err != nil {
		return fmt.Errorf("--write %s: %w", r.Name, err)
	}
	r.Name = name
	return nil
}

// age parses a number of days or a duration. It returns 0 if text is neither.
func age(text string) time.Duration {
	const most = 36500 // days
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n > 0 && n <= most) {
			return 0
		}
		return time.Duration(n * 24 * float64(time.Hour))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// expandTime replaces the patterns in a file name by a local time.
func expandTime(name string, now time.Time) (string, error) {
	now = now.Local()
	texts, rest := []string{"%%", "%"}, []string{"%%", ""}
	for _, p := range [][2]string{{"%Y", "2006"}, {"%m", "01"}, {"%d", "02"}, {"%H", "15"}, {"%M", "04"}, {"%S", "05"}} {
		texts, rest = append(texts, p[0], now.Format(p[1])), append(rest, p[0], "")
	}
	if strings.Contains(strings.NewReplacer(rest...).Replace(name), "%") {
		return "", errors.New("the patterns are %Y, %m, %d, %H, %M and %S, and %% for a percent sign")
	}
	return strings.NewReplacer(texts...).Replace(name), nil
}

// Open creates the file, or the first of several. It overwrites an existing
// file only if that is empty or the user forces it. It never overwrites the
// output of the report or an input.
func (r *Recording) Open(output string, o *capture.WriterOptions, inputs ...string) (capture.FileWriter, error) {
	if err := CheckDistinct("--output", output, "--write", r.Name); err != nil {
		return nil, err
	}
	if err := CheckInput("--write", r.Name, nil, inputs...); err != nil {
		return nil, err
	}
	o.Application, o.Hardware, o.Start, o.Overwrite = "bcdissect "+Version(), runtime.GOARCH, time.Now(), r.force
	o.Keep, o.Forgot = r.keepFor, r.Forgot
	var w capture.FileWriter
	var err error
	if len(r.rotate) > 0 {
		w, err = capture.NewRotatingWriter(r.Name, r.rotation, o.Start, o)
	} else {
		w, err = capture.CreateWriter(r.Name, o)
	}
	if err != nil {
		return nil, notOverwritten(err)
	}
	if err := CheckDistinct("--output", output, "--write", r.Name); err != nil { // a link can give the same file two names
		_ = w.Close() // nothing was written
		return nil, err
	}
	return w, nil
}

// OpenDatagrams is like Open, for the datagrams of an interface. The argument
// what describes the traffic and who exchanges it.
func (r *Recording) OpenDatagrams(output, name, what string, inputs ...string) (capture.FileWriter, error) {
	o := capture.WriterOptions{System: runtime.GOOS, Interface: name, Description: what + ", in packets made for the recording"}
	return r.Open(output, capture.DatagramOptions(o), inputs...)
}

// notOverwritten returns the error for a file that cannot be created. If the
// file is not empty, the error says how to overwrite it.
func notOverwritten(err error) error {
	if errors.Is(err, capture.ErrNotEmpty) {
		err = fmt.Errorf("%w; give another name, such as one with %%Y%%m%%d-%%H%%M%%S, or --force", err)
	}
	return Failed(err)
}

// CreateCopy creates the file of a copy of captures.
func CreateCopy(name string, force bool, o capture.CopyOptions) (*capture.Copy, error) {
	c, err := capture.CreateCopy(name, force, o)
	if err != nil {
		return nil, notOverwritten(err)
	}
	return c, nil
}
