// Package wireshark integrates the program into Wireshark. It provides a source
// of live captures (extcap), and files for the user's folders.
package wireshark

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/privilege"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	capturefilter "github.com/bcdissect/bcdissect/dissect/capture/bpf"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
)

const (
	extcapName    = "bcdissect" // name of the interface in Wireshark
	extcapDisplay = "Bridge Commander"
	helpPage      = "https://github.com/bcdissect/bcdissect/blob/main/docs/wireshark.md"
)

// IsExtcap reports whether Wireshark has called the program. Wireshark gives
// flags but no command.
func IsExtcap(args []string) bool {
	return len(args) > 0 && (strings.HasPrefix(args[0], "--extcap-") || args[0] == "--capture")
}

// An extcap is a call by Wireshark.
type extcap struct {
	// Flags that ask for information.
	interfaces, dlts, config bool
	reload, of               string

	// Flags of a capture.
	capture bool
	fifo    string
	filter  string
	iface   string
	cli.Common
}

// Extcap answers a call by Wireshark and returns the exit status.
func Extcap(args []string, s cli.Streams) int {
	var e extcap
	cmd := &cobra.Command{
		Use: "bcdissect", SilenceErrors: true, SilenceUsage: true,
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // later versions of Wireshark may add flags
		RunE:               func(*cobra.Command, []string) error { return e.answer(s) },
	}
	e.define(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if pipe, _ := e.open(); pipe != nil { // the pipe must be opened even now, as run explains, and Wireshark's own flags come before the options
			_ = pipe.Close() // nothing was written to it
		}
		return err
	})
	cmd.SetArgs(args)
	cmd.SetOut(s.Err)
	cmd.SetErr(s.Err)
	err := cmd.Execute()
	if err != nil && err.Error() != "" { // otherwise run has already reported it
		cli.Say(s.Err, "%v", err)
		if ways := cli.Remedy(err); ways != "" {
			fmt.Fprintf(s.Err, "%s\n", cli.OneLine(ways))
		}
	}
	return cli.StatusOf(err)
}

// define defines Wireshark's flags and the flags of the options that it shows.
func (e *extcap) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&e.interfaces, "extcap-interfaces", false, "")
	fl.BoolVar(&e.dlts, "extcap-dlts", false, "")
	fl.BoolVar(&e.config, "extcap-config", false, "")
	fl.String("extcap-version", "", "") // the answers do not depend on the version
	fl.StringVar(&e.reload, "extcap-reload-option", "", "")
	fl.StringVar(&e.of, "extcap-interface", "", "")
	fl.StringVar(&e.filter, "extcap-capture-filter", "", "")
	fl.String("extcap-control-in", "", "") // there are no controls
	fl.String("extcap-control-out", "", "")
	fl.BoolVar(&e.capture, "capture", false, "")
	fl.StringVar(&e.fifo, "fifo", "", "")

	fl.StringVar(&e.iface, "iface", "", "")
	e.DefinePorts(cmd)
	e.DefineDecoding(cmd)
	e.DefineSelection(cmd)
}

// answer answers the call.
func (e *extcap) answer(s cli.Streams) error {
	switch {
	case e.interfaces:
		return e.list(s.Out)
	case e.of != extcapName:
		return fmt.Errorf("--extcap-interface %q: the interface is called %s", e.of, extcapName)
	case e.dlts:
		return say(s.Out, "dlt {number=1}{name=EN10MB}{display=Ethernet}")
	case e.config:
		return e.options(s.Out)
	case e.capture:
		return e.run(s)
	default: // checks the capture filter, where no output means that it is valid
		if err := e.checkFilter(); err != nil {
			return say(s.Out, "%s", cli.OneLine(err.Error()))
		}
		return nil
	}
}

// say writes a line for Wireshark.
func say(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format+"\n", args...)
	return cli.Failed(err)
}

// list writes the interface. It does not look for interfaces of the system,
// since Wireshark waits for the answer each time it starts.
func (e *extcap) list(w io.Writer) error {
	return say(w, "extcap {version=%s}{display=bcdissect}{help=%s}\ninterface {value=%s}{display=%s}",
		value(cli.Version()), helpPage, extcapName, extcapDisplay)
}

// value replaces characters that the value of a key must not contain.
func value(text string) string {
	return strings.NewReplacer("{", "(", "}", ")").Replace(cli.OneLine(text))
}

// options writes the options of a capture.
func (e *extcap) options(w io.Writer) error {
	if e.reload == "" || e.reload == "iface" {
		if e.reload == "" {
			if err := say(w, "arg {number=0}{call=--iface}{display=Interface}{type=selector}{reload=true}{placeholder=Look again}"+
				"{tooltip=The interface that the game's traffic passes}"); err != nil {
				return err
			}
		}
		if err := chooseInterface(w); err != nil {
			return err
		}
	}
	if e.reload != "" {
		return nil
	}
	return say(w, `arg {number=1}{call=--port}{display=Port of the host}{type=string}{tooltip=Several with commas. If empty, the game is recognised by content}
arg {number=2}{call=--dialect}{display=Dialect}{type=selector}{tooltip=How all senders write messages}
value {arg=2}{value=auto}{display=Recognise it}{default=true}
value {arg=2}{value=stock}{display=Original game}
value {arg=2}{value=openbc}{display=OpenBC}
arg {number=3}{call=--no-updates}{display=Hide ship updates}{type=boolflag}{default=false}{tooltip=Hide frames that hold only updates of ships}`)
}

