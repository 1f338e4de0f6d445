package cipher

// The cipher exactly as described, with the ten key bytes. It is the reference
// for the results and the speed of the fast form.

type plain struct {
	k    [10]byte // the key, changed after every byte
	s, a uint16   // the generator's carry and accumulator
}

func newPlain() plain { return plain{k: [10]byte([]byte("AlbyRules!"))} }

// next returns the key byte for the next byte of the datagram.
func (p *plain) next() byte {
	var mix, prev uint16
	for i := range 5 {
		w := (uint16(p.k[2*i])<<8 | uint16(p.k[2*i+1])) ^ prev

		t1 := (p.a + uint16(i)) * 0x4E35
		t2 := w * 0x015A
		p.a = p.s + t1 + t2
		p.s = t2

		w = w*0x4E35 + 1
		mix ^= w ^ p.a
		prev = w // the advanced word; the bare one gives noise
	}
	return byte(mix ^ mix>>8)
}

// feed puts a plaintext byte back into the key.
func (p *plain) feed(b byte) {
	for i := range p.k {
		p.k[i] ^= b
	}
}

func plainDecrypt(dst, datagram []byte) []byte {
	p := newPlain()
	for i, c := range datagram {
		if i > 0 {
			c ^= p.next()
			p.feed(c)
		}
		dst = append(dst, c)
	}
	return dst
}

func plainEncrypt(dst, datagram []byte) []byte {
	p := newPlain()
	for i, b := range datagram {
		if i > 0 {
			k := p.next()
			p.feed(b)
			b ^= k
		}
		dst = append(dst, b)
	}
	return dst
}
