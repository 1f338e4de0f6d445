// Command licences writes the licence texts of all code that is linked into the
// program on any released system: Go's standard library and the modules, in the
// versions that are linked. One file is for people. The other is Debian's
// copyright file, which must contain the same texts. "make licence-texts" runs
// it in the folder of the repository.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A licence is the text of one file of a module.
type licence struct {
	of   string // the module with its version, and the folder in it
	file string
	text string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("licences: ")
	text := flag.String("text", "", "the file for people")
	debian := flag.String("debian", "", "Debian's copyright file")
	base := flag.String("base", "", "its beginning, about the program itself")
	flag.Parse()
	if err := run(*text, *debian, *base); err != nil {
		log.Fatal(err)
	}
}

func run(text, debian, base string) error {
	if text == "" || debian == "" || base == "" {
		return errors.New("-text, -debian and -base are needed")
	}
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	head, err := os.ReadFile(base)
	if err != nil {
		return err
	}
	all, err := linked("./cmd/bcdissect", []string{"linux", "windows", "darwin"})
	if err != nil {
		return err
	}
	all = append([]licence{{of: "bcdissect", file: "LICENSE", text: string(own)}}, all...)
	for name, b := range map[string][]byte{text: forPeople(all), debian: append(head, forDebian(all[1:])...)} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// linked returns the licences of Go's standard library and of the modules that
// a package is linked with, sorted by name.
func linked(target string, systems []string) ([]licence, error) {
	goroot, err := output(nil, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, ok := strings.Cut(strings.TrimSpace(goroot), "\n")
	if !ok {
		return nil, fmt.Errorf("go env: got %q", goroot)
	}
	all := map[string][]licence{}
	if err := collect(all, "Go library "+version, root); err != nil {
		return nil, err
	}
	for _, system := range systems {
		list, err := output([]string{"GOOS=" + system, "GOARCH=amd64", "CGO_ENABLED=0"}, "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", target)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			f := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
			if len(f) != 3 {
				continue // a package of the standard library, or of the program itself
			}
			module, top, folder := f[0], f[1], f[2]
			if err := collect(all, module, top); err != nil {
				return nil, err
			}
			if len(all[module]) == 0 {
				return nil, fmt.Errorf("%s: no licence in %s", module, top)
			}
			for ; len(folder) > len(top); folder = filepath.Dir(folder) { // folders may have their own licence
				inside, err := filepath.Rel(top, folder)
				if err != nil {
					return nil, err
				}
				if err := collect(all, module+", "+filepath.ToSlash(inside), folder); err != nil {
					return nil, err
				}
			}
		}
	}
	var sorted []licence
	for _, of := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[of]...)
	}
	return sorted, nil
}

// output returns the output of the go command.
func output(env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, errs.String())
	}
	return string(out), nil
}

var named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

// collect adds the licences in a folder that are not yet known. If a licence
// names no copyright holders, they are in the source, and copies must include
// their notices.
func collect(all map[string][]licence, of, folder string) error {
	if _, known := all[of]; known {
		return nil
	}
	files, err := os.ReadDir(folder) // sorted by name
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || !named.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		text := strings.TrimRight(plain(b), "\n") + "\n"
		if own, _, _ := strings.Cut(text, gpl); len(holders(own)) == 0 && !strings.Contains(text, "Apache License") {
			notices, err := noticesIn(folder, files)
			if err != nil {
				return err
			}
			text = notices + text
		}
		all[of] = append(all[of], licence{of, f.Name(), text})
	}
	return nil
}

// gpl is the first line of licences that name their own author, who is not a
// copyright holder of the module.
const gpl = "GNU GENERAL PUBLIC LICENSE"

// plain converts a text to valid UTF-8 with line ends of LF.
func plain(b []byte) string {
	return strings.ToValidUTF8(strings.ReplaceAll(string(b), "\r\n", "\n"), "?")
}

// noticesIn returns the copyright notices in the source of a folder without
// duplicates. If there are any, an empty line follows.
func noticesIn(folder string, files []os.DirEntry) (string, error) {
	known := map[string]bool{}
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); f.IsDir() || ext != ".go" && ext != ".c" && ext != ".h" && ext != ".s" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return "", err
		}
		for _, m := range notice.FindAllStringSubmatch(plain(b), -1) {
			known["Copyright (c) "+strings.TrimSpace(m[1])] = true
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	return strings.Join(slices.Sorted(maps.Keys(known)), "\n") + "\n\n", nil
}

// notice matches a copyright notice in a comment of the source.
var notice = regexp.MustCompile(`(?m)^[ \t]*(?://|/?\*|;)*[ \t]*Copyright \(c\) (\d{4}.*)$`)

// forPeople returns the text with all licences.
func forPeople(all []licence) []byte {
	var b bytes.Buffer
	b.WriteString("The program is linked from its own code, Go's library, and the modules below, each under its licence.\n")
	for _, l := range all {
		title := l.of + " (" + l.file + ")"
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s", title, strings.Repeat("=", len(title)), l.text)
	}
	return b.Bytes()
}

var holder = regexp.MustCompile(`(?im)^[ \t]*(?:copyright|\(c\)|©)[ \t:]*(?:\(c\)|©)?[ \t]*(.*\d{4}.*)$`)

// holders returns the copyright holders in a text.
func holders(text string) (all []string) {
	for _, m := range holder.FindAllStringSubmatch(text, -1) {
		if h := strings.TrimSpace(m[1]); !strings.ContainsAny(h, "[{") { // not a placeholder in a form
			all = append(all, h)
		}
	}
	return all
}

// common lists licences that every Debian system contains. A copyright file
// must refer to them instead of repeating the text.
var common = []struct {
	text    *regexp.Regexp
	replace string
}{
	{
		regexp.MustCompile(`(?s)[ \t]*Apache License\s+Version 2\.0.*?accepting any such warranty or additional liability\.(\s+END OF TERMS AND CONDITIONS)?`),
		"The Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0.",
	},
	{
		regexp.MustCompile(`(?s)[ \t]*GNU GENERAL PUBLIC LICENSE\s+Version 2, June 1991.*?END OF TERMS AND CONDITIONS(\s+How to Apply These Terms.*?Public License instead of this License\.)?`),
		"The GNU General Public License, version 2, is in /usr/share/common-licenses/GPL-2.",
	},
}

// forDebian returns the paragraphs of Debian's copyright file.
func forDebian(all []licence) []byte {
	var b bytes.Buffer
	for _, l := range all {
		text := l.text
		for _, c := range common {
			text = c.text.ReplaceAllString(text, c.replace)
		}
		of := holders(text) // without the author of a common licence
		if len(of) == 0 {
			of = []string{"the authors of " + l.of}
		}
		name := strings.Map(func(r rune) rune {
			if r == ' ' || r == ',' || r == '\'' {
				return '-'
			}
			return r
		}, l.of)
		fmt.Fprintf(&b, "\nFiles: %s/*\nCopyright: %s\nLicense: %s-of-%s\n", name, strings.Join(of, "\n "), l.file, name)
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, " \t\n\f")
			if line == "" {
				line = "."
			}
			fmt.Fprintf(&b, " %s\n", line)
		}
	}
	return b.Bytes()
}
