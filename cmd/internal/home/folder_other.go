//go:build !windows

package home

import (
	"os"
	"path/filepath"
)

// documents returns the user's documents folder. If there is none, it returns
// the home folder.
func documents() (string, error) {
	own, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	name := filepath.Join(own, "Documents")
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return name, nil
	}
	return own, nil
}
