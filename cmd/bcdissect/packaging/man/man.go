package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// With this file the program writes a manual page for each of its commands into
// the folder that its only argument names.
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
