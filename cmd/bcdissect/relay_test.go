package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/dissect/link"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

// A hostProcess is the program as a host.
type hostProcess struct {
	cmd  *exec.Cmd
	at   netip.AddrPort
	mu   sync.Mutex
	said bytes.Buffer // on standard error
	done chan struct{}
}

// startHost starts the program as a host on a port of its own.
func startHost(t *testing.T, args ...string) *hostProcess {
	t.Helper()
	p := &hostProcess{cmd: exec.Command("bcdissect", append([]string{"relay", "--listen", "127.0.0.1:0"}, args...)...), done: make(chan struct{})}
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	lines := bufio.NewReader(pipe)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	found := regexp.MustCompile(` on (127\.0\.0\.1:\d+) `).FindStringSubmatch(first)
	if found == nil {
		t.Fatalf("got %q", first)
	}
	p.at = netip.MustParseAddrPort(found[1])
	go func() {
		defer close(p.done)
		_, _ = io.Copy(p, lines) // the pipe ends with the process
	}()
	return p
}

// Write implements [io.Writer].
func (p *hostProcess) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

func (p *hostProcess) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// stop interrupts the program and waits for its end.
func (p *hostProcess) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.done
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, p)
	}
}

// An udpClient is a client with a socket, on a bad network.
type udpClient struct {
	*relaytest.Client
	conn    *net.UDPConn
	trouble *relaytest.Trouble
	rand    *rand.Rand  // of its own datagrams
	arrived chan []byte // what the network has let through
	late    chan []byte // the same of its own datagrams

	seen    map[string][2]int // first and last number of the messages of each other client
	faults  []string
	replies int // to server browsers
}

func newUDPClient(t *testing.T, at netip.AddrPort, n int, trouble *relaytest.Trouble) *udpClient {
	t.Helper()
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	c := &udpClient{
		Client: relaytest.NewClient(relaytest.Options{
			Name: fmt.Sprintf("Player %d", n), Nonce: uint32(n + 1), First: 10000 * n, Claimed: [4]byte{10, 0, 0, byte(n)},
		}),
		conn: conn, trouble: trouble, rand: rand.New(rand.NewPCG(uint64(n), 0)),
		arrived: make(chan []byte, 1024), late: make(chan []byte, 1024), seen: map[string][2]int{},
	}
	c.Deliver = c.delivered
	go func() {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		for {
			b := make([]byte, 2048)
			size, err := conn.Read(b)
			if err != nil {
				return // closed
			}
			c.through(random, b[:size], c.arrived)
		}
	}()
	return c
}

// through carries a datagram through the network.
func (c *udpClient) through(random *rand.Rand, d []byte, to chan<- []byte) {
	for _, after := range c.trouble.Copies(random) {
		time.AfterFunc(after, func() {
			select {
			case to <- d:
			default: // lost
			}
		})
	}
}

// delivered takes note of what others say.
func (c *udpClient) delivered(_ time.Time, m *link.Message) {
	stream, slot, name, number, ok := relaytest.Numbered(m.Body)
	if !ok {
		return
	}
	from := fmt.Sprint("chat of ", name)
	if stream != relaytest.Chat {
		from = fmt.Sprintf("stream %d of %d in slot %d", stream, number/10000, slot)
	}
	r, ok := c.seen[from]
	if ok && number != r[1]+1 || stream == relaytest.Consume || stream == relaytest.Forward && slot == c.Slot {
		c.faults = append(c.faults, fmt.Sprintf("%s got number %d of %s after %d", c.Name, number, from, r[1]))
	}
	if !ok {
		r[0] = number
	}
	r[1] = number
	c.seen[from] = r
}

