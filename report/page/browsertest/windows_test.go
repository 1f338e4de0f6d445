package browsertest

import (
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A desktop is wine's Explorer with the folder of the program for Windows on a screen
// of its own.
type desktop struct {
	t      *testing.T
	folder string // as this system names it
	env    []string
}

// newDesktop opens a folder with the program and a capture. A stand-in takes the
// place of the browser, and captures are opened with the program: that gives it the
// same command line as a capture that is dropped on it.
func newDesktop(t *testing.T, program string, b browserStandIn) *desktop {
	t.Helper()
	const display = ":97"
	d := &desktop{t, filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", "bc"), append(os.Environ(), "DISPLAY="+display)}
	screen := exec.Command("Xvfb", display, "-screen", "0", "1024x768x24")
	if err := screen.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = screen.Process.Kill() // the test is over
		_ = screen.Wait()
	})
	for from, to := range map[string]string{program: "bcdissect.exe", fixture("stock_client.pcap"): "match.pcap"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(d.folder, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(d.folder, to), text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range [][]string{
		{`HKCU\Software\Wine\WineBrowser`, "/v", "Browsers", "/d", filepath.Join(b.dir, "browser")},
		{`HKCR\.html`, "/ve", "/d", "htmlfile"},
		{`HKCR\.pcap`, "/ve", "/d", "bccapture"},
		{`HKCR\bccapture\shell\open\command`, "/ve", "/d", `"C:\bc\bcdissect.exe" "%1"`},
	} {
		d.run("wine", append([]string{"reg", "add", key[0], "/f"}, key[1:]...)...)
	}
	explorer := exec.Command("wine", "explorer", `C:\bc`)
	explorer.Env = d.env
	if err := explorer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.run("wine", "taskkill", "/f", "/im", "explorer.exe")
		_ = explorer.Wait() // it was killed
	})
	return d
}

// run runs a program on the desktop, and returns what it prints.
func (d *desktop) run(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env = d.env
	out, _ := cmd.Output() // what it prints tells more than its status
	return strings.TrimSpace(string(out))
}

// window waits until a window is there, or is gone, and returns its id.
func (d *desktop) window(name string, there bool) (id string) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if id = d.run("xdotool", "search", "--onlyvisible", "--name", name); (id != "") == there {
			return id
		}
	}
	d.t.Fatalf("%s: a window: %v", name, !there)
	return ""
}

// open double-clicks a row of the folder, until the program's console appears.
func (d *desktop) open(row string) (console string) {
	d.t.Helper()
	folder := d.window(`^bc$`, true)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		d.run("xdotool", "mousemove", "--window", folder, "200", row, "click", "--repeat", "2", "--delay", "80", "1")
		for range 50 {
			if console = d.run("xdotool", "search", "--onlyvisible", "--name", `bcdissect\.exe$`); console != "" {
				return console
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	d.t.Fatal("a double click opens no console")
	return ""
}

// close presses Ctrl-C in the console, which ends the program and closes the window.
func (d *desktop) close(console string) {
	d.t.Helper()
	d.run("xdotool", "windowfocus", console, "key", "--window", console, "ctrl+c")
	d.window(`bcdissect\.exe$`, false)
}

// visitPage opens the page that the browser was started with.
func (d *desktop) visitPage(b browserStandIn, arrived string) *homePage {
	d.t.Helper()
	p := &homePage{visit: &visit{tab: newTab(d.t, 1280, 900)}}
	p.goTo(b.address(d.t), arrived)
	if err := os.Remove(filepath.Join(b.dir, "opened")); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// The rows of the program and of the capture in the Explorer's window.
const (
	programRow = "84"
	captureRow = "100"
)

// TestWindowsHome double-clicks the program in wine's Explorer. Its page records a match of
// two bots on a host of this system. Then a capture is opened with the program.
func TestWindowsHome(t *testing.T) {
	program := os.Getenv("BCDISSECT_EXE")
	if program == "" {
		t.Skip("BCDISSECT_EXE does not name the program for Windows: \"make windows-home\" runs this")
	}
	b := newStandIn(t, "browser")
	d := newDesktop(t, program, b)
	console := d.open(programRow)
	p := d.visitPage(b, atHome)
	d.picture("home-console.png", console)
	p.snap("home.png")
	p.record(game(t))
	p.snap("home-recording.png")
	p.press("#stop", shown)
	p.watched()
	p.view("match")
	p.snap("home-match.png")
	d.close(console)

	console = d.open(captureRow)
	q := d.visitPage(b, shown)
	if got := eval[string](q.tab, `document.querySelector(".bars .title").textContent`); got != "match.pcap" {
		t.Errorf("%q is open", got)
	}
	q.view("messages")
	d.close(console)
}

// picture writes a picture of a window for the documents, if they are wanted.
func (d *desktop) picture(name, window string) {
	d.t.Helper()
	folder := os.Getenv("BCDISSECT_PICTURES")
	if folder == "" {
		return
	}
	time.Sleep(time.Second) // the console draws
	cmd := exec.Command("import", "-window", window, filepath.Join(folder, name))
	cmd.Env = d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
}

// snap writes a picture of the page for the documents, if they are wanted.
func (p *homePage) snap(name string) {
	p.t.Helper()
	if folder := os.Getenv("BCDISSECT_PICTURES"); folder != "" {
		var b bytes.Buffer
		err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, paletted(p.picture())[0])
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), b.Bytes(), 0o644)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}
