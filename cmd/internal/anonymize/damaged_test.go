package anonymize_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
	"github.com/bcdissect/bcdissect/fixtures"
)

// everyCapture returns all captures of the fixtures.
func everyCapture(t *testing.T) []string {
	t.Helper()
	all := captures(t)
	for _, folder := range []string{"captures/field/*.gz", "captures/trouble/*", "captures/clear/*.zst", "rejoin/*"} {
		for _, name := range fixtures.Glob(t, folder) {
			all = append(all, fixtures.Path(name))
		}
	}
	return all
}

// isClear reports whether a capture holds deciphered datagrams.
func isClear(name string) bool { return filepath.Base(filepath.Dir(name)) == "clear" }

// pcap writes packets of raw IP into a file.
func pcap(t *testing.T, name string, packets ...[]byte) {
	t.Helper()
	file := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x65\x00\x00\x00")
	for i, p := range packets {
		file = binary.LittleEndian.AppendUint32(file, uint32(i/1000))
		file = binary.LittleEndian.AppendUint32(file, uint32(i%1000)*1000)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(p)))
		file = binary.LittleEndian.AppendUint32(file, uint32(len(p)))
		file = append(file, p...)
	}
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// from makes a packet of IPv4 with a payload.
func from(src, dst netip.AddrPort, payload []byte) []byte {
	size := 28 + len(payload)
	b := []byte{0x45, 0, byte(size >> 8), byte(size), 1, 2, 0, 0, 63, 17, 0, 0}
	b = append(append(b, src.Addr().AsSlice()...), dst.Addr().AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = append(b, byte((size-20)>>8), byte(size-20), 0, 0)
	return append(b, payload...)
}

// outputs yields everything that a reader of a copy sees: the file, and each
// datagram, both unchanged and deciphered.
func outputs(t *testing.T, name string, see func(where string, b []byte)) {
	t.Helper()
	src, err := capture.Open(name, nil)
	if errors.Is(err, capture.ErrEmpty) {
		return
	} else if err != nil {
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
		where := fmt.Sprintf("frame %d", d.Number)
		see(where, d.Payload)
		see(where+", deciphered", cipher.Decrypt(nil, d.Payload))
		see(where+", addresses", []byte(d.Src.Addr().String()+" "+d.Dst.Addr().String()))
	}
}

// forms are the ways in which a program could write a value: none may be left.
func (k *known) forms() (all [][]byte) {
	for text := range k.texts {
		narrow := wire.AppendTextOf(nil, text)
		if len(bytes.Trim(narrow, "\x00 ")) < 3 || text == "Dedicated Server" && narrow == nil {
			continue
		}
		wide := wire.AppendWideTextOf(nil, text)
		all = append(all, wide, append([]byte{byte(len(narrow))}, narrow...))
		swapped := bytes.Clone(wide)
		for i := 0; i+1 < len(swapped); i += 2 {
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		}
		all = append(all, swapped)
		if len(narrow) > 3 {
			digits := hex.EncodeToString(narrow)
			all = append(all, narrow, []byte(text), []byte(digits), []byte(strings.ToUpper(digits)))
		}
	}
	for a := range k.addrs {
		all = append(all, []byte(a.String()))
		if !a.IsLoopback() {
			backwards := a.AsSlice()
			slices.Reverse(backwards)
			all = append(all, a.AsSlice(), backwards)
		}
	}
	return all
}

// Whatever was damaged, nothing of the undamaged capture is left, and no capture is
// refused.
func TestDamaged(t *testing.T) {
	key := testKey(t)
	names := []string{
		"stock_client.pcap", "stock_replay.pcap", "forged_small.pcap", "opcode_tour.pcap", "opcode_coverage.pcap", "gamespy.pcap",
		"two_teams.pcap", "join_flow.pcap", "trouble/arrival.pcap", "trouble/address.pcap",
	}
	each := fixtures.More(uint64(8), 20)
	if os.Getenv("BCDISSECT_LONG") != "" {
		each = 200
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := fixtures.Path("captures/" + name)
			var k known
			k.read(t, in)
			forms := k.forms()
			for seed := range each {
				bad := filepath.Join(t.TempDir(), "bad.pcap")
				pcap(t, bad, damaged(t, in, rand.New(rand.NewPCG(seed, 28)))...)
				out := bad + ".out"
				if said, err := run(bad, out, "--key", key); err != nil {
					t.Fatal(seed, err, said)
				}
				var hurt known // the values that can still be read, damaged or not
				hurt.read(t, bad)
				maps.DeleteFunc(hurt.texts, func(text string, _ bool) bool { return gamespy.Own([]byte(text)) }) // a key in the place of a name
				outputs(t, out, func(where string, b []byte) {
					for _, form := range slices.Concat(forms, hurt.forms()) {
						if bytes.Contains(b, form) {
							t.Fatalf("damage %d: %q is left in %s", seed, form, where)
						}
					}
				})
			}
		})
	}
}

