package browsertest

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	html "github.com/buildkite/terminal-to-html/v3"
	"github.com/chromedp/chromedp"
)

// TestPictures makes the pictures of the documents from the sample match. Only
// "make pictures" runs it: browsers draw letters differently, so that the pictures
// change with each of them.
func TestPictures(t *testing.T) {
	folder := os.Getenv("BCDISSECT_PICTURES")
	if folder == "" {
		t.Skip("\"make pictures\" makes them")
	}
	file := filepath.Join(t.TempDir(), "match.html")
	program(t, "demo", "session", "-o", file)
	show := func(width, height int) *tab {
		p := newTab(t, width, height)
		p.load("file://"+file+"#t=19", "file://"+file)
		p.do(chromedp.Click(chromedp.CSS(".roster button:nth-child(2)")))
		p.rests()
		eval[chromedp.Void](p, `document.querySelector(".roster button:nth-child(2)").blur()`)
		eval[chromedp.Void](p, `document.querySelector(".roster").closest("section").scrollIntoView()`)
		return p
	}
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	still := func(name string, p *tab) {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, paletted(p.picture())[0]); err != nil {
			t.Fatal(err)
		}
		write(name, b.Bytes())
	}
	still("session.png", show(1280, 800))
	still("session-phone.png", show(390, 844))
	still("terminal.png", terminal(t))
	still("overlay.png", overlay(t))

	var frames []image.Image
	p := show(640, 480)
	for i := range 28 {
		p.link(fmt.Sprintf("#t=%.1f", 14+float64(i)/4))
		p.rests()
		frames = append(frames, p.picture())
	}
	var b bytes.Buffer
	moving := gif.GIF{Image: paletted(frames...)}
	for range frames {
		moving.Delay = append(moving.Delay, 25) // hundredths of a second
	}
	if err := gif.EncodeAll(&b, &moving); err != nil {
		t.Fatal(err)
	}
	write("session.gif", b.Bytes())
}

// terminal shows what session prints on a terminal, in its colours.
func terminal(t *testing.T) *tab {
	t.Helper()
	text := append([]byte("$ bcdissect demo session\n"), program(t, "demo", "session", "--color=always")...)
	page := `<!doctype html><meta charset="utf-8"><style>
		body { background: #14161b; margin: 0; padding: 16px 20px; font: 14px/1.35 "DejaVu Sans Mono", monospace; color: #d6d9e0 }
		.term-fg1 { font-weight: bold } .term-fg2 { opacity: .65 }
		.term-fg31, .term-fgi91 { color: #ff7a76 } .term-fg32, .term-fgi92 { color: #7fd88f } .term-fg33, .term-fgi93 { color: #e6c45c }
		.term-fg34, .term-fgi94 { color: #7fb0ff } .term-fg35, .term-fgi95 { color: #d59bf6 } .term-fg36, .term-fgi96 { color: #6fd3e0 }
	</style><pre>` + html.Render(text) + `</pre>`
	file := filepath.Join(t.TempDir(), "terminal.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, 1010, 750)
	p.do(chromedp.Navigate("file://" + file))
	return p
}

// overlay shows the overlay of a game of eight bots, over a blue area in place of
// the game's picture.
func overlay(t *testing.T) *tab {
	t.Helper()
	b := newBroadcast(t)
	p := newTab(t, 1280, 720)
	p.do(chromedp.Navigate(b.page + "overlay"))
	p.until(`document.documentElement.dataset.ready === "yes"`)
	bots := exec.Command(binary(), "bots", b.host, "--dialect", "openbc", "--script", script(t), "--for", "60s")
	if err := bots.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bots.Process.Kill() })
	p.until(`document.querySelectorAll("#kills .line").length > 2 && document.querySelectorAll("#chat .line").length > 2`)
	eval[chromedp.Void](p, `document.body.style.background = "#18304a"`)
	p.rests()
	return p
}

// picture returns what the tab shows.
func (p *tab) picture() image.Image {
	p.t.Helper()
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

// paletted returns pictures in the 255 colours that most of their pixels have.
func paletted(frames ...image.Image) (all []*image.Paletted) {
	const shown = 0xF8 // the bits of a channel that tell colours apart
	count := map[color.RGBA]int{}
	eachPixel(frames, func(f image.Image, x, y int) {
		r, g, b, _ := f.At(x, y).RGBA()
		count[color.RGBA{uint8(r>>8) & shown, uint8(g>>8) & shown, uint8(b>>8) & shown, 0xFF}]++
	})
	often := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var colours color.Palette
	for _, c := range often[:min(len(often), 255)] {
		colours = append(colours, c)
	}
	to := map[image.Image]*image.Paletted{}
	for _, f := range frames {
		to[f] = image.NewPaletted(f.Bounds(), colours)
		all = append(all, to[f])
	}
	nearest := map[color.Color]uint8{}
	eachPixel(frames, func(f image.Image, x, y int) {
		c := f.At(x, y)
		at, known := nearest[c]
		if !known {
			at = uint8(colours.Index(c))
			nearest[c] = at
		}
		to[f].SetColorIndex(x, y, at)
	})
	return all
}

func eachPixel(frames []image.Image, visit func(f image.Image, x, y int)) {
	for _, f := range frames {
		for y := f.Bounds().Min.Y; y < f.Bounds().Max.Y; y++ {
			for x := f.Bounds().Min.X; x < f.Bounds().Max.X; x++ {
				visit(f, x, y)
			}
		}
	}
}
