package report

import (
	"strings"

	"github.com/bcdissect/bcdissect/dissect"
)

// Way returns a direction as text, such as "Bot0 → host" and "host → Bot0".
// Without a client it returns a short heading: "→ host" and "host →".
func Way(d dissect.Dir, client string, ascii bool) string {
	arrow := "→"
	if ascii {
		arrow = "->"
	}
	switch d {
	case dissect.ToHost:
		return strings.TrimSpace(client + " " + arrow + " host")
	case dissect.FromHost:
		return strings.TrimSpace("host " + arrow + " " + client)
	case dissect.DirUnknown:
	}
	return strings.TrimSpace(client + " " + arrow + " ?")
}
