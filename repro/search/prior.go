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

// clues are what a report says of where and when it happened.
type clues struct {
	report    read.Report
	release   string
	targets   []finding.Match
	functions map[string]bool // the last part of the names of functions
	logging   map[string]bool // functions that log what the report quotes
}

func newClues(r read.Report, release string, targets []finding.Match, logging []string) clues {
	c := clues{report: r, release: release, targets: targets, functions: map[string]bool{}, logging: map[string]bool{}}
	for _, o := range r.Of(read.Place) {
		if !strings.HasSuffix(o.Text, ".go") {
			c.functions[rank.LastPart(o.Text)] = true
		}
	}
	for _, f := range logging {
		c.logging[rank.LastPart(f)] = true
	}
	return c
}

// What a clue counts. They only order: a case that no clue points at runs last.
const (
	named     = 60 // the report names the function
	logs      = 45 // the function logs what the report quotes
	fitting   = 25 // the action is what happened
	near      = 12 // a function whose name has to do with what is left
	usual     = 6  // the client is the reported one
	unlikely  = -8
	impliesNo = -40 // the report says that it did not happen
)

// prior is how likely a case leaves what the report tells of, before anything was run.
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
	if f.Word() == "lose" { // a call that fails after its work is rare
		n += unlikely
	}
	if s.Unsteady {
		n += unlikely
	}
	return n
}

// words are parts of the names of functions that make, keep or remove what is of a class.
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

// happened compares what a case does with what the report says has happened.
func (c clues) happened(s plan.Spec) (n int) {
	does, err := s.Case(c.release)
	if err != nil {
		return 0
	}
	for _, w := range rank.NeededBy(does) {
		switch {
		case w == read.ContainerdStarted && c.report.Tells(read.ContainerdDied): // both are reported
		case c.report.Tells(w):
			n += fitting
		case w == read.ContainerdDied && c.report.Tells(read.ContainerdStarted):
			n += near
		case w != read.ClientGaveUp: // a report often leaves that out
			n += unlikely
		}
	}
	return n
}

// client compares the way to containerd.
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

// options choose what is swept for a report.
func options(release string, r read.Report, targets []finding.Match) plan.Options {
	o := plan.Options{Containerd: release}
	if r.Client == read.Dockerd || r.Client == read.Ctr {
		o.Workloads = []string{"task", "restart"}
	}
	for _, t := range targets {
		if ofCRI(t) {
			o.Workloads = []string{"cri", "stop"}
		}
	}
	return o
}

// ofCRI reports whether only CRI leaves, or tells, such a thing.
func ofCRI(m finding.Match) bool {
	return slices.Contains([]finding.Class{finding.ClassSandbox, finding.ClassCRIDir, finding.ClassCRIStatus}, m.Class) ||
		m.Facts[fact.By] == string(exit.ByCRIStatus) || m.Facts[fact.Object] != ""
}
