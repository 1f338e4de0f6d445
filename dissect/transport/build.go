package transport

import (
	"encoding/binary"
	"fmt"
)

// Append writes a transport message: the header's flags and numbers, then the
// body. It ignores Len and Size of the header. Properties fixed by the type
// override the header: types 00 and 03 to 05 are reliable unless Short, Leave
// is always short, and only Standard has fragments.
//
// The error is ErrSize if the body does not fit the size field of its type or
// the type has no body, and ErrType if Next does not know the type.
func Append(dst []byte, h *Header, body []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, byte(h.Type))
	if h.Type == DoNothing && h.HasSeq { // the long form
		return h.appendControl(dst, start, body)
	}
	switch h.Type {
	case DoNothing, Acknowledge:
		if len(body) > 0 {
			return nil, fmt.Errorf("%w: body of %d bytes, type 0x%02X has none", ErrSize, len(body), uint8(h.Type))
		}
		if h.Type == DoNothing {
			return dst, nil
		}
		dst = binary.LittleEndian.AppendUint16(dst, h.Seq)
		dst = append(dst, h.AckFlags)
		if h.AckFlags&ackFragment != 0 {
			dst = append(dst, h.Index)
		}
		return dst, nil
	case NameChange, Connect, BootPlayer, Disconnect, Leave:
		if h.Short || h.Type == Leave {
			dst = append(append(dst, 0), body...)
			size, err := h.room(len(dst)-start, sizeShort)
			if err != nil {
				return nil, err
			}
			dst[start+1] = byte(size)
			return dst, nil
		}
		return h.appendControl(dst, start, body)
	case Standard:
		dst = append(dst, 0, 0)
		if h.Reliable {
			dst = binary.LittleEndian.AppendUint16(dst, h.Seq)
		}
		if h.Fragment {
			dst = append(dst, h.Index)
			if h.Index == 0 {
				dst = append(dst, h.Count)
			}
		}
		dst = append(dst, body...)
		size, err := h.room(len(dst)-start, sizeStandard)
		if err != nil {
			return nil, err
		}
		putFlags(dst[start+1:], size, h.Reliable, h.Priority, h.Fragment)
		return dst, nil
	}
	return nil, fmt.Errorf("%w 0x%02X", ErrType, uint8(h.Type))
}

// appendControl writes a message with a type below 32, after the type.
func (h *Header) appendControl(dst []byte, start int, body []byte) ([]byte, error) {
	dst = append(dst, 0, 0)
	dst = binary.LittleEndian.AppendUint16(dst, h.Seq)
	dst = append(dst, body...)
	size, err := h.room(len(dst)-start, sizeControl)
	if err != nil {
		return nil, err
	}
	putFlags(dst[start+1:], size, true, h.Priority, false)
	return dst, nil
}

// room checks that a message of size bytes fits a size field.
func (h *Header) room(size, limit int) (int, error) {
	if size > limit {
		return 0, fmt.Errorf("%w: %d bytes, type 0x%02X holds %d", ErrSize, size, uint8(h.Type), limit)
	}
	return size, nil
}

func putFlags(b []byte, size int, reliable, priority, fragment bool) {
	fl := uint16(size)
	if reliable {
		fl |= flagReliable
	}
	if priority {
		fl |= flagPriority
	}
	if fragment {
		fl |= flagFragment
	}
	binary.LittleEndian.PutUint16(b, fl)
}

// AckOf returns the header of the acknowledgement for a reliable message.
func AckOf(h *Header) Header {
	a := Header{Type: Acknowledge, Seq: h.Seq, HasSeq: true}
	if h.Fragment {
		a.AckFlags, a.Fragment, a.Index = ackFragment, true, h.Index
	}
	if h.Type < Standard {
		a.AckFlags |= ackControl
	}
	return a
}
