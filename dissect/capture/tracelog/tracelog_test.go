package tracelog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A flat is a record with its payload in hex.
type flat struct {
	at       string
	src, dst string
	payload  string // deciphered, if the log has it so
	full     int
	unsent   bool
	form     packet.Form
}

// readLog reads a log from a text.
func readLog(tb testing.TB, r io.Reader, first string) (all []flat, remarks []string, err error) {
	tb.Helper()
	log := New(r, []byte(first)[:min(len(first), HeadSize)], func(s string) { remarks = append(remarks, s) })
	if log == nil {
		tb.Fatalf("not taken for a log: %.80q", first)
	}
	for {
		var rec Record
		if err := log.Next(&rec); err != nil {
			return all, remarks, err
		}
		payload := rec.Payload
		if rec.Form == packet.Wire && (len(payload) == 0 || payload[0] != '\\') {
			payload = cipher.Decrypt(nil, payload)
		}
		all = append(all, flat{
			rec.Time.Format("2006-01-02 15:04:05.000"), rec.Src.String(), rec.Dst.String(),
			hex.EncodeToString(payload), rec.Full, rec.Unsent, rec.Form,
		})
	}
}

const packetHead = `# STBC Dedicated Server - Packet Trace (DECRYPTED)
# Session started: 2026-03-01 23:59:58
# Format: [time] #seq DIR peer len=N rc=N [opcode]

# NEW PEER: Peer#0(192.0.2.7:5000)
`

