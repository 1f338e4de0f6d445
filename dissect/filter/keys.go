package filter

import (
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
)

// A class is the type of a value.
type class uint8

const (
	classNone class = iota // only presence can be tested
	classNumber
	classBool
	classWord // one of a small set of words
	classText
	classBytes
	classAddress
	classTime
	classSeconds
	classVector
)

// classNames are the names of classes in errors.
var classNames = [...]string{
	classNone: "not a value", classNumber: "a number", classBool: "true or false", classWord: "a word", classText: "text",
	classBytes: "bytes", classAddress: "an address", classTime: "a time", classSeconds: "a number of seconds",
	classVector: "a vector",
}

// classes maps types of keys to classes.
var classes = [...]class{
	key.Object: classNone, key.Int: classNumber, key.Bool: classBool, key.Word: classWord, key.Text: classText, key.Hex: classBytes,
	key.Address: classAddress, key.IP: classAddress, key.Time: classTime, key.Seconds: classSeconds,
}

// classOf returns the class of a key. A message is compared as words, and notes
// as text.
func classOf(k *key.Key) class {
	switch {
	case k.Message:
		return classWord
	case k.Text != nil:
		return classText
	}
	return classes[k.Type]
}

// wordOf returns the getter of a key's word.
func wordOf(k *key.Key) func(f *Filter, r *dissect.Record) int {
	if !k.Message {
		return func(_ *Filter, r *dissect.Record) int { return k.Word(r) }
	}
	return func(f *Filter, r *dissect.Record) int {
		if s := f.seen[r.Spec]; s != nil && s.id < f.game && len(r.Payload) > 0 {
			return s.id
		}
		return -1
	}
}

// bytesOf returns the getter of a key's bytes or text, or nil if it has
// neither. The result of the getter is valid until the next call.
func bytesOf(k *key.Key) func(f *Filter, r *dissect.Record) []byte {
	switch {
	case k.Bytes != nil:
		return func(_ *Filter, r *dissect.Record) []byte { return k.Bytes(r) }
	case k.Append != nil:
		return func(f *Filter, r *dissect.Record) []byte {
			f.text = k.Append(f.text[:0], r)
			return f.text
		}
	}
	return nil
}
