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

// handOver returns the argument for the program that opens the browser. Every
// user of the computer can see the arguments of programs. If an address has a
// secret after its #, handOver writes the address to a file that only its owner
// can read, and returns the name of the file. The function remove removes the
// file.
func handOver(address string) (argument string, remove func(), err error) {
	if !strings.Contains(address, "#") {
		return address, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "bcdissect-") // only the owner can read it
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) } // a leftover file does not justify an error
	argument = filepath.Join(folder, "open.html")
	const page = "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0; url=%s\"><title>bcdissect</title>\n"
	if err := os.WriteFile(argument, fmt.Appendf(nil, page, html.EscapeString(address)), 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return argument, remove, nil
}

// Open opens an address in the browser. Call the returned function when the
// page is no longer served. It removes temporary files.
func Open(address string) (remove func(), err error) {
	argument, remove, err := handOver(address)
	if err != nil {
		return func() {}, err
	}
	return remove, Start(argument)
}

// Start opens a page, a file or a folder with the user's program for it.
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
	go func() { // some of these programs run as long as the browser
		defer cli.Guard()
		_ = cmd.Wait()
	}()
	return nil
}
