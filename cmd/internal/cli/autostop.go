package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// autostop reads a condition under which to stop.
func autostop(condition string) (after time.Duration, packets int, err error) {
	bad := fmt.Errorf("--autostop %s: want duration:SECONDS or packets:N", condition)
	what, text, _ := strings.Cut(condition, ":")
	n, err := strconv.ParseFloat(text, 64)
	const most = 1e9
	if err != nil || !(n > 0 && n < most) {
		return 0, 0, bad
	}
	switch what {
	case "duration":
		return time.Duration(n * float64(time.Second)), 0, nil
	case "packets":
		return 0, int(n), nil
	}
	return 0, 0, bad
}
