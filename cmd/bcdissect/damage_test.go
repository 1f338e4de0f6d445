package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// Environment variables that make damage sets.
const (
	damageRuns    = "DAMAGE_RUNS"    // how many damaged files
	damageSeed    = "DAMAGE_SEED"    // others for another number
	damageProgram = "DAMAGE_PROGRAM" // the built program, or empty to run it inside the test
)

// No damaged file may make the program take more: all of these captures are
// small, and the window of zstd takes the most.
const (
	damageMemory  = 192 << 20
	damageTimeout = time.Minute // timeout for a run, which normally takes milliseconds
)

// TestDamage runs the program over captures of every form that were damaged at
// random: bits flipped, bytes cut off, taken out, put in or overwritten, blocks
// exchanged or repeated, lengths and times set to impossible values. It must end,
// with a documented status and no more than lines of errors, take bounded memory
// and time, write well-formed output, and report the records before the damage as
// if there were none.
func TestDamage(t *testing.T) {
	runs, seed, program := numberOf(t, damageRuns, 120), numberOf(t, damageSeed, 1), os.Getenv(damageProgram)
	forms := damageForms(t)
	for _, f := range forms {
		f.lines = strings.SplitAfter(f.intact(t, program), "\n")
	}
	tally := map[string]int{}
	undamaged, most, failures := 0, int64(0), 0
	for i := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		f := forms[i%len(forms)]
		what, b := f.damage(t, r)
		command := everyReport[0] // JSON is compared, and comes more often
		if r.IntN(3) > 0 {
			command = everyReport[r.IntN(len(everyReport))]
		}
		run := exercise(t, program, command, b)
		tally[fmt.Sprintf("status %d", run.status)]++
		tally["damage "+what]++
		most = max(most, run.memory)

		faults := run.faults()
		if run.memory > damageMemory {
			faults = append(faults, fmt.Sprintf("%d MiB of memory", run.memory>>20))
		}
		if run.spent > allowed(len(f.plain)) && !raceDetector {
			faults = append(faults, fmt.Sprintf("%v of processor time", run.spent))
		}
		if slices.Contains(command, "json") && command[0] == "read" {
			n, err := f.beginning(run.out, f.sound(b))
			undamaged += n
			if err != nil {
				faults = append(faults, err.Error())
			}
		}
		if len(faults) == 0 {
			continue
		}
		kept := filepath.Join(os.TempDir(), fmt.Sprintf("bcdissect-damage-%d-%d", seed, i))
		if err := os.WriteFile(kept, b, 0o600); err != nil {
			t.Error(err)
		}
		t.Errorf("run %d: %s, %s, kept as %s: bcdissect %s: %s", i, f.name, what, kept, strings.Join(command, " "), strings.Join(faults, "; "))
		if failures++; failures == 10 {
			t.Fatal("and more")
		}
	}
	t.Logf("%d damaged files of %d forms, %d undamaged lines compared, at most %d MiB of memory", runs, len(forms), undamaged, most>>20)
	for _, k := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%-40s %6d", k, tally[k])
	}
	if runs >= 100 && undamaged < 10*runs {
		t.Errorf("only %d lines stood before the damage", undamaged)
	}
}

func numberOf(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s is no number", variable, text)
	}
	return n
}

// A damageForm is a capture in one of the forms that a file can have.
type damageForm struct {
	name   string
	plain  []byte // the capture
	pack   func([]byte) []byte
	unpack func(io.Reader) (io.Reader, error) // nil if it is not packed
	ends   []int                              // where the frames end in plain
	lines  []string                           // the output of read -T json
}

// damageForms returns the captures that are small enough to be read thousands
// of times, and some of them packed.
func damageForms(t *testing.T) (forms []*damageForm) {
	t.Helper()
	as := func(b []byte) []byte { return b }
	var names []string
	for _, pattern := range []string{"captures/*.pcap", "captures/variants/*.pcap", "captures/variants/*.pcapng"} {
		names = append(names, fixtures.Glob(t, pattern)...)
	}
	for _, name := range names {
		b := fixtures.Read(t, name)
		if len(b) > 64<<10 {
			continue
		}
		f := &damageForm{name: strings.TrimPrefix(name, "captures/"), plain: b, pack: as, ends: frameEnds(b)}
		forms = append(forms, f)
		if !strings.Contains(name, "stock_replay") && !strings.Contains(name, "two-interfaces") {
			continue
		}
		g, z := *f, *f
		g.name, g.pack = f.name+".gz", gzipped
		g.unpack = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
		z.name, z.pack = f.name+".zst", zstandard
		z.unpack = func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) }
		forms = append(forms, &g, &z)
	}
	return forms
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// zstandard packs in small frames, so that there is a beginning to unpack.
func zstandard(b []byte) []byte {
	var out bytes.Buffer
	w, _ := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)) // the options are sound
	for part := range slices.Chunk(b, 2000) {
		_, _ = w.Write(part) // as above
		_ = w.Close()
		w.Reset(&out)
	}
	return out.Bytes()
}

