package cipher

import "golang.org/x/sys/cpu"

// useRows reports whether the processor and the operating system support AVX2.
var useRows = cpu.X86.HasAVX2
