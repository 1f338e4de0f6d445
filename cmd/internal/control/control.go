// Package control is the socket with which the owner of a host manages a
// running game. A request is a line of JSON, and so is its answer.
package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// Limits of a control socket.
const (
	maxRequest    = 4 << 10
	maxAnswer     = 64 << 10
	clients       = 16              // connections at the same time, and more close the connection that has been idle longest
	requests      = 100             // requests of a connection
	clientTimeout = 5 * time.Second // time for a client to read or write a line
	longPath      = 103             // bytes of a socket's path that every system accepts
)

// A Request requests an action of a host.
type Request struct {
	Command  string `json:"command"`
	Argument string `json:"argument,omitempty"`
}

// An Answer reports the outcome of a request, or describes the game.
type Answer struct {
	Error   string   `json:"error,omitempty"`
	Text    string   `json:"text,omitempty"`
	Status  *Status  `json:"status,omitempty"`
	Players []Player `json:"players,omitempty"`
}

// A Status describes a game.
type Status struct {
	Name      string         `json:"name"`
	Mission   string         `json:"mission"`
	Mode      string         `json:"mode"`
	Uptime    float64        `json:"uptime"` // seconds
	Players   int            `json:"players"`
	Playing   int            `json:"playing"`
	Limit     int            `json:"limit"`
	Received  int            `json:"received"` // datagrams
	Sent      int            `json:"sent"`
	BytesIn   int64          `json:"bytes_in"`
	BytesOut  int64          `json:"bytes_out"`
	Dropped   map[string]int `json:"dropped"` // number of datagrams and messages, by reason
	Recording bool           `json:"recording"`
}

// A Player describes a client that has a slot.
type Player struct {
	ID        uint8   `json:"id"`
	Slot      int     `json:"slot"`
	Name      string  `json:"name"` // control characters are escaped
	Address   string  `json:"address"`
	Phase     string  `json:"phase"`
	Connected float64 `json:"connected"`  // seconds
	Silent    float64 `json:"silent"`     // seconds since its last datagram
	RoundTrip float64 `json:"round_trip"` // seconds, 0 if unknown
	Waiting   int     `json:"waiting"`    // number of messages that it has not acknowledged
}

// Path returns the default path of the socket for the host on a port. The path
// is in a folder that belongs to the user.
func Path(port uint16) (string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" || runtime.GOOS == "windows" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return "", errors.New("neither XDG_RUNTIME_DIR nor a folder of the user is known; choose a path with --control")
		}
	}
	return filepath.Join(dir, "bcdissect", strconv.Itoa(int(port))+".sock"), nil
}

// A Listener accepts requests.
type Listener struct {
	socket net.Listener
	open   sync.WaitGroup
	done   chan struct{}

	mu      sync.Mutex
	clients []*client // in the order in which they connected
}

// A client is a connection.
type client struct {
	net.Conn
	asking bool // its request is being answered, protected by the listener's mu
}

// Listen creates a socket that only its owner can use. It replaces a socket
// that an earlier host has not removed.
func Listen(path string) (*Listener, error) { return listen(path, listenPrivately) }

// listen is Listen with the function that creates a socket.
func listen(path string, open func(path string) (net.Listener, error)) (*Listener, error) {
	if len(path) > longPath {
		return nil, fmt.Errorf("%s: the path of a socket has at most %d bytes", path, longPath)
	}
	const private = 0o700
	if err := os.MkdirAll(filepath.Dir(path), private); err != nil {
		return nil, cli.PlainPath(path, err)
	}
	l, err := open(path)
	if unknown(err) {
		return nil, errUnknown
	}
	if errors.Is(err, syscall.EADDRINUSE) || runtime.GOOS == "windows" && err != nil && exists(path) {
		if abandoned(path) {
			_ = os.Remove(path) // if this fails, listening returns the reason
			l, err = open(path)
		} else {
			return nil, fmt.Errorf("%s: is in use, by another host on this port or by a file", path)
		}
	}
	if err != nil {
		return nil, cli.PlainPath(path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil && runtime.GOOS != "windows" {
		_ = l.Close() // no connection was accepted
		return nil, cli.PlainPath(path, err)
	}
	return &Listener{socket: l, done: make(chan struct{})}, nil
}

// windowsNoFamily is the error number on Windows versions without Unix sockets.
const windowsNoFamily = 10047

var errUnknown = errors.New("this system has no Unix sockets; Windows has them since version 1803")

// unknown reports whether an error means that the system has no Unix sockets.
func unknown(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(windowsNoFamily))
}

// exists reports whether there is a file of any kind. On Windows the error of
// listening does not show this.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// abandoned reports whether a path is a socket without a listening program.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return false
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return true
	}
	_ = c.Close() // nothing was sent
	return false
}

