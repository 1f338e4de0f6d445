package main

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
)

// TestContainer builds the image of the container recipe with buildah and hosts
// a game in it, as an ordinary user. BCDISSECT_IMAGE names an image that is
// built already.
func TestContainer(t *testing.T) {
	fixtures.System(t)
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("buildah, which builds images, is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("without root buildah needs namespaces of users, which not every machine allows")
	}
	buildah := func(args ...string) (string, error) {
		out, err := exec.Command("buildah", args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	image := os.Getenv("BCDISSECT_IMAGE")
	if image == "" {
		if os.Getenv("BCDISSECT_LONG") == "" {
			t.Skip("building the image takes minutes: set BCDISSECT_LONG, or BCDISSECT_IMAGE to one that is built")
		}
		image = "bcdissect-test"
		out, err := buildah("bud", "--isolation", "chroot", "-t", image, "-f", filepath.Join("packaging", "Containerfile"), filepath.Join("..", ".."))
		if unreachable := regexp.MustCompile(`pinging container registry .*|dial tcp.*`).FindString(out); err != nil && unreachable != "" {
			t.Skipf("the image that the recipe begins with cannot be fetched: %s", unreachable)
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		defer func() { _, _ = buildah("rmi", image) }()
	}
	container, err := buildah("from", "--pull-never", image)
	if err != nil {
		t.Skipf("the image cannot be run here: %s", container)
	}
	defer func() { _, _ = buildah("rm", container) }()

	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), freePort(t).Port())
	host := exec.Command("buildah", "run", "--isolation", "chroot", container, "--", "/bcdissect", "relay", "--listen", at.String(), "-w", "/data/%Y.pcapng", "-a", "duration:5")
	host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said strings.Builder
	host.Stderr = &said
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-host.Process.Pid, syscall.SIGKILL) }()
	if !answers(t, at) {
		t.Fatalf("the host does not answer: %s", &said)
	}
	_, port, _ := strings.Cut(at.String(), ":")
	if out, err := buildah("run", "--isolation", "chroot", container, "--", "/bcdissect", "relay", "ctl", "-l", port, "status"); err != nil || !strings.Contains(out, "0 of 8") {
		t.Errorf("relay ctl: %v: %s", err, out)
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v: %s", err, &said)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	root, err := buildah("mount", container)
	if err != nil {
		t.Fatal(root)
	}
	files, err := filepath.Glob(filepath.Join(root, "data", "20*.pcapng"))
	if err != nil || len(files) != 1 {
		t.Fatalf("it recorded %v, %v", files, err)
	}
	const nobody = 65534
	if info, err := os.Stat(files[0]); err != nil || info.Size() == 0 || info.Sys().(*syscall.Stat_t).Uid != nobody {
		t.Errorf("got %v, %v", info, err)
	}
	all, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all { // folders are of the engine
		if name := f.Name(); !f.IsDir() && name != "bcdissect" && name != "licences.txt" {
			t.Errorf("the image holds %s", name)
		}
	}
}
