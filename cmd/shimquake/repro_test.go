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

// A wrong name of a report, or a wrong report, is an error, and nothing runs.
func TestReproRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, half := filepath.Join(dir, "report.txt"), filepath.Join(dir, "audit.tar.gz")
	must.Write(t, empty, "\n \n")
	must.Write(t, half, "\x1f\x8b\x08")
	for _, test := range []struct {
		name string
		args []string
		says string
	}{
		{"a bug", []string{"containerd-7946"}, `did you mean "containerd-7496"?`},
		{"a file", []string{"./no-such-report.txt"}, "no-such-report.txt"},
		{"a folder", []string{sampleReports}, "directory"},
		{"an empty report", []string{empty}, "paste ps"},
		{"half a bundle", []string{half}, "the bundle is cut off: copy the whole file"},
		{"nothing", nil, "usage: shimquake repro"},
		{"runs", []string{"--runs", "0", empty}, "at least 1"},
		{"a bug to leave out", []string{"--without", "x", empty}, "--without x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := shimquake(t, nil, append([]string{"repro"}, test.args...)...)
			if a.status != statusUsage || a.out != "" || !strings.Contains(a.err, test.says) {
				t.Errorf("status %d, %q, %q; want 2, nothing and %q", a.status, a.out, a.err, test.says)
			}
		})
	}
}

// Without root, repro shows what it understood of a report, and which bugs fit.
func TestReproReadOnly(t *testing.T) {
	t.Parallel()
	must.BeRoot(t, "to become somebody else")
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	report := must.Get(os.ReadFile(sampleReports + "orphans-in-ps.txt"))(t)
	dir, err := os.MkdirTemp("", "sq") //nolint:usetesting // t.TempDir's parent is closed to other users
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, os.RemoveAll(dir)) })
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

// A report about something else ends with what would help, and status 3.
func TestReproOfSomethingElse(t *testing.T) {
	t.Parallel()
	a := shimquake(t, nil, "repro", "--out", t.TempDir(), sampleReports+"image-pull.txt")
	for _, want := range []string{"none of the known bugs fits", "NOT SEARCHED", "shimquake audit --bundle"} {
		if a.status != statusInvalid || !strings.Contains(a.out, want) {
			t.Errorf("status %d, no %q in %s%s", a.status, want, a.out, a.err)
		}
	}
}
