package cipher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// both checks a pair of datagrams in both directions, with the fast and the
// plain form.
func both(t *testing.T, plain, wire []byte) {
	t.Helper()
	for _, c := range []struct {
		name     string
		f        func(dst, datagram []byte) []byte
		in, want []byte
	}{
		{"Decrypt", Decrypt, wire, plain},
		{"Encrypt", Encrypt, plain, wire},
		{"plain decrypt", plainDecrypt, wire, plain},
		{"plain encrypt", plainEncrypt, plain, wire},
	} {
		if got := c.f(nil, c.in); !bytes.Equal(got, c.want) {
			t.Errorf("%s(% X)\n got % X\nwant % X", c.name, c.in, got, c.want)
		}
	}
}

type vector struct {
	ID     string `json:"id"`
	Length int    `json:"length"`
	Plain  string `json:"plain"`
	Cipher string `json:"cipher"`
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	b, err := os.ReadFile("../../fixtures/vectors/cipher.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Count   int      `json:"count"`
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		tb.Fatal(err)
	}
	if len(file.Vectors) != 30 || file.Count != 30 {
		tb.Fatalf("got %d vectors (count %d), want 30", len(file.Vectors), file.Count)
	}
	return file.Vectors
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			plain, wire := fixtures.Unhex(t, v.Plain), fixtures.Unhex(t, v.Cipher)
			if len(plain) != v.Length || len(wire) != v.Length {
				t.Fatalf("got lengths %d and %d, want %d", len(plain), len(wire), v.Length)
			}
			both(t, plain, wire)
		})
	}
}

// The connect accept was captured from a stock server. The other enciphered
// forms were computed by independent programs.
var examples = []struct{ name, plain, wire string }{
	{
		"connect accept",
		"01 01 03 06 C0 00 00 02",
		"01 D7 33 68 C3 BF 76 DB",
	},
	{
		"connect request",
		"FF 01 03 0F C0 00 00 0A 0A 0A EF 5F 0A 00 00 00 00",
		"FF D7 33 61 38 B3 5B 46 54 35 D1 4F C5 E2 55 71 66",
	},
	{
		"short",
		"01 01 00 00 00 00",
		"01 D7 30 05 8C 93",
	},
	{
		"keepalive",
		"02 01 02",
		"02 D7 32",
	},
	{
		"boot",
		"01 01 04 07 C0 02 00 04 02",
		"01 D7 34 2C F3 AB E2 6B 74",
	},
	{
		"chat",
		"01 01 32 11 80 01 00 2C 02 00 00 00 05 00 68 65 6C 6C 6F",
		"01 D7 02 C2 A0 1A 2C 0C 42 2F 9E 48 B2 76 09 D9 59 3B 69",
	},
	{
		"accept and first checksum request",
		"01 02 03 06 C0 00 00 02 32 1B 80 00 00 20 00 08 00 73 63 72 69 70 74 73 2F 07 00 41 70 70 2E 70 79 63 20",
		"01 D4 03 E1 65 94 E4 39 3C 21 9F 64 1F 82 C6 08 4F 4F ED 41 43 31 D3 7D 01 28 E4 7B 8F B3 03 B3 B8 CC 21",
	},
	{
		"byte i is 37*i",
		"00 25 4A 6F 94 B9 DE 03 28 4D 72 97 BC E1 06 2B 50 75 9A BF E4 09 2E 53 78 9D C2 E7 0C 31 56 7B",
		"00 F3 76 B9 05 EA 75 C5 93 45 6C 70 68 93 4D FF 2F 5D B2 18 0D 2C 40 35 6F 81 A6 C6 FE EA 7D 69",
	},
	{
		"keystream of zeros",
		"00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
		"00 D6 FE 17 F1 86 49 BC 51 A5 0F 17 6C 96 16 5B 52",
	},
	{"one byte", "7E", "7E"},
	{"empty", "", ""},
}

func TestExamples(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			both(t, fixtures.Unhex(t, e.plain), fixtures.Unhex(t, e.wire))
		})
	}
}

