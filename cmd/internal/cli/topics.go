package cli

import (
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"

	"github.com/bcdissect/bcdissect/docs"
)

// index is the topic of the page that lists all others.
const index = "topics"

var (
	image = regexp.MustCompile(`(?m)^!\[.*\n\n?`)
	link  = regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\s]+)\)`)
)

// page returns the document about a topic, or "" if there is none.
func page(topic string) string {
	name := topic + ".md"
	if topic == index {
		name = "README.md"
	}
	text, err := docs.Pages.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// topics returns the names of all pages.
func topics() (all []string) {
	files, _ := docs.Pages.ReadDir(".") // the pages are embedded in the program, so reading cannot fail
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".md"); ok && name != "README" {
			all = append(all, name)
		}
	}
	return append(all, index)
}

// forTerminal returns a document without its images. It replaces each link to
// another page by the command that prints the page. Code stays unchanged.
func forTerminal(text string) string {
	const fence = "```"
	parts := strings.Split(text, fence)
	for i := 0; i < len(parts); i += 2 {
		parts[i] = link.ReplaceAllStringFunc(image.ReplaceAllString(parts[i], ""), func(s string) string {
			m := link.FindStringSubmatch(s)
			target, _, _ := strings.Cut(m[2], "#")
			topic, isPage := strings.CutSuffix(target, ".md")
			switch {
			case target == "":
				return m[1]
			case isPage && page(topic) != "" && m[1] == target:
				return "'bcdissect help " + topic + "'"
			case isPage && page(topic) != "":
				return m[1] + " ('bcdissect help " + topic + "')"
			case strings.Contains(target, ":"):
				return m[1] + " (" + m[2] + ")"
			}
			return m[1] + " (" + path.Join("docs", target) + " of the repository)"
		})
	}
	return strings.Join(parts, fence)
}

// showPaged writes a long text. On a terminal it uses the pager in PAGER, or
// less.
func showPaged(w io.Writer, text string) error {
	if program := pager(); IsTerminal(w) && program != "" {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "LESS=FRX") // less quits at once if the text fits the screen
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), w, os.Stderr
		if cmd.Run() == nil {
			return nil
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// pager returns the program that shows long texts, or "".
func pager() string {
	name, chosen := os.LookupEnv("PAGER")
	if !chosen {
		name = "less"
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return found
}
