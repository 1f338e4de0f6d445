package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/synth"
)

// forms are ways to look at a capture.
var forms = map[string][]string{
	"table":     {"read"},
	"verbose":   {"read", "-V", "-x"},
	"json":      {"read", "-T", "json"},
	"csv":       {"read", "-T", "csv", "-e", "frame", "-e", "rel", "-e", "StateUpdate.speed", "-e", "Chat.text"},
	"chosen":    {"read", "-T", "json", "-e", "frame", "-e", "StateUpdate.speed", "-n"},
	"verify":    {"read", "-T", "json", "--payload", "--verify", "--strict"},
	"filter":    {"read", "-Y", "rel > 0.1 and (StateUpdate.speed > 1 or dir == s2c)", "--no-acks"},
	"skimmed":   {"read", "-T", "json", "-Y", "Chat or ObjectCreate or kind == connect"},
	"player":    {"read", "--player", "2", "--from", "0.1"},
	"histogram": {"read", "-T", "histogram"},
	"stats":     {"stats"},
	"counts":    {"stats", "-T", "json"},
	"network":   {"stats", "--network", "-T", "json"},
}

// outcome is the output of a run of the program and its exit status.
type outcome struct {
	out, err string
	status   int
}

func runWith(stdin io.Reader, args ...string) (r outcome) {
	var out, err bytes.Buffer
	r.status = run(args, cli.Streams{In: stdin, Out: &out, Err: &err})
	r.out, r.err = out.String(), err.String()
	return r
}

