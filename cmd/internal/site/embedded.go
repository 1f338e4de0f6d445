//go:build web

package site

import _ "embed"

// packed holds the files of the site, as "make web" packs them.
//
//go:embed site.zip
var packed []byte
