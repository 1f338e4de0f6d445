package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// An event is a line of "go test -json".
type event struct {
	Action, Package, Test, Output string
}

type testKey struct{ pkg, name string }

// results shows the events of "go test -json" in the format of "go test". At
// the end it lists the tests that did not run.
type results struct {
	out     io.Writer
	said    map[testKey]string // output of each running test
	passed  int
	skipped map[string][]testKey // by reason
}

func newResults(out io.Writer) *results {
	return &results{out: out, said: map[testKey]string{}, skipped: map[string][]testKey{}}
}

func (r *results) read(in io.Reader) error {
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r.event(e)
	}
}

func (r *results) event(e event) {
	key := testKey{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprintf(r.out, "%s", e.Output)
	case e.Action == "output" && e.Test == "":
		if e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "?") { // not the line of a package without tests
			fmt.Fprintf(r.out, "%s", e.Output)
		}
	case e.Action == "output":
		r.said[key] += e.Output
	case e.Test == "" && e.Action == "fail": // includes tests that were still running
		for k := range r.said {
			if k.pkg == e.Package {
				r.show(k)
			}
		}
	case e.Test == "":
	case e.Action == "fail":
		r.show(key)
	case e.Action == "pass":
		r.passed++
		delete(r.said, key)
	case e.Action == "skip":
		reason := reasonOf(r.said[key])
		r.skipped[reason] = append(r.skipped[reason], key)
		delete(r.said, key)
	}
}

// show writes the output of a test.
func (r *results) show(key testKey) {
	fmt.Fprintf(r.out, "%s", r.said[key])
	delete(r.said, key)
}

var skipLine = regexp.MustCompile(`(?m)^\s+\w+\.go:\d+: (.*)$`)

// reasonOf returns the reason in the output of a skipped test.
func reasonOf(said string) string {
	if all := skipLine.FindAllStringSubmatch(said, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	return "no reason given"
}

// summary lists the tests that did not run, grouped by reason.
func (r *results) summary() {
	fmt.Fprintf(r.out, "\n%d tests and subtests passed. These skipped themselves:\n", r.passed)
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		all := r.skipped[reason]
		if len(all) > manyTests {
			fmt.Fprintf(r.out, "  %d tests: %s\n", len(all), reason)
			continue
		}
		for _, key := range all {
			fmt.Fprintf(r.out, "  %s %s: %s\n", shortName(key.pkg), key.name, reason)
		}
	}
	fmt.Fprintf(r.out, "left-out.txt leaves out these under wine:\n")
	byName := func(a, b leftOut) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name)) }
	for _, l := range slices.SortedFunc(slices.Values(leftOuts), byName) {
		fmt.Fprintf(r.out, "  %s %s: %s\n", l.dir, l.name, l.reason)
	}
}

// manyTests is the number of tests with the same reason from which on only
// their number is shown.
const manyTests = 8

// shortName returns the folder of a package.
func shortName(pkg string) string { return strings.TrimPrefix(pkg, "github.com/bcdissect/bcdissect/") }
