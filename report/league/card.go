package league

import (
	"bytes"
	"fmt"
	"html"

	"github.com/bcdissect/bcdissect/dissect/league"
)

// card draws a picture of a match, in the size that sites show for a link.
func (s *site) card(m *league.Match) []byte {
	const rows = 6 // maximum number of players
	var b bytes.Buffer
	line := func(x, y, size int, color, more, text string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="%d" fill="%s"%s>%s</text>`+"\n", x, y, size, color, more, html.EscapeString(text))
	}
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630" font-family="system-ui, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif">` + "\n")
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(s.title(m)+": "+text(m.Detail.Verdict)))
	b.WriteString(`<rect width="1200" height="630" fill="#07090f"/><rect x="40" y="36" width="160" height="26" rx="13" fill="#a99fd8"/><rect x="214" y="36" width="880" height="26" fill="#6f7aa5" opacity=".4"/><rect x="1108" y="36" width="52" height="26" rx="13" fill="#c9a59b"/>` + "\n")
	name := text(m.Detail.Map)
	if name == "" {
		name = "Unknown map"
	}
	line(40, 140, 64, "#e7ebf3", ` font-weight="700"`, short(name, 32))
	line(40, 186, 28, "#9fabc0", "", short(text(s.League.Title), 40)+" · "+day(m.Begin))
	line(40, 252, 40, "#ffc857", ` font-weight="650"`, short(text(m.Detail.Verdict), 52))
	for i, p := range ordered(m) {
		if i == rows {
			line(40, 316+i*50, 24, "#9fabc0", "", fmt.Sprintf("and %d more", len(m.Parts)-rows))
			break
		}
		y := 316 + i*50
		line(40, y, 34, "#e7ebf3", "", short(text(s.Players[p.Player].Name), 30))
		line(860, y, 34, "#e7ebf3", ` text-anchor="end"`, fmt.Sprintf("%d", p.Kills))
		line(880, y, 24, "#9fabc0", "", "kills")
		line(1060, y, 34, "#e7ebf3", ` text-anchor="end"`, fmt.Sprintf("%d", p.Deaths))
		line(1080, y, 24, "#9fabc0", "", "deaths")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// short cuts a text to the length that fits on a card.
func short(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
