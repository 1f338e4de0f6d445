package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

func newInterfaces(s cli.Streams) *cobra.Command {
	var format cli.Choice
	cmd := &cobra.Command{
		Use:   "interfaces",
		Short: "List the interfaces that live can capture from",
		Long: `Interfaces lists the network interfaces that live can capture from. Give live
the number or the name (-i). An asterisk marks the interface that live takes
without -i. If you may not open an interface, standard error tells what to do.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := device.Interfaces()
			chosen, _ := device.Default() // on an error, no interface is marked as the default
			list := listed(all, err, chosen)
			if e := cli.WriteOutput("", s, func(out *cli.Output) error {
				if format.Value == "json" {
					return ndjson.Write(out, list...)
				}
				return drawInterfaces(out.Text(), list)
			}); e != nil {
				return e
			}
			for i := range all {
				if p := all[i].Problem; p != "" && format.Value == "table" {
					cli.Say(s.Err, "%s: %s", all[i].Name, p)
				}
			}
			return cli.Failed(err)
		},
	}
	format.Define(cmd, "format", "T", "form of the list", "table", "table", "json")
	return cmd
}

// listed prepares interfaces for the list. The argument err is an error that
// concerns all of them.
func listed(all []device.Interface, err error, chosen string) []ndjson.Interface {
	list := make([]ndjson.Interface, len(all))
	for n := range all {
		i := &all[n]
		addresses := make([]string, len(i.Addresses))
		for k, a := range i.Addresses {
			addresses[k] = a.Addr().String()
		}
		hint := cli.OneLine(i.Problem)
		if err != nil {
			hint = cli.OneLine(err.Error())
			if ways := cli.Remedy(err); ways != "" {
				hint += "; " + cli.OneLine(ways)
			}
		}
		list[n] = ndjson.Interface{
			Number: n + 1, Name: cli.OneLine(i.Name), Description: cli.OneLine(i.Description), Addresses: addresses,
			Up: i.Up, Connected: i.Running, Loopback: i.Loopback, Default: i.Name == chosen,
			Openable: hint == "", Hint: hint,
		}
	}
	return list
}

// drawInterfaces writes the interfaces as a table.
func drawInterfaces(w io.Writer, list []ndjson.Interface) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "\tname\tstate\topens\taddresses\tdescription\n") // Flush returns the error
	for n := range list {
		i := &list[n]
		mark, opens := " ", "yes"
		if i.Default {
			mark = "*"
		}
		if !i.Openable {
			opens = "no"
		}
		_, _ = fmt.Fprintf(t, "%s%d\t%s\t%s\t%s\t%s\t%s\n", mark, i.Number, i.Name, state(i), opens, strings.Join(i.Addresses, " "), i.Description)
	}
	return t.Flush()
}

// state describes whether packets can arrive on an interface.
func state(i *ndjson.Interface) string {
	switch {
	case !i.Up:
		return "down"
	case !i.Connected:
		return "not connected"
	case i.Loopback:
		return "loopback"
	}
	return "up"
}

// completeInterface completes the names of interfaces.
func completeInterface(*cobra.Command, []string, string) (words []string, _ cobra.ShellCompDirective) {
	all, err := device.Interfaces()
	chosen, _ := device.Default() // on an error, no interface is marked as the default
	for _, i := range listed(all, err, chosen) {
		doc := i.Description
		if doc == "" {
			doc = state(&i)
		}
		words = append(words, cobra.CompletionWithDesc(i.Name, doc))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