// The longest datagram, by the checksums of both forms.
func TestLongest(t *testing.T) {
	plain := make([]byte, 512)
	plain[0] = 0x02
	for n := 1; n < len(plain); n++ {
		plain[n] = byte((n-1)*37 + 11)
	}
	if got := crc32.ChecksumIEEE(plain); got != 0x991D38AE {
		t.Fatalf("the plaintext is not the one meant: got CRC %08X, want 991D38AE", got)
	}
	wire := Encrypt(nil, plain)
	if got := crc32.ChecksumIEEE(wire); got != 0x57AE81E9 {
		t.Errorf("got CRC %08X of the enciphered datagram, want 57AE81E9", got)
	}
	both(t, plain, wire)
}

func TestFirstKey(t *testing.T) {
	for n := range 256 {
		wire := Encrypt(nil, []byte{0x01, byte(n)})
		if got := wire[1] ^ byte(n); got != 0xD6 {
			t.Fatalf("first key byte with %d messages: got %02X, want D6", n, got)
		}
	}
	if FirstKey != 0xD6 {
		t.Errorf("FirstKey: got %02X, want D6", FirstKey)
	}
}

// The second key byte depends only on the message count. The bytes here begin with count 1.
func TestSecondKey(t *testing.T) {
	want := fixtures.Unhex(t, `30 00 3A A8 B2 BF B8 CF 15 75 8F 18 0F DE 7C 0F`+
		`B9 28 85 A5 3C 76 E0 43 A3 D8 96 99 45 A3 15 B3`)
	for i, want := range want {
		for _, kind := range []byte{0x00, 0x01, 0x03, 0x32, 0xFF} {
			wire := Encrypt(nil, []byte{0x02, byte(i + 1), kind})
			if got := wire[2] ^ kind; got != want {
				t.Errorf("%d messages, type %02X: got key byte %02X, want %02X", i+1, kind, got, want)
			}
		}
	}
}

func TestMessageCount(t *testing.T) {
	for _, c := range []struct {
		wire string
		want int
	}{
		{"", 0},
		{"01", 0},
		{"01 D6", 0},
		{"01 D7 33 68 C3 BF 76 DB", 1},
		{"01 D4 03 E1", 2},
		{"02 DE", 8},
		{"02 29", 255},
	} {
		if got := MessageCount(fixtures.Unhex(t, c.wire)); got != c.want {
			t.Errorf("MessageCount(%s): got %d, want %d", c.wire, got, c.want)
		}
	}
}

// The columns of some X, and their sums over all X.
func TestColumns(t *testing.T) {
	all := func(x byte) [7]uint16 {
		e, v, f := columns(x)
		return [7]uint16{e[0], e[1], e[2], e[3], e[4], v, f}
	}
	for _, c := range []struct {
		x    byte
		want [7]uint16
	}{
		{0x00, [7]uint16{0x6BF8, 0xCF2D, 0x9D63, 0x6146, 0x7582, 0xB039, 0x39F2}},
		{0x01, [7]uint16{0x1352, 0x9FC5, 0xA9ED, 0xF9C6, 0x6B2C, 0xC1A2, 0xC6D6}},
		{0x7F, [7]uint16{0xE5AE, 0xDD65, 0x0051, 0x5A46, 0x84B8, 0xD1B8, 0xD01E}},
		{0xFF, [7]uint16{0x92AE, 0xDD65, 0xAB51, 0xFA46, 0x11B8, 0xD638, 0x5E1E}},
	} {
		if got := all(c.x); got != c.want {
			t.Errorf("X = %02X: got %04X, want %04X", c.x, got, c.want)
		}
	}
	var sum [7]uint16
	for x := range 256 {
		for i, n := range all(byte(x)) {
			sum[i] += n
		}
	}
	if want := [7]uint16{0x5300, 0x3F00, 0x3A00, 0x0200, 0x2100, 0x7080, 0x9400}; sum != want {
		t.Errorf("sums: got %04X, want %04X", sum, want)
	}
}

