package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Whoever writes a player's address, and tries all ids, neither throws it out nor
// speaks for it. Standard error, the metrics, the recording and its session tell
// of it. A datagram through the player's own socket bears its address.
func TestRelayForged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "forged.pcapng")
	host := startHost(t, "--players", "4", "--control", "none", "-w", file)
	ids := map[string]uint8{}
	var all []*chatter
	for n := range 2 {
		c := &chatter{udpClient: joinAs(t, local(10+n), host.at, n+1, false), said: map[int]time.Time{}, ids: ids}
		if c.Phase != relaytest.Playing {
			t.Fatalf("%s: phase %d, reason %d; %s", c.Name, c.Phase, c.Reason, host)
		}
		c.Deliver, c.frame = c.hears, 20*time.Millisecond
		ids[c.Name], c.heard = c.ID, time.Now()
		all = append(all, c)
	}
	victim, other := all[0], all[1]
	wrong := uint8(2)
	if victim.ID == wrong {
		wrong++
	}
	sweep := func(plain func(id uint8) []byte) {
		_, _ = victim.conn.Write(plain(wrong)) // a first guess that is right, one in 124, is believed
		for id := uint8(126); id > 1; id-- {
			if id != '\\' {
				_, _ = victim.conn.Write(plain(id)) // a refused datagram was also sent
			}
		}
	}
	var playing sync.WaitGroup
	for i, c := range all {
		playing.Go(func() {
			c.play(time.Now().Add(4*time.Second), func(now time.Time, tick int) {
				if (tick+3*i)%5 == 4 && tick < 30 {
					c.next++
					c.said[c.next] = now
					c.Say(now, msg.OpChat, &msg.Chat{Sender: int32(c.ID), Text: fmt.Appendf(nil, "%s: %d", c.Name, c.next)})
				}
			})
		})
	}
	for range 6 {
		time.Sleep(400 * time.Millisecond)
		sweep(func(id uint8) []byte {
			return one(id, transport.Header{Type: transport.Disconnect, Priority: true, Seq: 2}, []byte{id, 10, 0, 0, 1})
		})
		sweep(func(id uint8) []byte {
			return one(id, transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpChat), id, 0, 0, 0, 6, 0}, "forged"...))
		})
	}
	playing.Wait()
	for _, c := range all {
		c.until(func() bool { return len(c.said) == 0 || c.isGone() }) // the last line may be under way
	}
	if victim.next < 5 || len(victim.echoes) != victim.next || len(victim.faults) > 0 || victim.Phase != relaytest.Playing {
		t.Errorf("%d of %d lines came back, phase %d, %q", len(victim.echoes), victim.next, victim.Phase, victim.faults)
	}
	// A line that is not believed comes again after one second, after three and after six.
	if worst := slices.Max(victim.echoes); worst > 7*time.Second {
		t.Errorf("a line took %v to come back", worst)
	}
	t.Logf("lines of the victim came back after %v", victim.echoes)
	if len(other.faults) > 0 || len(other.Lost) > 0 {
		t.Errorf("the other: %q, was told that %v left", other.faults, other.Lost)
	}
	if err := host.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-host.done
	_ = host.cmd.Wait()
	const told = `forged "Player 1"`
	if n := strings.Count(host.String(), told); n != 1 {
		t.Errorf("told %d times: %s", n, host)
	}
	if r := runIn(nil, "session", file); !strings.Contains(r.out, "Player 1 is forged") || strings.Count(r.out, "is forged") != 1 { // all are challenged
		t.Errorf("session:\n%s", r.out)
	}
	data, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(data, []byte(`forged datagrams for "Player 1"`)) {
		t.Errorf("the recording does not tell of it: %v", err)
	}
}
