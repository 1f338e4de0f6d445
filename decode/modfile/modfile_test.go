package modfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/internal/layout"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/fixtures"
)

func example(tb testing.TB) File {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(fixtures.Dir()), "docs", "example-mod.toml"))
	if err != nil {
		tb.Fatal(err)
	}
	return File{"example-mod.toml", b}
}

func TestExample(t *testing.T) {
	c, err := Extend(msg.Catalog(), example(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"DockRequest", "TradeOffer", "OFFER_MESSAGE", "Emote"} {
		if c.Find(name) == nil {
			t.Errorf("no %s", name)
		}
	}
	if s := c.Lookup(0xCE); s.Name != "TradeOffer" || s.Relay != decode.RelayForward || s.Dir != decode.Either || !s.Reliable || strings.Join(s.Harmless, " ") != "mode flags price goods_count kind amount vintage" {
		t.Errorf("got %+v", s)
	}
	if s := c.Lookup(0xCD); s.Relay != decode.RelayConsume || s.Dir != decode.FromClient || strings.Join(s.Brief, " ") != "station" || s.Harmless != nil {
		t.Errorf("got %+v", s)
	}
	if s := c.Lookup(0x2C); s.Name != "Chat" || len(s.Alternatives) != 1 || s.Alternatives[0].Name != "Emote" {
		t.Errorf("got %+v", s)
	}
}

// The documentation describes every kind.
func TestPage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(fixtures.Dir()), "docs", "mods.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range layout.Kinds() {
		if !strings.Contains(string(b), "`"+k+"`") {
			t.Errorf("docs/mods.md says nothing of %s", k)
		}
	}
}

const head = "[[message]]\nopcode = 0xCD\nname = \"Own\"\n"