// The packed rows hold these numbers and nothing else, so that no sum overflows
// into its neighbour.
func TestTable(t *testing.T) {
	for i, r := range table {
		e, v, f := columns(byte(i))
		for _, c := range []struct {
			name string
			word uint64
			want uint64
		}{
			{"e12", r.e12, uint64(e[0]) | uint64(e[1])<<32},
			{"e34", r.e34, uint64(e[2]) | uint64(e[3])<<32},
			{"e5f", r.e5f, uint64(e[4]) | uint64(f)<<32},
			{"v", r.v, uint64(v&0xFF ^ v>>8 ^ uint16(i))},
		} {
			if c.word != c.want<<shift {
				t.Errorf("row %02X, %s: got %#x, want %#x", i, c.name, c.word, c.want<<shift)
			}
		}
	}
	for i, want := range [5]uint16{0x4E35, 0x56F9, 0xDF8D, 0x3E31, 0xCE25} {
		if got := [5]uint16{mul, mul2, mul3, mul4, mul5}[i]; got != want {
			t.Errorf("M^%d: got %04X, want %04X", i+1, got, want)
		}
	}
}

// forms are the package's two functions, for tests of their common properties.
var forms = []struct {
	name string
	f    func(dst, datagram []byte) []byte
}{
	{"Decrypt", Decrypt},
	{"Encrypt", Encrypt},
}

func TestAppends(t *testing.T) {
	in := fixtures.Unhex(t, examples[5].wire)
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			want := form.f(nil, in)
			for room := range len(in) + 3 {
				dst := append(make([]byte, 0, 4+room), "head"...)
				before := bytes.Clone(in)
				got := form.f(dst, in)
				if string(got[:4]) != "head" || !bytes.Equal(got[4:], want) {
					t.Errorf("room %d: got % X, want head and % X", room, got, want)
				}
				if !bytes.Equal(in, before) {
					t.Fatalf("room %d: the source was written to", room)
				}
			}
		})
	}
}

func TestInPlace(t *testing.T) {
	in := fixtures.Unhex(t, examples[5].wire)
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			// Every length, since a capture may cut a datagram anywhere, followed by
			// bytes that must stay unchanged.
			for n := range len(in) + 1 {
				want := form.f(nil, in[:n])
				buf := append(bytes.Clone(in[:n]), 0xA5, 0x5A)
				got := form.f(buf[:0], buf[:n])
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes: got % X, want % X", n, got, want)
				}
				if n > 0 && &got[0] != &buf[0] {
					t.Errorf("%d bytes: not in place", n)
				}
				if buf[n] != 0xA5 || buf[n+1] != 0x5A {
					t.Errorf("%d bytes: wrote behind the datagram", n)
				}
			}
		})
	}
}

// A truncated datagram deciphers to the front of the whole one.
func TestPrefix(t *testing.T) {
	for _, e := range examples {
		plain, wire := fixtures.Unhex(t, e.plain), fixtures.Unhex(t, e.wire)
		for n := range wire {
			if got := Decrypt(nil, wire[:n]); !bytes.Equal(got, plain[:n]) {
				t.Errorf("%s, %d bytes: got % X, want % X", e.name, n, got, plain[:n])
			}
		}
	}
}

func TestStream(t *testing.T) {
	plain := fixtures.Unhex(t, examples[6].plain)
	wire := fixtures.Unhex(t, examples[6].wire)
	for _, c := range []struct {
		name     string
		f        func(s *Stream, dst, src []byte)
		in, want []byte
	}{
		{"Decrypt", (*Stream).Decrypt, wire, plain},
		{"Encrypt", (*Stream).Encrypt, plain, wire},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := 1; i <= len(c.in); i++ {
				for j := i; j <= len(c.in); j++ {
					var s Stream
					got := make([]byte, len(c.in)+1)
					got[0], got[len(c.in)] = c.in[0], 0xA5
					c.f(&s, got[1:], c.in[1:i])
					c.f(&s, got[i:], c.in[i:j])
					again := s // a copy continues on its own
					c.f(&s, got[j:], c.in[j:])
					if !bytes.Equal(got[:len(c.in)], c.want) || got[len(c.in)] != 0xA5 {
						t.Fatalf("split at %d and %d: got % X, want % X A5", i, j, got, c.want)
					}
					rest := make([]byte, len(c.in)-j)
					c.f(&again, rest, c.in[j:])
					if !bytes.Equal(rest, c.want[j:]) || again != s {
						t.Fatalf("split at %d and %d, copy: got % X, want % X", i, j, rest, c.want[j:])
					}
				}
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	in := make([]byte, 512)
	dst := make([]byte, 0, 512)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Decrypt", func() { dst = Decrypt(dst[:0], in) }},
		{"Encrypt", func() { dst = Encrypt(dst[:0], in) }},
		{"Decrypt in place", func() { in = Decrypt(in[:0], in) }},
		{"Encrypt in place", func() { in = Encrypt(in[:0], in) }},
		{"Stream", func() {
			var s Stream
			s.Decrypt(dst[:100], in[:100])
			s.Encrypt(dst[100:], in[100:])
		}},
	} {
		if n := testing.AllocsPerRun(100, c.f); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", c.name, n)
		}
	}
}

