package msg

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
)

// The rules of the specs for hosts have proper names and do not contradict one
// another.
func TestHosts(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	rules := map[string]decode.Rule{}
	for _, s := range Catalog().All() {
		for _, word := range []string{s.Made.String(), s.Step.String(), s.Need.String()} {
			if word == "?" {
				t.Errorf("%s: %v, %v, %v", s.Name, s.Made, s.Step, s.Need)
			}
		}
		copied := s.Relay == decode.RelayForward || s.Relay == decode.RelaySlots || s.Relay == decode.RelayEcho || s.Relay == decode.RelayTeam
		switch {
		case s.Made == decode.MadeNever && !copied:
			t.Errorf("%s: hosts neither make nor copy it, and yet send it", s.Name)
		case s.Made > decode.MadeNever && s.Dir == decode.FromClient && s.HostDialect == decode.Undecided:
			t.Errorf("%s: only clients send it, and a host makes it by its %v", s.Name, s.Made)
		case s.Need != decode.NeedNone && s.Relay != decode.RelayConsume:
			t.Errorf("%s: the stock host does not consume it: %v", s.Name, s.Relay)
		}
		switch s.Step {
		case decode.StepAnswer, decode.StepReady:
			if s.Dir != decode.FromClient || s.Relay != decode.RelayAnswer {
				t.Errorf("%s: a client's step of the join has direction %v and class %v", s.Name, s.Dir, s.Relay)
			}
		case decode.StepAsk, decode.StepLoad, decode.StepEnter:
			if s.Dir != decode.FromHost || s.Relay != decode.RelayNone {
				t.Errorf("%s: a host's step of the join has direction %v and class %v", s.Name, s.Dir, s.Relay)
			}
		case decode.StepNone, decode.StepFiles:
		}
		for i := range s.Deviations {
			d := &s.Deviations[i]
			if s.Deviation(d.Dialect) != d || d.Dialect == decode.Stock || d.Dialect == decode.Undecided {
				t.Errorf("%s: deviation %d is of dialect %v", s.Name, i, d.Dialect)
			}
			if d.Relay == s.Relay && d.Only == decode.OnlyAlways {
				t.Errorf("%s: %v hosts do as the stock host does", s.Name, d.Dialect)
			}
			if d.Relay.String() == "?" || d.Only.String() == "?" || !name.MatchString(d.Rule.Name) || d.Rule.Text == "" {
				t.Errorf("%s: %+v", s.Name, d)
			}
			if other, ok := rules[d.Rule.Name]; ok && other != d.Rule {
				t.Errorf("%s: two rules are called %s", s.Name, d.Rule.Name)
			}
			rules[d.Rule.Name] = d.Rule
		}
		for i := range s.Habits {
			h := &s.Habits[i]
			if s.Habit(h.Dialect) != h || h.Dialect == decode.Stock || h.Dialect == decode.Undecided || !name.MatchString(h.Rule.Name) || h.Rule.Text == "" {
				t.Errorf("%s: %+v", s.Name, h)
			}
			if other, ok := rules[h.Rule.Name]; ok && other != h.Rule {
				t.Errorf("%s: two rules are called %s", s.Name, h.Rule.Name)
			}
			rules[h.Rule.Name] = h.Rule
		}
	}
}

// This checks how OpenBC's hosts handle clients' messages where they differ
// from the stock host, as captures of its server show, and how a playable host
// does.
func TestOtherHosts(t *testing.T) {
	openBC := map[decode.Relay]string{
		decode.RelayForward: "02 03 06 0E 10 14 15 19 1A 1C 29 2A 41",
		decode.RelayEcho:    "2D 39",
	}
	needs := map[decode.Need]string{decode.NeedAll: "1C 29", decode.NeedOpenBC: "14 15"}
	for _, s := range Catalog().All() {
		code := fmt.Sprintf("%02X", uint8(s.Code))
		class, need := decode.RelayNone, decode.NeedNone
		for c, list := range openBC {
			if strings.Contains(list, code) {
				class = c
			}
		}
		for n, list := range needs {
			if strings.Contains(list, code) {
				need = n
			}
		}
		got := decode.RelayNone
		if d := s.Deviation(decode.OpenBC); d != nil {
			got = d.Relay
		}
		if got != class || s.Need != need {
			t.Errorf("%s: OpenBC %v, want %v; needed %v, want %v", s.Name, got, class, s.Need, need)
		}
	}
}
