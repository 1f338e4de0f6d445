package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Expand replaces each pattern by the files that match it, in lexical order. It
// is needed on Windows, where cmd.exe and PowerShell do not do so.
//
// A pattern has * or ?, which no file name on Windows can have. Brackets match
// only themselves, since browsers save a second copy as "battle[1].pcap".
// Matching ignores case. A name that exists is not a pattern.
func Expand(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		if !IsPattern(name) {
			all = append(all, name)
			continue
		}
		found, err := filepath.Glob(anyCase(name))
		if err != nil {
			return nil, Failed(fmt.Errorf("%s: %w", name, err))
		}
		if len(found) == 0 {
			return nil, Failed(fmt.Errorf("%s: no file matches this pattern; check the folder and the file extension", name))
		}
		slices.Sort(found)
		all = append(all, found...)
	}
	return all, nil
}

// Unquote removes the quotes around arguments that name files. Explorer's "Copy
// as path" writes them, and some shells do not remove them. A file whose own
// name has the quotes keeps them.
func Unquote(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		end := len(arg) - 1
		if end < 2 || arg[0] != '"' && arg[0] != '\'' || arg[end] != arg[0] {
			continue
		}
		_, quoted := os.Lstat(arg)
		if _, plain := os.Stat(arg[1:end]); quoted != nil && plain == nil {
			args[i] = arg[1:end]
		}
	}
	return args
}

// IsPattern reports whether Expand treats a name as a pattern.
func IsPattern(name string) bool {
	if !strings.ContainsAny(name[len(filepath.VolumeName(name)):], "*?") {
		return false
	}
	_, err := os.Lstat(name)
	return err != nil
}

// anyCase returns the [filepath.Glob] pattern that ignores case, as Windows
// does. Folders without * and ? stay unchanged.
func anyCase(name string) string {
	volume := filepath.VolumeName(name)
	elements := strings.SplitAfter(filepath.FromSlash(name[len(volume):]), string(filepath.Separator))
	for i, element := range elements {
		if strings.ContainsAny(element, "*?[") {
			elements[i] = eitherCase(element)
		}
	}
	return volume + strings.Join(elements, "")
}

// eitherCase replaces each letter by a class of both its cases, and [ by a
// class that matches only [.
func eitherCase(element string) string {
	var b strings.Builder
	for _, r := range element {
		lower, upper := unicode.ToLower(r), unicode.ToUpper(r)
		switch {
		case r == '[':
			b.WriteString("[[]")
		case lower != upper:
			b.WriteString("[" + string(lower) + string(upper) + "]")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
