package canvas

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Since parses a time since the beginning: 00:01:30, 1:30 or 90.
func Since(text string) (d time.Duration, err error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	for _, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || len(parts) > 3 || !(n >= 0 && n < 1e6) {
			return 0, errors.New("a time is hours:minutes:seconds, minutes:seconds or seconds since the beginning")
		}
		d = 60*d + time.Duration(n*float64(time.Second))
	}
	return d, nil
}
