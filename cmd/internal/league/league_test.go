package league

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/fixtures"
)

// evenings makes a folder with copies of captures, and uses a separate cache.
func evenings(t *testing.T, captures ...string) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // on Linux; elsewhere the user's
	dir := t.TempDir()
	for _, name := range captures {
		put(t, filepath.Join(dir, filepath.Base(name)), fixtures.Read(t, "captures/"+name))
	}
	return dir
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// makes runs the command. It returns what that said.
func makes(t *testing.T, dir string, args ...string) (out, said string, err error) {
	t.Helper()
	var f Flags
	var o, e bytes.Buffer
	cmd := &cobra.Command{Use: "league"}
	f.Define(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	err = f.Run(cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, dir)
	return o.String(), e.String(), err
}

// siteOf returns a hash of each file of a site.
func siteOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const host, client = "field/c21.host.pcap.gz", "battle_mix.pcap.gz"

// TestAgain runs the command again: with nothing new, with a new recording,
// with a file replaced by one of equal size and time, without a file of the
// site, and without a cache. Each time the site equals the site of a first run.
func TestAgain(t *testing.T) {
	dir := evenings(t, host, "networked_battle.pcap")
	site := filepath.Join(dir, "site")
	says := func(step, want string) {
		t.Helper()
		out, said, err := makes(t, dir)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %q, not %q; %s", step, err, out, want, said)
		}
		fresh := filepath.Join(t.TempDir(), "fresh")
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		_, _, err = makes(t, dir, "-o", fresh)
		if want, got := siteOf(t, fresh), siteOf(t, site); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: the site differs from a new one: %v; %v, %v", step, err, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
	cached := os.Getenv("XDG_CACHE_HOME")
	again := func(step, want string) {
		t.Helper()
		t.Setenv("XDG_CACHE_HOME", cached)
		says(step, want)
	}
	again("first", "2 recordings read, 0 known")
	again("nothing new", "0 recordings read, 2 known")
	put(t, filepath.Join(dir, "mix.pcap.gz"), fixtures.Read(t, "captures/"+client))
	again("a new one", "1 recording read, 2 known")
	all, err := filepath.Glob(filepath.Join(site, "replay", "*"))
	if err != nil || len(all) != 3 || os.Remove(all[0]) != nil || os.Remove(filepath.Join(site, "index.html")) != nil {
		t.Fatalf("%d replays, %v", len(all), err)
	}
	again("without two files", "0 recordings read, 3 known")
	put(t, filepath.Join(dir, "zcopy.pcap.gz"), fixtures.Read(t, "captures/"+client))
	again("a copy", "0 recordings read, 3 known")
	name := filepath.Join(dir, "networked_battle.pcap")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	old := fixtures.Read(t, "captures/networked_battle.pcap")
	old[len(old)-1] ^= 1
	put(t, name, old)
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	again("other bytes", "1 recording read, 2 known")
	caches, _ := filepath.Glob(filepath.Join(cached, "bcdissect", "league", "*", "read.ndjson"))
	if len(caches) != 1 || os.Truncate(caches[0], 3000) != nil {
		t.Fatalf("the caches are %v", caches)
	}
	again("a damaged cache", "3 recordings read, 0 known")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	again("one less", "0 recordings read, 2 known")
}

// address matches what may be an address of IPv4 in a page.
var address = regexp.MustCompile(`\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`)

// TestPrivate looks for addresses and chat in all files, and finds them where the rules
// publish them.
func TestPrivate(t *testing.T) {
	dir := evenings(t, client, "networked_battle.pcap")
	chat := "Bot0: " // as events name a writer
	for _, publish := range []bool{false, true} {
		put(t, filepath.Join(dir, "league.toml"), fmt.Appendf(nil, "[publish]\naddresses = %t\nchat = %t\n", publish, publish))
		if _, _, err := makes(t, dir); err != nil {
			t.Fatal(err)
		}
		addresses, lines := 0, 0
		for name := range siteOf(t, filepath.Join(dir, "site")) {
			b, err := os.ReadFile(filepath.Join(dir, "site", name))
			if err != nil {
				t.Fatal(err)
			}
			if found := address.Find(b); found != nil {
				addresses++
				if !publish {
					t.Errorf("%s has the address %s", name, found)
				}
			}
			if strings.HasPrefix(name, "replay/") && (bytes.Contains(b, []byte(chat)) || !bytes.Contains(b, []byte(`"chat":[]`))) {
				lines++
				if !publish {
					t.Errorf("%s has chat", name)
				}
			}
		}
		if publish && (addresses == 0 || lines == 0) {
			t.Errorf("%d files have addresses, and %d chat, though the rules publish them", addresses, lines)
		}
	}
}

// TestForeign does not write into a folder of other files.
func TestForeign(t *testing.T) {
	dir := evenings(t, host)
	out := t.TempDir()
	put(t, filepath.Join(out, "index.html"), []byte("years"))
	put(t, filepath.Join(out, "style.css"), []byte("of another site"))
	if _, _, err := makes(t, dir, "-o", out); err == nil || !strings.Contains(err.Error(), "holds other files") {
		t.Errorf("got %v", err)
	}
	if got := siteOf(t, out); len(got) != 2 {
		t.Errorf("the folder has %v", got)
	}
}

// TestDamaged has a file that is cut short, one that is not a capture, and a
// valid one. The league has everything that can be read, and each run reports
// the errors.
func TestDamaged(t *testing.T) {
	dir := evenings(t, host)
	whole := fixtures.Read(t, "captures/networked_battle.pcap")
	put(t, filepath.Join(dir, "cut.pcap"), whole[:len(whole)*2/3])
	for range 2 {
		out, _, err := makes(t, dir)
		if cli.StatusOf(err) != cli.ExitDamaged || !strings.Contains(out, "2 matches") {
			t.Errorf("cut short: %v; %s", err, out)
		}
	}
	put(t, filepath.Join(dir, "none.pcap"), []byte("this is no capture"))
	for range 2 {
		out, _, err := makes(t, dir)
		if cli.StatusOf(err) != cli.ExitFailed || !strings.Contains(err.Error(), "none.pcap: not read") || !strings.Contains(out, "2 matches") {
			t.Errorf("no capture: %v; %s", err, out)
		}
	}
}

// A hook is a webhook that gives the configured answers, and then 204.
type hook struct {
	mu      sync.Mutex
	answers []int
	posts   []string
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, _ := io.ReadAll(r.Body)
	code := http.StatusNoContent
	if len(h.answers) > 0 {
		code, h.answers = h.answers[0], h.answers[1:]
	}
	switch code {
	case http.StatusNoContent:
		h.posts = append(h.posts, string(b))
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "0.01")
	}
	w.WriteHeader(code)
}