// Serve answers requests until the listener is closed. It may call handle
// concurrently.
func (l *Listener) Serve(handle func(Request) Answer) {
	for {
		c, err := l.socket.Accept()
		if err != nil {
			select {
			case <-l.done:
				return
			case <-time.After(clientTimeout / 10): // such as too many open files, which may be temporary
				continue
			}
		}
		who := l.admit(c)
		if who == nil {
			continue
		}
		l.open.Go(func() {
			defer cli.Guard()
			l.serve(who, handle)
			l.dismiss(who)
		})
	}
}

// admit adds a client. If there are too many, it closes the first one that has
// no request. It returns nil if all have a request.
func (l *Listener) admit(c net.Conn) *client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.clients) >= clients {
		silent := slices.IndexFunc(l.clients, func(c *client) bool { return !c.asking })
		if silent < 0 {
			_ = c.Close() // the client can connect again
			return nil
		}
		_ = l.clients[silent].Close() // its goroutine ends
		l.clients = slices.Delete(l.clients, silent, silent+1)
	}
	who := &client{Conn: c}
	l.clients = append(l.clients, who)
	return who
}

// dismiss closes a connection.
func (l *Listener) dismiss(c *client) {
	_ = c.Close() // it does not matter whether the client has received the answer
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = slices.DeleteFunc(l.clients, func(other *client) bool { return other == c })
}

// asks records whether a client's request is being answered.
func (l *Listener) asks(c *client, asking bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.asking = asking
}

// serve answers the requests of a client.
func (l *Listener) serve(c *client, handle func(Request) Answer) {
	lines := bufio.NewReaderSize(c, maxRequest)
	for range requests {
		if c.SetDeadline(time.Now().Add(clientTimeout)) != nil {
			return
		}
		line, err := lines.ReadSlice('\n')
		var answer Answer
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			answer.Error = fmt.Sprintf("a request has at most %d bytes", maxRequest)
		case err != nil:
			return
		default:
			var r Request
			if json.Unmarshal(line, &r) != nil {
				answer.Error = "a request is a line of JSON"
			} else {
				l.asks(c, true)
				answer = handle(r)
			}
		}
		b, e := json.Marshal(answer)
		if e != nil {
			return
		}
		if _, e := c.Write(append(b, '\n')); e != nil || err != nil {
			return
		}
		l.asks(c, false)
	}
}

// Close removes the socket. It waits a moment for answers that are being
// written.
func (l *Listener) Close() {
	close(l.done)
	_ = l.socket.Close() // also removes the file
	ended := make(chan struct{})
	go func() {
		defer cli.Guard()
		l.open.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(clientTimeout / 50):
	}
}

// Ask sends a request to the host behind a socket.
func Ask(path string, r Request) (a Answer, err error) {
	c, err := net.DialTimeout("unix", path, clientTimeout)
	if unknown(err) {
		return a, errUnknown
	}
	if err != nil {
		return a, fmt.Errorf("no host answers (%w); choose one with --listen PORT or --control PATH", cli.PlainPath(path, err))
	}
	defer func() { _ = c.Close() }() // the answer has been read
	if err := c.SetDeadline(time.Now().Add(2 * clientTimeout)); err != nil {
		return a, cli.PlainPath(path, err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err := c.Write(append(b, '\n')); err != nil {
		return a, cli.PlainPath(path, err)
	}
	line, err := bufio.NewReaderSize(c, maxAnswer).ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return a, fmt.Errorf("the host did not answer (%w); try again", cli.PlainPath(path, err))
	}
	return a, nil
}
