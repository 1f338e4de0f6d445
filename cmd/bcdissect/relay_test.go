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
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A hostProcess is the program as a host or as a proxy.
type hostProcess struct {
	cmd  *exec.Cmd
	at   netip.AddrPort
	mu   sync.Mutex
	said bytes.Buffer // on standard error
	done chan struct{}
}

// startHost starts the program as a host on an unused port.
func startHost(t *testing.T, args ...string) *hostProcess {
	t.Helper()
	return startHostAt(t, "127.0.0.1:0", args...)
}

func startHostAt(t *testing.T, at string, args ...string) *hostProcess {
	t.Helper()
	cmd := exec.Command("bcdissect", append([]string{"relay", "--listen", at}, args...)...)
	return startProgram(t, cmd, ` on (127\.0\.0\.1:\d+) `)
}

// startProgram starts a program that begins by telling its address.
func startProgram(t *testing.T, cmd *exec.Cmd, address string) *hostProcess {
	t.Helper()
	p := &hostProcess{cmd: cmd, done: make(chan struct{})}
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
	found := regexp.MustCompile(address).FindStringSubmatch(first)
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

// patience is the time after which a test gives up waiting for something. It takes
// milliseconds, unless the machine is busy.
const patience = time.Minute

// says waits until the program has said something on standard error.
func (p *hostProcess) says(want string) bool {
	for began := time.Now(); !strings.Contains(p.String(), want); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			return false
		}
	}
	return true
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

