package triage

import (
	"path"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/plan"
)

// AppliesTo reports whether a known finding may appear in a case: place, path and action
// of one of its faults are enough, where they are of one window.
func AppliesTo(k catalogue.Excuse, s plan.Spec) bool { return len(windowsOf(k, s)) > 0 }

// windowsOf are the windows of a known finding in which a case has a fault.
func windowsOf(k catalogue.Excuse, s plan.Spec) []catalogue.Window {
	// Beside a crash of containerd any fault may come while it loads, whatever path its hit
	// has without the crash; and a shim's own, in its midst.
	loads := len(s.Faults) > 1 && slices.ContainsFunc(s.Faults, func(f plan.Fault) bool {
		return f.Word() == "crash" && f.Point.Who == "containerd"
	})
	return slices.DeleteFunc(k.Windows(), func(w catalogue.Window) bool {
		like := slices.ContainsFunc(plan.Like(s.Workload), func(name string) bool { return among(w.Workloads, name) })
		return !like || !slices.ContainsFunc(s.Faults, func(f plan.Fault) bool {
			onPath := among(w.Paths, f.Path) ||
				loads && (slices.Contains(w.Paths, "load") || f.Path == "load" && f.Point.Who == "shim")
			return onPath && (among(w.Actions, f.Word()) || slices.Contains(w.Actions, f.Action)) && isAt(w.Where, f)
		})
	})
}

// among reports whether a list has a word; an empty list has all.
func among(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }

// isAt reports whether a fault is at one of these patterns of functions and points. A bad
// pattern is refused when the finding is read.
func isAt(where []string, f plan.Fault) bool {
	return len(where) == 0 || slices.ContainsFunc(where, func(pattern string) bool {
		here, _ := path.Match(pattern, f.Place())
		exactly, _ := path.Match(pattern, f.Point.String())
		return here || exactly
	})
}

// covers reports whether a spec does what the case of a known finding does.
func covers(s plan.Spec, c harness.Case) bool {
	if !s.Same(c.Workload) || len(s.Faults) != len(c.Plan) {
		return false
	}
	for i, f := range s.Faults {
		fault, err := f.Fault()
		if err != nil || fault.At != c.Plan[i].At || !slices.Equal(fault.While, c.Plan[i].While) ||
			!sameTerm(fault, c.Plan[i]) {
			return false
		}
	}
	return true
}

// sameTerm compares what two faults do, without the texts of errors that name neither a
// class nor an errno.
func sameTerm(a, b failpoints.Fault) bool {
	x, y := a.Do.Clauses(), b.Do.Clauses()
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Count != y[i].Count || x[i].Action != y[i].Action || named(x[i]) != named(y[i]) {
			return false
		}
	}
	return true
}

// named is the class or the errno that a clause names, or "".
func named(c term.Clause) string {
	_, code := c.Code()
	if _, errno := c.Errno(); code || errno {
		return c.Arg
	}
	return ""
}

// Known is what a sweep saw of a known finding.
type Known struct {
	ID    string `json:"known"`
	Title string `json:"title"`
	Cluster
	// Most is how many cases are known of this release in a whole default sweep, in one of
	// `--actions pause`, or in one that has all cuts of the default workloads; 0 where that
	// was not measured, or where this is another sweep.
	Most int `json:"most,omitempty"`
	// ByChance is how many of the cases are of other places, and did not come again there.
	ByChance int `json:"byChance,omitempty"`
	// Gone is set where the sweep covers the finding's case and did not find it there, and
	// no replay of it did: see Shown.
	Gone bool `json:"gone,omitempty"`
	// Covered is set where the sweep covers the finding's case.
	Covered bool `json:"covered"`

	excuse catalogue.Excuse
	absent []int // its own cases in the plan that have not shown it
}

// Absent are the cases of the plan that are its own and did not show it, by their index;
// none where it is a race that comes only sometimes.
func (k Known) Absent() []int { return k.absent }

