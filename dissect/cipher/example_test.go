package cipher_test

import (
	"fmt"

	"github.com/bcdissect/bcdissect/dissect/cipher"
)

// A host's answer to a connection request: from the host (01), one message,
// which assigns peer id 2 to the client.
func ExampleDecrypt() {
	wire := []byte{0x01, 0xD7, 0x33, 0x68, 0xC3, 0xBF, 0x76, 0xDB}
	fmt.Printf("% X\n", cipher.Decrypt(nil, wire))
	// Output: 01 01 03 06 C0 00 00 02
}

// To see only the type of the first message, stop after it.
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
