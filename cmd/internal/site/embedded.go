//go:build web

package site

import _ "embed"

// packed contains the files of the site, which "make web" packs.
//
//go:embed site.zip
var packed []byte
