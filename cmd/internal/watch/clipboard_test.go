package watch

import "testing"

func TestClipboard(t *testing.T) {
	for _, test := range []struct {
		system string
		env    map[string]string
		want   string
	}{
		{"windows", nil, "clip.exe"},
		{"darwin", nil, "pbcopy"},
		{"linux", nil, ""},
		{"linux", map[string]string{"DISPLAY": ":0"}, "xclip"},
		{"linux", map[string]string{"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "wl-copy"},
		{"linux", map[string]string{"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, ""}, // that of another machine
		{"darwin", map[string]string{"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, ""},
	} {
		got := ""
		if args := clipboard(test.system, func(name string) string { return test.env[name] }); args != nil {
			got = args[0]
		}
		if got != test.want {
			t.Errorf("%s, %v: %q, want %q", test.system, test.env, got, test.want)
		}
	}
}
