package repro

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
)

// plainCases have no faults: a task, execs, a pod, and a pod with a network of its own,
// with and without a restart of containerd. They take half a minute.
var plainCases = []string{
	"plain-exit", "plain-exec", "plain-restart", "plain-pod", "plain-pod-exec", "plain-pod-restart", "plain-net-restart",
}

// Plain is a case without a fault, run once on the reported release.
type Plain struct {
	Case    string          `json:"case"`
	Outcome harness.Outcome `json:"verdict"`
	// Left are its findings. Known are the bugs of the catalogue that also leave one of them
	// without a fault.
	Left  []string `json:"left,omitempty"`
	Known []string `json:"known,omitempty"`
	// Like is set if it left more than half of the report's symptoms.
	Like bool `json:"like,omitempty"`
	// Logged are the report's lines with messages that this run also logged.
	Logged   []int  `json:"logged,omitempty"`
	Why      string `json:"why,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// tryPlain runs the reported release without a fault, because the symptoms may show
// without one.
func (a *Answer) tryPlain(ctx context.Context, r read.Report, o Options) error {
	if err := o.Runner.Prepare(ctx, a.Release); err != nil {
		return err
	}
	var cases [][]harness.Case
	for _, c := range plain.Cases() {
		if slices.Contains(plainCases, c.Name) {
			cases = append(cases, []harness.Case{c})
		}
	}
	fmt.Fprintf(o.Log, "running containerd %s without a fault ...\n", a.Release)
	o.Keep = nil // the report does not have them
	verdicts, err := o.run(ctx, a.Release, "without a fault", "cases", cases, 1)
	for _, v := range slices.Concat(verdicts...) {
		a.Plain = append(a.Plain, a.plainOf(v, r))
	}
	return err
}

// plainOf compares the findings of a run without a fault with the report.
func (a *Answer) plainOf(v harness.Verdict, r read.Report) Plain {
	p := Plain{Case: v.Case.Name, Outcome: v.Outcome, Evidence: v.Evidence}
	switch v.Outcome {
	case harness.Held:
		return p
	case harness.Invalid:
		p.Why = v.ProblemsText()
		return p
	}
	found := v.Violations()
	slices.SortStableFunc(found, func(a, b finding.Finding) int { // reported findings come first
		return reported(r, b) - reported(r, a)
	})
	p.Left = texts(found)
	for id, b := range a.bugs {
		faultless := len(b.Cases) > 0 && b.Cases[0].Faultless()
		if faultless && b.MayApply(a.Release) && slices.ContainsFunc(found, func(f finding.Finding) bool {
			return finding.AnyMatches(b.Left, f)
		}) {
			p.Known = append(p.Known, id)
		}
	}
	slices.Sort(p.Known)
	var t Trial
	t.compare([]harness.Verdict{v}, Quoted(r))
	p.Logged = t.Logged
	p.Like = leftObjects(r) && rank.Explained(r, found) || !leftObjects(r) && len(t.Logged) > 0
	return p
}

// leftObjects reports whether a report has objects that were left.
func leftObjects(r read.Report) bool {
	return slices.ContainsFunc(r.BySort(read.Symptom), func(o read.Observation) bool { return o.Class() != "" })
}

// reported returns 1 if a finding alone explains more than half of a report, and 0
// otherwise.
func reported(r read.Report, f finding.Finding) int {
	if rank.Explained(r, []finding.Finding{f}) {
		return 1
	}
	return 0
}

// plainLike returns the first run without a fault that left the report's symptoms, or
// nil.
func (a Answer) plainLike() *Plain {
	for i := range a.Plain {
		if a.Plain[i].Like {
			return &a.Plain[i]
		}
	}
	return nil
}

// plainPart returns the findings of the runs without a fault.
func (a Answer) plainPart() report.Part {
	like := a.plainLike()
	if like == nil {
		p := report.Part{Head: fmt.Sprintf("without a fault, %s leaves none of the reported objects:", a.Release)}
		for _, x := range a.Plain {
			text := x.Case
			switch {
			case len(x.Left) > 0:
				text += ", and left something else: " + quote.Cut(strings.Join(firstOf(x.Left), "; "), 200)
			case x.Why != "":
				text += "; " + quote.Cut(x.Why, 200)
			}
			p.Add(string(x.Outcome), text)
		}
		return p
	}
	p := report.Part{Head: fmt.Sprintf("SHOWN WITHOUT A FAULT on %s: %s leaves the reported objects", a.Release,
		like.Case)}
	for _, l := range firstOf(like.Left) {
		p.Add("it left:", l)
	}
	if len(like.Known) > 0 {
		p.Add("known:", strings.Join(like.Known, ", ")+" (shimquake show "+like.Known[0]+")")
	}
	if quoted := Quoted(*a.Report); len(quoted) > 0 {
		p.Add("log:", fmt.Sprintf("%d of the %s", len(like.Logged), quote.Count(len(quoted), "quoted message")))
	}
	p.Add("see it:", fmt.Sprintf("sudo shimquake run --containerd %s %s", a.Release, like.Case))
	return p
}
