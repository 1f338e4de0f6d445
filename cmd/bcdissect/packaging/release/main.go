// Command release makes the files of a release from the programs, manual pages
// and completions in dist. The files are an archive for each system, packages
// for Linux (deb and rpm, with nfpm), an installer for Windows (with makensis),
// a Homebrew formula, a Scoop manifest, and checksums. "make packages" runs it.
//
// The same programs give exactly the same files: names are sorted, and -time
// sets all times.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

const (
	homepage    = "https://github.com/bcdissect/bcdissect"
	description = "Reads the multiplayer traffic of Star Trek: Bridge Commander"
	licence     = "MIT"
)

//go:embed formula.rb.tmpl
var formulaText string

// A release is one version of the program.
type release struct {
	tag     string // version in the form of git
	version string // version in the form that packages for Linux compare
	time    time.Time
	nfpm    string // module that makes the packages for Linux
	nsis    string // script that makes the installer, empty for none
	dist    string // folder of the built programs, with man/ and completions/
	out     string // folder for the packages
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	var r release
	var seconds int64
	flag.StringVar(&r.tag, "tag", "", "the version as git names it, such as v1.2.3")
	flag.StringVar(&r.version, "version", "", "the version as packages for Linux compare it, such as 1.2.3")
	flag.Int64Var(&seconds, "time", 0, "the time of every file, in seconds since 1970")
	flag.StringVar(&r.nfpm, "nfpm", "", "the module that makes packages for Linux, with its version")
	flag.StringVar(&r.nsis, "installer", "", "the script that makes the installer for Windows; without it there is none")
	flag.Parse()
	r.time = time.Unix(seconds, 0).UTC()
	r.dist = "dist"
	r.out = filepath.Join(r.dist, "packages")
	if err := r.run(); err != nil {
		log.Fatal(err)
	}
}

// run makes the release. It must run in the folder of the repository.
func (r *release) run() error {
	if r.tag == "" || r.version == "" || r.nfpm == "" {
		return errors.New("-tag, -version and -nfpm are needed")
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	platforms, err := r.platforms()
	if err != nil {
		return err
	}
	sums := map[string]string{} // checksums of the archives, by platform
	var mu sync.Mutex           // guards sums and err
	var all sync.WaitGroup
	all.Go(func() {
		defer cli.Guard()
		e := r.linux(platforms)
		mu.Lock()
		defer mu.Unlock()
		err = errors.Join(err, e)
	})
	for _, p := range platforms {
		all.Go(func() {
			defer cli.Guard()
			sum, e := r.archive(p)
			mu.Lock()
			defer mu.Unlock()
			sums[p], err = sum, errors.Join(err, e)
		})
	}
	if all.Wait(); err != nil {
		return err
	}
	if err := r.formula(sums); err != nil {
		return err
	}
	if err := r.scoop(sums); err != nil {
		return err
	}
	return r.checksums()
}

// archive makes a platform's archive and installer, and returns the archive's checksum.
func (r *release) archive(platform string) (sum string, err error) {
	members, err := r.members(platform)
	if err != nil {
		return "", err
	}
	b, err := pack(platform, members, r.time)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(r.out, r.file(platform)), b, 0o644); err != nil {
		return "", err
	}
	if platform == "windows_amd64" && r.nsis != "" {
		err = r.installer(platform, members)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), err
}

// platforms returns the platforms that were built, such as "linux_amd64".
func (r *release) platforms() (all []string, err error) {
	files, err := filepath.Glob(filepath.Join(r.dist, "bcdissect_*"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := strings.TrimPrefix(filepath.Base(f), "bcdissect_")
		if strings.HasSuffix(name, ".json") { // a bill of materials
			continue
		}
		all = append(all, strings.TrimSuffix(name, ".exe"))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no programs; \"make cross\" builds them", r.dist)
	}
	return all, nil
}

func windows(platform string) bool { return strings.HasPrefix(platform, "windows_") }

// file returns the name of a platform's archive. Names for Windows contain no
// version, so that a link to the newest archive exists.
func (r *release) file(platform string) string {
	if windows(platform) {
		return "bcdissect_" + platform + ".zip"
	}
	return r.name(platform) + ".tar.gz"
}

// name returns the name of a platform's files, without extension.
func (r *release) name(platform string) string { return "bcdissect_" + r.number() + "_" + platform }

// number returns the version without the v of its tag.
func (r *release) number() string { return strings.TrimPrefix(r.tag, "v") }

const authors = "bcdissect authors <bcdissect@users.noreply.github.com>"

