// Package decode reads, writes and describes messages. Each kind of message has
// one [Spec] and one Walk method. Reading bytes into a struct, writing the
// bytes again, showing the fields with their byte spans, filling the struct
// with named values, and listing every field that can occur are five
// interpretations of that walk.
//
// The package does no I/O, reads no clock and uses no reflection. A byte slice
// given to it is borrowed until the call returns. Byte slices in decoded
// messages share memory with the payload they were read from. The package is
// public but not stable before v1.
package decode
