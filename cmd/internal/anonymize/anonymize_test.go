package anonymize_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/anonymize/command"
	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// run runs the command.
func run(args ...string) (said string, err error) {
	var f command.Flags
	var text bytes.Buffer
	s := cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &text}
	cmd := &cobra.Command{Use: "anonymize", SilenceErrors: true, SilenceUsage: true, RunE: func(_ *cobra.Command, names []string) error { return f.Run(s, names) }}
	f.Define(cmd)
	cmd.SetArgs(append([]string{"--no-progress"}, args...))
	err = cmd.Execute()
	return text.String(), err
}

// testKey is the key of tests, so that they give the same each time.
func testKey(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(strings.Repeat("0123456789abcdef", 4)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// captures are the captures in the fixtures, except those in other file
// formats.
func captures(t *testing.T) []string {
	t.Helper()
	all := fixtures.Glob(t, "captures/*.pcap*")
	all = append(all, fixtures.Glob(t, "captures/reliability/*.gz")...)
	all = append(all, fixtures.Glob(t, "captures/variants/*")...)
	all = slices.DeleteFunc(all, func(name string) bool {
		return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, "-filecut.pcap")
	})
	for i, name := range all {
		all[i] = fixtures.Path(name)
	}
	return all
}

// known are the private values of a capture.
type known struct {
	texts map[string]bool
	addrs map[netip.Addr]bool
}

// read collects names, chat and addresses. It uses only the types of messages.
func (k *known) read(t *testing.T, name string) (n int) {
	t.Helper()
	k.texts, k.addrs = map[string]bool{}, map[netip.Addr]bool{}
	src, err := capture.Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	p := dissect.New(dissect.Config{Clear: isClear(name)})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			delete(k.addrs, netip.IPv4Unspecified()) // 0.0.0.0 belongs to no computer
			delete(k.addrs, netip.AddrFrom4([4]byte{255, 255, 255, 255}))
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		n++
		k.addrs[d.Src.Addr()], k.addrs[d.Dst.Addr()] = true, true
		_ = p.Push(d, func(r *dissect.Record) error {
			if r.Err != nil && r.Status != dissect.StatusUnresolved {
				return nil
			}
			switch m := r.Message.(type) {
			case *transport.Identity:
				k.texts[wire.WideText(m.Name).Raw()] = true
				k.addrs[netip.AddrFrom4(m.Addr)] = true
			case *transport.Request:
				k.texts[wire.WideText(m.Password).Raw()] = true
				k.addrs[netip.AddrFrom4(m.Addr)] = true
			case *transport.Goodbye:
				k.addrs[netip.AddrFrom4(m.Addr)] = true
			case *msg.Chat:
				k.texts[wire.Text(m.Text).Raw()] = true
			case *msg.TeamChat:
				k.texts[wire.Text(m.Text).Raw()] = true
			case *msg.ObjectCreateTeam:
				k.texts[wire.Text(m.Name).Raw()] = true
			case *msg.ObjectCreate:
				k.texts[wire.Text(m.Name).Raw()] = true
			case *msg.PlayerDeleted:
				k.texts[wire.Text(m.Name).Raw()] = true
			case *msg.PlayerDeletedOpenBC:
				k.texts[wire.Text(m.Name).Raw()] = true
			case *msg.Settings:
				k.texts[wire.WideText(m.NewName).Raw()] = true
			}
			for key, value := range r.GameSpy.Pairs() {
				if key == "hostname" || strings.HasPrefix(key.Raw(), "player_") {
					k.texts[strings.TrimPrefix(value.Raw(), "*")] = true
				}
			}
			return nil
		})
	}
}

// leaks returns the texts that are left in bytes, in either encoding.
func (k *known) leaks(b []byte) (left []string) {
	for text := range k.texts {
		narrow := wire.AppendTextOf(nil, text)
		if len(bytes.Trim(narrow, "\x00 ")) < 4 {
			continue
		}
		if bytes.Contains(b, narrow) || bytes.Contains(b, wire.AppendWideTextOf(nil, text)) {
			left = append(left, text)
		}
	}
	for a := range k.addrs {
		if bytes.Contains(b, []byte(a.String())) {
			left = append(left, a.String())
		}
	}
	return left
}

