package cli

import (
	"os"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/bcdissect/bcdissect/report"
)

// openConsole switches on ANSI where standard output and standard error are
// consoles. UTF-8 needs no switch, as package os hands characters to consoles,
// not bytes; so the code page, which all programs of a console share, stays as
// it is. A legacy console has no ANSI, and fonts without blocks and arrows.
func openConsole(out, err *os.File) (d Display, restore func()) {
	var undo []func()
	for _, f := range []*os.File{out, err} {
		h := windows.Handle(f.Fd())
		var mode uint32
		if windows.GetConsoleMode(h, &mode) != nil { // a file or a pipe
			if kind, err := windows.GetFileType(h); f == out && err == nil && kind == windows.FILE_TYPE_PIPE {
				d.CodePage = pageOfConsole()
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

// pageOfConsole returns the code page in which the programs of a console take text from
// pipes, 0 if that is UTF-8 or there is no console.
func pageOfConsole() uint32 {
	const codePageUTF8 = 65001
	page, err := windows.GetConsoleOutputCP()
	if err != nil || page == codePageUTF8 {
		return 0
	}
	return page
}

var wideCharToMultiByte = windows.NewLazySystemDLL("kernel32.dll").NewProc("WideCharToMultiByte")

// inCodePage returns UTF-8 in a code page, with question marks for what that lacks.
func inCodePage(page uint32, text []byte) []byte {
	wide := utf16.Encode([]rune(string(text)))
	if len(wide) == 0 {
		return nil
	}
	const noBestFit = 0x400 // WC_NO_BEST_FIT_CHARS
	const longest = 4       // bytes of a character
	out := make([]byte, longest*len(wide))
	n, _, _ := wideCharToMultiByte.Call(uintptr(page), noBestFit, uintptr(unsafe.Pointer(&wide[0])), uintptr(len(wide)),
		uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)), 0, 0) // 0 tells an error
	if n == 0 { // some code pages take no flags
		return []byte(report.ASCII(string(text)))
	}
	return out[:n]
}

// fontInfo is the CONSOLE_FONT_INFOEX of Windows.
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

// rasterFont reports whether a console draws with a font that has the
// characters of one code page only. A console that does not tell has none.
func rasterFont(console windows.Handle) bool {
	const trueType = 4 // TMPF_TRUETYPE
	if os.Getenv("WT_SESSION") != "" || getFont.Find() != nil {
		return false // Windows Terminal draws by itself
	}
	info := fontInfo{size: uint32(unsafe.Sizeof(fontInfo{}))}
	ok, _, _ := getFont.Call(uintptr(console), 0, uintptr(unsafe.Pointer(&info))) // an error is told by ok, too
	return ok != 0 && info.height > 0 && info.family&trueType == 0
}

var listProcesses = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetConsoleProcessList")

// OwnConsole reports whether the console was made for this program: no shell and no
// other program has it. A double click does so, also in other file managers than the
// Explorer.
func OwnConsole() bool {
	if listProcesses.Find() != nil {
		return false
	}
	var ids [2]uint32
	n, _, _ := listProcesses.Call(uintptr(unsafe.Pointer(&ids[0])), uintptr(len(ids))) // 0 without a console
	return n == 1
}
