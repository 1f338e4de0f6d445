package cli

import (
	"strings"
	"testing"
	"time"
)

// FuzzSelection holds that frames and times are refused or mean something: the
// end is not before the beginning, and a number of seconds is that many.
func FuzzSelection(f *testing.F) {
	for _, s := range []string{"1-5", "7", "-9", "3-", "-", "9-1", "1.5", "-2", "12:30:00", "2002-03-01T20:00:00Z", "2002-03-01 20:00:00.5", "1e300", "NaN", "inf", "0x10", "0", "0-0", "5-0"} {
		f.Add(s)
	}
	start := time.Date(2002, 3, 1, 20, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return // no flag
		}
		s := Selection{frames: text}
		if err := s.parseFrames(); err == nil && (s.firstFrame < 0 || s.lastFrame < 0 || s.firstFrame+s.lastFrame == 0 || s.lastFrame != 0 && s.lastFrame < s.firstFrame) {
			t.Errorf("frames %q: %d to %d", text, s.firstFrame, s.lastFrame)
		}
		at, err := timeOf(text, start, time.Time{})
		if err != nil {
			if !at.IsZero() {
				t.Errorf("time %q: %v and %v", text, at, err)
			}
			return
		}
		if d := at.Sub(start); !strings.Contains(text, ":") && d.Abs() > 1e9*time.Second {
			t.Errorf("time %q: %v", text, d)
		}
		// A time printed as JSON parses to the same time.
		if y := at.Year(); y >= 0 && y <= 9999 {
			if again, err := timeOf(at.UTC().Format(time.RFC3339Nano), start, time.Time{}); err != nil || !again.Equal(at) {
				t.Errorf("time %q: %v, then %v and %v", text, at, again, err)
			}
		}
	})
}
