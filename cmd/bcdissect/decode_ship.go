package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/ship"
)

// A shipFlag sets the class of ships that have no creation message.
type shipFlag struct {
	name    string
	species uint8
}

func (f *shipFlag) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.name, "ship", "", "`CLASS` of the ship that an update is about, such as Sovereign")
	fl.Uint8Var(&f.species, "species", 0, "the same as species `N`: 5 is the Sovereign")
	cmd.MarkFlagsMutuallyExclusive("ship", "species")
	_ = cmd.RegisterFlagCompletionFunc("ship", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return shipNames(), cobra.ShellCompDirectiveNoFileComp
	})
}

// class returns the chosen class, or nil.
func (f *shipFlag) class(cmd *cobra.Command) (*ship.Class, error) {
	fl := cmd.Flags()
	switch {
	case fl.Changed("ship"):
		for c := range ship.All() {
			if c.Subsystems != nil && sameName(c.Name, f.name) {
				return c, nil
			}
		}
		hint := names.DidYouMean(f.name, shipNames())
		if hint == "" {
			hint = "; the names are " + strings.Join(shipNames(), ", ")
		}
		return nil, fmt.Errorf("--ship %q: no known ship has this name%s", f.name, hint)
	case fl.Changed("species"):
		if c := ship.BySpecies(f.species); c != nil && c.Subsystems != nil {
			return c, nil
		}
		return nil, fmt.Errorf("--species %d: its subsystems are not known; name the ship with --ship", f.species)
	}
	return nil, nil
}

// sameName compares names of ships without spaces, apostrophes and case, since
// users type them on command lines.
func sameName(a, b string) bool {
	plain := strings.NewReplacer(" ", "", "'", "", "-", "")
	return strings.EqualFold(plain.Replace(a), plain.Replace(b))
}

// shipNames returns the names of the ships with a subsystem list, without
// duplicates.
func shipNames() (all []string) {
	for c := range ship.All() {
		if c.Subsystems != nil && !slices.Contains(all, c.Name) {
			all = append(all, c.Name)
		}
	}
	return all
}