// frameEnds returns where the frames of a sound capture end. It is written for
// this test, so as not to ask the reader that is tested.
func frameEnds(b []byte) (ends []int) {
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 0x0a { // pcapng
		if b[8] == 0x1a {
			order = binary.BigEndian
		}
		for at := 0; at+12 <= len(b); {
			kind := order.Uint32(b[at:])
			at += int(order.Uint32(b[at+4:]))
			if kind == 2 || kind == 3 || kind == 6 {
				ends = append(ends, at)
			}
		}
		return ends
	}
	if b[0] == 0xa1 {
		order = binary.BigEndian
	}
	for at := 24; at+16 <= len(b); {
		if at += 16 + int(order.Uint32(b[at+8:])); at <= len(b) {
			ends = append(ends, at)
		}
	}
	return ends
}

// intact returns the program's output for the form without damage.
func (f *damageForm) intact(t *testing.T, program string) string {
	t.Helper()
	run := exercise(t, program, []string{"read", "-T", "json"}, f.pack(f.plain))
	if faults := run.faults(); len(faults) > 0 {
		t.Fatalf("%s: %s", f.name, strings.Join(faults, "; "))
	}
	return run.out
}

// damage returns the file with damage, and its kind. A packed file is damaged
// before or after packing.
func (f *damageForm) damage(t *testing.T, r *rand.Rand) (what string, b []byte) {
	t.Helper()
	if f.unpack == nil || r.IntN(2) == 0 {
		what, b = mangle(r, f.plain, f.ends)
		return what, f.pack(b)
	}
	what, b = mangle(r, f.pack(f.plain), nil)
	return what + " (packed)", b
}

// mangle damages bytes. If the ends of frames are given, it also damages blocks
// and their lengths. Otherwise it damages bytes anywhere.
func mangle(r *rand.Rand, sound []byte, ends []int) (what string, b []byte) {
	b = bytes.Clone(sound)
	at := r.IntN(len(b))
	size := min(1+r.IntN(64), len(b)-at)
	some := make([]byte, size)
	for i := range some {
		some[i] = byte(r.Uint32())
	}
	blocks := [2][2]int{{at, at + size}, {at, at + size}} // equal unless there are frames
	if len(ends) > 2 {
		i := r.IntN(len(ends) - 2)
		j := i + 1 + r.IntN(len(ends)-i-2)
		blocks = [2][2]int{{ends[i], ends[i+1]}, {ends[j], ends[j+1]}}
	}
	x, y := blocks[0], blocks[1]
	switch r.IntN(9) {
	case 0:
		for range 1 + r.IntN(8) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return "flipped bits", b
	case 1:
		return "cut off", b[:at]
	case 2:
		return "put in", slices.Insert(b, at, some...)
	case 3:
		return "taken out", slices.Delete(b, at, at+size)
	case 4:
		copy(b[at:], some)
		return "overwritten", b
	case 5:
		if x[1] > y[0] { // no two frames
			return "block repeated", slices.Insert(b, at, b[x[0]:x[1]]...)
		}
		return "blocks exchanged", slices.Concat(sound[:x[0]], sound[y[0]:y[1]], sound[x[1]:y[0]], sound[x[0]:x[1]], sound[y[1]:])
	case 6:
		return "block repeated", slices.Insert(b, x[1], sound[x[0]:x[1]]...)
	case 7: // in microseconds or seconds: anything from 1970 to beyond year 9999
		for _, block := range blocks {
			at := block[0]
			if b[0] == 0x0a { // pcapng has the upper half first
				at += 12
			}
			if at+8 <= len(b) {
				stamp := r.Uint64() >> r.IntN(64)
				binary.LittleEndian.PutUint32(b[at:], uint32(stamp>>32))
				binary.LittleEndian.PutUint32(b[at+4:], uint32(stamp))
			}
		}
		return "clock changed", b
	}
	// A length is in the header of every block: at 4 or 8, and at 12 and 20.
	extreme := []uint32{0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, 1 << 16, 1 << 18, 1 << 20, 1 << 27}
	if place := x[0] + 4*(1+r.IntN(5)); place+4 <= len(b) {
		binary.LittleEndian.PutUint32(b[place:], extreme[r.IntN(len(extreme))])
		if r.IntN(2) == 0 {
			slices.Reverse(b[place : place+4])
		}
	}
	return "length changed", b
}

