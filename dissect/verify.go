package dissect

import (
	"bytes"
	"fmt"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Verifier re-encodes decoded messages and compares them with the capture. It
// encodes every message from its fields, and every datagram from its messages.
// It must see all records of a pipeline, in order. Its zero value is ready to
// use.
type Verifier struct {
	Messages  int // messages encoded from their fields
	Datagrams int // datagrams built from their messages and enciphered
	Differ    int // messages and datagrams that came out different

	Clear bool // datagrams are already deciphered, as in Config

	encoder decode.Encoder
	number  int  // number of the current datagram
	intact  bool // all of its messages are intact so far
	plain   []byte
	body    []byte
	wire    []byte
	message []byte
}

// Check returns the differences of a record, or "" if there are none. A message
// that does not decode completely is compared as bytes.
func (v *Verifier) Check(r *Record) string {
	if r.Kind == KindEvicted {
		return ""
	}
	if r.Datagram.Number != v.number || r.Part == 0 {
		v.number, v.intact = r.Datagram.Number, r.Kind == KindMessage && !r.Datagram.Truncated() && r.Datagram.Form.Whole()
		v.plain = append(v.plain[:0], r.Peer, 0)
	}
	if r.Kind != KindMessage {
		v.intact = false
		return ""
	}
	body, differs := v.fields(r)
	if differs == "" {
		var err error
		v.message, err = transport.Append(v.message[:0], &r.Transport, body)
		if err != nil || !bytes.Equal(v.message, r.Bytes) {
			differs = fmt.Sprintf("the message is built again as %x, was %x", v.message, r.Bytes)
		}
	}
	if differs != "" {
		v.Differ++
	}
	v.plain = append(v.plain, v.message...)
	// A datagram with fewer messages than it announces is malformed, as its last
	// record tells, and cannot be rebuilt.
	if r.Offset+len(r.Bytes) == len(r.Datagram.Payload) && v.intact && v.count(r.Datagram) == r.Part+1 {
		v.plain[1] = byte(r.Part + 1)
		v.Datagrams++
		if v.wire = append(v.wire[:0], v.plain...); !v.Clear && r.Datagram.Form == packet.Wire {
			v.wire = cipher.Encrypt(v.wire[:0], v.plain)
		}
		if differs == "" && !bytes.Equal(v.wire, r.Datagram.Payload) {
			v.Differ++
			differs = fmt.Sprintf("the datagram is built again as %x, was %x", v.wire, r.Datagram.Payload)
		}
	}
	return differs
}

// count returns the number of messages that a datagram announces.
func (v *Verifier) count(d *Datagram) int {
	if !v.Clear && d.Form == packet.Wire {
		return cipher.MessageCount(d.Payload)
	}
	s, _ := transport.Split(d.Payload) // splitting cannot fail, since records were made of the datagram
	return s.Count
}

// fields encodes the body of a record's message. The body of a fragment is part
// of an encoded message, and is copied.
func (v *Verifier) fields(r *Record) (body []byte, differs string) {
	body = r.Bytes[r.Transport.Size:]
	if r.Message == nil || r.Err != nil {
		return body, ""
	}
	v.Messages++
	var err error
	if r.fieldsAt > 0 {
		v.body, err = v.encoder.Append(v.body[:0], r.Spec, r.Message, r.Layout)
	} else {
		v.body, err = v.encoder.AppendFields(v.body[:0], r.Spec.Name, r.Message, r.Layout)
	}
	if err != nil {
		return body, err.Error()
	}
	v.body = append(v.body, r.Rest...)
	if !bytes.Equal(v.body, r.fields) {
		return body, fmt.Sprintf("%s is encoded as %x, was %x", r.Spec.Name, v.body, r.fields)
	}
	if r.Transport.Fragment {
		return body, ""
	}
	return v.body, ""
}
