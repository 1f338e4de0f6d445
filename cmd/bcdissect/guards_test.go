package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// joinNamed has a client with a name join.
func joinNamed(t *testing.T, host *hostProcess, n int, name string) *udpClient {
	t.Helper()
	c := newUDPClientFrom(t, nil, host.at, n, &relay.Trouble{})
	o := c.Options
	o.Name = name
	c.Client = relaytest.NewClient(o)
	t.Cleanup(func() { _ = c.conn.Close() })
	began := time.Now()
	c.Connect(began)
	for c.Phase != relaytest.Playing && time.Since(began) < patience {
		c.play(time.Now().Add(50*time.Millisecond), func(time.Time, int) {})
	}
	if c.Phase != relaytest.Playing {
		t.Fatalf("%s has not joined: %s", name, host)
	}
	return c
}

// replayed is the part of the report of replay that the test looks at.
type replayed struct {
	Conforms    bool
	Deviations  []struct{ Rule string }
	Differences []struct{ Kind, Name, Detail string }
}

// TestReplayOfGuards replays a recording of the relay's measures against an
// impostor, a flooder and players with equal names. The replay explains them,
// and finds a change of one byte in the recording.
func TestReplayOfGuards(t *testing.T) {
	fixtures.System(t)
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	file := filepath.Join(t.TempDir(), "guards.pcapng")
	host := startHost(t, "--players", "8", "-w", file)
	kirk, data := joinNamed(t, host, 1, "Kirk"), joinNamed(t, host, 2, "Data")
	cheat, flooder := joinNamed(t, host, 3, "data"), joinNamed(t, host, 4, "Data")
	clients := []*udpClient{kirk, data, cheat, flooder}
	settle := func() {
		for range 3 {
			for _, c := range clients {
				c.play(time.Now().Add(50*time.Millisecond), func(time.Time, int) {})
			}
		}
	}
	for _, c := range clients {
		c.CreateShip(time.Now())
	}
	settle()

	now := time.Now()
	cheat.Say(now, msg.OpChat, &msg.Chat{Sender: int32(kirk.ID), Text: []byte("I am Kirk")})
	cheat.Say(now, msg.OpChat, &msg.Chat{Sender: int32(cheat.ID), Text: []byte("so\nKirk: am I")})
	forged := &msg.ObjectCreateTeam{}
	forged.Slot, forged.Player, forged.Class, forged.ID = uint8(kirk.Slot), kirk.ID, 0x8008, kirk.Ship()
	cheat.Say(now, msg.OpObjectCreateTeam, forged)
	own := *forged
	own.ID = cheat.Ship()
	cheat.Say(now, msg.OpObjectCreateTeam, &own)
	cheat.Say(now, msg.OpDestroyObject, &msg.DestroyObject{Object: kirk.Ship()})
	naming := append(wire.AppendWideTextOf([]byte{kirk.ID, 10, 0, 0, 1}, "Kirk\x1B"), 0, 0)
	cheat.Send(now, arq.Message{Type: transport.NameChange, Body: naming})
	update := func(id wire.ObjectID, n int) []byte {
		body := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpStateUpdate)}, uint32(id))
		return append(binary.LittleEndian.AppendUint32(body, uint32(n)), 0)
	}
	for n := range 20 {
		cheat.SendBody(now, false, update(kirk.Ship(), n))
		kirk.SendBody(now, false, update(kirk.Ship(), n))
	}
	settle()
	// The host allows 400 a second, and 1,000 at once. The flooder sends 2,000 a second also
	// on a slow machine, since a datagram holds many. After 4,000 the host could remove it.
	const flood = 3900
	for began, sent := time.Now(), 0; sent < flood; {
		for sent < min(100+int(2*time.Since(began).Milliseconds()), flood) {
			if _, err := flooder.conn.Write(fill(flooder.ID, func(int) (transport.Header, []byte) {
				sent++
				return transport.Header{Type: transport.Standard}, update(flooder.Ship(), sent)
			})); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range clients {
			c.play(time.Now().Add(10*time.Millisecond), func(time.Time, int) {})
		}
	}
	settle()
	kirk.Say(time.Now(), msg.OpChat, &msg.Chat{Sender: int32(kirk.ID), Text: []byte("still here")})
	cheat.Send(time.Now(), arq.Message{Type: transport.Disconnect, Body: []byte{kirk.ID, 10, 0, 0, 1}})
	settle()
	data.Say(time.Now(), msg.OpChat, &msg.Chat{Sender: int32(data.ID), Text: []byte("so are you")})
	clients = slices.DeleteFunc(clients, func(c *udpClient) bool { return c == cheat })
	for range 6 { // the end of a capture excuses missing messages
		settle()
	}
	for _, c := range clients {
		c.Leave(time.Now())
	}
	settle()
	host.stop(t)

	judge := func(file string) (r replayed, code int) {
		t.Helper()
		var out, errs bytes.Buffer
		code = run([]string{"replay", "-T", "json", "--mode", "playable", file}, cli.Streams{Out: &out, Err: &errs})
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s%s", err, out.String(), errs.String())
		}
		return r, code
	}
	r, code := judge(file)
	if code != cli.ExitOK || !r.Conforms || len(r.Differences) > 0 {
		t.Errorf("exit status %d, differences %v", code, r.Differences)
	}
	var rules []string
	for _, d := range r.Deviations {
		rules = append(rules, d.Rule)
	}
	slices.Sort(rules)
	want := []string{"cleans-chat", "corrects-leave", "corrects-names", "corrects-owner", "corrects-sender", "hides-addresses", "limits-floods", "limits-renames", "refuses-others-objects"}
	if !slices.Equal(rules, want) {
		t.Errorf("explained by %q, want %q", rules, want)
	}

	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A datagram is encrypted as a whole, so its bytes before a place do not
	// depend on those after it.
	was, is := []byte("still here"), []byte("still herd")
	src, err := capture.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for altered := false; !altered; {
		d, err := src.Next()
		if err != nil {
			t.Fatal(err)
		}
		if plain := cipher.Decrypt(nil, d.Payload); d.Src == host.at && bytes.Contains(plain, was) {
			altered = true
			raw = bytes.Replace(raw, d.Payload, cipher.Encrypt(nil, bytes.Replace(plain, was, is, 1)), 1)
		}
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, code = judge(file); code != cli.ExitDiffers || len(r.Differences) != 1 || r.Differences[0].Name != "Chat" {
		t.Errorf("altered: exit status %d, differences %v", code, r.Differences)
	}
}

// fill returns a datagram with as many messages as fit.
func fill(id uint8, each func(n int) (transport.Header, []byte)) []byte {
	return cipher.Encrypt(nil, relaytest.Fill(id, each))
}
