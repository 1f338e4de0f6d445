package browsertest

import (
	"bytes"
	"context"
	"html"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A syncBuffer is what a running program has written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// background starts the program, and interrupts it when the test ends.
func background(t *testing.T, env []string, args ...string) (said *syncBuffer, end func() error) {
	t.Helper()
	said = new(syncBuffer)
	cmd := exec.Command(binary(), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(func() error {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		return cmd.Wait()
	})
	t.Cleanup(func() {
		_ = end()
		if t.Failed() {
			t.Logf("%s says:\n%s", args[0], said)
		}
	})
	return said, end
}

// A browserStandIn takes the place of the browser that the program starts.
type browserStandIn struct {
	dir string // with the stand-in
}

// newStandIn makes a program that writes its argument to a file.
func newStandIn(t *testing.T, name string) browserStandIn {
	t.Helper()
	b := browserStandIn{t.TempDir()}
	script := "#!/bin/sh\nprintf %s \"$1\" >'" + b.dir + "/part' && mv '" + b.dir + "/part' '" + b.dir + "/opened'\n"
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

// leadsTo matches the address in the file that the browser is started with.
var leadsTo = regexp.MustCompile(`content="0; url=([^"]+)"`)

// address waits until the browser is started, and returns the address that it is led
// to. The argument itself must not have the key: every user of the computer sees it.
func (b browserStandIn) address(t *testing.T) string {
	t.Helper()
	var argument []byte
	for deadline := time.Now().Add(patience); len(argument) == 0; time.Sleep(20 * time.Millisecond) {
		if argument, _ = os.ReadFile(filepath.Join(b.dir, "opened")); time.Now().After(deadline) {
			t.Fatal("the browser was never started")
		}
	}
	name := strings.TrimPrefix(string(argument), "file://")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := leadsTo.FindSubmatch(text)
	if m == nil || strings.Contains(string(argument), "key") {
		t.Fatalf("the browser is started with %s, which has %s", argument, text)
	}
	return html.UnescapeString(string(m[1]))
}

// A homePage is the page of the program in a tab.
type homePage struct {
	*visit
	folder string // folder of recordings
	said   *syncBuffer
	end    func() error
}

// startHome starts the program and opens its page.
func startHome(t *testing.T, width, height int, names ...string) *homePage {
	t.Helper()
	b, folder := newStandIn(t, "xdg-open"), filepath.Join(t.TempDir(), "recordings")
	said, end := background(t, []string{"PATH=" + b.dir + ":" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + b.dir, "HOME=" + b.dir}, append([]string{"home", "--folder", folder}, names...)...)
	address := b.address(t)
	if !strings.Contains(said.String(), address+"\n") {
		t.Errorf("the program prints\n%s\nwithout %s", said, address)
	}
	p := &homePage{&visit{tab: newTab(t, width, height)}, folder, said, end}
	arrived := atHome
	if len(names) > 0 {
		arrived = shown
	}
	p.goTo(address, arrived)
	return p
}

// goTo opens the page, which may lead on to another one at once.
func (p *homePage) goTo(address, arrived string) {
	p.t.Helper()
	p.url = address
	p.keeps(address[:strings.Index(address, "/#")])
	eval[chromedp.Void](p.tab, `setTimeout(() => location.assign("`+address+`"))`)
	p.arrives(arrived)
}

// arrives waits until another page is shown. In between there is none to ask.
func (p *homePage) arrives(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if there, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](expression)); err == nil && there {
			return
		}
	}
	p.t.Fatalf("in %v there was never %s", patience, expression)
}

// press clicks a button, and waits for something.
func (p *homePage) press(selector, until string) {
	p.t.Helper()
	eval[chromedp.Void](p.tab, `document.querySelector(`+strconv.Quote(selector)+`).click()`)
	p.arrives(until)
}

// enter types into a field, and ends with the Enter key. The driver's own way loses
// the page that the browser's Back brings again.
func (p *homePage) enter(id, text string) {
	p.t.Helper()
	eval[chromedp.Void](p.tab, `document.getElementById("`+id+`").focus()`)
	p.do(chromedp.KeyEvent(text), chromedp.KeyEvent(kb.Enter))
}

// shown is true when the page for captures shows a match. atHome is true when
// the page of the program is shown again.
const (
	shown  = `location.pathname === "/view/" && "shown" in document.documentElement.dataset`
	atHome = `location.pathname === "/" && "ready" in document.documentElement.dataset`
)

// back goes back to the page of the program.
func (p *homePage) back() {
	p.t.Helper()
	eval[chromedp.Void](p.tab, `setTimeout(() => history.back())`)
	p.arrives(atHome)
}

// game starts a host, and returns its address.
func game(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := conn.LocalAddr().String()
	_ = conn.Close() // the host takes it
	background(t, nil, "relay", "--listen", address, "--name", "Friday night", "--control", "none")
	return address
}

