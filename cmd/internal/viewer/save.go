package viewer

import (
	"fmt"
	"io"

	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/acmi"
	"github.com/bcdissect/bcdissect/report/csv"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
)

// The forms of files that Save writes, each the same as a command writes.
const (
	FormPage    = "html"     // session -o NAME.html
	FormSession = "json"     // session -T json
	FormFlight  = "zip.acmi" // session -o NAME.zip.acmi
	FormNDJSON  = "ndjson"   // read -T json
	FormCSV     = "csv"      // read -T csv

	FormDecrypted = "decrypted.pcapng" // read -w NAME.pcapng --decrypt
	FormAnnotated = "annotated.pcapng" // read -w NAME.pcapng --annotate
)

// Save writes captures in a form. A filter, which may be empty, chooses messages
// for the forms that have them.
func Save(w io.Writer, form string, names []string, expression string, progress func(read, size int64)) error {
	switch form {
	case FormPage, FormSession, FormFlight:
		all, _, err := matches(names, nil, nil, progress)
		if err != nil {
			return err
		}
		switch form {
		case FormPage:
			return page.Write(w, all, page.Options{Captures: bases(names), League: league(names, all)})
		case FormSession:
			return ndjson.Session(w, all, league(names, all), ndjson.SessionOptions{Captures: bases(names)})
		}
		return acmi.WriteZip(w, all)
	case FormNDJSON, FormCSV:
		return saveMessages(w, form, names, expression, progress)
	case FormDecrypted, FormAnnotated:
		return saveCapture(w, form == FormAnnotated, names, progress)
	}
	return fmt.Errorf("%s: no such form", form)
}

// saveCapture writes captures deciphered, and annotated or not.
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
	const every = 1024
	n := 0
	_, _, err = job.Run(names, nil, func(src *capture.Series) { // the page has told of any damage
		if n++; n%every == 0 {
			progress(src.Progress())
		}
	})
	return err
}

func saveMessages(w io.Writer, form string, names []string, expression string, progress func(read, size int64)) error {
	p, err := pass(names)
	if err != nil {
		return err
	}
	o := ndjson.Options{Start: p.src.Stats().FirstTime}
	var sink report.Sink
	if form == FormCSV {
		o.Payload = true
		sink = csv.New(w, csv.Usual, csv.Form{}, o)
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
