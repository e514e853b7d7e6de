package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shimquake/shimquake/must"
)

const sampleReports = "../../fixtures/reports/"

// Without root, repro shows what it understood of a report, and which bugs fit.
func TestReproReadOnly(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "to become somebody else")
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	report := must.Get(os.ReadFile(sampleReports + "orphans-in-ps.txt"))(t)
	dir := must.ShortDir(t)
	name := filepath.Join(dir, "r.txt")
	for _, err := range []error{os.Chmod(dir, 0o755), os.WriteFile(name, report, 0o644)} {
		must.Succeed(t, err)
	}
	a := shimquake(t, nobody, "repro", "--read-only", name)
	for _, want := range []string{"containerd v1.7.2 is running", "1. containerd-7496", "not understood: "} {
		if a.status != 0 || !strings.Contains(a.out, want) {
			t.Errorf("status %d, no %q in %s%s", a.status, want, a.out, a.err)
		}
	}
	a = shimquake(t, nobody, "repro", "--read-only", "--json", name)
	var answer struct {
		Release string `json:"containerd"`
		Fits    []struct {
			Bug  string `json:"bug"`
			Fits bool   `json:"fits"`
		} `json:"fits"`
	}
	if err := json.Unmarshal([]byte(a.out), &answer); err != nil || answer.Release != "v1.7.2" ||
		answer.Fits[0].Bug != "containerd-7496" || !answer.Fits[0].Fits {
		t.Errorf("%v: %.300s %s", err, a.out, a.err)
	}
}
