package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/filter"
)

// ConfigVariable is the environment variable that names the configuration file,
// or is "none" to use no file.
const ConfigVariable = "BCDISSECT_CONFIG"

// A Config is the configuration file.
type Config struct {
	File   string // empty if the system has no folder for it, or if the user wants none
	Chosen bool   // the environment variable names the file
	Found  bool
	modfile.Settings
}

// LoadConfig reads the configuration file. A missing file is an error only if
// the environment variable names it.
func LoadConfig() (*Config, error) {
	c := &Config{}
	switch name := os.Getenv(ConfigVariable); name {
	case "none":
		return c, nil
	case "":
		dir, err := os.UserConfigDir()
		if err != nil {
			return c, nil //nolint:nilerr // without such a folder there is no file
		}
		c.File = filepath.Join(dir, "bcdissect", "config.toml")
	default:
		c.File, c.Chosen = name, true
	}
	b, err := ReadDefinitions(c.File)
	switch {
	case !c.Chosen && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)): // services have home folders such as /dev/null
		return c, nil
	case err != nil && !c.Chosen:
		return nil, Failed(fmt.Errorf("%w; %s=none ignores this file", PlainPath(c.File, err), ConfigVariable))
	case err != nil:
		return nil, Failed(PlainPath(c.File, err))
	}
	s, err := modfile.ReadSettings(modfile.File{Name: c.File, Data: b})
	if err != nil {
		return nil, Failed(err)
	}
	c.Found, c.Settings = true, *s
	for i := range c.Define { // names are relative to the configuration file
		if name := &c.Define[i].Values[0]; !filepath.IsAbs(*name) {
			*name = filepath.Join(filepath.Dir(c.File), *name)
		}
	}
	return c, nil
}

// place returns the place of a setting.
func (c *Config) place(s *modfile.Setting) string { return fmt.Sprintf("%s:%d", c.File, s.Line) }

// presetNames returns the names of presets as they are written: @kills.
func presetNames(all []modfile.Setting) (words []string) {
	for i := range all {
		words = append(words, "@"+all[i].Name)
	}
	return words
}

// preset returns the preset in an expression or list from a byte offset on.
func (c *Config) preset(flag, text string, at int, all []modfile.Setting) (*modfile.Setting, error) {
	end := at + 1
	for end < len(text) && strings.IndexByte(" \t\r\n()!&|^,", text[end]) < 0 {
		end++
	}
	name := text[at+1 : end]
	if i := slices.IndexFunc(all, func(s modfile.Setting) bool { return s.Name == name }); i >= 0 {
		return &all[i], nil
	}
	bad := &filter.Error{
		Expr: text, Column: utf8.RuneCountInString(text[:at]) + 1, Length: max(1, utf8.RuneCountInString(text[at:end])),
		Message: fmt.Sprintf("there is no preset @%s in %s", name, c.File), Suggestions: names.Nearest("@"+name, presetNames(all)),
	}
	if !c.Found {
		bad.Message = fmt.Sprintf("@%s is a preset, and there is no configuration file %s", name, c.File)
	}
	return nil, ofFilter(flag, bad)
}

// Check returns the first mistake in the presets.
func (c *Config) Check(catalog *decode.Catalog) error {
	for i := range c.Filters {
		if err := c.checkFilter(&c.Filters[i], catalog); err != nil {
			return err
		}
	}
	for i := range c.Columns {
		for _, name := range c.Columns[i].Values {
			if err := checkColumn(c.place(&c.Columns[i]), name, catalog); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Config) checkFilter(s *modfile.Setting, catalog *decode.Catalog) error {
	_, err := CompileFilter(c.place(s), s.Values[0], catalog)
	return err
}

// Filter replaces the presets in an expression by the expressions they stand
// for.
func (c *Config) Filter(flag, text string, catalog *decode.Catalog) (string, error) {
	if !strings.Contains(text, "@") {
		return text, nil
	}
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == '\\' && i+1 < len(text):
			b.WriteByte(ch)
			i++
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '"' || ch == '\'':
			quote = ch
		case ch == '@':
			s, err := c.preset(flag, text, i, c.Filters)
			if err != nil {
				return "", err
			}
			if err := c.checkFilter(s, catalog); err != nil {
				return "", err
			}
			b.WriteString("(" + s.Values[0] + ")")
			i += len(s.Name)
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String(), nil
}

// Expand replaces the presets in a list of columns by the columns they stand
// for.
func (c *Config) Expand(flag string, columns []string) (all []string, err error) {
	for _, name := range columns {
		if !strings.HasPrefix(name, "@") {
			all = append(all, name)
			continue
		}
		s, err := c.preset(flag, name, 0, c.Columns)
		if err != nil {
			return nil, err
		}
		all = append(all, s.Values...)
	}
	return all, nil
}