// Nothing private of any fixture is left in any layer of the output, nor the key.
func TestLeaks(t *testing.T) {
	key := testKey(t)
	secret, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	secret = bytes.TrimSpace(secret)
	for _, name := range everyCapture(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if isClear(name) {
				fixtures.System(t) // they are long
			}
			var k known
			n := k.read(t, name)
			out := filepath.Join(t.TempDir(), "out.pcapng")
			if said, err := run(name, out, "--key", key, fmt.Sprint("--clear=", isClear(name))); err != nil {
				t.Fatal(err, said)
			}
			raw, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if left := k.leaks(raw); left != nil {
				t.Errorf("in the file: %q", left)
			}
			if bin, _ := hex.DecodeString(string(secret)); bytes.Contains(raw, secret) || bytes.Contains(raw, bin) {
				t.Error("the key is in the file")
			}
			src, err := capture.Open(out, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			for {
				d, err := src.Next()
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				n--
				if k.addrs[d.Src.Addr()] || k.addrs[d.Dst.Addr()] {
					t.Fatalf("frame %d is from %v to %v", d.Number, d.Src, d.Dst)
				}
				plain := cipher.Decrypt(nil, d.Payload)
				if left := k.leaks(plain); left != nil {
					t.Errorf("in frame %d: %q", d.Number, left)
				}
				if s, err := transport.Split(plain); err == nil && plain[0] != '\\' {
					for m, ok, err := s.Next(); ok && err == nil; m, ok, err = s.Next() {
						k.addresses(t, d.Number, &m)
					}
				}
			}
			if n != 0 {
				t.Errorf("%d datagrams are missing", n)
			}
		})
	}
}

// addresses checks the address that a message of the transport layer holds.
func (k *known) addresses(t *testing.T, frame int, m *transport.Message) {
	t.Helper()
	at := map[transport.Type]int{transport.NameChange: 1, transport.Connect: 0, transport.Disconnect: 1}
	if off, ok := at[m.Type]; ok && !m.Short && len(m.Body) >= off+4 {
		if a := netip.AddrFrom4([4]byte(m.Body[off:])); k.addrs[a] {
			t.Errorf("frame %d: a message of type %v says %v", frame, m.Type, a)
		}
	}
}

// outcome is the result of all that judges a capture.
type outcome struct {
	tally   measure.Tally
	verify  dissect.Verifier
	records []string
	counts  []byte
	replay  []string

	malformed int // messages, other than those that the capture cut
}

func judge(t *testing.T, name string) (o outcome) {
	t.Helper()
	src, err := capture.Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	p := dissect.New(dissect.Config{})
	hosts := conform.NewHosts(conform.Config{})
	emit := func(r *dissect.Record) error {
		o.verify.Check(r)
		if r.Status == dissect.StatusMalformed && !r.Cut {
			o.malformed++
		}
		if err := hosts.Record(r); err != nil {
			return err
		}
		sum := []any{r.Datagram != nil, r.Kind, r.Part, r.Offset, r.Dir, r.Peer, r.Transport, r.Number, r.Repeat, r.Status, len(r.Rest), r.CopyOf, r.Writer, r.Sender, r.Layout, r.Conversation, r.ClientID}
		for _, n := range r.Notes {
			sum = append(sum, n.Code)
		}
		if r.Datagram != nil {
			sum = append(sum, r.Datagram.Number, r.Datagram.Time, r.Src.Port(), r.Dst.Port(), r.Full)
		}
		if r.Spec != nil {
			sum = append(sum, r.Spec.Name)
		}
		b, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		o.records = append(o.records, string(b))
		return o.tally.Record(r)
	}
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if err := p.Push(d, emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(emit); err != nil {
		t.Fatal(err)
	}
	var counts bytes.Buffer
	if err := ndjson.Stats(&counts, &o.tally); err != nil {
		t.Fatal(err)
	}
	o.counts = counts.Bytes()
	reports, passed := hosts.Reports()
	for _, r := range reports {
		o.replay = append(o.replay, fmt.Sprintf("host at port %d, %v against %v: %d clients, %d inputs, %d found, conforms: %v, %d messages skipped",
			r.Host.Port(), r.Dialect, r.Against, len(r.Clients), r.Inputs, r.Found, r.Conforms(), passed))
		for _, d := range r.Differences {
			o.replay = append(o.replay, fmt.Sprintf("%s %s in frame %d to port %d, %d fields", d.Kind, d.Name, d.Frame, d.To.Port(), len(d.Fields)))
		}
		for _, d := range r.Deviations {
			o.replay = append(o.replay, fmt.Sprintf("%s: %d from frame %d", d.Rule.Name, d.Count, d.First))
		}
	}
	slices.Sort(o.replay) // hosts come in the order of their addresses
	return o
}

// Records, counts, the exact encoding and the verdict on the host are the same
// before and after. The packed captures are long.
func TestVerdicts(t *testing.T) {
	key := testKey(t)
	for _, name := range captures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if filepath.Ext(name) == ".gz" {
				fixtures.System(t)
			}
			out := filepath.Join(t.TempDir(), "out.pcapng")
			if said, err := run(name, "-w", out, "--key", key); err != nil {
				t.Fatal(err, said)
			}
			before, after := judge(t, name), judge(t, out)
			if before.malformed > 0 {
				return // they are blank now, and TestStory compares all others
			}
			if len(before.records) != len(after.records) {
				t.Fatalf("%d records, were %d", len(after.records), len(before.records))
			}
			for i, want := range before.records {
				if got := after.records[i]; got != want {
					t.Fatalf("record %d:\ngot  %s\nwant %s", i, got, want)
				}
			}
			if string(before.counts) != string(after.counts) {
				t.Errorf("counts:\ngot  %s\nwant %s", after.counts, before.counts)
			}
			if p := string(before.counts); len(before.replay) == 0 && strings.Contains(p, "Settings") {
				t.Error("replay compared nothing")
			}
			if !slices.Equal(before.replay, after.replay) {
				t.Errorf("replay:\ngot  %q\nwant %q", after.replay, before.replay)
			}
			a, b := &before.verify, &after.verify
			if a.Messages != b.Messages || a.Datagrams != b.Datagrams || a.Differ != b.Differ {
				t.Errorf("verify: %d, %d, %d; were %d, %d, %d", b.Messages, b.Datagrams, b.Differ, a.Messages, a.Datagrams, a.Differ)
			}
		})
	}
}

