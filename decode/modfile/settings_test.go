package modfile

import (
	"reflect"
	"testing"
)

func TestReadSettings(t *testing.T) {
	got, err := ReadSettings(File{"c.toml", []byte(`# mine
define = [
  "a.toml",
  'b.toml',
]
[filters]
kills = "DestroyObject"
good-luck = 'Chat.text ~ "(?i)gl"'

[columns]
ships = ["rel", "object_name"]
`)})
	want := &Settings{
		Define:  []Setting{{"", 3, []string{"a.toml"}}, {"", 4, []string{"b.toml"}}},
		Filters: []Setting{{"kills", 7, []string{"DestroyObject"}}, {"good-luck", 8, []string{`Chat.text ~ "(?i)gl"`}}},
		Columns: []Setting{{"ships", 11, []string{"rel", "object_name"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := ReadSettings(File{Name: "c.toml"}); err != nil || !reflect.DeepEqual(got, &Settings{}) {
		t.Errorf("an empty file: got %+v, %v", got, err)
	}
}

func TestReadSettingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\n[filters\n":                  "c.toml:2: expected ']' to close table name",
		"define = \"a.toml\"":           "c.toml:1: define must be an array, not a text in quotes",
		"define = [3]":                  "c.toml:1: define must be an array of texts, and holds a whole number",
		"\n[filter]\nkills = \"x\"":     `c.toml:2: the file has no key "filter" (did you mean filters?)`,
		"[filters]\n\nkills = 3":        "c.toml:3: kills must be a text in quotes, not a whole number",
		"[filters]\nkills = \"\"":       "c.toml:2: kills: is empty",
		"[filters]\n\"a b\" = \"x\"":    "c.toml:2: a b: a name has letters, digits, - and _ only",
		"[columns]\nships = \"rel\"":    "c.toml:2: ships must be an array, not a text in quotes",
		"[columns]\nships = []":         "c.toml:2: ships: is empty",
		"[columns]\nships = [\"a\", 1]": "c.toml:2: ships must be an array of texts, and holds a whole number",
		"columns = [\"rel\"]":           "c.toml:1: columns must be a table, not an array",
		"[filters]\nk='x'\nk='y'":       "c.toml:3: the key k is already defined in line 2",
	} {
		_, err := ReadSettings(File{"c.toml", []byte(text)})
		if err == nil || want != "" && err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// FuzzReadSettings checks that any file is read or refused with a line in it.
func FuzzReadSettings(f *testing.F) {
	for _, text := range []string{"define = ['a']\n[filters]\nk = 'x'\n[columns]\nc = ['a', 'b']", "filters.k = 'x'", "[filters]\n[filters.k]", "[[columns]]", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSettings(File{"c", []byte(text)})
		if err != nil {
			return
		}
		for _, all := range [][]Setting{s.Define, s.Filters, s.Columns} {
			for _, v := range all {
				if v.Line < 1 || len(v.Values) == 0 {
					t.Errorf("got %+v", v)
				}
			}
		}
	})
}
