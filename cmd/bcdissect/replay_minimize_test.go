package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// The shortest capture has frames of the whole one with their times and bytes, and shows the same fault.
func TestMinimize(t *testing.T) {
	t.Parallel()
	captures := filepath.Join("..", "..", "fixtures", "captures")
	for _, tt := range []struct {
		capture, fault string
		most           int // datagrams
		flags          []string
	}{
		{filepath.Join("field", "c21.host.pcap.gz"), "finding: ignored-acks from number 256", 150, nil},
		{"two_teams.pcap", "deviation: ", 10, []string{"--against", "stock"}},
	} {
		whole, short := filepath.Join(captures, tt.capture), filepath.Join(t.TempDir(), "short.pcapng")
		var out, errs bytes.Buffer
		code := run(append([]string{"replay", whole, "--minimize", short}, tt.flags...), cli.Streams{Out: &out, Err: &errs})
		if code != cli.ExitDiffers || !strings.Contains(errs.String(), " still show "+tt.fault) {
			t.Fatalf("status %d: %s", code, errs.String())
		}
		from, kept := datagramsOf(t, whole), datagramsOf(t, short)
		next := 0
		for _, d := range kept {
			for next < len(from) && d != from[next] {
				next++
			}
			next++
		}
		if next > len(from) || len(kept) == 0 || len(kept) > tt.most {
			t.Errorf("%s: %d of %d datagrams, or others", tt.capture, len(kept), len(from))
		}
		baseline := filepath.Join(t.TempDir(), "known.json")
		errs.Reset()
		if code := run(append([]string{"replay", whole, "--baseline", baseline, "--write-baseline"}, tt.flags...), cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
			t.Fatalf("status %d: %s", code, errs.String())
		}
		for flags, want := range map[string]int{"": cli.ExitDiffers, baseline: cli.ExitOK} {
			args := append([]string{"replay", short}, tt.flags...)
			if flags != "" {
				args = append(args, "--baseline", flags)
			}
			if code := run(args, cli.Streams{Out: &out, Err: &errs}); code != want {
				t.Errorf("%s: status %d, want %d: %s", tt.capture, code, want, errs.String())
			}
		}
	}
}

// A datagramOf is what --minimize must not change.
type datagramOf struct {
	at      time.Time
	ends    string
	payload string
}

func datagramsOf(t *testing.T, name string) (list []datagramOf) {
	t.Helper()
	all, err := datagrams([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		list = append(list, datagramOf{d.Time.UTC(), d.Src.String() + d.Dst.String(), string(d.Payload)})
	}
	return list
}

// What can't be shortened is said before anything is read, and a sound host needs no file.
func TestMinimizeNothing(t *testing.T) {
	t.Parallel()
	whole := filepath.Join("..", "..", "fixtures", "captures", "join_flow.pcap")
	for _, tt := range []struct {
		want string
		code int
		args []string
	}{
		{"drop it with --to and --handshake", cli.ExitUsage, []string{"replay", whole, "--minimize", "x.pcapng", "--handshake"}},
		{"not standard input", cli.ExitUsage, []string{"replay", "-", "--minimize", "x.pcapng"}},
		{"is an input", cli.ExitUsage, []string{"replay", whole, "--minimize", whole}},
		{"not written, since the capture shows no fault", cli.ExitOK, []string{"replay", whole, "--minimize", filepath.Join(t.TempDir(), "x.pcapng")}},
	} {
		var out, errs bytes.Buffer
		if code := run(tt.args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != tt.code || !strings.Contains(errs.String(), tt.want) {
			t.Errorf("%v: status %d: %s", tt.args, code, errs.String())
		}
	}
}
