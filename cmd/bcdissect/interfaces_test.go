package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// cards are interfaces as a system may have them.
var cards = []device.Interface{
	{Name: "lo", Description: "loopback", Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")}, Up: true, Running: true, Loopback: true},
	{Name: "eth0", Up: true, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}},
	{Name: "ä\x1b0", Description: "Büro\n", Problem: "it is down"},
}

func TestDrawInterfaces(t *testing.T) {
	var out strings.Builder
	if err := drawInterfaces(&out, listed(cards, nil, "eth0")); err != nil {
		t.Fatal(err)
	}
	const want = `
    name  state          opens  addresses      description
 1  lo    loopback       yes    127.0.0.1 ::1  loopback
*2  eth0  not connected  yes    192.0.2.7      
 3  ä?0   down           no                    Büro
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWriteInterfaces(t *testing.T) {
	var out strings.Builder
	if err := ndjson.Write(&out, listed(cards, nil, "eth0")...); err != nil {
		t.Fatal(err)
	}
	const want = `{"number":1,"name":"lo","description":"loopback","addresses":["127.0.0.1","::1"],"up":true,"connected":true,"loopback":true,"default":false,"openable":true}
{"number":2,"name":"eth0","description":"","addresses":["192.0.2.7"],"up":true,"connected":false,"loopback":false,"default":true,"openable":true}
{"number":3,"name":"ä?0","description":"Büro","addresses":[],"up":false,"connected":false,"loopback":false,"default":false,"openable":false,"hint":"it is down"}
`
	if got := out.String(); got != want {
		t.Errorf("got %s", got)
	}
}

// driverError is an error with a way around it.
type driverError struct{}

func (driverError) Error() string  { return "no driver" }
func (driverError) Remedy() string { return "read a file" }

// An error common to all interfaces is listed for each.
func TestListedAllClosed(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("no permission"), "no permission"},
		{fmt.Errorf("live: %w", driverError{}), "live: no driver; read a file"},
	} {
		for _, i := range listed(cards, tt.err, "") {
			if i.Openable || i.Hint != tt.want {
				t.Errorf("%s: got %v and %q, want %q", i.Name, i.Openable, i.Hint, tt.want)
			}
		}
	}
}

func TestInterfaces(t *testing.T) {
	var out, errs bytes.Buffer
	// Without permission the status is 1, but there is a list.
	if code := run([]string{"interfaces"}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK && errs.Len() == 0 {
		t.Errorf("exit status %d without a reason", code)
	}
	if !strings.Contains(out.String(), "loopback") {
		t.Errorf("got %s, want the loopback", out.String())
	}
}
