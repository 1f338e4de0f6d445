package wireshark

import (
	"bytes"
	"os"
	"strings"
)

// A setting is an entry of Wireshark's preferences: its first line and the
// lines that continue it. Comments and empty lines have no key.
type setting struct {
	key   string
	lines []byte
}

// settingsIn returns the entries of preferences.
func settingsIn(text []byte) (all []setting) {
	for line := range bytes.Lines(text) {
		continues := line[0] == ' ' || line[0] == '\t'
		if n := len(all); continues && n > 0 && all[n-1].key != "" {
			all[n-1].lines = append(all[n-1].lines, line...)
			continue
		}
		key, _, ok := strings.Cut(string(line), ":")
		if !ok || strings.HasPrefix(key, "#") {
			key = ""
		}
		all = append(all, setting{key, bytes.Clone(line)})
	}
	return all
}

// value returns the value without white space, which Wireshark may change.
func (s *setting) value() string {
	_, value, _ := strings.Cut(string(s.lines), ":")
	return strings.Join(strings.Fields(value), "")
}

// valuesIn returns the values in preferences by their keys.
func valuesIn(text []byte) map[string]string {
	all := map[string]string{}
	for _, s := range settingsIn(text) {
		if s.key != "" {
			all[s.key] = s.value()
		}
	}
	return all
}

// merge returns preferences with the settings of a new version. Settings that
// differ from the old version's are changes of the user and stay. A setting
// that the old version had and that is missing now stays missing, since
// Wireshark writes no default values.
func merge(own []byte, old map[string]string, fresh []byte) []byte {
	offered := map[string][]byte{}
	for _, s := range settingsIn(fresh) {
		offered[s.key] = s.lines
	}
	var out []byte
	for _, s := range settingsIn(own) {
		lines, ok := offered[s.key]
		if s.key != "" && ok && s.value() == old[s.key] {
			s.lines = lines
		}
		out = append(out, s.lines...)
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	have := valuesIn(own)
	for _, s := range settingsIn(fresh) {
		_, had := old[s.key]
		if _, has := have[s.key]; s.key != "" && !has && !had {
			out = append(append(out, bytes.TrimRight(s.lines, "\n")...), '\n')
		}
	}
	return out
}

// holds reports whether a file of preferences has all settings of an artefact.
// The file may have more, since Wireshark writes all preferences when one
// changes.
func (a *artefact) holds() bool {
	b, err := os.ReadFile(a.path)
	if err != nil {
		return false
	}
	have := valuesIn(b)
	for key, value := range valuesIn(a.content) {
		if have[key] != value {
			return false
		}
	}
	return true
}
