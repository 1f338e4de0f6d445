package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// ran is the outcome of a run of the program inside this process.
type ran struct {
	status      int
	out, errors string
}

func runIn(in io.Reader, args ...string) ran {
	var out, errs bytes.Buffer
	status := run(args, cli.Streams{In: in, Out: &out, Err: &errs})
	return ran{status, out.String(), errs.String()}
}

// linesOf returns the JSON lines about the first frames of a capture. They
// equal the lines in a report of the whole capture.
func linesOf(t *testing.T, name string, frames int) string {
	t.Helper()
	f := &damageForm{plain: fixtures.Read(t, name)}
	r := runIn(bytes.NewReader(f.plain), "read", "-T", "json", "-")
	f.lines = strings.SplitAfter(r.out, "\n")
	n, err := f.beginning(r.out, frames)
	if err != nil || n == 0 {
		t.Fatalf("%d lines, %v", n, err)
	}
	return strings.Join(f.lines[:n], "")
}

// When reading fails, the records before are reported, and the error is not
// taken for the end of the file.
func TestReadErrorInTheMiddle(t *testing.T) {
	const name = "captures/join_flow.pcap"
	b := fixtures.Read(t, name)
	ends := frameEnds(b)
	broken := errors.New("input/output error")
	for what, start := range map[string][]byte{
		"between frames": b[:ends[99]],
		"in a frame":     b[:ends[99]+20],
		"packed":         zstandard(b[:ends[99]]), // whole frames, and then nothing
	} {
		t.Run(what, func(t *testing.T) {
			r := runIn(io.MultiReader(bytes.NewReader(start), iotest.ErrReader(broken)), "read", "-T", "json", "-")
			if want := linesOf(t, name, 100); r.out != want {
				t.Errorf("got %d lines, want %d", strings.Count(r.out, "\n"), strings.Count(want, "\n"))
			}
			if r.status != cli.ExitFailed || r.errors != "bcdissect: standard input: input/output error\n" {
				t.Errorf("status %d, %q", r.status, r.errors)
			}
		})
	}
	r := runIn(iotest.ErrReader(broken), "stats", "-")
	if r.status != cli.ExitFailed || r.errors != "bcdissect: standard input: input/output error\n" || r.out != "" {
		t.Errorf("at once: status %d, %q, %q", r.status, r.errors, r.out)
	}
}

