package home

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/cmd/internal/query"
	"github.com/bcdissect/bcdissect/cmd/internal/site"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A listener only has an address.
type listener struct{ net.Listener }

func (listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50123} }

// host is what requests of the page name.
const host = "127.0.0.1:50123"

// newTest returns a home with a folder and a page of one file.
func newTest(t *testing.T) *Home {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	_, err := z.Create("index.html")
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	view, err := site.Unpack(b.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h, err := New(listener{}, io.Discard, view, Options{Folder: filepath.Join(dir, "recordings"), Servers: filepath.Join(dir, "config", "servers.txt")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if err := os.Mkdir(h.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends what the page sends, and returns the answer with its error.
func ask[T any](t *testing.T, h *Home, what, body string) (answer T, fault string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://"+host+"/api/"+what, strings.NewReader(body))
	r.Header.Set("X-Bcdissect-Key", h.key)
	r.Header.Set("Origin", "http://"+host)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s %s is answered with %d: %s", what, body, w.Code, w.Body)
	}
	var e struct{ Error string }
	for _, v := range []any{&answer, &e} {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
	}
	return answer, e.Error
}

// names are the body of a request about files.
func names(t *testing.T, all ...string) string {
	t.Helper()
	b, err := json.Marshal(request{Names: all})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// put copies a fixture to the folder of recordings, with frames from, up to to.
func put(t *testing.T, h *Home, name string, from, to int) string {
	t.Helper()
	path := filepath.Join(h.folder, name)
	job, err := extract.New(extract.Options{Keep: func(f *capture.Frame) bool { return f.Number > from && f.Number <= to }},
		func(o capture.CopyOptions) (*capture.Copy, error) { return capture.CreateCopy(path, false, o) })
	if err == nil {
		_, _, err = job.Run([]string{fixtures.Path("captures/networked_battle.pcap")}, nil, func(*capture.Series) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// served returns the captures that the page for captures gets, by their names.
func served(t *testing.T, h *Home, o *opening) map[string][]byte {
	t.Helper()
	place, fragment, _ := strings.Cut(o.View, "#")
	all := map[string][]byte{}
	for part := range strings.SplitSeq(fragment, "&") {
		file, err := url.QueryUnescape(strings.TrimPrefix(part, "file="))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://"+host+"/"+place+file, nil))
		name, err := url.PathUnescape(file[strings.LastIndex(file, "/")+1:])
		if w.Code != http.StatusOK || err != nil {
			t.Fatalf("%s is answered with %d, %v", file, w.Code, err)
		}
		all[name] = w.Body.Bytes()
	}
	return all
}

// TestForeign sends requests that do not come from the page. None is done.
func TestForeign(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	for _, c := range []struct {
		method, path, host, origin, key, body string
		want                                  int
	}{
		{"POST", "/api/state", host, "", "", "{}", http.StatusForbidden},
		{"POST", "/api/state", host, "", strings.Repeat("A", len(h.key)), "{}", http.StatusForbidden},
		{"POST", "/api/state", host, "", h.key + "A", "{}", http.StatusForbidden},
		{"POST", "/api/state", host, "http://evil.example", h.key, "{}", http.StatusForbidden},
		{"POST", "/api/state", host, "null", h.key, "{}", http.StatusForbidden},
		{"POST", "/api/state", host, "https://" + host, h.key, "{}", http.StatusForbidden},
		{"POST", "/api/drop?name=a", host, "", "", "capture", http.StatusForbidden},
		{"POST", "/api/state", "localhost:50123", "", h.key, "{}", http.StatusMisdirectedRequest},
		{"POST", "/api/state", "evil.example:50123", "", h.key, "{}", http.StatusMisdirectedRequest},
		{"GET", "/", "evil.example:50123", "", "", "", http.StatusMisdirectedRequest},
		{"GET", "/api/state", host, "", h.key, "", http.StatusMethodNotAllowed},
		{"PUT", "/api/drop?name=a", host, "", h.key, "capture", http.StatusMethodNotAllowed},
		{"POST", "/api/state", host, "", h.key, "", http.StatusBadRequest},
		{"POST", "/api/state", host, "", h.key, "[1]", http.StatusBadRequest},
		{"POST", "/api/open", host, "", h.key, `{"names": ["` + strings.Repeat("a", largest) + `"]}`, http.StatusBadRequest},
		{"GET", "/home.go", host, "", "", "", http.StatusNotFound},
		{"GET", "/view/captures/x/0/y", host, "", "", "", http.StatusNotFound},
		{"GET", "/live/", host, "", "", "", http.StatusNotFound}, // nothing is being recorded
		{"GET", "/", host, "", "", "", http.StatusOK},
		{"POST", "/api/state", host, "http://" + host, h.key, "{}", http.StatusOK},
		{"POST", "/api/state", host, "", h.key, "{}", http.StatusOK}, // not every browser names the origin
	} {
		r := httptest.NewRequest(c.method, "http://"+c.host+c.path, strings.NewReader(c.body))
		for name, value := range map[string]string{"X-Bcdissect-Key": c.key, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || strings.Contains(w.Body.String(), h.key) {
			t.Errorf("%s %s of %s from %q: %d: %s", c.method, c.path, c.host, c.origin, w.Code, w.Body)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s allows other origins", c.method, c.path)
		}
	}
	if h.dropped != "" {
		t.Errorf("a capture was kept in %s", h.dropped)
	}
}

// TestPaths opens files by names as people paste them, and by names that lead elsewhere.
func TestPaths(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	put(t, h, "Überfahrt 艦.pcapng", 0, 50)
	elsewhere := filepath.Join(t.TempDir(), "o'brien's.pcap")
	if err := os.Rename(put(t, h, "a.pcap", 0, 50), elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.folder, "letter.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, opened, fault string }{
		{"Überfahrt 艦.pcapng", "Überfahrt 艦.pcapng", ""},
		{` "Überfahrt 艦.pcapng" `, "Überfahrt 艦.pcapng", ""},
		{"'" + elsewhere + "'", "o'brien's.pcap", ""},
		{elsewhere, "o'brien's.pcap", ""},
		{`""`, "", "choose a recording"},
		{"  ", "", "choose a recording"},
		{"letter.txt", "", "letter.txt: not a capture"},
		{"..", "", "choose the captures in it"},
		{"../recordings", "", ""}, // relative to the program, not to the folder
		{h.folder, "", "recordings: a folder; choose the captures in it"},
		{"a\x1b[2Jb.pcap", "", `a\x1b[2Jb.pcap`},
	} {
		o, fault := ask[opening](t, h, "open", names(t, c.name))
		switch {
		case c.opened == "" && (fault == "" || o.View != "" || !strings.Contains(fault, c.fault) || strings.ContainsAny(fault, "\n\x1b")):
			t.Errorf("%q: %q, %+v", c.name, fault, o)
		case c.opened != "" && (fault != "" || len(served(t, h, &o)[c.opened]) == 0):
			t.Errorf("%q: %q, %+v", c.name, fault, o)
		}
	}
	// What can be opened is, with a sentence about the other.
	o, fault := ask[opening](t, h, "open", names(t, elsewhere, "letter.txt", "Überfahrt 艦.pcapng"))
	if fault != "" || len(o.Remarks) != 2 || !strings.HasPrefix(o.Remarks[0], "letter.txt: not a capture") || !strings.Contains(o.Remarks[1], "it counts once") || len(served(t, h, &o)) != 1 {
		t.Errorf("two captures of the same bytes and a text: %q, %+v", fault, o)
	}
}

// TestDrop keeps captures under the names that they have, whatever these lead to.
func TestDrop(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	for name, want := range map[string]string{
		"evening ü.pcap": "evening ü.pcap", "../../a.pcap": ".._.._a.pcap", `C:\b.pcap`: "C__b.pcap", "": "capture", "..": "capture", "a\x00\n": "a__",
	} {
		answer, fault := ask[map[string]string](t, h, "drop?name="+url.QueryEscape(name), "text of "+name)
		path := answer["path"]
		text, err := os.ReadFile(path)
		if fault != "" || err != nil || string(text) != "text of "+name || filepath.Base(path) != want || !strings.HasPrefix(path, h.dropped+string(filepath.Separator)) {
			t.Errorf("%q: %q is kept as %s, %q, %v", name, text, path, fault, err)
		}
	}
	h.Close()
	if _, err := os.Stat(h.dropped); !os.IsNotExist(err) {
		t.Errorf("when the program has ended, %s is still there: %v", h.dropped, err)
	}
}

// TestParts has three files of a ring buffer, of a recording that is cut within a match:
// the list shows one recording, which opens as one match and is copied as one.
func TestParts(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	const frames = 1_000_000 // more than there are
	parts := []string{"a_00001_20261124200000.pcapng", "a_00002_20261124200100.pcapng", "a_00003_20261124200200.pcapng"}
	cuts := []int{0, 300, 600, frames}
	for i, name := range parts {
		put(t, h, name, cuts[i], cuts[i+1])
	}
	put(t, h, "a_00001_20261124210000.pcapng", 0, 20) // a part of another day
	put(t, h, "a.pcapng", 0, 10)
	s, _ := ask[state](t, h, "state", "{}")
	var listed []string
	for _, f := range s.Recordings {
		listed = append(listed, strings.Join(f.Names, "+"))
	}
	if want := strings.Join(parts, "+"); len(listed) != 3 || !strings.Contains(strings.Join(listed, " "), want) {
		t.Fatalf("the list is %q, without %s", listed, want)
	}

	o, fault := ask[opening](t, h, "open", names(t, parts[1], parts[2], parts[0]))
	all := served(t, h, &o)
	joined := all["a_00001_20261124200000 and 2 more.pcapng"]
	if fault != "" || len(all) != 1 || len(joined) == 0 {
		t.Fatalf("%q, %+v: %d captures", fault, o, len(all))
	}
	if got, want := played(t, joined), played(t, nil); got != want {
		t.Errorf("the joined parts have %v, the recording %v", got, want)
	}

	c, fault := ask[copied](t, h, "anonymous", names(t, parts...))
	if fault != "" || c.File != "a_00001_20261124200000 and 2 more.anonymous.pcapng" {
		t.Errorf("the copy is %+v, %q", c, fault)
	}
	if _, fault = ask[copied](t, h, "anonymous", names(t, parts[0], "a.pcapng", "a_00001_20261124210000.pcapng")); fault != "choose one recording" {
		t.Errorf("a copy of three recordings: %q", fault)
	}
}

// playedCounts tell captures apart.
type playedCounts struct{ matches, frames, kills int }

// played counts what is in a capture, nil for the fixture that parts are of.
func played(t *testing.T, text []byte) (n playedCounts) {
	t.Helper()
	name := fixtures.Path("captures/networked_battle.pcap")
	if text != nil {
		name = filepath.Join(t.TempDir(), "joined.pcapng")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src, err := capture.OpenAll([]string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, b := dissect.New(dissect.Config{}), match.New(time.Time{})
	for d, err := src.Next(); err == nil; d, err = src.Next() {
		if err := p.Push(d, b.Record); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	n.matches, n.frames = len(b.Matches()), src.Stats().Frames
	for _, m := range b.Matches() {
		n.kills += len(m.Kills)
	}
	return n
}

// TestAnonymous makes two copies: the second does not replace the first.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	put(t, h, "evening.pcapng", 0, 400)
	for _, want := range []string{"evening.anonymous.pcapng", "evening.anonymous (2).pcapng"} {
		c, fault := ask[copied](t, h, "anonymous", names(t, "evening.pcapng"))
		if fault != "" || c.File != want || !strings.Contains(c.Notes, "names") {
			t.Errorf("the copy is %+v, %q; want %s", c, fault, want)
		}
	}
	if s, _ := ask[state](t, h, "state", "{}"); len(s.Recordings) != 3 {
		t.Errorf("%d recordings are listed", len(s.Recordings))
	}
}

// TestServers stores twelve servers, the last one first and each once. It skips
// lines that no recording can have written, and reports a file that cannot be
// written.
func TestServers(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	for i := range mostServers + 3 {
		h.remember(string(rune('a'+i)) + ".example")
	}
	h.remember("F.example")
	if got := strings.Join(h.used(), " "); got != "F.example o.example n.example m.example l.example k.example j.example i.example h.example g.example e.example d.example" {
		t.Errorf("remembered are %s", got)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(h.servers), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("in the folder are %q, %v", left, err)
	}
	if err := os.WriteFile(h.servers, []byte("a\x1b[2J.example\r\n\r\nb.example\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, _ := ask[state](t, h, "state", "{}"); strings.Join(s.Servers, " ") != "b.example" {
		t.Errorf("of a file by hand the page shows %q", s.Servers)
	}
	h.servers = h.folder // a folder cannot be written as a file
	h.remember("c.example")
	h.Close() // says what waits
	if said := h.said.all(); len(said) != 1 || !strings.HasPrefix(said[0], "couldn't remember the server: ") {
		t.Errorf("the program says %q", said)
	}
}

// TestHostile asks a server whose texts would draw on a terminal, or read like others.
func TestHostile(t *testing.T) {
	t.Parallel()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		buf := make([]byte, 100)
		for {
			_, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = server.WriteTo([]byte("\\hostname\\\x1b[2J<b>\x9b\\mapname\\a\nb\\numplayers\\-3\\maxplayers\\8\\player_0\\\a\\final\\\\queryid\\1.1"), from)
		}
	}()
	r := query.All(context.Background(), []string{server.LocalAddr().String()}, query.Options{Timeout: 20 * time.Second})
	s := describe(&r[0], "name", true)
	if s.Error != "" || !strings.Contains(s.Name, "<b>") || len(s.Names) != 1 || s.Players != nil || s.Limit == nil || *s.Limit != 8 {
		t.Errorf("the server is %+v", s)
	}
	for _, text := range append(s.Names, s.Name, s.Map) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q has a control character", text)
		}
	}
}

// TestIncomplete stops recordings that have failed: one opens as far as it goes, with
// the reason, and of the other only the reason is left.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	ended := make(chan struct{})
	close(ended)
	failed := &recording{file: put(t, h, "a.pcapng", 0, 300), err: errors.New("a.pcapng: no space left\x1b"), ended: ended, end: func() {}}
	h.tape = failed
	o, fault := ask[opening](t, h, "stop", "{}")
	if fault != "" || len(served(t, h, &o)["a.pcapng"]) == 0 || len(o.Remarks) != 1 || o.Remarks[0] != `the recording is not complete: a.pcapng: no space left\x1b` {
		t.Errorf("%q, %+v", fault, o)
	}
	failed.file = filepath.Join(h.folder, "none.pcapng")
	if o, fault = ask[opening](t, h, "stop", "{}"); fault != `a.pcapng: no space left\x1b` {
		t.Errorf("%q, %+v", fault, o)
	}
}

// TestBusyPorts takes all ports that a game could join.
func TestBusyPorts(t *testing.T) {
	h := newTest(t)
	for port := range mostPorts {
		// Where another program has one, it is taken as well.
		if conn, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", query.FirstPort+port)); err == nil {
			defer conn.Close()
		}
	}
	if _, fault := ask[state](t, h, "record", `{"server": "127.0.0.1:9"}`); !strings.HasPrefix(fault, "none of the ports 22101 to 22110 of this computer is free") {
		t.Errorf("%q", fault)
	}
}

// TestNoFolder records where nothing can be written.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	h.folder = filepath.Join(put(t, h, "a.pcapng", 0, 10), "recordings") // below a file
	for what, body := range map[string]string{"record": `{"server": "127.0.0.1:9"}`, "folder": "{}", "anonymous": names(t, fixtures.Path("captures/join_flow.pcap"))} {
		if _, fault := ask[state](t, h, what, body); !strings.Contains(fault, "; let the program write there, or start it with home --folder and another folder") || strings.Contains(fault, "mkdir") {
			t.Errorf("%s: %q", what, fault)
		}
	}
}

// TestNoScratch has no folder for temporary files.
func TestNoScratch(t *testing.T) {
	h := newTest(t)
	missing := filepath.Join(h.folder, "missing")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // the last two on Windows
		t.Setenv(name, missing)
	}
	if _, fault := ask[opening](t, h, "sample", "{}"); !strings.HasPrefix(fault, "the folder for temporary files can't be used: "+missing+": ") || strings.Contains(fault, "stat") {
		t.Errorf("the sample: %q", fault)
	}
}

// TestStarting asks for a recording twice, with servers that are none, and for its end
// while there is none.
func TestStarting(t *testing.T) {
	t.Parallel()
	h := newTest(t)
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	fault := func(what, body string) string {
		_, fault := ask[state](t, h, what, body)
		return fault
	}
	if got := fault("stop", "{}"); got != "nothing is being recorded" {
		t.Errorf("stop: %q", got)
	}
	for _, name := range []string{"", " ", `""`, "a b", "127.0.0.1:x", "127.0.0.1:0", "\x1b[2J"} {
		b, err := json.Marshal(request{Server: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := fault("record", string(b)); got == "" || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("a recording of %q: %q", name, got)
		}
	}
	h.starting.Lock()
	if got := fault("record", `{"server": "127.0.0.1:9"}`); got != "a recording is being started" {
		t.Errorf("while another one is being started: %q", got)
	}
	h.starting.Unlock()

	body := `{"server": " \"` + server.LocalAddr().String() + `\" "}`
	if got := fault("record", body); got != "" {
		t.Fatalf("the recording: %q", got)
	}
	if got := fault("record", body); got != "a recording is running; stop it first" {
		t.Errorf("a second one: %q", got)
	}
	s, _ := ask[state](t, h, "state", "{}")
	if s.Tape == nil || !s.Tape.Running || s.Tape.Server != server.LocalAddr().String() || !strings.HasPrefix(s.Tape.Join, "127.0.0.1") || len(s.Servers) != 1 {
		t.Errorf("the state is %+v, %+v", s, s.Tape)
	}
	// A game joins: what it says arrives at the server and in the recording.
	join := s.Tape.Join
	if !strings.Contains(join, ":") {
		join += ":" + query.DefaultPort
	}
	game, err := (&net.Dialer{}).DialContext(context.Background(), "udp4", join)
	if err != nil {
		t.Fatal(err)
	}
	defer game.Close()
	if _, err := game.Write([]byte("\\status\\")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	_ = server.SetReadDeadline(time.Now().Add(time.Minute))
	for n := 0; !bytes.HasPrefix(buf[:n], []byte("\\status\\")); {
		if n, _, err = server.ReadFrom(buf); err != nil {
			t.Fatal(err)
		}
	}
	o, got := ask[opening](t, h, "stop", "{}")
	if got != "" || !bytes.Contains(served(t, h, &o)[s.Tape.File], []byte("\\status\\")) {
		t.Errorf("stop: %q, %+v", got, o)
	}
	if s, _ := ask[state](t, h, "state", "{}"); s.Tape.Running {
		t.Error("it is still running")
	}
	// Again within the same second: the first file stays.
	if got := fault("record", body); got != "" {
		t.Errorf("another recording: %q", got)
	}
	h.Close()
	if all, _ := h.recordings(); len(all) != 2 {
		t.Errorf("%d recordings are listed", len(all))
	}
}
