package transport

import (
	"encoding/binary"
	"fmt"
)

// Append writes a transport message: the header's flags and numbers, then the
// body. It ignores Len and Size of the header. Properties fixed by the type
// override the header: NameChange, Connect, BootPlayer and Disconnect are
// reliable unless Short, Leave is always short, and only Standard has
// fragments.
//
// The error is ErrSize if the body does not fit the size field of its type or
// the type has no body, and ErrType if Next does not know the type.
func Append(dst []byte, h *Header, body []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, byte(h.Type))
	switch {
	case !Known(h.Type):
		return nil, fmt.Errorf("%w 0x%02X", ErrType, uint8(h.Type))
	case h.Type == Standard:
		return h.appendLong(dst, start, body, sizeStandard)
	case h.Type == DoNothing && h.HasSeq: // the long form of DoNothing
		return h.appendLong(dst, start, body, sizeControl)
	case h.Type == DoNothing || h.Type == Acknowledge:
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
	case h.Short || h.Type == Leave:
		dst = append(append(dst, 0), body...)
		size, err := h.room(len(dst)-start, sizeShort)
		if err != nil {
			return nil, err
		}
		dst[start+1] = byte(size)
		return dst, nil
	}
	return h.appendLong(dst, start, body, sizeControl)
}

// appendLong writes the part after the type of a message with flags and a size.
// The message may have at most limit bytes.
func (h *Header) appendLong(dst []byte, start int, body []byte, limit int) ([]byte, error) {
	control := limit == sizeControl
	dst = append(dst, 0, 0)
	if h.Reliable || control {
		dst = binary.LittleEndian.AppendUint16(dst, h.Seq)
	}
	if h.Fragment && !control {
		dst = append(dst, h.Index)
		if h.Index == 0 {
			dst = append(dst, h.Count)
		}
	}
	dst = append(dst, body...)
	size, err := h.room(len(dst)-start, limit)
	if err != nil {
		return nil, err
	}
	fl := uint16(size)
	if h.Reliable || control {
		fl |= flagReliable
	}
	if h.Priority {
		fl |= flagPriority
	}
	if h.Fragment && !control {
		fl |= flagFragment
	}
	binary.LittleEndian.PutUint16(dst[start+1:], fl)
	return dst, nil
}

// room checks that a message of size bytes fits a size field.
func (h *Header) room(size, limit int) (int, error) {
	if size > limit {
		return 0, fmt.Errorf("%w: %d bytes, type 0x%02X holds %d", ErrSize, size, uint8(h.Type), limit)
	}
	return size, nil
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
