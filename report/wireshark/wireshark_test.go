package wireshark

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// The plugin has a line for each field, and no mark is left in it.
func TestPlugin(t *testing.T) {
	var b bytes.Buffer
	if err := Plugin(&b, "v1\n\x1b[2J", ""); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		`"StateUpdate.speed"`, `"StateUpdate.position.x"`, `"ObjectCreate.species_name"`, `"gamespy.hostname"`, `"player"`, `"ack.seq"`,
		`"bc.expert.malformed"`, `[28] = "StateUpdate"`, `[50] = "standard"`, "bcdissect v1[2J;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plugin lacks %s", want)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.Count(line, "@") > 0 {
			t.Errorf("a mark is left: %s", line)
		}
	}
	if n := strings.Count(text, "\nfield("); n != len(fields.fields) || n < 1000 {
		t.Errorf("%d fields, want %d", n, len(fields.fields))
	}
}

// Colour rules name fields of the plugin.
func TestColourRules(t *testing.T) {
	var b bytes.Buffer
	if err := ColourRules(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) < 10 {
		t.Errorf("only %d rules", len(lines))
	}
	for _, line := range lines {
		parts := strings.Split(line, "@")
		if len(parts) != 4 || !strings.HasPrefix(parts[1], "Bridge Commander: ") || strings.Count(parts[3], "[") != 2 {
			t.Errorf("not a rule: %s", line)
		}
	}
	if Profile()["colorfilters"] != b.String() {
		t.Error("the profile has other rules")
	}
}

// The profile names fields of the plugin only.
func TestProfile(t *testing.T) {
	seen := 0
	for name, text := range Profile() {
		for _, word := range regexp.MustCompile(`\bbc\.[\w.]+`).FindAllString(text, -1) {
			seen++
			if fields.byName[strings.TrimPrefix(word, prefix)] == nil {
				t.Errorf("%s: no field %s", name, word)
			}
		}
	}
	if seen < 20 {
		t.Errorf("the profile names only %d fields", seen)
	}
}
