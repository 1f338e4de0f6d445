package league

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	site "github.com/bcdissect/bcdissect/report/league"
	"github.com/bcdissect/bcdissect/report/page"
)

// Flags are the flags of the command league.
type Flags struct {
	cli.Common
	rules    string
	noReplay bool
	watch    bool
	post     string
}

// Define defines the flags.
func (f *Flags) Define(cmd *cobra.Command) {
	f.DefineFormat(cmd, "site", "site", "json")
	fl := cmd.Flags()
	fl.StringVarP(&f.Output, "output", "o", "", "write the site into this `FOLDER`, or JSON into this file (default DIR/site)")
	fl.StringVar(&f.rules, "rules", "", "`FILE` with seasons, points and aliases (default DIR/league.toml if it is there)")
	fl.BoolVar(&f.noReplay, "no-replay", false, "pages of matches show no replay")
	fl.BoolVar(&f.watch, "watch", false, "keep running, and look for new recordings every few seconds")
	fl.StringVar(&f.post, "post", "", "post each settled match to the webhook whose address is in this `FILE`, or in the environment variable env:NAME")
	f.DefineDecoding(cmd)
	f.DefinePorts(cmd)
}

// A run is one reading of the folder.
type run struct {
	*Flags
	s      cli.Streams
	dir    string
	out    string // folder of the site
	cfg    dissect.Config
	rule   *league.Settings
	cache  *cache
	target *target // nil for JSON
	poster *poster // nil if nothing is posted
	quiet  bool    // do not report messages about files again

	places  map[*match.Match]place // recording of each match
	read    int                    // number of recordings read
	groups  int
	damaged error
	failed  error
}

// A place has the files and the key of the recording with a match.
type place struct {
	files []string
	key   string
}

// Run makes the site for a folder.
func (f *Flags) Run(s cli.Streams, dir string) error {
	r, err := f.begin(s, dir)
	switch {
	case err != nil:
		return err
	case f.watch:
		return r.follow()
	}
	return r.once(nil)
}

// begin checks the flags and the folder.
func (f *Flags) begin(s cli.Streams, dir string) (*run, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = errors.New("not a folder; give the folder with the recordings")
		}
		return nil, cli.Failed(fmt.Errorf("%s: %w", dir, plainError(err)))
	}
	r := &run{Flags: f, s: s, dir: dir, out: f.Output}
	if r.out == "" {
		r.out = filepath.Join(dir, "site")
	}
	if f.Format.Value == "json" && (f.watch || f.post != "") {
		return nil, errors.New("--watch and --post work only with -T site; drop them or -T json")
	}
	var err error
	if r.cfg, err = f.Config(); err == nil && f.post != "" {
		r.poster, err = newPoster(f.post, s, r.out)
	}
	return r, err
}

// plainError removes the path from an error, since the caller adds it.
func plainError(err error) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// exists reports whether a file exists.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// readRules reads the file with the league's rules.
func (r *run) readRules() error {
	name := r.rulesFile()
	if r.rules == "" && !exists(name) {
		r.rule = league.Default()
		return nil
	}
	b, err := cli.ReadDefinitions(name)
	if err != nil {
		return cli.Failed(cli.PlainPath(name, err))
	}
	r.rule, err = league.Read(modfile.File{Name: name, Data: b})
	return err
}

// rulesFile returns the name of the file with the league's rules.
func (r *run) rulesFile() string {
	if r.rules != "" {
		return r.rules
	}
	return filepath.Join(r.dir, "league.toml")
}

// options returns a text that represents all options that change the data read
// from a recording.
func (r *run) options() (string, error) {
	text := fmt.Sprint(r.Dialect.Value, r.Clear(), r.OnPorts())
	for _, name := range r.Defined {
		b, err := cli.ReadDefinitions(name)
		if err != nil {
			return "", cli.Failed(cli.PlainPath(name, err))
		}
		sum := sha256.Sum256(b)
		text += hex.EncodeToString(sum[:])
	}
	return text, nil
}

// once reads the folder and writes the site. It stops posting when stopped is
// closed.
func (r *run) once(stopped <-chan struct{}) error {
	if err := r.readRules(); err != nil {
		return err
	}
	options, err := r.options()
	if err != nil {
		return err
	}
	r.cache = openCache(r.dir, options)
	r.cache.load()
	if r.Format.Value == "site" {
		if r.target, err = openTarget(r.out, r.s.Err); err != nil {
			return err
		}
		defer r.target.close()
	}
	all, err := r.readAll()
	if err != nil {
		return err
	}
	l := league.Build(all, r.rule, r.known())
	if err := r.write(l); err != nil {
		return cli.Failed(err)
	}
	if r.poster != nil {
		r.poster.stopped = stopped
		if err := r.poster.all(l); err != nil {
			return err
		}
	}
	switch {
	case r.failed != nil:
		return cli.Failed(r.failed)
	case r.damaged != nil:
		return &cli.StatusError{Code: cli.ExitDamaged, Err: r.damaged}
	}
	return nil
}

