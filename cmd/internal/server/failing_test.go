package server

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server/servertest"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

var hostAddr = netip.MustParseAddrPort("192.0.2.1:22101")

// A disk takes so many packets, and then fails.
type disk struct{ room int }

func (d *disk) WritePacket(gopacket.CaptureInfo, []byte) error {
	if d.room--; d.room < 0 {
		return syscall.EIO
	}
	return nil
}
func (*disk) Flush(capture.Counters) error { return nil }
func (*disk) Close() error                 { return nil }

// For ten minutes the system sometimes has no room for datagrams, fails to read
// them, and fails to write the recording. No acknowledged message is lost, and
// memory does not grow.
func TestFailingSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := servertest.NewNetwork()
		s := New(n.Open(hostAddr, netip.AddrPort{}, true), hostAddr)
		random := rand.New(rand.NewPCG(1, 1))
		s.Host = relay.NewHost(relay.Config{Mode: relay.Playable, Public: true, Random: random.Uint32})
		s.Log = cli.NewLog(io.Discard, false)
		defer s.Log.Close()
		s.Record(&disk{room: 5000})
		stop, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- s.Serve(stop, nil) }()
		servertest.Play(t, n, hostAddr, 10*time.Minute)
		synctest.Wait() // the host is the server's, which waits now
		if got := s.Host.Status().Playing; got != 4 {
			t.Errorf("%d play", got)
		}
		close(stop)
		if err := <-ended; !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v, want the error of the recording", err)
		}
		if s.unsent == 0 {
			t.Error("everything could be sent")
		}
	})
}

// A broken socket has an error whenever it is read, and else a datagram now and then.
type broken struct {
	*servertest.Conn
	errors int // between two datagrams
	count  int
}

func (b *broken) ReadMsgUDPAddrPort([]byte, []byte) (size, control, flags int, from netip.AddrPort, err error) {
	size, from, err = b.ReadFromUDPAddrPort(nil)
	return size, 0, 0, from, err
}

func (b *broken) ReadFromUDPAddrPort([]byte) (size int, from netip.AddrPort, err error) {
	if b.count++; b.count%(b.errors+1) == 0 {
		return 1, hostAddr, nil
	}
	return 0, from, &net.OpError{Op: "read", Net: "udp", Err: syscall.EIO}
}

// A single read error causes no delay, so that the system's buffer does not
// fill. More errors cause a short delay. If there are only errors, the program
// ends.
func TestBrokenSocket(t *testing.T) {
	for _, tt := range []struct {
		errors int
		least  time.Duration // for a datagram
		most   time.Duration
		ends   bool
	}{
		{errors: 1},
		{errors: 5, least: 40 * time.Millisecond, most: 60 * time.Millisecond},
		{errors: 99, least: 4 * time.Second, most: 6 * time.Second},
		{errors: 100, least: 4 * time.Second, most: 6 * time.Second, ends: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var noRoom atomic.Int64
			s := NewSocket(&broken{Conn: servertest.NewNetwork().Open(hostAddr, netip.AddrPort{}, false), errors: tt.errors}, &noRoom)
			began := time.Now()
			n, _, err := s.Receive(make([]byte, 10))
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("%d errors took %v", tt.errors, took)
			}
			if (err != nil) != tt.ends || err == nil && n != 1 || err != nil && err.Error() != "receiving: input/output error" {
				t.Errorf("%d errors: got %d, %v", tt.errors, n, err)
			}
		})
	}
}
