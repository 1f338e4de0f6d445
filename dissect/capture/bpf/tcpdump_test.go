package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/bcdissect/bcdissect/fixtures"
)

// linkNames are tcpdump's names of link types.
var linkNames = map[int]string{
	0: "NULL", 1: "EN10MB", 101: "RAW", 108: "LOOP", 113: "LINUX_SLL", 228: "IPV4", 229: "IPV6", 276: "LINUX_SLL2",
}

// tcpdump compiles an expression.
func tcpdump(tb testing.TB, link int, flags, expr string) *bpf.VM {
	tb.Helper()
	out, err := exec.Command("tcpdump", flags, "-y", linkNames[link], expr).CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("rejects all packets")) {
			return machine(tb, nothing)
		}
		tb.Fatalf("tcpdump on %q: %v: %s", expr, err, out)
	}
	var raw []bpf.RawInstruction
	for line := range strings.Lines(string(out)) {
		var i bpf.RawInstruction
		if n, _ := fmt.Sscanf(line, "{ 0x%x, %d, %d, 0x%x },", &i.Op, &i.Jt, &i.Jf, &i.K); n == 4 {
			raw = append(raw, i)
		}
	}
	prog, ok := bpf.Disassemble(raw)
	if !ok {
		tb.Fatalf("cannot make sense of what tcpdump made of %q:\n%s", expr, out)
	}
	return machine(tb, prog)
}

// nothing is the program for filters rejected by both compilers because no
// packet matches.
var nothing = []bpf.Instruction{bpf.RetConstant{}}

func machine(tb testing.TB, prog []bpf.Instruction) *bpf.VM {
	tb.Helper()
	vm, err := bpf.NewVM(prog)
	if err != nil {
		tb.Fatal(err)
	}
	return vm
}

// compile compiles an expression with this package.
func compile(tb testing.TB, link int, expr string) *bpf.VM {
	tb.Helper()
	prog, err := Compile(expr, link, 0)
	var e *Error
	if errors.As(err, &e) && strings.HasPrefix(e.Message, "no packet") {
		prog, err = nothing, nil
	}
	if err != nil {
		tb.Fatalf("%q on link %d: %v", expr, link, err)
	}
	return machine(tb, prog)
}

// A writer generates filters of every form.
type writer struct{ *rand.Rand }

func (w writer) pick(of string) string {
	all := strings.Split(of, "|")
	return all[w.IntN(len(all))]
}

// chance is true once in n times.
func (w writer) chance(n int) bool { return w.IntN(n) == 0 }

func (w writer) port() string {
	if w.chance(5) {
		return strconv.Itoa(w.IntN(65536))
	}
	return w.pick("22101|6500|53|40000|22222|29872|29900|29911|53370|45059|0|65535")
}

func (w writer) portRange() string {
	switch w.IntN(4) {
	case 0:
		return w.port() + "-" + w.port()
	case 1:
		return w.port()
	}
	return w.pick("22101-22110|29870-29879|1-1023|30000-65535|0-65535|6500-6500")
}

// value returns a value of a class; version is 4, 6 or 0 for either.
func (w writer) value(class string, version int) string {
	if version == 0 {
		version = w.IntN(3)*2 + 2 // mostly IPv4
	}
	switch {
	case class == "port":
		return w.port()
	case class == "portrange":
		return w.portRange()
	case class == "net" && version == 6:
		return w.pick("2001:db8::/32|2001:db8::/64|fe80::/10|::/0|::1|2001:db8::1/128|::/1|2000::/3")
	case class == "net":
		return w.pick("10|10.0.0|10.0|127|127.0.0.0/8|10.0.0.0/30|192.168.0.0/16|192.168.1|0.0.0.0/0|0|10.1.2.3|10.0.0.0/31|128.0.0.0/1|127.0.0.8/29")
	case version == 6:
		return w.pick("2001:db8::1|2001:db8:0:1::2|fe80::2|::1|::ffff:10.0.0.1")
	}
	return w.pick("10.0.0.1|10.0.0.2|192.168.1.20|10.1.2.3|127.0.0.1|127.0.0.11|127.0.0.12|0.0.0.0|255.255.255.255")
}

func (w writer) join() string { return w.pick(" and | or | or | && | or ") }

// primitive returns a protocol, or qualifiers with values.
func (w writer) primitive() string {
	if w.chance(4) {
		return w.pick("ip|ip6|udp|tcp")
	}
	class := w.pick("host|net|port|portrange|port")
	version, s := 0, ""
	switch {
	case strings.HasPrefix(class, "port"):
		s = w.pick("udp |udp |tcp ||")
	case w.chance(3):
		s, version = "ip ", 4
	case w.chance(3):
		s, version = "ip6 ", 6
	}
	side := w.pick("src |dst |src or dst |dst and src ||||")
	s += side
	if class != "host" || side == "" || w.chance(2) {
		s += class + " "
	}
	if w.chance(6) {
		s += "not "
	}
	if w.chance(8) {
		return s + "(" + w.value(class, version) + w.join() + w.value(class, version) + ")"
	}
	s += w.value(class, version)
	for w.chance(3) {
		s += w.join()
		if w.chance(6) {
			s += "! "
		}
		s += w.value(class, version)
	}
	return s
}

