package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// A Console is an engine that executes commands of the plugin.
type Console struct {
	engine *Engine
	cfg    dissect.Config
	hide   bool // hide ship updates in the Info column
	names  bool // show names of players instead of addresses
	chosen []int
	choice *wireshark.Choice // choice of the fields in chosen
	none   *wireshark.Choice
}

// NewConsole returns a console.
func NewConsole() *Console {
	c := &Console{engine: New(dissect.Config{}), names: true}
	c.reset()
	return c
}

// reset begins a new capture.
func (c *Console) reset() {
	c.engine.Reset()
	c.none, c.choice = c.engine.Choose(nil), c.engine.Choose(c.chosen)
}

// Command runs a command and returns its answer. If the command is wrong, the
// answer begins with "error: ". The commands are:
//
//	sum             return the checksum of the table of fields
//	define [FILE…]  add the messages of mods, and return the lines of their fields
//	config KEY=VALUE…  begin a new capture with the preferences ports, dialect,
//	                hide (ship updates in the Info column) and names (of players,
//	                instead of addresses)
//	reset           begin a new capture
//	report KIND     return a report about the capture: session, connections, chat
//	choose ID…      choose the fields for datagrams with chosen fields
//
// Each name of a file is on its own line.
func (c *Console) Command(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "sum":
		_, sum := wireshark.Additions(c.cfg.Catalog)
		return strconv.FormatUint(uint64(sum), 10)
	case "define":
		return c.define(strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' }))
	case "config":
		return c.config(strings.Fields(rest))
	case "reset":
		c.reset()
	case "report":
		text, err := c.engine.Report(rest)
		if err != nil {
			return "error: " + err.Error()
		}
		return text
	case "choose":
		return c.choose(strings.Fields(rest))
	default:
		return fmt.Sprintf("error: no command %q", verb)
	}
	return ""
}

// define adds the messages in files, and the messages in the files of the
// user's configuration.
func (c *Console) define(files []string) string {
	d := cli.Definitions{Defined: files}
	if _, err := d.Configuration(); err != nil {
		return "error: " + err.Error()
	}
	if len(d.Defined) == 0 {
		return ""
	}
	catalog, err := d.Catalog()
	if err != nil {
		return "error: " + err.Error()
	}
	c.cfg.Catalog = catalog
	c.engine.Configure(c.cfg, c.hide)
	c.reset()
	lines, _ := wireshark.Additions(catalog)
	return lines
}

// config sets the preferences.
func (c *Console) config(words []string) string {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "ports":
			c.cfg.Ports, err = portsOf(value)
		case "dialect":
			choice := cli.NewChoice("auto", "auto", "stock", "openbc")
			err = choice.Set(value)
			c.cfg.Dialect = cli.DialectOf(&choice)
		case "hide":
			c.hide = value == "true"
		case "names":
			c.names = value == "true"
		default:
			err = errors.New("no such preference")
		}
		if err != nil {
			return fmt.Sprintf("error: %s %s: %v", key, value, err)
		}
	}
	c.engine.Configure(c.cfg, c.hide)
	c.reset()
	return ""
}

// portsOf parses a list of ports with commas.
func portsOf(list string) (ports []uint16, err error) {
	for word := range strings.SplitSeq(list, ",") {
		if word == "" {
			continue
		}
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil || n == 0 {
			return nil, errors.New("ports go from 1 to 65535")
		}
		ports = append(ports, uint16(n))
	}
	return ports, nil
}

// choose sets the chosen fields.
func (c *Console) choose(ids []string) string {
	c.chosen = c.chosen[:0]
	for _, word := range ids {
		id, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Sprintf("error: choose: %q is not a number", word)
		}
		c.chosen = append(c.chosen, id)
	}
	c.choice = c.engine.Choose(c.chosen)
	return ""
}

// Held returns the number of bytes that the datagrams of the capture take.
func (c *Console) Held() int { return c.engine.held.size }

// Names returns the names of addresses that are new since the last call.
func (c *Console) Names() []wireshark.Name {
	if !c.names {
		return nil
	}
	return c.engine.Names()
}

// Datagram returns the trailer of a datagram with all fields, the chosen ones,
// or none. If a frame is already annotated, its trailer is in the frame itself
// and has all fields.
func (c *Console) Datagram(f *Frame, again, all, chosen bool) ([]byte, Answer) {
	if trailer := wireshark.Trailer(f.Data, f.At); trailer != nil {
		return trailer, Trailer
	}
	d, ok := f.Datagram()
	switch {
	case !ok && f.Src == "":
		return nil, Addresses
	case !ok, f.Quoted():
		return nil, NotOurs
	}
	choice := c.none
	switch {
	case all:
		choice = nil
	case chosen:
		choice = c.choice
	}
	return c.engine.Datagram(&d, again, choice)
}
