package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/docs"
)

// Every page has its place in the list of pages.
func TestTopics(t *testing.T) {
	list := page(index)
	all := topics()
	if len(all) < 30 {
		t.Errorf("only %d topics", len(all))
	}
	for _, topic := range all {
		if topic != index && !strings.Contains(list, "]("+topic+".md") {
			t.Errorf("docs/README.md has no link to %s.md", topic)
		}
		text := forTerminal(page(topic))
		parts := strings.Split(text, "```")
		for i := 0; i < len(parts); i += 2 {
			if link.MatchString(parts[i]) || strings.Contains(parts[i], "![") {
				t.Errorf("%s: the text for the terminal has a link or an image", topic)
			}
		}
	}
}

// Links become what a reader can type, and code stays.
func TestForTerminal(t *testing.T) {
	const text = "# Host\n\n![picture](images/x.png)\n\nSee [the proxy](proxy.md#flags), [relay.md](relay.md), [below](#below),\n[Go](https://go.dev) and [a test](vectors/run.py).\n\n```\n[a](proxy.md)\n```\n"
	const want = "# Host\n\nSee the proxy ('bcdissect help proxy'), 'bcdissect help relay', below,\nGo (https://go.dev) and a test (docs/vectors/run.py of the repository).\n\n```\n[a](proxy.md)\n```\n"
	if got := forTerminal(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Help of a topic is the help of the command of that name, and then the page.
func TestHelpTopic(t *testing.T) {
	glossary, err := docs.Pages.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	title, _, _ := strings.Cut(string(glossary), "\n")
	for _, c := range []struct {
		topic       string
		first, last string
	}{
		{"glossary", title, ""},
		{"relay", "Host a game\n", "\n# "},
		{"topics", "# Documents\n", "bcdissect help TOPIC"},
		{"lonely", "A command without a page\n", "Usage:"},
	} {
		var out bytes.Buffer
		root := &cobra.Command{Use: "bcdissect", SilenceErrors: true, SilenceUsage: true}
		root.SetOut(&out)
		none := func(*cobra.Command, []string) {}
		root.AddCommand(&cobra.Command{Use: "relay", Short: "Host a game", Run: none}, &cobra.Command{Use: "lonely", Short: "A command without a page", Run: none})
		Arrange(root)
		root.SetArgs([]string{"help", c.topic})
		if _, err := Execute(root); err != nil {
			t.Errorf("%s: %v", c.topic, err)
		}
		if got := out.String(); !strings.HasPrefix(got, c.first) || !strings.Contains(got, c.last) {
			t.Errorf("%s: got\n%.300s", c.topic, got)
		}
	}
}
