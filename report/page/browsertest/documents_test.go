package browsertest

import (
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// documents returns the folder of the site that 'make site' builds.
func documents(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("BCDISSECT_SITE")
	if folder == "" {
		t.Skip("make site builds the documents, and sets BCDISSECT_SITE")
	}
	return folder
}

var (
	linked = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	named  = regexp.MustCompile(`id="?([^\s">]+)`)
)

// TestDocumentLinks follows every link of the documents to its page, picture or heading,
// and those to the source to the file that they name.
func TestDocumentLinks(t *testing.T) {
	folder := documents(t)
	pages := map[string]string{} // by path from the folder
	if err := fs.WalkDir(os.DirFS(folder), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(folder, name))
		pages[name] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	links := 0
	for name, text := range pages {
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			links++
			if source, ok := strings.CutPrefix(m[1], "https://github.com/bcdissect/bcdissect/blob/main/"); ok {
				source, _, _ = strings.Cut(source, "#")
				if _, err := os.Stat(filepath.Join("../../..", source)); err != nil {
					t.Errorf("%s: the repository has no %s", name, source)
				}
			}
			if to.Scheme != "" {
				continue
			}
			target := name
			if to.Path != "" {
				target = path.Join(path.Dir(name), to.Path)
			}
			if _, err := os.Stat(filepath.Join(folder, target)); err != nil {
				t.Errorf("%s: %s leads to nothing", name, m[1])
			}
			if to.Fragment == "" {
				continue
			}
			if !slices.ContainsFunc(named.FindAllStringSubmatch(pages[target], -1), func(id []string) bool { return html.UnescapeString(id[1]) == to.Fragment }) {
				t.Errorf("%s: %s leads to no heading", name, m[1])
			}
		}
	}
	if len(pages) < 50 || links < 1000 {
		t.Errorf("only %d links on %d pages", links, len(pages))
	}
}

// visitDocuments opens a page of the documents from a folder of a server.
func visitDocuments(t *testing.T, name string, width, height int) *tab {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/some/docs/", http.FileServer(http.Dir(documents(t)))))
	t.Cleanup(server.Close)
	p := newTab(t, width, height)
	p.do(chromedp.Navigate(server.URL + "/some/docs/" + name))
	p.until(`document.readyState === "complete"`)
	p.keeps(server.URL + "/some/docs/")
	return p
}

// TestDocumentSearch looks for a word, goes to the page that has it, and for one that
// no page has.
func TestDocumentSearch(t *testing.T) {
	p := visitDocuments(t, "index.html", 1280, 800)
	p.until(`!document.querySelector("form[role=search]").hidden`)
	p.do(chromedp.SendKeys(chromedp.CSS("input[type=search]"), "anonymize"))
	p.until(`[...document.querySelectorAll("#found a")].some((a) => a.textContent.length > 3 && a.pathname.endsWith("/captures.html"))`)
	p.do(chromedp.Click(chromedp.CSS(`#found a[href$="captures.html"]`)))
	p.until(`location.pathname.endsWith("/captures.html") && document.readyState === "complete"`)
	p.do(chromedp.SendKeys(chromedp.CSS("input[type=search]"), "日本"))
	p.until(`document.getElementById("found").textContent.startsWith("No page has")`)
}

// TestDocumentLook reads the colours of all text, dark and light, on a desk and on a
// phone, where nothing may be wider than the screen.
func TestDocumentLook(t *testing.T) {
	for _, name := range []string{"index.html", "relay.html", "session.html", "tables.html", "decisions/index.html"} {
		for _, width := range []int{1280, 390} {
			p := visitDocuments(t, name, width, 844)
			for _, theme := range []string{"dark", "light"} {
				p.prefers("", "prefers-color-scheme="+theme)
				for _, s := range eval[[]string](p, contrast) {
					t.Errorf("%s, %s: %s", name, theme, s)
				}
			}
			if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s is %d pixels wide on a screen of %d", name, wide, width)
			}
			if n := eval[int](p, `document.querySelectorAll("h1").length`); n != 1 {
				t.Errorf("%s has %d headings of the first order", name, n)
			}
			if width == 1280 {
				if n := eval[int](p, `document.querySelectorAll("nav a[aria-current]").length`); n != 1 && name != "index.html" && !strings.Contains(name, "/") {
					t.Errorf("the menu of %s marks %d pages", name, n)
				}
			}
		}
	}
}

// TestDocumentsWithoutScript reads the documents in a browser that runs no script.
func TestDocumentsWithoutScript(t *testing.T) {
	p := visitDocuments(t, "relay.html", 1280, 800)
	p.call(chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	p.do(chromedp.Reload())
	p.do(chromedp.Click(chromedp.CSS(`nav a[href$="replay.html"]`)))
	p.do(chromedp.WaitVisible(chromedp.CSS(`nav a[href$="replay.html"][aria-current]`)))
	if n, err := chromedp.Run(p.ctx, chromedp.Evaluate[int](`document.querySelector("main").innerText.length`)); err != nil || n < 1000 {
		t.Errorf("the page has %d letters, %v", n, err)
	}
}
