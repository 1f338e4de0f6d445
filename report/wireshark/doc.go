// Not part of the library: package wireshark shows the game's traffic in
// Wireshark. An [Annotator] makes a trailer from the records of a datagram, which
// is appended to its frame. The plugin that [Plugin] writes is a post-dissector
// that shows the trailers. Only this program needs to know the protocol, so the
// plugin cannot disagree with it.
//
// # Trailer
//
// All numbers are little-endian. A trailer ends with a footer of 32 bytes:
//
//	u32   size of the trailer, with the footer
//	u32   checksum of the table of fields
//	u32   offset of the UDP payload in the frame, or FFFFFFFF if it is data source 0
//	u16   size of the UDP payload
//	u16   number of fields in the list
//	u16   size of the text for the Info column
//	u8    flags: 1 there is expert information, 2 some fields are missing
//	u8    number of data sources
//	u32   size of the items
//	text  "bcnotes1"
//
// The parts before the footer are, in this order:
//
//   - the text "bcnotes1"
//   - the data sources, each after its size (u16)
//   - the items
//   - the list of their fields, with the ID of each field (u16) and the position
//     of its first item (u16)
//   - the text of the Info column in UTF-8
//
// Positions are offsets in the items. An item consists of
//
//	u16   ID of its field
//	u16   offset in its data source
//	u16   size
//	u16   position of the next item with the same field, 0 for none
//	u8    depth in the tree, from 0
//	u8    number of its data source, 0 for the UDP payload
//
// and a value in the form of the field: a 32-bit number, a 64-bit float, a byte
// for a boolean, a text after its size (u16), or nothing if the bytes themselves
// are the value. Two codes can replace the size of a text. FFFF is followed by
// the position of an equal earlier text. FFFE is followed by the offset and the
// size (u16 each) of a part of the text for the Info column. The ID 1 is not a
// field but expert information about the last item at the depth before. Its kind
// is in the offset, and its value is a text.
//
// An Annotator uses records and payloads only during a call. The trailer and the
// comments that it returns are valid until the next datagram begins.
package wireshark
