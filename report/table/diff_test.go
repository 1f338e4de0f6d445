package table

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// On a narrow terminal, in colour, all counts are there and no line is too long.
func TestDiff(t *testing.T) {
	a, b := diff.New()
	for i, c := range []*diff.Capture{a, b} {
		recorded.Records(t, []string{"stock_client.pcap", "two_teams.pcap"}[i], dissect.Config{}, func(r *dissect.Record) { _ = c.Record(r) })
	}
	r := diff.Compare(a, b, diff.Options{})
	var out strings.Builder
	if err := Diff(&out, r, [2]string{"a.pcap", "b.pcap"}, nil, Options{Color: true, Width: 80}); err != nil {
		t.Fatal(err)
	}
	var w widths
	row := ""
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		for {
			from := strings.Index(line, "\x1b[")
			if from < 0 {
				break
			}
			to := strings.IndexByte(line[from:], 'm')
			line = line[:from] + line[from+to+1:]
		}
		if n := w.of([]byte(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasPrefix(line, " Cady2") {
			row = strings.Join(strings.Fields(line), " ")
		}
	}
	// Cady2 of the first capture sent 31 messages, as the log also shows.
	p := r.Pairs[1].Ways[0]
	if p.Equal+p.Differ+p.OnlyA != 31 {
		t.Errorf("%+v", p)
	}
	if fields := strings.Fields(row); len(fields) < 8 {
		t.Errorf("counts are missing: %q", row)
	}
}

// A host may send anything as a GameSpy key or value: the terminal shows control
// characters and does not obey them.
func TestDiffEscapesGameSpy(t *testing.T) {
	host, client := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("192.0.2.2:50000")
	replies := []string{ // the characters are Windows-1252, in which 81 is U+0081
		"\\hostname\\A\\k\x1b[31my\\1\\r\x81z\\2\\nl\r\n\\4\\final\\",
		"\\hostname\\B\x1b]0;x\a\\k\x1b[31my\\3\\r\x81z\\5\\nl\r\n\\6\\final\\",
	}
	push := func(i int, sink func(*dissect.Record) error) {
		p := dissect.New(dissect.Config{})
		for n, text := range []string{`\status\`, replies[i]} {
			d := dissect.Datagram{Number: n + 1, Time: time.Unix(int64(n), 0), Src: client, Dst: host, Payload: []byte(text), Full: len(text)}
			if n == 1 {
				d.Src, d.Dst = host, client
			}
			if err := p.Push(&d, sink); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b := diff.New()
	push(0, a.Record)
	push(1, b.Record)
	r := diff.Compare(a, b, diff.Options{})
	for i := range replies {
		push(i, diff.NewFinder(r, i == 1).Record)
	}
	r.Explain()
	var out strings.Builder
	if err := Diff(&out, r, [2]string{"a.pcap", "b.pcap"}, nil, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`hostname: A in A, B\x1b]0;x\x07 in B`, `k\x1b[31my: 1 in A, 3 in B`, `r\u{81}z: 2 in A, 5 in B`, `nl\x0d\x0a: 4 in A, 6 in B`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\a\r\u0081") {
		t.Errorf("the terminal gets %q", out.String())
	}
}
