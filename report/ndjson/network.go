package ndjson

import (
	"io"
	"math"
	"net/netip"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// Network writes the measurements as one object on one line.
func Network(w io.Writer, m *measure.Meter) error {
	_, err := w.Write(append(AppendNetwork(nil, m), '\n'))
	return err
}

// AppendNetwork appends the measurements as one object.
func AppendNetwork(dst []byte, m *measure.Meter) []byte {
	dst = append(dst, `{"links":[`...)
	for i, l := range m.Links() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendLink(dst, &l)
	}
	dst = append(dst, `],"ships":[`...)
	for i, s := range m.Ships() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendShip(dst, &s)
	}
	dst = append(dst, `],"limits":{`...)
	g := m.GivenUp()
	for _, l := range []struct {
		key          string
		max, givenUp int64
	}{
		{`"links":{"max":`, measure.MaxLinks, g.Links},
		{`,"outstanding":{"max":`, measure.MaxOutstanding, g.Outstanding},
		{`,"ships":{"max":`, measure.MaxShips, g.Ships},
	} {
		dst = integer(dst, l.key, l.max)
		dst = append(integer(dst, `,"given_up":`, l.givenUp), '}')
	}
	return append(integer(dst, `,"undirected":`, g.Undirected), "}}"...)
}

func appendLink(dst []byte, l *measure.Link) []byte {
	dst = appendEnds(dst, l.Host, l.Client, l.Player, l.Peer)
	dst = append(append(append(dst, `,"dir":"`...), l.Dir.String()...), '"')
	dst = span(dst, l.First, l.Last)
	dst = integer(dst, `,"restarts":`, l.Restarts)
	dst = integer(dst, `,"datagrams":`, l.Datagrams)
	dst = integer(dst, `,"bytes":`, l.Bytes)
	dst = integer(dst, `,"messages":`, l.Messages)
	dst = class(append(dst, ',', '"'), &measure.Class{
		Reliable: l.Reliable(), Repeated: l.Repeated(), Duplicates: l.Duplicates(), Acknowledged: l.Acknowledged(), Lost: l.Lost(), Late: l.Late(),
	})
	dst = append(class(append(dst, `,"data":{"`...), &l.Data), '}')
	dst = append(class(append(dst, `,"control":{"`...), &l.Control), '}')
	dst = integer(dst, `,"acks":`, l.Acks)
	dst = integer(dst, `,"rtt_n":`, l.RTT.N)
	if l.RTT.N > 0 {
		dst = millis(dst, `,"rtt_ms_min":`, l.RTT.Min)
		dst = millis(dst, `,"rtt_ms_median":`, l.RTT.Median)
		dst = millis(dst, `,"rtt_ms_p95":`, l.RTT.P95)
		dst = millis(dst, `,"rtt_ms_max":`, l.RTT.Max)
	}
	if l.Datagrams > 1 && !l.First.IsZero() {
		dst = millis(dst, `,"silence_ms_longest":`, l.Silence)
	}
	dst = integer(dst, `,"keepalives":`, l.Keepalives)
	if l.KeepaliveMean > 0 {
		dst = millis(dst, `,"keepalive_ms_mean":`, l.KeepaliveMean)
		dst = millis(dst, `,"keepalive_ms_longest":`, l.KeepaliveMax)
	}
	return append(dst, '}')
}

func appendShip(dst []byte, s *measure.Ship) []byte {
	dst = appendEnds(dst, s.Host, s.Client, s.Player, s.Peer)
	dst = append(append(append(dst, `,"dir":"`...), s.Dir.String()...), '"')
	dst = number(dst, `,"object_id":`, uint64(s.Object))
	if slot, ok := s.Object.Slot(); ok {
		dst = integer(dst, `,"object_slot":`, int64(slot))
	}
	if s.Name != "" {
		dst = display.AppendString(append(dst, `,"object_name":`...), s.Name)
	}
	dst = span(dst, s.First, s.Last)
	dst = integer(dst, `,"updates":`, s.Updates)
	if s.Rate > 0 {
		dst = append(dst, `,"rate_per_s":`...)
		dst = strconv.AppendFloat(dst, math.Round(s.Rate*1e3)/1e3, 'f', -1, 64)
	}
	if s.Intervals > 0 {
		dst = millis(dst, `,"interval_ms_mean":`, s.Mean)
		dst = millis(dst, `,"interval_ms_longest":`, s.Longest)
	}
	if s.Intervals > 1 {
		dst = millis(dst, `,"jitter_ms":`, s.Jitter)
	}
	return append(dst, '}')
}

// appendEnds opens an object with host, client and player.
func appendEnds(dst []byte, host, client netip.AddrPort, player string, peer uint8) []byte {
	dst = append(dst, `{"host":"`...)
	dst = host.AppendTo(dst)
	dst = append(dst, `","client":"`...)
	dst = append(client.AppendTo(dst), '"')
	if player != "" {
		dst = display.AppendString(append(dst, `,"player_name":`...), player)
	}
	if peer != 0 {
		dst = number(dst, `,"peer":`, uint64(peer))
	}
	return dst
}

// class appends counts; the quotation mark of the first key is there.
func class(dst []byte, c *measure.Class) []byte {
	dst = integer(dst, `reliable":`, c.Reliable)
	dst = integer(dst, `,"retransmissions":`, c.Repeated)
	dst = integer(dst, `,"duplicates":`, c.Duplicates)
	dst = integer(dst, `,"acknowledged":`, c.Acknowledged)
	dst = integer(dst, `,"lost":`, c.Lost)
	return integer(dst, `,"late":`, c.Late)
}

func span(dst []byte, first, last time.Time) []byte {
	if first.IsZero() {
		return dst
	}
	dst = append(dst, `,"first":"`...)
	dst = first.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","last":"`...)
	return append(last.UTC().AppendFormat(dst, time.RFC3339Nano), '"')
}

func integer(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

// millis appends a time in milliseconds, to the microsecond.
func millis(dst []byte, key string, d time.Duration) []byte {
	return strconv.AppendFloat(append(dst, key...), float64(d.Round(time.Microsecond))/1e6, 'f', -1, 64)
}
