package cli

import (
	"os"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/bcdissect/bcdissect/report"
)

// openConsole switches on ANSI escape sequences where standard output and
// standard error are consoles. It does not change the code page, which all
// programs of a console share: package os writes characters to consoles, not
// bytes. A legacy console has no ANSI, and its fonts lack blocks and arrows.
func openConsole(out, err *os.File) (d Display, restore func()) {
	var undo []func()
	for _, f := range []*os.File{out, err} {
		h := windows.Handle(f.Fd())
		var mode uint32
		if windows.GetConsoleMode(h, &mode) != nil { // a file or a pipe
			if f == out {
				openRedirected(f, &d)
			}
			continue
		}
		const ansi = windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
		if windows.SetConsoleMode(h, mode|ansi) != nil {
			d.NoANSI = true
			d.ASCII = d.ASCII || f == out
			continue
		}
		undo = append(undo, func() {
			_ = windows.SetConsoleMode(h, mode) // the console may be gone
		})
		d.ASCII = d.ASCII || f == out && rasterFont(h)
	}
	return d, func() {
		for i := len(undo) - 1; i >= 0; i-- { // both may be the same console
			undo[i]()
		}
	}
}

// openRedirected finds out what reads standard output that is no console: a
// program behind a pipe, or a user with an editor or a spreadsheet.
func openRedirected(out *os.File, d *Display) {
	switch kind, err := windows.GetFileType(windows.Handle(out.Fd())); {
	case err != nil:
	case kind == windows.FILE_TYPE_PIPE:
		d.CodePage = pageOfConsole()
	case kind == windows.FILE_TYPE_DISK:
		info, err := out.Stat()
		d.File = err == nil && info.Size() == 0 // ">>" goes on in a file that may have text
	}
}

// pageOfConsole returns the code page in which the programs of a console read
// text from pipes. It returns 0 if that is UTF-8 or if there is no console.
func pageOfConsole() uint32 {
	const codePageUTF8 = 65001
	page, err := windows.GetConsoleOutputCP()
	if err != nil || page == codePageUTF8 {
		return 0
	}
	return page
}

var wideCharToMultiByte = windows.NewLazySystemDLL("kernel32.dll").NewProc("WideCharToMultiByte")

// inCodePage converts UTF-8 to a code page. Characters that the page lacks
// become question marks.
func inCodePage(page uint32, text []byte) []byte {
	wide := utf16.Encode([]rune(string(text)))
	if len(wide) == 0 {
		return nil
	}
	const noBestFit = 0x400 // WC_NO_BEST_FIT_CHARS
	const longest = 4       // bytes of a character
	out := make([]byte, longest*len(wide))
	n, _, _ := wideCharToMultiByte.Call(uintptr(page), noBestFit, uintptr(unsafe.Pointer(&wide[0])), uintptr(len(wide)),
		uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)), 0, 0) // 0 means an error
	if n == 0 { // some code pages accept no flags
		return []byte(report.ASCII(string(text)))
	}
	return out[:n]
}

// fontInfo is the structure CONSOLE_FONT_INFOEX of Windows.
type fontInfo struct {
	size   uint32
	index  uint32
	width  int16
	height int16
	family uint32
	weight uint32
	face   [32]uint16
}

var getFont = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetCurrentConsoleFontEx")

// rasterFont reports whether a console draws with a font that has only the
// characters of one code page. If the console does not tell, the result is
// false.
func rasterFont(console windows.Handle) bool {
	const trueType = 4 // TMPF_TRUETYPE
	if os.Getenv("WT_SESSION") != "" || getFont.Find() != nil {
		return false // Windows Terminal draws without a console font
	}
	info := fontInfo{size: uint32(unsafe.Sizeof(fontInfo{}))}
	ok, _, _ := getFont.Call(uintptr(console), 0, uintptr(unsafe.Pointer(&info))) // ok also tells whether there was an error
	return ok != 0 && info.height > 0 && info.family&trueType == 0
}

var listProcesses = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetConsoleProcessList")

// OwnConsole reports whether the console was created for this program and no
// other program uses it. That is so after a double click in the Explorer or in
// another file manager.
func OwnConsole() bool {
	if listProcesses.Find() != nil {
		return false
	}
	var ids [2]uint32
	n, _, _ := listProcesses.Call(uintptr(unsafe.Pointer(&ids[0])), uintptr(len(ids))) // 0 without a console
	return n == 1
}