// The same key gives the same bytes, another key other ones, and so does no key.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	in := fixtures.Path("captures/stock_client.pcap")
	seen := map[string]string{}
	for _, tt := range []struct{ name, key, same string }{
		{"first", "a.key", ""}, {"again", "a.key", "first"}, {"other", "b.key", ""}, {"none", "", ""}, {"none again", "", ""},
	} {
		out := filepath.Join(dir, tt.name)
		args := []string{in, out}
		if tt.key != "" {
			args = append(args, "--key", filepath.Join(dir, tt.key))
		}
		if said, err := run(args...); err != nil {
			t.Fatal(err, said)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if same := seen[string(b)]; same != tt.same {
			t.Errorf("%s is the same as %q, want %q", tt.name, same, tt.same)
		}
		if tt.same == "" {
			seen[string(b)] = tt.name
		}
	}
	info, err := os.Stat(filepath.Join(dir, "a.key"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("others can read the key: %v", mode)
	}
}

// A line of chat in three fragments of three datagrams, one of them repeated and
// the last one first, is replaced where its bytes are.
func TestFragments(t *testing.T) {
	const said = "meet me behind the second moon of Vesuvi"
	message := append([]byte{0x2C, 2, 0, 0, 0, byte(len(said)), 0}, said...)
	file := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x65\x00\x00\x00") // pcap of raw IP
	order := []uint8{2, 0, 0, 1}
	for _, i := range order {
		h := transport.Header{Type: transport.Standard, Reliable: true, Fragment: true, HasSeq: true, Seq: 9, Index: i, Count: 3}
		plain, err := transport.Append([]byte{2, 1}, &h, message[int(i)*16:min(int(i)*16+16, len(message))])
		if err != nil {
			t.Fatal(err)
		}
		packet := datagram(cipher.Encrypt(nil, plain))[14:]
		file = append(file, 0, 0, 0, 0, 0, 0, 0, 0)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(packet)))
		file = binary.LittleEndian.AppendUint32(file, uint32(len(packet)))
		file = append(file, packet...)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := run(in, out, "--key", testKey(t)); err != nil {
		t.Fatal(err, said)
	}
	src, err := capture.Open(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var parts [3][]byte
	for _, i := range order {
		d, err := src.Next()
		if err != nil {
			t.Fatal(err)
		}
		split, err := transport.Split(cipher.Decrypt(nil, d.Payload))
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := split.Next()
		if err != nil || m.Index != i || m.Seq != 9 {
			t.Fatalf("got fragment %d of %d, %v; want %d", m.Index, m.Seq, err, i)
		}
		if parts[i] != nil && !bytes.Equal(parts[i], m.Body) {
			t.Errorf("a repeated fragment is %q, was %q", m.Body, parts[i])
		}
		parts[i] = m.Body
	}
	got := slices.Concat(parts[:]...)
	if len(got) != len(message) || !bytes.Equal(got[:7], message[:7]) {
		t.Fatalf("got %q", got)
	}
	for i, c := range []byte(said) {
		if other := got[7+i]; (c == ' ') != (other == ' ') {
			t.Errorf("got %q", got)
			break
		}
	}
	for word := range strings.FieldsSeq(said) {
		if len(word) >= 4 && bytes.Contains(got, []byte(word)) {
			t.Errorf("%q is left in %q", word, got)
		}
	}
}

// Fragments of messages that never become complete are written in the end, blank,
// and do not hold up the others without bound.
func TestLoneFragments(t *testing.T) {
	const n = 70_000
	file := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x65\x00\x00\x00") // pcap of raw IP
	for i := range n {
		h := transport.Header{Type: transport.Standard, Reliable: true, Fragment: true, HasSeq: true, Seq: uint16(i), Index: 0, Count: 2}
		plain, err := transport.Append([]byte{2, 1}, &h, []byte("\x2C\x02\x00\x00\x00\x20\x00Hannah Lee"))
		if err != nil {
			t.Fatal(err)
		}
		packet := datagram(cipher.Encrypt(nil, plain))[14:]
		file = binary.LittleEndian.AppendUint32(file, uint32(i/1000))
		file = binary.LittleEndian.AppendUint32(file, uint32(i%1000))
		file = binary.LittleEndian.AppendUint32(file, uint32(len(packet)))
		file = binary.LittleEndian.AppendUint32(file, uint32(len(packet)))
		file = append(file, packet...)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, file, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := run(in, out)
	if err != nil {
		t.Fatal(err, said)
	}
	for _, want := range []string{": 70,000 frames written", ": 70,000 fragments blanked"} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %q in\n%s", want, said)
		}
	}
	src, err := capture.Open(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for {
		d, err := src.Next()
		if err != nil {
			break
		}
		if plain := cipher.Decrypt(nil, d.Payload); bytes.Contains(plain, []byte("Hannah")) {
			t.Fatalf("frame %d: %q", d.Number, plain)
		}
	}
}

// block appends a block of pcapng.
func block(b []byte, kind uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	size := uint32(12 + len(body))
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, size)
	return binary.LittleEndian.AppendUint32(append(b, body...), size)
}

