package cli

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// Definitions are the files in which users define their own messages.
type Definitions struct {
	Defined []string // includes the files of the configuration file once it is loaded

	config *Config // nil until it is loaded
}

// Configuration returns the configuration file.
func (d *Definitions) Configuration() (*Config, error) {
	if d.config != nil {
		return d.config, nil
	}
	c, err := LoadConfig()
	if err != nil {
		return nil, err
	}
	d.config = c
	var files []string
	for i := range c.Define {
		files = append(files, c.Define[i].Values[0])
	}
	given := slices.DeleteFunc(slices.Clone(d.Defined), func(name string) bool { return slices.Contains(files, name) })
	d.Defined = append(files, given...)
	return c, nil
}

// Define defines the flags.
func (d *Definitions) Define(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&d.Defined, "define", nil, "`FILE` that defines messages of a mod, repeatable; see 'bcdissect help mods'")
	// The only error is that the flag does not exist.
	_ = cmd.MarkFlagFilename("define", "toml")
}

// Catalog returns the game's messages and the messages in the files.
func (d *Definitions) Catalog() (*decode.Catalog, error) {
	if _, err := d.Configuration(); err != nil {
		return nil, err
	}
	files := make([]modfile.File, 0, len(d.Defined))
	for _, name := range d.Defined {
		b, err := ReadDefinitions(name)
		if err != nil {
			return nil, Failed(PlainPath(name, err))
		}
		files = append(files, modfile.File{Name: name, Data: b})
	}
	c, err := modfile.Extend(msg.Catalog(), files...)
	return c, Failed(err)
}

// ReadDefinitions reads a file, at most one byte more than the size limit.
func ReadDefinitions(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was opened only for reading
	return io.ReadAll(io.LimitReader(f, modfile.MaxSize+1))
}