// grows reports whether to read a file later, because it has changed recently
// and --watch is set.
func (r *run) grows(info fs.FileInfo) bool {
	age := time.Since(info.ModTime())
	return r.watch && age >= 0 && age <= still
}

// readAll returns the matches of the folder without duplicates.
func (r *run) readAll() ([]league.Kept, error) {
	r.damaged, r.failed, r.read = nil, nil, 0
	groups, looks, err := r.group()
	if err != nil {
		return nil, err
	}
	r.groups, r.places = len(groups), map[*match.Match]place{}
	var all []match.Recording
	of := map[*match.Match]league.Kept{}
	for _, files := range groups {
		rec := match.Recording{Files: r.relative(files)}
		key := keyOfGroup(rec.Files, files, looks)
		e, err := r.entry(key, files)
		if err != nil {
			return nil, err
		}
		for i, k := range e.Matches {
			k.Replay = r.replayName(key, i)
			of[k.Match], r.places[k.Match] = k, place{files, key}
			rec.Matches = append(rec.Matches, k.Match)
		}
		all = append(all, rec)
	}
	if err := r.cache.save(false); err != nil { // save now, since merging changes the matches
		return nil, cli.Failed(err)
	}
	var merged []league.Kept
	for _, m := range match.Merge(all) {
		merged = append(merged, of[m])
	}
	return merged, r.replays(merged)
}

// group finds the recordings, which have one or more files, and the known
// properties of the files.
func (r *run) group() (groups [][]string, looks map[string]*known, err error) {
	names, infos, err := recordings(r.dir, filepath.Clean(r.out))
	if err != nil {
		return nil, nil, cli.Failed(err)
	}
	parts, looks := dissect.Parts{}, map[string]*known{}
	var kept []string
	for i, name := range names {
		within := r.relative(names[i : i+1])[0]
		if r.grows(infos[i]) {
			if k := r.cache.files[within]; k != nil { // a file that grows keeps its earlier properties
				kept, looks[name], parts[name], k.used = append(kept, name), k, k.Part, true
			}
			continue
		}
		k, err := r.cache.look(within, name, infos[i])
		if err != nil {
			r.failed = errors.Join(r.failed, cli.PlainPath(name, err))
			continue
		}
		kept, looks[name], parts[name] = append(kept, name), k, k.Part
	}
	groups, copies := parts.Recordings(r.cfg, kept)
	for _, name := range kept {
		if first, ok := copies[name]; ok && !r.quiet {
			cli.Say(r.s.Err, "%s has the same bytes as %s; it counts once", report.Escape(name), report.Escape(first))
		}
	}
	return groups, looks, nil
}

// relative returns the names of files relative to the folder.
func (r *run) relative(files []string) (names []string) {
	for _, name := range files {
		if rel, err := filepath.Rel(r.dir, name); err == nil {
			name = filepath.ToSlash(rel)
		}
		names = append(names, name)
	}
	return names
}

