package dissect

import "github.com/bcdissect/bcdissect/dissect/packet"

// A Datagram is one UDP datagram together with where it stood in its capture.
type Datagram = packet.Datagram
