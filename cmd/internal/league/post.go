package league

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture/private"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/dissect/match"
	site "github.com/bcdissect/bcdissect/report/league"
)

// A poster posts each match to a webhook once. A file for each match tells that
// it was posted, or that a run has begun to post it.
type poster struct {
	address string // a secret, since anybody who knows it can post
	done    string // folder of these files
	s       cli.Streams
	stopped <-chan struct{}
	client  *http.Client
	wait    func(time.Duration) bool // returns false if the program is to end
}

// posted is the folder of the site that contains the names of posted matches.
const posted = ".posted"

// newPoster reads the address of the webhook.
func newPoster(from string, s cli.Streams, out string) (*poster, error) {
	if strings.Contains(from, "://") {
		return nil, errors.New("--post: the address is a secret, and other users see the command line; write it into a file, or into an environment variable, and give env:NAME")
	}
	var address string
	if name, ok := strings.CutPrefix(from, "env:"); ok {
		if address = os.Getenv(name); address == "" {
			return nil, fmt.Errorf("--post %s: the environment variable %s is empty", from, name)
		}
	} else {
		b, err := cli.ReadDefinitions(from)
		if err != nil {
			return nil, cli.Failed(cli.PlainPath(from, err))
		}
		address = string(b)
	}
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !local(u.Hostname())) {
		return nil, fmt.Errorf("--post %s: has no address of a webhook, which begins with https://", from)
	}
	p := &poster{address: address, done: filepath.Join(out, posted), s: s}
	p.client = &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p.wait = func(d time.Duration) bool {
		select {
		case <-p.stopped:
			return false
		case <-time.After(d):
			return true
		}
	}
	return p, nil
}

// local reports whether a host name is a name of this computer.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hopeless is the number of failures in a row after which no more posts are
// sent. The reason is then in the webhook and not in a match.
const hopeless = 3

// all posts the matches that are final and were not posted. If a post fails, it
// continues with the next.
func (p *poster) all(l *league.League) error {
	if err := private.MakeDir(p.done, 0o700); err != nil {
		return cli.Failed(cli.PlainPath(p.done, err))
	}
	var failed error
	for i, row := 0, 0; i < len(l.Matches) && row < hopeless; i++ {
		m := &l.Matches[i]
		if m.Ignored != "" || m.Story.Result.Value == match.Unknown || m.Begin.Before(l.Settings.PostAfter) || p.was(m) {
			continue
		}
		row++
		err := p.one(l, m)
		if err == nil {
			row = 0
			continue
		}
		failed = errors.Join(failed, fmt.Errorf("--post: match %s: %w", m.ID, err))
		if errors.Is(err, errLater) {
			break
		}
	}
	if failed == nil {
		return nil
	}
	return cli.Failed(errors.Join(failed, errNotPosted))
}

var (
	errNotPosted = errors.New("--post: not every match was posted")
	errLater     = errors.New("run the command again later")
)

// was reports whether a match was posted under any of its names.
func (p *poster) was(m *league.Match) bool {
	for _, id := range append([]string{m.ID}, m.Also...) {
		if _, err := os.Stat(filepath.Join(p.done, id)); err == nil {
			return true
		}
	}
	return false
}

