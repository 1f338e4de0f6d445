//go:build unix

package main

import (
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

// flood sends datagrams that no host wants, some of each kind. The host has received
// all that were sent before it answers.
func flood(t *testing.T, to netip.AddrPort, n int) {
	t.Helper()
	c, err := net.Dial("udp4", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		text := []string{"\\\\nonsense\\\\", "\x02garbage", "\xffgarbage", "\x01"}[i%4]
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 && !answers(t, to) {
			t.Fatal("the host does not answer")
		}
	}
}

// Datagrams of strangers do not fill the disk: they are counted. Datagrams of
// players are recorded.
func TestRelayRecordsNoStrangers(t *testing.T) {
	t.Parallel()
	const garbage = 2000
	for _, tt := range []struct {
		args []string
		min  int
		max  int
	}{
		{nil, 20, garbage / 4},
		{[]string{"--strangers"}, garbage, 2 * garbage},
	} {
		file := filepath.Join(t.TempDir(), "relay.pcapng")
		host := startHost(t, append(tt.args, "-w", file)...)
		flood(t, host.at, garbage)
		if c := join(t, host.at, 1); c.Phase != relaytest.Playing {
			t.Errorf("phase %d", c.Phase)
		}
		host.stop(t)
		kinds, last, rest := blocks(t, file)
		if n := kinds[ngPackets]; n < tt.min || n > tt.max || last != ngStatistics || rest != 0 {
			t.Errorf("%v: %d packets, want %d to %d; the last block is %d, and %d bytes more", tt.args, n, tt.min, tt.max, last, rest)
		}
		if got := strings.Contains(host.String(), "are not recorded"); got != (tt.args == nil) {
			t.Errorf("%v: it said %s", tt.args, host)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v and %v, want 0600", info.Mode(), err)
		}
	}
}

// A host begins new files and ends after as many datagrams as told.
func TestRelayRecordsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	host := startHost(t, "-w", filepath.Join(dir, "%Y.pcapng"), "-b", "packets:12", "-b", "files:2", "-a", "packets:30")
	c := newUDPClient(t, host.at, 1, &relay.Trouble{})
	defer c.conn.Close()
	c.Connect(time.Now())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-host.done
	}()
	for begun := time.Now(); ; {
		now := time.Now()
		c.play(now.Add(20*time.Millisecond), func(time.Time, int) {})
		select {
		case <-ended:
		default:
			if now.Sub(begun) < patience {
				continue
			}
			t.Fatalf("the host does not end: %s", host)
		}
		break
	}
	_ = host.cmd.Wait()
	files, err := filepath.Glob(filepath.Join(dir, time.Now().Format("2006")+"_0000[23]_*.pcapng"))
	if err != nil || len(files) != 2 {
		t.Fatalf("got %v and %v", files, err)
	}
	for n, want := range []int{12, 6} {
		if kinds, last, rest := blocks(t, files[n]); kinds[ngPackets] != want || last != ngStatistics || rest != 0 {
			t.Errorf("%s: got blocks %v, the last is %d, and %d bytes more, want %d packets", files[n], kinds, last, rest, want)
		}
	}
}

// Only the owner can read a new page of the matches, which has names and chat. The host keeps the mode that
// the owner gives it.
func TestPageMode(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "evening.html")
	for _, mode := range []fs.FileMode{0o600, 0o644} {
		startHost(t, "--session", name).stop(t)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v, %v; want %v", info.Mode(), err, mode)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
