package ndjson

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// allAkiras knows every ship as an Akira.
type allAkiras struct{}

func (allAkiras) Ship(wire.ObjectID) *ship.Class            { return ship.BySpecies(1) }
func (allAkiras) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

var (
	client = netip.MustParseAddrPort("192.168.0.10:22102")
	host   = netip.MustParseAddrPort("192.168.0.1:22101")
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// message makes the record of a reliable game message from a client.
func message(tb testing.TB, payload string) *dissect.Record {
	tb.Helper()
	b, err := hex.DecodeString(payload)
	if err != nil {
		tb.Fatal(err)
	}
	r := &dissect.Record{
		Datagram: &dissect.Datagram{Number: 12, Time: start.Add(153 * time.Millisecond), Digits: 6, Src: client, Dst: host},
		Dir:      dissect.ToHost,
		Peer:     2,
		Bytes:    append([]byte{0x32, byte(5 + len(b)), 0x80, 0x2C, 0x03}, b...),
		Payload:  b,
		Spec:     msg.Catalog().Lookup(decode.Opcode(b[0])),
	}
	r.Transport = transport.Header{Type: transport.Standard, Len: len(r.Bytes), Size: 5, Reliable: true, HasSeq: true, Seq: 812}
	if r.Spec == nil {
		r.Status, r.Rest = dissect.StatusUnknown, b[1:]
		return r
	}
	res := decode.NewDecoder().Read(r.Spec, b, decode.Stock, allAkiras{})
	r.SetMessage(res, b, 1)
	switch {
	case res.Err != nil:
		r.Status = dissect.StatusMalformed
	case len(res.Rest) > 0:
		r.Status = dissect.StatusTrailing
	}
	return r
}

// Two ship updates: one of a client for its ship, and one of a host with
// subsystems.
const (
	ownShip   = "1cffffff3f0080e1419d0000b042000084c2000092c22137fb0b684630bb5e000001cc02cc04cc"
	otherShip = "1cffff0340000026423d0000c8420000a0c10000b04066007f0000007f544902ff64f0c080e0ff7f7d"
)

// different makes records that differ in frame, time and, in updates, the
// sender's clock and the position: an encoder caches its last output. size is
// the length of all their lines in bytes.
func different(b *testing.B, payload string) (records []*dissect.Record, size int) {
	b.Helper()
	raw, err := hex.DecodeString(payload)
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	enc := NewEncoder(Options{})
	for n := range 1000 {
		if decode.Opcode(raw[0]) == msg.OpStateUpdate {
			for _, at := range []int{5, 10, 14, 18} {
				binary.LittleEndian.PutUint32(raw[at:], math.Float32bits(200*rnd.Float32()-100))
			}
		}
		r := message(b, hex.EncodeToString(raw))
		r.Datagram.Number += n
		r.Datagram.Time = r.Datagram.Time.Add(time.Duration(n) * time.Millisecond)
		records, size = append(records, r), size+len(enc.Append(nil, r))+1
	}
	return records, size
}

func BenchmarkRecord(b *testing.B) {
	for _, bench := range []struct{ name, payload string }{
		{"own ship", ownShip},
		{"subsystems", otherShip},
		{"torpedo", "190d0000400201df8711ffff03400088d85c"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			records, size := different(b, bench.payload)
			s := New(io.Discard, Options{})
			b.SetBytes(int64(size / len(records)))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if err := s.Record(records[n%len(records)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The same lines by encoding/json, from structs that have all values ready, and
// from maps, as a program would hold fields that it does not know beforehand.
func BenchmarkEncodingJSON(b *testing.B) {
	for _, bench := range []struct{ name, payload string }{{"own ship", ownShip}, {"subsystems", otherShip}} {
		line := NewEncoder(Options{}).Append(nil, message(b, bench.payload))
		var mapped any
		if err := json.Unmarshal(line, &mapped); err != nil {
			b.Fatal(err)
		}
		structs := reflect.New(structOf(mapped)).Interface()
		if err := json.Unmarshal(line, structs); err != nil {
			b.Fatal(err)
		}
		for _, from := range []struct {
			name   string
			record any
		}{{"structs", structs}, {"maps", mapped}} {
			b.Run(bench.name+" from "+from.name, func(b *testing.B) {
				enc := json.NewEncoder(io.Discard)
				b.SetBytes(int64(len(line) + 1))
				b.ReportAllocs()
				for b.Loop() {
					if err := enc.Encode(from.record); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// structOf returns a type that holds a JSON value without maps.
func structOf(v any) reflect.Type {
	switch v := v.(type) {
	case map[string]any:
		var fields []reflect.StructField
		for i, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", i), Type: structOf(v[key]), Tag: reflect.StructTag(fmt.Sprintf(`json:"%s"`, key)),
			})
		}
		return reflect.StructOf(fields)
	case []any:
		if len(v) > 0 {
			return reflect.SliceOf(structOf(v[0]))
		}
	}
	return reflect.TypeOf(v)
}

func TestShow(t *testing.T) {
	for _, p := range []string{ownShip, otherShip} {
		t.Logf("%s", NewEncoder(Options{}).Append(nil, message(t, p)))
	}
}
