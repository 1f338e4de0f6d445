package dashboard

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// FuzzScreen shows any datagrams, on terminals of any size and after any keys:
// the lines fit, and hold no control characters.
func FuzzScreen(f *testing.F) {
	for _, name := range []string{"stock_replay.pcap", "join_flow.pcap", "gamespy.pcap", "restart.pcap"} {
		src, err := capture.Open(fixtures.Path("captures/"+name), nil)
		if err != nil {
			f.Fatal(err)
		}
		var all []byte
		for {
			d, err := src.Next()
			if err != nil || len(all) > 6000 {
				break
			}
			plain := d.Payload
			if len(plain) > 0 && plain[0] != '\\' {
				plain = cipher.Decrypt(nil, plain)
			}
			all = append(append(all, byte(len(plain)), byte(len(plain)>>8)), plain...)
		}
		_ = src.Close() // nothing was written
		f.Add(all, uint8(80), uint8(24), "")
		f.Add(all, uint8(23), uint8(7), "?")
		f.Add(all, uint8(200), uint8(60), "\t\ts\tpg/Chat")
	}
	f.Fuzz(func(t *testing.T, b []byte, width, height uint8, keys string) {
		now := began
		d := New(Options{Title: keys, Now: func() time.Time { return now }})
		p := dissect.New(dissect.Config{})
		for number := 1; len(b) > 2 && number < 300; number++ {
			size := min(2+int(b[0])|int(b[1]&3)<<8, len(b))
			plain := b[2:max(size, 2)]
			who := b[1] >> 2
			b = b[max(size, 2):]
			if len(plain) == 0 {
				continue
			}
			payload := plain
			if plain[0] != '\\' {
				payload = cipher.Encrypt(nil, plain)
			}
			g := &dissect.Datagram{
				Number: number, Time: now, Src: netip.AddrPortFrom(kirk.Addr(), 1000+uint16(who)), Dst: host, Payload: payload, Full: len(payload),
			}
			if plain[0] == 1 {
				g.Src, g.Dst = g.Dst, g.Src
			}
			if err := p.Push(g, d.Record); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Duration(number) * 40 * time.Millisecond)
		}
		m := newModel(d)
		fits(t, m, int(width), int(height))
		for _, k := range keys[:min(len(keys), 20)] {
			switch k {
			case '\t':
				press(m, "tab")
			case '\n':
				press(m, "enter")
			default:
				press(m, string(k))
			}
		}
		fits(t, m, int(width), int(height))
	})
}

// fits checks a screen of a size.
func fits(t *testing.T, m *model, width, height int) {
	t.Helper()
	shown := strings.TrimSuffix(screen(m, width, height), "\n")
	lines := strings.Split(shown, "\n")
	if len(lines) > max(height, 1) {
		t.Errorf("%d lines on a terminal of %d", len(lines), height)
	}
	for _, l := range lines {
		if w := lipgloss.Width(l); w > width {
			t.Errorf("%d columns on a terminal of %d: %q", w, width, l)
		}
		if strings.ContainsFunc(l, unicode.IsControl) {
			t.Errorf("a control character: %q", l)
		}
	}
}
