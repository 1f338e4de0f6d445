package arq

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// many is how many messages wait for an acknowledgement in the benchmarks.
const many = 8000

// BenchmarkBogusAck is an acknowledgement of a message never sent, while many
// messages wait for theirs.
func BenchmarkBogusAck(b *testing.B) {
	l := New(1, Limits{Waiting: 2 * many})
	for range many {
		_ = l.Queue(start, Message{Type: transport.Standard, Reliable: true, Body: []byte("x")})
	}
	for {
		if _, ok := l.Datagram(start, nil); !ok {
			break
		}
	}
	m := transport.Message{Header: transport.Header{Type: transport.Acknowledge, HasSeq: true, Seq: 0x7000}}
	b.ReportAllocs()
	for b.Loop() {
		l.Receive(start, &m, nil)
	}
}

// BenchmarkNext asks when something is due while many messages wait.
func BenchmarkNext(b *testing.B) {
	l := New(1, Limits{Waiting: 2 * many})
	for range many {
		_ = l.Queue(start, Message{Type: transport.Standard, Reliable: true, Body: []byte("x")})
	}
	for {
		if _, ok := l.Datagram(start, nil); !ok {
			break
		}
	}
	var next time.Time
	b.ReportAllocs()
	for b.Loop() {
		next = l.Next()
	}
	if !next.Equal(after(1)) {
		b.Fatal(next)
	}
}

// BenchmarkIdleDatagram asks for a datagram when none is due while many
// messages wait.
func BenchmarkIdleDatagram(b *testing.B) {
	l := New(1, Limits{Waiting: 2 * many})
	for range many {
		_ = l.Queue(start, Message{Type: transport.Standard, Reliable: true, Body: []byte("x")})
	}
	for {
		if _, ok := l.Datagram(start, nil); !ok {
			break
		}
	}
	now := after(0.5)
	buf := make([]byte, 0, transport.MaxDatagram)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := l.Datagram(now, buf); ok {
			b.Fatal("a datagram")
		}
	}
}

// BenchmarkReliable sends a message, and has it acknowledged, while many others
// wait.
func BenchmarkReliable(b *testing.B) {
	l := New(1, Limits{Waiting: 2 * many})
	for range many {
		_ = l.Queue(start, Message{Type: transport.Standard, Reliable: true, Body: []byte("x")})
	}
	for {
		if _, ok := l.Datagram(start, nil); !ok {
			break
		}
	}
	buf := make([]byte, 0, transport.MaxDatagram)
	body := []byte("x")
	now := after(0.5)
	seq := uint16(many)
	for b.Loop() {
		_ = l.Queue(now, Message{Type: transport.Standard, Reliable: true, Body: body})
		l.Datagram(now, buf)
		l.Receive(now, &transport.Message{Header: transport.Header{Type: transport.Acknowledge, HasSeq: true, Seq: seq}}, nil)
		seq++
	}
}

// BenchmarkRepeatedAcks receives reliable messages while as many
// acknowledgements as there can be are repeated.
func BenchmarkRepeatedAcks(b *testing.B) {
	l := New(1, Limits{})
	seq := uint16(0)
	b.ReportAllocs()
	for b.Loop() {
		l.Receive(start, &transport.Message{Header: transport.Header{
			Type: transport.Standard, Reliable: true, HasSeq: true, Seq: seq,
		}}, func(*Message) {})
		seq++
	}
}
