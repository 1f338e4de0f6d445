package wireshark

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// Open opens captures in Wireshark, deciphered and with all fields, and returns
// when the user has closed it. The arguments are for Wireshark.
func Open(f *cli.Common, s cli.Streams, program string, names, args []string) error {
	if _, err := f.Config(); err != nil { // before a window opens
		return err
	}
	path, err := programOf(program, "wireshark")
	if err != nil {
		return cli.Failed(err)
	}
	if kind := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".exe")); kind == "tshark" {
		return cli.Failed(fmt.Errorf("--program %s: tshark has no window; name a wireshark, or use read -w FILE --annotate", program))
	}
	loads, done, err := load(s.Err, path)
	if err != nil {
		return cli.Failed(err)
	}
	defer done()
	asRoot(s.Err)
	cmd := exec.Command(path, append(append([]string{"-k", "-i", "-"}, loads...), args...)...)
	cmd.Stdout, cmd.Stderr = s.Err, s.Err
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return cli.Failed(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer close(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return cli.Failed(fmt.Errorf("%s: %w", path, err))
	}
	go func() { // Wireshark ends, and then the plugin is removed
		defer cli.Guard()
		for sig := range signals {
			if cmd.Process.Signal(sig) != nil {
				_ = cmd.Process.Kill() // it has ended if that fails
			}
		}
	}()
	to := s
	to.Out = pipe
	err = reading.For("Wireshark").Captures(f, to, names, nil)
	if e := pipe.Close(); e != nil && err == nil {
		err = cli.Failed(e)
	}
	ended := cmd.Wait()
	if cli.IsClosedPipe(err) || errors.Is(err, os.ErrClosed) { // it was closed early
		err = nil
	}
	if status := (*exec.ExitError)(nil); err == nil && errors.As(ended, &status) {
		return cli.Failed(fmt.Errorf("%s: %w", path, ended))
	}
	return err
}

// load returns the arguments that make Wireshark load the plugin, or choose the
// profile if they are installed, and a function to call in the end.
func load(say io.Writer, program string) (args []string, done func(), err error) {
	var plugin bytes.Buffer
	if err := Plugin(&plugin); err != nil {
		return nil, nil, err
	}
	if p, err := find(program); err == nil {
		installed := artefact{path: pluginOf(p), content: plugin.Bytes()}
		if _, err := os.Stat(installed.path); err == nil {
			if !installed.is() {
				fmt.Fprintf(say, "bcdissect: the plugin in your folders is of another version; 'bcdissect wireshark install' updates it\n")
			}
			if _, err := os.Stat(profileOf(p)); err == nil {
				args = []string{"-C", wireshark.ProfileName}
			}
			return args, func() {}, nil
		}
	}
	folder, err := os.MkdirTemp("", "bcdissect-*")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(folder) } // a leftover file is not worth an error
	name := filepath.Join(folder, "bcdissect.lua")
	if err := os.WriteFile(name, plugin.Bytes(), 0o600); err != nil {
		done()
		return nil, nil, err
	}
	return []string{"-X", "lua_script:" + name}, done, nil
}
