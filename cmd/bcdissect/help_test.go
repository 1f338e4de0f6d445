package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// The help of every command fits 80 columns, begins with usage and examples,
// and puts each common flag into a group.
func TestHelp(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			var b strings.Builder
			if err := cli.ShowHelp(&b, cmd); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for line := range strings.Lines(text) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			var at []int
			for _, part := range []string{"\nUsage:\n", "\nExamples:\n", "\nSelection:\n", "\nOutput:\n", "\nPerformance:\n", "\nOther:\n"} {
				if i := strings.Index(text, part); i >= 0 {
					at = append(at, i)
				}
			}
			if !slices.IsSorted(at) || len(at) < 2 {
				t.Errorf("usage, examples and groups are not in order:\n%s", text)
			}
			if strings.Contains(text, "docs/") {
				t.Errorf("it names a file that users don't have; name the topic of \"bcdissect help\":\n%s", text)
			}
			if strings.Contains(text, "`") || strings.Contains(text, "stringArray") {
				t.Errorf("a flag has no name for its value:\n%s", text)
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(cli.Streams{}))
}

// The groups of help name no flag that does not exist.
func TestGroups(t *testing.T) {
	known := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		var b strings.Builder
		if err := cli.ShowHelp(&b, cmd); err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsSeq(b.String()) {
			known[strings.Trim(word, ",.;:')")] = true
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(cli.Streams{}))
	for _, name := range cli.GroupedFlags() {
		if !known["--"+name] {
			t.Errorf("--%s: no command has it", name)
		}
	}
}