// TestPost posts matches to a server that asks to wait, and has faults. Each settled
// match is posted once, by several runs.
func TestPost(t *testing.T) {
	h := &hook{answers: []int{429, 500, 429}}
	server := httptest.NewServer(h)
	defer server.Close()
	dir := evenings(t, host, "field/f1x.host.pcap.gz", "two_teams.pcap") // the last one lacks its end
	secret := filepath.Join(t.TempDir(), "hook")
	put(t, secret, []byte(server.URL+"/secret\n"))
	for range 3 {
		if _, said, err := makes(t, dir, "--post", secret); err != nil || strings.Contains(said, "secret") {
			t.Fatalf("%v; %s", err, said)
		}
	}
	if len(h.posts) != 2 {
		t.Fatalf("%d posts, not 2", len(h.posts))
	}
	var p post
	if err := json.Unmarshal([]byte(h.posts[0]), &p); err != nil || p.Content == "" || len(p.Embeds) != 1 || len(p.Embeds[0].Fields) != 4 || p.Mentions.Parse == nil {
		t.Errorf("%v: %s", err, h.posts[0])
	}

	// A webhook that answers 404. Its address is a secret and appears in no
	// output.
	h.answers = []int{404}
	put(t, filepath.Join(dir, "n.pcap"), fixtures.Read(t, "captures/networked_battle.pcap"))
	t.Setenv("HOOK", server.URL+"/secret")
	if _, said, err := makes(t, dir, "--post", "env:HOOK"); err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(said+err.Error(), "secret") {
		t.Errorf("404: %v", err)
	}
	if _, _, err := makes(t, dir, "--post", "env:HOOK"); err != nil || len(h.posts) != 3 {
		t.Errorf("a match that was refused isn't posted later: %v, %d posts", err, len(h.posts))
	}
	if _, _, err := makes(t, dir, "--post", server.URL); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("the address is taken from the command line: %v", err)
	}
}

