package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/plural"
)

// A flagError is a mistake in a flag, which is shown with its help.
type flagError struct {
	text string
	flag *pflag.Flag // the flag, or the one that was probably meant, nil if unknown
}

func (e *flagError) Error() string { return e.text }

// Arrange sets help and the texts of usage errors for a program and all its
// commands.
func Arrange(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageFunc(func(cmd *cobra.Command) error { return ShowHelp(cmd.OutOrStderr(), cmd) })
	root.SetFlagErrorFunc(explainFlag)
	arrange(root)
}

// Execute runs a program that Arrange has set up. It returns the command that
// ran.
func Execute(root *cobra.Command) (*cobra.Command, error) {
	var shown error
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { shown = ShowHelp(cmd.OutOrStdout(), cmd) })
	cmd, err := root.ExecuteC()
	if err == nil { // cobra returns no error after printing help
		err = shown
	}
	return cmd, err
}

// isGroup is the annotation of a command that only has subcommands.
const isGroup = "bcdissect_group"

// Group makes a command show its help unless a subcommand is given.
func Group(cmd *cobra.Command) {
	cmd.Annotations = map[string]string{isGroup: ""}
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

func arrange(cmd *cobra.Command) {
	if OnWindows {
		expandFiles(cmd)
	}
	files := readFlag(cmd)
	cmd.Flags().VisitAll(nameValue)
	cmd.PersistentFlags().VisitAll(nameValue)
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		args = append(slices.Clone(*files), args...)
		if check == nil || check(cmd, args) == nil {
			return checkFlags(cmd)
		}
		return explainOptional(cmd, explainArgs(cmd, args))
	}
	for _, c := range cmd.Commands() {
		switch c.Name() {
		case "help":
			c.Use, c.Short, c.Long = "help [TOPIC]", "Print a page of the documents, and the help of a command", ""
			c.Example = "  bcdissect help topics    list the pages\n  bcdissect help relay     read the help of relay, and its page\n  bcdissect help glossary  look up a word"
			c.Run, c.RunE = nil, help
		case "completion":
			c.Short = "Print the completion script of a shell"
			c.Long = "Completion prints a script that teaches a shell the commands, flags, fields and\nplayers. The help of each shell tells how to load it."
			Group(c)
			for _, shell := range c.Commands() {
				shell.Short = "Print the script for " + shell.Name()
			}
		}
		arrange(c)
	}
}

// readFlag adds the flag -r to a command that reads captures, as tshark has it.
// It returns the files of the flag.
func readFlag(cmd *cobra.Command) *[]string {
	files := new([]string)
	_, wants, _ := strings.Cut(cmd.Use, " ")
	after, folder := strings.CutPrefix(wants, "DIR ")
	if !strings.HasPrefix(after, "FILE") || cmd.RunE == nil {
		return files
	}
	cmd.Flags().StringArrayVarP(files, "read-file", "r", nil, "capture `FILE`, the same as FILE alone")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at := 0
		if folder {
			at = 1 // the first argument is the folder
		}
		return run(cmd, slices.Insert(slices.Clone(args), at, *files...))
	}
	return files
}

// expandFiles replaces patterns in the arguments of a command by the files that
// match, including patterns in -r. Arguments after -- stay unchanged, since
// "wireshark" passes them to another program.
func expandFiles(cmd *cobra.Command) {
	if !strings.Contains(cmd.Use, "FILE...") {
		return
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		end := len(args)
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			end -= cmd.Flags().NArg() - at
		}
		files, err := Expand(args[:end])
		if err != nil {
			return err
		}
		return run(cmd, append(files, args[end:]...))
	}
}

