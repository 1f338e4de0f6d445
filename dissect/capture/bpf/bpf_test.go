package bpf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/bcdissect/bcdissect/fixtures"
)

// The matches of filters among handmade packets. Links without ARP, VLAN tags
// or IPv6 have fewer packets.
func TestMeaning(t *testing.T) {
	const (
		udp4 = "udp|udp back|udp dns|udp both ports|udp options|udp all options|udp first fragment|udp later fragment|udp last fragment|udp whole|same address|zero address"
		tcp4 = "tcp|tcp options"
		all4 = udp4 + "|" + tcp4 + "|sctp|icmp"
		all6 = "udp6|udp6 back|udp6 loopback|tcp6|sctp6|icmp6|udp6 fragment|tcp6 fragment|udp6 options"
		game = "udp|udp both ports|udp options|udp all options|udp first fragment|udp whole"
		rest = "arp|arp back|rarp|vlan|other"
	)
	cases := []struct{ expr, want string }{
		{"", all4 + "|" + all6 + "|" + rest},
		{"ip", all4},
		{"ip6", all6},
		{"not ip", all6 + "|" + rest},
		{"udp", udp4 + "|udp6|udp6 back|udp6 loopback|udp6 fragment"},
		{"tcp", tcp4 + "|tcp6|tcp6 fragment"},
		{"ip6 and not udp", "tcp6|sctp6|icmp6|tcp6 fragment|udp6 options"},
		{"port 22101", game + "|udp back|tcp|tcp options|sctp|udp6|udp6 back|udp6 loopback|tcp6"},
		{"udp port 22101", game + "|udp back|udp6|udp6 back|udp6 loopback"},
		{"ip and udp src port 22101", game},
		{"udp dst port 22101", "udp back|udp both ports|udp6 back|udp6 loopback"},
		{"src and dst port 22101", "udp both ports|udp6 loopback"},
		{"dst or src port 53", "udp dns|same address|sctp6"},
		{"portrange 50-70", "udp dns|same address|zero address|sctp6"},
		{"portrange 70-50", "udp dns|same address|zero address|sctp6"},
		{"tcp src portrange 6500-6501", "tcp options"},
		{"src portrange 68", "zero address"},
		{"host 192.168.1.20", "udp dns|udp both ports|sctp|arp|arp back"},
		{"src host 192.168.1.20", "udp dns|sctp|arp back"},
		{"src 192.168.1.20", "udp dns|sctp|arp back"},
		{"ip host 192.168.1.20", "udp dns|udp both ports|sctp"},
		{"ip dst 10.1.2.3", "udp dns|tcp"},
		{"src and dst host 10.0.0.1", "same address"},
		{"src and dst net 10.1", "rarp"},
		{"net 192.168", "udp dns|udp both ports|sctp|arp|arp back"},
		{"net 192.168.1.16/29", "udp dns|udp both ports|sctp|arp|arp back"},
		{"net 192.168.1.24/29 or 0.0.0.0/8", "zero address"},
		{"net 0", "zero address"},
		{"ip net 0.0.0.0/0", all4},
		{"host ::1", "udp6 loopback"},
		{"ip6 src host fe80::2", "tcp6|sctp6|icmp6"},
		{"dst net 2001:db8:0:1::/64", "udp6|sctp6|icmp6|udp6 fragment|udp6 options"},
		{"net 2001:db8::/63 and not dst net 2001:db8:0:1::/64", "udp6 back|tcp6|tcp6 fragment"},
		{"host ::1 or 10.1.2.3", "udp6 loopback|udp dns|tcp|tcp options|rarp"},
		{"udp port 53 or 68", "udp dns|same address|zero address"},
		{"udp port (53 or 68)", "udp dns|same address|zero address"},
		{"udp port 53 and not host 10.0.0.1", "udp dns"},
		{"src port 40000 and dst port not 6500", "udp dns|same address|sctp6"},
		// Left-associative, without precedence.
		{"port 53 or udp and dst 10.1.2.3", "udp dns"},
		{"port 53 or (udp and dst 10.1.2.3)", "udp dns|same address|sctp6"},
		{"not port 53 or udp and dst 10.1.2.3", "udp dns|tcp|rarp"},
	}
	for link := range links {
		for _, c := range cases {
			wanted := strings.Split(c.want, "|")
			vm := compile(t, link, c.expr)
			for _, p := range packets() {
				b, ok := p.onLink(link)
				if !ok {
					continue
				}
				n, err := vm.Run(b)
				if want := slices.Contains(wanted, p.name); err != nil || n > 0 != want {
					t.Errorf("link %d: %q keeps %d bytes (%v) of %q, want %v", link, c.expr, n, err, p.name, want)
				}
			}
			for _, name := range wanted {
				if !slices.ContainsFunc(packets(), func(p packet) bool { return p.name == name }) {
					t.Errorf("there is no packet %q", name)
				}
			}
		}
	}
}

