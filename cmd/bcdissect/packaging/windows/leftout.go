package main

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
)

// The list of skipped tests, each with its package, its name and the reason.
//
//go:embed left-out.txt
var leftOutText string

// A leftOut is a test that does not run under wine.
type leftOut struct{ dir, name, reason string }

var leftOuts = parseLeftOut(leftOutText)

// parseLeftOut parses the list. Lines that begin with # are comments.
func parseLeftOut(text string) (all []leftOut) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] != "#" {
			all = append(all, leftOut{words[0], words[1], strings.Join(words[2:], " ")})
		}
	}
	return all
}

// leftOutOf returns the names of the skipped tests in a folder.
func leftOutOf(dir string) (names []string) {
	for _, l := range leftOuts {
		if strings.HasSuffix(dir, "/"+l.dir) {
			names = append(names, l.name)
		}
	}
	return names
}

// pattern returns the argument of -test.skip for tests and subtests.
func pattern(names []string) string {
	names = slices.Clone(names)
	for i, name := range names {
		parts := strings.Split(name, "/")
		for j, part := range parts {
			parts[j] = "^" + regexp.QuoteMeta(part) + "$"
		}
		names[i] = strings.Join(parts, "/")
	}
	return strings.Join(names, "|")
}