// A file that is still being written is read up to where it ends, and is not
// more than cut short.
func TestGrowingFile(t *testing.T) {
	const name = "captures/join_flow.pcap"
	b := fixtures.Read(t, name)
	ends := frameEnds(b)
	path := filepath.Join(t.TempDir(), "growing.pcap")
	for _, size := range []int{ends[9], ends[9] + 7, ends[9] + 40, ends[59] - 1, ends[59], len(b)} {
		if err := os.WriteFile(path, b[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		frames, cut := slices.BinarySearch(ends, size)
		cut = !cut
		if !cut {
			frames++
		}
		r := runIn(nil, "read", "-T", "json", path)
		if want := linesOf(t, name, frames); !strings.HasPrefix(r.out, want) || !cut && size < len(b) && r.out != want {
			t.Errorf("%d bytes: got %d lines, want those of %d frames", size, strings.Count(r.out, "\n"), frames)
		}
		if cut != (r.status == cli.ExitDamaged) || cut != strings.Contains(r.errors, "cut short in frame") || !cut && r.status != cli.ExitOK {
			t.Errorf("%d bytes: status %d, %q", size, r.status, r.errors)
		}
	}

	// A file that grows while it is read is read to its new end.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	written := 0
	r := runIn(readerFunc(func(p []byte) (int, error) {
		next := min(written+1000, len(b))
		if _, err := file.WriteAt(b[written:next], int64(written)); err != nil {
			return 0, err
		}
		written = next
		return file.Read(p)
	}), "stats", "-T", "json", "-")
	if want := runIn(bytes.NewReader(b), "stats", "-T", "json", "-"); r != want || written != len(b) {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// An input file is not overwritten, by whatever name.
func TestOutputIsInput(t *testing.T) {
	dir := t.TempDir()
	b := fixtures.Read(t, "captures/join_flow.pcap")
	path, other := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap")
	for _, p := range []string{path, other} {
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{path, filepath.Join(dir, ".", "x", "..", "a.pcap")}
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(old, new string) error{"hard.pcap": os.Link, "soft.pcap": fixtures.Symlink} {
		if err := link(path, filepath.Join(dir, name)); err != nil {
			t.Logf("no links here: %v", err)
			continue
		}
		names = append(names, filepath.Join(dir, name))
	}
	for _, name := range names {
		for _, args := range [][]string{
			{"read", path, "-o", name},
			{"read", other, path, "-o", name, "-T", "json"},
			{"stats", name, "-o", path},
			{"read", "--define", path, other, "-o", name},
		} {
			if r := runIn(nil, args...); r.status == cli.ExitOK || r.out != "" || !strings.Contains(r.errors, "bcdissect: ") {
				t.Errorf("%v: status %d, %q, %q", args, r.status, r.out, r.errors)
			}
		}
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r := runIn(in, "read", "-", "-o", path)
		_ = in.Close()
		if r.status != cli.ExitUsage || !strings.Contains(r.errors, "is an input file; give another name") {
			t.Errorf("standard input: status %d, %q", r.status, r.errors)
		}
	}
	if r := runIn(nil, "live", "-w", path, "-o", path); r.status != cli.ExitUsage {
		t.Errorf("live: status %d, %q", r.status, r.errors)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b) {
		t.Errorf("the capture was overwritten: %v", err)
	}
	if r := runIn(nil, "stats", path, "-o", other); r.status != cli.ExitOK {
		t.Errorf("another file: status %d, %q", r.status, r.errors)
	}
}

// A file that cannot be opened ends the report, after the files before it.
func TestUnreadable(t *testing.T) {
	first := fixtures.Path("captures/join_flow.pcap")
	want := strings.ReplaceAll(runIn(nil, "read", "-T", "json", first).out, `,"ts":`, fmt.Sprintf(`,"capture":%q,"ts":`, first))
	path := filepath.Join(t.TempDir(), "secret.pcap")
	if err := os.WriteFile(path, fixtures.Read(t, "captures/restart.pcap"), 0); err != nil {
		t.Fatal(err)
	}
	t.Run("permission", func(t *testing.T) {
		if f, err := os.Open(path); err == nil {
			_ = f.Close()
			t.Skip("this user may read everything")
		}
		r := runIn(nil, "read", "-T", "json", first, path, first)
		if r.status != cli.ExitFailed || r.out != want || !strings.Contains(r.errors, path+": permission denied") {
			t.Errorf("status %d, %d bytes, %q", r.status, len(r.out), r.errors)
		}
	})
	for _, name := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		r := runIn(nil, "read", "-T", "json", first, name, first)
		if r.status != cli.ExitFailed || r.out != want || strings.Count(r.errors, "\n") != 2 || !strings.HasPrefix(r.errors, "bcdissect: "+first+" is given more than once") || !strings.Contains(r.errors, name+": ") {
			t.Errorf("%s: status %d, %d bytes, %q", name, r.status, len(r.out), r.errors)
		}
		if r := runIn(nil, "read", first, "-o", filepath.Join(name, "x", "y")); r.status != cli.ExitFailed || r.out != "" {
			t.Errorf("-o below %s: status %d, %q", name, r.status, r.errors)
		}
	}
}

// A reader of the report that goes away ends the program, without a word.
func TestClosedPipe(t *testing.T) {
	if cli.OnWindows {
		t.Skip("a process that reads only the beginning is tested where there are signals")
	}
	for _, args := range [][]string{{"read", "-T", "json"}, {"read", "-V", "-x"}, {"read"}, {"read", "-e", "frame"}} {
		cmd := exec.Command("bcdissect", append(args, fixtures.Path("captures/networked_battle.pcap"))...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		_ = out.Close()
		// Either the signal of the closed pipe ended it, or the error did.
		if err := cmd.Wait(); err != nil && cmd.ProcessState.Exited() || errs.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, errs.String())
		}
	}
}

// A full disk is reported once as an error, for every kind of output.
func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is of Linux")
	}
	capture := fixtures.Path("captures/networked_battle.pcap")
	for _, args := range [][]string{
		{"read", capture},
		{"read", "-V", "-x", capture},
		{"read", "-T", "json", capture},
		{"read", "-e", "frame", capture},
		{"read", "-T", "histogram", capture},
		{"stats", capture},
		{"stats", "-T", "table", capture},
		{"stats", "-T", "json", capture},
		{"stats", "--network", capture},
		{"stats", "--network", "-T", "json", capture},
		{"decode", "01D73368C3BF76DB"},
		{"decode", "-T", "json", "01D73368C3BF76DB"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		var errs bytes.Buffer
		status := run(args, cli.Streams{In: strings.NewReader(""), Out: full, Err: &errs})
		_ = full.Close()
		if status != cli.ExitFailed || errs.String() != "bcdissect: standard output: no space left on device\n" {
			t.Errorf("%v: status %d, %q", args, status, errs.String())
		}
		if r := runIn(nil, append(args, "-o", "/dev/full")...); r.status != cli.ExitFailed || r.out != "" || r.errors != "bcdissect: /dev/full: no space left on device\n" {
			t.Errorf("%v: status %d, %q", args, r.status, r.errors)
		}
	}
	encoded := strings.NewReader(`{"name":"Chat","fields":{"sender":2,"text":"hi"}}`)
	for _, args := range [][]string{
		{"opcodes"},
		{"opcodes", "-T", "json"},
		{"opcodes", "Chat"},
		{"version"},
		{"version", "-T", "json"},
		{"--version"},
		{"--help"},
		{"read", "--help"},
		{"help", "read"},
		{"completion"},
		{"completion", "bash"},
		{"completion", "zsh"},
		{"-G"},
		{"config"},
		{"schema", "read"},
		{"wireshark", "plugin"},
		{"encode"},
		{},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		status := run(args, cli.Streams{In: encoded, Out: full, Err: &errs})
		_ = full.Close()
		if status != cli.ExitFailed || errs.String() != "bcdissect: standard output: no space left on device\n" {
			t.Errorf("%v: status %d, %q", args, status, errs.String())
		}
	}
}

// The name of a file cannot do anything to the terminal, whatever tells of it.
func TestHostileFileNames(t *testing.T) {
	if cli.OnWindows {
		t.Skip("Windows refuses such names")
	}
	for _, name := range []string{"a\n\x1b[2J.pcap", "\xff\xfe.pcap", "gpj\u202e.pcap"} {
		dir := t.TempDir()
		in := filepath.Join(dir, name)
		if err := os.WriteFile(in, fixtures.Read(t, "captures/stock_client.pcap"), 0o600); err != nil {
			t.Fatal(err)
		}
		cut := filepath.Join(dir, "cut"+name)
		if err := os.WriteFile(cut, fixtures.Read(t, "captures/variants/join_flow-filecut.pcap"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"read", in, "-c", "3"},
			{"read", in, "-Y", "name == none"},
			{"read", in, "-w", in + ".copy"},
			{"read", in, "-w", in + ".clear", "--decrypt", "-F", "pcap"},
			{"read", cut, "-w", cut + ".copy"},
			{"read", in + ".none"},
			{"read", in, "-w", in},
			{"read", in, "-e", "capture", "-c", "1"},
			{"read", in, "-T", "fields", "-e", "capture", "-c", "1"},
			{"read", in, "-T", "json", "-e", "capture", "-c", "1"},
			{"stats", cut},
			{"session", in},
			{"session", in, cut},
			{"measure", cut},
			{"replay", cut},
			{"diff", in, cut},
			{"anonymize", in, in + ".other", "--key", in + ".key"},
			{"tables", in + ".tables", in, cut},
			{"tables", in + ".tables", in},
			{"conform", "--read", in},
			{"conform", "--read", in, "-T", "tap"},
			{"decode", in},
			{"encode", in},
			{in, "-c", "1"},
			{in + ".none"},
		} {
			r := runIn(nil, args...)
			for line := range strings.Lines(r.out + r.errors) {
				for _, c := range strings.TrimSuffix(line, "\n") {
					if !unicode.IsGraphic(c) && (c != '\t' || args[0] == "read") {
						t.Fatalf("%q: %q of %q", args, c, line)
					}
				}
			}
			if !utf8.ValidString(r.out + r.errors) {
				t.Errorf("%q: not UTF-8: %q", args, r.out+r.errors)
			}
			if n := strings.Count(r.errors, "\n") - strings.Count(r.errors, "bcdissect: "); r.status == cli.ExitFailed && args[0] != "anonymize" && n > 0 {
				t.Errorf("%q: %d lines without the name of the program: %q", args, n, r.errors)
			}
		}
	}
}
