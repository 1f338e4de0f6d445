package tables

import (
	"bytes"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A packed file has the rows of its parts, except the rows of an unwanted
// capture.
func TestPack(t *testing.T) {
	for _, asCSV := range []bool{false, true} {
		one, _ := write(t, "stock_client.pcap", asCSV)
		two, _ := write(t, "lossy.pcap", asCSV)
		for _, table := range []string{records, updates, "kills", "matches", Files} {
			parts := []Part{}
			for _, b := range []*buffer{one[table], two[table]} {
				parts = append(parts, Part{bytes.NewReader(b.Bytes()), int64(b.Len())})
			}
			a, errA := parts[0].Shape(asCSV)
			b, errB := parts[1].Shape(asCSV)
			if other, _ := (Part{bytes.NewReader(one["lives"].Bytes()), int64(one["lives"].Len())}).Shape(asCSV); a != b || a == other || errA != nil || errB != nil {
				t.Errorf("%s: the shapes differ, or not from those of lives: %v, %v", table, errA, errB)
			}
			out := new(bytes.Buffer)
			n, err := Pack(out, parts, func(string) bool { return true }, asCSV)
			if err != nil {
				t.Fatal(err)
			}
			if p := (Part{bytes.NewReader(out.Bytes()), int64(out.Len())}); !p.Whole(asCSV) || (Part{p, p.Size - 2}).Whole(asCSV) {
				t.Errorf("%s: the end is not that of a whole file", table)
			}
			if table == Files {
				origins, err := ReadOrigins(bytes.NewReader(out.Bytes()), int64(out.Len()), asCSV)
				files := 0
				for _, o := range origins {
					files += len(o.Files)
				}
				if err != nil || files != 2 {
					t.Errorf("got the captures %v: %v", origins, err)
				}
			}
			if !asCSV {
				got, want := read(t, &buffer{*out}), append(read(t, one[table]).rows, read(t, two[table]).rows...)
				if int(n) != len(want) || !slices.EqualFunc(got.rows, want, sameRow) {
					t.Errorf("%s: %d rows, not %d, or others", table, n, len(want))
				}
			}
			out.Reset()
			if n, err := Pack(out, parts, func(capture string) bool { return capture != "x" }, asCSV); n != 0 || err != nil {
				t.Errorf("%s: %d rows of no capture: %v", table, n, err)
			}
		}
	}
}

func sameRow(a, b [][]parquet.Value) bool {
	return slices.EqualFunc(a, b, func(a, b []parquet.Value) bool { return slices.EqualFunc(a, b, parquet.DeepEqual) })
}

// Damaged files are errors.
func TestPackDamaged(t *testing.T) {
	files, _ := write(t, "stock_client.pcap", false)
	b := files["kills"].Bytes()
	for n := 0; n < len(b); n += 7 {
		p := Part{bytes.NewReader(b[:n]), int64(n)}
		if _, err := Pack(new(bytes.Buffer), []Part{p}, func(string) bool { return true }, false); err == nil {
			t.Errorf("%d bytes of %d are a file", n, len(b))
		}
	}
}