// play has two bots play where the page says.
func (p *homePage) play() {
	p.t.Helper()
	join := eval[string](p.tab, `document.querySelector(".join b").textContent`)
	if !strings.Contains(join, ":") {
		join += ":22101"
	}
	length := "4s"
	if os.Getenv("BCDISSECT_PICTURES") != "" {
		length = "20s" // for something to see
	}
	program(p.t, "bots", join, "-n", "2", "--seed", "10", "--for", length, "--no-progress") // with this seed, none leaves to come back
}

// record records a match on a server that is typed, and watches it.
func (p *homePage) record(server string) {
	p.t.Helper()
	p.enter("server", server)
	p.until(`document.querySelector(".join b") !== null && document.activeElement.id === "stop"`)
	p.play()
	p.until(`document.querySelector(".facts dd").textContent === "is connected" && +document.querySelectorAll(".facts dd")[2].textContent.replace(/\D/g, "") > 200`)
}

// watched checks that the page for captures shows the two bots and what they sent.
func (p *homePage) watched() {
	p.t.Helper()
	p.arrives(shown)
	if got := eval[string](p.tab, `[...document.querySelectorAll(".board tr[data-player]")].map((r) => r.dataset.player).sort().join()`); strings.Count(got, ",") != 1 {
		p.t.Errorf("the players are %s", got)
	}
	p.view("messages")
	if got := eval[int](p.tab, `+document.querySelector(".counted").textContent.replace(/\D/g, "")`); got < 200 {
		p.t.Errorf("%d messages are listed", got)
	}
}

