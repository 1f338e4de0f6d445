package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a.pcap: no such file":      "a.pcap: no such file",
		"a\n\tb: é → Ω\u00a0":       "a  b: é → Ω",
		"\x1b[2J\x07\x7f\u009b":     "?[2J???",
		"gpj\u202ecap\u2066\u200b":  "gpj?cap??",
		"two\u2028lines\u2029.":     "two?lines?.",
		"not UTF-8: \xff\xc3":       "not UTF-8: \ufffd\ufffd",
		"\ufeffbom, private \ue000": "?bom, private ?",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestSay(t *testing.T) {
	var b strings.Builder
	Say(&b, "%s: %v", "a\n\x1b[2J", errors.New("bad"))
	if b.String() != "bcdissect: a ?[2J: bad\n" {
		t.Errorf("%q", b.String())
	}
}
