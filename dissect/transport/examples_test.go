package transport

import (
	"encoding/json"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// An example is one entry of fixtures/vectors/transport-examples.json.
type example struct {
	Name, Layer string
	Hex         hexList
	Expect      json.RawMessage
	Truncated   int `json:"truncated_to"`
}

// A hexList is one hex string or a list of them.
type hexList [][]byte

func (l *hexList) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		list = make([]string, 1)
		if err := json.Unmarshal(b, &list[0]); err != nil {
			return err
		}
	}
	for _, text := range list {
		b, err := fixtures.ParseHex(text)
		if err != nil {
			return err
		}
		*l = append(*l, b)
	}
	return nil
}

// examples returns the examples of a layer.
func examples(tb testing.TB, layer string) []example {
	tb.Helper()
	var file struct{ Examples []example }
	if err := json.Unmarshal(fixtures.Read(tb, "vectors/transport-examples.json"), &file); err != nil {
		tb.Fatal(err)
	}
	var out []example
	for _, e := range file.Examples {
		if e.Layer == layer {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		tb.Fatalf("no example of layer %s", layer)
	}
	return out
}

// datagrams returns the deciphered datagrams of the examples.
func datagrams(tb testing.TB) [][]byte {
	tb.Helper()
	var out [][]byte
	for _, e := range examples(tb, "datagram") {
		out = append(out, e.Hex[0])
	}
	return out
}