func (w writer) filter(depth int) string {
	s := ""
	for n := w.IntN(4); ; n-- {
		if w.chance(5) {
			s += w.pick("not |!|not not ")
		}
		if depth > 0 && w.chance(4) {
			s += "(" + w.filter(depth-1) + ")"
		} else {
			s += w.primitive()
		}
		if n <= 0 {
			return s
		}
		s += w.join()
	}
}

// byHand are filters that are always tested.
var byHand = []string{
	"", "udp port 22101", "udp portrange 22101-22110", "portrange 22110-22101", "portrange 53",
	"udp or tcp and port 53", "udp and tcp or port 53", "not udp port 22101 or 53", "not (udp port 22101 or 53)",
	"udp port 22101 or tcp port 53 or 6500", "host 10.0.0.1 or 10.0.0.2 and port 53 or 22101",
	"udp port 22101 or (tcp port 53) or 6500", "udp port 22101 and not (tcp port 53 or 80) or 6500",
	"port 53 or (6500 or not (22101 and 6500))", "port (53 or 6500) and host (10.0.0.1 or not 10.0.0.2)",
	"(udp port 22101 and (22101))", "port not 53 and not not 6500", "!udp&&!tcp||port 53",
	"src 10.0.0.1", "ip dst 10.0.0.2", "src or dst 10.0.0.1", "dst and src net 10", "ip6 src ::1",
	"net 0", "net 10", "net 10.1", "net 10.1.2.3", "net 10.0/16", "net 10.0.0.0 / 8", "net 0.0.0.0/0", "ip6 net ::/0",
	"host ::1 or 10.0.0.1", "net fe80::/10 or 192.168.1", "ip6 and udp or tcp", "udp and tcp", "udp or not udp",
	"port " + strings.Join(numbers(6400, 120), " or "),
	"udp and not port (" + strings.Join(numbers(22000, 120), " or ") + ")",
	"host 10.0.0.1 and (" + strings.Repeat("(udp or tcp port 6500) and ", 60) + "port 22101)",
}

func numbers(from, count int) []string {
	var all []string
	for i := range count {
		all = append(all, strconv.Itoa(from+i))
	}
	return all
}

// Programs decide like tcpdump's programs.
func TestTcpdump(t *testing.T) {
	fixtures.System(t)
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("there is no tcpdump to compare with")
	}
	if out, err := exec.Command("tcpdump", "-dd", "-y", "EN10MB", "udp").CombinedOutput(); err != nil {
		t.Skipf("tcpdump does not compile filters here: %v: %s", err, out)
	}
	w := writer{rand.New(rand.NewPCG(22101, 6500))}
	filters := byHand
	random := 40 // tcpdump is called for each, on each link
	if os.Getenv("BCDISSECT_LONG") != "" {
		random = 400
	}
	for range random {
		filters = append(filters, w.filter(2))
	}
	all := captured(t)
	for link := range linkNames {
		for _, p := range packets() {
			if b, ok := p.onLink(link); ok {
				all[link] = append(all[link], b)
			}
		}
	}
	for link, name := range linkNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, doubts := 0, 0
			for _, expr := range filters {
				if link != 1 && len(expr) > 600 {
					continue // the jumps are the same on all links
				}
				ours, theirs := compile(t, link, expr), tcpdump(t, link, "-dd", expr)
				for _, b := range all[link] {
					got, err := ours.Run(b)
					want, err2 := theirs.Run(b)
					if got != want {
						// The optimiser of libpcap 1.10.3 turns "!(net ::/1 and ::/1 and
						// 2001:db8::/32)" into a wrong program. Its program without -O is right.
						want, err2 = tcpdump(t, link, "-ddO", expr).Run(b)
						doubts++
					}
					if err != nil || err2 != nil || got != want {
						t.Errorf("%q keeps %d bytes (%v), tcpdump's %d (%v) of % x", expr, got, err, want, err2, b[:min(len(b), 80)])
						break
					}
					if got > 0 {
						kept++
					}
				}
			}
			total := len(filters) * len(all[link])
			t.Logf("%d filters, %d packets, %d%% kept; %d times tcpdump and its optimiser disagree", len(filters), len(all[link]), 100*kept/total, doubts)
			if kept < total/10 || kept > total*9/10 {
				t.Errorf("kept %d of %d: these filters tell little", kept, total)
			}
		})
	}
}
