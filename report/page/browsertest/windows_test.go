package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bcdissect/bcdissect/fixtures/screen"
)

// A desktop is wine's Explorer on its own screen, with the folder of the
// program for Windows.
type desktop struct {
	t      *testing.T
	folder string // as this system names it
}

// newDesktop opens a folder. A stand-in takes the place of the browser.
func newDesktop(t *testing.T, folder string, b browserStandIn) *desktop {
	t.Helper()
	d := &desktop{t, folder}
	d.register(`HKCU\Software\Wine\WineBrowser`, "/v", "Browsers", "/d", filepath.Join(b.dir, "browser"))
	d.register(`HKCR\.html`, "/ve", "/d", "htmlfile")
	explorer := exec.Command("wine", "explorer", windowsPath(folder))
	if err := explorer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.run("wine", "taskkill", "/f", "/im", "explorer.exe")
		_ = explorer.Wait() // it was killed
	})
	return d
}

// newHomeDesktop opens a folder with the program and a capture. Captures are opened with
// the program: that gives it the same command line as a capture that is dropped on it.
func newHomeDesktop(t *testing.T, program string, b browserStandIn) *desktop {
	t.Helper()
	folder := unixPath(`C:\bc`)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{program: "bcdissect.exe", fixture("stock_client.pcap"): "match.pcap", fixture("restart.pcap"): "several.drops"} {
		copyFile(t, from, filepath.Join(folder, to))
	}
	d := newDesktop(t, folder, b)
	d.register(`HKCR\.pcap`, "/ve", "/d", "bccapture")
	d.register(`HKCR\.drops`, "/ve", "/d", "bcdrops")
	d.register(`HKCR\bccapture\shell\open\command`, "/ve", "/d", `"C:\bc\bcdissect.exe" "%1"`)
	return d
}

// register adds a value to the registry.
func (d *desktop) register(key string, value ...string) {
	d.run("wine", append([]string{"reg", "add", key, "/f"}, value...)...)
}

// run runs a program on the desktop, and returns what it prints.
func (d *desktop) run(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // a window with an error may wait for a user
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // a program that it starts goes on with its output
	out, _ := cmd.Output()      // more useful than the exit status
	return strings.TrimSpace(string(out))
}

// consoleTitle matches the title of the program's console.
const consoleTitle = `bcdissect\.exe$`

// appears waits until a window is there, or is gone, and returns its id.
func (d *desktop) appears(name string, there bool, within time.Duration) (id string, ok bool) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if id = d.run("xdotool", "search", "--onlyvisible", "--name", name); (id != "") == there {
			return id, true
		}
	}
	return "", false
}

// window waits until a window is there, or is gone, and returns its id.
func (d *desktop) window(name string, there bool) (id string) {
	d.t.Helper()
	id, ok := d.appears(name, there, patience)
	if !ok {
		d.t.Fatalf("%s: a window: %v; the windows are:\n%s", name, !there, d.run("sh", "-c", "xdotool search --onlyvisible --name . | while read -r w; do xdotool getwindowname $w; done"))
	}
	return id
}

// open double-clicks a row of the folder, and returns the program's console.
func (d *desktop) open(row int) (console string) {
	d.t.Helper()
	folder := d.window("^"+filepath.Base(d.folder)+"$", true)
	const left, right, high = 20, 300, 6 // where the row's name is, from the middle of the row
	var before []byte
	since := time.Now()
	d.shows(folder, "the file's name", func(img image.Image) bool { // and nothing new, or it may miss the mouse
		if now := img.(*image.RGBA).Pix; !bytes.Equal(now, before) {
			before, since = slices.Clone(now), time.Now()
		}
		at := img.Bounds().Min
		return dark(img, image.Rect(left, row-high, right, row+high).Add(at)) > 0 && time.Since(since) > time.Second/2
	})
	for tries := 0; tries == 0 || tries < 3 && !runs("bcdissect.exe"); tries++ { // the folder may miss a click while a console closes
		d.run("xdotool", "windowfocus", folder, "mousemove", "--window", folder, "200", strconv.Itoa(row), "click", "--repeat", "2", "--delay", "80", "1", "mousemove", "1000", "700")
		if id, there := d.appears(consoleTitle, true, 20*time.Second); there {
			return id
		}
	}
	return d.window(consoleTitle, true)
}

