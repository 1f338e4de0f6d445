package capture

import "time"

// maxFrame is the most bytes that a frame may hold: the largest snap length
// that capture programs use. A larger length in a pcap file means damage.
const maxFrame = 256 << 10

// A frame is a packet as it was captured. Data is valid until the reader that
// filled the frame is asked for the next one.
type frame struct {
	time   time.Time
	digits int8    // decimals of a second in time
	flaw   outcome // why there is no data, or gaveDatagram
	link   uint16  // LINKTYPE of data
	data   []byte
	full   int // length on the network
}

// A frameReader reads frames of one file format.
type frameReader interface {
	// next fills f with the next frame. At the end of the capture it returns
	// io.EOF, and if it cannot go on, a *stop.
	next(f *frame) error
}
