package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/repro/read"
)

func facts(t *testing.T, text string) fact.Facts {
	t.Helper()
	return must.Get(fact.ParseAll(strings.Fields(text)))(t)
}

// A bug is named only if no other bug leaves the same object on the version.
func TestBugsOfASuspect(t *testing.T) {
	leaked := facts(t, "task=none bundle=gone socket=listening children=none")
	living := facts(t, "task=none bundle=gone socket=listening children=some")
	for _, test := range []struct {
		name, version string
		kind          finding.Class
		facts         fact.Facts
		bug           string
		alike         bool
	}{
		{"a shim, as many bugs leave it", "v2.3.7", finding.ClassShim, leaked, "", true},
		{"a shim with a living container", "v2.3.7", finding.ClassShim, living, "", true},
		{"a commit counts as its release", "v2.3.7-5-gabc.m", finding.ClassShim, leaked, "", true},
		{"a vendor's package, too", "1.6.20~ds1", finding.ClassShim, leaked, "", true},
		{"after the clean-up, the socket of the killed shim", "v2.4.2", finding.ClassSocket,
			facts(t, "socket=silent"), "", true},
		{"a bundle that was being removed", "v2.4.2", finding.ClassBundle,
			facts(t, "task=none bundle=hidden shim=none"), "bundle-in-removal", true},
		{"an unknown version", "", finding.ClassShim, leaked, "", true},
		{"a release that was not tested", "v1.5.18", finding.ClassShim, leaked, "", true},
		{"what nothing in the catalogue leaves", "v2.4.2", finding.ClassTask,
			facts(t, "task=RUNNING process=none"), "", false},
	} {
		same := audit.Suspect{Kind: test.kind, Facts: test.facts, Version: test.version}
		r := audit.Report{Suspects: []audit.Suspect{same, same}}
		nameBugs(&r)
		for _, s := range r.Suspects {
			if s.Bug != test.bug || (s.Alike > 0) != test.alike || s.Bug != "" && s.Alike != 1 {
				t.Errorf("%s: %q, one of %d, want %q", test.name, s.Bug, s.Alike, test.bug)
			}
			if says := s.String(); (s.Alike > 1) != strings.Contains(says, "bug: not named: ") {
				t.Errorf("%s: %s", test.name, says)
			}
		}
	}
}

// TestOneAnswerForANode: an audit, its bundle and a paste from the same node name the
// same bug. The audit names none where repro lists others alike.
func TestOneAnswerForANode(t *testing.T) {
	r := audit.Report{Suspects: []audit.Suspect{{Kind: finding.ClassBundle,
		Subject: finding.Subject{Namespace: "ci", ID: "job-1"},
		Facts:   facts(t, "task=none bundle=hidden shim=none"), Version: "v2.4.2"}}}
	nameBugs(&r)
	o := repro.Options{Containerd: "v2.4.2", Bugs: catalogue.BySeverity()}
	paste := repro.Match(read.Text("# ls -A /run/containerd/io.containerd.runtime.v2.task/ci\n.job-00001\n"), o).Fits[0]
	bundle := repro.Match(read.OfAudit(r), o).Fits[0]
	if is := r.Suspects[0].Bug; is != "bundle-in-removal" || bundle.ID != is || paste.ID != is || !paste.Clears {
		t.Errorf("the audit names %s, its bundle %s, the paste %s", is, bundle.ID, paste.ID)
	}
}

func TestAuditsExitStatus(t *testing.T) {
	for _, test := range []struct {
		r    audit.Report
		want int
	}{
		{audit.Report{}, 0},
		{audit.Report{Suspects: make([]audit.Suspect, 1)}, 1},
		{audit.Report{Suspects: make([]audit.Suspect, 1), Partial: []string{"x"}}, 1},
		{audit.Report{Partial: []string{"x"}}, 2},
	} {
		got := 0
		if err := auditStatus(&test.r); err != nil {
			got = err.(statusError).status //nolint:errorlint // it is made here
		}
		must.Equal(t, got, test.want, test.r)
	}
}

// A watched suspect is reported once, and its end changes the count.
func TestWatchTellsNews(t *testing.T) {
	var out bytes.Buffer
	a := auditing{out: &out}
	s := audit.Suspect{
		Kind: finding.ClassShim, Sure: audit.Certain, Subject: finding.Subject{Namespace: "k8s.io", ID: "c1", PID: 5},
		Missing: []string{"task"},
	}
	for range 2 {
		a.news(&audit.Report{Suspects: []audit.Suspect{s}, Shims: 4, Taken: time.Unix(0, 0)})
	}
	a.news(&audit.Report{Shims: 3})
	text := out.String()
	for want, times := range map[string]int{"1 suspects (+1), 4 shims": 1, "1 suspects (+0)": 1, "0 suspects (-1)": 1,
		"shim 5 k8s.io/c1": 1} {
		must.Equal(t, strings.Count(text, want), times, want, "in", text)
	}
}

// A watch of a process that has ended ends, too.
func TestWatchEndsWithItsProcess(t *testing.T) {
	var out, log bytes.Buffer
	a := auditing{out: &out, log: &log, every: time.Hour, options: audit.Options{PID: 1 << 30}}
	var end statusError
	if err := a.keepWatch(must.Within(t, time.Minute)); !errors.As(err, &end) || end.status != statusNotAudited ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v, %s", err, log.String())
	}
}

// With --stacks, a watch writes a bundle when trouble is added, and keeps it when the
// node recovers.
func TestWatchWritesABundleAtAThreshold(t *testing.T) {
	silent, answers := []audit.Daemon{{}}, []audit.Daemon{{Answered: true}}
	a := auditing{watch: true, stacks: true}
	for i, step := range []struct {
		r    audit.Report
		want bool
	}{
		{audit.Report{Daemons: answers}, false},
		{audit.Report{Daemons: silent}, true},
		{audit.Report{Daemons: silent}, false},
		{audit.Report{Daemons: silent, Suspects: make([]audit.Suspect, 1)}, true},
		{audit.Report{Daemons: answers}, false},
		{audit.Report{Daemons: answers, Suspects: make([]audit.Suspect, 1)}, true},
	} {
		must.Equal(t, a.isDue(&step.r), step.want, i)
	}
	for range 2 * maxBundles { // a node that flaps
		a.isDue(&audit.Report{Daemons: answers})
		a.isDue(&audit.Report{Daemons: silent})
	}
	must.Equal(t, a.bundles, maxBundles)
}