func FuzzCipher(f *testing.F) {
	for _, v := range vectors(f) {
		b := fixtures.Unhex(f, v.Cipher)
		f.Add(b, uint(len(b)/3), uint(len(b)/2))
	}
	for _, e := range examples {
		f.Add(fixtures.Unhex(f, e.plain), uint(2), uint(6))
		f.Add(fixtures.Unhex(f, e.wire), uint(1), uint(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, i, j uint) {
		same := func(what string, got, want []byte) {
			t.Helper()
			if !bytes.Equal(got, want) {
				t.Fatalf("%s of % X:\n got % X\nwant % X", what, b, got, want)
			}
		}
		dec, enc := Decrypt(nil, b), Encrypt(nil, b)
		same("Decrypt", dec, plainDecrypt(nil, b))
		same("Encrypt", enc, plainEncrypt(nil, b))
		same("Decrypt after Encrypt", Decrypt(nil, enc), b)
		same("Encrypt after Decrypt", Encrypt(nil, dec), b)

		buf := bytes.Clone(b)
		buf = Encrypt(buf[:0], buf)
		same("Encrypt in place", buf, enc)
		same("Decrypt in place", Decrypt(buf[:0], buf), b)

		if len(b) == 0 {
			return
		}
		// Three pieces of bytes 1 and on; each may be empty.
		i = 1 + i%uint(len(b))
		j = i + j%(uint(len(b))-i+1)
		got := make([]byte, len(b))
		for _, c := range []struct {
			name string
			f    func(s *Stream, dst, src []byte)
			want []byte
		}{
			{"Decrypt", (*Stream).Decrypt, dec},
			{"Encrypt", (*Stream).Encrypt, enc},
		} {
			var s Stream
			c.f(&s, got[1:], b[1:i])
			c.f(&s, got[i:], b[i:j])
			c.f(&s, got[j:], b[j:])
			same(fmt.Sprintf("Stream.%s, split at %d and %d,", c.name, i, j), got[1:], c.want[1:])
		}
	})
}

// A typical datagram, a short one and the longest one.
var benchSizes = []int{40, 8, 512}

func benchmark(b *testing.B, fast, plain func(dst, datagram []byte) []byte) {
	b.Helper()
	long := make([]byte, 512)
	for i := range long {
		long[i] = byte(i * i)
	}
	dst := make([]byte, 0, len(long))
	for _, n := range benchSizes {
		for _, form := range []struct {
			name string
			f    func(dst, datagram []byte) []byte
		}{{"fast", fast}, {"plain", plain}} {
			b.Run(fmt.Sprintf("%s-%d", form.name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					form.f(dst, long[:n])
				}
			})
		}
	}
}

func BenchmarkDecrypt(b *testing.B) { benchmark(b, Decrypt, plainDecrypt) }
func BenchmarkEncrypt(b *testing.B) { benchmark(b, Encrypt, plainEncrypt) }

// The front of a datagram, up to the first opcode.
func BenchmarkStream(b *testing.B) {
	in := fixtures.Unhex(b, examples[5].wire)
	dst := make([]byte, len(in))
	for b.Loop() {
		var s Stream
		s.Decrypt(dst, in[1:8])
	}
}

func TestFirstType(t *testing.T) {
	for _, e := range examples {
		wire := fixtures.Unhex(t, e.wire)
		if len(wire) > 2 {
			if got, want := FirstType(wire), fixtures.Unhex(t, e.plain)[2]; got != want {
				t.Errorf("%s: got %02X, want %02X", e.name, got, want)
			}
		}
	}
	for n := range 256 {
		if got := FirstType(plainEncrypt(nil, []byte{1, byte(n), 0x32})); got != 0x32 {
			t.Errorf("%d messages: got %02X, want 32", n, got)
		}
	}
}
