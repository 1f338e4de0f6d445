// Package sample contains a recorded match for users without a capture.
package sample

import (
	_ "embed" // for the match
	"os"
	"path/filepath"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
)

// match is fixtures/captures/field/c15.router.pcap.gz. Its players are scripted
// and in a laboratory network, so it contains no personal data.
//
//go:embed match.pcap.gz
var match []byte

// Write writes the match to a file in a new folder. The function remove removes
// the folder and all files that were saved in it.
func Write() (name string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "bcdissect-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // leftover files do not justify an error
	if name, err = WriteTo(dir); err != nil {
		remove()
		return "", nil, err
	}
	return name, remove, nil
}

// WriteTo writes the match to a file in a folder.
func WriteTo(dir string) (name string, err error) {
	name = filepath.Join(dir, "demo.pcap.gz")
	return name, os.WriteFile(name, match, private.Mode)
}
