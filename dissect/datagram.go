package dissect

import "github.com/bcdissect/bcdissect/dissect/packet"

// A Datagram is one UDP datagram with its place in the capture.
type Datagram = packet.Datagram

// NotesMark begins and ends the trailer of an annotated frame.
const NotesMark = packet.NotesMark
