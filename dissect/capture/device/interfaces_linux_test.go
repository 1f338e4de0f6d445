package device

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		err  error
		kind error
		want string
	}{
		{unix.EPERM, ErrPermission, "no permission to capture: run as root, or allow it once: sudo setcap cap_net_raw+ep "},
		{unix.EACCES, ErrPermission, "no permission to capture: run as root, or allow it once: sudo setcap cap_net_raw+ep "},
		{unix.EAFNOSUPPORT, ErrUnavailable, "no live capture: this kernel has no packet sockets"},
		{unix.EMFILE, ErrUnavailable, "no live capture: too many open files"},
	} {
		if err := refused(tt.err); !errors.Is(err, tt.kind) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %s", tt.err, err, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	if got := describe(&Interface{Name: "lo", Loopback: true}); got != "loopback" {
		t.Errorf("got %s, want loopback", got)
	}
	if got := describe(&Interface{Name: "no such"}); got != "virtual" {
		t.Errorf("got %s, want virtual", got)
	}
}
