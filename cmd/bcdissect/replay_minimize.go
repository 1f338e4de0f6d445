package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/conform/shrink"
)

// Limits of --minimize.
const (
	mostMinimized = 1 << 20 // datagrams that are kept in memory
	minimizeFor   = time.Minute
)

// A minimizer looks for the shortest capture with a fault of the host.
type minimizer struct {
	r     *replaying
	cfg   dissect.Config
	whole []*result.Accepted // the faults in the whole capture, of which the first must remain
}

// faults returns the mistakes of the host in some datagrams, except those that
// the baseline accepts.
func (m *minimizer) faults(all []*dissect.Datagram) ([]*result.Accepted, error) {
	hosts, p := conform.NewHosts(m.r.cfg), dissect.New(m.cfg)
	for _, d := range all {
		if err := p.Push(d, hosts.Record); err != nil {
			return nil, err
		}
	}
	if err := p.Flush(hosts.Record); err != nil {
		return nil, err
	}
	reports, _ := hosts.Reports()
	return slices.DeleteFunc(result.BaselineOf(reports).Accepted, func(a *result.Accepted) bool {
		return m.r.known.known != nil && m.r.known.known.Accepts(*a)
	}), nil
}

// shows reports whether datagrams show the fault, and no fault that the whole
// capture does not show.
func (m *minimizer) shows(all []*dissect.Datagram) bool {
	found, err := m.faults(all)
	known := func(a *result.Accepted) bool { return slices.ContainsFunc(m.whole, a.Same) }
	return err == nil && slices.ContainsFunc(found, m.whole[0].Same) && !slices.ContainsFunc(found, func(a *result.Accepted) bool { return !known(a) })
}

// datagrams reads captures.
func datagrams(names []string) (all []*dissect.Datagram, err error) {
	src, err := capture.OpenAll(names, nil)
	if err != nil {
		return nil, cli.Failed(err)
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	for d, damage := range dissect.Datagrams(src) {
		switch {
		case damage != nil:
			return all, nil // the report already shows the error
		case len(all) == mostMinimized:
			return nil, cli.Failed(fmt.Errorf("--minimize keeps at most %d datagrams; cut the capture with read --from, --to and -w first", mostMinimized))
		}
		c := *d
		c.Payload = bytes.Clone(d.Payload)
		all = append(all, &c)
	}
	return all, nil
}

// clients groups datagrams by their two addresses, with the largest group last.
func clients(all []*dissect.Datagram) (groups [][]*dissect.Datagram) {
	by := map[[2]netip.AddrPort]int{}
	for _, d := range all {
		ends := [2]netip.AddrPort{d.Src, d.Dst}
		if ends[1].Compare(ends[0]) < 0 {
			ends[0], ends[1] = ends[1], ends[0]
		}
		i, ok := by[ends]
		if !ok {
			i = len(groups)
			by[ends] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	slices.SortStableFunc(groups, func(a, b []*dissect.Datagram) int { return cmp.Compare(len(a), len(b)) })
	return groups
}

// joined returns the datagrams of groups in the order of the capture.
func joined(groups [][]*dissect.Datagram) []*dissect.Datagram {
	all := slices.Concat(groups...)
	slices.SortFunc(all, func(a, b *dissect.Datagram) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// checkShortest returns an error for inputs and flags that --minimize does not
// support.
func (r *replaying) checkShortest(s cli.Streams, names []string) error {
	switch {
	case r.shortest == "":
		return nil
	case r.to != "" || r.joins:
		return errors.New("--minimize shortens captures; drop it with --to and --handshake")
	case slices.Contains(names, "-"):
		return errors.New("--minimize reads captures more than once; name a file, not standard input")
	}
	if err := cli.CheckDistinct("--minimize", r.shortest, "--output", r.Output); err != nil {
		return err
	}
	return cli.CheckInput("--minimize", r.shortest, s.In, names...)
}

// minimize writes the shortest capture that still shows a fault of the host.
func (r *replaying) minimize(s cli.Streams, names []string) error {
	cfg, err := r.Config()
	if err != nil {
		return err
	}
	all, err := datagrams(names)
	if err != nil {
		return err
	}
	m := &minimizer{r: r, cfg: cfg}
	found, err := m.faults(all)
	switch {
	case err != nil:
		return cli.Failed(err)
	case len(found) == 0:
		cli.Say(s.Err, "%s: not written, since the capture shows no fault", r.shortest)
		return nil
	}
	m.whole = found
	interrupts := cli.NewInterrupts(s, minimizeFor, false)
	defer interrupts.Close()
	progress := cli.NewProgress(s, r.NoProgress)
	trials := 0
	enough := func() bool { // also true after a minute
		progress.Show(fmt.Sprintf("%s tried", plural.Count(trials, "shorter capture")))
		return interrupts.Context().Err() != nil
	}
	byClient := shrink.Search[[]*dissect.Datagram]{Enough: enough, Shows: func(groups [][]*dissect.Datagram) bool {
		trials++
		return m.shows(joined(groups))
	}}
	kept := joined(byClient.List(clients(all)))
	byFrame := shrink.Search[*dissect.Datagram]{Enough: enough, Shows: func(part []*dissect.Datagram) bool {
		trials++
		return m.shows(part)
	}}
	kept = byFrame.List(kept)
	progress.Done()
	if err := r.save(s, names, kept, m); err != nil {
		return err
	}
	cli.Say(s.Err, "%s: %s of %d still show %s, after %s", r.shortest, plural.Count(len(kept), "datagram"), len(all), m.name(), plural.Count(trials, "trial"))
	return nil
}

// name returns the name of the fault without its frequency, since the short
// capture has another frequency.
func (m *minimizer) name() string {
	fault := *m.whole[0]
	fault.Count, fault.Of = 0, 0
	return fault.String()
}

// save writes datagrams to the file and checks that the file shows the fault.
func (r *replaying) save(s cli.Streams, names []string, kept []*dissect.Datagram, m *minimizer) error {
	tape, err := reading.OpenTape(&r.Common, s, names)
	if err != nil {
		return err
	}
	defer tape.Close()
	var frames extract.Frames
	for _, d := range kept {
		frames.Add(d.Number)
	}
	if _, err := tape.Save(r.shortest, &frames); err != nil {
		return cli.Failed(err)
	}
	written, err := datagrams([]string{r.shortest})
	if err == nil && !m.shows(written) {
		err = cli.Failed(errors.New(r.shortest + " doesn't show the fault: the capture holds parts of IP packets; give a capture without them"))
	}
	return err
}
