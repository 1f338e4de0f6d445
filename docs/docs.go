// Not part of the library: package docs holds the documents, so that the program
// can print them on a computer without the repository.
package docs

import "embed"

// Pages holds each document by its name, such as "relay.md".
//
//go:embed *.md
var Pages embed.FS