// Whatever of a file is damaged, be it its blocks or the packets in them, nothing of the
// undamaged one is left, and what can be read is not refused.
func TestDamagedFiles(t *testing.T) {
	key := testKey(t)
	names := fixtures.Glob(t, "captures/variants/*.pcap*")
	for _, name := range append(names, "captures/two_teams.pcap", "captures/trouble/address.pcap", "captures/stock_replay.pcap") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var k known
			k.read(t, fixtures.Path("captures/join_flow.pcap"))
			if !strings.Contains(name, "join_flow") {
				k.read(t, fixtures.Path(name))
			}
			forms, sound, copies := k.forms(), fixtures.Read(t, name), 0
			for seed := range fixtures.More(uint64(5), 12) {
				bad := filepath.Join(t.TempDir(), "bad")
				if err := os.WriteFile(bad, broken(rand.New(rand.NewPCG(seed, 29)), sound), 0o600); err != nil {
					t.Fatal(err)
				}
				out := bad + ".out"
				said, err := run(bad, out, "--key", key)
				var status *cli.StatusError
				if err != nil && (!errors.As(err, &status) || status.Code != cli.ExitDamaged) {
					if src, cannot := capture.Open(bad, nil); cannot == nil {
						src.Close()
						t.Errorf("damage %d: %v %s", seed, err, said)
					}
					continue
				}
				copies++
				raw, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				see := func(where string, b []byte) {
					for _, form := range forms {
						if bytes.Contains(b, form) {
							t.Fatalf("damage %d: %q is left in %s", seed, form, where)
						}
					}
				}
				see("the file", raw)
				outputs(t, out, see)
			}
			if copies < 3 && len(sound) > 24 {
				t.Errorf("only %d copies", copies)
			}
		})
	}
}

// broken returns a file with bytes flipped, put in, taken out, written over or moved, up to
// twenty times.
func broken(r *rand.Rand, sound []byte) []byte {
	b := bytes.Clone(sound)
	for range 1 + r.IntN(20) {
		if len(b) < 200 {
			break
		}
		at := min(len(b)-65, 24+r.IntN(len(b)-89))
		size := 1 + r.IntN(64)
		switch r.IntN(5) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b = slices.Insert(b, at, bytes.Clone(b[at:at+size])...)
		case 2:
			b = slices.Delete(b, at, at+size)
		case 3:
			for i := range size {
				b[at+i] = byte(r.Uint32())
			}
		case 4:
			from := r.IntN(len(b) - size)
			copy(b[at:at+size], b[from:])
		}
	}
	return b
}

// damaged returns the packets of a capture with damaged contents: some of the
// deciphered bytes changed, moved or cut.
func damaged(t *testing.T, name string, r *rand.Rand) (packets [][]byte) {
	t.Helper()
	src, err := capture.Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for d := range dissect.Datagrams(src) {
		plain := bytes.Clone(d.Payload)
		text := len(plain) > 0 && plain[0] == '\\'
		if !text {
			plain = cipher.Decrypt(nil, plain)
		}
		if r.IntN(3) == 0 && len(plain) > 3 {
			plain = hurt(r, plain)
		}
		if !text {
			plain = cipher.Encrypt(nil, plain)
		}
		packets = append(packets, from(d.Src, d.Dst, plain))
	}
	return packets
}