// one posts a match. It creates the file before it sends the post, so that no
// other run sends the post again, even if this run is killed.
func (p *poster) one(l *league.League, m *league.Match) error {
	name := filepath.Join(p.done, m.ID)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return cli.PlainPath(name, err)
	}
	_, _ = io.WriteString(f, "sending\n") // only for people who open the file
	err = p.send(message(l, m))
	switch {
	case err == nil:
		_, _ = io.WriteString(f, "sent\n")
	case !errors.Is(err, errUnsure):
		_ = os.Remove(name) // the match was certainly not posted
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// errUnsure is the error if it is not known whether a match was posted.
var errUnsure = errors.New("may have been posted or not; it will not be posted again")

// tries is the number of times a post is sent. maxWait is the longest time to
// wait that a server may request.
const (
	tries   = 6
	maxWait = 2 * time.Minute
)

// send sends a post until the server accepts it.
func (p *poster) send(body []byte) error {
	pause := time.Second
	for n := 1; ; n++ {
		wait, err := p.try(body)
		if err == nil || errors.Is(err, errUnsure) || wait < 0 || n == tries {
			return err
		}
		if wait == 0 {
			wait, pause = pause, 2*pause
		}
		if wait > maxWait {
			return fmt.Errorf("%w, and asks to wait %v; %w", err, wait, errLater)
		}
		if !p.wait(wait) {
			return fmt.Errorf("interrupted; %w", errLater)
		}
	}
}

// try sends a post. With an error it returns the time to wait before the next
// attempt. The time is 0 if the server does not tell it, and negative if
// another attempt is useless.
func (p *poster) try(body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.address, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the address is wrong")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "bcdissect/"+cli.Version())
	resp, err := p.client.Do(req)
	if err != nil {
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
			return 0, errors.New("the server of the webhook can't be reached") // the original error contains the secret address
		}
		return -1, errUnsure
	}
	defer func() { _ = resp.Body.Close() }() // the response was read
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<16)
	switch code := resp.StatusCode; {
	case code < 300:
		return 0, nil
	case code == http.StatusTooManyRequests, code >= 500:
		return retryAfter(resp.Header.Get("Retry-After")), fmt.Errorf("the webhook answers %s", resp.Status)
	default:
		return -1, fmt.Errorf("the webhook answers %s; is its address right?", resp.Status)
	}
}

// retryAfter parses the number of seconds that a server requests to wait.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0 && seconds < 1e6) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// A post is the body of a post to a Discord webhook.
type post struct {
	Content  string  `json:"content"`
	Embeds   []embed `json:"embeds"`
	Mentions struct {
		Parse []string `json:"parse"` // empty, so that names of players never notify anybody
	} `json:"allowed_mentions"`
}

type embed struct {
	Title       string  `json:"title"`
	Description string  `json:"description"`
	URL         string  `json:"url,omitempty"`
	Time        string  `json:"timestamp"`
	Fields      []field `json:"fields"`
}

type field struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline"`
}

// Limits of Discord.
const (
	longest    = 180 // characters of a text, of which Discord accepts 256, and 6000 in all texts
	mostFields = 25
)

// message returns the post of a match.
func message(l *league.League, m *league.Match) []byte {
	x := post{Content: plain(m.Detail.Verdict.String())}
	x.Mentions.Parse = []string{}
	e := embed{Title: plain(l.Title), Description: plain(m.Detail.Ending.String()), Time: m.Begin.UTC().Format(time.RFC3339), Fields: []field{}}
	if m.Detail.Map != "" {
		e.Title = plain(l.Title + ": " + m.Detail.Map)
	}
	if l.Settings.URL != "" {
		e.URL = l.Settings.URL + site.MatchPage(m)
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if len(e.Fields) == mostFields {
			break
		}
		name := plain(l.Players[p.Player].Name.String())
		if strings.TrimSpace(name) == "" { // Discord rejects an empty name
			name = "no name"
		}
		e.Fields = append(e.Fields, field{name, fmt.Sprintf("%d kills, %d deaths", p.Kills, p.Deaths), true})
	}
	x.Embeds = []embed{e}
	b, err := json.Marshal(x)
	if err != nil {
		return []byte(`{"content":""}`) // cannot happen, since there are only strings
	}
	return b
}

// marks escapes characters that Discord would treat as markup.
var marks = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`, "<", `\<`, "[", `\[`, "]", `\]`, "#", `\#`, "@", "@\u200b")

// plain escapes markup in a text and then cuts it. Discord counts the escape
// characters, and rejects the whole post if one text is too long.
func plain(s string) string {
	var b strings.Builder
	room := longest
	for _, r := range s {
		text := marks.Replace(string(r))
		if room -= len(utf16.Encode([]rune(text))); room < 0 {
			b.WriteString("…")
			break
		}
		b.WriteString(text)
	}
	return b.String()
}
