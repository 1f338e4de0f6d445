//go:build !web

package site

// packed is nil, since the program was built without the site.
var packed []byte
