package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
)

func newInterfaces(s cli.Streams) *cobra.Command {
	format := cli.NewChoice("table", "table", "json")
	cmd := &cobra.Command{
		Use:   "interfaces",
		Short: "List the interfaces that live can capture from",
		Long: `Interfaces lists the interfaces that live can capture from: number and name (-i
takes either), state, whether it can be opened, addresses and description. An
asterisk marks the default of live. For interfaces that cannot be opened,
standard error gives the remedy.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := device.Interfaces()
			chosen, _ := device.Default() // an error says that there is none
			list := listed(all, err, chosen)
			out, e := cli.OpenOutput("", s)
			if e != nil {
				return e
			}
			if format.Value == "json" {
				e = writeInterfaces(out, list)
			} else {
				e = drawInterfaces(out.Text(), list)
			}
			if e != nil {
				return cli.Failed(e)
			}
			for i := range all {
				if p := all[i].Problem; p != "" && format.Value == "table" {
					cli.Say(s.Err, "%s: %s", all[i].Name, p)
				}
			}
			return cli.Failed(err)
		},
	}
	cmd.Flags().VarP(&format, "format", "T", "form of the list")
	format.Complete(cmd, "format")
	return cmd
}

// An anInterface is an interface as it is listed.
type anInterface struct {
	Number      int          `json:"number"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Addresses   []netip.Addr `json:"addresses"`
	Up          bool         `json:"up"`
	Connected   bool         `json:"connected"`
	Loopback    bool         `json:"loopback"`
	Default     bool         `json:"default"`
	Openable    bool         `json:"openable"`
	Hint        string       `json:"hint,omitempty"`
}

// listed prepares interfaces for the list. The error is one that all have.
func listed(all []device.Interface, err error, chosen string) []anInterface {
	list := make([]anInterface, len(all))
	for n := range all {
		i := &all[n]
		addresses := make([]netip.Addr, len(i.Addresses))
		for k, a := range i.Addresses {
			addresses[k] = a.Addr()
		}
		hint := cli.OneLine(i.Problem)
		if err != nil {
			hint = cli.OneLine(err.Error())
			if ways := cli.Remedy(err); ways != "" {
				hint += "; " + cli.OneLine(ways)
			}
		}
		list[n] = anInterface{
			Number: n + 1, Name: cli.OneLine(i.Name), Description: cli.OneLine(i.Description), Addresses: addresses,
			Up: i.Up, Connected: i.Running, Loopback: i.Loopback, Default: i.Name == chosen,
			Openable: hint == "", Hint: hint,
		}
	}
	return list
}

// writeInterfaces writes a JSON object a line.
func writeInterfaces(w io.Writer, list []anInterface) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// drawInterfaces writes a table.
func drawInterfaces(w io.Writer, list []anInterface) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "\tname\tstate\topens\taddresses\tdescription\n") // an error comes with Flush
	for n := range list {
		i := &list[n]
		mark, opens := " ", "yes"
		if i.Default {
			mark = "*"
		}
		if !i.Openable {
			opens = "no"
		}
		texts := make([]string, len(i.Addresses))
		for k, a := range i.Addresses {
			texts[k] = a.String()
		}
		_, _ = fmt.Fprintf(t, "%s%d\t%s\t%s\t%s\t%s\t%s\n", mark, i.Number, i.Name, state(i), opens, strings.Join(texts, " "), i.Description)
	}
	return t.Flush()
}

// state says whether anything can come from an interface.
func state(i *anInterface) string {
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

// completeInterface offers the shell the names of interfaces.
func completeInterface(*cobra.Command, []string, string) (words []string, _ cobra.ShellCompDirective) {
	all, err := device.Interfaces()
	chosen, _ := device.Default() // an error says that there is none
	for _, i := range listed(all, err, chosen) {
		doc := i.Description
		if doc == "" {
			doc = state(&i)
		}
		words = append(words, cobra.CompletionWithDesc(i.Name, doc))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
