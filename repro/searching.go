package repro

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/search"
	"github.com/shimquake/shimquake/sweep"
)

// replays are how often the search's case runs in the end.
const replays = 5

// search looks for a case that leaves what the report tells of.
func (a *Answer) search(ctx context.Context, r read.Report, o Options) error {
	switch {
	case len(search.Targets(r)) == 0:
		a.Search = &search.Result{Why: search.NoTargets}
	case a.Release == "":
		a.Search = &search.Result{Why: "the report names no release: say which it is with --containerd"}
	}
	if a.Search != nil {
		return nil
	}
	if err := o.Runner.Prepare(ctx, a.Release); err != nil {
		return err
	}
	quoted := Quoted(r)
	slots := sweep.NewSlots(o.Parallel)
	defer asSearch(o.Runner, slots)()
	why := "no known bug is it"
	if a.Best >= 0 {
		why = a.Trials[a.Best].Bug + " leaves that, and logs nothing of what the report quotes"
	}
	fmt.Fprintf(o.Log, "%s: searching %s for %s ...\n", why, a.Release, o.For)
	res, err := search.Search{
		Engine: o.Runner, Release: a.Release, Report: r, Quoted: quoted, Known: without(o.Bugs, o.Without), For: o.For,
		Parallel: o.Parallel, Slots: slots, Out: o.Out, Replays: replays,
		Logged: func(v harness.Verdict) (logged, alike int) {
			var t Trial
			t.compare([]harness.Verdict{v}, quoted)
			return len(t.Logged), t.Alike
		},
	}.Run(ctx)
	a.Search = &res
	if a.Best >= 0 && res.Found != nil && res.Found.Known == "" && res.Found.Logged > 0 {
		a.Best = -1 // the case that was found is nearer to the report
	}
	return err
}

// asSearch has a runner run cases as a search does, until back is called.
func asSearch(r *runner.Runner, slots sweep.Slots) (back func()) {
	yield, brief, keep := r.Yield, r.Brief, r.KeepAll
	r.Yield, r.Brief, r.KeepAll = slots.Yield, true, false
	return func() { r.Yield, r.Brief, r.KeepAll = yield, brief, keep }
}

// searchParts say what was found, and what was searched.
func searchParts(a Answer) (all []Part) {
	s := a.Search
	if s.Why != "" {
		return []Part{{Head: "NOT SEARCHED: " + s.Why}}
	}
	targets := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		targets[i] = t.String()
	}
	switch {
	case s.Found != nil:
		all = append(all, foundPart(a, s.Found))
	case a.Best < 0:
		all = append(all, Part{Head: fmt.Sprintf("NOT FOUND: no case of %s left what the report tells of", a.Release)})
	}
	p := Part{Head: fmt.Sprintf("searched: %d of %d cases of %s (%d of them show something)", s.Ran, s.Planned,
		a.Release, s.Fired)}
	p.row("for:", strings.Join(targets, "; "))
	if a.Best >= 0 && s.Found == nil {
		p.row("why:", a.Trials[a.Best].Bug+" logs nothing of what the report quotes; no other case left the same")
	}
	if s.Near > 0 && s.Found == nil {
		p.row("near:", fmt.Sprintf("%d left a part of that", s.Near))
	}
	for _, l := range s.Functions {
		p.row("at:", fmt.Sprintf("%-60s %s", l.Place, count(l.Cases, "case")))
	}
	if len(s.Logging) > 0 {
		p.row("first:", "where the report's messages are logged: "+clip(strings.Join(s.Logging, ", "), 300))
	}
	if s.Found == nil && s.Ran < s.Planned {
		p.row("not:", "the rest was not reached: search longer with --for 30m")
	}
	return append(all, p)
}

func foundPart(a Answer, f *search.Found) Part {
	p := Part{Head: "FOUND: this is not in the catalogue: here is a case", Text: f.Case}
	if f.Known != "" {
		p.Head = fmt.Sprintf("FOUND: a case of the known bug %s leaves that; see shimquake show %s", f.Known, f.Known)
	}
	p.row("fault:", f.Spec.String())
	for _, l := range firstOf(texts(f.Findings)) {
		p.row("it left:", l)
	}
	if f.Extra > 0 {
		p.row("besides:", count(f.Extra, "thing")+" that the report does not tell of")
	}
	if quoted := Quoted(*a.Report); len(quoted) > 0 {
		p.row("log:", fmt.Sprintf("%d of the %d warnings and errors that the report quotes were logged, too", f.Logged,
			len(quoted)))
	}
	if s := f.Shown; s != nil {
		p.row("again:", fmt.Sprintf("%d of %d replays", s.Same, s.Replays))
		p.row("see it:", fmt.Sprintf("sudo shimquake run --containerd %s %s", a.Release, s.File))
		p.row("kept:", cmp.Or(s.Evidence, "none"))
	}
	return p
}