func TestPackets(t *testing.T) {
	t.Parallel()
	const host, peer = "0.0.0.0:22101", "192.0.2.7:5000"
	for _, c := range []struct {
		name, log string
		want      []flat
		remarks   []string
	}{
		{
			name: "both directions, over midnight",
			log: packetHead + `[23:59:59.500] #1 C->S Peer#0(192.0.2.7:5000) len=7 rc=7 [Connect]
  Decrypted:
    0000: FF 01 03 04 C0 00 00                             |.......|
  DECODE: peer=?(255) msgs=1
  [msg 0] ConnectAck (0x03) byte1=0x04 remaining=2
    data=[C0 00 00 ]

[00:00:01.000] #2 S->C Peer#0(192.0.2.7:5000) len=18 rc=18 [DataMsg]
  Decrypted:
    0000: 01 01 00 10 C0 00 00 01 02 03 04 05 06 07 08 09  |................|
    0010: 0A 0B                                            |..|

`,
			want: []flat{
				{"2026-03-01 23:59:59.500", peer, host, "ff010304c00000", 7, false, packet.Wire},
				{"2026-03-02 00:00:01.000", host, peer, "01010010c000000102030405060708090a0b", 18, false, packet.Wire},
			},
		},
		{
			name: "peers without a number or an address",
			log: packetHead + `[23:59:59.500] #1 C->S 192.0.2.7:5000 len=3 rc=3 [short]
  Decrypted:
    0000: FF 01 00                                         |...|

[23:59:59.600] #2 S->? unknown len=3 rc=3 [short]
  Decrypted:
    0000: 01 01 00                                         |...|
`,
			want: []flat{
				{"2026-03-01 23:59:59.500", peer, host, "ff0100", 3, false, packet.Wire},
				{"2026-03-01 23:59:59.600", host, "0.0.0.0:0", "010100", 3, false, packet.Wire},
			},
		},
		{
			name: "GameSpy, longer than its dump, and a failed send",
			log: packetHead + `[23:59:59.500] #1 S->C Peer#0(192.0.2.7:5000) len=40 rc=40 GAMESPY_RESPONSE
  Text: \a\b
  Decoded:
    a                    = b
  Hex:
    0000: 5C 61 5C 62                                      |\a\b|
    ... (36 bytes truncated)

[23:59:59.600] #2 S->C Peer#0(192.0.2.7:5000) len=3 rc=-1 [short]
  Decrypted:
    0000: 01 01 00                                         |...|
`,
			want: []flat{
				{"2026-03-01 23:59:59.500", host, peer, "5c615c62", 40, false, packet.Wire},
				{"2026-03-01 23:59:59.600", host, peer, "010100", 3, true, packet.Wire},
			},
		},
		{
			name: "an excerpt without head, time, peer and text, cut short",
			log: `[10:00:00.250] #51 S->C  len=3
    0000: 01 01 00
#52 S->C  len=6
  Decrypted:
    0000: 01 01 ...

`,
			want: []flat{
				{"1970-01-01 10:00:00.250", host, "0.0.0.0:0", "010100", 3, false, packet.Wire},
				{"1970-01-01 10:00:00.250", host, "0.0.0.0:0", "0101", 6, false, packet.Wire},
			},
			remarks: []string{"the log has no date: its days begin with 1970-01-01"},
		},
		{
			name: "damaged records are skipped, the next is read",
			log: packetHead + `[23:59:59.1] #1 C->S Peer#0(192.0.2.7:5000) len=3 rc=3
[23:59:59.100] #2 C->X Peer#0(192.0.2.7:5000) len=3 rc=3
[23:59:59.100] #3 C->S Peer#0(192.0.2:5000) len=3 rc=3
[23:59:59.100] #4 C->S Peer#0(192.0.2.7:5000) len=x rc=3
[23:59:59.100] #5 C->S Peer#0(192.0.2.7:5000) len=3 rc=?
[23:59:59.200] #6 C->S Peer#0(192.0.2.7:5000) len=20 rc=20
  Decrypted:
    0000: FF 01 00 FF 01 00 FF 01 00 FF 01 00 FF 01 00 00  |...|
    0020: FF 01 00 FF                                      |...|
[23:59:59.200] #7 C->S Peer#0(192.0.2.7:5000) len=2 rc=2
  Decrypted:
    0000: FF 01 00                                         |...|
[23:59:59.300] #8 C->S Peer#0(192.0.2.7:5000) len=3 rc=3
  Decrypted:
    0000: FF 01 00                                         |...|
`,
			want: []flat{{"2026-03-01 23:59:59.300", peer, host, "ff0100", 3, false, packet.Wire}},
			remarks: []string{
				"line 6: not the first line of a record; the record is skipped",
				"line 7: the direction is none of S->C, C->S and S->?; the record is skipped",
				"line 8: the peer has no address; the record is skipped",
				"line 9: the record has no length; the record is skipped",
				"line 10: the result (rc) is not a number; the record is skipped",
				"line 11: the dump continues at 0020, not at 0010; the record is skipped",
				"line 15: the dump is longer than the datagram; the record is skipped",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for form, text := range map[string]string{
				"as it is":        c.log,
				"CR LF":           strings.ReplaceAll(c.log, "\n", "\r\n"),
				"byte order mark": "\ufeff" + c.log,
			} {
				all, remarks, err := readLog(t, iotest.OneByteReader(strings.NewReader(text)), text)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: got %v", form, err)
				}
				if !slices.Equal(all, c.want) {
					t.Errorf("%s: got  %+v\nwant %+v", form, all, c.want)
				}
				if !slices.Equal(remarks, c.remarks) {
					t.Errorf("%s: got remarks\n%s", form, strings.Join(remarks, "\n"))
				}
			}
		})
	}
}

