package ndjson

import (
	"io"
	"math"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// Stats writes the counts as one object on one line.
func Stats(w io.Writer, t *measure.Tally) error {
	_, err := w.Write(append(AppendStats(nil, t), '\n'))
	return err
}

// AppendStats appends the counts as one object.
func AppendStats(dst []byte, t *measure.Tally) []byte {
	count := func(key string, n int64) { dst = strconv.AppendInt(append(dst, key...), n, 10) }

	count(`{"frames":`, t.Frames)
	dst = append(dst, `,"duration":`...)
	dst = strconv.AppendFloat(dst, float64(t.Duration)/1e9, 'f', -1, 64)

	count(`,"datagrams":{"game":`, t.Game)
	count(`,"gamespy":`, t.GameSpy)
	count(`,"malformed":`, t.Malformed)
	count(`,"other":`, t.Other)

	count(`},"messages":{"total":`, t.Messages)
	dst = append(dst, `,"by_type":`...)
	dst = appendHexCounts(dst, &t.Types)

	count(`},"reliability":{"reliable":`, t.Reliable)
	count(`,"unreliable":`, t.Unreliable)
	count(`,"duplicates":`, t.Duplicates)
	count(`,"fragments":`, t.Fragments)
	count(`,"reassembled":`, t.Reassembled)
	count(`,"incomplete":`, t.Incomplete)

	dst = append(dst, `},"opcodes":[`...)
	for i, o := range t.ByCount() {
		if i > 0 {
			dst = append(dst, ',')
		}
		count(`{"opcode":`, int64(o.Opcode))
		if o.Name != "" {
			dst = append(dst, `,"name":`...)
			dst = display.AppendString(dst, o.Name)
		}
		count(`,"c2s":`, o.ToHost)
		count(`,"s2c":`, o.FromHost)
		count(`,"total":`, o.Total)
		count(`,"bytes":`, o.Bytes)
		dst = append(dst, `,"share":`...)
		dst = strconv.AppendFloat(dst, math.Round(t.Share(o.Total)*1e6)/1e6, 'f', -1, 64)
		dst = append(dst, '}')
	}

	dst = append(dst, `],"state_flags":{"c2s":`...)
	dst = appendHexCounts(dst, (*[256]int64)(&t.Flags[dissect.ToHost]))
	dst = append(dst, `,"s2c":`...)
	dst = appendHexCounts(dst, (*[256]int64)(&t.Flags[dissect.FromHost]))

	count(`},"payload_bytes":`, t.PayloadBytes)
	count(`,"residue_bytes":`, t.ResidueBytes)
	count(`,"errors":`, t.Errors)
	return append(dst, '}')
}

// appendHexCounts appends an object of the counts that are not 0; keys are the
// indices as 0x9E.
func appendHexCounts(dst []byte, counts *[256]int64) []byte {
	const digits = "0123456789ABCDEF"
	dst = append(dst, '{')
	first := true
	for i, n := range counts {
		if n == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"', '0', 'x', digits[i>>4], digits[i&15], '"', ':')
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, '}')
}
