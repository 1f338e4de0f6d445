package main

import (
	"fmt"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/key"
)

// listFields writes the names that filters and columns know, one on each line,
// with type and meaning after tabs, as tshark does. A word selects names that
// contain it. The word fields selects all names, as in tshark.
func listFields(s cli.Streams, words []string) error {
	word := strings.ToLower(strings.Join(words, " "))
	if word == "fields" {
		word = ""
	}
	var b strings.Builder
	row := func(name, kind, doc string) {
		if strings.Contains(strings.ToLower(name), word) {
			fmt.Fprintf(&b, "%s\t%s\t%s\n", name, kind, strings.ReplaceAll(doc, "`", ""))
		}
	}
	for _, k := range key.All() {
		kind := k.Type.String()
		if k.List {
			kind = "array"
		}
		row(k.Name, kind, k.Doc)
		for _, alias := range k.Aliases {
			row(alias, kind, "the same as "+k.Name)
		}
	}
	all, err := allEntries(new(cli.Common))
	if err != nil {
		return err
	}
	seen := map[string]bool{} // fields of other dialects may have the same name
	for i := range all {
		for _, l := range all[i].Layouts {
			for _, f := range l.Fields {
				name := all[i].Name + "." + strings.ReplaceAll(f.Path, "[]", "")
				if !seen[name] {
					row(name, f.Kind, f.Doc)
				}
				seen[name] = true
			}
		}
	}
	if b.Len() == 0 {
		return cli.Failed(fmt.Errorf("no name of a key or field contains %q", word))
	}
	_, err = fmt.Fprint(s.Out, b.String())
	return cli.Failed(err)
}
