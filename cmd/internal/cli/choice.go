package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A Choice is a flag that takes one of a few words.
type Choice struct {
	Value   string
	words   []string
	aliases map[string]string // other spellings, which help does not list
}

func (c *Choice) String() string { return c.Value }

// NewChoice returns a choice with a default.
func NewChoice(value string, words ...string) Choice { return Choice{Value: value, words: words} }

// Define defines a flag for a choice of words, with a default. The shell is offered
// the words.
func (c *Choice) Define(cmd *cobra.Command, flag, short, usage, value string, words ...string) {
	*c = Choice{Value: value, words: words, aliases: c.aliases}
	cmd.Flags().VarP(c, flag, short, usage)
	c.Complete(cmd, flag)
}

// Alias adds other spellings of the words.
func (c *Choice) Alias(aliases map[string]string) { c.aliases = aliases }

// Type returns the words as help shows them.
func (c *Choice) Type() string { return strings.Join(c.words, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(s string) error {
	if word := c.aliases[s]; word != "" {
		s = word
	}
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("must be one of %s%s", strings.Join(c.words, ", "), meant(s, "", c.words))
	}
	c.Value = s
	return nil
}

// Complete offers the words to the shell.
func (c *Choice) Complete(cmd *cobra.Command, flag string) {
	// The only error is that the flag does not exist, and it was defined above.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
}
