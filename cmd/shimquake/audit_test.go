package main

import (
	"bytes"
	"slices"
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

func TestBugsOfASuspect(t *testing.T) {
	leaked := facts(t, "task=none bundle=gone socket=listening children=none")
	for _, test := range []struct {
		name, version string
		kind          finding.Class
		facts         fact.Facts
		first, never  string
	}{
		{"Shutdown's error on a release that has it", "v2.3.7", finding.ClassShim, leaked,
			"containerd-8981", "containerd-7496"},
		{"a commit counts as its release", "v2.3.7-5-gabc.m", finding.ClassShim, leaked, "containerd-8981", ""},
		{"a vendor's package, too", "1.6.20~ds1", finding.ClassShim, leaked, "containerd-8981", ""},
		{"and on one that has not", "v2.4.2", finding.ClassShim, leaked, "", "containerd-8981"},
		{"a bundle that was being removed", "v2.4.2", finding.ClassBundle,
			facts(t, "task=none bundle=hidden shim=none"), "bundle-in-removal", "socket-of-a-group"},
		{"a cgroup: the reason why its creation was cut off is unknown", "v2.4.2", finding.ClassCgroup,
			facts(t, "task=none procs=none"), "cgroup-of-a-killed-create", ""},
		{"an unknown version", "", finding.ClassShim, leaked, "", "containerd-8981"},
		{"what nothing in the catalogue leaves", "v2.4.2", finding.ClassTask, facts(t, "task=RUNNING process=none"), "", ""},
	} {
		r := audit.Report{Suspects: []audit.Suspect{{Kind: test.kind, Facts: test.facts, Version: test.version}}}
		nameBugs(&r)
		got := r.Suspects[0].Bugs
		if test.first != "" && (len(got) == 0 || got[0] != test.first) || slices.Contains(got, test.never) || got == nil {
			t.Errorf("%s: %q, want %q first and never %q", test.name, got, test.first, test.never)
		}
	}
}

// TestOneAnswerForANode: an audit, its bundle and a paste from the same node name the
// same bug.
func TestOneAnswerForANode(t *testing.T) {
	const shim = "root 41 1 0 1:00 ? 0:00 /usr/bin/containerd-shim-runc-v2 -namespace ci -id job-1 -address x\n" +
		"# ctr -n ci t ls\nTASK PID STATUS\n"
	for name, test := range map[string]struct {
		kind    finding.Class
		facts   fact.Facts
		version string
		paste   string
	}{
		"a shim without a task": {finding.ClassShim, facts(t, "task=none bundle=gone socket=listening children=none"),
			"v2.3.7", shim},
		"a bundle in removal": {finding.ClassBundle, facts(t, "task=none bundle=hidden shim=none"), "v2.4.2",
			"# ls -A /run/containerd/io.containerd.runtime.v2.task/ci\n.job-00001\n"},
		"a socket": {finding.ClassSocket, facts(t, "socket=silent"), "v2.4.2",
			"# ls /run/containerd/s\n" + strings.Repeat("a", 64) + "\n# pgrep -c containerd-shim\n0\n"},
	} {
		r := audit.Report{Suspects: []audit.Suspect{
			{Kind: test.kind, Subject: finding.Subject{Namespace: "ci", ID: "job-1"}, Facts: test.facts, Version: test.version},
		}}
		nameBugs(&r)
		o := repro.Options{Containerd: test.version, Bugs: catalogue.BySeverity()}
		bundle, paste := repro.Match(read.OfAudit(r), o).Fits[0], repro.Match(read.Text(test.paste), o).Fits[0]
		if of := r.Suspects[0].Bugs; len(of) == 0 || of[0] != bundle.ID || bundle.ID != paste.ID || !paste.Clears {
			t.Errorf("%s: the audit names %v, its bundle %s, the paste %s", name, of, bundle.ID, paste.ID)
		}
	}
}

// On an untested version a bug is reported as possible.
func TestBugsThatASuspectMayBe(t *testing.T) {
	r := audit.Report{Suspects: []audit.Suspect{
		{Kind: finding.ClassShim, Facts: facts(t, "task=none bundle=gone children=none"), Version: "v1.5.18"},
	}}
	nameBugs(&r)
	if s := r.Suspects[0]; len(s.Bugs) != 0 || !slices.Contains(s.MayBe, "containerd-8981") ||
		!strings.Contains(s.String(), "no known match; untested on v1.5.18: ") {
		t.Errorf("%q, may be %q\n%s", s.Bugs, s.MayBe, s)
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
