// Package dissect turns datagrams into records. It deciphers each datagram,
// splits it into transport messages, joins fragments and decodes the game
// messages inside. It works in capture order and with bounded memory.
//
// A byte slice argument is borrowed until the call returns. A byte slice in a
// result shares memory with the argument: clone it to keep it. The package is
// public but not stable before v1: scripts should rely on the command line and
// its JSON.
package dissect
