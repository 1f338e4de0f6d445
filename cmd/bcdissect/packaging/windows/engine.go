package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mingw is the C compiler for Windows.
const mingw = "x86_64-w64-mingw32-gcc"

// A build is the engine and its host program for one system.
type build struct {
	folder string
	env    []string
	cc     string
	engine string
	parts  map[string][]string // files of the host program, with compiler flags for each
	run    []string            // command that runs the host program
}

// tryEngine builds the engine for Wireshark for Windows and for this system. It
// passes the datagrams of a capture to both and compares their answers. The
// host program replaces Wireshark and its Lua.
func tryEngine(env []string, wine, dir string) error {
	if found, _ := exec.LookPath(mingw); found == "" {
		log.Printf("the engine for Wireshark is not tried: %s (Debian's package is gcc-mingw-w64-x86-64) is not installed", mingw)
		return nil
	}
	here := build{
		folder: filepath.Join(dir, "here"), env: append(os.Environ(), "CGO_ENABLED=1"), cc: "gcc", engine: "bcdissect-engine.so",
		parts: map[string][]string{"host": {"-rdynamic", "-DLUA", "-DTVB", "-DMAIN", "-ldl"}}, run: []string{"./host"},
	}
	there := build{
		folder: filepath.Join(dir, "there"), env: append(env[:len(env):len(env)], "CGO_ENABLED=1", "CC="+mingw), cc: mingw, engine: "bcdissect-engine.dll",
		parts: map[string][]string{"lua54.dll": {"-shared", "-DLUA"}, "libwireshark.dll": {"-shared", "-DTVB"}, "host.exe": {"-DMAIN"}},
		run:   []string{wine, "host.exe"},
	}
	want, err := here.answers()
	if err != nil {
		return err
	}
	got, err := there.answers()
	if err != nil {
		return err
	}
	const least = 600 // minimum number of answers for 345 datagrams, each passed twice
	if n := strings.Count(want, "\n"); n < least {
		return fmt.Errorf("the engine gives %d answers", n)
	}
	if got != want {
		return errors.New("the engine gives other answers under wine")
	}
	log.Print("the engine for Wireshark gives the same answers under wine")
	return nil
}

// answers builds the engine and its host program, and returns the output of the
// host program.
func (b *build) answers() (string, error) {
	if err := os.MkdirAll(b.folder, 0o755); err != nil {
		return "", err
	}
	if err := quiet(b.env, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(b.folder, b.engine), "./cmd/engine"); err != nil {
		return "", err
	}
	for name, flags := range b.parts {
		args := append([]string{"-o", filepath.Join(b.folder, name), "cmd/engine/testdata/host.c"}, flags...)
		if err := quiet(b.env, b.cc, args...); err != nil {
			return "", err
		}
	}
	capture, err := os.ReadFile("fixtures/captures/stock_client.pcap")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(b.folder, "capture.pcap"), capture, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command(b.run[0], append(b.run[1:len(b.run):len(b.run)], "./"+b.engine, "capture.pcap")...)
	cmd.Dir, cmd.Env = b.folder, b.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd.Args, err, said.Bytes())
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n"), nil
}
