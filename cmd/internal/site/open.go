package site

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// handOver returns the argument for the program that starts the browser, and a function
// that removes what it leads to. Every user of the computer sees arguments of programs,
// so an address with a secret, which is behind its #, is in a file that only its owner
// can read.
func handOver(address string) (argument string, remove func(), err error) {
	if !strings.Contains(address, "#") {
		return address, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "bcdissect-") // for its owner only
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) } // a leftover file is not worth an error
	argument = filepath.Join(folder, "open.html")
	const page = "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0; url=%s\"><title>bcdissect</title>\n"
	if err := os.WriteFile(argument, fmt.Appendf(nil, page, html.EscapeString(address)), 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return argument, remove, nil
}

// Open opens an address in the browser. The returned function, to be called when the
// page is served no more, removes the file that led there.
func Open(address string) (remove func(), err error) {
	argument, remove, err := handOver(address)
	if err != nil {
		return func() {}, err
	}
	return remove, Start(argument)
}

// Start has the system open a page, a file or a folder with the user's program for it.
func Start(address string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	case "darwin":
		cmd = exec.Command("open", address)
	default:
		cmd = exec.Command("xdg-open", address)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // some stay as long as the browser
		defer cli.Guard()
		_ = cmd.Wait()
	}()
	return nil
}
