// Package capture turns packets into datagrams: it reads capture files or the
// traffic of a network interface, and returns the UDP datagrams in them, in
// capture order. Packets of an interface can be kept in pcapng files.
//
// Files are recognised by content: pcap in both byte orders, with
// microseconds or nanoseconds, pcapng, and the logs of package tracelog, each
// plain or inside gzip or zstd.
// Frames are decoded down to UDP and no further, on any port.
// Datagrams sent in IP fragments are joined, within bounds.
//
// A file that was cut short or is damaged yields everything before the bad
// place. Then Next returns an error that wraps [ErrCut] or [ErrDamaged]. Reading
// does not resume behind damage: a wrong length leaves nothing to find the next
// record by.
//
// A datagram and its payload belong to the source and are valid until the next
// one is read. Clone them to keep them. Sources are not safe for concurrent use,
// except for methods documented as such.
package capture
