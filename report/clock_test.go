package report_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/report"
)

// Times within a second and of others, with the decimals that are wanted.
func TestClock(t *testing.T) {
	c := report.Clock{Layout: time.DateTime}
	at := time.Date(2002, 3, 1, 20, 0, 59, 987654321, time.UTC)
	for _, tt := range []struct {
		time   time.Time
		digits int8
		want   string
	}{
		{at, 9, "2002-03-01 20:00:59.987654321"},
		{at.In(time.FixedZone("", 3600)), 6, "2002-03-01 20:00:59.987654"},
		{at.Add(13 * time.Millisecond), 3, "2002-03-01 20:01:00.000"},
		{at, 0, "2002-03-01 20:00:59"},
		{at, 12, "2002-03-01 20:00:59.987654321"},
		{time.Unix(0, 5000), 6, "1970-01-01 00:00:00.000005"},
	} {
		if got := string(c.Append([]byte("at "), tt.time, tt.digits)); got != "at "+tt.want {
			t.Errorf("%v with %d decimals: got %q, want %q", tt.time, tt.digits, got, tt.want)
		}
	}
}

// Addresses that share a place in the cache do not take each other's text.
func TestAddresses(t *testing.T) {
	var a report.Addresses
	for range 2 {
		for _, text := range []string{"192.0.2.1:22101", "192.0.2.2:22101", "[2001:db8::1]:22101", "192.0.2.1:22165", "[fe80::1%eth0]:1"} {
			if got := string(a.Append(nil, netip.MustParseAddrPort(text))); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		}
	}
	if got := string(a.Append(nil, netip.AddrPort{})); got != (netip.AddrPort{}).String() && got != "" {
		t.Errorf("no address: got %q", got)
	}
}