// sound returns how many frames stand before the damage in a file.
func (f *damageForm) sound(b []byte) (frames int) {
	size := shared(f.unpacked(b), f.plain)
	for frames < len(f.ends) && f.ends[frames] <= size {
		frames++
	}
	return frames
}

// unpacked returns the capture in a file, as far as it can be unpacked.
func (f *damageForm) unpacked(b []byte) []byte {
	if f.unpack == nil {
		return b
	}
	r, err := f.unpack(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(r, 1<<20)) // as far as it goes
	if err != nil {
		// Unpackers differ in whether the last symbol before a cut comes out.
		const symbol = 258
		out = out[:max(len(out)-symbol, 0)]
	}
	return out
}

// shared returns how many bytes two slices begin with in common.
func shared(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// beginning compares the lines about the first frames with the undamaged file's
// lines, and returns how many there are.
func (f *damageForm) beginning(out string, frames int) (lines int, err error) {
	rest := out
	for _, want := range f.lines {
		var record struct {
			Frame int
			TS    string
		}
		if want == "" {
			break
		}
		if err := json.Unmarshal([]byte(want), &record); err != nil {
			return lines, err
		}
		// Records at the end of the capture have no time.
		if record.Frame > frames || record.TS == "" {
			break
		}
		got, after, _ := strings.Cut(rest, "\n")
		if got+"\n" != want {
			return lines, fmt.Errorf("%d frames are sound, but line %d is %q, want %q", frames, lines+1, got, want)
		}
		rest = after
		lines++
	}
	return lines, nil
}

// A damagedRun is the outcome of a run of the program.
type damagedRun struct {
	command     []string
	status      int // -1 if it did not end by itself
	out, errors string
	memory      int64 // 0 if that is not known
	spent       time.Duration
	hung        bool
}

// exercise runs the program over a file.
func exercise(t *testing.T, program string, command []string, file []byte) *damagedRun {
	t.Helper()
	args := placed(t, command, file)
	if program == "" {
		began := processorTime()
		r := runIn(bytes.NewReader(file), args...)
		return &damagedRun{command: command, status: r.status, out: r.out, errors: r.errors, spent: processorTime() - began}
	}
	ctx, cancel := context.WithTimeout(t.Context(), damageTimeout)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(file), &out, &errs
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, context.DeadlineExceeded) && !cli.IsClosedPipe(err) {
		t.Fatal(err)
	}
	return &damagedRun{
		command: command, status: cmd.ProcessState.ExitCode(), out: out.String(), errors: errs.String(),
		memory: peakMemory(cmd.ProcessState), spent: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), hung: ctx.Err() != nil,
	}
}

// faults lists the violations in a run.
func (r *damagedRun) faults() (faults []string) {
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch {
	case r.hung:
		say("it hangs")
	case r.status == cli.ExitOK, r.status == cli.ExitFailed, r.status == cli.ExitDamaged:
	case r.status == cli.ExitDiffers && slices.Contains([]string{"replay", "conform", "diff"}, r.command[0]):
	case r.status == cli.ExitMalformed && slices.Contains(r.command, "--strict"):
	default:
		say("status %d", r.status)
	}
	lines := strings.SplitAfter(r.errors, "\n")
	if len(lines) > 20 {
		say("%d lines of errors", len(lines))
	}
	for _, l := range lines {
		if r.command[0] == "anonymize" { // its report
			break
		}
		if l != "" && (!strings.HasPrefix(l, "bcdissect: ") || !strings.HasSuffix(l, "\n")) {
			say("an error is %q", l[:min(len(l), 300)])
			break
		}
	}
	if (r.status == cli.ExitFailed || r.status == cli.ExitDamaged) && r.errors == "" {
		say("status %d without an error", r.status)
	}
	if slices.Contains(r.command, "json") {
		for l := range strings.Lines(r.out) {
			if !json.Valid([]byte(l)) || !strings.HasSuffix(l, "\n") {
				say("a line is no JSON: %q", l[:min(len(l), 300)])
				break
			}
		}
	}
	for i := range len(r.out) {
		if c := r.out[i]; c < ' ' && c != '\n' || c == 0x7f {
			say("the output has the control character %#x", c)
			break
		}
	}
	return faults
}
