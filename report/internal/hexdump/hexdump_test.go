package hexdump

import (
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	tests := []struct {
		name   string
		b      string
		first  int
		indent string
		want   string
	}{
		{"nothing", "", 0, "", ""},
		{
			"torpedo", "\x19\x0d\x00\x00\x40\x02\x01\xdf\x87\x11\xff\xff\x03\x40\x00\x88\xd8\x5c", 0, "",
			"0000  19 0d 00 00 40 02 01 df  87 11 ff ff 03 40 00 88  ....@........@..\n" +
				"0010  d8 5c                                             .\\\n",
		},
		{
			"a whole row", "0123456789abcdef", 0, "  ",
			"  0000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef\n",
		},
		{
			"half a row and an offset", "01234567", 0x1FFF8, "",
			"1fff8  30 31 32 33 34 35 36 37                           01234567\n",
		},
		{
			"what a terminal would obey", "\x1b[2J\x07\x7f\x9b~ ", 0xFF, "",
			"00ff  1b 5b 32 4a 07 7f 9b 7e  20                       .[2J...~ \n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(Append(nil, []byte(test.b), test.first, test.indent)); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	if got := string(Append([]byte("x: "), []byte("y"), 0, "")); !strings.HasPrefix(got, "x: 0000  79 ") {
		t.Errorf("got %q", got)
	}
}
