// Package filter chooses records by an expression in the manner of Wireshark's
// display filters:
//
//	name == TorpedoFire and fields.target == 0x4003FFFF
//	StateUpdate.speed > 5 or flags & SUBSYSTEMS
//	opcode in {0x07..0x0C, 0x19} and not reliable
//	chat.text contains "lag" && src == 10.0.0.0/8
//
// # What stands on the left
//
// The keys of a record, of which package key has the table: those of the JSON
// object, those that only columns have, such as src_port, and those of filters
// alone, such as addr for either address.
//
// A decoded field by its path: fields.target or target for that of any message,
// TorpedoFire.target for that of one. Messages go by their name, the game's own
// constant or a name from public documents, in upper or lower case. A key hides
// a field of the same name, which fields.name and ObjectCreate.name still reach.
// What JSON adds to a field can be asked for, too: species_name, flag_names,
// object_slot, object_name. The keys of GameSpy text are not fields. The
// components of a vector are position.x, .y and .z or [0], [1]
// and [2]; of an orientation w comes first. [n] also takes a value of an array
// and a byte of bytes. A path into a list is that of the field in every element.
// len(text) is the number of characters, bytes, values or elements.
//
// # What can be said of it
//
//	== != < <= > >=       eq ne lt le gt ge
//	=== !==               all_eq any_ne
//	contains, matches     ~ for matches; Go's regular expressions, (?i) ignores case
//	in {1, 3..5}          not in {...}
//	& 0x20                the bits of a whole number, not zero or compared
//	and or xor not        && || ^^ !, not before and before xor before or
//
// A field alone holds if the record has it, as the JSON record has it: reliable,
// but also cloaked where the cloak is off. A message alone holds for records of
// that message. A comparison of what the record does not have does not hold,
// whatever it is; not (speed == 5) does. status alone means that there is one,
// that is, that something is wrong; to compare with, there is also ok.
//
// A list, array or pair has many values. As in Wireshark 4, any of them is
// enough for ==, <, contains, in and the others, but != wants all of them to
// differ; === wants all to be equal, !== any to differ.
//
// # Values
//
// A value is written out: fields are not compared with each other. Numbers are
// decimal, 0x and 0b, with a sign, fraction and exponent where they
// make sense; a float is compared as the 32-bit float nearest to the number, as
// JSON shows it. Values with names are also compared by name, in either case and
// without regard to spaces: species == "Bird of Prey", reason == "time up",
// flags & CLOAK, dir == c2s. Text, compared by case, is put in quotes of either
// kind, unless it is one word that means nothing else. Bytes are hexadecimal,
// 0a0b or 0a:0b; in quotes they are the characters of a text. Addresses are
// 10.0.0.5, 10.0.0.0/8, 10.0.0.5:22101 and [::1]:22101, times
// 2002-03-01T20:00:00Z (less of it will do), seconds 12.5 or 1m30s.
//
// # Use
//
// [Compile] checks everything against the description of the messages, so that
// a filter that compiles can be matched with any record; the cost of a match is
// bounded by the size of the expression and the record. A [Filter] borrows the
// record for the call to Match and allocates nothing. It is not safe for
// concurrent use.
package filter