func TestMistakes(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"kind":                          {head + "[[message.field]]\nname = \"speeed\"\nkind = \"f23\"\n", `mod.toml:6: field "speeed" has unknown kind "f23" (did you mean f32?)`},
		"no kind":                       {head + "[[message.field]]\nname = \"a\"\n", `mod.toml:4: field "a" has no kind`},
		"no name":                       {head + "[[message.field]]\nkind = \"u8\"\n", `mod.toml:4: a field of message Own has no name`},
		"empty":                         {"# nothing\n", `mod.toml: no message is defined; each begins with [[message]]`},
		"unknown key":                   {head + "feild = []\n", `mod.toml:4: a message has no key "feild" (did you mean field?)`},
		"unknown table":                 {"[[messages]]\n", `mod.toml:1: the file has no key "messages" (did you mean message?)`},
		"not a list":                    {"[message]\nname = \"Own\"\n", `mod.toml:1: a message begins with [[message]], in two brackets`},
		"type":                          {"[[message]]\nopcode = \"0xCD\"\n", `mod.toml:2: opcode must be a whole number, not a text in quotes`},
		"no opcode":                     {"[[message]]\nname = \"Own\"\n", `mod.toml:1: message Own has no opcode`},
		"opcode":                        {"[[message]]\nname = \"Own\"\nopcode = 256\n", `mod.toml:3: message Own: opcode 256 is not a byte`},
		"octal":                         {"[[message]]\nname = \"Own\"\nopcode = 010\n", `mod.toml:3: integers cannot have leading zeroes`},
		"message name":                  {"[[message]]\nopcode = 1\nname = \"My Own\"\n", `mod.toml:3: "My Own" is not a valid message name: letters, digits and underscores, a letter first`},
		"field name":                    {head + "field = [{name = \"shipID\", kind = \"u8\"}]\n", `mod.toml:4: "shipID" is not a valid field name: lower-case letters, digits and single underscores, such as ship_id`},
		"taken":                         {"[[message]]\nopcode = 0xCD\nname = \"chat\"\n", `mod.toml:3: the name chat is taken by 0x2C Chat`},
		"taken constant":                {"[[message]]\nopcode = 0xCD\nname = \"Own\"\naliases = [\"SHIP_UPDATE\"]\n", `mod.toml:4: the name SHIP_UPDATE is taken by 0x1C StateUpdate`},
		"twice":                         {head + head, `mod.toml:6: the name Own is taken by 0xCD Own`},
		"two names":                     {head + "aliases = [\"own\"]\n", `mod.toml:4: message Own has the name own twice`},
		"direction":                     {head + "direction = \"c2c\"\n", `mod.toml:4: message Own has unknown direction "c2c"; it is one of c2s, s2c, both`},
		"relay":                         {head + "relay = \"teem\"\n", `mod.toml:4: message Own has unknown relay class "teem"; it is one of none, consume, forward, slots, echo, team, answer`},
		"control":                       {head + "doc = \"\\u001b[2J\"\n", `mod.toml:4: the doc of message Own has a character that cannot be shown, U+001B; write it on one line`},
		"two fields":                    {head + "field = [\n{name = \"a\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\"}]\n", `mod.toml:6: message Own has two fields "a"`},
		"two keys":                      {head + "field = [\n{name = \"a_count\", kind = \"u8\"},\n{name = \"a\", kind = \"list\", field = [{name = \"b\", kind = \"u8\"}]}]\n", `mod.toml:6: message Own: the fields "a_count" and "a" would both be shown as "a_count"`},
		"rest first":                    {head + "field = [\n{name = \"a\", kind = \"bytes\"},\n{name = \"b\", kind = \"u8\"}]\n", `mod.toml:5: field "a": bytes reach to the end of the message, so nothing can follow`},
		"rest in list":                  {head + "field = [{name = \"l\", kind = \"list\", field = [{name = \"b\", kind = \"bytes\"}]}]\n", `mod.toml:4: field "b": bytes reach to the end of the message and cannot be part of a list`},
		"nothing sure":                  {head + "field = [{name = \"l\", kind = \"list\", field = [{name = \"b\", kind = \"bit\"}]}]\n", `mod.toml:4: field "l": an element needs a field that is always there and has bytes`},
		"no fields":                     {head + "field = [{name = \"l\", kind = \"struct\"}]\n", `mod.toml:4: field "l": a struct needs fields`},
		"stray fields":                  {head + "field = [{name = \"l\", kind = \"u8\", field = [{name = \"b\", kind = \"bit\"}]}]\n", `mod.toml:4: field "l": fields belong in a list or struct, and its kind is u8`},
		"count":                         {head + "field = [{name = \"l\", kind = \"list\", count = \"u9\", field = [{name = \"b\", kind = \"u8\"}]}]\n", `mod.toml:4: field "l" has unknown count "u9"; it is one of u8, u16, rest`},
		"stray count":                   {head + "field = [{name = \"l\", kind = \"u8\", count = \"u8\"}]\n", `mod.toml:4: field "l": a count belongs to a list, and its kind is u8`},
		"when nothing":                  {head + "field = [\n{name = \"mode\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\", when = \"mod == 1\"}]\n", `mod.toml:6: field "a": when "mod == 1": there is no field "mod" before this one (did you mean mode?)`},
		"when later":                    {head + "field = [\n{name = \"a\", kind = \"u8\", when = \"mode == 1\"},\n{name = \"mode\", kind = \"u8\"}]\n", `mod.toml:5: field "a": when "mode == 1": there is no field "mode" before this one`},
		"when float":                    {head + "field = [\n{name = \"x\", kind = \"f32\"},\n{name = \"a\", kind = \"u8\", when = \"x == 1\"}]\n", `mod.toml:6: field "a": when "x == 1": a field of kind f32 cannot be compared`},
		"when alone":                    {head + "field = [\n{name = \"x\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\", when = \"x\"}]\n", `mod.toml:6: field "a": when "x": write a value to compare with, such as x == 1`},
		"when never":                    {head + "field = [\n{name = \"x\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\", when = \"x == 256\"}]\n", `mod.toml:6: field "a": when "x == 256": the field goes from 0 to 255`},
		"when bits":                     {head + "field = [\n{name = \"x\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\", when = \"x & 0x100\"}]\n", `mod.toml:6: field "a": when "x & 0x100": the field has no such bits`},
		"when operator":                 {head + "field = [\n{name = \"x\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\", when = \"x > 3\"}]\n", `mod.toml:6: field "a": when "x > 3": expected ==, != or & after the name`},
		"when name":                     {head + "field = [\n{name = \"x\", kind = \"enum8\", values = [\"on\"]},\n{name = \"a\", kind = \"u8\", when = \"x == off\"}]\n", `mod.toml:6: field "a": when "x == off": "off" is neither a number nor the name of a value`},
		"when many":                     {head + "field = [\n{name = \"x\", kind = \"u8\"},\n{name = \"a\", kind = \"u8\", when = [\"x == 1\", 3]}]\n", `mod.toml:6: when must be an array of texts, and holds a whole number`},
		"values of u8":                  {head + "field = [{name = \"x\", kind = \"u8\", values = [\"on\"]}]\n", `mod.toml:4: field "x": values belong to an enum8 or enum32, and its kind is u8`},
		"value":                         {head + "[[message.field]]\nname = \"x\"\nkind = \"enum8\"\n[message.field.values]\n0 = \"off\"\n256 = \"on\"\n", `mod.toml:9: field "x": the value 256 does not fit an enum8`},
		"value twice":                   {head + "[[message.field]]\nname = \"x\"\nkind = \"enum8\"\nvalues = { 1 = \"off\", 0x01 = \"on\" }\n", `mod.toml:7: field "x": the value 1 has two names`},
		"value number":                  {head + "[[message.field]]\nname = \"x\"\nkind = \"enum8\"\nvalues = { off = 0 }\n", `mod.toml:7: "off" is not a number; values are written as in { 0 = "off", 0x10 = "on" }`},
		"bits":                          {head + "field = [{name = \"x\", kind = \"flags8\", bits = [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}]\n", `mod.toml:4: field "x": 9 names for the 8 bits of a byte`},
		"brief":                         {head + "brief = [\"b\"]\nfield = [{name = \"x\", kind = \"u8\"}]\n", `mod.toml:4: message Own: brief: there is no field "b"`},
		"harmless":                      {head + "harmless = [\"mod\"]\nfield = [{name = \"mode\", kind = \"u8\"}]\n", `mod.toml:4: message Own: harmless: there is no field "mod" (did you mean mode?)`},
		"harmless text":                 {head + "harmless = [\"x\"]\nfield = [{name = \"x\", kind = \"str8\"}]\n", `mod.toml:4: message Own: harmless: x is not a number; texts, bytes, addresses and hash32 are never copied`},
		"harmless bytes":                {head + "harmless = [\"x\"]\nfield = [{name = \"x\", kind = \"bytes\"}]\n", `mod.toml:4: message Own: harmless: x is not a number; texts, bytes, addresses and hash32 are never copied`},
		"harmless address":              {head + "harmless = [\"x\"]\nfield = [{name = \"x\", kind = \"ipv4\"}]\n", `mod.toml:4: message Own: harmless: x is not a number; texts, bytes, addresses and hash32 are never copied`},
		"nesting":                       {head + "field = " + strings.Repeat("[{name = \"x\", kind = \"struct\", field = ", 5) + "[]" + strings.Repeat("}]", 5), `mod.toml:4: field "x": more than 4 nested lists and structs`},
		"deep":                          {head + "field = " + strings.Repeat("[", 100) + strings.Repeat("]", 100), `mod.toml:4: more than 16 nested arrays and tables`},
		"syntax":                        {"[[message]]\nopcode 3\n", `mod.toml:2: expected '=' after key`},
		"open string":                   {"[[message]]\nname = \"Own\n", `mod.toml:2: `},
		"cut":                           {"[[message]]\nname = ", `mod.toml:2: expected value, not end of input`},
		"same key":                      {head + "name = \"Other\"\n", `mod.toml:4: the key name is already defined in line 3`},
		"same table":                    {head + "[message.x]\n[message.x]\n", `mod.toml:5: x is already defined in line 4`},
		"date":                          {head + "doc = 2026-11-21\n", `mod.toml:4: doc must be a text in quotes, not a float or a date`},
		"huge":                          {"[[message]]\nopcode = 99999999999999999999\n", `mod.toml:2: 99999999999999999999 is not a TOML number, or too large`},
		"utf-16":                        {"[\x00m\x00\n\xFF", `mod.toml:2: not UTF-8 text`},
		"too large":                     {strings.Repeat("#", MaxSize+1), `mod.toml: larger than 1024 KiB`},
		"as large as it may be":         {strings.Repeat("#", MaxSize), `mod.toml: no message is defined; each begins with [[message]]`},
		"not UTF-8 after a real U+FFFD": {"# \uFFFD\n\xFF", `mod.toml:2: not UTF-8 text`},
		"deep tables":                   {head + "doc = " + strings.Repeat("{a = ", 20) + "1" + strings.Repeat("}", 20), `mod.toml:4: more than 16 nested arrays and tables`},
		"as long as it may be":          {head + "direction = \"" + strings.Repeat("c", 1000) + "\"\n", `mod.toml:4: message Own has unknown direction "` + strings.Repeat("c", 1000) + `"; it is one of c2s, s2c, both`},
		"long":                          {head + "direction = \"" + strings.Repeat("c", 1001) + "\"\n", `mod.toml:4: direction is longer than 1000 bytes`},
		"fields alone":                  {"[[message.field]]\nname = \"a\"\n", `mod.toml:1: a message begins with [[message]], in two brackets`},
		"too many":                      {strings.Repeat(head, 257), `mod.toml:769: more than 256 messages`},
		"fields":                        {head + strings.Repeat("[[message.field]]\nname = \"a\"\nkind = \"u8\"\n", 2), `mod.toml:8: message Own has two fields "a"`},
		"many fields":                   {head + manyFields(), `mod.toml:772: message Own has more than 256 fields`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Extend(msg.Catalog(), File{"mod.toml", []byte(tt.file)})
			if err == nil {
				t.Fatal("it is accepted")
			}
			if got := err.Error(); !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(tt.want, " ") && got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestReliable(t *testing.T) {
	for line, want := range map[string]bool{"": true, "reliable = false\n": false, "reliable = true\n": true} {
		c, err := Extend(msg.Catalog(), File{"mod.toml", []byte(head + line)})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Lookup(0xCD).Reliable; got != want {
			t.Errorf("%q: reliable is %v, want %v", line, got, want)
		}
	}
}

// A file may have 256 messages.
func TestMostMessages(t *testing.T) {
	var b strings.Builder
	for i := range MaxMessages {
		fmt.Fprintf(&b, "[[message]]\nopcode = 0xCD\nname = \"Own%d\"\n", i)
	}
	c, err := Extend(msg.Catalog(), File{"mod.toml", []byte(b.String())})
	if err != nil || c.Find("Own255") == nil {
		t.Errorf("got %v", err)
	}
}

func manyFields() string {
	var b strings.Builder
	for i := range 257 {
		b.WriteString("[[message.field]]\n")
		b.WriteString("name=\"f" + strings.Repeat("a", i%40) + string(rune('a'+i/40)) + "\"\nkind=\"u8\"\n")
	}
	return b.String()
}

// Forms of definitions that are accepted.
func TestForms(t *testing.T) {
	for name, file := range map[string]string{
		"windows":     "\uFEFF" + strings.ReplaceAll(head+"field = [ {name = \"a\", kind = \"u8\"} ]\n", "\n", "\r\n"),
		"inline":      "message = [{opcode = 205, name = \"Own\", field = [{name = \"a\", kind = \"u8\"}]}]",
		"dotted":      head + "[[message.field]]\nname = \"a\"\nkind = \"enum8\"\nvalues.0 = \"x\"\nvalues.1 = \"y\"\n",
		"empty":       head,
		"docs' kinds": head + "field = [{name = \"a\", kind = \"cv3\"}, {name = \"b\", kind = \"3 f32\"}, {name = \"c\", kind = \"object id\"}]",
		"catch-all":   "[[message]]\nopcode = 0x2B\nname = \"Own\"\n",
		"conditions":  head + "field = [{name = \"a\", kind = \"flags8\"}, {name = \"b\", kind = \"u8\", when = [\"a & 0x02 != 0\", \"!a & 0x01\", \"a & 0x04 == 0\"]}]",
	} {
		if _, err := Extend(msg.Catalog(), File{"mod.toml", []byte(file)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzLoad checks that any file gives either a catalogue with messages that can
// be described and read, or an error with a line of the file.
func FuzzLoad(f *testing.F) {
	f.Add(example(f).Data)
	f.Add([]byte(head))
	f.Add([]byte(head + "[[message.field]]\nname = 'a'\nkind = \"u8\"\n[message.field.values]\n0 = \"\\u0041\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c *decode.Catalog
		var err error
		if spent := fixtures.Allocated(func() { c, err = Extend(msg.Catalog(), File{"f", data}) }); spent > uint64(8<<20+len(data)<<13) {
			t.Fatalf("%d bytes were allocated for %d", spent, len(data))
		}
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Line < 0 || e.Line > 1+strings.Count(string(data), "\n") || e.Reason == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		d := decode.NewDecoder()
		for _, s := range c.All()[1:] {
			if _, ok := s.Layout.New().(interface{ Reset() }); !ok || s.Evidence != decode.FromProse {
				continue
			}
			payload := append([]byte{byte(s.Code)}, data...)
			if r := d.Read(s, payload, decode.Stock, nil); r.Exact() {
				if err := decode.RoundTrips(s, &r, payload); err != nil && !strings.Contains(string(data), "bit") {
					t.Fatal(err)
				}
			}
		}
	})
}