// hurt damages a deciphered datagram.
func hurt(r *rand.Rand, b []byte) []byte {
	at := 1 + r.IntN(len(b)-2)
	switch r.IntN(6) {
	case 0:
		b[at] = byte(r.Uint32())
	case 1:
		b[at] ^= 1 << r.IntN(8)
	case 2: // the bytes after it move to the front
		n := 1 + r.IntN(min(4, len(b)-at))
		copy(b[at:], b[at+n:])
		clear(b[len(b)-n:])
	case 3: // and to the end
		copy(b[at+1:], b[at:len(b)-1])
	case 4:
		b = b[:at+1]
	case 5: // the first message gets another opcode, often one of another form
		b[min(7, len(b)-1)] = byte(r.IntN(0x40))
	}
	return b
}

// The story is the same before and after: each message of each undamaged capture has
// its counterpart.
func TestStory(t *testing.T) {
	key := testKey(t)
	for _, in := range everyCapture(t) {
		t.Run(filepath.Base(in), func(t *testing.T) {
			if info, err := os.Stat(in); err != nil || info.Size() > 1<<18 {
				fixtures.System(t)
			}
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out.pcapng.gz")
			if said, err := run(in, out, "--key", key, fmt.Sprint("--clear=", isClear(in))); err != nil {
				t.Fatal(err, said)
			}
			a, b := diff.New()
			a.Lengths, b.Lengths = true, true
			for name, c := range map[string]*diff.Capture{in: a, out: b} { // the copy is enciphered
				src, err := capture.Open(name, nil)
				if errors.Is(err, capture.ErrEmpty) {
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				p := dissect.New(dissect.Config{Clear: isClear(name)})
				for d := range dissect.Datagrams(src) {
					if isClear(in) && d.Payload[0] == '\\' {
						continue // these queries were also deciphered, and are not readable
					}
					if err := p.Push(d, c.Record); err != nil {
						t.Fatal(err)
					}
				}
			}
			r := diff.Compare(a, b, diff.Options{})
			if !r.Equal() || a.Messages != b.Messages || a.Repeats != b.Repeats || a.Acks != b.Acks {
				t.Errorf("%d differences; %d and %d messages, %d and %d retransmissions", r.Found, a.Messages, b.Messages, a.Repeats, b.Repeats)
				for i, f := range r.Findings {
					if i < 5 {
						t.Logf("%+v", f)
					}
				}
			}
		})
	}
}

// A creation of the stock game that is read in OpenBC's form has its name in a vector.
func TestMisreadCreation(t *testing.T) {
	const creation = "0101" + "3266807d02" + "03040308800000ffff0340020f54e9c1451826c255ff8c42154b3e3f1950cfbdcdd8253f608307be00000000000000" +
		"05436164793206" + "4d756c746931" + "64006060ff0064006001646064" + "60ff010164600164" + "01ff600164640000006401000001" + "6000"
	plain, err := hex.DecodeString(creation)
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(t.TempDir(), "in")
	host, client := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("192.0.2.2:5000")
	pcap(t, in, from(host, client, cipher.Encrypt(nil, plain)))
	said, err := run(in, in+".out", "--dialect", "openbc", "--key", testKey(t))
	if err != nil {
		t.Fatal(err, said)
	}
	if !strings.Contains(said, "1 message blanked: malformed, or read in a form that is not its own") {
		t.Error(said)
	}
	outputs(t, in+".out", func(where string, b []byte) {
		if bytes.Contains(b, []byte("Cady")) || bytes.Contains(b, []byte("Multi1")) {
			t.Errorf("%s: %q", where, b)
		}
	})
}

// A stranger cannot make a capture one that is refused, or leave a name in it: with a
// query of his own, or with the name of a player as the game's own word.
func TestStranger(t *testing.T) {
	asker, host := netip.MustParseAddrPort("198.51.100.9:4000"), netip.MustParseAddrPort("203.0.113.5:22101")
	for _, query := range []string{
		`\secure\Hannah\echo\Hannah\`, `\echo\Hannah`, `\status\Hannah\secure\Hannah`, `\Hannah\Hannah`, `\mapname\Hannah\player_0\Hannah`,
		`\gamename\Hannah\\hostname\Hannah`, `\heartbeat\203.0.113.5`, `\location\198.51.100.9\final\`, `\basic\\Hannah`,
	} {
		in := filepath.Join(t.TempDir(), "in")
		pcap(t, in, from(asker, host, []byte(query)), from(host, asker, []byte(`\hostname\Hannah\final\\queryid\1.1`)))
		if said, err := run(in, in+".out", "--key", testKey(t)); err != nil {
			t.Error(query, err, said)
			continue
		}
		outputs(t, in+".out", func(where string, b []byte) {
			for _, secret := range []string{"Hannah", "203.0.113.5", "198.51.100.9"} {
				if bytes.Contains(b, []byte(secret)) {
					t.Errorf("%s: %s: %q", query, where, b)
				}
			}
		})
	}
}

// This key has been refused for a capture on account of an address in the numbers.
func TestNotRefused(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("00112233445566778899aabbccddeeff", 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := run(fixtures.Path("captures/trouble/arrival.pcap"), filepath.Join(t.TempDir(), "out"), "--key", key); err != nil {
		t.Error(err, said)
	}
}

// The ids of packets, their hops and class tell of systems and routes: they are others.
func TestPacketHeaders(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	a, b := netip.MustParseAddrPort("198.51.100.9:4000"), netip.MustParseAddrPort("203.0.113.5:22101")
	first := from(a, b, []byte(`\status\`))
	first[1], first[8] = 0xb8, 113
	second := bytes.Clone(first)
	second[5]++
	pcap(t, in, first, second)
	out := filepath.Join(t.TempDir(), "out")
	if said, err := run(in, out, "--key", testKey(t)); err != nil {
		t.Fatal(err, said)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for at := 0; ; at++ {
		next := bytes.Index(raw[at:], []byte{0x45, 0, 0, byte(len(first))})
		if next < 0 {
			break
		}
		at += next
		if raw[at+8] != 64 {
			t.Errorf("TTL %d", raw[at+8])
		}
		ids = append(ids, string(raw[at+4:at+6]))
	}
	if len(ids) != 2 || ids[0] == ids[1] || ids[0] == "\x01\x02" {
		t.Errorf("ids %q", ids)
	}
}

// An output is compressed as its name says, and one that is damaged keeps its status.
func TestCompressed(t *testing.T) {
	dir := t.TempDir()
	in := fixtures.Path("captures/variants/join_flow-filecut.pcap")
	for ending, magic := range map[string]string{".pcap.gz": "\x1f\x8b", ".pcapng.zst": "\x28\xb5\x2f\xfd", ".pcapng": "\x0a\x0d\x0d\x0a"} {
		out := filepath.Join(dir, "out"+ending)
		var status *cli.StatusError
		if _, err := run(in, out); !errors.As(err, &status) || status.Code != cli.ExitDamaged {
			t.Errorf("%s: %v", ending, err)
		}
		if b, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(b), magic) {
			t.Errorf("%s begins with %q, %v", ending, b[:min(4, len(b))], err)
		}
		n := 0
		outputs(t, out, func(string, []byte) { n++ })
		if n == 0 {
			t.Errorf("%s: no datagram", ending)
		}
	}
}

// Of a mod's message, the numbers stay that its definition calls harmless, and no others.
func TestHarmlessNumbers(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	host, client := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("192.0.2.2:5000")
	const offer = "CE 00 01020304 02 0000C03F 01 10 0700 D207" // all up to the text
	send := func(text string) []byte {
		body := fixtures.Unhex(t, text)
		return from(client, host, cipher.Encrypt(nil, append([]byte{2, 1, 0x32, byte(5 + len(body)), 0x80, 0, 0}, body...)))
	}
	pcap(t, in, send(offer+"0600"+hex.EncodeToString([]byte("Hannah"))), send("CD 05060708"))
	if said, err := run(in, in+".out", "--define", filepath.Join("..", "..", "..", "docs", "example-mod.toml"), "--key", testKey(t)); err != nil {
		t.Fatal(err, said)
	}
	var got []string
	outputs(t, in+".out", func(where string, b []byte) {
		if strings.HasSuffix(where, "deciphered") {
			got = append(got, hex.EncodeToString(b[7:]))
		}
	})
	want := hex.EncodeToString(fixtures.Unhex(t, strings.Replace(offer, "01020304", "00000000", 1)+"0600"))
	if len(got) != 2 || len(got[0]) != len(want)+12 || got[0][:len(want)] != want || got[0][len(want):] == hex.EncodeToString([]byte("Hannah")) || got[1] != "cd00000000" {
		t.Errorf("got %q, want %s with a pseudonym, and zeros", got, want)
	}
}
