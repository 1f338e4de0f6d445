package filter

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
)

// Equal returns an expression that matches messages in which the field with the
// name has the value of f. It is a comparison, or one comparison for each
// component of a vector. If no comparison can express the value, such as an
// array, it is the bare name, which matches all messages with the field.
func Equal(name string, f *decode.Field) string {
	if parts := f.Kind.Components(); parts != "" {
		var all []string
		for i, part := range parts {
			if it, ok := display.Element(f, i); ok {
				all = append(all, equal(name+"."+string(part), f, it))
			}
		}
		return strings.Join(all, " and ")
	}
	var p display.Presenter
	it, ok := p.Item(f, display.Whole, nil)
	if !ok {
		return name
	}
	return equal(name, f, it)
}

// equal compares a name with an item of a field.
func equal(name string, f *decode.Field, it display.Item) string {
	switch it.Type {
	case decode.TypeBytes:
		if len(f.Bytes) == 0 {
			return "len(" + name + ") == 0"
		}
		return name + " == " + hex.EncodeToString(f.Bytes)
	case decode.TypeIPv4:
		return name + " == " + string(it.Text)
	case decode.TypeFloat:
		if x := float64(it.Float); math.IsNaN(x) || math.IsInf(x, 0) {
			return name
		}
	case decode.TypeInt:
		switch f.Kind { //nolint:exhaustive // people read the others as decimals
		case decode.KindObject, decode.KindFlags8, decode.KindHash16, decode.KindHash32:
			return fmt.Sprintf("%s == 0x%0*X", name, 2*size(f), uint64(it.Int))
		}
	case decode.TypeBool, decode.TypeText, decode.TypeVector, decode.TypeShares:
	}
	return name + " == " + string(it.AppendJSON(nil))
}

// size returns the size of a number in bytes.
func size(f *decode.Field) int {
	n, _ := f.Kind.Size()
	return n
}
