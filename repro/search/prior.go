package search

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/sweep/plan"
)

// clues are the hints of a report about where and when the trouble began.
type clues struct {
	report    read.Report
	release   string
	targets   []finding.Match
	functions map[string]bool // the last part of the functions' names in the report
	logging   map[string]bool // the functions that log the quoted messages
}

func newClues(r read.Report, release string, targets []finding.Match, logging []string) clues {
	c := clues{report: r, release: release, targets: targets, functions: map[string]bool{}, logging: map[string]bool{}}
	for _, o := range r.BySort(read.Place) {
		if !strings.HasSuffix(o.Text, ".go") {
			c.functions[rank.LastPart(o.Text)] = true
		}
	}
	for _, f := range logging {
		c.logging[rank.LastPart(f)] = true
	}
	return c
}

// The weights of clues. They only decide the order of the cases: a case without a clue
// runs last.
const (
	// The report names the function.
	named = 60
	// The function logs a quoted message.
	logs = 45
	// The report mentions the action.
	fitting = 25
	// The name of the function is related to the symptoms.
	near = 12
	// The client is the reported one.
	usual    = 6
	unlikely = -8
	// The report excludes the case.
	impliesNo = -40
)

// prior returns how likely a case shows the reported symptoms, before any run.
func (c clues) prior(s plan.Spec) int {
	f := s.Last()
	function := rank.LastPart(f.Point.What)
	n := 0
	if c.functions[function] {
		n += named
	}
	if c.logging[function] {
		n += logs
	}
	n += c.happened(s) + c.client(s)
	for _, t := range c.targets {
		if slices.ContainsFunc(words[t.Class], func(w string) bool { return strings.Contains(f.Point.String(), w) }) {
			n += near
		}
	}
	if f.Word() == "loseResult" { // a call that fails after its work is rare
		n += unlikely
	}
	if s.Unsteady {
		n += unlikely
	}
	return n
}

// words are parts of the names of functions that create, keep or remove objects of a
// class.
var words = map[finding.Class][]string{
	finding.ClassShim:      {"Shutdown", "binary.Start", "loadShim", "Delete", "cleanup", "ShimManager.Start"},
	finding.ClassBundle:    {"Bundle", "atomicDelete", "loadShims"},
	finding.ClassSocket:    {"ocket", "binary.Delete", "cleanup"},
	finding.ClassMount:     {"nmount", "ount"},
	finding.ClassCgroup:    {"Create", "Delete"},
	finding.ClassTask:      {"Start", "Create", "Delete", "loadShim"},
	finding.ClassExitCode:  {"xit", "Wait", "Delete", "State"},
	finding.ClassEvent:     {"xit", "ublish", "orward", "Delete", "cleanupAfterDeadShim"},
	finding.ClassContainer: {"StartContainer", "RemoveContainer", "Create"},
	finding.ClassSandbox:   {"PodSandbox", "Controller"},
	finding.ClassDaemon:    {"PodSandbox", "Reserve", "recover", "load"},
}

// happened compares the conditions that a case needs with the reported conditions.
func (c clues) happened(s plan.Spec) (n int) {
	does, err := s.Case(c.release)
	if err != nil {
		return 0
	}
	for _, w := range rank.NeededBy(does) {
		switch {
		case w == read.ContainerdStarted && c.report.Has(read.ContainerdDied): // both are reported
		case c.report.Has(w):
			n += fitting
		case w == read.ContainerdDied && c.report.Has(read.ContainerdStarted):
			n += near
		case w != read.ClientGaveUp: // a report often leaves that out
			n += unlikely
		}
	}
	return n
}

// client compares the client of a case with the reported one.
func (c clues) client(s plan.Spec) int {
	cri := plan.API(s.Workload) == harness.CRI
	switch c.report.Client {
	case read.Kubelet:
		return pick(cri, usual, 0)
	case read.Dockerd, read.Ctr:
		return pick(cri, impliesNo, usual)
	}
	return 0
}

func pick(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

// options returns the options of the sweep for a report.
func options(release string, r read.Report, targets []finding.Match) plan.Options {
	o := plan.Options{Containerd: release}
	if r.Client == read.Dockerd || r.Client == read.Ctr {
		o.Workloads = defaultsOf(harness.TaskAPI)
	}
	if slices.ContainsFunc(targets, ofCRI) {
		o.Workloads = defaultsOf(harness.CRI)
	}
	return o
}

// defaultsOf returns the workloads of the default sweep that use an API.
func defaultsOf(api harness.API) []string {
	return slices.DeleteFunc(plan.DefaultWorkloads(), func(name string) bool { return plan.API(name) != api })
}

// ofCRI reports whether only CRI leaves or reports such an object.
func ofCRI(m finding.Match) bool {
	return slices.Contains([]finding.Class{finding.ClassSandbox, finding.ClassCRIDir, finding.ClassCRIStatus}, m.Class) ||
		m.Facts[fact.By] == string(exit.ByCRIStatus) || m.Facts[fact.Object] != ""
}