// play plays until a time, and longer until all is acknowledged; every tenth of
// a second it calls each.
func (c *udpClient) play(until time.Time, each func(now time.Time, tick int)) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for tick := 0; ; {
		now := time.Now()
		switch {
		case now.After(until.Add(30 * time.Second)):
			c.faults = append(c.faults, c.Name+" waits for acknowledgements")
			return
		case now.After(until) && c.Client.Idle():
			return
		case now.Before(until) && now.Sub(began) > time.Duration(tick)*100*time.Millisecond:
			each(now, tick)
			tick++
		}
		for {
			d, ok := c.Datagram(now)
			if !ok {
				break
			}
			c.through(c.rand, slices.Clone(d), c.late)
		}
		select {
		case d := <-c.late:
			if _, err := c.conn.Write(d); err != nil {
				c.faults = append(c.faults, err.Error())
				return
			}
		case d := <-c.arrived:
			if d[0] == '\\' {
				c.replies++
				continue
			}
			c.Receive(time.Now(), d)
		case <-ticker.C:
		}
	}
}

// TestRelaySession has eight clients fight a battle over loopback, on a network
// that loses, doubles and overtakes. It lasts some seconds, or a minute if
// BCDISSECT_LONG is set.
func TestRelaySession(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	const players = 8
	battle := 2 * time.Second
	if os.Getenv("BCDISSECT_LONG") != "" {
		battle = time.Minute
	}
	file := filepath.Join(t.TempDir(), "relay.pcapng")
	host := startHost(t, "--name", "Loop", "--players", "8", "-w", file)
	trouble := &relaytest.Trouble{Loss: 0.05, Duplicate: 0.05, Reorder: 0.05, Jitter: 10 * time.Millisecond}
	clients := make([]*udpClient, players)
	for n := range clients {
		clients[n] = newUDPClient(t, host.at, n+1, trouble)
		defer clients[n].conn.Close()
	}
	// Three phases, of which each ends for all at the same time.
	together := func(d time.Duration, each func(c *udpClient) func(now time.Time, tick int)) {
		until := time.Now().Add(d)
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() { c.play(until, each(c)) })
		}
		all.Wait()
	}
	joined := func() bool {
		return !slices.ContainsFunc(clients, func(c *udpClient) bool { return c.Phase != relaytest.Playing })
	}
	began := time.Now()
	for _, c := range clients {
		c.Connect(time.Now())
	}
	for !joined() && time.Since(began) < time.Minute {
		together(500*time.Millisecond, func(*udpClient) func(time.Time, int) { return func(time.Time, int) {} })
	}
	if !joined() {
		t.Fatalf("not all have joined after a minute: %s", host)
	}
	for _, c := range clients {
		c.CreateShip(time.Now())
	}
	together(battle, func(c *udpClient) func(time.Time, int) {
		return func(now time.Time, tick int) {
			c.Fight(now, tick)
			if tick == 5 {
				c.through(c.rand, []byte(`\status\`), c.late)
			}
		}
	})
	// What the host has not passed on yet comes soon after.
	settled := func() bool {
		for _, a := range clients {
			for _, b := range clients {
				if a != b && b.seen[a.stream()][1] != a.Last(relaytest.Forward) || b.seen["chat of "+a.Name][1] != a.Last(relaytest.Chat) {
					return false
				}
			}
		}
		return true
	}
	for waiting := time.Now(); !settled() && time.Since(waiting) < time.Minute; {
		together(200*time.Millisecond, func(*udpClient) func(time.Time, int) { return func(time.Time, int) {} })
	}
	replies := 0
	for _, a := range clients {
		for _, b := range clients {
			if a == b {
				continue
			}
			if got, want := b.seen[a.stream()], [2]int{a.First + 1, a.Last(relaytest.Forward)}; got != want {
				t.Errorf("%s got %v of %s, want %v", b.Name, got, a.Name, want)
			}
			if got, want := b.seen["chat of "+a.Name], [2]int{a.First + 1, a.Last(relaytest.Chat)}; got != want {
				t.Errorf("%s got %v of the chat of %s, want %v", b.Name, got, a.Name, want)
			}
		}
		for _, fault := range a.faults {
			t.Error(fault)
		}
		if a.Err != nil {
			t.Error(a.Err)
		}
		replies += a.replies
	}
	if replies == 0 {
		t.Error("no server browser was answered")
	}
	// Half of them leave, and the host takes leave of the others.
	for _, c := range clients[:players/2] {
		c.Leave(time.Now())
	}
	together(100*time.Millisecond, func(*udpClient) func(time.Time, int) { return func(time.Time, int) {} })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		host.stop(t)
	}()
	for open := true; open; {
		together(50*time.Millisecond, func(*udpClient) func(time.Time, int) { return func(time.Time, int) {} })
		select {
		case <-stopped:
			open = false
		default:
		}
	}
	for _, c := range clients[players/2:] {
		if c.Phase != relaytest.Gone {
			t.Errorf("%s does not know that the host has left", c.Name)
		}
	}
	said := host.String()
	for _, want := range []string{`named "Player 3"`, "8 joined", "left", "taking leave"} {
		if !strings.Contains(said, want) {
			t.Errorf("the host did not say %q: %s", want, said)
		}
	}
	checkRecording(t, file, clients)
}

// stream is the name of what others see of a client.
func (c *udpClient) stream() string {
	return fmt.Sprintf("stream %d of %d in slot %d", relaytest.Forward, c.First/10000, c.Slot)
}

// checkRecording checks that all that a host has recorded can be read.
func checkRecording(t *testing.T, file string, clients []*udpClient) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run([]string{"read", "-T", "json", "--strict", "--verify", file}, streams{out: &out, err: &errs}); code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	if !strings.Contains(errs.String(), " 0 differ") {
		t.Errorf("got %s", errs.String())
	}
	type key struct{ name, dir string }
	seen := map[key]int{}
	for line := range bytes.Lines(out.Bytes()) {
		var r struct{ Name, Kind, Dir, Status string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != "" && r.Status != "pending" && r.Status != "duplicate" {
			t.Errorf("got %s", line)
		}
		if r.Status == "" {
			seen[key{r.Name + r.Kind, r.Dir}]++
		}
	}
	shots, words := 0, 0
	for _, c := range clients {
		shots += c.Last(relaytest.Forward) - c.First
		words += c.Last(relaytest.Chat) - c.First
	}
	others := len(clients) - 1
	count := func(dir string, names ...string) (n int) {
		for _, name := range names {
			n += seen[key{name + "standard", dir}]
		}
		return n
	}
	for _, tt := range []struct {
		what      string
		got, want int
	}{
		{"shots of clients", count("c2s", "StartFiring", "StopFiring", "TorpedoFire"), shots},
		{"shots passed on", count("s2c", "StartFiring", "StopFiring", "TorpedoFire"), shots * others},
		{"words of clients", count("c2s", "Chat"), words},
		{"words passed on", count("s2c", "Chat"), words * len(clients)},
		{"ships", count("c2s", "ObjectCreateTeam"), len(clients)},
		{"ships passed on", count("s2c", "ObjectCreateTeam"), len(clients) * others},
		{"requests for hashes", count("s2c", "ChecksumRequest"), 5 * len(clients)},
		{"targets passed on", count("s2c", "ChangedTarget"), 0},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.what, tt.got, tt.want)
		}
	}
	if tshark, err := exec.LookPath("tshark"); err == nil {
		frames, err := exec.Command(tshark, "-r", file, "-Y", "_ws.malformed or icmp or not udp", "-T", "fields", "-e", "frame.number").CombinedOutput()
		if lines := strings.TrimSpace(string(frames)); err != nil || strings.Contains(lines, "\n") && !strings.Contains(lines, "root") {
			t.Errorf("tshark: %v, %s", err, lines)
		}
	}
}

// TestRelayBrowser asks as a server browser does.
func TestRelayBrowser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	host := startHost(t, "--name", `Late\Night`, "--password", "tranya", "--system", "poseidon", "--players", "4", "--time-limit", "20")
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(host.at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(`\status\`)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2048)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	want := `\gamename\bcommander\gamever\60\location\1\hostname\*Late/Night` +
		`\missionscript\Multiplayer.Episode.Mission1.Mission1\mapname\DM\numplayers\0\maxplayers\4` +
		`\gamemode\openplaying\timelimit\20\fraglimit\-2\system\Poseidon\password\1` +
		`\player_0\Dedicated Server\final\\queryid\1.1`
	if got := string(b[:n]); got != want || gamespy.Parse(b[:n]).Kind() != gamespy.KindReply {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	host.stop(t)
	if said := host.String(); !strings.Contains(said, "1 queries answered") {
		t.Errorf("got %s", said)
	}
}
