package gamespy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/fixtures"
)

// statusReply is a stock host's reply to \status\: 267 bytes.
const statusReply = `\gamename\bcommander\gamever\60\location\1\hostname\My Game23` +
	`\missionscript\Multiplayer.Episode.Mission1.Mission1\mapname\DM\numplayers\0\maxplayers\8` +
	`\gamemode\openplaying\timelimit\-1\fraglimit\-2\system\Multi1\password\0` +
	`\player_0\Dedicated Server\final\\queryid\2.1`

// told returns pairs as key=value.
func told(m Message) string {
	var b strings.Builder
	for k, v := range m.Pairs() {
		fmt.Fprintf(&b, "%s=%s;", k.Raw(), v.Raw())
	}
	return b.String()
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct{ name, text, kind, queries, pairs string }{
		{
			"reply of a stock host", statusReply, KindReply, "",
			"gamename=bcommander;gamever=60;location=1;hostname=My Game23;" +
				"missionscript=Multiplayer.Episode.Mission1.Mission1;mapname=DM;numplayers=0;maxplayers=8;" +
				"gamemode=openplaying;timelimit=-1;fraglimit=-2;system=Multi1;password=0;" +
				"player_0=Dedicated Server;final=;queryid=2.1;",
		},
		{"status", `\status\`, KindQuery, "status", "status=;"},
		{"basic", `\basic\`, KindQuery, "basic", "basic=;"},
		{"info", `\info\`, KindQuery, "info", "info=;"},
		{"rules", `\rules\`, KindQuery, "rules", "rules=;"},
		{"players", `\players\`, KindQuery, "players", "players=;"},
		{"packets", `\packets\`, KindQuery, "packets", "packets=;"},
		{"echo", `\echo\hello`, KindQuery, "echo", "echo=hello;"},
		{"secure", `\secure\LRPOPQ`, KindQuery, "secure", "secure=LRPOPQ;"},
		{"with a number", `\status\\queryid\7.1`, KindQuery, "status", "status=;queryid=7.1;"},
		{"with a number and an end", `\status\\queryid\1.1\`, KindQuery, "status", "status=;queryid=1.1;"},
		{"combined", `\basic\\secure\LRPOPQ`, KindQuery, "basic secure", "basic=;secure=LRPOPQ;"},
		{"combined closely", `\basic\info\rules\`, KindQuery, "basic info rules", "basic=info;rules=;"},
		{"asked twice", `\info\\info\`, KindQuery, "info", "info=;info=;"},
		{"a word without its end", `\status`, KindOther, "", "status=;"},
		{"a longer word", `\statuses\`, KindOther, "", "statuses=;"},
		{"another case", `\Status\`, KindOther, "", "Status=;"},
		{"a query that no host knows", `\nosuch\`, KindOther, "", "nosuch=;"},
		{"nothing but a backslash", `\`, KindOther, "", ""},
		{"two backslashes", `\\`, KindOther, "", "=;"},
		{"three", `\\\`, KindOther, "", "=;"},
		{"four", `\\\\`, KindOther, "", "=;=;"},
		{"nothing", ``, KindOther, "", ""},
		{"no backslash", `status`, KindOther, "", "status=;"},
		{"heartbeat", `\heartbeat\0\gamename\bcommander`, KindHeartbeat, "", "heartbeat=0;gamename=bcommander;"},
		{
			"heartbeat of a change", `\heartbeat\22101\gamename\bcommander\statechanged\1`, KindHeartbeat, "",
			"heartbeat=22101;gamename=bcommander;statechanged=1;",
		},
		{"part of a reply: info", `\hostname\Lab\missionscript\M\queryid\1.2`, KindReply, "", "hostname=Lab;missionscript=M;queryid=1.2;"},
		{"part of a reply: rules", `\timelimit\-1\queryid\1.3`, KindReply, "", "timelimit=-1;queryid=1.3;"},
		{"part of a reply: players", `\player_0\Dedicated Server\player_1\Picard\final\\queryid\1.4`, KindReply, "", "player_0=Dedicated Server;player_1=Picard;final=;queryid=1.4;"},
		{"a reply to an echo", `\echo\hello\final\\queryid\1.1`, KindReply, "echo", "echo=hello;final=;queryid=1.1;"},
		{"validation", `\gamename\bcommander\validate\hMwdTNWS\final\\queryid\1.1`, KindReply, "", "gamename=bcommander;validate=hMwdTNWS;final=;queryid=1.1;"},
		{"a player called status", `\player_0\status\final\\queryid\1.1`, KindReply, "status", "player_0=status;final=;queryid=1.1;"},
		{"a reply with other keys", `\motd\hello\final\\queryid\1.1`, KindReply, "", "motd=hello;final=;queryid=1.1;"},
		{"keys come again", `\player_0\A\player_0\B\x`, KindReply, "", "player_0=A;player_0=B;x=;"},
		{"Windows-1252", "\\hostname\\J\xF6rg\x92s \x80", KindReply, "", "hostname=Jörg’s €;"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := Parse([]byte(tt.text))
			if got := m.Kind(); got != tt.kind || m.Query() != (tt.kind == KindQuery) {
				t.Errorf("kind: got %s, query %v, want %s", got, m.Query(), tt.kind)
			}
			if got := strings.Join(slices.Collect(m.Queries()), " "); got != tt.queries {
				t.Errorf("queries: got %q, want %q", got, tt.queries)
			}
			if got := told(m); got != tt.pairs {
				t.Errorf("pairs: got %s\nwant %s", got, tt.pairs)
			}
			if got := string(m.Append([]byte("> "))); got != "> "+tt.text {
				t.Errorf("bytes: got %q", got)
			}
		})
	}
	if len(statusReply) != 267 {
		t.Errorf("the stock host's reply has %d bytes, want 267", len(statusReply))
	}
}

func TestGet(t *testing.T) {
	m := Parse([]byte("\\a\\1\\b\\\\a\\2\\\xE9\\3\\\\4\\last"))
	for _, tt := range []struct {
		key, value string
		ok         bool
	}{{"a", "1", true}, {"b", "", true}, {"é", "3", true}, {"", "4", true}, {"last", "", true}, {"c", "", false}, {"A", "", false}, {"\xE9", "", false}} {
		if value, ok := m.Get(tt.key); value.Raw() != tt.value || ok != tt.ok {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.key, value, ok, tt.value, tt.ok)
		}
	}
	if _, ok := (Message{}).Get(""); ok {
		t.Error("the zero value has a pair")
	}
}

func TestStop(t *testing.T) {
	m := Parse([]byte(statusReply))
	n := 0
	for range m.Pairs() {
		if n++; n == 3 {
			break
		}
	}
	for range Parse([]byte(`\info\rules\`)).Queries() {
		break
	}
	if n != 3 {
		t.Errorf("got %d pairs, want 3", n)
	}
}

// The examples of layers gamespy and gamespy-crypto.
func TestExamples(t *testing.T) {
	var file struct {
		Examples []struct {
			Name, Layer, Text string
			Hex               json.RawMessage
			Expect            json.RawMessage
		}
	}
	if err := json.Unmarshal(fixtures.Read(t, "vectors/transport-examples.json"), &file); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range file.Examples {
		if e.Layer != "gamespy" && e.Layer != "gamespy-crypto" {
			continue
		}
		n++
		t.Run(e.Name, func(t *testing.T) {
			var text string
			if err := json.Unmarshal(e.Hex, &text); err != nil {
				t.Fatal(err)
			}
			b, err := fixtures.ParseHex(text)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]string
			if err := json.Unmarshal(e.Expect, &want); err != nil {
				t.Fatal(err)
			}
			if e.Layer == "gamespy-crypto" {
				if got := Validate(want["key"], string(b)); got != want["response"] || want["key"] != Key {
					t.Errorf("got %q, want %q", got, want["response"])
				}
				return
			}
			if string(b) != e.Text {
				t.Fatalf("text and hex differ")
			}
			m := Parse(b)
			if want["ports"] != "" { // the query
				if !m.Query() {
					t.Errorf("got %s, want a query", m.Kind())
				}
				return
			}
			for k, v := range m.Pairs() {
				if w, ok := want[k.Raw()]; !ok || w != v.Raw() {
					t.Errorf("%s: got %q, want %q, %v", k, v, w, ok)
				}
				delete(want, k.Raw())
			}
			if len(want) > 0 || m.Kind() != KindReply {
				t.Errorf("%s without %v", m.Kind(), want)
			}
		})
	}
	if n != 4 {
		t.Errorf("got %d examples, want 4", n)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct{ challenge, want string }{
		{"LRPOPQ", "hMwdTNWS"}, // a real exchange
		{"ABCDEF", "zfmiAycI"},
		{"", ""},
	} {
		if got := Validate(Key, tt.challenge); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.challenge, got, tt.want)
		}
	}
	// Whole groups of three, zeros at the end, never an = sign.
	for n := range 20 {
		got := Validate(Key, strings.Repeat("x", n))
		if len(got) != (n+2)/3*4 || strings.Contains(got, "=") {
			t.Errorf("%d bytes: got %q", n, got)
		}
		if full := Validate(Key, strings.Repeat("x", n+3)); n%3 == 0 && !strings.HasPrefix(full, got) {
			t.Errorf("%d bytes: got %q, longer %q", n, got, full)
		}
	}
	if got := Validate("", "ABC"); len(got) != 4 {
		t.Errorf("empty key: got %q", got)
	}
}

// The largest datagram takes no more than its pairs.
func TestHostile(t *testing.T) {
	m := Parse(bytes.Repeat([]byte{'\\'}, 1<<16))
	n := 0
	for k, v := range m.Pairs() {
		if k != "" || v != "" {
			t.Fatalf("got %q, %q", k, v)
		}
		n++
	}
	if n != 1<<15 || m.Kind() != KindOther {
		t.Errorf("got %d pairs, %s", n, m.Kind())
	}
	if _, ok := m.Get("x"); ok {
		t.Error("found a key")
	}
}

func TestNoAllocation(t *testing.T) {
	reply, query := []byte(statusReply), []byte(`\basic\\secure\LRPOPQ`)
	if got := testing.AllocsPerRun(100, func() {
		if Parse(reply).Kind() != KindReply || !Parse(query).Query() {
			t.Fatal("wrong kind")
		}
		if _, ok := Parse(reply).Get("nosuch"); ok {
			t.Fatal("found a key")
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{statusReply, `\status\\queryid\1.1\`, `\`, `\\\\`, `\heartbeat\0\gamename\bcommander`, `\echo\a\final\\queryid\1.1`, "\\\x80\\\xFF", "x\\y"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := Parse(b)
		if !bytes.Equal(m.Append(nil), b) {
			t.Error("bytes are lost")
		}
		if kind := m.Kind(); (kind == KindQuery) != m.Query() || !slices.Contains([]string{KindQuery, KindReply, KindHeartbeat, KindOther}, kind) {
			t.Errorf("kind %q", kind)
		}
		pairs := 0
		for range m.Pairs() {
			pairs++
		}
		if pairs > (len(b)+1)/2+1 {
			t.Errorf("%d pairs in %d bytes", pairs, len(b))
		}
		var text []string
		seen := map[string]bool{}
		for key, value := range m.Pairs() {
			k, v := key.Raw(), value.Raw()
			if !utf8.ValidString(k) || !utf8.ValidString(v) || strings.Contains(k+v, `\`) {
				t.Errorf("pair %q, %q", k, v)
			}
			if got, ok := m.Get(k); !ok || !seen[k] && got != value {
				t.Errorf("%q: got %q, %v, want %q", k, got, ok, v)
			}
			seen[k] = true
			text = append(text, k, v)
			if len(text) > 100 {
				return // Get is linear
			}
		}
		// The pairs hold all characters except backslashes at the ends.
		want, chars := len(bytes.TrimPrefix(b, []byte{'\\'})), utf8.RuneCountInString(strings.Join(text, `\`))
		if chars != want && chars+1 != want && chars-1 != want {
			t.Errorf("got %d characters, want %d", chars, want)
		}
	})
}

func BenchmarkKind(b *testing.B) {
	text := []byte(`\status\\queryid\1.1\`)
	for b.Loop() {
		Parse(text).Kind()
	}
}
