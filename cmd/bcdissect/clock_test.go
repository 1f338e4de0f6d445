package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// inDir stands for a new folder in the arguments of everyReport.
const inDir = "DIR"

// everyReport are the commands that read a whole capture and write a report, in
// all its forms. The name of the capture goes to their end.
var everyReport = [][]string{
	{"read", "-T", "json"},
	{"read", "-V", "-x"},
	{"read", "-t", "delta"},
	{"read", "-t", "epoch"},
	{"read", "-T", "csv"},
	{"read", "-w", inDir + "/out.pcap", "-F", "pcap"},
	{"stats", "-T", "json"},
	{"stats", "-T", "json", "--strict"},
	{"stats", "--network"},
	{"stats", "--network", "-T", "json"},
	{"session", "--events"},
	{"session", "-T", "json", "--tracks"},
	{"session", "-o", inDir + "/out.html"},
	{"session", "-o", inDir + "/out.acmi"},
	{"measure"},
	{"measure", "-T", "json"},
	{"replay", "-V"},
	{"replay", "-T", "json"},
	{"conform", "--read"},
	{"diff", filepath.Join("..", "..", "fixtures", "captures", "restart.pcap")},
	{"tables", "-T", "csv", inDir + "/tables"},
	{"anonymize", "-w", inDir + "/out.pcapng"},
}

// placed returns the arguments that run a command over a capture: on standard
// input, or for tables in a file.
func placed(t *testing.T, command []string, capture []byte) []string {
	t.Helper()
	args := append(slices.Clone(command), "-")
	if !strings.Contains(strings.Join(command, " "), inDir) {
		return args
	}
	dir := t.TempDir()
	for i := range args {
		args[i] = strings.Replace(args[i], inDir, dir, 1)
	}
	if command[0] == "tables" {
		args[len(args)-1] = filepath.Join(dir, "capture")
		if err := os.WriteFile(args[len(args)-1], capture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return args
}

// allowed returns the processor time that a command may take for a capture. It
// normally takes milliseconds. Work that grows with the times or numbers in the
// capture, and not with its size, would take minutes.
func allowed(size int) time.Duration {
	return 2*time.Second + time.Duration(size)*20*time.Microsecond
}

// withClock returns a capture's frames as pcapng with other times: an equal share
// of the frames begins at each of some seconds, and they are a millisecond apart.
func withClock(pcap []byte, seconds []int64) []byte {
	const year1 = -62135596800
	u32 := binary.LittleEndian.AppendUint32
	out := u32(u32(u32(u32(nil, 0x0A0D0D0A), 28), 0x1A2B3C4D), 1)
	out = u32(u32(u32(out, math.MaxUint32), math.MaxUint32), 28)
	// Times count from year 1 (if_tsoffset), in microseconds.
	out = u32(u32(u32(u32(out, 1), 36), binary.LittleEndian.Uint32(pcap[20:])), 0)
	out = u32(binary.LittleEndian.AppendUint64(u32(out, 8<<16|14), uint64(year1&math.MaxUint64)), 0)
	out = u32(out, 36)
	ends := frameEnds(pcap)
	at := 24
	for i, end := range ends {
		frame := pcap[at+16 : end]
		at = end
		stamp := uint64(seconds[i*len(seconds)/len(ends)]-year1)*1e6 + uint64(i)*1e3
		size := uint32(32 + (len(frame)+3)&^3)
		out = u32(u32(u32(out, 6), size), 0)
		out = u32(u32(out, uint32(stamp>>32)), uint32(stamp))
		out = u32(u32(out, uint32(len(frame))), uint32(len(frame)))
		out = append(out, frame...)
		out = u32(append(out, make([]byte, -len(frame)&3)...), size)
	}
	return out
}

// FuzzClock states that no command minds a clock that is damaged: it ends as with
// any other capture, and takes no more time.
func FuzzClock(f *testing.F) {
	pcap := fixtures.Read(f, "captures/restart.pcap")
	for _, years := range [][]int{
		{2026},                         // a clock that is right
		{2026, 2319},                   // laps of a match were added one at a time
		{2026, 9999, 2026, 9999, 2026}, // the sum of what was skipped became negative
		{9999, 2026, 1, 5000, 1},
		{1, 9999},
		{1677, 1678, 2262, 2263, 1970}, // the ends of 64 bits of nanoseconds
		// Between a message and its copy, in frame 60 of 76: replay's measure of the
		// time that the copy took was negative.
		slices.Concat(slices.Repeat([]int{2026}, 15), slices.Repeat([]int{2426}, 4)),
	} {
		var seconds []byte
		for _, y := range years {
			seconds = binary.BigEndian.AppendUint64(seconds, uint64(time.Date(y, 11, 21, 1, 50, 0, 0, time.UTC).Unix()))
		}
		f.Add(seconds)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var seconds []int64
		for s := range slices.Chunk(b, 8) {
			if len(s) == 8 {
				const year10000 = 253402300800
				seconds = append(seconds, int64(binary.BigEndian.Uint64(s))%year10000)
			}
		}
		if len(seconds) == 0 {
			return
		}
		file := withClock(pcap, seconds)
		for _, command := range everyReport {
			began := processorTime()
			r := runIn(bytes.NewReader(file), placed(t, command, file)...)
			if spent := processorTime() - began; spent > allowed(len(file)) && !raceDetector {
				t.Errorf("%s: %v of processor time", command, spent)
			}
			switch {
			case r.status == cli.ExitOK, r.errors == "" && r.status == cli.ExitDiffers:
			default:
				t.Errorf("%s: status %d, %.300s", command, r.status, r.errors)
			}
			if strings.Contains(strings.Join(command, " "), "json") {
				wellFormed(t, []string{"-T json"}, r.out)
			}
		}
	})
}
