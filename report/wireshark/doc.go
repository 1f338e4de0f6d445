// Not part of the library: package wireshark shows the game's traffic in
// Wireshark. An [Annotator] makes a trailer of the records of a datagram, which
// goes to the end of its frame; the plugin that [Plugin] writes is a
// post-dissector that shows the trailers. So all knowledge of the protocol stays
// in this program, and the plugin cannot disagree with it.
//
// # Trailer
//
// All numbers are little-endian. A trailer ends with a footer of 32 bytes:
//
//	u32   size of the trailer, with the footer
//	u32   checksum of the table of fields
//	u32   offset of the UDP payload in the frame; FFFFFFFF: it is data source 0
//	u16   size of the UDP payload
//	u16   number of ids in the list of fields
//	u16   size of the text for the Info column
//	u8    flags: 1 there is expert information, 2 fields were left out
//	u8    number of data sources
//	u32   size of the items
//	text  "bcnotes1"
//
// Before it come, in this order: the data sources, each after its size (u16);
// the items; the list of the ids of their fields, each once (u16); and the text
// of the Info column in UTF-8. An item is
//
//	u16   id of its field
//	u16   offset in the current data source
//	u16   size
//	u8    depth in the tree, from 0
//
// and a value, whose form follows from the field: a 32-bit number, a 64-bit
// float, a byte for a boolean, a text after its size (u16), or nothing if the
// bytes themselves are the value. Two ids are no fields: 0 changes the data
// source to that of the number in the offset, 0 being the UDP payload, and 1 is
// expert information of the kind in the offset, with a text, about the item
// before it in the tree.
//
// An Annotator borrows records and payloads during a call; the trailer and the
// comments that it returns are valid until the next datagram begins.
package wireshark
