package cryptopan_test

import (
	"math/bits"
	"net/netip"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/anonymize/cryptopan"
)

// published is the key of the sample trace of the scheme's authors.
var published = [cryptopan.KeySize]byte{
	21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
	216, 152, 143, 131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
}

// The addresses are from the same trace, raw and sanitized.
func TestPublished(t *testing.T) {
	m := cryptopan.New(published)
	for from, want := range map[string]string{
		"128.11.68.132":   "135.242.180.132",
		"129.118.74.4":    "134.136.186.123",
		"130.132.252.244": "133.68.164.234",
		"141.223.7.43":    "141.167.8.160",
		"141.233.145.108": "141.129.237.235",
		"152.163.225.39":  "151.140.114.167",
		"192.102.249.13":  "252.138.62.131",
		"204.184.162.189": "243.192.77.90",
	} {
		b := netip.MustParseAddr(from).As4()
		m.Map(b[:])
		if got := netip.AddrFrom4(b).String(); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}

// Two addresses share as many leading bits afterwards as before.
func TestPrefixes(t *testing.T) {
	m := cryptopan.New(published)
	list := []string{
		"2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "2001:db8:8000::1", "2001:db9::1", "fe80::1", "::1", "::",
		"10.0.0.1", "10.0.0.2", "10.0.128.1", "10.1.0.1", "11.0.0.1", "138.0.0.1", "0.0.0.0", "255.255.255.255",
	}
	changed := 0
	for _, a := range list {
		for _, b := range list {
			x, y := netip.MustParseAddr(a).AsSlice(), netip.MustParseAddr(b).AsSlice()
			if len(x) != len(y) {
				continue
			}
			before := shared(x, y)
			m.Map(x)
			m.Map(y)
			if after := shared(x, y); after != before {
				t.Errorf("%s and %s share %d bits, afterwards %d", a, b, before, after)
			}
			if now, _ := netip.AddrFromSlice(x); now.String() != a {
				changed++
			}
		}
	}
	if want := 2 * 8 * 8; changed != want {
		t.Errorf("%d addresses changed, want %d", changed, want)
	}
}

// shared counts the leading bits that two addresses share.
func shared(a, b []byte) (n int) {
	for i := range a {
		if d := a[i] ^ b[i]; d != 0 {
			return n + bits.LeadingZeros8(d)
		}
		n += 8
	}
	return n
}
