package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Sizes of help.
const (
	helpWidth = 80 // columns of a terminal
	flagWidth = 30 // the most columns that a flag and its value take before the text
)

// A flagGroup is a part of the flags in help.
type flagGroup struct {
	title string
	names []string
}

// flagGroups are the groups in the order of help. Flags without a group come
// first, since they belong only to the command.
var flagGroups = []flagGroup{
	{"Selection", []string{
		"read-file", "filter", "player", "object", "from", "to", "frames", "dir", "no-acks", "once", "no-updates", "count", "port",
		"dialect", "clear", "define",
	}},
	{"Output", []string{
		"format", "time", "brief", "fields", "field-options", "no-names", "verbose", "hex", "payload", "output", "color", "strict", "verify",
		"dashboard", "speed", "browse",
	}},
	{"Recording", []string{"write", "capture-format", "decrypt", "ring-buffer", "keep", "autostop", "force"}},
	{"Performance", []string{"jobs", "no-progress"}},
	{"Other", []string{"help", "version"}},
}

// GroupedFlags returns the names of all flags that belong to a group.
func GroupedFlags() (all []string) {
	for _, g := range flagGroups {
		all = append(all, g.names...)
	}
	return all
}

// grouped returns the flags of a command by group, without empty groups.
func grouped(cmd *cobra.Command) (titles []string, flags map[string][]*pflag.Flag) {
	const own = "Flags"
	flags = map[string][]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		title := own
		for _, g := range flagGroups {
			if slices.Contains(g.names, f.Name) && !hasOwn(cmd, f.Name) {
				title = g.title
			}
		}
		flags[title] = append(flags[title], f)
	})
	for _, g := range append([]flagGroup{{title: own}}, flagGroups...) {
		if len(flags[g.title]) > 0 {
			titles = append(titles, g.title)
		}
	}
	for _, g := range flagGroups { // in the order of the table
		slices.SortStableFunc(flags[g.title], func(a, b *pflag.Flag) int {
			return slices.Index(g.names, a.Name) - slices.Index(g.names, b.Name)
		})
	}
	return titles, flags
}

// hasOwn reports whether a command uses the name of a common flag with another
// meaning. For example, --to of replay is a host, and --dialect of bots is what
// they write.
func hasOwn(cmd *cobra.Command, name string) bool {
	other := map[string]string{"to": "from", "speed": "dashboard", "dialect": "clear"}[name]
	return other != "" && cmd.Flags().Lookup(other) == nil
}

