package browsertest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
)

// site is the folder that "make web" writes.
const site = "../../../dist/web"

// A visit is a tab with the site.
type visit struct {
	*tab
	url   string
	close func() // the server
}

// visitSite serves the site from a folder of a server and opens it. When the test
// ends, the page must have asked for nothing but the site's own files, and have
// complained of nothing.
func visitSite(t *testing.T, width, height int) *visit {
	t.Helper()
	if _, err := os.Stat(filepath.Join(site, "index.html")); err != nil {
		t.Fatal(err, "; run make web first")
	}
	files := http.StripPrefix("/some/folder/", http.FileServer(http.Dir(site)))
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	v := openSite(t, server.URL+"/some/folder/", width, height)
	v.close = func() { server.CloseClientConnections(); server.Close() }
	return v
}

func openSite(t *testing.T, url string, width, height int) *visit {
	t.Helper()
	origin := url[:strings.LastIndexByte(url[:strings.IndexByte(url+"#", '#')], '/')]
	if at := strings.Index(origin, "/some"); at > 0 {
		origin = origin[:at]
	}
	v := &visit{tab: newTab(t, width, height), url: url}
	v.load(url, origin)
	return v
}

// drop drops files into the page, as the mouse does, and waits until it shows them.
func (v *visit) drop(names ...string) {
	v.t.Helper()
	v.put(names...)
	v.until(`"shown" in document.documentElement.dataset || "failed" in document.documentElement.dataset`)
}

func (v *visit) put(names ...string) {
	v.t.Helper()
	for i, name := range names {
		full, err := filepath.Abs(name)
		if err != nil {
			v.t.Fatal(err)
		}
		names[i] = full
	}
	eval[chromedp.Void](v.tab, `delete document.documentElement.dataset.shown; delete document.documentElement.dataset.failed`)
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		v.call(chromedp.Call(v.ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 200, Y: 200, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: names, DragOperationsMask: 1}}))
	}
}

func fixture(name string) string { return filepath.Join("../../../fixtures/captures", name) }

// tab opens a view.
func (v *visit) view(id string) {
	v.t.Helper()
	eval[chromedp.Void](v.tab, `document.getElementById("tab-`+id+`").click()`)
	if id == "messages" {
		v.until(`document.querySelector(".counted").dataset.more === "false"`)
	}
}

// filter applies a filter. Then listed waits for the list.
func (v *visit) filter(expression string) {
	v.t.Helper()
	eval[chromedp.Void](v.tab, `(() => { const i = document.getElementById("filter"); document.querySelector(".counted").dataset.more = "true"; i.value = `+strconv.Quote(expression)+`; i.form.requestSubmit(); })()`)
}

// listed waits until the list is complete, and rows with their texts fill it.
func (v *visit) listed() {
	v.t.Helper()
	v.until(`(() => {
		const body = document.querySelector(".listbody"), rows = [...body.querySelectorAll(".row:not([hidden])")];
		return document.querySelector(".counted").dataset.more === "false" && rows.length > 0 && rows.every((e) => e.querySelector(".c0").textContent !== "") &&
			rows.length >= Math.min(+body.getAttribute("aria-rowcount"), Math.floor(body.clientHeight / rows[0].offsetHeight)); })()`)
}

// binary is the program, built with the page.
func binary() string {
	path, err := filepath.Abs(cmp.Or(os.Getenv("BCDISSECT"), "../../../bin/bcdissect"))
	if err != nil {
		panic(err)
	}
	return path
}

// program runs the program and returns its output.
func program(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(binary(), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", args, err, said.String())
	}
	return out
}

// truth is the independent decode of a capture.
type truth struct {
	Opcodes map[string]map[string]int `json:"game_opcodes_without_retransmissions"` // by direction
}