// runs reports whether a process has a name: on a busy machine, a program may have
// started long before its window appears.
func runs(name string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.TrimSpace(string(text)) == name
	})
}

// close leaves the page, which would say that the program has ended, and presses Ctrl-C in
// the console, which ends the program and closes the window.
func (d *desktop) close(p *homePage, console string) {
	d.t.Helper()
	p.do(chromedp.Navigate("about:blank"))
	for range 5 { // a window that has only just got the focus may miss a key
		d.run("xdotool", "windowfocus", console, "key", "--window", console, "ctrl+c")
		if _, gone := d.appears(consoleTitle, false, 10*time.Second); gone {
			return
		}
	}
	d.window(consoleTitle, false)
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

// TestWindowsInstalled starts the installed program from the Start menu, and a capture with
// what the installer has registered.
func TestWindowsInstalled(t *testing.T) {
	menu := os.Getenv("BCDISSECT_MENU")
	if menu == "" {
		t.Skip("BCDISSECT_MENU does not name the folder in the Start menu: the test of the installer runs this")
	}
	b := newStandIn(t, "browser")
	d := newDesktop(t, menu, b)
	console := d.open(firstRow)
	d.close(d.visitPage(b, atHome), console)

	const recording = `C:\Größe 日本.pcapng`
	copyFile(t, fixture("stock_client.pcap"), unixPath(recording))
	d.run("wine", "start", "/progIDOpen", "bcdissect.capture", recording)
	console = d.window(consoleTitle, true)
	p := d.visitPage(b, shown)
	p.titled("Größe 日本.pcapng", "stock_client.pcap")
	d.close(p, console)
	if err := os.Remove(unixPath(recording)); err != nil {
		t.Error(err)
	}
}

// The rows of the program, of the capture and of drops in the Explorer's window.
const (
	firstRow   = 84
	programRow = firstRow
	captureRow = 100
	dropsRow   = 116
)

// drop starts the program as Explorer does when files and folders are dropped on it:
// with the path of each, in quotes if it has a space. Wine's Explorer has no such drops,
// so the command line belongs to a file, which is double-clicked.
func (d *desktop) drop(paths ...string) (console string) {
	d.t.Helper()
	command := `C:\bc\bcdissect.exe`
	for _, path := range paths {
		if strings.Contains(path, " ") {
			path = `"` + path + `"`
		}
		command += " " + path
	}
	d.register(`HKCR\bcdrops\shell\open\command`, "/ve", "/d", command)
	return d.open(dropsRow)
}

// unixPath returns a path of Windows as this system names it.
func unixPath(path string) string {
	return filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", strings.ReplaceAll(strings.TrimPrefix(path, `C:\`), `\`, "/"))
}

// windowsPath is the reverse of unixPath.
func windowsPath(path string) string {
	return `C:\` + strings.ReplaceAll(strings.TrimPrefix(path, filepath.Join(os.Getenv("WINEPREFIX"), "drive_c")+"/"), "/", `\`)
}

// joinedParts is the name that the page gives to the parts of a recording.
const joinedParts = "a_00001_20261124200000 and 1 more.pcapng"

// makeParts writes two parts of one recording to a folder, with the names of a ring buffer's
// files, and returns their paths.
func makeParts(t *testing.T, folder string) [2]string {
	t.Helper()
	names := [2]string{`\a_00001_20261124200000.pcapng`, `\a_00002_20261124200100.pcapng`}
	for i, frames := range []string{"1-2000", "2001-"} {
		names[i] = folder + names[i]
		program(t, "read", fixture("networked_battle.pcap"), "--frames", frames, "-w", unixPath(names[i]))
	}
	return names
}

// TestWindowsHome double-clicks the program in wine's Explorer. Its page records a match of
// two bots on a host of this system. Captures are dropped on the page, and others
// are opened with the program.
func TestWindowsHome(t *testing.T) {
	program := os.Getenv("BCDISSECT_EXE")
	if program == "" {
		t.Skip("BCDISSECT_EXE does not name the program for Windows: \"make windows-home\" runs this")
	}
	b := newStandIn(t, "browser")
	d := newHomeDesktop(t, program, b)
	console := d.open(programRow)
	p := d.visitPage(b, atHome)
	// Its address, and two lines that say what the window is for.
	save(t, "home-console.png", d.shows(console, "three lines", func(img image.Image) bool { return lines(img) == 3 }))
	p.snap("home.png")
	p.record(game(t))
	p.snap("home-recording.png")
	p.watchedLive()
	p.press("#stop", shown)
	p.watched()
	p.view("match")
	if os.Getenv("BCDISSECT_PICTURES") != "" {
		eval[chromedp.Void](p.tab, `new Promise((done) => { addEventListener("hashchange", done, { once: true }); location.replace("#t=9.0"); })`)
		p.rests()
	}
	p.snap("home-match.png")
	p.back()
	p.finds("Friday night")
	p.opensDropped()
	p.joinsParts()
	d.close(p, console)

	console = d.open(captureRow)
	p = d.visitPage(b, shown)
	p.titled("match.pcap", "stock_client.pcap")
	d.close(p, console)
}

// joinsParts opens two parts of a recording in the list, which are one match.
func (p *homePage) joinsParts() {
	p.t.Helper()
	makeParts(p.t, eval[string](p.tab, `document.querySelector("footer bdi").textContent`))
	const watch = `[...document.querySelectorAll(".list li")].find((e) => e.textContent.includes("2 parts"))?.querySelector("[data-key^='w ']")`
	p.until(watch + ` !== undefined`)
	eval[chromedp.Void](p.tab, watch+`.click()`)
	p.arrives(shown)
	p.titled(joinedParts, "networked_battle.pcap")
	p.back()
}

// TestWindowsDrops drops captures and parts of a recording on the program, then a capture
// with what is none, and then no capture at all.
func TestWindowsDrops(t *testing.T) {
	program := os.Getenv("BCDISSECT_EXE")
	if program == "" {
		t.Skip("BCDISSECT_EXE does not name the program for Windows: \"make windows\" runs this")
	}
	b := newStandIn(t, "browser")
	d := newHomeDesktop(t, program, b)
	const folder = `C:\My games`
	if err := os.MkdirAll(filepath.Join(unixPath(folder), "old"), 0o700); err != nil {
		d.t.Fatal(err)
	}
	parts := makeParts(d.t, folder)
	for to, from := range map[string]string{"Größe 日本.pcap": "no_identity.pcap", "A&B[1].pcap": "two_teams.pcap", "copy.pcap": "two_teams.pcap"} {
		copyFile(d.t, fixture(from), filepath.Join(unixPath(folder), to))
	}
	const shortcut = "L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00F" // how each begins
	for name, text := range map[string]string{"notes.txt": "hello\n", "match.lnk": shortcut} {
		if err := os.WriteFile(filepath.Join(unixPath(folder), name), []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	const (
		isText     = "notes.txt: not a capture: it looks like text; give a pcap, pcapng or log file"
		isShortcut = "match.lnk: not a capture: it looks like a shortcut; give the file that it leads to"
		isFolder   = "old: a folder; choose the captures in it"
		isCopy     = "copy.pcap has the same bytes as A&B[1].pcap; it counts once"
	)

	console := d.drop(folder+`\A&B[1].pcap`, folder+`\Größe 日本.pcap`, folder+`\copy.pcap`, parts[1], parts[0], `C:\bc\match.pcap`)
	p := d.visitPage(b, shown)
	p.titled(joinedParts+", match.pcap, Größe 日本.pcap, A&B[1].pcap", "networked_battle.pcap", "stock_client.pcap", "no_identity.pcap", "two_teams.pcap")
	p.back()
	p.complains(isCopy)
	d.close(p, console)

	console = d.drop(folder+`\match.lnk`, folder+`\notes.txt`, folder+`\old`, folder+`\Größe 日本.pcap`)
	p = d.visitPage(b, shown)
	p.titled("Größe 日本.pcap", "no_identity.pcap")
	p.back()
	p.complains(isShortcut, isText, isFolder)
	d.close(p, console)

	console = d.drop(folder+`\notes.txt`, folder+`\old`)
	p = d.visitPage(b, atHome)
	p.complains(isText, isFolder)
	d.close(p, console)
}

// TestWindowsClosed closes the program's window while a game is recorded. Wine sends the
// program no signal, as Windows does, but ends it. The recording has what came up to a
// second before, and home shows it when it is started again.
func TestWindowsClosed(t *testing.T) {
	exe := os.Getenv("BCDISSECT_EXE")
	if exe == "" {
		t.Skip("BCDISSECT_EXE does not name the program for Windows: \"make windows\" runs this")
	}
	b := newStandIn(t, "browser")
	d := newHomeDesktop(t, exe, b)
	console := d.open(programRow)
	p := d.visitPage(b, atHome)
	p.record(game(t))
	folder := eval[string](p.tab, `document.querySelector("footer bdi").textContent`)
	seen := eval[int](p.tab, `+document.querySelectorAll(".facts dd")[2].textContent.replace(/\D/g, "")`)
	files, err := filepath.Glob(filepath.Join(unixPath(folder), "*.pcapng"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the recordings are %q, %v", files, err)
	}
	p.do(chromedp.Navigate("about:blank")) // the page would say that the program has ended
	for deadline := time.Now().Add(patience); recordedIn(t, files[0]) < seen; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d datagrams are recorded, not %d", recordedIn(t, files[0]), seen)
		}
	}
	d.run("wine", "taskkill", "/im", "conhost.exe") // asks its window to close, as its X does
	d.window(consoleTitle, false)
	for deadline := time.Now().Add(patience); runs("bcdissect.exe") && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
	}
	if n := recordedIn(t, files[0]); n < seen {
		t.Errorf("%d datagrams are recorded, not %d", n, seen)
	}

	console = d.open(programRow)
	p = d.visitPage(b, atHome)
	p.press(".list [data-key^='w ']", shown)
	p.watched()
	d.close(p, console)
}

// recordedIn returns the number of datagrams of the game in a recording, which may grow.
func recordedIn(t *testing.T, file string) (n int) {
	t.Helper()
	var got struct {
		Datagrams struct {
			Game    int `json:"game"`
			GameSpy int `json:"gamespy"`
		} `json:"datagrams"`
	}
	out, _ := exec.Command(binary(), "stats", "-T", "json", file).Output() // it complains of a last block that is not whole
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got.Datagrams.Game + got.Datagrams.GameSpy
}

// complains checks the sentences on the page about what could not be opened.
func (p *homePage) complains(sentences ...string) {
	p.t.Helper()
	p.until(`!document.querySelector(".trouble").hidden`)
	if got, want := eval[string](p.tab, `document.querySelector(".trouble p").textContent`), strings.Join(sentences, "\n"); got != want {
		p.t.Errorf("the page says %q, not %q", got, want)
	}
}

// watchedLive opens the live page of the recording, which shows both bots.
func (p *homePage) watchedLive() {
	p.t.Helper()
	live := newTab(p.t, 1280, 900)
	live.do(chromedp.Navigate(eval[string](p.tab, `document.getElementById("live").href`)))
	live.until(`document.documentElement.dataset.live === "yes" && document.querySelectorAll(".board tbody tr[data-player]").length === 2`)
}

// finds looks for servers. The one that was used before answers with its name.
func (p *homePage) finds(server string) {
	p.t.Helper()
	p.press("#look", `[...document.querySelectorAll(".servers .name bdi")].some((e) => e.textContent === `+strconv.Quote(server)+`)`)
	if got := eval[string](p.tab, `document.querySelector(".trouble").hidden ? "" : document.querySelector(".trouble p").textContent`); got != "" {
		p.t.Errorf("after a search the page says %q", got)
	}
}

// opensDropped drops two captures and a text on the page.
func (p *homePage) opensDropped() {
	p.t.Helper()
	dir := p.t.TempDir()
	text, letters := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "Größe 日本.pcap")
	copyFile(p.t, fixture("stock_client.pcap"), letters)
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.put(letters, text, fixture("two_teams.pcap"))
	p.arrives(shown)
	p.titled("Größe 日本.pcap, two_teams.pcap", "stock_client.pcap", "two_teams.pcap")
	p.back()
}

// titled checks which captures are open, and that the messages of these fixtures are listed.
func (p *homePage) titled(title string, fixtures ...string) {
	p.t.Helper()
	if got := eval[string](p.tab, `document.querySelector(".bars .title").textContent`); got != title {
		p.t.Errorf("%q is open, not %q", got, title)
	}
	want := 0
	for _, name := range fixtures {
		want += bytes.Count(program(p.t, "read", "-T", "json", fixture(name)), []byte("\n"))
	}
	p.view("messages")
	if got := eval[int](p.tab, `+document.querySelector(".counted").textContent.replace(/\D/g, "")`); got != want {
		p.t.Errorf("%s: %d messages are listed, not %d", title, got, want)
	}
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shown returns what a window shows.
func (d *desktop) shown(window string) image.Image {
	d.t.Helper()
	all, err := screen.Picture(os.Getenv("BCDISSECT_SCREEN"))
	if err != nil {
		d.t.Fatal(err)
	}
	var x, y, width, height int
	where := d.run("xdotool", "getwindowgeometry", "--shell", window)
	if _, err := fmt.Sscanf(where[strings.Index(where, "X="):], "X=%d\nY=%d\nWIDTH=%d\nHEIGHT=%d", &x, &y, &width, &height); err != nil {
		d.t.Fatalf("%s: %v", where, err)
	}
	return all.SubImage(image.Rect(x, y, x+width, y+height))
}

// shows waits until a window shows something, and returns what it shows.
func (d *desktop) shows(window, what string, holds func(image.Image) bool) image.Image {
	d.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if img := d.shown(window); holds(img) {
			return img
		}
	}
	d.t.Fatalf("the window never shows %s", what)
	return nil
}

// dark counts the dark pixels of a part of a picture.
func dark(img image.Image, part image.Rectangle) (n int) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); max(r, g, b) < 0x8000 {
				n++
			}
		}
	}
	return n
}

// lines counts the lines of text in a console, bright on dark: the rows of pixels with
// letters, each after a row without.
func lines(img image.Image) (n int) {
	const scrollBar = 20
	text, before := img.Bounds(), false
	text.Max.X -= scrollBar
	for y := text.Min.Y; y < text.Max.Y; y++ {
		letters := dark(img, image.Rect(text.Min.X, y, text.Max.X, y+1)) < text.Dx()
		if letters && !before {
			n++
		}
		before = letters
	}
	return n
}

// snap writes a picture of the page for the documents, if they are wanted.
func (p *homePage) snap(name string) {
	p.t.Helper()
	if os.Getenv("BCDISSECT_PICTURES") != "" {
		save(p.t, name, p.picture())
	}
}

// save writes a picture for the documents, if they are wanted.
func save(t *testing.T, name string, img image.Image) {
	t.Helper()
	folder := os.Getenv("BCDISSECT_PICTURES")
	if folder == "" {
		return
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, paletted(img)[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
