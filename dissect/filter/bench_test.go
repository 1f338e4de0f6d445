package filter

import (
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

func BenchmarkMatch(b *testing.B) {
	for _, bench := range []struct{ name, expr, sample string }{
		{"name", `name == TorpedoFire`, "19-target"},
		{"target", `name == TorpedoFire and fields.target == 0x4003FFFF`, "19-target"},
		{"speed", `StateUpdate.speed > 5`, "1c-client-9d"},
		{"speed absent", `StateUpdate.speed > 5`, "1c-host-20-remote"},
		{"speed of another", `StateUpdate.speed > 5`, "19-target"},
		{"flags", `flags & 0x20`, "1c-client-9d"},
		{"set", `opcode in {0x07..0x0C, 0x19}`, "19-target"},
		{"entries", `subsystems.entries.condition < 0.5`, "1c-host-20-remote"},
		{"text", `chat.text contains "lag"`, "2c-chat"},
		{"regexp", `chat.text matches "(?i)l.g"`, "2c-chat"},
		{"address", `src == 10.0.0.0/8`, "2c-chat"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			f, r := must(b, bench.expr), sample(b, bench.sample)
			b.ReportAllocs()
			for b.Loop() {
				f.Match(r)
			}
		})
	}
}

// BenchmarkCapture matches every record of a battle; its metric is the cost per
// record.
func BenchmarkCapture(b *testing.B) {
	// Every 20th record: in a pipeline the records are in the cache. A whole
	// capture's records do not fit there.
	var all []*dissect.Record
	n := 0
	recorded.Records(b, "battle_mix.pcap.gz", dissect.Config{Catalog: stock}, func(r *dissect.Record) {
		if n++; n%20 == 0 {
			all = append(all, clone(b, r))
		}
	})
	for _, expr := range []string{
		`frame == 0`, // the minimum cost per record
		`name == TorpedoFire`,
		`name == TorpedoFire and fields.target == 0x4003FFFF`,
		`StateUpdate.speed > 5`,
		`speed > 5`,
		`flags & 0x20`,
		`opcode in {0x07..0x0C, 0x19}`,
		`chat.text contains "lag"`,
		`src == 10.0.0.5`,
		`peer == 3`,
		`subsystems.entries.condition < 0.5`,
		`kind == ack or status`,
		`object_slot == 2 and not name == StateUpdate`,
	} {
		b.Run(expr, func(b *testing.B) {
			f := must(b, expr)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for _, r := range all {
					if f.Match(r) {
						n++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)), "ns/record")
			b.ReportMetric(float64(n)/float64(b.N), "matches")
			b.ReportMetric(0, "ns/op")
		})
	}
}