// TestWebCounts compares the statistics and the number of messages that a filter
// keeps with an independent decode.
func TestWebCounts(t *testing.T) {
	v := visitSite(t, 1440, 900)
	v.drop(fixture("battle_mix.pcap.gz"))
	var want truth
	text, err := os.ReadFile(fixture("battle_mix.truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	count := func(opcode string) int { return want.Opcodes["c2s"][opcode] + want.Opcodes["s2c"][opcode] }
	all := string(program(t, "read", fixture("battle_mix.pcap.gz"), "-T", "json"))
	v.view("messages")
	if got := eval[string](v.tab, `document.querySelector(".counted").textContent.replace(/\s/g, "")`); got != strconv.Itoa(strings.Count(all, "\n"))+"messages" {
		t.Errorf("the list says %q, and the program writes %d lines", got, strings.Count(all, "\n"))
	}
	v.filter("TorpedoFire and not status == duplicate")
	n := count("0x19")
	v.listed()
	v.until(fmt.Sprintf(`document.querySelector(".counted").textContent.startsWith("%d of ")`, n))
	if rows := eval[string](v.tab, `[...new Set([...document.querySelectorAll(".rows .row:not([hidden]) .c3")].map((e) => e.textContent))].join()`); rows != "TorpedoFire" {
		t.Errorf("the filter shows %s", rows)
	}
	v.view("stats")
	got := eval[map[string]string](v.tab, `Object.fromEntries([...document.querySelectorAll("[aria-labelledby=s-op] tbody tr")].map((r) => [r.cells[0].textContent, r.cells[3].textContent.replace(/\s/g, "")]))`)
	if got["TorpedoFire"] != strconv.Itoa(n) || got["StateUpdate"] != strconv.Itoa(count("0x1c")) {
		t.Errorf("the statistics have %v", got)
	}
}

// TestWebFilter completes a filter with the keyboard, makes a mistake in it and
// clears it.
func TestWebFilter(t *testing.T) {
	v := visitSite(t, 1440, 900)
	v.drop(fixture("battle_mix.pcap.gz"))
	v.view("messages")
	const input = `document.getElementById("filter")`
	eval[string](v.tab, input+`.value = "TorpedoF"`) // one key makes one list of offers
	v.do(chromedp.SendKeys(chromedp.CSS("#filter"), "i"))
	v.until(`!document.getElementById("offers").hidden && [...document.querySelectorAll("#offers li")].some((e) => e.textContent === "TorpedoFire")`)
	v.do(chromedp.KeyEvent(kb.ArrowDown))
	if got := eval[string](v.tab, `document.getElementById(`+input+`.getAttribute("aria-activedescendant")).textContent`); got != "TorpedoFire" {
		t.Errorf("the arrow chooses %q", got)
	}
	v.do(chromedp.KeyEvent(kb.Enter))
	if got := eval[string](v.tab, input+`.value`); got != "TorpedoFire" {
		t.Errorf("the filter is %q", got)
	}
	v.filter("TorpedoFire and and")
	v.until(`!document.getElementById("mistake").hidden`)
	if got := eval[string](v.tab, `document.querySelector("#mistake pre").textContent`); got != "TorpedoFire and and\n                ^~~" {
		t.Errorf("the mistake is shown as\n%s", got)
	}
	if got := eval[string](v.tab, input+`.getAttribute("aria-invalid")`); got != "true" {
		t.Errorf("aria-invalid is %s", got)
	}
	v.filter("Chat")
	v.listed()
	v.until(`document.getElementById("mistake").hidden && document.querySelector(".row:not(.headrow) .c3")?.textContent === "Chat"`)
	v.filter("")
	v.listed()
	v.until(`document.querySelector(".rows .row .c0").textContent === "1"`)
	// Filters by name.
	for _, name := range eval[[]string](v.tab, `[...document.querySelectorAll(".presets button")].map((e) => e.textContent)`) {
		eval[chromedp.Void](v.tab, `document.querySelector(".counted").dataset.more = "true"; [...document.querySelectorAll(".presets button")].find((e) => e.textContent === `+strconv.Quote(name)+`).click()`)
		v.until(`document.querySelector(".counted").dataset.more === "false"`)
		if got := eval[bool](v.tab, `document.getElementById("mistake").hidden`); !got {
			t.Errorf("%s: the filter has a mistake", name)
		}
		var want int
		if expression := eval[string](v.tab, input+`.value`); expression != "" {
			want = bytes.Count(program(t, "read", fixture("battle_mix.pcap.gz"), "-T", "json", "-Y", expression), []byte("\n"))
		}
		if got := eval[string](v.tab, `document.querySelector(".counted").textContent.replace(/ of .*|\s/g, "")`); got != strconv.Itoa(want) || want == 0 && name != "Faults" {
			t.Errorf("%s: %q messages, and the program writes %d", name, got, want)
		}
	}
}

// longTest skips a test unless BCDISSECT_LONG is set. The browser compiles the whole program
// for each test, so that CI has time only for those that no other one is like.
func longTest(t *testing.T) {
	t.Helper()
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes a quarter of a minute: set BCDISSECT_LONG")
	}
}

// TestWebContrast reads the colours of all text in every view, dark and light.
func TestWebContrast(t *testing.T) {
	longTest(t)
	v := visitSite(t, 1440, 900)
	check := func(view string) {
		t.Helper()
		for range 2 {
			for _, s := range eval[[]string](v.tab, contrast) {
				t.Errorf("%s, %s: %s", view, eval[string](v.tab, `document.documentElement.dataset.theme`), s)
			}
			eval[chromedp.Void](v.tab, `document.querySelector(".bars button[aria-label='Light or dark']").click()`)
		}
	}
	check("landing")
	v.drop(fixture("battle_mix.pcap.gz"))
	for _, view := range []string{"match", "messages", "stats", "network", "save"} {
		v.view(view)
		if view == "messages" {
			v.listed()
			eval[chromedp.Void](v.tab, `document.querySelectorAll(".rows .row")[5].click()`)
			v.until(`document.querySelector(".hex") !== null`)
			eval[chromedp.Void](v.tab, `document.querySelectorAll("[role=treeitem]")[3].click()`)
			v.filter("Chat and")
			v.until(`!document.getElementById("mistake").hidden`)
		}
		check(view)
	}
	big := filepath.Join(t.TempDir(), "big.pcap")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<31+1); err != nil { // it takes no room
		t.Fatal(err)
	}
	v.drop(big)
	if got := eval[string](v.tab, `document.querySelector("[role=alert]").textContent`); !strings.Contains(got, "a browser holds at most 2.1 GB") {
		t.Errorf("of a large file the page says %q", got)
	}
	check("refusal")
}