// TestPostOthers has a server that refuses one match: the others are posted. After three
// failures in a row, the rest waits for another run.
func TestPostOthers(t *testing.T) {
	h := &hook{answers: []int{400}}
	server := httptest.NewServer(h)
	defer server.Close()
	captures := []string{host, "field/f1x.host.pcap.gz", client, "networked_battle.pcap"}
	dir := evenings(t, captures...)
	t.Setenv("HOOK", server.URL)
	_, _, err := makes(t, dir, "--post", "env:HOOK")
	if cli.StatusOf(err) != cli.ExitFailed || !errors.Is(err, errNotPosted) || len(h.posts) != len(captures)-1 {
		t.Errorf("one is refused: %v, %d posts", err, len(h.posts))
	}
	if _, _, err := makes(t, dir, "--post", "env:HOOK"); err != nil || len(h.posts) != len(captures) {
		t.Errorf("another run: %v, %d posts", err, len(h.posts))
	}
	if err := os.RemoveAll(filepath.Join(dir, "site", posted)); err != nil {
		t.Fatal(err)
	}
	h.answers, h.posts = slices.Repeat([]int{404}, hopeless), nil
	if _, _, err := makes(t, dir, "--post", "env:HOOK"); !errors.Is(err, errNotPosted) || len(h.posts) != 0 {
		t.Errorf("%d failures in a row: %v, %d posts", hopeless, err, len(h.posts))
	}
}

// follows makes a league that is looked at by hand, after the recordings in the folder
// have not grown for a while.
func follows(t *testing.T, dir string, args ...string) (f *follower, said *bytes.Buffer) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-2*still)); err != nil {
			t.Fatal(err)
		}
	}
	said = &bytes.Buffer{}
	var flags Flags
	cmd := &cobra.Command{Use: "league"}
	flags.Define(cmd)
	if err := cmd.ParseFlags(append(args, "--watch")); err != nil {
		t.Fatal(err)
	}
	r, err := flags.begin(cli.Streams{In: strings.NewReader(""), Out: said, Err: said}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return &follower{run: r}, said
}

// TestWatchPosts has a webhook that refuses a match until later: --watch posts it again
// by itself, after a pause, and says once that it failed.
func TestWatchPosts(t *testing.T) {
	h := &hook{answers: []int{404, 404}}
	server := httptest.NewServer(h)
	defer server.Close()
	dir := evenings(t, host)
	t.Setenv("HOOK", server.URL)
	f, said := follows(t, dir, "--post", "env:HOOK")
	now := time.Now()
	for _, step := range []struct {
		after time.Duration
		posts int
		left  int // answers of the server
	}{{0, 0, 1}, {shortPause - time.Second, 0, 1}, {shortPause, 0, 0}, {2 * shortPause, 0, 0}, {3 * shortPause, 1, 0}, {time.Hour, 1, 0}} {
		if err := f.look(now.Add(step.after), nil); err != nil || len(h.posts) != step.posts || len(h.answers) != step.left {
			t.Errorf("after %v: %v, %d posts, %d answers", step.after, err, len(h.posts), len(h.answers))
		}
	}
	if got := said.String(); strings.Count(got, "404") != 1 {
		t.Errorf("it says %q", got)
	}
}

