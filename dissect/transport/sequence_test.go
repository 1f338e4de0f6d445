package transport

import (
	"encoding/json"
	"testing"
)

func TestClassifyExamples(t *testing.T) {
	list := examples(t, "reliability-window")
	if len(list) != 10 {
		t.Errorf("got %d examples, want 10", len(list))
	}
	// Names of the actions in the examples.
	words := map[string]Action{"accept": ActionAccept, "duplicate": ActionSeen, "drop": ActionOutside}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) {
			var want struct {
				Expected, Seq uint16
				Action        string
			}
			if err := json.Unmarshal(e.Expect, &want); err != nil {
				t.Fatal(err)
			}
			action, ok := words[want.Action]
			if !ok {
				t.Fatalf("action %q", want.Action)
			}
			if got := Classify(want.Expected, want.Seq); got != action {
				t.Errorf("got %v, want %v", got, action)
			}
		})
	}
}
