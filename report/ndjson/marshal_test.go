package ndjson

import (
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain <&> ü 李", `{"t":"plain <&> ü 李"}`},
		{"esc \x1b[2J del \x7f", `{"t":"esc \u001b[2J del \u007f"}`},
		{"\u009b \u202e \u2028", `{"t":"\u009b \u202e \u2028"}`},
		{"\U000E0001 \xff", `{"t":"\udb40\udc01 \ufffd"}`},
	} {
		var got strings.Builder
		err := Write(&got, struct {
			T string `json:"t"`
		}{tt.text})
		if err != nil || got.String() != tt.want+"\n" {
			t.Errorf("%q: got %s, %v", tt.text, &got, err)
		}
	}
}
