package repro

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/search"
)

// replays is how often the found case runs in the end.
const replays = 5

// search searches for a case that shows the reported symptoms.
func (a *Answer) search(ctx context.Context, r read.Report, o Options) error {
	switch {
	case len(search.Targets(r)) == 0:
		a.Search = &search.Result{Why: search.NoTargets}
	case a.Release == "":
		a.Search = &search.Result{Why: "the report names no release: name it with --containerd"}
	}
	if a.Search != nil {
		return nil
	}
	if err := o.Runner.Prepare(ctx, a.Release); err != nil {
		return err
	}
	quoted := Quoted(r)
	defer asSearch(o.Runner)()
	why := "no known bug shows the symptoms"
	if a.Best >= 0 {
		why = a.Trials[a.Best].Bug + ": same leak, but not the quoted log"
	}
	fmt.Fprintf(o.Log, "%s: searching %s for %s ...\n", why, a.Release, o.For)
	res, err := search.Search{
		Engine: o.Engine, Release: a.Release, Report: r, Quoted: quoted, Known: without(o.Bugs, o.Without), For: o.For,
		Out: o.Out, Replays: replays,
		Logged: func(v harness.Verdict) (logged, alike int) {
			var t Trial
			t.compare([]harness.Verdict{v}, quoted)
			return len(t.Logged), t.Alike
		},
	}.Run(ctx)
	a.Search = &res
	if a.Best >= 0 && res.Found != nil && res.Found.Known == "" && res.Found.Logged > 0 {
		a.Best = -1 // the found case fits the report better
	}
	return err
}

// asSearch sets a runner up for a search, until back is called.
func asSearch(r *runner.Runner) (back func()) {
	brief, keep := r.Brief, r.KeepAll
	r.Brief, r.KeepAll = true, false
	return func() { r.Brief, r.KeepAll = brief, keep }
}

// searchParts returns the found case, and a summary of the search.
func searchParts(a Answer) (all []report.Part) {
	s := a.Search
	if s.Why != "" {
		return []report.Part{{Head: "NOT SEARCHED: " + s.Why}}
	}
	targets := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		targets[i] = t.String()
	}
	switch {
	case s.Found != nil:
		all = append(all, foundPart(a, s.Found))
	case a.Best < 0:
		all = append(all, report.Part{Head: fmt.Sprintf("NOT FOUND: no case of %s showed the reported symptoms", a.Release)})
	}
	p := report.Part{Head: fmt.Sprintf("searched: %d of %d cases of %s (the fault fired in %d)", s.Ran, s.Planned,
		a.Release, s.Fired)}
	p.Add("for:", strings.Join(targets, "; "))
	if a.Best >= 0 && s.Found == nil {
		p.Add("why:", a.Trials[a.Best].Bug+" logs none of the quoted messages; no other case showed the symptoms")
	}
	if s.Near > 0 && s.Found == nil {
		p.Add("near:", fmt.Sprintf("%s showed a part of the symptoms", quote.Count(s.Near, "case")))
	}
	for _, l := range s.Functions {
		p.Add("at:", fmt.Sprintf("%-60s %s", l.Place, quote.Count(l.Cases, "case")))
	}
	if len(s.Logging) > 0 {
		p.Add("first:", "where the report's messages are logged: "+quote.Cut(strings.Join(s.Logging, ", "), 300))
	}
	if s.Found == nil && s.Ran < s.Planned {
		p.Add("not:", "the other cases did not run: search longer with --for 30m")
	}
	return append(all, p)
}

func foundPart(a Answer, f *search.Found) report.Part {
	p := report.Part{Head: "FOUND: a case that is not in the catalogue", Text: f.Case}
	if f.Known != "" {
		p.Head = fmt.Sprintf("FOUND: a case of the known bug %s; see shimquake show %s", f.Known, f.Known)
	}
	p.Add("fault:", f.Spec.String())
	for _, l := range firstOf(texts(f.Findings)) {
		p.Add("it left:", l)
	}
	if f.Extra > 0 {
		p.Add("also left:", quote.Count(f.Extra, "object")+" that the report does not mention")
	}
	if quoted := Quoted(*a.Report); len(quoted) > 0 {
		p.Add("log:", fmt.Sprintf("the case logged %d of the %d quoted warnings and errors", f.Logged,
			len(quoted)))
	}
	if s := f.Shown; s != nil {
		p.Add("again:", fmt.Sprintf("%d of %d replays", s.Same, s.Replays))
		p.Add("see it:", fmt.Sprintf("sudo shimquake run --containerd %s %s", a.Release, s.File))
		p.Add("kept:", cmp.Or(s.Evidence, "none"))
	}
	return p
}
