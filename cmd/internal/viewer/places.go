package viewer

import "github.com/bcdissect/bcdissect/dissect/capture"

// places maps the frame numbers of several captures to the frame numbers in
// their list. It is the tap of their passage.
type places struct {
	file   int // the current file, in the order in which they are opened
	names  map[int]string
	frames map[int][]uint32 // for each file, the numbers of its frames in order
}

// number returns the number in the list of a frame of a capture, or 0 if there
// is none.
func (p *places) number(name string, frame int) int {
	for file, of := range p.names {
		if all := p.frames[file]; of == name && frame > 0 && frame <= len(all) {
			return int(all[frame-1])
		}
	}
	return 0
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
