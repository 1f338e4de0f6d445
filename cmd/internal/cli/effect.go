package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Forms of a report that are not values of -T.
const (
	FormDashboard = "dashboard"
	FormBrowser   = "browser"
	FormNone      = "none" // a host without a report
	FormPage      = "page"
	FormFlight    = "acmi" // recordings for Tacview
)

// effects lists flags that have an effect only on some forms of a report. With
// any other form the flag is a usage error. Flags that are not in the table
// have an effect on all forms.
var effects = []struct {
	flag  string
	forms []string
	value string // the only value of the flag that has the effect, or empty for any
}{
	{flag: "format", forms: []string{"table", "json", "histogram", "csv", "fields", "tap", "parquet", "kaitai", FormNone}},
	{flag: "output", forms: []string{"table", "json", "histogram", "csv", "fields", "kaitai", FormPage, FormFlight}},
	{flag: "fields", forms: []string{"json", "csv", "fields"}},
	{flag: "field-options", forms: []string{"csv", "fields"}},
	{flag: "no-names", forms: []string{"table", "json", "csv", "fields", FormDashboard, FormBrowser}},
	{flag: "verbose", forms: []string{"table"}},
	{flag: "hex", forms: []string{"table"}},
	{flag: "time", forms: []string{"table"}},
	{flag: "brief", forms: []string{"table"}},
	{flag: "payload", forms: []string{"json"}},
	{flag: "color", value: "always", forms: []string{"table", "histogram", FormDashboard, FormBrowser}},
	{flag: "speed", forms: []string{FormDashboard}},
	{flag: "events", forms: []string{"table"}},
	{flag: "tracks", forms: []string{"json"}},
}

// CheckEffect returns an error if a flag was given that has no effect on the
// form of the report.
func CheckEffect(cmd *cobra.Command, form string) error {
	for _, e := range effects {
		f := cmd.Flags().Lookup(e.flag)
		if f == nil || !f.Changed || hasOwn(cmd, e.flag) || slices.Contains(e.forms, form) || e.value != "" && f.Value.String() != e.value {
			continue
		}
		return &flagError{fmt.Sprintf("--%s: no effect %s; it is for %s", e.flag, on(form), offered(cmd, e.forms)), f}
	}
	return nil
}

// on names a form of a report in an error.
func on(form string) string {
	switch form {
	case FormDashboard:
		return "on the dashboard"
	case FormBrowser:
		return "in the browser"
	case FormNone:
		return "without a report"
	case FormPage:
		return "on a page"
	case FormFlight:
		return "on a recording for Tacview"
	}
	return "with -T " + form
}

// offered returns the names of the forms that the command has.
func offered(cmd *cobra.Command, forms []string) string {
	format, _ := cmd.Flags().Lookup("format").Value.(*Choice)
	var all []string
	for _, form := range forms {
		switch {
		case slices.Contains(format.words, form) && form != FormNone:
			all = append(all, "-T "+form)
		case form == FormDashboard && cmd.Flags().Lookup("dashboard") != nil:
			all = append(all, "--dashboard")
		case form == FormBrowser && cmd.Flags().Lookup("browse") != nil:
			all = append(all, "--browse")
		}
	}
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

// WantsReport reports whether a flag was given that only a report makes use of.
func WantsReport(cmd *cobra.Command) bool {
	for _, g := range flagGroups {
		if g.title != "Selection" && g.title != "Output" {
			continue
		}
		for _, name := range g.names {
			if name != "define" && name != "color" && cmd.Flags().Changed(name) {
				return true
			}
		}
	}
	return false
}
