package cli

import "runtime/debug"

// version is set by the linker, as the Makefile shows.
var version = ""

// Version returns the version that the linker set, or else the version of the
// module.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
