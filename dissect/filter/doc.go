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
// A left side is a key of a record. Package key lists them: the keys of the
// JSON object, keys only for columns and filters such as src_port, and keys
// only for filters such as addr, which means either address.
//
// A left side can also be the path of a decoded field: fields.target or target
// in any message, TorpedoFire.target in one. A message has three names, in
// upper or lower case: its name here, the game's constant, and names in public
// documents. If a key and a field have the same name, the name means the key,
// and fields.name or ObjectCreate.name means the field. A field also has the
// values that JSON adds to it, such as species_name, flag_names, object_slot
// and object_name. The name gamespy.hostname is the value of a key of GameSpy
// text. Some keys also have Wireshark's names, such as ip.src. All names may
// begin with bc., as they do in annotated captures, and the name bc is true for
// all records.
//
// The components of a vector are position.x, .y and .z or [0], [1] and [2]. In
// an orientation, w comes first. [n] also selects a value of an array and a
// byte of bytes. A path into a list stands for the field of every element.
// len(text) is the number of characters, bytes, values or elements. text[0:2],
// [0-1], [2:], [:2] and [-1] are parts of a text or of bytes. upper(text) and
// lower(text) change the case.
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
// A field without a comparison is true if the JSON object of the record has it.
// So reliable finds reliable messages, but cloaked also finds ships whose cloak
// is off. A message name without a comparison is true for records of that
// message. A comparison of a missing field is always false, but not (speed ==
// 5) is then true. The name status without a comparison means that something is
// wrong. Comparisons of status also accept ok.
//
// A list, array or pair has several values. As in Wireshark 4, a comparison
// such as ==, <, contains or in is true if it is true for one of them. The
// exceptions: != requires all to differ, === requires all to be equal, and !==
// requires one to differ.
//
// # Values
//
// Values are literals: fields cannot be compared with each other. Numbers are
// decimal, 0x or 0b, with a sign, fraction and exponent where appropriate. A
// float is compared as the nearest 32-bit float, as shown in JSON. Named values
// also match by name, ignoring case and spaces, for example species == "Bird of
// Prey", reason == "time up", flags & CLOAK, or dir == c2s. Text is
// case-sensitive and needs single or double quotes unless it is one word
// without another meaning. Bytes are hexadecimal, 0a0b or 0a:0b, or the
// characters of a quoted text. Forms of addresses are 10.0.0.5, 10.0.0.0/8,
// 10.0.0.5:22101 and [::1]:22101. A time is 2002-03-01T20:00:00Z or a prefix of
// that. Seconds are 12.5, 1m30s or 00:01:30.
//
// # Use
//
// [Compile] checks an expression against the descriptions of the messages, so
// that the result can be matched with any record. The cost of a match is
// bounded by the size of the expression and the record. A [Filter] borrows the
// record during Match and allocates nothing. It is not safe for concurrent use.
package filter
