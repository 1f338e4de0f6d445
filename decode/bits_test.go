package decode_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/fixtures"
)

// filler is the byte that the vectors of bitpack.json write between bits.
const filler = 0xEE

// A bitRun is a message described by ops: T or F is a bit, x is a byte, and |
// closes the open group.
type bitRun struct {
	ops  string
	read strings.Builder // trace of the walk
}

func (m *bitRun) Walk(c *decode.Codec) {
	m.read.Reset()
	for i := range len(m.ops) {
		switch m.ops[i] {
		case 'x':
			b := uint8(filler)
			c.U8("x", &b, "a byte between bits")
			if b == filler {
				m.read.WriteByte('x')
			}
		case '|':
			c.CloseGroup()
			m.read.WriteByte('|')
		default:
			v := m.ops[i] == 'T'
			c.Bit("bit", &v, "a bit")
			if v {
				m.read.WriteByte('T')
			} else {
				m.read.WriteByte('F')
			}
		}
	}
}

// asks returns ops with every T replaced by F, so that reading has to supply
// the bits.
func asks(ops string) string { return strings.ReplaceAll(ops, "T", "F") }

func TestBitVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Ops, Bytes string
			ReadBack   string `json:"read_back"`
			Consumed   int
		}
		Documented []struct{ What, Byte string }
	}
	if err := json.Unmarshal(fixtures.Read(t, "vectors/bitpack.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 17 || len(file.Documented) != 11 {
		t.Fatalf("got %d vectors, %d documented", len(file.Vectors), len(file.Documented))
	}
	for _, v := range file.Vectors {
		b, err := hex.DecodeString(v.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(v.Ops, func(t *testing.T) {
			if len(b) != v.Consumed {
				t.Fatalf("the vector consumes %d of %d bytes", v.Consumed, len(b))
			}
			checkBits(t, v.Ops, v.ReadBack, b)
		})
	}
	ops := map[string]string{
		"single false": "F", "single true": "T", "true false false": "TFF",
		"collision 1, friendly fire 0, correction 0": "TFF",
		"recursive 0": "F", "recursive 1": "T", "hash present": "T", "0": "F",
		"one powered entry, no power data": "F", "two powered entries": "FF", "three powered entries": "FFF",
	}
	for _, v := range file.Documented {
		b, err := hex.DecodeString(v.Byte)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(v.What, func(t *testing.T) {
			if ops[v.What] == "" {
				t.Fatal("nothing is known of this one")
			}
			checkBits(t, ops[v.What], ops[v.What], b)
		})
	}
}

// checkBits writes ops, compares the result with b, and reads b back.
func checkBits(t *testing.T, ops, back string, b []byte) {
	t.Helper()
	got, err := decode.AppendFields(nil, "Bits", &bitRun{ops: ops}, decode.Stock)
	if err != nil || !bytes.Equal(got, b) {
		t.Errorf("written: got %x, %v, want %x", got, err, b)
	}
	// Appended to other bytes, as after an opcode.
	got, err = decode.AppendFields([]byte{1, 2}, "Bits", &bitRun{ops: ops}, decode.Stock)
	if err != nil || !bytes.Equal(got[2:], b) || got[0] != 1 || got[1] != 2 {
		t.Errorf("appended: got %x, %v, want %x after 0102", got, err, b)
	}
	m := &bitRun{ops: asks(ops)}
	rest, e := decode.ReadFields(new(decode.Codec), "Bits", m, b, decode.Stock)
	if e != nil || len(rest) > 0 || m.read.String() != back {
		t.Errorf("read: got %s, rest %x, %v, want %s", m.read.String(), rest, e, back)
	}
}

func TestBitsClosed(t *testing.T) {
	for _, tt := range []struct{ ops, bytes string }{
		{"T|T", "2121"},
		{"TF|x|T", "41ee21"},
		{"|T", "21"},
		{"TTTTT|T", "bf21"},
	} {
		t.Run(tt.ops, func(t *testing.T) {
			b, err := hex.DecodeString(tt.bytes)
			if err != nil {
				t.Fatal(err)
			}
			checkBits(t, tt.ops, tt.ops, b)
		})
	}
}

func TestBitErrors(t *testing.T) {
	for _, tt := range []struct {
		name, ops, bytes string
		want             error
		off              int
		text             string
	}{
		{"nothing left", "F", "", decode.ErrShort, 0, "Bits.bit"},
		{"nothing left for the second group", "FFFFFF", "bf", decode.ErrShort, 1, "need 1, have 0"},
		{"count 0", "F", "00", decode.ErrBits, 0, "claims 0 bits"},
		{"count 6", "F", "c0", decode.ErrBits, 0, "claims 6 bits"},
		{"count 7", "xF", "eee0", decode.ErrBits, 1, "claims 7 bits"},
		{"a value above the count", "FF", "44", decode.ErrBits, 0, "2 bits with values 0x04"},
		{"bits left at the end", "F", "61", decode.ErrBits, 0, "2 of its bits belong to no field"},
		{"bits left when the group is closed", "xF|F", "ee4120", decode.ErrBits, 1, "1 of its bits belong to no field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := hex.DecodeString(tt.bytes)
			if err != nil {
				t.Fatal(err)
			}
			_, e := decode.ReadFields(new(decode.Codec), "Bits", &bitRun{ops: tt.ops}, b, decode.Stock)
			if e == nil || !errors.Is(e, tt.want) || e.Offset != tt.off || !strings.Contains(e.Error(), tt.text) {
				t.Errorf("got %v, want %v at %d with %q", e, tt.want, tt.off, tt.text)
			}
		})
	}
}

// A group that is not full reads back as such: the codec opens another group
// for the missing bits.
func TestBitsOfSeveralGroups(t *testing.T) {
	m := &bitRun{ops: "FFF"}
	rest, err := decode.ReadFields(new(decode.Codec), "Bits", m, []byte{0x21, 0x42}, decode.Stock)
	if err != nil || len(rest) > 0 || m.read.String() != "TFT" {
		t.Errorf("got %s, rest %x, %v", m.read.String(), rest, err)
	}
}

func FuzzBits(f *testing.F) {
	f.Add("TFxF")
	f.Add("FxFxFxFxFxF")
	f.Add("TF|x|T")
	f.Fuzz(func(t *testing.T, ops string) {
		ops = strings.Map(func(r rune) rune { return rune("TFx|"[r&3]) }, ops)
		b, err := decode.AppendFields(nil, "Bits", &bitRun{ops: ops}, decode.Stock)
		if err != nil {
			t.Fatal(err)
		}
		checkBits(t, ops, ops, b)
	})
}
