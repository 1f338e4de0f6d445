package dissect

import "github.com/bcdissect/bcdissect/dissect/packet"

// A Datagram is one UDP datagram with its place in the capture.
type Datagram = packet.Datagram
