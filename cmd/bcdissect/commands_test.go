package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// BenchmarkCommands runs whole commands over a battle of 13,272 packets. "make
// profile" takes the profile of release builds from it.
func BenchmarkCommands(b *testing.B) {
	packed, err := gzip.NewReader(bytes.NewReader(fixtures.Read(b, "captures/battle_mix.pcap.gz")))
	if err != nil {
		b.Fatal(err)
	}
	capture, err := io.ReadAll(packed)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "battle_mix.pcap")
	if err := os.WriteFile(file, capture, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, command := range []string{
		"stats", "stats -j 2", "read", "read -V", "read -T json", "read -T json --verify",
		"read -T csv -e frame -e StateUpdate.speed", "read -Y player==1&&StateUpdate.speed>1",
		"session -T json", "replay --only content",
	} {
		b.Run(strings.ReplaceAll(command, " ", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(capture)))
			args := append(strings.Fields(command), file)
			if !strings.Contains(command, "-j") && strings.HasPrefix(command, "read") {
				args = append(args, "-j", "1")
			}
			for b.Loop() {
				var errs bytes.Buffer
				code := run(args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
				if code != cli.ExitOK {
					b.Fatalf("bcdissect %s: exit status %d: %s", command, code, errs.String())
				}
			}
		})
	}
}
