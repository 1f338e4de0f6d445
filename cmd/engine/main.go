//go:build cgo

// The engine is the library that the plugin for Wireshark loads. The plugin
// passes datagrams to it and receives their fields. It is the only part of
// bcdissect that needs cgo, as docs/decisions/0005-no-cgo.md explains.
package main

/*
#cgo linux LDFLAGS: -ldl
#cgo CFLAGS: -O2
#include <stdlib.h>
#include "lua.h"
*/
import "C"

import (
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/bcdissect/bcdissect/cmd/internal/wireshark/engine"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

func main() {} // never called

// collect and collectMany are values of GOGC. The datagrams of a capture stay
// in memory and little else is allocated, so the larger value saves time. From
// many bytes of datagrams on it would take too much memory, so the smaller one
// is used.
const (
	collect     = 400
	collectMany = 100
	many        = 8 << 20
)

// console is the engine of this process. Wireshark shows one capture at a time.
var console = start()

// thrifty is set when there are many datagrams.
var thrifty bool

func start() *engine.Console {
	debug.SetGCPercent(collect)
	return engine.NewConsole()
}

// bcdissectCommand runs a command of the plugin.
//
//export bcdissectCommand
func bcdissectCommand(text *C.char, size C.size_t, to *C.answer) {
	to.status = C.STATUS_NONE
	defer caught(to)
	if said := console.Command(C.GoStringN(text, C.int(size))); said != "" { // fits, since commands are short
		put(to, C.STATUS_TEXT, []byte(said))
	}
}

// bcdissectDatagram dissects a datagram.
//
//export bcdissectDatagram
func bcdissectDatagram(f *C.frame, to *C.answer) {
	to.status = C.STATUS_NONE
	defer caught(to)
	frame := engine.Frame{
		Number: int(f.number), Seconds: float64(f.seconds), WireLen: int(f.wire_len),
		Data: unsafe.Slice((*byte)(unsafe.Pointer(f.data)), int(f.size)), At: int(f.at), Len: int(f.len), Full: int(f.full),
		SrcPort: int(f.src_port), DstPort: int(f.dst_port),
	}
	if f.src != nil && f.dst != nil {
		frame.Src, frame.Dst = C.GoString(f.src), C.GoString(f.dst)
	}
	b, answer := console.Datagram(&frame, f.flags&C.FLAG_AGAIN != 0, f.flags&C.FLAG_ALL != 0, f.flags&C.FLAG_CHOSEN != 0)
	for _, n := range console.Names() {
		name(&n)
	}
	if held := console.Held(); held > many != thrifty {
		if thrifty = !thrifty; thrifty {
			debug.SetGCPercent(collectMany)
		} else {
			debug.SetGCPercent(collect)
		}
	}
	switch answer {
	case engine.NotOurs: // the status says so
	case engine.Addresses:
		to.status = C.STATUS_ADDRESSES
	case engine.Line:
		put(to, C.STATUS_LINE, b)
	case engine.Trailer:
		put(to, C.STATUS_OURS, b)
	}
}

// name passes the name of an address to Wireshark.
func name(n *wireshark.Name) {
	text := C.CString(n.Name)
	defer C.free(unsafe.Pointer(text))
	b := n.Addr.AsSlice()
	C.bcdissect_name((*C.uchar)(unsafe.Pointer(&b[0])), C.int(len(b)), text)
}

// put copies an answer to C memory.
func put(to *C.answer, status C.int, b []byte) {
	if int(to.room) < len(b) || to.text == nil {
		C.free(unsafe.Pointer(to.text))
		to.room = C.size_t(2*len(b) + 1)
		to.text = (*C.char)(C.malloc(to.room))
	}
	to.status, to.size = status, C.size_t(len(b))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(to.text)), len(b)), b)
}

// caught converts a panic to an answer, since a panic must not end Wireshark.
func caught(to *C.answer) {
	if p := recover(); p != nil {
		console = engine.NewConsole()
		put(to, C.STATUS_TEXT, fmt.Appendf(nil, "the engine stopped: %v\n%s", p, debug.Stack()))
	}
}
