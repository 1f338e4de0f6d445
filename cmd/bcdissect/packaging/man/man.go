package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// init writes a manual page for each command to the folder in the only
// argument, if this file is part of the build.
func init() {
	root := newRoot(cli.Streams{})
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Source: "bcdissect", Manual: "bcdissect"}
	if err := doc.GenManTree(root, &header, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "man: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}
