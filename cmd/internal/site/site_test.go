package site

import (
	"archive/zip"
	"bytes"
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSite asks a site for its files, for a capture, and for forbidden files.
func TestSite(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"index.html": "<p>page", "a.js": "1", "b.wasm": "\x00asm"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, "an evening&#%.pcap")
	if err := os.WriteFile(name, []byte("capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Unpack(b.Bytes(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	address := s.Address(netip.MustParseAddrPort("0.0.0.0:80"))
	if !strings.HasPrefix(address, "http://127.0.0.1:80/#file=") {
		t.Fatalf("the address is %s", address)
	}
	_, file, _ := strings.Cut(address, "#file=")
	file, err = url.QueryUnescape(file)
	if err != nil {
		t.Fatal(err)
	}
	get := func(method, path string) (int, string, http.Header) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, nil)
		r.Host = "127.0.0.1:80"
		s.ServeHTTP(w, r)
		return w.Code, w.Body.String(), w.Header()
	}
	for path, want := range map[string]string{"/": "<p>page", "/index.html": "<p>page", "/a.js": "1", "/b.wasm": "\x00asm", "/" + file: "capture"} {
		code, text, h := get("GET", path)
		if code != 200 || text != want || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s gives %d, %q", path, code, text)
		}
	}
	if _, _, h := get("GET", "/b.wasm"); h.Get("Content-Type") != "application/wasm" {
		t.Errorf("the program is of type %s", h.Get("Content-Type"))
	}
	// Captures that come later have other addresses.
	second := filepath.Join(folder, "second.pcap")
	if err := os.WriteFile(second, []byte("more"), 0o600); err != nil {
		t.Fatal(err)
	}
	added, err := url.QueryUnescape(strings.TrimPrefix(s.Add([]string{second}), "#file="))
	if _, text, _ := get("GET", "/"+added); err != nil || text != "more" || !strings.HasSuffix(added, "/1/second.pcap") {
		t.Errorf("the second capture, at %s, is %q; %v", added, text, err)
	}
	head := file[:strings.LastIndexByte(file, '/')]
	for _, path := range []string{"/c.js", "/captures/", "/captures/0/an%20evening.pcap", "/" + strings.Replace(head, s.secret, strings.Repeat("A", len(s.secret)), 1) + "/x", "/../secret"} {
		if code, text, _ := get("GET", path); code == 200 {
			t.Errorf("%s gives %q", path, text)
		}
	}
	if _, text, _ := get("GET", "/"+head+"/../../secret"); strings.Contains(text, "secret") {
		t.Error("a file beside the capture is given")
	}
	if code, _, _ := get("POST", "/"); code != http.StatusMethodNotAllowed {
		t.Errorf("a POST gives %d", code)
	}
}

// Arguments of programs are for all eyes: the one that starts the browser does not hold
// the secret, but leads to a file that does.
func TestHandOver(t *testing.T) {
	s := &Site{captures: []string{"a \"b\".pcap"}, secret: "GUESSME"}
	address := s.Address(netip.MustParseAddrPort("127.0.0.1:80"))
	argument, remove, err := handOver(address)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(address, s.secret) || strings.Contains(argument, s.secret) {
		t.Errorf("the browser is started with %s for %s", argument, address)
	}
	b, err := os.ReadFile(argument)
	if err != nil || strings.Count(string(b), "url="+html.EscapeString(address)+"\"") != 1 {
		t.Errorf("the file holds %q, %v", b, err)
	}
	for _, name := range []string{argument, filepath.Dir(argument)} {
		if info, err := os.Stat(name); err != nil || os.PathSeparator == '/' && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if remove(); exists(filepath.Dir(argument)) {
		t.Error("the file is left")
	}
	if argument, _, err := handOver("http://127.0.0.1:80/"); err != nil || argument != "http://127.0.0.1:80/" {
		t.Errorf("without captures the browser is started with %s, %v", argument, err)
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// A page of another site can give its name this computer's address (DNS rebinding). It
// gets nothing.
func TestHost(t *testing.T) {
	served := Secure(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) }))
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "[::1]:8080": 200, "192.0.2.7": 200, "localhost:8080": 200, "LOCALHOST": 200,
		"evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:80": 421, "": 421,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		served.ServeHTTP(w, r)
		if w.Code != want || (want != 200) != !strings.Contains(w.Body.String(), "secret") {
			t.Errorf("host %q: %d, %q", host, w.Code, w.Body)
		}
	}
}