// ShowHelp writes the help of a command: usage, examples, description, flags.
func ShowHelp(w io.Writer, cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n", cmd.Short)
	for _, line := range usageLines(cmd) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, alias := range cmd.Aliases {
		fmt.Fprintf(&b, "\n'%s %s' is the same.\n", cmd.Parent().CommandPath(), alias)
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.Long != "" {
		b.WriteByte('\n')
		for line := range strings.Lines(strings.TrimRight(cmd.Long, "\n")) {
			writeLine(&b, strings.TrimRight(line, "\n"))
		}
	}
	writeCommands(&b, cmd)
	titles, flags := grouped(cmd)
	width := 0
	for _, title := range titles {
		width = max(width, nameWidth(flags[title]))
	}
	for _, title := range titles {
		fmt.Fprintf(&b, "\n%s:\n", title)
		writeFlags(&b, flags[title], width)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' explains a command.\n", cmd.CommandPath())
	}
	switch {
	case !cmd.HasParent():
		fmt.Fprintf(&b, "'%s help %s' lists the pages of the documents.\n", cmd.Name(), index)
	case !cmd.Parent().HasParent() && page(cmd.Name()) != "":
		fmt.Fprintf(&b, "\n'%s help %s' prints the page about it.\n", cmd.Parent().Name(), cmd.Name())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Hide removes flags from the help and completion of a command that cannot use
// them.
func Hide(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// usageLines returns the ways to write a command. The root command also takes a
// file without a subcommand.
func usageLines(cmd *cobra.Command) []string {
	line := cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	_, group := cmd.Annotations[isGroup]
	switch {
	case !cmd.HasParent():
		return []string{line + " FILE... [flags]", line + " COMMAND [flags]"}
	case cmd.HasAvailableSubCommands() && !group:
		return []string{line + " [flags]", cmd.CommandPath() + " COMMAND [flags]"}
	case cmd.HasAvailableSubCommands():
		return []string{line + " COMMAND [flags]"}
	}
	return []string{line + " [flags]"}
}

// writeLine writes a line of a description. It breaks a line that is too long
// in two.
func writeLine(b *strings.Builder, line string) {
	if at := strings.LastIndexByte(line[:min(len(line), helpWidth+1)], ' '); len(line) > helpWidth && at > 0 {
		b.WriteString(line[:at])
		b.WriteByte('\n')
		line = line[at+1:]
	}
	b.WriteString(line)
	b.WriteByte('\n')
}

// writeCommands writes the commands by group. Commands without a group come
// last.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	width := 0
	byGroup := map[string][]*cobra.Command{}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			byGroup[c.GroupID] = append(byGroup[c.GroupID], c)
			width = max(width, len(c.Name()))
		}
	}
	rest := &cobra.Group{Title: "Commands"}
	if len(cmd.Groups()) > 0 {
		rest.Title = "Other commands"
	}
	for _, g := range append(cmd.Groups(), rest) {
		if len(byGroup[g.ID]) > 0 {
			fmt.Fprintf(b, "\n%s:\n", g.Title)
		}
		for _, c := range byGroup[g.ID] {
			writeEntry(b, "  "+c.Name(), width+4, c.Short)
		}
	}
}

// nameWidth returns the width of the longest flag name that is at most
// flagWidth wide.
func nameWidth(flags []*pflag.Flag) (width int) {
	for _, f := range flags {
		if n := len(flagName(f)); n <= flagWidth {
			width = max(width, n)
		}
	}
	return width
}

// writeFlags writes one or more lines for each flag.
func writeFlags(b *strings.Builder, flags []*pflag.Flag, width int) {
	for _, f := range flags {
		writeEntry(b, flagName(f), width+2, flagText(f))
	}
}

// flagName returns the names and the value of a flag, such as " -o, --output
// FILE".
func flagName(f *pflag.Flag) string {
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch value := valueName(f); {
	case value == "":
	case f.NoOptDefVal != "": // the value is optional
		name += "[=" + value + "]"
	default:
		name += " " + value
	}
	return name
}

// valueOf is the annotation of a flag with the name of its value.
const valueOf = "bcdissect_value"

// nameValue moves the name of a flag's value, which is in backquotes, from the
// text to an annotation. Shells and manual pages would show the backquotes.
func nameValue(f *pflag.Flag) {
	name, text := pflag.UnquoteUsage(f)
	if text == f.Usage {
		return
	}
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[valueOf] = []string{name}
	f.Usage = text
}

// valueName returns the placeholder for the value of a flag: its annotation,
// the words of a choice, or a word for its type.
func valueName(f *pflag.Flag) string {
	if named := f.Annotations[valueOf]; len(named) > 0 {
		return named[0]
	}
	name, _ := pflag.UnquoteUsage(f)
	switch name {
	case "string", "strings", "stringArray":
		return "TEXT"
	case "duration":
		return "TIME"
	case "int", "uint", "uint8", "uints", "float":
		return "N"
	}
	return name
}

// flagText returns the text of a flag with its default.
func flagText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return f.Usage
	}
	return fmt.Sprintf("%s (default %s)", f.Usage, f.DefValue)
}

// writeEntry writes a name and its text, which is wrapped and starts at a
// column. If the name is too long, the text starts on the next line.
func writeEntry(b *strings.Builder, name string, column int, text string) {
	b.WriteString(name)
	at := len(name)
	if at > column-2 { // too long
		b.WriteByte('\n')
		at = 0
	}
	indent := func() {
		b.WriteString(strings.Repeat(" ", column-at))
		at = column
	}
	indent()
	for i, word := range strings.Fields(text) {
		if i > 0 && at+1+len(word) > helpWidth {
			b.WriteByte('\n')
			at = 0
			indent()
		} else if i > 0 {
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len([]rune(word))
	}
	b.WriteByte('\n')
}
