package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
)

const (
	fileAlign    = 0x200  // the minimum that Windows accepts
	sectionAlign = 0x1000 // size of a page
)

// forwarder returns a DLL for 64-bit Intel processors that exports one name and
// has no code. The loader forwards the name to target, in the form
// "dll.function".
func forwarder(dll, name, target string) []byte {
	section := exports(sectionAlign, dll, name, target)
	headers := &bytes.Buffer{}
	write(headers, [64]byte{0: 'M', 1: 'Z', 60: 64}) // offset 60 has the offset of the PE header
	write(headers, [4]byte{'P', 'E'})
	write(headers, pe.FileHeader{
		Machine:              pe.IMAGE_FILE_MACHINE_AMD64,
		NumberOfSections:     1,
		SizeOfOptionalHeader: uint16(binary.Size(pe.OptionalHeader64{})),
		Characteristics:      pe.IMAGE_FILE_EXECUTABLE_IMAGE | pe.IMAGE_FILE_DLL | pe.IMAGE_FILE_LARGE_ADDRESS_AWARE,
	})
	optional := pe.OptionalHeader64{
		Magic:                 0x20b, // a 64-bit image
		SizeOfInitializedData: fileAlign,
		ImageBase:             0x180000000, // the default of linkers for DLLs
		SectionAlignment:      sectionAlign,
		FileAlignment:         fileAlign,
		MajorSubsystemVersion: 6, // Windows Vista
		SizeOfImage:           2 * sectionAlign,
		SizeOfHeaders:         fileAlign,
		Subsystem:             pe.IMAGE_SUBSYSTEM_WINDOWS_GUI,
		DllCharacteristics:    pe.IMAGE_DLLCHARACTERISTICS_NX_COMPAT,
		NumberOfRvaAndSizes:   16,
	}
	optional.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT] = pe.DataDirectory{VirtualAddress: sectionAlign, Size: uint32(len(section))}
	write(headers, optional)
	write(headers, pe.SectionHeader32{
		Name:             [8]uint8{'.', 'e', 'd', 'a', 't', 'a'},
		VirtualSize:      uint32(len(section)),
		VirtualAddress:   sectionAlign,
		SizeOfRawData:    fileAlign,
		PointerToRawData: fileAlign,
		Characteristics:  pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_READ,
	})
	file := make([]byte, 2*fileAlign)
	copy(file, headers.Bytes())
	copy(file[fileAlign:], section)
	return file
}

// exports returns the section at address base that maps name to target. If an
// exported address is inside the section, Windows treats it as a forwarded
// name.
func exports(base uint32, dll, name, target string) []byte {
	type directory struct {
		Flags, Time, Version                uint32
		Name, Ordinals                      uint32
		Functions, Names                    uint32 // counts
		FunctionsAt, NamesAt, NameOrdinalAt uint32
		FunctionAt, NameAt                  uint32 // addresses of the two tables, which have one entry each
		Ordinal                             uint16
	}
	texts := base + uint32(binary.Size(directory{}))
	nameAt := texts + uint32(len(dll)) + 1
	targetAt := nameAt + uint32(len(name)) + 1
	b := &bytes.Buffer{}
	write(b, directory{
		Name: texts, Ordinals: 1,
		Functions: 1, Names: 1,
		FunctionsAt: base + 40, NamesAt: base + 44, NameOrdinalAt: base + 48,
		FunctionAt: targetAt, NameAt: nameAt,
	})
	b.WriteString(dll + "\x00" + name + "\x00" + target + "\x00")
	return b.Bytes()
}

// write appends a value of fixed size. It never fails.
func write(b *bytes.Buffer, value any) {
	if err := binary.Write(b, binary.LittleEndian, value); err != nil {
		panic(err)
	}
}
