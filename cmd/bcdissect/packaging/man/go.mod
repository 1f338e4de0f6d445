// This folder is no part of the module around it, so that what writes manual
// pages is none of the program's dependencies. "make man" compiles the file
// here into the program, which then writes its manual instead of running.
module github.com/bcdissect/bcdissect/cmd/bcdissect/packaging/man

go 1.26.0
