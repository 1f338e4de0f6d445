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
//	u16   number of fields in the list
//	u16   size of the text for the Info column
//	u8    flags: 1 there is expert information, 2 fields were left out
//	u8    number of data sources
//	u32   size of the items
//	text  "bcnotes1"
//
// Before it come, in this order: the same text; the data sources, each after its size (u16);
// the items; the list of their fields, with the id of each (u16) and the place of
// its first item (u16); and the text of the Info column in UTF-8. Places are
// those in the items. An item is
//
//	u16   id of its field
//	u16   offset in its data source
//	u16   size
//	u16   place of the next item with the same field, 0 for none
//	u8    depth in the tree, from 0
//	u8    number of its data source; 0 is the UDP payload
//
// and a value, in the form of the field: a 32-bit number, a 64-bit
// float, a byte for a boolean, a text after its size (u16), or nothing if the
// bytes themselves are the value. In the place of a size, FFFF comes before the
// place of an earlier text that is the same, and FFFE before the offset and the
// size (u16 each) of a part of the text for the Info column. The id 1 is no
// field, but expert information of the kind in the offset, with a text, about
// the last item at the depth before.
//
// An Annotator borrows records and payloads during a call; the trailer and the
// comments that it returns are valid until the next datagram begins.
package wireshark
