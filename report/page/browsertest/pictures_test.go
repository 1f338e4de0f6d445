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
	"path/filepath"
	"slices"
	"testing"

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
	write("session.png", show(1280, 800).picture())
	write("session-phone.png", show(390, 844).picture())

	var frames []image.Image
	p := show(960, 600)
	for i := range 40 {
		p.link(fmt.Sprintf("#t=%.1f", 14+float64(i)/5))
		p.rests()
		frame, err := png.Decode(bytes.NewReader(p.picture()))
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	moving, err := animate(frames, 20)
	if err != nil {
		t.Fatal(err)
	}
	write("session.gif", moving)
}

// picture returns what the tab shows, as PNG.
func (p *tab) picture() []byte {
	p.t.Helper()
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// animate returns pictures as a GIF, each shown for a delay in hundredths of a
// second, in the 255 colours that they have most.
func animate(frames []image.Image, delay int) ([]byte, error) {
	const shown = 0xF8 // the bits of a channel that tell colours apart
	count := map[color.RGBA]int{}
	for _, f := range frames {
		for y := f.Bounds().Min.Y; y < f.Bounds().Max.Y; y++ {
			for x := f.Bounds().Min.X; x < f.Bounds().Max.X; x++ {
				r, g, b, _ := f.At(x, y).RGBA()
				count[color.RGBA{uint8(r>>8) & shown, uint8(g>>8) & shown, uint8(b>>8) & shown, 0xFF}]++
			}
		}
	}
	often := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var colours color.Palette
	for _, c := range often[:min(len(often), 255)] {
		colours = append(colours, c)
	}
	nearest := map[color.Color]uint8{}
	g := gif.GIF{}
	for _, f := range frames {
		p := image.NewPaletted(f.Bounds(), colours)
		for y := f.Bounds().Min.Y; y < f.Bounds().Max.Y; y++ {
			for x := f.Bounds().Min.X; x < f.Bounds().Max.X; x++ {
				c := f.At(x, y)
				at, known := nearest[c]
				if !known {
					at = uint8(colours.Index(c))
					nearest[c] = at
				}
				p.SetColorIndex(x, y, at)
			}
		}
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, delay)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &g)
	return b.Bytes(), err
}
