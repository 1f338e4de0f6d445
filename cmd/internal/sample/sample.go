// Package sample holds a recorded match for people who have no capture yet.
package sample

import (
	_ "embed" // for the match
	"os"
	"path/filepath"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
)

// match is fixtures/captures/field/c15.router.pcap.gz: scripted players in
// a laboratory network, so that it holds nobody's name or address.
//
//go:embed match.pcap.gz
var match []byte

// Write writes the match to a file in a new folder. Remove removes both, with all
// that was saved next to the file.
func Write() (name string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "bcdissect-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // leftover files are not worth an error
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
