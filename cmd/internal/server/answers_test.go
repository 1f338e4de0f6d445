package server

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// The answers equal the ones in the original game's join in the protocol
// reference, section 19.2, if the list has their hashes.
func TestLoadAnswers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "files.txt")
	load := func(text string) (map[uint8]*msg.ChecksumResponse, error) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadAnswers(name)
	}
	answers, err := load("F8A0A768 scripts/App.pyc\n# comment\n17930049 scripts\\Autoexec.pyc\n" +
		"12345678 scripts/ships/Akira.pyc\n9ABCDEF0 scripts/ships/Hardpoints/akira.pyc\nB831D315 scripts/ships/\n")
	if err != nil || len(answers) != 3 {
		t.Fatal(len(answers), err)
	}
	for round, want := range map[uint8]string{
		0: "210043e20c7e2fcbaf4d010077b63e3768a7a0f800",
		1: "21012fcbaf4d0100a1e601854900931700",
		2: "2102" + "15d331b8" + "0100" + "ba3eb23e" + "78563412" + "01" + "d4fdafca" + "0100" + "f5cd8f5d" + "f0debc9a" + "00",
	} {
		b, err := decode.Append(nil, msg.Catalog().Lookup(msg.OpChecksumResponse), answers[round], decode.Stock)
		got := hex.EncodeToString(b)
		if round == 2 { // the hash of the name akira.pyc is not published
			got, want = got[:46]+got[54:], want[:46]+want[54:]
		}
		if err != nil || got != want {
			t.Errorf("round %d: got %s, want %s, %v", round, got, want, err)
		}
	}
	for text, want := range map[string]string{
		"":                                "it has no hashes; write lines such as F8A0A768 scripts/App.pyc",
		"F8A0A768 scripts/Other.pyc":      "line 1: scripts/Other.pyc: the game asks for no such file",
		"F8A0A768 elsewhere/App.pyc":      "the game asks for no such file",
		"nonsense":                        "want a hash and a path",
		"F8A0A768 scripts/App.pyc\nX Y Z": "line 2: ",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := os.WriteFile(name, []byte("C017D1C4 scripts/ships/"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadChecksums(name); err == nil || !strings.Contains(err.Error(), "a directory") {
		t.Errorf("a host takes the hash of a directory: %v", err)
	}
}
