package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Expand replaces each pattern by the files that match it, in lexical order.
// Shells do so on other systems, but not cmd.exe and PowerShell.
//
// A pattern has * or ?, which no file name on Windows can have. Brackets stand
// for themselves: browsers save a second copy as "battle[1].pcap". Case does not
// count. A name that exists is not a pattern.
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

// Unquote removes the quotes around arguments that name files. Explorer's "Copy as
// path" writes them, and they stay where a shell takes them for letters. A file whose
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

// IsPattern reports whether Expand takes a name as a pattern.
func IsPattern(name string) bool {
	if !strings.ContainsAny(name[len(filepath.VolumeName(name)):], "*?") {
		return false
	}
	_, err := os.Lstat(name)
	return err != nil
}

// anyCase returns the [filepath.Glob] pattern for files as Windows compares them.
// Folders without * and ? are left to the system.
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

// eitherCase puts both cases of each letter into a class, and brackets too.
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
