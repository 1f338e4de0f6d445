package cli

import "testing"

// What a code page lacks becomes a question mark, not something similar.
func TestInCodePage(t *testing.T) {
	for _, tt := range []struct {
		page     uint32
		in, want string
	}{
		{437, "Jörg → ½x╗ 艦\r\n", "J\x94rg ? \xABx\xBB ?\r\n"},
		{850, "Jörg → ½x╗ \r\n", "J\x94rg ? \xABx\xBB \r\n"},
		{1252, "Jörg → ½x§ \r\n", "J\xF6rg ? \xBDx\xA7 \r\n"},
		{932, "Jörg → 艦\r\n", "J?rg \x81\xA8 \x8A\xCD\r\n"},
	} {
		if got := string(inCodePage(tt.page, []byte(tt.in))); got != tt.want {
			t.Errorf("code page %d: got %q, want %q", tt.page, got, tt.want)
		}
	}
	if got := string(inCodePage(12345, []byte("Jörg"))); got != "J?rg" {
		t.Errorf("an unknown code page: got %q", got)
	}
}
