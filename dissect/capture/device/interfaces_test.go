package device

import (
	"errors"
	"net"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	all := []Interface{{Name: "eth0"}, {Name: "Ethernet 2", handle: `\Device\NPF_{1}`}, {Name: "1"}, {Name: "ETH0"}}
	for name, want := range map[string]string{
		"eth0": "eth0", "ETH0": "ETH0", "Eth0": "eth0", "ethernet 2": "Ethernet 2", `\Device\NPF_{1}`: "Ethernet 2",
		"1": "1", "2": "Ethernet 2", "4": "ETH0",
	} {
		if got, err := choose(all, name); err != nil || got.Name != want {
			t.Errorf("%s: got %v and %v, want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"", "eth", "0", "5", "-1", "99999999999999999999"} {
		_, err := choose(all, name)
		if want := name + ": no such interface; there are eth0, Ethernet 2, 1, ETH0"; !errors.Is(err, ErrNoInterface) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if _, err := choose(make([]Interface, 30), "x"); !strings.HasSuffix(err.Error(), " and 10 more") {
		t.Errorf("got %v, want not all of them", err)
	}
	if _, err := choose(nil, "x"); !strings.HasSuffix(err.Error(), "there are none") {
		t.Errorf("got %v, want none", err)
	}
}

// Every system has a loopback interface, and problems are described in a
// sentence or two.
func TestInterfaces(t *testing.T) {
	all, err := Interfaces()
	if err != nil {
		if !errors.Is(err, ErrPermission) && !errors.Is(err, ErrUnavailable) || strings.Count(err.Error(), "\n") > 1 {
			t.Errorf("got %v", err)
		}
	}
	loopback := false
	for _, i := range all {
		if i.Name == "" {
			t.Errorf("got %+v", i)
		}
		loopback = loopback || i.Loopback
	}
	if !loopback {
		t.Errorf("got %+v, want a loopback among them", all)
	}
	name, err := Default()
	if err != nil {
		if !strings.Contains(err.Error(), "choose one of") {
			t.Errorf("got %v", err)
		}
		return
	}
	if _, err := net.InterfaceByName(name); err != nil {
		t.Errorf("got %s: %v", name, err)
	}
}

func TestOpenUnknown(t *testing.T) {
	_, err := Open(Options{Interface: "no such"})
	if !errors.Is(err, ErrNoInterface) && !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
