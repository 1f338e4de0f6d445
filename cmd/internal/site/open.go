package site

import (
	"os/exec"
	"runtime"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// Open opens an address in the browser.
func Open(address string) error {
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
