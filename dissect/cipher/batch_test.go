package cipher

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// many returns n datagrams, plain and enciphered by the plain form, with
// typical and some arbitrary lengths.
func many(n int, seed uint64) (plain, wire [][]byte) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range n {
		size := 20 + rng.IntN(70)
		switch rng.IntN(20) {
		case 0:
			size = rng.IntN(4)
		case 1:
			size = rng.IntN(700)
		}
		p := make([]byte, size)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		plain, wire = append(plain, p), append(wire, plainEncrypt(nil, p))
	}
	return plain, wire
}

// eachForm runs a test in the processor's best form, and without that for two
// groups at once.
func eachForm(test func()) {
	test()
	if usePairs {
		usePairs = false
		defer func() { usePairs = true }()
		test()
	}
}

// Spare room behind a datagram does not change the result for it or its
// neighbours.
func TestBatchSlack(t *testing.T) {
	var b Batch
	for slack := range Slack + 20 {
		plain, wire := many(90, uint64(slack))
		dst := make([][]byte, len(wire))
		for i := range wire {
			room := slack
			if i%13 == 5 {
				room = i % 3
			}
			wire[i] = append(make([]byte, 0, len(wire[i])+room), wire[i]...)
			dst[i] = make([]byte, len(wire[i]), len(wire[i])+room)
		}
		eachForm(func() {
			for _, d := range dst {
				clear(d)
			}
			b.Decrypt(dst, wire)
			for i := range plain {
				if !bytes.Equal(dst[i], plain[i]) {
					t.Fatalf("slack %d, datagram %d of %d bytes:\n got % X\nwant % X", slack, i, len(plain[i]), dst[i], plain[i])
				}
			}
		})
	}
}

// room returns a destination for each datagram, followed by a byte that must
// stay unchanged.
func room(src [][]byte) (dst, whole [][]byte) {
	for _, s := range src {
		b := bytes.Repeat([]byte{0xA5}, len(s)+1)
		dst, whole = append(dst, b[:len(s):len(s)]), append(whole, b)
	}
	return dst, whole
}

func TestBatch(t *testing.T) {
	var b Batch
	for n := range 140 {
		plain, wire := many(n, uint64(n))
		before := make([][]byte, n)
		for i := range wire {
			before[i] = bytes.Clone(wire[i])
		}
		eachForm(func() {
			dst, whole := room(wire)
			b.Decrypt(dst, wire)
			for i := range plain {
				if !bytes.Equal(dst[i], plain[i]) {
					t.Fatalf("%d datagrams, the one at %d of %d bytes:\n got % X\nwant % X", n, i, len(plain[i]), dst[i], plain[i])
				}
				if whole[i][len(plain[i])] != 0xA5 {
					t.Fatalf("%d datagrams: wrote behind the one at %d", n, i)
				}
				if !bytes.Equal(wire[i], before[i]) {
					t.Fatalf("%d datagrams: the source at %d was written to", n, i)
				}
			}
		})
	}
}

// Every length, in groups of one length and next to a longer one.
func TestBatchLengths(t *testing.T) {
	var b Batch
	for size := range longest + 3 {
		var plain, wire [][]byte
		for i := range 2*lanes + 9 {
			n := size
			if i%7 == 3 {
				n = size + i
			}
			p := make([]byte, n)
			for j := range p {
				p[j] = byte(j*i + 31*i)
			}
			plain, wire = append(plain, p), append(wire, plainEncrypt(nil, p))
		}
		eachForm(func() {
			dst, _ := room(wire)
			b.Decrypt(dst, wire)
			for i := range plain {
				if !bytes.Equal(dst[i], plain[i]) {
					t.Fatalf("%d bytes, datagram %d:\n got % X\nwant % X", size, i, dst[i], plain[i])
				}
			}
		})
	}
}

// The vectors give the same result in a batch as one by one.
func TestBatchVectors(t *testing.T) {
	var wire, want [][]byte
	for range 3 {
		for _, v := range vectors(t) {
			wire, want = append(wire, fixtures.Unhex(t, v.Cipher)), append(want, fixtures.Unhex(t, v.Plain))
		}
	}
	eachForm(func() {
		dst, _ := room(wire)
		new(Batch).Decrypt(dst, wire)
		for i := range want {
			if !bytes.Equal(dst[i], want[i]) {
				t.Errorf("vector %d: got % X, want % X", i%30, dst[i], want[i])
			}
		}
	})
}

func TestBatchAllocations(t *testing.T) {
	var b Batch
	_, wire := many(300, 1)
	dst, _ := room(wire)
	b.Decrypt(dst, wire)
	if n := testing.AllocsPerRun(10, func() { b.Decrypt(dst, wire) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte("some datagrams"), 40, 7)
	var b Batch
	f.Fuzz(func(t *testing.T, in []byte, n, step int) {
		n, step = min(max(n, 1), 200), min(max(step, 0), 600)
		var wire [][]byte
		for i := range n {
			from := 0
			if len(in) > 0 {
				from = i * step % len(in)
			}
			wire = append(wire, in[from:])
		}
		eachForm(func() {
			dst, _ := room(wire)
			b.Decrypt(dst, wire)
			for i := range wire {
				if want := Decrypt(nil, wire[i]); !bytes.Equal(dst[i], want) {
					t.Fatalf("%d of %d, % X:\n got % X\nwant % X", i, n, wire[i], dst[i], want)
				}
			}
		})
	})
}

func BenchmarkBatch(b *testing.B) {
	for _, n := range []int{32, 256} {
		_, wire := many(n, 1)
		total := 0
		for i := range wire {
			wire[i] = wire[i][:min(len(wire[i]), 90)]
			total += len(wire[i])
		}
		dst, _ := room(wire)
		for _, form := range []struct {
			name string
			f    func()
		}{
			{"batch", func() { new(Batch).Decrypt(dst, wire) }},
			{"single", func() {
				for i := range wire {
					Decrypt(dst[i][:0], wire[i])
				}
			}},
			{"plain", func() {
				for i := range wire {
					plainDecrypt(dst[i][:0], wire[i])
				}
			}},
		} {
			f := form.f
			if form.name == "batch" {
				batch := new(Batch)
				f = func() { batch.Decrypt(dst, wire) }
			}
			b.Run(fmt.Sprintf("%s-%d", form.name, n), func(b *testing.B) {
				b.SetBytes(int64(total))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
	}
}
