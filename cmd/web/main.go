//go:build js && wasm

// Web is the program of the web page that reads captures. It runs in a web
// worker of the browser, and the page's script calls it. docs/web.md describes
// the page.
package main

import (
	"encoding/json"
	"errors"
	"syscall/js"

	"github.com/bcdissect/bcdissect/cmd/internal/viewer"
	"github.com/bcdissect/bcdissect/report"
)

// list is the list of messages of the worker's captures.
var list *viewer.List

func main() {
	js.Global().Set("bcdissect", js.ValueOf(map[string]any{
		"report":   function(newReport),
		"save":     function(save),
		"list":     function(newList),
		"step":     function(step),
		"rows":     function(func(args []js.Value) any { return list.Rows(args[0].Int(), args[1].Int()) }),
		"filter":   function(setFilter),
		"place":    function(func(args []js.Value) any { return list.Place(args[0].Int()) }),
		"frame":    function(func(args []js.Value) any { return list.Frame(args[0].Int(), args[1].Int()) }),
		"detail":   function(func(args []js.Value) any { return text(list.Detail(args[0].Int())) }),
		"complete": function(func(args []js.Value) any { return text(viewer.Complete(args[0].String())) }),
	}))
	js.Global().Get("ready").Invoke()
	select {}
}

// function converts f to a function of the script. If f returns an error, the
// function returns an object with the error as text.
func function(f func(args []js.Value) any) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		result := f(args)
		if err, ok := result.(error); ok {
			return map[string]any{"error": report.Escape(err.Error())}
		}
		return result
	})
}

// text converts a value to JSON.
func text(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return string(b)
}

// names converts an array of strings.
func names(v js.Value) []string {
	all := make([]string, v.Length())
	for i := range all {
		all[i] = v.Index(i).String()
	}
	return all
}

// progress returns a function that reports to the script how much was read.
func progress(tell js.Value) func(read, size int64) {
	return func(read, size int64) { tell.Invoke(float64(read), float64(size)) }
}

// bytes converts bytes to an array of the script.
func bytes(b []byte) js.Value {
	a := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(a, b)
	return a
}

// newReport has the arguments names and progress function.
func newReport(args []js.Value) any {
	r, err := viewer.NewReport(names(args[0]), progress(args[1]))
	if err != nil {
		return err
	}
	return map[string]any{"report": text(r), "columns": bytes(r.Columns)}
}

// A sender is a writer that passes the bytes to the script.
type sender struct{ to js.Value }

func (s sender) Write(b []byte) (int, error) {
	s.to.Invoke(bytes(b))
	return len(b), nil
}

// save has the arguments choice, names, progress function and a function that
// receives the bytes.
func save(args []js.Value) any {
	of := func(key string) string { return args[0].Get(key).String() }
	c := viewer.Choice{Form: of("form"), Filter: of("filter"), Key: of("key"), Name: of("name")}
	notes, err := viewer.Save(sender{args[3]}, c, names(args[1]), progress(args[2]))
	if err != nil {
		return err
	}
	return map[string]any{"notes": notes}
}

// newList has the argument names.
func newList(args []js.Value) any {
	var err error
	if list, err = viewer.NewList(names(args[0])); err != nil {
		return err
	}
	return map[string]any{"start": float64(list.Start().UnixMicro()) / 1e3}
}

// step continues reading the list, and returns the progress.
func step([]js.Value) any {
	more := list.Step()
	shown, all, left := list.Len()
	read, size := list.Progress()
	return map[string]any{"more": more, "shown": shown, "all": all, "left": left, "read": float64(read), "size": float64(size)}
}

// setFilter has an expression as argument.
func setFilter(args []js.Value) any {
	if err := list.Filter(args[0].String()); err != nil {
		m := viewer.NewMistake(err)
		if m.Column == 0 {
			return errors.New(m.Reason)
		}
		return text(m)
	}
	return ""
}