// option appends an option of pcapng.
func option(b []byte, code uint16, text string) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	b = append(b, text...)
	return append(b, make([]byte, -len(text)&3)...)
}

// datagram builds an Ethernet frame with IP options, padding and a wrong
// checksum of the network card.
func datagram(payload []byte) []byte {
	b := []byte("\x02\x11\x22\x33\x44\x55\x00\x0c\x29\xaa\xbb\xcc\x08\x00")
	full := 24 + 8 + len(payload)
	b = append(b, 0x46, 0, byte(full>>8), byte(full), 1, 2, 0x40, 0, 64, 17, 0x12, 0x34)
	b = append(b, "\xcb\x00\x71\x05\xc6\x33\x64\x07SECR"...)
	b = append(b, 0x56, 0x78, 0x56, 0x79, byte((full-24)>>8), byte(full-24), 0xbe, 0xef)
	return append(append(b, payload...), "trailer!"...)
}

// Personal data in pcapng blocks and in headers is removed as well. Frames of
// other programs are dropped, and checksums are correct.
func TestContainer(t *testing.T) {
	secrets := []string{
		"Hannah's Mac", "Wi-Fi of Hannah", "hannah-pc", "a comment", "trailer!", "SECR", "password=1", "\xcb\x00\x71\x05", "\xc6\x33\x64\x07",
		"\x00\x0c\x29\xaa\xbb\xcc", "Hannah Lee", "Friday Game", "deadline",
	}
	game := []byte(`\hostname\*Friday Game\numplayers\2\player_0\Hannah Lee\player_1\Bob\deadline\now\final\\queryid\1.1`)
	file := block(nil, 0x0a0d0d0a, option(append([]byte("\x4d\x3c\x2b\x1a\x01\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 8)...), 2, "Hannah's Mac"))
	file = block(file, 1, option(option([]byte{1, 0, 0, 0, 0, 0, 4, 0}, 2, "Wi-Fi of Hannah"), 9, "\x09"))
	file = block(file, 4, append([]byte{1, 0, 14, 0, 203, 0, 113, 5}, "hannah-pc\x00\x00\x00\x00\x00\x00\x00"...))
	for _, payload := range [][]byte{game, []byte("password=1 of something else")} {
		data := datagram(payload)
		body := make([]byte, 12, 256)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(data)))
		body = binary.LittleEndian.AppendUint32(body, uint32(len(data)))
		body = append(append(body, data...), make([]byte, -len(data)&3)...)
		file = block(file, 6, option(body, 1, "a comment"))
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, file, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := run(in, out, "--key", testKey(t))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if !bytes.Contains(file, []byte(secret)) {
			t.Errorf("%q is not in the input", secret)
		}
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%q is left", secret)
		}
	}
	at := bytes.Index(b, []byte(`\hostname\*`)) - 32
	if at < 0 {
		t.Fatal("the datagram is gone, or the star that tells of a password")
	}
	if sum := add(b[at : at+24]); sum != 0xffff {
		t.Errorf("the checksum of IP adds up to %04x", sum)
	}
	udp := b[at+24 : at+24+8+len(game)]
	pseudo := append(bytes.Clone(b[at+12:at+20]), 0, 17, udp[4], udp[5])
	if sum := add(append(pseudo, udp...)); sum != 0xffff {
		t.Errorf("the checksum of UDP adds up to %04x", sum)
	}
	for _, want := range []string{": 1 frame written\n", ": 1 frame dropped: not of the game", ": 1 block of pcapng dropped", ": 4 options of pcapng dropped"} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %q in\n%s", want, said)
		}
	}
}

