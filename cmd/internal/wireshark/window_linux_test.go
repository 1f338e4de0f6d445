package wireshark

import (
	"bytes"
	"image"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
	xscreen "github.com/bcdissect/bcdissect/fixtures/screen"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// A screen is an X server without a monitor, for an ordinary user with separate
// folders. Wireshark loads no plugins for root.
type screen struct {
	dir     string
	home    string
	display string
}

// newScreen builds the program and its engine, and starts the X server.
func newScreen(t *testing.T) *screen {
	t.Helper()
	fixtures.System(t)
	for _, program := range []string{"wireshark", "tshark", "Xvfb", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	dir, err := os.MkdirTemp("", "bcdissect-window-*") //nolint:usetesting // another user can enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &screen{dir: dir, home: filepath.Join(dir, "home")}
	for _, folder := range []string{dir, s.home} {
		_ = os.Mkdir(folder, 0o755)                     // dir exists
		if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // another user can enter it
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"-o", filepath.Join(dir, "bcdissect"), "../../bcdissect"},
		{"-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(dir, engineName()), "../../engine"},
	} {
		cmd := exec.Command("go", append([]string{"build"}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	x, err := xscreen.New(dir, 1280, 900)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	s.display = x.Display
	return s
}

// end ends a program.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = cmd.Wait()
}

// command returns a command of the ordinary user.
func (s *screen) command(name string, args ...string) *exec.Cmd {
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", name}, args...)
		name = "setpriv"
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+s.home, "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR="+s.home, "DISPLAY="+s.display, "LC_ALL=C.UTF-8")
	return cmd
}

// run runs a command of the ordinary user.
func (s *screen) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := s.command(name, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, said.String())
	}
	return string(out)
}

// picture returns what the screen shows.
func (s *screen) picture(t *testing.T) *image.RGBA {
	t.Helper()
	img, err := xscreen.Picture(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// area is how many pixels have a colour, as 24-bit RGB.
func area(img *image.RGBA, rgb uint32) (n int) {
	for i := 0; i < len(img.Pix); i += 4 {
		if p := img.Pix[i:]; uint32(p[0])<<16|uint32(p[1])<<8|uint32(p[2]) == rgb {
			n++
		}
	}
	return n
}

// timeout is for what the window does, on a busy computer.
const timeout = 3 * time.Minute

// writeCounts writes a script that counts what the plugin shows, and appends a line to
// a file in the user's folder each time that Wireshark has gone through the frames.
func (s *screen) writeCounts(t *testing.T) (script string) {
	t.Helper()
	script = filepath.Join(s.dir, "counts.lua")
	text := `local tap, name, ship = Listener.new("frame", "bc"), Field.new("bc.name"), Field.new("bc.StateUpdate.object_name")
local frames, names, ships = 0, 0, 0
local function sum(all, of)
	for _, f in ipairs({ of() }) do
		for i = 1, #f.value do all = (all * 31 + f.value:byte(i)) % 2147483647 end
	end
	return all
end
function tap.packet() frames, names, ships = frames + 1, sum(names, name), sum(ships, ship) end
function tap.reset() frames, names, ships = 0, 0, 0 end
function tap.draw()
	local f = io.open("` + filepath.Join(s.home, "counts") + `", "a")
	f:write(frames, " ", names, " ", ships, "\n")
	f:close()
end
`
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	return script
}

// counts returns the lines of the script so far.
func (s *screen) counts() []string {
	b, err := os.ReadFile(filepath.Join(s.home, "counts"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// counted returns the last line of the script about a capture in tshark.
func (s *screen) counted(t *testing.T, script, file string) string {
	t.Helper()
	s.run(t, "tshark", "-X", "lua_script:"+script, "-q", "-r", file)
	all := s.counts()
	if err := os.Remove(filepath.Join(s.home, "counts")); err != nil {
		t.Fatal(err)
	}
	return all[len(all)-1]
}

// await waits until the window has gone through the frames after some lines of the
// script, and the plugin has shown what is wanted.
func (s *screen) await(t *testing.T, what, want string, after int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < timeout; time.Sleep(200 * time.Millisecond) {
		if all := s.counts(); len(all) > after && all[len(all)-1] == want {
			return
		}
	}
	t.Errorf("%s: the plugin shows %q, want %s", what, s.counts(), want)
}

// key presses keys in the window whose title contains a text.
func (s *screen) key(t *testing.T, title string, keys ...string) {
	t.Helper()
	var all []string
	for began := time.Now(); len(all) == 0 && time.Since(began) < timeout; time.Sleep(500 * time.Millisecond) {
		found, _ := s.command("xdotool", "search", "--onlyvisible", "--name", title).Output() // it fails while there is none
		all = strings.Fields(string(found))
	}
	if len(all) == 0 {
		t.Fatalf("no window %s", title)
	}
	s.run(t, "xdotool", append([]string{"windowfocus", all[len(all)-1]}, keys...)...)
}

// An unannotated capture opens in the window with the installed profile, and
// all of its datagrams belong to the game. All counts are equal without the
// plugin.
func TestWindow(t *testing.T) {
	s := newScreen(t)
	file := fixtures.Path("captures/battle_mix.pcap.gz")
	program := filepath.Join(s.dir, "bcdissect")
	profile := []string{"-C", wireshark.ProfileName, "-r", file}
	statistics := []string{"-r", file, "-q", "-z", "conv,udp", "-z", "io,stat,10", "-z", "plen,tree", "-z", "endpoints,ip"}
	without := s.run(t, "tshark", statistics...)
	if out := s.run(t, program, "wireshark", "install"); !strings.Contains(out, "engine     installed") {
		t.Fatalf("install says %s", out)
	}
	if with := s.run(t, "tshark", append([]string{"-n"}, statistics...)...); with != without {
		t.Errorf("lengths, conversations or graphs differ: %s", with)
	}
	const datagrams = 13272 // 13,090 of the game and 182 of GameSpy: battle_mix.truth.json
	list := strings.Fields(s.run(t, "tshark", append(profile, "-T", "fields", "-e", "frame.protocols")...))
	if slices.Sort(list); len(list) != datagrams || list[0] != "eth:ethertype:ip:udp:bc" || list[len(list)-1] != list[0] {
		t.Errorf("%d frames, from %s to %s", len(list), list[0], list[len(list)-1])
	}

	counts := s.writeCounts(t)
	other := fixtures.Path("captures/stock_client.pcap")
	first, second := s.counted(t, counts, file), s.counted(t, counts, other)
	window := s.command("wireshark", append([]string{"-X", "lua_script:" + counts}, profile...)...)
	if err := window.Start(); err != nil {
		t.Fatal(err)
	}
	defer end(window)
	colours := []uint32{0xE1F5FE, 0xA5D6A7, 0xDCEDC8} // colours of GameSpy, joining and file messages, which are in the first frames
	shown := func() *image.RGBA {
		img := s.picture(t)
		for _, c := range colours {
			if area(img, c) < 2000 {
				return nil
			}
		}
		return img
	}
	var img *image.RGBA
	for began := time.Now(); img == nil && time.Since(began) < timeout; time.Sleep(500 * time.Millisecond) {
		img = shown()
	}
	if img == nil {
		img = s.picture(t)
		t.Error("the window does not show the game's frames in the profile's colours")
	}
	if to := os.Getenv("BCDISSECT_SCREENSHOT"); to != "" {
		var b bytes.Buffer
		_ = png.Encode(&b, img)
		_ = os.WriteFile(to, b.Bytes(), 0o644) //nolint:gosec // for people
	}
	// A capture that is loaded again and one that is opened next are shown as in tshark.
	s.await(t, "opened", first, 0)
	if _, err := exec.LookPath("xdotool"); err != nil {
		t.Log("no capture is opened next: xdotool is not installed")
	} else {
		n := len(s.counts())
		s.key(t, "battle_mix", "key", "ctrl+r")
		s.await(t, "loaded again", first, n)
		n = len(s.counts())
		s.key(t, "battle_mix", "key", "ctrl+o")
		s.key(t, "Open Capture File", "type", other)
		s.key(t, "Open Capture File", "key", "Return")
		s.await(t, "opened next", second, n)
	}
	end(window)

	s.run(t, program, "wireshark", "uninstall")
	_ = filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); err == nil && (strings.Contains(name, "bcdissect") || name == wireshark.ProfileName) {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}
