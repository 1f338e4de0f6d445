package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// If the program that started a server is killed, nothing of the server is left, not even a daemon.
func TestOrphaned(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "serves")
	s, err := Start(fmt.Sprintf(`"%s" "serve=%s,daemon"`, self, name))
	if err != nil {
		t.Fatal(err)
	}
	if !exists(name + ".serves") {
		t.Fatalf("it does not serve: %q", s.Said())
	}
	_ = s.group.orders.Close() // the system does this
	for range 6000 {
		if unlock, err := lock(name); err == nil {
			unlock()
			return
		}
		time.Sleep(looks)
	}
	t.Error("the daemon goes on")
	s.End()
}