// TestWebSelect chooses a message and one of its fields, and checks that
// exactly the bytes of the field are highlighted.
func TestWebSelect(t *testing.T) {
	v := visitSite(t, 1440, 900)
	v.drop(fixture("battle_mix.pcap.gz"))
	v.view("messages")
	v.filter("Chat")
	v.listed()
	if got := eval[string](v.tab, `document.querySelector(".rows .row .c3").textContent`); got != "Chat" {
		t.Fatalf("the first row is %q", got)
	}
	v.do(chromedp.Focus(chromedp.CSS(".listbody")), chromedp.KeyEvent(kb.ArrowDown))
	v.until(`document.querySelector(".detailhead h3")?.textContent === "Chat"`)
	if got := eval[string](v.tab, `document.getElementById(document.querySelector(".listbody").getAttribute("aria-activedescendant")).getAttribute("aria-selected")`); got != "true" {
		t.Errorf("the chosen row is selected: %s", got)
	}
	var line struct {
		Frame  int `json:"frame"`
		Fields struct {
			Text string `json:"text"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(program(t, "read", fixture("battle_mix.pcap.gz"), "-T", "json", "-Y", "Chat", "-c", "1"), &line); err != nil {
		t.Fatal(err)
	}
	if got := eval[string](v.tab, `document.querySelector(".detailhead span").textContent`); got != "frame "+strconv.Itoa(line.Frame) {
		t.Errorf("the message is of %s, not of frame %d", got, line.Frame)
	}
	eval[chromedp.Void](v.tab, `[...document.querySelectorAll("[role=treeitem]")].find((e) => e.querySelector("b").textContent === "text").click()`)
	const lit = `[...document.querySelectorAll(".hex .left .lit")].map((e) => String.fromCharCode(parseInt(e.textContent, 16))).join("")`
	if got := eval[string](v.tab, lit); got != "\x02\x00"+line.Fields.Text {
		t.Errorf("the marked bytes are %q, not %q", got, line.Fields.Text)
	}
	v.do(chromedp.KeyEvent(kb.Home)) // the header of the transport message
	if got := eval[int](v.tab, `document.querySelectorAll(".hex .left .lit").length`); got != 5 {
		t.Errorf("the header has %d bytes, not 5", got)
	}
	eval[chromedp.Void](v.tab, `document.querySelectorAll(".hex .left span")[5].click()`)
	if got := eval[string](v.tab, `document.querySelector("[role=treeitem][aria-selected=true] b").textContent`); got != "opcode" {
		t.Errorf("the sixth byte is of %q", got)
	}
	// The next message, and one before it.
	v.do(chromedp.Focus(chromedp.CSS(".listbody")), chromedp.KeyEvent(kb.End))
	last := eval[string](v.tab, `document.querySelector(".row[aria-selected=true] .c0").textContent`)
	v.until(`document.querySelector(".detailhead span").textContent === "frame ` + last + `"`)
	v.do(chromedp.KeyEvent(kb.Home))
	v.until(fmt.Sprintf(`document.querySelector(".detailhead span").textContent === "frame %d"`, line.Frame))
}

// TestWebLinks goes from a kill to its messages, and from there to the replay.
// The loss is frame 11454 at 72.59 s.
func TestWebLinks(t *testing.T) {
	v := visitSite(t, 1440, 900)
	v.drop(fixture("battle_mix.pcap.gz"))
	v.record()
	v.do(chromedp.Click(chromedp.CSS(".killtable .time")))
	v.playsFrom(70.5, 72.6)
	eval[chromedp.Void](v.tab, `document.querySelector(".killtable .frame .time").click()`)
	v.until(`document.querySelector(".detailhead span")?.textContent === "frame 11454"`)
	if got := eval[string](v.tab, `document.querySelector(".row[aria-selected=true] .c0").textContent + document.activeElement.className`); got != "11454listbody" {
		t.Errorf("the chosen row and the focus are %s", got)
	}
	eval[chromedp.Void](v.tab, `document.querySelector(".moment").click()`)
	v.shows("the link to the replay", 72.5, 72.7)
	if got := eval[string](v.tab, `document.querySelector("[role=tab][aria-selected=true]").textContent`); got != "Match" {
		t.Errorf("the view is %s", got)
	}
}

// TestWebSave compares every file that the page saves with the file of the
// program, of a capture that is five times as long if BCDISSECT_LONG is set.
func TestWebSave(t *testing.T) {
	folder := t.TempDir()
	v := visitSite(t, 1440, 900)
	v.call(chromedp.Call(v.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder}))
	base, name := "networked_battle", fixture("networked_battle.pcap")
	if os.Getenv("BCDISSECT_LONG") != "" {
		base, name = "battle_mix", fixture("battle_mix.pcap.gz")
	}
	v.drop(name)
	v.close() // the server is not needed any more
	own := t.TempDir()
	session := func(ending string) []byte {
		out := filepath.Join(own, base+ending)
		program(t, "session", name, "-o", out)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	save := func(form, ending string, want []byte) {
		t.Helper()
		v.view("save")
		eval[chromedp.Void](v.tab, `document.querySelector(".saves [data-form='`+form+`']").click()`)
		got := v.saved(folder, base+ending)
		if !bytes.Equal(got, want) || len(want) < 1000 {
			t.Errorf("%s: the page writes %d bytes, the program %d, and they differ", form, len(got), len(want))
		}
	}
	save("html", ".html", session(".html"))
	save("json", ".json", session(".json"))
	save("zip.acmi", ".zip.acmi", session(".zip.acmi"))
	for form, flag := range map[string]string{"decrypted.pcapng": "--decrypt", "annotated.pcapng": "--annotate"} {
		out := filepath.Join(own, form)
		program(t, "read", name, "-w", out, flag)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		save(form, "."+form, b)
	}
	key := strings.Repeat("0123456789abcdef", 4)
	keyFile, out := filepath.Join(own, "key"), filepath.Join(own, "anonymous.pcapng")
	if err := os.WriteFile(keyFile, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "anonymize", name, out, "--key", keyFile)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	eval[chromedp.Void](v.tab, `document.getElementById("key").value = "`+key+`"`)
	save("anonymous.pcapng", ".anonymous.pcapng", b)
	if got := eval[string](v.tab, `document.querySelector(".notes").textContent`); !strings.Contains(got, "names of players") || !strings.Contains(got, "original values and found none") {
		t.Errorf("the page says of what was replaced: %q", got)
	}
	save("ndjson", ".ndjson", program(t, "read", name, "-T", "json"))
	v.view("messages")
	v.filter("TorpedoFire or Chat")
	v.until(`document.querySelector(".counted").textContent.includes(" of ")`)
	save("csv", ".csv", append([]byte("\ufeff"), program(t, "read", name, "-T", "csv", "-Y", "TorpedoFire or Chat")...))
}

// saved waits for a file in the folder of downloads, and removes it.
func (v *visit) saved(folder, name string) []byte {
	v.t.Helper()
	path := filepath.Join(folder, name)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil {
			if eval[string](v.tab, `document.querySelector("#panel-save [role=status]").dataset.saved ?? ""`) == name && len(b) > 0 {
				_ = os.Remove(path)
				return b
			}
		}
	}
	v.t.Fatalf("%s was not saved: %s", name, eval[string](v.tab, `document.querySelector("#panel-save [role=status]").textContent`))
	return nil
}

// TestWebDamaged opens files that are cut, foreign, empty, and none of the game.
func TestWebDamaged(t *testing.T) {
	folder := t.TempDir()
	whole, err := os.ReadFile(fixture("networked_battle.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cut := write("cut.pcap", whole[:len(whole)/2])
	v := visitSite(t, 1280, 800)
	v.drop(cut)
	if got := eval[string](v.tab, `document.querySelector(".trouble").textContent`); !strings.Contains(got, "cut.pcap: cut short in frame ") {
		t.Errorf("the page says %q", got)
	}
	v.view("messages")
	want, _ := exec.Command(binary(), "read", cut, "-T", "json").Output() // it exits with 3
	if got := eval[string](v.tab, `document.querySelector(".counted").textContent.replace(/\s/g, "")`); got != strconv.Itoa(bytes.Count(want, []byte("\n")))+"messages" || len(want) == 0 {
		t.Errorf("of a cut file the page shows %q, and the program %d lines", got, bytes.Count(want, []byte("\n")))
	}
	for name, c := range map[string]struct {
		bytes []byte
		says  string
	}{
		"text.txt": {[]byte("hello\nhow are you\n"), "not a capture"}, "empty.pcap": {nil, "empty (0 bytes)"}, "head.pcap": {whole[:10], "head.pcap"},
		"noise.pcapng": {bytes.Repeat([]byte{0x0a, 0x0d, 0x0d, 0x0a, 0xff, 0xff, 0xff, 0xff}, 1000), "noise.pcapng"},
	} {
		v.drop(write(name, c.bytes))
		if got := eval[string](v.tab, `document.querySelector("[role=alert]").textContent`); !strings.Contains(got, c.says) {
			t.Errorf("%s: the page says %q", name, got)
		}
	}
	v.drop(fixture("stock_client.pcap")) // and all is well again
	if got := eval[string](v.tab, `document.querySelector("h1 bdi").textContent`); got != "Multi1" {
		t.Errorf("the map is %q", got)
	}
}

// TestWebSeveral opens two captures: the messages are one list, the matches a league.
func TestWebSeveral(t *testing.T) {
	longTest(t)
	v := visitSite(t, 1280, 800)
	v.drop(fixture("battle_mix.pcap.gz"), fixture("stock_client.pcap"))
	if got := eval[int](v.tab, `document.querySelectorAll(".evenings tbody tr").length`); got != 2 {
		t.Errorf("%d matches are listed", got)
	}
	v.view("messages")
	want := program(t, "read", fixture("battle_mix.pcap.gz"), fixture("stock_client.pcap"), "-T", "json")
	if got := eval[string](v.tab, `document.querySelector(".counted").textContent.replace(/\s/g, "")`); got != strconv.Itoa(bytes.Count(want, []byte("\n")))+"messages" {
		t.Errorf("the list says %q, and the program writes %d lines", got, bytes.Count(want, []byte("\n")))
	}
	v.view("match")
	eval[chromedp.Void](v.tab, `document.querySelector(".killtable .frame .time").click()`)
	v.until(`document.querySelector(".detailhead h3") !== null`)
	if got := eval[string](v.tab, `document.querySelector(".detailhead h3").textContent + " " + document.querySelector(".detailhead span").textContent`); got != "DestroyObject frame 11454" {
		t.Errorf("the kill leads to %s", got)
	}
}

// hostile returns a capture with markup as names of players and server and as
// chat, in a file with such a name. The texts are as long as those in their places.
func hostile(t *testing.T, file string) string {
	t.Helper()
	src, err := capture.Open(fixture("battle_mix.pcap.gz"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	name := filepath.Join(t.TempDir(), file)
	w, err := capture.CreateWriter(name, capture.DatagramOptions(capture.WriterOptions{Application: "<hr>"}))
	if err != nil {
		t.Fatal(err)
	}
	wide := func(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }
	texts := strings.NewReplacer("Bot1", "<hr>", wide("Bot1"), wide("<hr>"), "Bot2", "\x1b\u202e", wide("Bot2"), "\x1b\x00.\x20b\x00x\x00", "LabServer", "<img/src>", "gg", "</")
	d := capture.NewDatagramWriter(w)
	for {
		g, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		payload := []byte(texts.Replace(string(g.Payload)))
		if g.Payload[0] != '\\' {
			payload = cipher.Encrypt(nil, []byte(texts.Replace(string(cipher.Decrypt(nil, g.Payload)))))
		}
		if err := d.Write(g.Time, g.Src, g.Dst, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestWebHostile opens a capture with markup and control characters as texts.
// They appear as text in every view, and widen no view of a phone.
func TestWebHostile(t *testing.T) {
	const file = `<img src=x onerror=document.title='run'>${1}"'&lt;.pcapng`
	v := visitSite(t, 390, 844)
	v.drop(hostile(t, file))
	if got := eval[string](v.tab, `document.querySelector(".bars .title").textContent`); got != file {
		t.Errorf("the name of the file is shown as %q", got)
	}
	got := eval[string](v.tab, `[...document.querySelectorAll(".board tr[data-player] th bdi")].map((e) => e.textContent).sort().join(" ")`)
	if !strings.Contains(got, "<hr>") || !strings.Contains(got, `\x1b`) {
		t.Errorf("the players are %q", got)
	}
	for _, view := range []string{"match", "messages", "stats", "network", "save"} {
		v.view(view)
		if view == "messages" {
			v.filter("gamespy")
			v.listed()
			eval[chromedp.Void](v.tab, `[...document.querySelectorAll(".rows .row")].find((e) => e.textContent.includes("<img/src>")).click()`)
			v.until(`[...document.querySelectorAll(".tree li")].some((e) => e.textContent.includes("<img/src>"))`)
		}
		v.fits()
	}
	if n := eval[int](v.tab, `document.querySelectorAll("img, hr, br, iframe, object, embed, bdi *, [onerror]").length`); n != 0 {
		t.Errorf("%d elements come from text", n)
	}
	const raw = `.{0,40}[\u0000-\u0008\u000b-\u001f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufffd].{0,40}`
	if got := eval[string](v.tab, `/`+raw+`/.exec(document.getElementById("site").innerHTML + document.title)?.[0] ?? ""`); got != "" {
		t.Errorf("a control character, or a mark of the writing direction, is in the page: %q", got)
	}
	if title := eval[string](v.tab, `document.title`); strings.Contains(title, "run") {
		t.Errorf("the title is %q", title)
	}
}

// TestWebOffline loads the page from a server that then goes away: the service
// worker has all of it.
func TestWebOffline(t *testing.T) {
	longTest(t)
	server := httptest.NewServer(http.StripPrefix("/some/folder/", http.FileServer(http.Dir(site))))
	t.Cleanup(server.Close)
	v := openSite(t, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)+"/some/folder/", 1280, 800)
	v.until(`navigator.serviceWorker.ready.then((r) => r.active.state === "activated")`)
	server.CloseClientConnections()
	server.Close()
	v.do(chromedp.Navigate(v.url))
	v.until(`"ready" in document.documentElement.dataset`)
	v.drop(fixture("stock_client.pcap"))
	if got := eval[string](v.tab, `document.querySelector("h1 bdi").textContent`); got != "Multi1" {
		t.Errorf("the map is %q", got)
	}
	v.mu.Lock()
	v.said = slices.DeleteFunc(v.said, func(s string) bool { return strings.Contains(s, "ERR_CONNECTION_REFUSED") }) // the question for a newer page
	v.mu.Unlock()
}

// TestWebLarge opens a capture of 340,000 records, ten battles unless
// BCDISSECT_LARGE names one, and scrolls through their list. It runs if BCDISSECT_LONG or
// BCDISSECT_LARGE is set. The goals are 2.5 s
// until all is there, with two processors, and 20 ms a frame. Processor time has to
// keep them, twice over where other work may slow the processors down, and more on
// slower processors; the clock is logged, since it depends on what else the machine does.
func TestWebLarge(t *testing.T) {
	name := os.Getenv("BCDISSECT_LARGE")
	if name == "" {
		if os.Getenv("BCDISSECT_LONG") == "" {
			t.Skip("measures a large capture, which takes as long as ten other tests: set BCDISSECT_LONG")
		}
		name = tenfold(t)
	}
	v := visitSite(t, 1440, 900)
	slower := v.slower()
	before := v.used()
	v.put(name)
	v.until(`"shown" in document.documentElement.dataset`)
	t.Logf("shown after %s ms by the clock", eval[string](v.tab, `document.documentElement.dataset.shown`))
	eval[chromedp.Void](v.tab, `document.getElementById("tab-messages").click()`)
	v.until(`document.querySelector(".counted").dataset.more === "false"`)
	var used time.Duration
	for id, x := range v.used() {
		used += x - before[id]
	}
	t.Logf("all is there after %v of processor time", used)
	if used == 0 || used.Seconds() > slower*2*2*2.5 {
		t.Errorf("all is there after %v of processor time, more than twice 2.5 s on two processors, %.1f times slower, or none", used, slower)
	}
	n := eval[int](v.tab, `+document.querySelector(".listbody").getAttribute("aria-rowcount")`)
	if n < 300_000 {
		t.Fatalf("the list has %d rows", n)
	}
	const frames = 200
	busy := v.busy()
	clock := eval[float64](v.tab, `new Promise((done) => {
		const e = document.querySelector(".listbody"), times = [];
		let n = 0, last = 0;
		const step = (now) => {
			times.push(now - last);
			last = now;
			if (n++ === 200) { times.sort((a, b) => a - b); done(times[100]); return; }
			e.scrollTop = n < 100 ? n * 60 : n / 200 * e.scrollHeight;
			requestAnimationFrame(step);
		};
		requestAnimationFrame(step);
	})`)
	frame := (v.busy() - busy) / frames
	memory := v.memory()
	t.Logf("%d rows: %.1f ms of processor time a frame, %.1f ms by the clock; %d MB", n, frame, clock, memory)
	if frame > slower*2*20 {
		t.Errorf("a frame takes %.1f ms of processor time while the list scrolls, more than twice 20, %.1f times slower", frame, slower)
	}
	if memory == 0 || memory > 300 {
		t.Errorf("the page takes %d MB, more than 300", memory)
	}
	v.listed()
	if last := eval[int](v.tab, `Math.max(...[...document.querySelectorAll(".rows .row:not([hidden])")].map((e) => +e.getAttribute("aria-rowindex")))`); last != n {
		t.Errorf("the last row in sight is %d of %d", last, n)
	}
}

// slower returns how much longer this browser takes to compute than the one for which the
// goals were set, 1 at least.
func (v *visit) slower() float64 {
	v.t.Helper()
	const goal = 350 // ms of processor time
	least := math.Inf(1)
	for range 3 {
		before := v.busy()
		eval[int](v.tab, `(() => { let x = 1; for (let i = 0; i < 2e8; i++) x = Math.imul(x ^ (x >>> 7), 1664525) + 1013904223 | 0; return x; })()`)
		least = min(least, v.busy()-before)
	}
	v.t.Logf("%.0f ms for what takes %d", least, goal)
	return max(1, least/goal)
}

// used returns the processor time that each of this browser's processes for
// pages has used, by its number.
func (v *visit) used() map[int64]time.Duration {
	v.t.Helper()
	all, err := chromedp.CallBrowser(v.ctx, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		v.t.Fatal(err)
	}
	out := map[int64]time.Duration{}
	for _, p := range all.ProcessInfo {
		if p.Type == "renderer" {
			out[p.ID] = time.Duration(p.CPUTime * float64(time.Second))
		}
	}
	return out
}

// memory returns the memory that the largest of this browser's processes for
// pages has to itself, in MB.
func (v *visit) memory() int {
	v.t.Helper()
	largest := 0
	for id := range v.used() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id))
		if err != nil {
			continue // it has ended
		}
		private := 0
		for l := range strings.Lines(string(text)) {
			if f := strings.Fields(l); strings.HasPrefix(f[0], "Private_") {
				n, _ := strconv.Atoi(f[1])
				private += n
			}
		}
		largest = max(largest, private/1024)
	}
	return largest
}