// synthesised writes a capture of many batches.
func synthesised(t *testing.T, o synth.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := synth.Write(&b, o); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), string(o.Kind)+".pcap")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The output is the same with any number of processors. Long captures, and more
// numbers of processors, are for the runs that have time.
func TestJobs(t *testing.T) {
	var names []string
	for _, pattern := range []string{"*.pcap", "*.pcap.gz", "*.pcapng.gz", filepath.Join("variants", "*.pcap*")} {
		found, err := filepath.Glob(filepath.Join(fixtures.Dir(), "captures", pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 25 {
		t.Fatalf("got %d captures", len(names))
	}
	for _, o := range []synth.Options{
		{Kind: synth.Play, Datagrams: 3000, Seed: 3},
		{Kind: synth.Orphans, Datagrams: 700, Seed: 1},
		{Kind: synth.Flows, Datagrams: 700, Seed: 1},
		{Kind: synth.Records, Datagrams: 5, Seed: 1},
		{Kind: synth.Crowds, Datagrams: 20, Seed: 1},
	} {
		names = append(names, synthesised(t, o))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			another := filepath.Base(filepath.Dir(name)) == "variants" // form of a capture that is tried anyway
			if (another || filepath.Ext(name) == ".gz") && !raceDetector {
				fixtures.System(t)
			}
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			sameWithJobs(t, name, info.Size() > 100_000, "3")
			if info.Size() <= 100_000 && !raceDetector {
				t.Run("more", func(t *testing.T) {
					if os.Getenv("BCDISSECT_LONG") == "" {
						t.Skip("3 jobs are tried: set BCDISSECT_LONG for 2")
					}
					sameWithJobs(t, name, false, "2")
				})
			}
		})
	}
}

// sameWithJobs compares the output with numbers of processors to that with one.
func sameWithJobs(t *testing.T, name string, large bool, others ...string) {
	t.Helper()
	for form, args := range forms {
		if large && (form == "verbose" || form == "verify" || raceDetector && form != "json" && form != "stats") {
			continue
		}
		want := runWith(nil, append(args, "--jobs", "1", name)...)
		for _, jobs := range others {
			if got := runWith(nil, append(args, "--jobs", jobs, name)...); got != want {
				t.Errorf("%s with %s jobs: status %d and %q, want %d and %q; output of %d bytes is the same: %v",
					form, jobs, got.status, got.err, want.status, want.err, len(want.out), got.out == want.out)
			}
		}
	}
}

// A capture without a datagram, several files, and one that is damaged.
func TestJobsOfFewDatagrams(t *testing.T) {
	captures := filepath.Join(fixtures.Dir(), "captures")
	empty := filepath.Join(captures, "variants", "join_flow-headeronly.pcap")
	cut := filepath.Join(captures, "variants", "join_flow-filecut.pcap")
	whole := filepath.Join(captures, "gamespy.pcap")
	for form, args := range forms {
		for _, names := range [][]string{{empty}, {empty, whole, empty}, {cut, whole}, {whole, filepath.Join(captures, "missing.pcap")}} {
			want := runWith(nil, append(append(args, "--jobs", "1"), names...)...)
			for _, jobs := range []string{"2", "5"} {
				if got := runWith(nil, append(append(args, "--jobs", jobs), names...)...); got != want {
					t.Errorf("%s of %v with %s jobs:\n got %+v\nwant %+v", form, names, jobs, got, want)
				}
			}
		}
	}
	for _, jobs := range []string{"-1", "65", "many"} {
		if got := runWith(nil, "stats", "--jobs="+jobs, whole); got.status != cli.ExitUsage || !strings.Contains(got.err, "--jobs") {
			t.Errorf("--jobs %s: got %+v", jobs, got)
		}
	}
}

// Records from a pipe are shown before more arrive.
func TestJobsShowAtOnce(t *testing.T) {
	pcap := fixtures.Read(t, "captures/join_flow.pcap")
	for _, jobs := range []string{"1", "2", "3"} {
		t.Run(jobs, func(t *testing.T) {
			fromUs, toThem := io.Pipe()
			fromThem, toUs := io.Pipe()
			ended := make(chan int, 1)
			go func() {
				code := run([]string{"read", "-T", "json", "--jobs", jobs, "-"}, cli.Streams{In: fromUs, Out: toUs, Err: io.Discard})
				_ = toUs.Close()
				ended <- code
			}()
			lines := bufio.NewScanner(fromThem)
			// A part with whole frames and a piece of another, then the rest.
			if _, err := toThem.Write(pcap[:1000]); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"frame":1,`) {
				t.Fatalf("got %q, %v", lines.Text(), lines.Err())
			}
			go func() {
				_, err := toThem.Write(pcap[1000:])
				_ = toThem.CloseWithError(err)
			}()
			n := 1
			for lines.Scan() {
				n++
			}
			want := strings.Count(runWith(bytes.NewReader(pcap), "read", "-T", "json", "-").out, "\n")
			if code := <-ended; code != cli.ExitOK || n != want {
				t.Errorf("status %d and %d lines, want %d", code, n, want)
			}
		})
	}
}

// A failing is a writer that fails after some bytes.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, f.err
	}
	return len(b), nil
}

// Whoever reads the output may go away, also while the input waits for more.
func TestJobsOutputFails(t *testing.T) {
	play := synthesised(t, synth.Options{Kind: synth.Play, Datagrams: 5000, Seed: 1})
	full := errors.New("disk full")
	for _, jobs := range []string{"1", "2", "3"} {
		for _, after := range []int{0, 1000, 1_000_000} {
			for err, want := range map[error]int{syscall.EPIPE: cli.ExitOK, full: cli.ExitFailed} {
				var said bytes.Buffer
				code := run([]string{"read", "-T", "json", "--jobs", jobs, play}, cli.Streams{Out: &failing{after, err}, Err: &said})
				if code != want || (want == cli.ExitFailed) != strings.Contains(said.String(), "disk full") {
					t.Errorf("%s jobs, %d bytes, %v: got status %d and %q", jobs, after, err, code, said.String())
				}
			}
		}
		// The end of this input never comes.
		fromUs, toThem := io.Pipe()
		go func() { _, _ = toThem.Write(fixtures.Read(t, "captures/join_flow.pcap")) }()
		if code := run([]string{"read", "--jobs", jobs, "-"}, cli.Streams{In: fromUs, Out: &failing{0, syscall.EPIPE}, Err: io.Discard}); code != cli.ExitOK {
			t.Errorf("%s jobs: got status %d", jobs, code)
		}
		_ = toThem.Close()
	}
}

// A filter that takes no ship updates and acknowledgements, or all of them for
// counts, shows the same as one that has to look at each.
func TestSkimming(t *testing.T) {
	if raceDetector {
		t.Skip("TestJobs runs the same goroutines")
	}
	shown := 0
	for _, name := range []string{"networked_battle.pcap", "stock_client.pcap"} {
		for _, args := range [][]string{{"read", "-T", "json"}, {"stats", "-T", "json"}} {
			for _, expr := range []string{
				"not StateUpdate and not kind == ack", "Chat or ObjectCreate", "TorpedoFire.target", "StateUpdate", "kind == ack", "opcode == 0x1c or kind == connect",
				"name == ObjectCreate and copy_of",
			} {
				for _, jobs := range []string{"1", "2"} {
					args := append(args[:len(args):len(args)], "-j", jobs, fixtures.Path("captures/"+name), "-Y")
					got, want := runWith(nil, append(args, expr)...), runWith(nil, append(args, "("+expr+") or frame == 0")...)
					if got.out != want.out || got.status != want.status {
						t.Errorf("%q: got %d bytes, want %d", append(args, expr), len(got.out), len(want.out))
					}
					shown += len(want.out)
				}
			}
		}
	}
	if shown < 1<<19 {
		t.Errorf("only %d bytes were shown", shown)
	}
	// The number of records is also equal.
	name := fixtures.Path("captures/networked_battle.pcap")
	got, want := runWith(nil, "read", "-Y", "TeamChat", name), runWith(nil, "read", "-Y", "frame == 0", name)
	if records, _, ok := strings.Cut(want.err, ", none match"); !ok || !strings.HasPrefix(got.err, records+", none match") {
		t.Errorf("got %q, want %q", got.err, want.err)
	}
}