// chooseInterface writes the interfaces of the system.
func chooseInterface(w io.Writer) error {
	all, err := device.Interfaces()
	if len(all) == 0 {
		return cli.Failed(err)
	}
	preferred, _ := device.Default() // on an error, no interface is preferred
	for i := range all {
		one := &all[i]
		if value(one.Name) != one.Name {
			continue // the name cannot be written in this format
		}
		display := one.Name
		if d := value(one.Description); d != "" && d != one.Name {
			display += ": " + d
		}
		mark := ""
		if one.Name == preferred {
			mark = "{default=true}"
		}
		if err := say(w, "value {arg=0}{value=%s}{display=%s}%s", one.Name, display, mark); err != nil {
			return err
		}
	}
	return nil
}

// checkFilter returns an error if the capture filter is wrong.
func (e *extcap) checkFilter() error {
	const ethernet = 1
	_, err := capturefilter.Compile(e.filter, ethernet, 0)
	if bad := (*capturefilter.Error)(nil); errors.As(err, &bad) {
		return errors.New(bad.Message)
	}
	return err
}

// run opens the pipe and captures into it. Wireshark waits until a program has
// opened the pipe. Only after that does it notice that a program fails, and
// show the error.
func (e *extcap) run(s cli.Streams) error {
	pipe, err := e.open()
	if err != nil {
		return err
	}
	defer func() { _ = pipe.Close() }() // stream returns the error of writing
	err = e.stream(s, pipe)
	if err != nil && err.Error() != "" && !cli.IsClosedPipe(err) {
		cli.Say(s.Err, "%v", err) // must come before the pipe is closed: Wireshark then shows the text and does not wait for more
		err = &cli.StatusError{Code: cli.StatusOf(err)}
	}
	return err
}

// open opens the pipe.
func (e *extcap) open() (*os.File, error) {
	if e.fifo == "" {
		return nil, errors.New("--capture needs --fifo PIPE")
	}
	pipe, err := os.OpenFile(e.fifo, os.O_WRONLY, 0)
	if err != nil {
		return nil, cli.Failed(cli.PlainPath(e.fifo, err))
	}
	return pipe, nil
}

// giveUp gives up the rights that were needed to open the interface, and the
// rights to files. The pipe is already open, and strangers may have written the
// packets.
func giveUp(s cli.Streams) error {
	if !s.Process {
		return nil
	}
	as, err := privilege.Choose("")
	if err == nil {
		err = as.Become()
	}
	if err != nil {
		return err
	}
	return privilege.Confine()
}

// stream captures into the pipe until Wireshark closes it.
func (e *extcap) stream(s cli.Streams, pipe *os.File) error {
	cfg, err := e.Config()
	if err != nil {
		return err
	}
	if err := e.checkFilter(); err != nil {
		return fmt.Errorf("capture filter %q: %w", e.filter, err)
	}
	if e.iface == "" {
		if e.iface, err = device.Default(); err != nil {
			return cli.Failed(err)
		}
	}
	live, err := capture.OpenLive(capture.LiveOptions{Options: device.Options{Interface: e.iface, Filter: capturefilter.Program(e.filter, 0)}})
	if err != nil {
		return cli.Failed(err)
	}
	defer func() { _ = live.Close() }() // the loop below returns the error
	interrupts := cli.NewInterrupts(s, 0, false)
	defer interrupts.Close()
	stop := func() { _ = live.Close() } // the loop below returns the error
	go func() {
		defer cli.Guard()
		<-interrupts.Stopped
		stop()
	}()
	watchPipe(pipe, stop)

	o := live.WriterOptions()
	o.Application, o.Filter, o.Start = "bcdissect "+cli.Version(), e.filter, time.Now()
	// The preferences of the plugin tell the engine how to decode the traffic.
	raw := cfg.Dialect == decode.Undecided && len(cfg.Ports) == 0 && len(e.Defined) == 0 && !cfg.Clear && engineInstalled()
	if err := giveUp(s); err != nil {
		return cli.Failed(err)
	}
	st := newStream(pipe, cfg, &e.Selection, raw)
	st.idle = live.Idle
	live.Tap(st, &o)
	for err == nil {
		var d *dissect.Datagram
		if d, err = live.Next(); err == nil {
			err = st.datagram(d)
		}
	}
	if e := st.Close(); e != nil && (err == nil || errors.Is(err, io.EOF)) {
		err = e
	}
	_ = live.Close() // after Close the counters are complete
	if c := live.Counters(); c.Overflowed > 0 {
		fmt.Fprintf(s.Err, plural.Form(c.Overflowed, "bcdissect: %d {packet was|packets were} lost: Wireshark is too slow\n"), c.Overflowed)
	}
	if errors.Is(err, io.EOF) || cli.IsClosedPipe(err) { // Wireshark has closed the pipe
		return nil
	}
	return cli.Failed(err)
}
