package suite

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
)

// The own host goes on after number 65,535, and T-31 finds one that does not.
func TestLongNumbers(t *testing.T) {
	rep, err := Run(newWorld(1, gameOf(Stock), relay.Trouble{Delay: 5 * time.Millisecond}), optionsOf(Stock, 1, "T-31"))
	if err != nil {
		t.Fatal(err)
	}
	if res := rep.Results[0]; res.Verdict != Pass {
		t.Errorf("%s: %s %v", res.Verdict, res.Why, res.Came)
	}
}
