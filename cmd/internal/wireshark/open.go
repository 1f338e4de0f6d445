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
	"slices"
	"strings"
	"syscall"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// Open opens captures in Wireshark, deciphered and with all fields. It returns
// when the user has closed Wireshark. The arguments args are for Wireshark.
func Open(f *cli.Common, s cli.Streams, program string, names, args []string) error {
	if _, err := f.Config(); err != nil { // report errors before a window opens
		return err
	}
	path, err := programOf(program, "wireshark")
	if err != nil {
		return cli.Failed(err)
	}
	if kind := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".exe")); kind == "tshark" {
		return cli.Failed(fmt.Errorf("--program %s: tshark has no window; name a wireshark, or use read -w FILE --annotate", program))
	}
	loads, engine, done, err := load(s.Err, path)
	if err != nil {
		return cli.Failed(err)
	}
	defer done()
	asRoot(s.Err)
	switch {
	case engine && itself(f, names):
		return openFile(f, s, path, names[0], append(loads, args...))
	case engine && !slices.Contains(names, "-"):
		return openSelection(f, s, path, names, append(loads, args...))
	}
	cmd := exec.Command(path, append(append([]string{"-k", "-i", "-"}, loads...), args...)...)
	cmd.Stdout, cmd.Stderr = s.Err, s.Err
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return cli.Failed(err)
	}
	stop, err := start(cmd)
	if err != nil {
		return err
	}
	defer stop()
	to := s
	to.Out = pipe
	err = reading.For("Wireshark").Captures(f, to, names, nil)
	if e := pipe.Close(); e != nil && err == nil {
		err = cli.Failed(e)
	}
	ended := cmd.Wait()
	if cli.IsClosedPipe(err) || errors.Is(err, os.ErrClosed) { // the user closed Wireshark early
		err = nil
	}
	if status := (*exec.ExitError)(nil); err == nil && errors.As(ended, &status) {
		return cli.Failed(fmt.Errorf("%s: %w", path, ended))
	}
	return err
}

// start starts Wireshark, and passes signals to it, so that it ends and the plugin is
// removed. The returned function stops this.
func start(cmd *exec.Cmd) (stop func(), err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // first, since a signal would end this program and leave the plugin
	if err := cmd.Start(); err != nil {
		signal.Stop(signals)
		return nil, cli.Failed(fmt.Errorf("%s: %w", cmd.Path, err))
	}
	go func() {
		defer cli.Guard()
		for sig := range signals {
			if cmd.Process.Signal(sig) != nil {
				_ = cmd.Process.Kill() // fails if it has already ended
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}, nil
}

// itself reports whether Wireshark can open the captures directly: a single
// file in a format that it knows, of which all frames are selected.
func itself(f *cli.Common, names []string) bool {
	if len(names) != 1 || !f.All || f.Count > 0 || f.Clear() {
		return false
	}
	info, err := os.Stat(names[0])
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	src, err := capture.OpenAll(names, nil)
	if err != nil {
		return false
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	d, err := src.Next()
	return err == nil && d.WireLen > 0 // logs have no frames
}

// openFile opens an unchanged capture, which the engine decodes.
func openFile(f *cli.Common, s cli.Streams, path, name string, args []string) error {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	args = append([]string{"-r", name}, args...)
	if len(cfg.Ports) > 0 {
		args = append(args, "-o", "bc.ports:"+strings.Trim(strings.ReplaceAll(fmt.Sprint(cfg.Ports), " ", ","), "[]"))
	}
	switch cfg.Dialect { //nolint:exhaustive // else it is recognised
	case decode.Stock:
		args = append(args, "-o", "bc.dialect:Original game")
	case decode.OpenBC:
		args = append(args, "-o", "bc.dialect:OpenBC")
	}
	return run(f, s, path, args)
}

// openSelection writes the selected frames with annotations to a temporary
// capture and opens it. The name of the file tells where the frames are from.
func openSelection(f *cli.Common, s cli.Streams, path string, names, args []string) error {
	folder, err := os.MkdirTemp("", "bcdissect-*")
	if err != nil {
		return cli.Failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a leftover file does not justify an error
	title, _, _ := strings.Cut(filepath.Base(names[0]), ".")
	if len(names) > 1 {
		title += fmt.Sprintf(" and %d more", len(names)-1)
	}
	name := filepath.Join(folder, title+" (selection).pcapng")
	file, err := os.Create(name)
	if err != nil {
		return cli.Failed(err)
	}
	to := s
	to.Out = file
	err = reading.For("Wireshark").Captures(f, to, names, nil)
	if e := file.Close(); e != nil && err == nil {
		err = cli.Failed(e)
	}
	if err != nil && cli.StatusOf(err) != cli.ExitDamaged { // frames before the damage are shown
		return err
	}
	if shown := run(f, s, path, append([]string{"-r", name}, args...)); shown != nil {
		return shown
	}
	return err
}

// run runs Wireshark until the user closes it.
func run(f *cli.Common, s cli.Streams, path string, args []string) error {
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = s.Err, s.Err
	if len(f.Defined) > 0 {
		cmd.Env = append(os.Environ(), "BCDISSECT_DEFINE="+strings.Join(f.Defined, "\n"))
	}
	stop, err := start(cmd)
	if err != nil {
		return err
	}
	defer stop()
	if err := cmd.Wait(); err != nil {
		return cli.Failed(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// load returns arguments that make Wireshark load the plugin. If the plugin is
// installed, the arguments choose the installed profile instead. It also
// reports whether the plugin has its engine. The caller must call done at the
// end.
func load(say io.Writer, program string) (args []string, engine bool, done func(), err error) {
	var plugin bytes.Buffer
	if err := Plugin(&plugin); err != nil {
		return nil, false, nil, err
	}
	library := ""
	if own, err := os.Executable(); err == nil {
		library = engineOf(own)
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
			engine, err := os.Stat(filepath.Join(p.plugins, engineName()))
			return args, err == nil && engine.Mode().IsRegular(), func() {}, nil
		}
	}
	folder, err := os.MkdirTemp("", "bcdissect-*")
	if err != nil {
		return nil, false, nil, err
	}
	done = func() { _ = os.RemoveAll(folder) } // a leftover file does not justify an error
	plugin.Reset()
	if err := wireshark.Plugin(&plugin, cli.Version(), library); err != nil {
		done()
		return nil, false, nil, err
	}
	name := filepath.Join(folder, "bcdissect.lua")
	if err := os.WriteFile(name, plugin.Bytes(), 0o600); err != nil {
		done()
		return nil, false, nil, err
	}
	return []string{"-X", "lua_script:" + name}, library != "", done, nil
}