// TestPacketsForged puts a text into the log that looks like records. Whoever
// queries a server can do so.
func TestPacketsForged(t *testing.T) {
	t.Parallel()
	forged := "\\x\\\n\n[23:59:59.600] #2 S->C Peer#0(192.0.2.9:6) len=3 rc=3 [short]\n  Decrypted:\n    0000: 01 01 00\n  Hex:\n    0000: 5C\n\n"
	log := packetHead + "[23:59:59.500] #1 C->S Peer#0(192.0.2.7:5000) len=" + itoa(len(forged)) + " rc=" + itoa(len(forged)) +
		" GAMESPY_QUERY\n  Text: " + forged + "\n  Decoded:\n    x                    = \n  Hex:\n" + hexDump([]byte(forged)) +
		"\n[23:59:59.700] #2 C->S Peer#0(192.0.2.7:5000) len=3 rc=3 [short]\n  Decrypted:\n    0000: FF 01 00      |...|\n\n"
	all, remarks, err := readLog(t, strings.NewReader(log), log)
	want := []flat{
		{"2026-03-01 23:59:59.500", "192.0.2.7:5000", "0.0.0.0:22101", hex.EncodeToString([]byte(forged)), len(forged), false, packet.Wire},
		{"2026-03-01 23:59:59.700", "192.0.2.7:5000", "0.0.0.0:22101", "ff0100", 3, false, packet.Wire},
	}
	if !slices.Equal(all, want) || len(remarks) > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got  %+v\nwant %+v\nremarks %q, error %v", all, want, remarks, err)
	}
}

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// hexDump writes the lines of a dump as the programs do.
func hexDump(b []byte) string {
	var s strings.Builder
	for at := 0; at < len(b); at += 16 {
		s.WriteString("    " + strings.ToUpper(hex.EncodeToString([]byte{byte(at >> 8), byte(at)})) + ": ")
		for i := range 16 {
			if at+i < len(b) {
				s.WriteString(strings.ToUpper(hex.EncodeToString(b[at+i:at+i+1])) + " ")
			} else {
				s.WriteString("   ")
			}
		}
		s.WriteString(" |text|\n")
	}
	return s.String()
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	log := packetHead + "#" + strings.Repeat("x", 3*longestLine) + "\n[23:59:59.700] #2 C->S Peer#0(192.0.2.7:5000) len=3 rc=3\n  Decrypted:\n    0000: FF 01 00 |"
	all, remarks, err := readLog(t, strings.NewReader(log), log)
	if len(all) != 1 || all[0].payload != "ff0100" || !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v", all, err)
	}
	if want := []string{"line 6: the line has more than 65536 bytes; the record is skipped"}; !slices.Equal(remarks, want) {
		t.Errorf("got remarks %q", remarks)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const log = `# STBC Message Trace - Decoded Application Layer
# Session: 2026-03-01 10:00:00

[10:00:01.000] #1 MSG type=0x01 size=4 vtbl=0x008959AC
    0000: 01 00 00 02                                      |....|
  [msg 0] ACK seq=0
#   type 0x32 -> factory at 0x006B9B60

[10:00:01.010] #2 MSG type=0x32 vtbl=0x008958D0
    0000: 32 06 00 2A 00 FF 01 02                          |2..*....|

[10:00:01.020] #3 MSG type=0x32 size=2 vtbl=0x008958D0
    0000: 32 06 00                                         |2..|

[10:00:01.030] #4 S->C unknown len=3
[10:00:01.040] #5 MSG type=0x32 size=9 vtbl=0x008958D0
    0000: 32 09 00                                         |2..|
`
	all, remarks, err := readLog(t, iotest.HalfReader(strings.NewReader(log)), log)
	const from, to = "0.0.0.0:0", "0.0.0.0:22101"
	want := []flat{
		{"2026-03-01 10:00:01.000", from, to, "01000002", 4, false, packet.Message},
		{"2026-03-01 10:00:01.010", from, to, "3206002a00ff0102", packet.FullUnknown, false, packet.Message},
		{"2026-03-01 10:00:01.040", from, to, "320900", 9, false, packet.Message},
	}
	if !slices.Equal(all, want) || !errors.Is(err, io.EOF) {
		t.Errorf("got  %+v, %v\nwant %+v", all, err, want)
	}
	if len(remarks) != 3 || !strings.HasPrefix(remarks[0], "a message trace: ") ||
		remarks[1] != "line 12: the dump is longer than the message; the record is skipped" ||
		remarks[2] != "line 15: not a message (MSG); the record is skipped" {
		t.Errorf("got remarks\n%s", strings.Join(remarks, "\n"))
	}
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	log := unhex(t, "4F 42 43 54 52 41 43 45 00 00 00 00 53 00 02 00 2A 20 03 00 00 00 52 00 05 00 35 08 01 FF FF")
	const client, host = "0.0.0.0:0", "0.0.0.0:22101"
	want := []flat{
		{"1970-01-01 00:00:00.000", client, host, "2a20", 2, false, packet.FromClient},
		{"1970-01-01 00:00:00.100", host, client, "350801ffff", 5, false, packet.FromHost},
	}
	for _, c := range []struct {
		name, more string
		damaged    string
		remarks    int // not counting the one on the kind of log
	}{
		{name: "whole"},
		{name: "a header cut short", more: "03 00 00 00 52", remarks: 1},
		{name: "a message cut short", more: "03 00 00 00 52 00 05 00 35", remarks: 1},
		{name: "not a record", more: "03 00 00 00 54 00 05 00 35 08 01 FF FF", damaged: "a record is marked S or R, not 0x54"},
		{name: "too long", more: "03 00 00 00 52 00 01 10" + strings.Repeat("00", 4097), damaged: "a message of 4097 bytes; the longest is 4096"},
	} {
		all, remarks, err := readLog(t, bytes.NewReader(slices.Concat(log, unhex(t, c.more))), string(log))
		if !slices.Equal(all, want) || len(remarks) != 1+c.remarks {
			t.Errorf("%s: got %+v, remarks %q", c.name, all, remarks)
		}
		switch bad, damaged := errors.AsType[*DamageError](err); {
		case !damaged && (c.damaged != "" || !errors.Is(err, io.EOF)):
			t.Errorf("%s: got %v", c.name, err)
		case damaged && (bad.Reason != c.damaged || bad.Offset != int64(len(log))):
			t.Errorf("%s: got %q at %d", c.name, bad.Reason, bad.Offset)
		}
	}
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestReadError keeps an error of the reader apart from the end of the log.
func TestReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, first := range []string{packetHead, "# STBC Message Trace\n[10:00:00.000] #1 MSG type=0x00 size=4\n", "OBCTRACE"} {
		_, _, err := readLog(t, io.MultiReader(strings.NewReader(first), iotest.ErrReader(broken)), first)
		if !errors.Is(err, broken) {
			t.Errorf("%.20q: got %v", first, err)
		}
	}
}

