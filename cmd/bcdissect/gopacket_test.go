package main

import (
	"os/exec"
	"strings"
	"testing"
)

// gopacket takes the headers of packets apart in the program. The parts of it that
// add flags to a command line when imported, and those that need cgo, stay out.
func TestGopacket(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/bcdissect/bcdissect/cmd/bcdissect").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for name := range strings.Lines(string(out)) {
		linked[strings.TrimSpace(name)] = true
	}
	const gopacket = "github.com/google/gopacket"
	for name, want := range map[string]bool{
		gopacket: true, gopacket + "/layers": true,
		gopacket + "/pcap": false, gopacket + "/reassembly": false, gopacket + "/tcpassembly": false,
	} {
		if linked[name] != want {
			t.Errorf("%s is linked: %v, want %v", name, linked[name], want)
		}
	}
}