// TestWatchGrows replaces a recording that --watch has read: its match stays in the site
// until the new one has not grown for a while.
func TestWatchGrows(t *testing.T) {
	dir := evenings(t, host, "networked_battle.pcap")
	f, said := follows(t, dir)
	name := filepath.Join(dir, "networked_battle.pcap")
	look := func(step, want string) {
		t.Helper()
		if err := f.look(time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "site", "league.json"))
		if n := strings.Count(string(b), `"networked_battle.pcap"`); err != nil || n == 0 {
			t.Errorf("%s: the site has lost the match: %v; %s", step, err, said)
		}
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s: it says %q, not %q", step, said, want)
		}
		said.Reset()
	}
	look("at first", "2 recordings read, 0 known")
	data := fixtures.Read(t, "captures/networked_battle.pcap")
	put(t, name, data[:len(data)-500])
	look("while it grows", "")
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-2*still)); err != nil {
		t.Fatal(err)
	}
	look("later", "1 recording read, 1 known")
}

// TestTwoFolders runs the command for two folders of recordings that write the
// same site at the same time. The site is complete and belongs to one of them.
func TestTwoFolders(t *testing.T) {
	one, two := evenings(t, host), evenings(t, client, "networked_battle.pcap")
	want := map[string]map[string]string{}
	for _, dir := range []string{one, two} {
		if _, _, err := makes(t, dir); err != nil {
			t.Fatal(err)
		}
		want[dir] = siteOf(t, filepath.Join(dir, "site"))
	}
	out := filepath.Join(t.TempDir(), "both")
	var all sync.WaitGroup
	for range 2 {
		for _, dir := range []string{one, two} {
			all.Go(func() {
				if _, _, err := makes(t, dir, "-o", out); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if got := siteOf(t, out); !maps.Equal(got, want[one]) && !maps.Equal(got, want[two]) {
		t.Errorf("the site is a mixture: %v", slices.Sorted(maps.Keys(got)))
	}
}

// TestSend has servers that are out of order, out of reach, or break a connection.
func TestSend(t *testing.T) {
	h := &hook{}
	server := httptest.NewServer(h)
	var waits []time.Duration
	p := poster{address: server.URL, client: server.Client(), wait: func(d time.Duration) bool { waits = append(waits, d); return true }}
	h.answers = slices.Repeat([]int{500}, tries)
	if err := p.send(nil); err == nil || len(waits) != tries-1 || waits[0] != time.Second || waits[2] != 4*time.Second {
		t.Errorf("500: %v, after %v", err, waits)
	}
	server.Close()
	if err := p.send(nil); err == nil || errors.Is(err, errUnsure) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("out of reach: %v", err)
	}
	breaks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer breaks.Close()
	p.address = breaks.URL
	if err := p.send(nil); !errors.Is(err, errUnsure) {
		t.Errorf("a broken connection: %v", err)
	}
}

// TestPlain has a name that would mention people and set marks.
func TestPlain(t *testing.T) {
	if got, want := plain("@everyone **x** <@1> [a](b)"), "@\u200beveryone \\*\\*x\\*\\* \\<@\u200b1\\> \\[a\\](b)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLimits has names that Discord would refuse: one that marks make longer, and none.
func TestLimits(t *testing.T) {
	l := &league.League{Title: "League", Settings: league.Default(), Players: []league.Player{{Name: wire.Untrusted(strings.Repeat("_", 250))}, {Name: " "}}}
	var x post
	if err := json.Unmarshal(message(l, &league.Match{Parts: []league.Part{{Player: 0}, {Player: 1}}}), &x); err != nil {
		t.Fatal(err)
	}
	for _, f := range x.Embeds[0].Fields {
		if n := len([]rune(f.Name)); n > 256 || strings.TrimSpace(f.Name) == "" || strings.HasSuffix(f.Name, `\…`) {
			t.Errorf("the name %q has %d characters", f.Name, n)
		}
	}
}
