// Package filter selects records with expressions similar to Wireshark's
// display filters:
//
//	name == TorpedoFire and fields.target == 0x4003FFFF
//	StateUpdate.speed > 5 or flags & SUBSYSTEMS
//	opcode in {0x07..0x0C, 0x19} and not reliable
//	chat.text contains "lag" && src == 10.0.0.0/8
//
// # Left side
//
// The keys of a record, listed in package key: those of the JSON object,
// column-only keys such as src_port, and filter-only keys such as addr for
// either address.
//
// Decoded fields by path: fields.target or target in any message,
// TorpedoFire.target in one. Messages go by their name, the game's own constant
// or a name from public documents, in upper or lower case. A key hides a field
// of the same name, which fields.name and ObjectCreate.name still reach. The
// values that JSON adds to a field work, too: species_name, flag_names,
// object_slot, object_name. gamespy.hostname is the value of a
// key of GameSpy text. Some keys have the names of Wireshark, too: ip.src. All
// names may begin with bc., as they do in annotated captures, and bc alone holds
// for all records. The
// components of a vector are position.x, .y and .z or [0], [1] and [2]; for an
// orientation w comes first. [n] also selects a value of an array and a byte of
// bytes. A path into a list stands for the field of every element. len(text) is
// the number of characters, bytes, values or elements. text[0:2], [0-1], [2:],
// [:2] and [-1] are parts of a text or of bytes; upper(text) and lower(text)
// change the case.
//
// # Operators
//
//	== != < <= > >=       eq ne lt le gt ge
//	=== !==               all_eq any_ne
//	contains, matches     ~ for matches; Go's regular expressions, (?i) ignores case
//	in {1, 3..5}          not in {...}; spaces may replace the commas
//	& 0x20                the bits of a whole number, not zero or compared
//	and or xor not        && || ^^ !, not before and before xor before or
//
// A bare field holds if the record has it in its JSON form: reliable, but also
// cloaked while the cloak is off. A bare message name holds for records of that
// message. A comparison of a missing field never holds, but not (speed == 5)
// does. A bare status means that something is wrong; comparisons also accept
// ok.
//
// A list, array or pair has many values. As in Wireshark 4, one of them is
// enough for ==, <, contains, in and the others, but != requires all of them to
// differ; === requires all to be equal, !== any to differ.
//
// # Values
//
// Values are literals: fields cannot be compared with each other. Numbers are
// decimal, 0x or 0b, with a sign, fraction and exponent where appropriate; a
// float is compared as the nearest 32-bit float, as shown in JSON. Named values
// also match by name, ignoring case and spaces: species == "Bird of Prey",
// reason == "time up", flags & CLOAK, dir == c2s. Text is case-sensitive and
// needs single or double quotes unless it is one word without another meaning.
// Bytes are hexadecimal, 0a0b or 0a:0b, or the characters of a quoted text.
// Addresses are 10.0.0.5, 10.0.0.0/8, 10.0.0.5:22101 and [::1]:22101, times
// 2002-03-01T20:00:00Z or a prefix of that, seconds 12.5, 1m30s or 00:01:30.
//
// # Use
//
// [Compile] checks an expression against the descriptions of the messages, so
// that the result can be matched with any record. The cost of a match is
// bounded by the size of the expression and the record. A [Filter] borrows the
// record during Match and allocates nothing. It is not safe for concurrent use.
package filter
