package viewer

import (
	"slices"

	"github.com/bcdissect/bcdissect/dissect/capture"
)

// places maps the frame numbers of several recordings to the frame numbers in
// their list. It is the tap of their passage.
type places struct {
	file   int // the current file, in the order in which they are opened
	names  map[int]string
	frames map[int][]uint32 // for each file, the numbers of its frames in order
}

// number returns the number in the list of a frame of a recording, or 0 if
// there is none. A passage of the recording's files reads their frames in the
// order in which a passage of all files does.
func (p *places) number(names []string, frame int) int {
	var all []uint32
	for file, of := range p.names {
		if slices.Contains(names, of) {
			all = append(all, p.frames[file]...)
		}
	}
	if frame <= 0 || frame > len(all) {
		return 0
	}
	slices.Sort(all)
	return int(all[frame-1])
}

// File implements [capture.Tap].
func (p *places) File(n int) { p.file = n }

// Frame implements [capture.Tap].
func (p *places) Frame(f *capture.Frame) {
	p.frames[p.file] = append(p.frames[p.file], uint32(f.Number))
	if f.Datagram != nil {
		p.names[p.file] = f.Datagram.Capture
	}
}

// Section implements [capture.Tap].
func (p *places) Section([]byte) {}

// Interface implements [capture.Tap].
func (p *places) Interface(*capture.Interface) {}

// Block implements [capture.Tap].
func (p *places) Block(uint32, []byte) {}