// answers waits until a host answers a server browser.
func answers(t *testing.T, at netip.AddrPort) bool {
	t.Helper()
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 2048)
	for began := time.Now(); time.Since(began) < patience; {
		_, _ = c.Write([]byte(`\basic\`)) // the connection is refused until the port is open
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := c.Read(b); err == nil && strings.HasPrefix(string(b[:n]), `\gamename\bcommander`) {
			return true
		} else if err == nil {
			t.Errorf("got %q", b[:n])
		} else {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return false
}

// An udpClient is a client with a socket, on a bad network.
type udpClient struct {
	*relaytest.Client
	conn    *net.UDPConn
	trouble *relay.Trouble
	rand    *rand.Rand    // decides what the network does with datagrams from this client
	arrived chan []byte   // datagrams from the host that the network let through
	late    chan []byte   // datagrams from this client that the network let through
	frame   time.Duration // time between two datagrams of the game, which sends all due messages in one. 0 sends each message when it is due.
	framed  time.Time

	seen    map[string][2]int // first and last number of the messages of each other client
	faults  []string
	replies int // replies to server browsers
}

func newUDPClient(t *testing.T, at netip.AddrPort, n int, trouble *relay.Trouble) *udpClient {
	t.Helper()
	return newUDPClientFrom(t, nil, at, n, trouble)
}

func newUDPClientFrom(t *testing.T, local *net.UDPAddr, at netip.AddrPort, n int, trouble *relay.Trouble) *udpClient {
	t.Helper()
	conn, err := net.DialUDP("udp4", local, net.UDPAddrFromAddrPort(at))
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

// delivered notes the messages of other clients.
func (c *udpClient) delivered(_ time.Time, m *arq.Message) {
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

// play plays until a time, and then until all messages are acknowledged. It
// calls each every tenth of a second.
func (c *udpClient) play(until time.Time, each func(now time.Time, tick int)) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for tick := 0; ; {
		now := time.Now()
		switch {
		case now.After(until.Add(patience)):
			c.faults = append(c.faults, c.Name+" waits for acknowledgements")
			return
		case now.After(until) && (c.Idle() || c.Phase == relaytest.Gone):
			return
		case now.Before(until) && now.Sub(began) > time.Duration(tick)*100*time.Millisecond:
			each(now, tick)
			tick++
		}
		for now.Sub(c.framed) >= c.frame {
			d, ok := c.Datagram(now)
			if !ok {
				c.framed = now
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
	fixtures.System(t)
	t.Parallel()
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
	trouble := &relay.Trouble{Loss: 0.05, Duplicate: 0.05, Reorder: 0.05, Jitter: 10 * time.Millisecond}
	clients := make([]*udpClient, players)
	for n := range clients {
		clients[n] = newUDPClient(t, host.at, n+1, trouble)
		defer clients[n].conn.Close()
	}
	// There are three phases. Each ends at the same time for all players.
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
	for !joined() && time.Since(began) < patience {
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
	// The host forwards the remaining messages soon after.
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
	for waiting := time.Now(); !settled() && time.Since(waiting) < patience; {
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
	together(10*trouble.Jitter+50*time.Millisecond, func(*udpClient) func(time.Time, int) { return func(time.Time, int) {} }) // its last datagrams may be under way
	for _, c := range clients[players/2:] {
		if c.Phase != relaytest.Gone {
			t.Errorf("%s does not know that the host has left", c.Name)
		}
	}
	said := host.String()
	for _, want := range []string{`named "Player 3"`, "8 joined", "left", "disconnecting all players"} {
		if !strings.Contains(said, want) {
			t.Errorf("the host did not say %q: %s", want, said)
		}
	}
	checkRecording(t, file, clients)
	var out, errs bytes.Buffer
	if code := run([]string{"replay", file, "--mode", "playable"}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
		t.Errorf("replay: exit status %d: %s%s", code, errs.String(), out.String())
	}
}

// stream is the name of a client's messages as others see them.
func (c *udpClient) stream() string {
	return fmt.Sprintf("stream %d of %d in slot %d", relaytest.Forward, c.First/10000, c.Slot)
}

// checkRecording checks that all that a host has recorded can be read.
func checkRecording(t *testing.T, file string, clients []*udpClient) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run([]string{"read", "-T", "json", "--strict", "--verify", file}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
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
	count := func(dir string, opcodes ...string) (n int) {
		for _, name := range opcodes {
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
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
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
	if said := host.String(); !strings.Contains(said, "1 query answered") {
		t.Errorf("got %s", said)
	}
}

// join has a client on a good network join, or be refused, and returns it.
func join(t *testing.T, at netip.AddrPort, n int) *udpClient {
	t.Helper()
	return joinFrom(t, nil, at, n)
}

func joinFrom(t *testing.T, local *net.UDPAddr, at netip.AddrPort, n int) *udpClient {
	t.Helper()
	return joinAs(t, local, at, n, false)
}

// joinAs does the same in one of the dialects.
func joinAs(t *testing.T, local *net.UDPAddr, at netip.AddrPort, n int, openBC bool) *udpClient {
	t.Helper()
	c := newUDPClientFrom(t, local, at, n, &relay.Trouble{})
	c.joinWith(t, func(o *relaytest.Options) { o.OpenBC = openBC })
	return c
}

// joinWith has a client join, or be refused, with other options.
func (c *udpClient) joinWith(t *testing.T, change func(o *relaytest.Options)) {
	t.Helper()
	o := c.Options
	change(&o)
	c.Client = relaytest.NewClient(o)
	c.Deliver = c.delivered
	t.Cleanup(func() { _ = c.conn.Close() })
	began := time.Now()
	c.Connect(began)
	for c.Phase != relaytest.Playing && c.Phase != relaytest.Gone && time.Since(began) < patience {
		c.play(time.Now().Add(50*time.Millisecond), func(time.Time, int) {})
	}
}

// The host's first datagram equals the one that the original game's host sends
// (TRANSPORT 19.2): accept, and the first request for hashes. The report shows
// both directions.
func TestRelayReport(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	file := filepath.Join(t.TempDir(), "report.json")
	host := startHost(t, "-T", "json", "-o", file, "--no-acks", "-Y", "kind != gamespy")
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(host.at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	connect := "\xFF\x01\x03\x0F\xC0\x00\x00\x0A\x0A\x0A\xEF\x5F\x0A\x00\x00\x00\x00"
	if _, err := conn.Write(cipher.Encrypt(nil, []byte(connect))); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2048)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	plain := cipher.Decrypt(nil, b[:n])
	id := byte(0) // it is random
	if i := bytes.Index(plain, []byte("\x03\x06\xC0\x00\x00")); i >= 0 && i+5 < len(plain) {
		id = plain[i+5]
	}
	messages := "\x03\x06\xC0\x00\x00" + string(rune(id)) + "\x32\x1B\x80\x00\x00\x20\x00\x08\x00scripts/\x07\x00App.pyc\x20"
	want := "\x01\x02" + messages
	late := "\x01\x03\x01\x00\x00\x02" + messages // the machine was slow, and an acknowledgement is due
	if got := string(plain); got != want && got != late || id < 2 || id > 126 {
		t.Errorf("got\n% X, want\n% X", got, want)
	}
	if _, err := conn.Write([]byte(`\status\`)); err != nil {
		t.Fatal(err)
	}
	if n, err = conn.Read(b); err != nil || b[0] == '\\' && n < 200 {
		t.Fatal(n, err)
	}
	host.stop(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, want := range []string{`"dir":"c2s","conversation":1,"peer":255,"msg":\d,"kind":"connect"`, `"dir":"s2c","conversation":1,"peer":1,"msg":\d,"kind":"connect"`, `"name":"ChecksumRequest"`} {
		if len(lines) < 3 || !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("the report has no %s: %s", want, text)
		}
	}
	if strings.Contains(string(text), "gamespy") {
		t.Errorf("the report holds records that the filter leaves out: %s", text)
	}
}

// A host writes a page of its game in addition to the recording. The page
// equals the page that session makes from the recording.
func TestRelayPage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	t.Parallel()
	dir := t.TempDir()
	live, file, later := filepath.Join(dir, "live.html"), filepath.Join(dir, "relay.pcapng"), filepath.Join(dir, "later.html")
	host := startHost(t, "--session", live, "-w", file)
	for n := 1; n <= 2; n++ {
		c := join(t, host.at, n)
		if c.Phase != relaytest.Playing {
			t.Fatalf("phase %d, reason %d; want to play", c.Phase, c.Reason)
		}
		c.CreateShip(time.Now())
		c.play(time.Now().Add(300*time.Millisecond), func(now time.Time, tick int) { c.Fight(now, tick) })
	}
	host.stop(t)
	var out, errs bytes.Buffer
	if code := run([]string{"session", file, "-o", later}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
		t.Fatalf("session: exit status %d: %s", code, errs.String())
	}
	var pages [2][]byte
	for i, name := range []string{live, later} {
		var err error
		if pages[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	pages[1] = bytes.Replace(pages[1], []byte(`"captures":["relay.pcapng"]`), []byte(`"captures":[]`), 1)
	pages[1] = regexp.MustCompile(`"places":\[\{"files":\["relay\.pcapng"\][^}]*\}\],`).ReplaceAll(pages[1], nil) // the host knows of no file
	if !bytes.Contains(pages[0], []byte("Player 2")) || !bytes.Equal(pages[0], pages[1]) {
		t.Errorf("the page while playing has %d bytes, that of the recording %d", len(pages[0]), len(pages[1]))
	}
	if files, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// Who is banned is not let in, and lists are read again on a hangup.
func TestRelayBans(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no hangup on Windows")
	}
	t.Parallel()
	bans := filepath.Join(t.TempDir(), "bans.txt")
	write := func(text string) {
		if err := os.WriteFile(bans, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("127.0.255.255\n")
	host := startHost(t, "--bans", bans)
	const banned = 5
	if c := join(t, host.at, 1); c.Reason != banned {
		t.Errorf("phase %d, reason %d; want reason %d", c.Phase, c.Reason, banned)
	}
	hangup := func(want string) {
		t.Helper()
		if err := host.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if !host.says(want) {
			t.Fatalf("the host did not say %q: %s", want, host)
		}
	}
	write("127.0.0\n")
	hangup("the bans stay as they were: ")
	write("# 127.0.255.255\n10.0.0.3\n")
	hangup("1 ban read from")
	c := join(t, host.at, 2)
	if c.Phase != relaytest.Playing {
		t.Errorf("phase %d, reason %d; want to play", c.Phase, c.Reason)
	}
	write("10.0.0.2\n10.0.0.3\n")
	hangup("2 bans read from " + bans + ", 1 removed from the game") // it plays
	if !c.until(c.isGone) || c.Reason != banned {
		t.Errorf("phase %d, reason %d; want reason %d", c.Phase, c.Reason, banned)
	}
	if c := join(t, host.at, 3); c.Reason != banned { // by the address that it claims
		t.Errorf("phase %d, reason %d; want reason %d", c.Phase, c.Reason, banned)
	}
	host.stop(t)
}

// Files that differ from the list are refused.
func TestRelayChecksums(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	sums := filepath.Join(t.TempDir(), "sums.txt")
	text := fmt.Sprintf("%08X scripts/App.pyc\n%08X scripts/ships/Hardpoints/ship7.pyc\n",
		names.FileHash([]byte("App.pyc")), names.FileHash([]byte("ship7.pyc"))+1)
	if err := os.WriteFile(sums, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	host := startHost(t, "--checksums", sums)
	c := newUDPClient(t, host.at, 1, &relay.Trouble{})
	defer c.conn.Close()
	failed := make(chan string, 1)
	c.Deliver = func(_ time.Time, m *arq.Message) {
		if m.Body[0] == 0x22 {
			failed <- string(m.Body[3:])
		}
	}
	c.Connect(time.Now())
	c.until(func() bool { return len(failed) > 0 })
	select {
	case file := <-failed:
		if file != "scripts/ships/Hardpoints/ship7.pyc" {
			t.Errorf("got %q", file)
		}
	default:
		t.Errorf("the client was not refused: phase %d; %s", c.Phase, host)
	}
	host.stop(t)
}

func TestRelayPortInUse(t *testing.T) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	at := conn.LocalAddr().(*net.UDPAddr)
	var out, errs bytes.Buffer
	if code := run([]string{"relay", "--listen", at.String()}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitFailed {
		t.Errorf("exit status %d", code)
	}
	want := fmt.Sprintf("bcdissect: port %d is in use, by another host or the game itself; end that, or choose another with --listen :%d\n", at.Port, at.Port%0xFFFF+1)
	if errs.String() != want {
		t.Errorf("got  %swant %s", errs.String(), want)
	}
}