// Inherited qualifiers, each with an equivalent explicit filter.
func TestTakingOver(t *testing.T) {
	for _, c := range [][]string{
		{"udp port 1 or 2", "udp port 1 or udp port 2", "udp port (1 or 2)", "(udp port 1) or (udp port 2)", "udp port 1||2"},
		{"port 1 or udp port 2 or 3", "port 1 or udp port 2 or udp port 3"},
		{"port 1 and not 2 or 3", "(port 1 and not port 2) or port 3", "port 1 && !2 || 3"},
		{"not port 1 or 2", "(not port 1) or port 2"},
		{"not (port 1 or 2)", "!(port 1 || 2)", "port not (1 or 2)", "port (not 1 and not 2)"},
		{"port 1 or (udp port 2 or 3) or 4", "port 1 or udp port 2 or udp port 3 or port 4"},
		{"port 1 or not (tcp port 2 or 3) and 4", "(port 1 or not (tcp port 2 or tcp port 3)) and port 4"},
		{"port 1 or ((2 or 3) and 4)", "port 1 or ((port 2 or port 3) and port 4)"},
		{"host 10.0.0.1 or ::1", "host 10.0.0.1 or host ::1", "(host (10.0.0.1 or ::1))"},
		{"src 10.0.0.1 or 10.0.0.2", "src host 10.0.0.1 or src host 10.0.0.2"},
		{"net 10 or 11/8", "net 10.0.0.0/8 or 11.0.0.0/8", "net 10.0/8 or net 11"},
		{"portrange 1-2 or 3", "portrange 1-2 or portrange 3-3"},
		{"not not udp", "udp", "((udp))", "!!udp", "\tudp\r\n"},
		{"src or dst port 1", "port 1", "dst || src port 1"},
		{"src and dst port 1", "dst && src port 1", "src port 1 and dst port 1"},
	} {
		want, err := Compile(c[0], 1, 0)
		if err != nil {
			t.Errorf("%q: %v", c[0], err)
		}
		for _, other := range c[1:] {
			// Programs may differ in tests of impossible packets.
			vm, vm2 := machine(t, want), compile(t, 1, other)
			for _, port := range []uint16{0, 1, 2, 3, 4, 5} {
				for _, p := range append(packets(),
					packet{"", typeIPv4, ipv4(17, "11.0.0.1", "10.0.0.2", 0, 0, transport(port, 2))},
					packet{"", typeIPv4, ipv4(17, "10.0.0.1", "10.0.0.2", 0, 0, transport(4, port))},
					packet{"", typeIPv6, ipv6(6, "::1", "::2", transport(port, 1))}) {
					b, _ := p.onLink(1)
					got, _ := vm2.Run(b)
					if kept, _ := vm.Run(b); kept != got {
						t.Errorf("%q keeps %d bytes and %q %d of % x", c[0], kept, other, got, b)
					}
				}
			}
		}
	}
}

// A packet that ends before a tested field never matches.
func TestCutPacket(t *testing.T) {
	whole, _ := packet{"", typeIPv4, ipv4(17, "10.0.0.1", "10.0.0.2", 0, 0, transport(1, 2))}.onLink(1)
	for _, c := range []struct {
		expr string
		need int // bytes
	}{
		{"", 0},
		{"ip", 14},
		{"not ip6", 14},
		{"udp", 24},
		{"not tcp", 24},
		{"port 1", 36},
		{"port 2", 38},
		{"not port 5", 38},
		{"host 10.0.0.1", 30},
		{"not host 10.0.0.3", 34},
		{"net 0.0.0.0/0", 14},
		{"udp or port 1", 24},
		{"udp or not udp", 0},
	} {
		vm := compile(t, 1, c.expr)
		for n := range len(whole) + 1 {
			got, err := vm.Run(whole[:n])
			if want := n >= c.need; err != nil || got > 0 != want {
				t.Errorf("%q keeps %d (%v) of the first %d bytes, want %v", c.expr, got, err, n, want)
			}
		}
	}
}