// help prints the help of the command and the page of the documents that the
// arguments name.
func help(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	var b strings.Builder
	if len(args) == 1 {
		if text := page(args[0]); text != "" {
			if err == nil && len(rest) == 0 {
				_ = ShowHelp(&b, found) // writing to a Builder never fails
				b.WriteByte('\n')
			}
			b.WriteString(forTerminal(text))
			return showPaged(cmd.OutOrStdout(), b.String())
		}
	}
	switch {
	case err == nil && len(rest) == 0:
		return ShowHelp(cmd.OutOrStdout(), found)
	case len(args) == 1:
		if near := nearCommands(cmd.Root(), args[0], topics()...); near != "" {
			return fmt.Errorf("help %s: no such command or page%s", args[0], near)
		}
		return fmt.Errorf("help %s: no such command or page; 'bcdissect help %s' lists the pages", args[0], index)
	case found == nil || !found.HasAvailableSubCommands():
		return fmt.Errorf("%s: no such command", strings.Join(args, " "))
	}
	return explainArgs(found, rest)
}

// Unknown returns the error for a word that is neither a command nor a file.
func Unknown(root *cobra.Command, word string) error {
	if near := nearCommands(root, word); near != "" {
		return fmt.Errorf("%s: no such command%s", word, near)
	}
	if strings.ContainsAny(word, `./\`) {
		return Failed(fmt.Errorf("%s: no such file or command", word))
	}
	return fmt.Errorf("%s: no such command or file", word)
}

// nearCommands returns the end of an error that suggests similar commands, or
// similar words of known.
func nearCommands(cmd *cobra.Command, word string, known ...string) string {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(append(known, c.Name()), c.Aliases...)
		}
	}
	return meant(word, "", known)
}

// meant returns the end of an error that suggests the nearest known words, or
// "".
func meant(word, prefix string, known []string) string {
	near := names.Nearest(word, known)
	if len(near) == 0 {
		return ""
	}
	for i := range near {
		near[i] = prefix + near[i]
	}
	return "; did you mean " + plural.Or(near) + "?"
}

// explainArgs returns the error for arguments that a command does not take, or
// for a missing one.
func explainArgs(cmd *cobra.Command, args []string) error {
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	_, wants, _ := strings.Cut(cmd.Use, " ")
	switch {
	case len(args) > 0 && cmd.HasAvailableSubCommands():
		where := ""
		if cmd.HasParent() {
			where = path + ": "
		}
		return fmt.Errorf("%s%s: no such command%s", where, args[0], nearCommands(cmd, args[0]))
	case len(args) > 0 && wants == "":
		return fmt.Errorf("%s: takes no arguments, got %s", path, args[0])
	case len(args) == 0 && wants != "":
		return fmt.Errorf("%s: needs %s", path, strings.TrimSuffix(wants, "..."))
	case len(args) < required(wants):
		return fmt.Errorf("%s: needs %s, got only %s", path, strings.TrimSuffix(wants, "..."), strings.Join(args, " "))
	case wants != "":
		return fmt.Errorf("%s: takes only %s, got %s", path, wants, strings.Join(args, " "))
	}
	return fmt.Errorf("%s: wrong arguments; see its --help", path)
}

// explainOptional adds to the error for wrong arguments how to give a value to a flag that
// can do without one: what follows a space is an argument.
func explainOptional(cmd *cobra.Command, err error) error {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.NoOptDefVal != "" && f.Value.String() == f.NoOptDefVal {
			err = fmt.Errorf("%w; the value of --%s follows an equals sign: --%s=VALUE", err, f.Name, f.Name)
		}
	})
	return err
}

// required returns the number of arguments that a usage such as "DIR FILE..."
// requires.
func required(usage string) (n int) {
	for _, word := range strings.Fields(usage) {
		if strings.HasPrefix(word, "[") {
			break
		}
		n++
	}
	return n
}

// checkFlags returns an error if a required flag is missing or if two flags
// exclude each other.
func checkFlags(cmd *cobra.Command) (err error) {
	const exclusive = "cobra_annotation_mutually_exclusive" // set by [cobra.Command.MarkFlagsMutuallyExclusive]
	given := map[string]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case err != nil:
		case f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed:
			err = &flagError{fmt.Sprintf("%s: needs --%s", cmd.Name(), f.Name), f}
		case f.Changed:
			for _, group := range f.Annotations[exclusive] {
				if other := given[group]; other != "" && err == nil {
					err = &flagError{fmt.Sprintf("--%s and --%s exclude each other", other, f.Name), f}
				}
				given[group] = f.Name
			}
		}
	})
	return err
}

// explainFlag returns the error for a flag that could not be parsed.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var needs *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &needs):
		f := needs.GetFlag()
		return &flagError{fmt.Sprintf("--%s: needs %s", f.Name, valueName(f)), f}
	case errors.As(err, &bad):
		f := bad.GetFlag()
		return &flagError{fmt.Sprintf("--%s %s: %s", f.Name, bad.GetValue(), badValue(f, bad)), f}
	case errors.As(err, &syntax):
		return &flagError{text: syntax.GetSpecifiedFlag() + ": not a flag"}
	}
	return err
}

// unknownFlag returns the error for a flag that the command does not have. It
// suggests similar flags, or another command that has the flag.
func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	name := e.GetSpecifiedName()
	if group := e.GetSpecifiedShortnames(); group != "" {
		text := fmt.Sprintf("-%s: no such flag", name[:1])
		if len(group) > 2 && cmd.Flags().Lookup(group) != nil { // -format
			return &flagError{fmt.Sprintf("-%s: no such flag; did you mean --%s?", group, group), cmd.Flags().Lookup(group)}
		}
		return &flagError{text: text + elsewhere(cmd, func(fl *pflag.FlagSet) *pflag.Flag { return fl.ShorthandLookup(name[:1]) })}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	text := fmt.Sprintf("--%s: no such flag", name)
	others := elsewhere(cmd, func(fl *pflag.FlagSet) *pflag.Flag { return fl.Lookup(name) })
	if near := names.Nearest(name, known); others == "" && len(near) > 0 {
		return &flagError{text + meant(name, "--", known), cmd.Flags().Lookup(near[0])}
	}
	return &flagError{text: text + others}
}

// elsewhere returns the end of an error that names the commands with a flag.
func elsewhere(cmd *cobra.Command, find func(*pflag.FlagSet) *pflag.Flag) string {
	var have []string
	for _, c := range cmd.Root().Commands() {
		if c != cmd && c.IsAvailableCommand() && find(c.Flags()) != nil {
			have = append(have, c.Name())
		}
	}
	of, has := "", "has"
	if cmd.HasParent() {
		of = " of " + cmd.Name()
	}
	switch len(have) {
	case 0:
		if root := cmd.Root(); cmd.HasParent() && find(root.Flags()) != nil {
			return fmt.Sprintf("%s; %s has it, without a command", of, root.Name())
		}
		return ""
	case 1:
	default:
		has = "have"
	}
	return fmt.Sprintf("%s; %s %s it", of, strings.Join(have, ", "), has)
}

// badValue returns the reason that a flag rejects a value.
func badValue(f *pflag.Flag, e *pflag.InvalidValueError) string {
	cause := e.Unwrap()
	kind := f.Value.Type()
	switch {
	case errors.Is(cause, strconv.ErrRange) || strings.Contains(cause.Error(), strconv.ErrRange.Error()):
		return "the number is too large or too small"
	case kind == "bool":
		return "give true or false"
	case kind == "duration":
		return "give a time, such as 2s or 500ms"
	case kind == "float64":
		return "not a number"
	case strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint"):
		return "not a whole number"
	}
	return cause.Error()
}

// WriteUsage writes the short help that follows a usage error: the flag in
// question, the usage of the command, and how to show the complete help.
func WriteUsage(w io.Writer, cmd *cobra.Command, err error) {
	var b strings.Builder
	if e := (*flagError)(nil); errors.As(err, &e) && e.flag != nil {
		flags := []*pflag.Flag{e.flag}
		writeFlags(&b, flags, max(nameWidth(flags), len("      ")))
	}
	for i, line := range usageLines(cmd) {
		fmt.Fprintf(&b, "%s %s\n", [...]string{"Usage:", "      "}[min(i, 1)], line)
	}
	what := "flags"
	if cmd.HasAvailableSubCommands() {
		what = "commands"
	}
	fmt.Fprintf(&b, "'%s --help' lists the %s.\n", cmd.CommandPath(), what)
	_, _ = io.WriteString(w, b.String()) // there is no place to report this error
}
