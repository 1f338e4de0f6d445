// Site makes the files of the web page. "make web" runs it. The names of all
// files contain a hash of their contents, except for the page itself, the
// service worker and the licences.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/bcdissect/bcdissect/report/page"
)

//go:embed *.js *.css index.html
var parts embed.FS

// policy is the content security policy of the page. Its workers come from a
// blob, so the policy also applies to them. The service worker is a file.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src 'self' blob:; img-src data:; base-uri 'none'; form-action 'none'"

func main() {
	wasm := flag.String("wasm", "", "the WebAssembly `FILE`")
	support := flag.String("support", "", "the `FILE` wasm_exec.js of Go")
	licences := flag.String("licences", "", "the `FILE` with licences")
	out := flag.String("out", "", "the `FOLDER` to write")
	packed := flag.String("zip", "", "the zip `FILE` to write, which the program embeds")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("site: ")
	err := build(*wasm, *support, *licences, *out)
	if err == nil {
		err = pack(*out, *packed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A folder is the folder to which files are written.
type folder struct {
	path  string
	names []string // names of files with hashes
	found map[string]string
}

func build(wasm, support, licences, out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	f := &folder{path: out, found: map[string]string{}}
	program, err := os.ReadFile(wasm)
	if err != nil {
		return err
	}
	exec, err := os.ReadFile(support)
	if err != nil {
		return err
	}
	read := func(name string) string {
		b, _ := parts.ReadFile(name) // cannot fail for embedded files
		return string(b)
	}
	for _, p := range []struct{ name, text string }{
		{"bcdissect.wasm", string(program)},
		{"worker.js", read("files.js") + string(exec) + read("worker.js")},
		{"style.css", page.Style() + read("web.css")},
		{"app.js", "'use strict';\n(() => {\n" + page.Script() + read("list.js") + read("web.js") + "})();\n"},
	} {
		if err := f.hashed(p.name, p.text); err != nil {
			return err
		}
	}
	if licences != "" {
		b, err := os.ReadFile(licences)
		if err != nil {
			return err
		}
		if err := f.write("licences.txt", string(b)); err != nil {
			return err
		}
	}
	f.found["policy"] = html.EscapeString(policy)
	if err := f.write("index.html", f.fill(read("index.html"))); err != nil {
		return err
	}
	list, err := json.Marshal(f.names)
	if err != nil {
		return err
	}
	f.found["files"] = string(list)
	f.found["version"] = "bcdissect-" + hash(string(list)+read("index.html")+read("sw.js"))
	return f.write("sw.js", f.fill(read("sw.js")))
}

// fill replaces names of files in a text by their names with hashes.
func (f *folder) fill(text string) string {
	for name, is := range f.found {
		text = strings.ReplaceAll(text, "{{"+name+"}}", is)
	}
	return text
}

// hashed writes a file whose name contains the hash of its contents.
func (f *folder) hashed(name, text string) error {
	if filepath.Ext(name) != ".wasm" {
		text = f.fill(text)
	}
	ext := filepath.Ext(name)
	full := strings.TrimSuffix(name, ext) + "." + hash(text) + ext
	f.names = append(f.names, full)
	f.found[name] = full
	return f.write(full, text)
}

func (f *folder) write(name, text string) error {
	return os.WriteFile(filepath.Join(f.path, name), []byte(text), 0o644)
}

// most is the maximum size of the packed site in bytes. A phone loads it in
// about ten seconds. The model of the match, with results and debriefing, takes
// the rest of the space.
const most = 3_600_000

// pack writes the files to a zip archive. The same files always give the same
// archive.
func pack(from, name string) error {
	list, err := os.ReadDir(from) // sorted by name
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.Name(), Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if b.Len() > most {
		return fmt.Errorf("the site has %d bytes, packed; the most is %d: which package has come into ./cmd/web?", b.Len(), most)
	}
	log.Printf("%s: %d files, %d bytes packed", from, len(list), b.Len())
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
