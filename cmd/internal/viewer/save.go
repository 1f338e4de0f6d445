package viewer

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/anonymize"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/acmi"
	"github.com/bcdissect/bcdissect/report/csv"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
)

// The formats of files that Save writes. Each is the format of a command.
const (
	FormPage    = "html"     // session -o NAME.html
	FormSession = "json"     // session -T json
	FormFlight  = "zip.acmi" // session -o NAME.zip.acmi
	FormNDJSON  = "ndjson"   // read -T json
	FormCSV     = "csv"      // read -T csv

	FormDecrypted = "decrypted.pcapng" // read -w NAME.pcapng --decrypt
	FormAnnotated = "annotated.pcapng" // read -w NAME.pcapng --annotate
	FormAnonymous = "anonymous.pcapng" // anonymize, with --key
)

// A Choice selects the file to save.
type Choice struct {
	Form   string
	Filter string // filter of messages for formats that have them, may be empty
	Key    string // key of pseudonyms in hexadecimal, empty for a random one that is not stored
	Name   string // name of the file, for Notes
}

// Save writes captures in a format. It returns notes, which are the lines that
// the command writes to standard error.
func Save(w io.Writer, c Choice, names []string, progress func(read, size int64)) (notes string, err error) {
	switch c.Form {
	case FormPage, FormSession, FormFlight:
		return "", saveMatches(w, c.Form, names, progress)
	case FormNDJSON, FormCSV:
		return "", saveMessages(w, c.Form, names, c.Filter, progress)
	case FormDecrypted, FormAnnotated:
		return "", saveCapture(w, c.Form == FormAnnotated, names, progress)
	case FormAnonymous:
		return saveAnonymous(w, &c, names, progress)
	}
	return "", fmt.Errorf("%s: no such form", c.Form)
}

func saveMatches(w io.Writer, form string, names []string, progress func(read, size int64)) error {
	groups, _ := dissect.Recordings(dissect.Config{}, names)
	all, _, err := matches(groups, nil, nil, progress)
	if err != nil {
		return err
	}
	switch form {
	case FormPage:
		return page.Write(w, all, match.NewEvenings(names, all))
	case FormSession:
		return ndjson.Session(w, all, match.NewEvenings(names, all), false)
	}
	return acmi.WriteZip(w, all)
}

// saveAnonymous writes captures with pseudonyms. It first writes a temporary
// file and searches it for original values.
func saveAnonymous(w io.Writer, c *Choice, names []string, progress func(read, size int64)) (notes string, err error) {
	key := anonymize.NewKey()
	if c.Key != "" {
		if key, err = anonymize.ParseKey(c.Key); err != nil {
			return "", err
		}
	}
	var drafts []string // without a folder, since the page's files have none
	defer func() {
		for _, name := range drafts {
			_ = os.Remove(name) // a leftover file does not justify an error
		}
	}()
	create := func() (string, io.WriteCloser, error) {
		file, err := os.CreateTemp("", "bcdissect-*")
		if err != nil {
			return "", nil, err
		}
		drafts = append(drafts, file.Name())
		return file.Name(), file, nil
	}
	name, file, err := create()
	if err != nil {
		return "", err
	}
	job, err := anonymize.New(c.Name, file, anonymize.Options{Key: key})
	if err != nil {
		return "", err
	}
	if _, err = job.Write(names, nil, seldom(progress)); err != nil { // the page has reported any damage
		return "", err
	}
	if name, err = job.Verify(name, create); err != nil {
		return "", err
	}
	written, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = written.Close() }() // it was opened only for reading
	if _, err := io.Copy(w, written); err != nil {
		return "", err
	}
	var said strings.Builder
	err = job.Summary(&said, c.Name)
	return said.String(), err
}

// seldom returns a function that reports the progress after every few
// datagrams.
func seldom(progress func(read, size int64)) func(*capture.Series) {
	const every = 1024 // datagrams
	n := 0
	return func(src *capture.Series) {
		if n++; n%every == 0 {
			progress(src.Progress())
		}
	}
}

// saveCapture writes deciphered captures, with annotations if annotate is set.
func saveCapture(w io.Writer, annotate bool, names []string, progress func(read, size int64)) (err error) {
	o := extract.Options{Decrypt: true, Annotate: annotate}
	if annotate {
		o.Players = extract.Players{}
		p, err := pass(names)
		if err != nil {
			return err
		}
		p.all(func(r *dissect.Record) error {
			o.Players.Learn(r)
			return nil
		}, progress)
	}
	if len(names) > 1 {
		if o.Sections, err = extract.Sections(names, nil, nil); err != nil {
			return err
		}
	}
	job, err := extract.New(o, func(o capture.CopyOptions) (*capture.Copy, error) {
		return capture.NewCopy("the copy", struct{ io.Writer }{w}, o), nil
	})
	if err != nil {
		return err
	}
	_, _, err = job.Run(names, nil, seldom(progress)) // the page has reported any damage
	return err
}

func saveMessages(w io.Writer, form string, names []string, expression string, progress func(read, size int64)) error {
	kept, _ := dissect.Distinct(names)
	p, err := pass(kept)
	if err != nil {
		return err
	}
	o := ndjson.Options{Start: p.src.Stats().FirstTime}
	var sink report.Sink
	if form == FormCSV {
		o.Payload = true
		sink = csv.New(w, csv.Usual, csv.Form{Mark: true}, o)
	} else {
		sink = ndjson.New(w, o)
	}
	emit := sink.Record
	if expression != "" {
		f, err := filter.Compile(expression, nil)
		if err != nil {
			return err
		}
		f.Start = o.Start
		emit = func(r *dissect.Record) error {
			if !f.Match(r) {
				return nil
			}
			return sink.Record(r)
		}
	}
	p.all(emit, progress)
	return sink.Close()
}
