package cipher_test

import (
	"fmt"

	"github.com/bcdissect/bcdissect/dissect/cipher"
)

// This example deciphers a host's answer to a connect. It comes from the host
// (01) and has one message, which gives the client peer id 2.
func ExampleDecrypt() {
	wire := []byte{0x01, 0xD7, 0x33, 0x68, 0xC3, 0xBF, 0x76, 0xDB}
	fmt.Printf("% X\n", cipher.Decrypt(nil, wire))
	// Output: 01 01 03 06 C0 00 00 02
}

// This example deciphers a datagram only as far as the type of the first
// message.
func ExampleStream() {
	wire := []byte{0x01, 0xD7, 0x33, 0x68, 0xC3, 0xBF, 0x76, 0xDB}
	var s cipher.Stream
	var head [2]byte
	s.Decrypt(head[:], wire[1:3])
	fmt.Printf("%d message, type %02X\n", head[0], head[1])

	rest := make([]byte, len(wire)-3)
	s.Decrypt(rest, wire[3:])
	fmt.Printf("% X\n", rest)
	// Output:
	// 1 message, type 03
	// 06 C0 00 00 02
}