// tenfold writes a capture of ten battles, one after another.
func tenfold(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "large.pcapng")
	w, err := capture.CreateWriter(name, capture.DatagramOptions(capture.WriterOptions{Application: "test"}))
	if err != nil {
		t.Fatal(err)
	}
	d := capture.NewDatagramWriter(w)
	for i := range 10 {
		src, err := capture.Open(fixture("battle_mix.pcap.gz"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			g, err := src.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if err := d.Write(g.Time.Add(time.Duration(i)*2*time.Minute), g.Src, g.Dst, g.Payload); err != nil {
				t.Fatal(err)
			}
		}
		_ = src.Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestWebPhone has every view on the screen of a phone.
func TestWebPhone(t *testing.T) {
	longTest(t)
	v := visitSite(t, 390, 844)
	v.fits()
	v.drop(fixture("battle_mix.pcap.gz"))
	for _, view := range []string{"match", "messages", "stats", "network", "save"} {
		v.view(view)
		if view == "messages" {
			v.listed()
			eval[chromedp.Void](v.tab, `document.querySelectorAll(".rows .row")[5].click()`)
			v.until(`document.querySelector(".hex") !== null`)
		}
		v.fits()
	}
}

// TestWebProgram opens the page that the program serves, with the capture that it
// was given.
func TestWebProgram(t *testing.T) {
	cmd := exec.Command(binary(), "web", fixture("stock_client.pcap"))
	cmd.Env = append(os.Environ(), "PATH="+t.TempDir()) // a folder without a browser
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	v := openSite(t, strings.TrimSpace(address), 1280, 800)
	v.until(`"shown" in document.documentElement.dataset`)
	if got := eval[string](v.tab, `document.querySelector("h1 bdi").textContent + document.querySelector(".bars .title").textContent`); got != "Multi1stock_client.pcap" {
		t.Errorf("the map and the file are %q", got)
	}
	v.do(chromedp.Focus(chromedp.CSS("#time")), chromedp.KeyEvent(kb.End))
	end := eval[float64](v.tab, `+document.querySelector("#time").getAttribute("aria-valuemax")`)
	v.until(fmt.Sprintf(`location.hash === "#t=%.1f"`, end))
	v.do(chromedp.Reload())
	v.until(`"shown" in document.documentElement.dataset`)
	if got := eval[string](v.tab, `document.querySelector(".bars .title").textContent`); got != "stock_client.pcap" {
		t.Errorf("loaded again it shows %q", got)
	}
	v.shows("the page loaded again", end-0.1, end+0.1)
	if got := eval[string](v.tab, `location.href`); strings.Contains(got, "captures/") {
		t.Errorf("the address tells the secret: %s", got)
	}
}