// TestHome records a match of two bots on a host and watches it, makes an anonymous
// copy, opens the sample and files that are dropped, and stops a recording by Ctrl-C.
func TestHome(t *testing.T) {
	server := game(t)
	p := startHome(t, 1280, 900)
	p.press("#sample", shown)
	p.back()

	p.record(server)
	if got := eval[string](p.tab, `fetch(document.getElementById("live").href).then((r) => r.text())`); !strings.Contains(got, "live.js") {
		t.Errorf("the live page is %q", got)
	}
	p.press("#stop", shown)
	p.watched()
	p.back()
	files, err := filepath.Glob(filepath.Join(p.folder, "*.pcapng"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the recordings are %q, %v", files, err)
	}
	name := filepath.Base(files[0])
	p.until(`document.querySelector(".list bdi") !== null`) // the browser kept the page in its state from before
	if got := eval[string](p.tab, `document.querySelector(".list bdi").textContent`); got != name {
		t.Errorf("the list has %q, not %q", got, name)
	}
	if got := eval[string](p.tab, `document.querySelector(".servers .name").textContent`); !strings.HasPrefix(got, server) {
		t.Errorf("the server that is remembered is %q", got)
	}
	p.press(`[data-key^="a "]`, `document.querySelector("#h-send ~ .card pre") !== null`)
	anonymous, err := os.ReadFile(strings.TrimSuffix(files[0], ".pcapng") + ".anonymous.pcapng")
	if err != nil || len(anonymous) < 1000 || !bytes.Contains([]byte(eval[string](p.tab, `document.querySelector("#h-send ~ .card pre").textContent`)), []byte("names")) {
		t.Errorf("the anonymous copy has %d bytes, %v", len(anonymous), err)
	}

	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.put(text)
	p.until(`!document.querySelector(".trouble").hidden`)
	if got := eval[string](p.tab, `document.querySelector(".trouble p").textContent`); !strings.HasPrefix(got, "notes.txt: not a capture") || strings.Contains(got, "\n") {
		t.Errorf("about a text the page says %q", got)
	}
	p.put(text, fixture("stock_client.pcap"), fixture("two_teams.pcap"))
	p.arrives(shown)
	if got := eval[string](p.tab, `document.querySelector(".bars .title").textContent`); !strings.Contains(got, "stock_client.pcap") || !strings.Contains(got, "two_teams.pcap") {
		t.Errorf("%q are open", got)
	}
	p.back()
	p.until(`!document.querySelector(".trouble").hidden`)
	if got := eval[string](p.tab, `document.querySelector(".trouble p").textContent`); !strings.HasPrefix(got, "notes.txt: not a capture") {
		t.Errorf("after two captures and a text the page says %q", got)
	}

	// The recording goes on without the page, until Ctrl-C.
	p.record(server)
	p.do(chromedp.Navigate("about:blank"))
	if err := p.end(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	files, err = filepath.Glob(filepath.Join(p.folder, "*[0-9].pcapng"))
	if err != nil || len(files) != 2 || !bytes.Contains(program(t, "session", files[1]), []byte("Bot2")) {
		t.Errorf("the recordings are %q, %v", files, err)
	}
}

// TestHomeNamed has captures named on the command line, one of them a text: the page
// opens the others, and says what is wrong.
func TestHomeNamed(t *testing.T) {
	longTest(t)
	text := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := filepath.Abs(fixture("battle_mix.pcap.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p := startHome(t, 1280, 900, whole, text)
	p.arrives(shown)
	if n := eval[int](p.tab, `document.querySelectorAll(".board tr[data-player]").length`); n != 4 {
		t.Errorf("%d players", n)
	}
	p.back()
	p.until(`!document.querySelector(".trouble").hidden`)
	if got := eval[string](p.tab, `document.querySelector(".trouble p").textContent`); !strings.HasPrefix(got, "letter.txt: not a capture") {
		t.Errorf("the page says %q", got)
	}
	if !strings.Contains(p.said.String(), "letter.txt: not a capture") {
		t.Errorf("the program says %s", p.said)
	}
	// A pasted path has quotes.
	p.enter("path", `"`+whole+`"`)
	p.arrives(shown)
}

// TestHomeBack drops a text next to a capture, and comes back from the match. The page
// that the browser has kept says what is wrong with the text, as does one that is loaded
// again, and goes on saying so while it asks the program for news.
func TestHomeBack(t *testing.T) {
	p := startHome(t, 1280, 900)
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const asked = `performance.getEntriesByType("resource").filter((e) => e.name.endsWith("api/state")).length`
	for _, kept := range []bool{true, false, true} {
		eval[chromedp.Void](p.tab, `window.kept = true`)
		if !kept {
			eval[chromedp.Void](p.tab, `addEventListener("unload", () => {})`) // the browser keeps no such page
		}
		p.put(text, fixture("stock_client.pcap"))
		p.arrives(shown)
		p.back()
		if got := eval[bool](p.tab, `window.kept === true`); got != kept {
			t.Fatalf("the page was kept: %v, want %v", got, kept)
		}
		for n := range 2 {
			if n > 0 {
				p.until(asked + ` >= ` + strconv.Itoa(eval[int](p.tab, asked)+2))
			}
			if got := eval[string](p.tab, `document.querySelector(".trouble:not([hidden]) p")?.textContent ?? "nothing"`); !strings.HasPrefix(got, "notes.txt: not a capture") {
				t.Errorf("kept %v: the page says %q", kept, got)
			}
		}
		p.press(".trouble button", `document.querySelector(".trouble").hidden`)
	}
}

// TestHomeUse uses the page without a mouse, on a phone, dark and light.
func TestHomeUse(t *testing.T) {
	p := startHome(t, 390, 844)
	check := func(where string) {
		t.Helper()
		for range 2 {
			for _, s := range eval[[]string](p.tab, contrast) {
				t.Errorf("%s, %s: %s", where, eval[string](p.tab, `document.documentElement.dataset.theme`), s)
			}
			eval[chromedp.Void](p.tab, `document.querySelector(".bars button[aria-label='Light or dark']").click()`)
		}
		if got := eval[string](p.tab, `document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 100)).join("\n") : ""`); got != "" {
			t.Errorf("%s: wider than the screen: %s", where, got)
		}
	}
	eval[chromedp.Void](p.tab, `document.querySelector("details").open = true`)
	check("the beginning")
	stops := p.stops()
	for _, want := range []string{"Server", "Record", "Look for servers", "File", "Open", "Choose files", "Watch a sample match", "Open the folder"} {
		if !strings.Contains(stops, "|"+want+"|") {
			t.Errorf("Tab reaches %s, but not %s", stops, want)
		}
	}
	p.enter("server", "")
	p.until(`document.querySelector(".trouble p").textContent === "choose a server, or type its name or address"`)
	p.record(game(t))
	check("a recording")
	p.enter("stop", "")
	p.arrives(shown)
	p.back()
	p.press("#look", `document.querySelector("[role=status]").textContent === "" && !document.getElementById("look").disabled`)
	check("a recording that has ended")
	p.stops()
}

// TestHomeForeign sends what pages of other origins and programs of other users can
// send. Nothing is recorded, read or told.
func TestHomeForeign(t *testing.T) {
	p := startHome(t, 1280, 900)
	origin, key, _ := strings.Cut(p.url, "/#key=")
	send := func(method, path, host, from, key string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), method, origin+path, strings.NewReader(`{"server": "127.0.0.1:9"}`))
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = strings.TrimPrefix(origin, "http://"); host != "" {
			r.Host = host
		}
		for name, value := range map[string]string{"Origin": from, "X-Bcdissect-Key": key} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		for name := range answer.Header {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s %s has %s", method, path, name)
			}
		}
		return answer.StatusCode
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(origin, "http://"), ":")
	for _, c := range []struct{ method, path, host, from, key string }{
		{"POST", "/api/record", "", "", ""},
		{"POST", "/api/state", "", "", strings.Repeat("A", len(key))},
		{"POST", "/api/record", "", "http://evil.example", key},
		{"POST", "/api/record", "", "null", key},
		{"POST", "/api/record", "evil.example:" + port, "", key},
		{"POST", "/api/drop?name=a", "", "", ""},
		{"GET", "/api/state", "", "", key},
		{"OPTIONS", "/api/record", "", "http://evil.example", ""},
		{"GET", "/", "evil.example:" + port, "", ""},
		{"GET", "/view/captures/x/0/y", "", "", ""},
	} {
		if status := send(c.method, c.path, c.host, c.from, c.key); status < 400 {
			t.Errorf("%+v is answered with %d", c, status)
		}
	}
	if status := send("POST", "/api/state", "", origin, key); status != http.StatusOK {
		t.Errorf("the page itself is answered with %d", status)
	}
	if _, err := os.Stat(p.folder); err == nil {
		t.Error("something was recorded")
	}
}
