package kaitai

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/report/reference"
)

// The types of kinds in the base are what the lines of kinds amount to.
func TestKinds(t *testing.T) {
	var b struct {
		Kinds map[string]string `json:"-kinds"`
		Types object            `json:"types"`
	}
	if err := json.Unmarshal(base, &b); err != nil {
		t.Fatal(err)
	}
	names, types := map[string]string{}, object{"bit": b.Types["bit"], "here": b.Types["here"]}
	for _, k := range reference.Kinds() {
		kind(names, types, &k)
	}
	want, err := json.MarshalIndent(object{"-kinds": names, "types": types}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(object{"-kinds": b.Kinds, "types": b.Types}, "", " ")
	if err != nil || string(got) != string(want) {
		t.Errorf("base.json has other kinds than the lines:\n%s\nwant\n%s", got, want)
	}
}

var numbers = map[string]string{"u8": "u1", "u16": "u2", "u32": "u4", "s8": "s1", "s16": "s2", "s32": "s4", "f32": "f4"}

// single returns the expression for a number rounded to 32 bits. The result may be another
// if the number is in the middle between two.
func single(x string) string {
	return fmt.Sprintf("%[1]s * 536870913.0 - (%[1]s * 536870913.0 - %[1]s)", x)
}

// kind adds the type of a kind, unless it is a number, a bit, or the rest of the message.
func kind(names map[string]string, types object, k *reference.Kind) {
	name := "k_" + strings.ToLower(strings.NewReplacer(" ", "_", ",", "").Replace(k.Name))
	var seq []object
	instances := object{}
	values := func(id string, n int, format string) {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "#", strconv.Itoa(i))
		}
		instances[id] = object{"value": "[" + strings.Join(all, ", ") + "]"}
	}
	switch {
	case k.Encoding != "":
		seq = text(k)
	case k.Limits != nil:
		seq = []object{{"id": "raw", "type": numbers[k.Parts[0]]}}
		instances = logarithmic(k)
	case k.Type == "hex":
		seq = []object{{"id": "value", "size-eos": true}}
	case len(k.Parts) == 0:
		return
	case k.Product:
		seq = []object{{"id": "direction", "type": names[k.Parts[0]]}, {"id": "length", "type": numbers[k.Parts[1]]}}
		if values("value", 3, "direction.value[#] * length"); numbers[k.Parts[1]] == "" {
			seq[1]["type"] = names[k.Parts[1]]
			values("value", 3, "direction.value[#] * length.value")
		}
		values("single", 3, single("value[#]"))
	case len(k.Parts) == 1 && k.Divisor == 0:
		names[k.Name] = numbers[k.Parts[0]]
		return
	case len(k.Parts) == 1:
		seq = []object{{"id": "raw", "type": numbers[k.Parts[0]]}}
		instances["value"] = object{"value": fmt.Sprintf("raw / %d.0", k.Divisor)}
		if k.Decimals > 0 {
			scale := int(math.Pow10(k.Decimals))
			instances["value"] = object{"value": fmt.Sprintf("((raw * %d + %d) / %d) / %d.0", 2*k.Factor*scale, k.Divisor, 2*k.Divisor, scale)}
		}
	default:
		seq = []object{{"id": "raw", "type": numbers[k.Parts[0]], "repeat": "expr", "repeat-expr": len(k.Parts)}}
		if values("value", len(k.Parts), "raw[#] * 1"); k.Divisor > 0 { // a plain byte would make an array of bytes
			values("value", len(k.Parts), single(fmt.Sprintf("(raw[#] / %d.0)", k.Divisor)))
		}
	}
	names[k.Name], types[name] = name, object{"seq": seq, "instances": instances}
}

// text returns the fields of a text.
func text(k *reference.Kind) []object {
	if k.Length == "" {
		return []object{{"id": "value", "type": "strz", "encoding": k.Encoding}}
	}
	size := fmt.Sprintf("len * %d", k.Unit)
	if k.Counted {
		size += fmt.Sprintf(" - %d", k.Terminator)
	}
	seq := []object{{"id": "len", "type": numbers[k.Length]}, {"id": "value", "type": "str", "encoding": k.Encoding, "size": size}}
	if k.Terminator > 0 {
		seq = append(seq, object{"id": "zero", "contents": make([]int, k.Terminator)})
	}
	return seq
}

// logarithmic returns the values of a logarithmic scale. Each step is rounded to 32 bits.
// Only the sum can be in the middle between two: what is added to round it depends on its
// size.
func logarithmic(k *reference.Kind) object {
	limits := make([]string, len(k.Limits))
	for i, x := range k.Limits {
		limits[i] = strconv.FormatFloat(float64(x), 'f', 30, 64)
	}
	high := "0.0" // for each power of two, what has steps of 64 bits as large as its steps of 32 bits
	for p := math.Exp2(math.Floor(math.Log2(float64(k.Limits[1])))); p < float64(k.Limits[len(limits)-1]); p *= 2 {
		high = fmt.Sprintf("(sum >= %.20f ? %.1f : %s)", p, p*1.5*(1<<29), high)
	}
	all := object{}
	for id, value := range map[string]string{
		"limits": "[" + strings.Join(limits, ", ") + "]", "range": "(raw >> 12) & 7",
		"share": fmt.Sprintf("(raw & %d) * %.40f", k.Steps, 1/float32(k.Steps)), "share_32": single("share"),
		"span": "limits[range + 1] - limits[range]", "span_32": single("span"),
		"part": "span_32 * share_32", "part_32": single("part"),
		"sum": "limits[range] + part_32", "high": high, "size": "range == 0 ? sum : (sum + high) - high",
		"value": "(raw & 0x8000) == 0 ? size : -size",
	} {
		all[id] = object{"value": value}
	}
	return all
}