// linux makes the packages for Linux. Debian requires a compressed manual and
// compressed changelogs, one of them in Debian's own format.
func (r *release) linux(platforms []string) error {
	folder := filepath.Join(r.dist, "linux")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "man"), 0o755); err != nil {
		return err
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"changelog": changes,
		"changelog.Debian": fmt.Appendf(nil, "bcdissect (%s-1) unstable; urgency=medium\n\n  * The changes are in changelog.gz.\n\n -- %s  %s\n",
			r.version, authors, r.time.Format(time.RFC1123Z)),
	}
	pages, err := filepath.Glob(filepath.Join(r.dist, "man", "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		if files[filepath.Join("man", filepath.Base(page))], err = os.ReadFile(page); err != nil {
			return err
		}
	}
	for name, b := range files {
		if b, err = packed(b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".gz"), b, 0o644); err != nil {
			return err
		}
	}
	for _, p := range platforms {
		processor, ok := strings.CutPrefix(p, "linux_")
		if !ok {
			continue
		}
		config, err := r.nfpmConfig(folder, p)
		if err != nil {
			return err
		}
		for _, form := range []string{"deb", "rpm"} {
			cmd := exec.Command("go", "run", r.nfpm, "package",
				"-f", config, "-p", form, "-t", filepath.Join(r.out, r.name(p)+"."+form))
			cmd.Env = append(os.Environ(), "ARCH="+processor, "VERSION="+r.version, "AUTHORS="+authors,
				fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("nfpm, for the %s of %s: %w\n%s", form, processor, err, out)
			}
		}
	}
	return nil
}