// Jumps over more than 255 instructions.
func TestLongProgram(t *testing.T) {
	listed := func(port int) bool { return port >= 1000 && port < 1400 || port == 22101 }
	list := strings.Join(numbers(1000, 400), " or ")
	for _, expr := range []string{
		"udp port " + list + " or 22101",
		"udp and not port (" + list + " or 22101)",
		"ip6 or udp and (net 10 and (port " + list + ") or port 22101)",
	} {
		prog, err := Compile(expr, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		far := slices.ContainsFunc(prog, func(i bpf.Instruction) bool {
			j, ok := i.(bpf.Jump)
			return ok && j.Skip > 255
		})
		if strings.HasPrefix(expr, "ip6") && !far {
			t.Errorf("no jump of %d instructions goes further than 255", len(prog))
		}
		if _, err := bpf.Assemble(prog); err != nil {
			t.Error(err)
		}
		vm := machine(t, prog)
		for port := 990; port < 1410; port++ {
			want := listed(port) != strings.Contains(expr, "not")
			b, _ := packet{"", typeIPv4, ipv4(17, "10.0.0.1", "10.0.0.2", 0, 0, transport(5, uint16(port)))}.onLink(1)
			if n, err := vm.Run(b); err != nil || n > 0 != want {
				t.Errorf("%.30q keeps %d bytes (%v) of port %d, want %v", expr, n, err, port, want)
			}
		}
	}
}

func TestSnap(t *testing.T) {
	b, _ := packets()[0].onLink(1)
	for snap, want := range map[uint32]int{0: 262144, 60: 60, 65535: 65535} {
		for _, expr := range []string{"", "udp"} {
			prog, err := Compile(expr, 1, snap)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := machine(t, prog).Run(b); err != nil || got != want {
				t.Errorf("snap %d: %q keeps %d (%v), want %d", snap, expr, got, err, want)
			}
		}
	}
}

// Common filters take no more instructions than in tcpdump.
func TestSize(t *testing.T) {
	for expr, want := range map[string]int{ // from tcpdump 4.99.3 with libpcap 1.10.3
		"ip": 4, "udp": 12, "port 53": 24, "host 1.2.3.4": 14, "net 10": 18, "host 1.2.3.4 and port 5": 19, "not (udp and tcp)": 1,
	} {
		prog, err := Compile(expr, 1, 0)
		if err != nil || len(prog) > want {
			t.Errorf("%q takes %d instructions (%v), want %d", expr, len(prog), err, want)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, link := range []int{-1, 9, 12, 147, 1 << 20} {
		if _, err := Compile("udp", link, 0); !errors.Is(err, ErrLink) {
			t.Errorf("link %d: got %v, want %v", link, err, ErrLink)
		}
		if prog, err := Compile(" \n", link, 96); err != nil || !slices.Equal(prog, []bpf.Instruction{bpf.RetConstant{Val: 96}}) {
			t.Errorf("link %d, no filter: got %v, %v", link, prog, err)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("(", n) + "udp" + strings.Repeat(")", n) }
	for _, c := range []struct {
		name, expr string
		column     int // column of the error, 0 for none
		length     int
	}{
		{"length", "udp" + strings.Repeat(" ", MaxLength-3), 0, 0},
		{"too long", "udp" + strings.Repeat(" ", MaxLength-2), MaxLength + 1, 1},
		{"too long inside a character", strings.Repeat("é", MaxLength/2) + "é", MaxLength/2 + 1, 1},
		{"depth", deep(MaxDepth), 0, 0},
		{"too deep", deep(MaxDepth + 1), MaxDepth + 1, 1},
		{"negations", strings.Repeat("!", MaxDepth) + "udp", 0, 0},
		{"too many negations", strings.Repeat("!", MaxDepth+1) + "udp", MaxDepth + 1, 1},
		{"too deep behind port", "port " + strings.Repeat("(", MaxDepth+1) + "1", MaxDepth + 6, 1},
		{"too many values negated", "port " + strings.Repeat("!", MaxDepth+1) + "1", MaxDepth + 6, 1},
		{"too many instructions", " port " + strings.Join(numbers(1000, 580), "||"), 2, 5 + 4*580 + 2*579},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog, err := Compile(c.expr, 1, 0)
			var e *Error
			switch {
			case c.column == 0 && err != nil:
				t.Errorf("got %v", err)
			case c.column != 0 && !errors.As(err, &e):
				t.Errorf("got %v and %d instructions, want an error", err, len(prog))
			case e != nil && (e.Column != c.column || e.Length != c.length):
				t.Errorf("got %v at column %d, length %d, want column %d, length %d", err, e.Column, e.Length, c.column, c.length)
			}
		})
	}
}

// gamePackets returns the packets of one fixture.
func gamePackets(tb testing.TB) [][]byte {
	tb.Helper()
	var all [][]byte
	frames(tb, "captures/join_flow.pcap", func(_ int, b []byte) { all = append(all, b) })
	return all
}

const typical = "udp portrange 22101-22110 or port 29872"

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(typical, 1, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	all := gamePackets(b)
	prog, err := Compile(typical, 1, 0)
	if err != nil {
		b.Fatal(err)
	}
	vm := machine(b, prog)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := vm.Run(all[i%len(all)]); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzCompile compiles any expression. An error points to the mistake; a
// program runs on any packet, and never matches together with its negation.
func FuzzCompile(f *testing.F) {
	for i, expr := range byHand {
		p := packets()[i%len(packets())]
		b, _ := p.onLink(1)
		f.Add(expr, uint16(1), b)
	}
	for _, expr := range []string{"port (1 or", "net 10.0.0.1/8", "udp host ::1", "ether[0] & 1 = 0", "\xff\u0301 udp", "portrange 1-70000"} {
		f.Add(expr, uint16(101), fixtures.Read(f, "captures/join_flow.pcap")[40:120])
	}
	f.Fuzz(func(t *testing.T, expr string, link uint16, b []byte) {
		var prog []bpf.Instruction
		var err error
		if spent := fixtures.Allocated(func() { prog, err = Compile(expr, int(link), 0) }); spent > uint64(4<<20+len(expr)<<12) {
			t.Fatalf("%d bytes were allocated for %d", spent, len(expr))
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				if !errors.Is(err, ErrLink) {
					t.Fatalf("got %v", err)
				}
				return
			}
			checkError(t, e)
			return
		}
		if len(prog) > MaxInstructions {
			t.Fatalf("%d instructions", len(prog))
		}
		kept, err := machine(t, prog).Run(b)
		if err != nil || kept != 0 && kept != maxSnap {
			t.Fatalf("keeps %d bytes: %v", kept, err)
		}
		if _, ok := prog[0].(bpf.RetConstant); ok {
			return
		}
		negated, err := Compile("not ("+expr+")", int(link), 0)
		if err != nil {
			return // too long or too deep after the change
		}
		if also, err := machine(t, negated).Run(b); err != nil || kept > 0 && also > 0 {
			t.Fatalf("keeps %d bytes, its negation %d: %v", kept, also, err)
		}
	})
}

// checkError checks every error: it points into the expression or right behind
// it, and its two lines are printable.
func checkError(t *testing.T, e *Error) {
	t.Helper()
	characters := len([]rune(e.Expr))
	if e.Column < 1 || e.Column > characters+1 || e.Length < 1 || e.Column+e.Length > characters+2 || e.Message == "" {
		t.Fatalf("column %d, length %d of %d characters: %q", e.Column, e.Length, characters, e.Message)
	}
	lines := strings.Split(e.Caret(), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	shown, mark := []rune(lines[0]), []rune(lines[1])
	if len(mark) > len(shown)+1 || len(mark) > 2*60+6 {
		t.Fatalf("the mark is too long:\n%s", e.Caret())
	}
	for _, r := range e.Caret() + e.Error() {
		if r != '\n' && (r < ' ' || r == 0x7f || r == 0x1b) {
			t.Fatalf("%U is shown", r)
		}
	}
}

func ExampleCompile() {
	prog, _ := Compile("udp dst port 22101", 228, 0)
	for i, instruction := range prog {
		fmt.Printf("(%03d) %v\n", i, instruction)
	}
	_, err := Compile("udp port game", 1, 0)
	var e *Error
	if errors.As(err, &e) {
		fmt.Println(e)
		fmt.Println(e.Caret())
	}
	// Output:
	// (000) ldb [9]
	// (001) jneq #17,6
	// (002) ldh [6]
	// (003) jset #8191,4
	// (004) ldx 4*([0]&0xf)
	// (005) ldh [x + 2]
	// (006) jneq #22101,1
	// (007) ret #262144
	// (008) ret #0
	// capture filter: column 10: names of services are not looked up; write the number
	// udp port game
	//          ^~~~
}
