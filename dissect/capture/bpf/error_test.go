package bpf

import (
	"errors"
	"strings"
	"testing"
)

// Rejected expressions, with the mark below the mistake.
func TestRefused(t *testing.T) {
	const known = "there are ip, ip6, udp, tcp, src, dst, host, net, port, portrange, and, or, not"
	for _, c := range []struct{ expr, mark, message string }{
		{`arp`, `^~~`, `"arp" is not supported; ` + known},
		{`port 1 or arp`, `          ^~~`, `"arp" is not supported; ` + known},
		{`UDP port 5`, `^~~`, `"UDP" is written in lower case: udp`},
		{`host example.org`, `     ^~~~~~~~~~~`, `names of hosts are not looked up; write the address`},
		{`port http`, `     ^~~~`, `names of services are not looked up; write the number`},
		{`portrange a-b`, `          ^~~`, `names of services are not looked up; write the number`},
		{`net eth`, `    ^~~`, `names of networks are not looked up; write the address`},
		{`udp host 10.0.0.1`, `^~~`, `udp does not go with host; write udp and host ...`},
		{`ip port 53`, `^~`, `ip does not go with port; write ip and port ...`},
		{`ip6 host 10.0.0.1`, `         ^~~~~~~~`, `this is an IPv4 address, and ip6 stands before it`},
		{`ip host ::1`, `        ^~~`, `this is an IPv6 address, and ip stands before it`},
		{`host 10.0.0.1/8`, `             ^`, `host wants one address; for a network, write net`},
		{`net 10.0.0.1/8`, `    ^~~~~~~~~~`, `the address has bits beyond the first 8; write 10.0.0.0/8`},
		{`net 10.0.0.0/33`, `             ^~`, `want a number of bits, at most 32`},
		{`net ::/129`, `       ^~~`, `want a number of bits, at most 128`},
		{`net 10/x`, `       ^`, `want a number of bits, at most 32`},
		{`net 10/`, `       ^`, `want a number of bits, at most 32`},
		{`host 10.0`, `     ^~~~`, `this is not a whole address; write net 10.0`},
		{`host 10`, `     ^~`, `this is not an address; write port 10 or net 10`},
		{`src 22101`, `    ^~~~~`, `this is not an address; write port 22101`},
		{`host 256.1.1.1`, `     ^~~~~~~~~`, `this is not an IP address`},
		{`host 10.0.0.01`, `     ^~~~~~~~~`, `this is not an IP address`},
		{`port 65536`, `     ^~~~~`, `the largest port is 65535`},
		{`port 0x35`, `     ^~~~`, `this is not a port; ports are decimal numbers`},
		{`port 053`, `     ^~~`, `this is not a port; ports are decimal numbers`},
		{`port 1-5`, `     ^~~`, `these are two ports; write portrange 1-5`},
		{`portrange 1-70000`, `          ^~~~~~~`, `the largest port is 65535`},
		{`portrange 1 - 5`, `            ^`, `"-" is not supported; ` + known},
		{`portrange 1-2-3`, `          ^~~~~`, `this is not a port; ports are decimal numbers`},
		{`port 10.0.0.1`, `     ^~~~~~~~`, `this is an address, and port goes before ports; write host 10.0.0.1`},
		{`port`, `    ^`, `want the number of a port`},
		{`portrange`, `         ^`, `want two ports, such as 22101-22110`},
		{`host`, `    ^`, `want an address`},
		{`net`, `   ^`, `want a network, such as 10.0.0.0/8`},
		{`src`, `   ^`, `want an address`},
		{`udp src`, `       ^`, `want port or portrange`},
		{`udp src 22101`, `        ^~~~~`, `want port or portrange, got "22101"`},
		{`udp 22101`, `    ^~~~~`, `missing qualifier; write port 22101`},
		{`udp 10.0.0.1`, `    ^~~~~~~~`, `missing qualifier; write host 10.0.0.1`},
		{`udp or 53`, `       ^~`, `missing qualifier; write port 53 or net 53`},
		{`22101`, `^~~~~`, `missing qualifier; write port 22101`},
		{`10.0.0.1`, `^~~~~~~~`, `missing qualifier; write host 10.0.0.1`},
		{`udp tcp`, `    ^~~`, `want and, or or the end, got "tcp"`},
		{`port 5 6`, `       ^`, `want and, or or the end, got "6"`},
		{`port 5 game`, `       ^~~~`, `"game" is not supported; ` + known},
		{`(udp`, `^`, `this ( is not closed`},
		{`udp)`, `   ^`, `there is no ( for this )`},
		{`(udp tcp)`, `     ^~~`, `want and, or or ), got "tcp"`},
		{`()`, ` ^`, `want a condition, such as udp port 22101, got ")"`},
		{`not`, `   ^`, `want a condition, such as udp port 22101`},
		{`and`, `^~~`, `want a condition, such as udp port 22101, got "and"`},
		{`udp and`, `       ^`, `want a condition, such as udp port 22101`},
		{`udp and or tcp`, `        ^~`, `want a condition, such as udp port 22101, got "or"`},
		{`udp port (53 or`, `               ^`, `want the number of a port`},
		{`udp port (53 or tcp)`, `                ^~~`, `want the number of a port, got "tcp"`},
		{`port 53 or (54 or port 55)`, `                  ^~~~`, `want the number of a port, got "port"`},
		{`(port 53) or 54`, `             ^~`, `missing qualifier; write port 54 or net 54`},
		{`ip[0] = 1`, `  ^`, `bytes at an offset, lengths and arithmetic are not supported`},
		{`port 53 & 1`, `        ^`, `bytes at an offset, lengths and arithmetic are not supported`},
		{`port != 53`, `     ^`, `bytes at an offset, lengths and arithmetic are not supported`},
		{`udp; tcp`, `   ^`, `this character has no meaning here`},
		{`été`, `^`, `this character has no meaning here`},
		{`src or src port 5`, `       ^~~`, `want the other side: src or dst, src and dst`},
		{`src or port 5`, `    ^~`, `want an address, got "or"`},
		{`net 10.0.0.0 mask 255.0.0.0`, `             ^~~~`, `"mask" is not supported; ` + known},
		{`ether host 00:11:22:33:44:55`, `^~~~~`, `"ether" is not supported; ` + known},
		{`host 00:11:22:33:44:55`, `     ^~~~~~~~~~~~~~~~~`, `this is not an IP address`},
		{`tcp and udp`, `^~~~~~~~~~~`, `no packet on this kind of network can match`},
		{`net 300`, `    ^~~`, `this is not an IP address`},
		{`port ((53)`, `     ^`, `this ( is not closed`},
		{`abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz`, `^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~`, `"abcdefghijklmnopqrstuvwxyzabcdef"... is not supported; ` + known},
		{`host fe80::1%eth0`, `            ^`, `bytes at an offset, lengths and arithmetic are not supported`},
	} {
		_, err := Compile(c.expr, 1, 0)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v, want %q", c.expr, err, c.message)
			continue
		}
		checkError(t, e)
		if want := c.expr + "\n" + c.mark; e.Caret() != want || e.Message != c.message {
			t.Errorf("got\n%s\n%s\nwant\n%s\n%s", e.Caret(), e.Message, want, c.message)
		}
	}
}