// add adds up 16-bit numbers in one's complement.
func add(b []byte) uint16 {
	var n uint32
	for i, c := range b {
		n += uint32(c) << (8 * uint(1-i%2))
	}
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	return uint16(n)
}

// A key file with other contents, an input as output, and missing names are
// errors. No file is left behind.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	in := fixtures.Path("captures/join_flow.pcap")
	out, full := filepath.Join(dir, "out"), filepath.Join(dir, "full")
	if err := os.WriteFile(full, []byte("of somebody"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"needs a file to write":           {in},
		"not a key":                       {in, out, "--key", in},
		"is searched after it is written": {in, "-w", "-"},
		"is an input file":                {in, in, "--force"},
		"cannot be replaced":              {in, dir},
		"the file is not empty":           {in, full},
	} {
		if _, err := run(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("%v: left %v, %v", args, all, err)
		}
	}
	if b, err := os.ReadFile(full); err != nil || string(b) != "of somebody" {
		t.Errorf("got %q, %v", b, err)
	}
}

// An output that is not complete takes the place of no file.
func TestNotKept(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(out, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	whole, err := os.ReadFile(fixtures.Path("captures/join_flow.pcap"))
	if err == nil {
		err = os.WriteFile(in, whole, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, err := run(in, missing, out, "--force"); err == nil {
		t.Error("got no error", said)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "before" {
		t.Errorf("got %q, %v", b, err)
	}
	if said, err := run(in, out, "--force"); err != nil {
		t.Fatal(err, said)
	}
	info, err := os.Stat(out)
	if err != nil || info.Size() < int64(len(whole))/2 || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("left %v, %v", all, err)
	}
}

// Chat can be kept, but names in it are replaced.
func TestKeepChat(t *testing.T) {
	const line = "everything good for you?"
	in, out := fixtures.Path("captures/stock_client.pcap"), filepath.Join(t.TempDir(), "out")
	var before, after known
	before.read(t, in)
	if said, err := run(in, out, "--keep-chat", "--key", testKey(t)); err != nil {
		t.Fatal(err, said)
	}
	after.read(t, out)
	if !before.texts[line] || !after.texts[line] {
		t.Errorf("the line is not kept: %v, were %v", after.texts, before.texts)
	}
	for text := range before.texts {
		if len(text) >= 4 && !strings.Contains(text, " ") && after.texts[text] {
			t.Errorf("%q is kept", text)
		}
	}
}

// No input makes the command crash, or leave a name.
func FuzzAnonymize(f *testing.F) {
	for _, name := range []string{"stock_client.pcap", "gamespy.pcap", "variants/join_flow-snap60.pcap", "variants/join_flow-two-interfaces.pcapng"} {
		b, err := os.ReadFile(fixtures.Path("captures/" + name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 20000)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		if err := os.WriteFile(in, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := run(in, out)
		if _, absent := os.Stat(out); absent != nil && err == nil {
			t.Error("neither an output nor an error")
		}
	})
}
