package sample

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// The match is a fixture, whose origin the manifest tells, and small.
func TestMatch(t *testing.T) {
	if !bytes.Equal(match, fixtures.Read(t, "captures/field/c15.router.pcap.gz")) {
		t.Error("the match is another one than fixtures/captures/field/c15.router.pcap.gz")
	}
	if len(match) > 300_000 {
		t.Errorf("the match takes %d bytes in each program", len(match))
	}
}

func TestWrite(t *testing.T) {
	name, remove, err := Write()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, match) {
		t.Errorf("%s: %d bytes, %v", name, len(b), err)
	}
	if err := os.WriteFile(name+".marks.json", nil, 0o600); err != nil {
		t.Error(err)
	}
	remove()
	if _, err := os.Stat(filepath.Dir(name)); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