// engine returns the path of the engine for a platform, or "" if it was not
// built.
func (r *release) engine(platform string) string {
	name := "bcdissect-engine.so"
	if windows(platform) {
		name = "bcdissect-engine.dll"
	}
	file := filepath.Join(r.dist, "engine", platform, name)
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// nfpmConfig returns the configuration of nfpm for a platform. It includes the
// engine if that was built. The engine needs the C library.
func (r *release) nfpmConfig(folder, platform string) (string, error) {
	const config = "cmd/bcdissect/packaging/nfpm.yaml"
	engine := r.engine(platform)
	if engine == "" {
		return config, nil
	}
	b, err := os.ReadFile(config)
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer(
		"contents:\n", "contents:\n  - {src: "+engine+", dst: /usr/lib/bcdissect/bcdissect-engine.so, file_info: {mode: 0644}}\n",
		"overrides:\n  deb:\n", "overrides:\n  deb:\n    depends: [\"libc6 (>= 2.34)\"]\n",
	).Replace(string(b))
	name := filepath.Join(folder, "nfpm_"+platform+".yaml")
	return name, os.WriteFile(name, []byte(text), 0o644)
}

// packed compresses bytes with gzip, without name and time.
func packed(b []byte) ([]byte, error) {
	var to bytes.Buffer
	z, err := gzip.NewWriterLevel(&to, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	err = z.Close()
	return to.Bytes(), err
}

// installer makes the installer from the files in a platform's archive.
func (r *release) installer(platform string, members []member) error {
	folder := filepath.Join(r.dist, "installed", platform)
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for _, m := range members {
		name := filepath.Join(folder, filepath.FromSlash(m.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, m.data, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(name, r.time, r.time); err != nil { // the installer keeps the time
			return err
		}
	}
	to := filepath.Join(r.out, "bcdissect_"+platform+"_setup.exe")
	cmd := exec.Command(r.nsis, filepath.Join(folder, zipFolder), r.tag, to)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", r.nsis, err, out)
	}
	return nil
}

// relativeLink matches a Markdown link to a file of the repository.
var relativeLink = regexp.MustCompile(`\]\(([a-zA-Z][^):]*)\)`)

// documents are the documents in an archive.
var documents = []string{"README.md", "CHANGELOG.md", "LICENSE"}

// document returns a document for archives. Its links to other files of the
// repository become links to the web.
func (r *release) document(b []byte) []byte {
	return relativeLink.ReplaceAll(b, []byte("]("+homepage+"/blob/"+r.tag+"/$1)"))
}

// A member is a file in an archive.
type member struct {
	name string
	data []byte
	mode int64
}

// members returns the files of a platform's archive.
func (r *release) members(platform string) (all []member, err error) {
	program, suffix := "bcdissect", ""
	if windows(platform) {
		program, suffix = "bcdissect.exe", ".exe"
	}
	from := map[string]string{ // by name in the archive
		program:        filepath.Join(r.dist, "bcdissect_"+platform+suffix),
		"licences.txt": filepath.Join(r.dist, "licences.txt"),
	}
	for _, name := range documents {
		from[name] = name
	}
	if engine := r.engine(platform); engine != "" {
		from[filepath.Base(engine)] = engine
	}
	for _, folder := range []string{"man", "completions"} {
		if folder == "man" && windows(platform) {
			continue
		}
		files, err := os.ReadDir(filepath.Join(r.dist, folder))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if windows(platform) && path.Ext(f.Name()) != ".ps1" {
				continue // completions for shells that Windows does not have
			}
			from[path.Join(folder, f.Name())] = filepath.Join(r.dist, folder, f.Name())
		}
	}
	for name, file := range from {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if name == program {
			mode = 0o755
		}
		if slices.Contains(documents, file) {
			b = r.document(b)
		}
		if windows(platform) {
			name = path.Join(zipFolder, name)
			if slices.Contains(documents, file) { // Windows chooses the program for a text by the extension
				name = strings.TrimSuffix(name, ".md") + ".txt"
			}
		}
		all = append(all, member{name, b, mode})
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// zipFolder is the folder in archives for Windows, where programs unpack all
// files next to the archive.
const zipFolder = "bcdissect"

// pack returns an archive.
func pack(platform string, members []member, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	if windows(platform) {
		err := writeZip(&b, members, at)
		return b.Bytes(), err
	}
	if err := writeTar(&b, members, at); err != nil {
		return nil, err
	}
	return packed(b.Bytes())
}

func writeTar(w io.Writer, members []member, at time.Time) error {
	t := tar.NewWriter(w)
	for _, m := range members {
		header := tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(m.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := t.Write(m.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(w io.Writer, members []member, at time.Time) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		header := zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(m.mode))
		f, err := z.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := f.Write(m.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// url returns the URL of an archive.
func (r *release) url(platform string) string {
	return homepage + "/releases/download/" + r.tag + "/" + r.file(platform)
}

// A download has the facts about an archive that package managers need.
type download struct{ URL, SHA256 string }

// formula writes the Homebrew formula for the systems that were built.
func (r *release) formula(sums map[string]string) error {
	t, err := template.New("formula.rb.tmpl").Parse(formulaText)
	if err != nil {
		return err
	}
	data := struct {
		Description, Homepage, Version, Licence string
		Systems                                 map[string]map[string]download // indexed by macos or linux, then by arm or intel
	}{description, homepage, r.number(), licence, map[string]map[string]download{}}
	for platform, brew := range map[string][2]string{
		"darwin_amd64": {"macos", "intel"}, "darwin_arm64": {"macos", "arm"},
		"linux_amd64": {"linux", "intel"}, "linux_arm64": {"linux", "arm"},
	} {
		sum, ok := sums[platform]
		if !ok {
			continue
		}
		if data.Systems[brew[0]] == nil {
			data.Systems[brew[0]] = map[string]download{}
		}
		data.Systems[brew[0]][brew[1]] = download{r.url(platform), sum}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "bcdissect.rb"), b.Bytes(), 0o644)
}

// scoop writes the Scoop manifest for the systems that were built.
func (r *release) scoop(sums map[string]string) error {
	type archive struct {
		URL  string `json:"url"`
		Hash string `json:"hash"`
	}
	manifest := struct {
		Version      string             `json:"version"`
		Description  string             `json:"description"`
		Homepage     string             `json:"homepage"`
		License      string             `json:"license"`
		Suggest      map[string]string  `json:"suggest"`
		Architecture map[string]archive `json:"architecture"`
		Folder       string             `json:"extract_dir"`
		Bin          string             `json:"bin"`
	}{
		Version: r.number(), Description: description, Homepage: homepage, License: licence,
		Suggest: map[string]string{"Npcap, for live capture": "extras/npcap-np"},
		Folder:  zipFolder, Bin: "bcdissect.exe", Architecture: map[string]archive{},
	}
	for platform, name := range map[string]string{"windows_amd64": "64bit", "windows_386": "32bit", "windows_arm64": "arm64"} {
		if sum, ok := sums[platform]; ok {
			manifest.Architecture[name] = archive{r.url(platform), sum}
		}
	}
	b, err := json.MarshalIndent(manifest, "", "    ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "bcdissect.json"), append(b, '\n'), 0o644)
}

const checksumFile = "SHA256SUMS"

// checksums writes the checksums of all files in the folder, in the format of
// "sha256sum -c".
func (r *release) checksums() error {
	files, err := os.ReadDir(r.out) // sorted by name
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range files {
		if f.Name() == checksumFile {
			continue
		}
		b, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, checksumFile), []byte(text.String()), 0o644)
}