// ShownBy reports whether a verdict shows it.
func (k Known) ShownBy(v harness.Verdict) bool {
	return v.Outcome == harness.Violated && slices.ContainsFunc(v.Violations(), func(f finding.Finding) bool {
		return k.excuse.Window.Says(f) >= 0
	})
}

// Exceeds reports whether more cases show it than are known: something else does, too.
func (k Known) Exceeds() bool { return k.Most > 0 && k.Cases > k.Most }

// shown is what a case has found.
type shown struct {
	spec  int
	paths []string // what was going on when its faults fired, where that is known
	found []finding.Finding
}

// split takes what known findings explain out of what cases have found. It returns the
// rest, and for each known finding of the release what it explains. fired reports whether
// a case's faults happened.
//
// What a finding of the catalogue matches is explained by it, and so is what comes with
// that: of the same container or pod. In which order the symptoms of a case stand does
// not matter.
func split(p plan.Plan, known []catalogue.Excuse, all []shown, fired func(spec int) bool) ([]occurrence, []Known) {
	known = slices.DeleteFunc(slices.Clone(known), func(k catalogue.Excuse) bool { return !k.Applies(p.Version) })
	explained := make([][]occurrence, len(known))
	var fresh []occurrence
	for _, c := range all {
		rest := c.found
		// A restart is over in the middle of what it does, on a busy machine, and what was
		// planned for it fires a moment later.
		s := p.Specs[c.spec]
		for i, direct := range explains(known, c.found, s.On(c.paths), s) {
			if len(direct) == 0 {
				continue
			}
			with := compare.Companions(direct, c.found)
			explained[i] = append(explained[i],
				occurrence{spec: c.spec, left: signatures(direct), with: signatures(with)})
			rest = slices.DeleteFunc(slices.Clone(rest), func(f finding.Finding) bool {
				return slices.Contains(direct, f) || slices.Contains(with, f)
			})
		}
		chance := catalogue.ByChance(known, p.Version, plan.Like(p.Specs[c.spec].Workload), rest)
		for _, o := range occurrences(c.spec, rest) {
			o.chance = chance
			fresh = append(fresh, o)
		}
	}
	var seen []Known
	for i, k := range known {
		seen = append(seen, seenOf(p, k, explained[i], fired))
	}
	return fresh, seen
}

// explains are the findings of a case that each known finding matches, by its index; each
// finding is given to that which says most of it, the first of several: where its faults
// have fired, or else where they were planned.
func explains(known []catalogue.Excuse, found []finding.Finding, where ...plan.Spec) map[int][]finding.Finding {
	out := map[int][]finding.Finding{}
	for _, f := range found {
		best, most := -1, -1
		for _, s := range where {
			for i, k := range known {
				for _, w := range windowsOf(k, s) {
					if says := w.Says(f); says > most {
						best, most = i, says
					}
				}
			}
			if best >= 0 {
				break
			}
		}
		if best >= 0 {
			out[best] = append(out[best], f)
		}
	}
	return out
}

// seenOf is what a sweep saw of one known finding. Its own case must show it: that a
// neighbour does is another case's news.
func seenOf(p plan.Plan, k catalogue.Excuse, explained []occurrence, fired func(spec int) bool) Known {
	out := Known{ID: k.ID, Title: k.Title, Cluster: Cluster{Name: k.ID, occurrences: explained}, excuse: k}
	out.sum(p)
	switch {
	case p.IsBounded():
		out.Most = k.Most(p.Version)
	case p.Paused:
		out.Most = k.MostPaused(p.Version)
	}
	if out.Most == 0 && p.OfCuts {
		out.Most = k.MostOfCuts(p.Version)
	}
	for n, s := range p.Specs {
		if fired(n) && among(k.Workloads, s.Workload) && covers(s, k.Case) {
			out.Covered = true
			shown := slices.ContainsFunc(explained, func(o occurrence) bool { return o.spec == n })
			if !shown && !k.Sometimes {
				out.absent = append(out.absent, n)
			}
		}
	}
	out.Gone = len(out.absent) > 0
	return out
}
