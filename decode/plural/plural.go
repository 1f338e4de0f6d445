// Not part of the library: package plural puts counts into words.
package plural

import (
	"strconv"
	"strings"
)

// An Integer is the type of a count.
type Integer interface{ int | int64 | uint64 }

// Form returns a text in which each {one|many} is replaced by its first part if n
// is 1, and by its second part otherwise.
func Form[N Integer](n N, text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		forms, after, _ := strings.Cut(rest, "}")
		one, many, _ := strings.Cut(forms, "|")
		if n == 1 {
			b.WriteString(one)
		} else {
			b.WriteString(many)
		}
		text = after
	}
}

// Count returns a number and a noun, with an s in the plural: "1 frame",
// "2,500 frames".
func Count[N Integer](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Thousands(n) + " " + thing + "s"
}

// Thousands returns a number with commas.
func Thousands[N Integer](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(text) - 3; i > first; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Or returns words as a choice: "A, B or C".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
