package table

import (
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// allPlayers is the name of the receiver if a host sends the updates of a ship
// to its clients.
const allPlayers = "players"

// showFlights writes a line for each ship of the past second.
func (s *Sink) showFlights() error {
	all := s.flights.All()
	if len(all) == 0 {
		return s.lines.Err()
	}
	dst := s.lines.Buffer()
	for i := range all {
		dst = s.flight(dst, &all[i])
	}
	s.flights.Clear()
	return s.lines.Done(dst)
}

// flight appends the line of a ship.
func (s *Sink) flight(dst []byte, f *measure.Flight) []byte {
	d := dissect.Datagram{Number: f.Frame, Time: f.Time, Src: f.Src, Dst: f.Dst}
	r := dissect.Record{Datagram: &d, Dir: f.Dir, Client: f.Client}
	if f.Several && !f.Both && f.Dir == dissect.FromHost {
		r.Client = allPlayers
	}
	s.head.reset(normal)
	s.body.reset(normal)
	s.tail.reset(normal)
	s.twoWay = f.Both && f.Dir == dissect.ToHost
	s.head.b = s.appendPlace(s.head.b, &r)
	s.twoWay = false
	const name = "updates"
	s.head.b = pad(append(s.head.b, name...), s.cols.name+1-len(name))
	b := s.body.b
	if f.Name != "" {
		b = report.AppendEscaped(b, f.Name)
	} else {
		b = display.AppendID(append(b, "object "...), f.Object)
	}
	b = appendCount(append(b, "  "...), f.Updates, "update")
	if f.Moves {
		b = append(display.AppendNumber(append(b, ", "...), float64(f.Speed)), " u/s"...)
	}
	if f.Hulled {
		b = display.AppendPercent(append(b, ", hull "...), 100*float64(f.Hull))
	}
	s.body.b = b
	if s.opts.Width > 0 {
		s.fit()
	}
	dst = s.head.append(dst, s.theme)
	dst = s.body.append(dst, s.theme)
	return append(dst, '\n')
}