// Expressions that cannot match on a link type are rejected for it.
func TestNothing(t *testing.T) {
	for link, exprs := range map[int][]string{
		1:   {"tcp and udp", "not (udp or not udp)", "port 5 and ip and ip6"},
		101: {"ip and ip6", "host ::1 and host 10.0.0.1"},
		228: {"ip6", "host ::1", "not ip"},
		229: {"ip", "net 10", "net 10.0.0.0/8 and port 5"},
	} {
		for _, expr := range exprs {
			_, err := Compile(expr, link, 0)
			var e *Error
			if !errors.As(err, &e) || e.Message != "no packet on this kind of network can match" || e.Column != 1 || e.Length != len(expr) {
				t.Errorf("%q on link %d: got %v", expr, link, err)
			}
		}
	}
}

// Caret shows the relevant part of a long expression, without control
// characters and characters of zero width.
func TestCaret(t *testing.T) {
	long := "port 1" + strings.Repeat(" or 1", 50)
	for _, c := range []struct{ expr, want string }{
		{"udp\t\x1b[31m", "udp ·[31m\n    ^"},
		{"udp\nport\tgame", "udp port game\n         ^~~~"},
		{"é udp", "e· udp\n ^"},
		{"port 5 \xff\xfe", "port 5 ��\n       ^"},
		{"udp 　", "udp  \n    ^"},
		{long + " or game " + long, "..." + long[len(long)-56:] + " or game " + long[:55] + "...\n" + strings.Repeat(" ", 63) + "^~~~"},
		{long + " or", "..." + long[len(long)-57:] + " or\n" + strings.Repeat(" ", 63) + "^"},
		{"net" + long, "netport 1" + (" or 1" + strings.Repeat(" or 1", 50))[:51] + "...\n^~~~~~~"},
	} {
		_, err := Compile(c.expr, 1, 0)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v", c.expr, err)
			continue
		}
		checkError(t, e)
		if got := e.Caret(); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.expr, got, c.want)
		}
	}
}
