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
	still := func(name string, width, height int) {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, paletted(show(width, height).picture())[0]); err != nil {
			t.Fatal(err)
		}
		write(name, b.Bytes())
	}
	still("session.png", 1280, 800)
	still("session-phone.png", 390, 844)

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
