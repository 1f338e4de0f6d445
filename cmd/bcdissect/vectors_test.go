package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A published packet is a byte string from a publication, with its description.
type published struct {
	ID, Layer, Origin, Hex string
	Ship                   string
	Want                   []map[string]any
	Cut, Unread            bool
}

// as holds the arguments that select a layer. Datagrams have to be recognised.
var as = map[string][]string{
	"datagram": nil, "clear": nil, "gamespy": nil,
	"message": {"--as", "message"}, "payload": {"--as", "payload"}, "block": {"--as", "payload"},
}

// Every published byte string of the real game decodes to its known content, or
// docs/protocol.md says why not.
func TestPublishedPackets(t *testing.T) {
	var file struct{ Packets []published }
	if err := json.Unmarshal(fixtures.Read(t, "vectors/published.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Packets) < 139 {
		t.Fatalf("only %d packets", len(file.Packets))
	}
	docs, err := os.ReadFile(filepath.Join(filepath.Dir(fixtures.Dir()), "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range file.Packets {
		t.Run(p.ID, func(t *testing.T) {
			if (p.Unread || p.Cut) && !bytes.Contains(docs, []byte("`"+p.ID+"`")) {
				t.Error("docs/protocol.md does not say why it is not read to its end")
			}
			if p.Unread {
				return
			}
			hex := p.Hex
			if p.Layer == "block" { // put the block into an update of a ship at 32 s
				hex = "1cffffff3f0000004220" + hex
			}
			args := append([]string{"decode", "-T", "json", "--strict"}, as[p.Layer]...)
			if p.Ship != "" {
				args = append(args, "--ship", p.Ship)
			}
			var out, errs bytes.Buffer
			if code := run(append(args, hex), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != cli.ExitOK || errs.Len() > 0 {
				t.Fatalf("exit status %d, %s", code, errs.String())
			}
			checkPublished(t, &p, records(t, &out))
		})
	}
}

func records(t *testing.T, out *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(out.Bytes()) {
		var r map[string]any
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

func checkPublished(t *testing.T, p *published, got []map[string]any) {
	t.Helper()
	if p.Cut {
		last := len(got) - 1
		if last < 0 || got[last]["kind"] != "malformed" || !strings.Contains(toText(got[last]["notes"]), `"cut"`) {
			t.Fatalf("it does not end with the cut message: %v", got)
		}
		got = got[:last]
	}
	if len(got) != len(p.Want) {
		t.Fatalf("%d messages, want %d: %v", len(got), len(p.Want), got)
	}
	for i, want := range p.Want {
		if got[i]["status"] != nil || got[i]["residue"] != nil {
			t.Errorf("message %d is %v: %v", i, got[i]["status"], got[i])
		}
		for path, w := range want {
			if g, ok := find(got[i], path); !ok || !same(g, w) {
				t.Errorf("message %d: %s is %v, want %v", i, path, g, w)
			}
		}
	}
}

func toText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ofRecord are the keys of a record for which packets have values. All other
// columns are fields of the message.
var ofRecord = []string{"name", "kind", "dir", "peer", "seq", "len", "reliable", "opcode", "ack"}

var step = regexp.MustCompile(`[^.\[\]]+`)

// find returns the value at a path such as entries[0].index. "len x" is the length
// of a list, name_field a field that is called as a key of records is.
func find(r map[string]any, path string) (v any, ok bool) {
	path, length := strings.CutPrefix(path, "len ")
	first, _, _ := strings.Cut(path, ".")
	if v = r; !slices.Contains(ofRecord, first) {
		v, path = r["fields"], strings.TrimSuffix(path, "_field")
	}
	for _, s := range step.FindAllString(path, -1) {
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[s]
		case []any:
			n, err := strconv.Atoi(s)
			if ok = err == nil && n < len(at); ok {
				v = at[n]
			}
		default:
			ok = false
		}
		if !ok {
			break
		}
	}
	if length {
		list, isList := v.([]any)
		return float64(len(list)), isList || !ok
	}
	return v, ok
}

// same compares values. Numbers are printed with few digits in documents.
func same(got, want any) bool {
	g, ok := got.(float64)
	w, isNumber := want.(float64)
	if !ok || !isNumber {
		return got == want
	}
	return math.Abs(g-w) <= max(1e-3*math.Abs(w), 6e-3) && (w != math.Trunc(w) || math.Abs(w) < 1e4 || g == w)
}