// keyOfGroup returns a key for a recording that depends on its files.
func keyOfGroup(names, files []string, looks map[string]*known) string {
	h := sha256.New()
	for i, name := range names {
		k := looks[files[i]]
		_, _ = fmt.Fprintf(h, "%s\x00%d %d %s\n", name, k.Size, k.Time, k.Print) // a hash never returns an error
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// entry returns the data of a recording. It reads the recording if the cache
// does not have it.
func (r *run) entry(key string, files []string) (*entry, error) {
	e := r.cache.find(key)
	fresh := e == nil
	if fresh {
		var err error
		if e, err = r.readOne(key, files, nil); err != nil {
			return nil, err
		}
		e = r.cache.add(key, e)
		const soon = 5 * time.Second // interval of saving, so that a killed run loses little work
		if r.read++; time.Since(r.cache.saved) > soon {
			if err := r.cache.save(true); err != nil {
				return nil, cli.Failed(err)
			}
		}
	}
	for _, text := range e.Said {
		if fresh || !r.quiet {
			cli.Say(r.s.Err, "%s", text)
		}
	}
	name := report.Escape(files[0])
	switch {
	case e.Failed:
		r.failed = errors.Join(r.failed, fmt.Errorf("%s: not read; the league is without it", name))
	case e.Damaged:
		r.damaged = errors.Join(r.damaged, fmt.Errorf("%s: cut short or damaged; the league has what could be read", name))
	}
	return e, nil
}

// readOne reads a recording and writes the replays of its matches with names in
// wanted, or of all matches if wanted is nil.
func (r *run) readOne(key string, files []string, wanted map[string]bool) (*entry, error) {
	var said bytes.Buffer
	s := r.s
	s.Err, s.Out = &said, &said
	read := r.Common
	read.Output = ""
	var b *match.Builder
	err := reading.Captures(&read, s, files, func(_ *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		b = match.New(start)
		return b, func(*reading.Counts) error { return nil }
	})
	e := &entry{}
	status := (*cli.StatusError)(nil)
	switch {
	case err == nil:
	case errors.As(err, &status) && status.Code == cli.ExitDamaged && b != nil:
		e.Damaged = true
		e.Said = append(e.Said, err.Error())
	default:
		e.Failed = true
		e.Said = append(e.Said, err.Error())
		return e, nil
	}
	for text := range strings.Lines(said.String()) {
		text = strings.TrimPrefix(strings.TrimSpace(text), "bcdissect: ")
		e.Said = append(e.Said, report.Escape(files[0])+": "+text)
	}
	for i, m := range b.Matches() {
		e.Matches = append(e.Matches, league.Keep(m))
		name := r.replayName(key, i)
		if r.target == nil || r.noReplay || wanted != nil && !wanted[name] {
			continue
		}
		r.rule.Scrub(m)
		if err := r.target.put(site.ReplayFile(name), page.Replay(m)); err != nil {
			return nil, cli.Failed(err)
		}
	}
	return e, nil
}

// replayName returns a name for the data of a replay that depends on everything
// that affects the contents. Thus a file with the name never changes.
func (r *run) replayName(key string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %t %t %s", key, i, r.rule.Addresses, r.rule.Chat, version()))
	return hex.EncodeToString(sum[:8])
}

// replays reads recordings again if the site lacks the replay of a match.
func (r *run) replays(all []league.Kept) error {
	if r.target == nil || r.noReplay {
		return nil
	}
	missing := map[string]map[string]bool{} // names of matches, by key of the recording
	files := map[string][]string{}
	for i := range all {
		file, p := site.ReplayFile(all[i].Replay), r.places[all[i].Match]
		r.target.written[file] = true
		if r.target.has(file) {
			continue
		}
		if missing[p.key] == nil {
			missing[p.key], files[p.key] = map[string]bool{}, p.files
		}
		missing[p.key][all[i].Replay] = true
	}
	for key, wanted := range missing {
		if _, err := r.readOne(key, files[key], wanted); err != nil {
			return err
		}
	}
	return nil
}

// known returns the names of matches on the existing site.
func (r *run) known() map[string]string {
	ids := map[string]string{}
	if r.target == nil {
		return ids
	}
	b, err := os.ReadFile(filepath.Join(r.out, "league.json"))
	if err != nil {
		return ids
	}
	var old struct {
		Matches []struct {
			ID   string   `json:"id"`
			Also []string `json:"also"`
		} `json:"matches"`
	}
	_ = json.Unmarshal(b, &old) // if this fails, each match gets the name from its recording
	for _, m := range old.Matches {
		for _, id := range append(m.Also, m.ID) {
			ids[id] = m.ID
		}
	}
	return ids
}

// write writes the site or the JSON.
func (r *run) write(l *league.League) error {
	if r.target == nil {
		return cli.WriteOutput(r.Output, r.s, func(out *cli.Output) error {
			_, err := out.Write(site.JSON(l))
			return err
		})
	}
	if err := site.Write(l, site.Options{Replay: !r.noReplay}, r.target.put); err != nil {
		return err
	}
	r.target.tidy()
	if !r.quiet || r.target.changed > 0 {
		_, err := fmt.Fprintf(r.s.Out, "%s: %s, %s; %s read, %d known\n", report.Escape(filepath.Join(r.out, "index.html")),
			count(len(l.Matches), "{match|matches}"), count(len(l.Players), "{player|players}"), count(r.read, "{recording|recordings}"), r.groups-r.read)
		return err
	}
	return nil
}

func count(n int, form string) string { return fmt.Sprintf("%d %s", n, plural.Form(n, form)) }
