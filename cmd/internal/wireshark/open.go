package wireshark

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
)

// Open opens captures in Wireshark, deciphered and with all fields, and returns
// when the user has closed it. The arguments are for Wireshark.
func Open(f *cli.Common, s cli.Streams, program string, names, args []string) error {
	path, err := programOf(program, "wireshark")
	if err != nil {
		return cli.Failed(err)
	}
	loads, done, err := loadPlugin(path)
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
	if err := cmd.Start(); err != nil {
		return cli.Failed(fmt.Errorf("%s: %w", path, err))
	}
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

// loadPlugin returns the arguments that make Wireshark load the plugin unless it
// is installed, and a function to call in the end.
func loadPlugin(program string) (args []string, done func(), err error) {
	if p, err := find(program); err == nil {
		if _, err := os.Stat(pluginOf(p)); err == nil {
			return nil, func() {}, nil
		}
	}
	folder, err := os.MkdirTemp("", "bcdissect-*")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(folder) } // a leftover file is not worth an error
	file, err := os.Create(filepath.Join(folder, "bcdissect.lua"))
	if err != nil {
		done()
		return nil, nil, err
	}
	err = Plugin(file)
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return []string{"-X", "lua_script:" + file.Name()}, done, nil
}