func TestOtherText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "OBCTRAC", "# STBC", "[10:00:00.000] #x S->C len=1", "[10:00:00.000] #1 X", "#52 S->C len=3", "[25:00:00.000] #1 S->C len=3", "[10.00.00.000] #1 S->C len=3"} {
		if New(strings.NewReader(s), []byte(s), func(string) {}) != nil {
			t.Errorf("%q was taken for a log", s)
		}
	}
}

// FuzzLog reads arbitrary logs: reading ends, and no record is longer than its
// text or than a datagram.
func FuzzLog(f *testing.F) {
	f.Add([]byte(packetHead + "[23:59:59.500] #1 S->C Peer#0(192.0.2.7:5000) len=4 rc=4 GAMESPY\n  Text: \\a\\b\n  Hex:\n    0000: 5C 61 5C 62  |\\a\\b|\n\n"))
	f.Add([]byte("[10:00:01.010] #2 MSG type=0x32 vtbl=0x008958D0\n    0000: 32 06 00 2A 00 FF 01 02\n"))
	f.Add(unhex(f, "4F 42 43 54 52 41 43 45 00 00 00 00 53 00 02 00 2A 20 03"))
	f.Fuzz(func(t *testing.T, b []byte) {
		log := New(bytes.NewReader(b), b[:min(len(b), HeadSize)], func(s string) {
			if len(s) > 300 {
				t.Errorf("a remark of %d bytes", len(s))
			}
		})
		if log == nil {
			t.Skip()
		}
		total := 0
		for n := 0; ; n++ {
			var r Record
			err := log.Next(&r)
			if err != nil {
				if _, bad := errors.AsType[*DamageError](err); !bad && !errors.Is(err, io.EOF) {
					t.Fatalf("got %v", err)
				}
				return
			}
			total += len(r.Payload)
			if len(r.Payload) > r.Full || r.Full > packet.FullUnknown || total > len(b) || n > len(b) {
				t.Fatalf("record %d has %d of %d bytes, all %d, in a log of %d", n, len(r.Payload), r.Full, total, len(b))
			}
			if y := r.Time.Year(); y < 1969 || y > 9999+len(b)/365 {
				t.Fatalf("got the year %d", y)
			}
			if r.Time.Location() != time.UTC {
				t.Fatal("got a time that is not UTC")
			}
		}
	})
}
