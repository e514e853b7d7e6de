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

// AppliesTo reports whether a known finding may appear in a case. One of its faults must
// be in a window, with its place, path and action.
func AppliesTo(k catalogue.Excuse, s plan.Spec) bool { return len(windowsOf(k, s)) > 0 }

// windowsOf returns the windows of a known finding that have a fault of the case.
func windowsOf(k catalogue.Excuse, s plan.Spec) []catalogue.Window {
	// After a crash of containerd, any other fault may fire while it loads, whatever its
	// path without the crash. A shim's fault may fire during the load, too.
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

// isAt reports whether a fault is at one of these patterns of functions and points. An
// invalid pattern was refused when the finding was parsed.
func isAt(where []string, f plan.Fault) bool {
	return len(where) == 0 || slices.ContainsFunc(where, func(pattern string) bool {
		here, _ := path.Match(pattern, f.Place())
		exactly, _ := path.Match(pattern, f.Point.String())
		return here || exactly
	})
}

// covers reports whether a spec has the faults and the workload of a known finding's
// case.
func covers(s plan.Spec, c harness.Case) bool {
	if !s.Same(c.Workload) || len(s.Faults) != len(c.Plan) {
		return false
	}
	for i, f := range s.Faults {
		fault, err := f.Fault()
		if err != nil || fault.At != c.Plan[i].At || !slices.Equal(fault.Meanwhile, c.Plan[i].Meanwhile) ||
			!sameTerm(fault, c.Plan[i]) {
			return false
		}
	}
	return true
}

// sameTerm compares the actions of two faults. It ignores texts of errors that name
// neither a class nor an errno.
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

// named returns the class or the errno in a clause, or "".
func named(c term.Clause) string {
	_, code := c.Code()
	if _, errno := c.Errno(); code || errno {
		return c.Arg
	}
	return ""
}

// Known is a known finding in a sweep.
type Known struct {
	ID    string `json:"known"`
	Title string `json:"title"`
	Cluster
	// Most is the known number of cases of this release in a whole default sweep. It also
	// exists for a sweep with `--actions pause`, and for one with all cuts of the default
	// workloads. It is 0 for another sweep, or if it was not measured.
	Most int `json:"most,omitempty"`
	// bounded is the number of cases that Most limits: cases in further situations are not
	// limited, because another plan has others.
	bounded int
	// ByChance counts its cases at other places that replays did not reproduce there.
	ByChance int `json:"byChance,omitempty"`
	// Gone is set if neither the sweep nor a replay has found it in its own case: see
	// Shown.
	Gone bool `json:"gone,omitempty"`
	// Covered is set if the sweep covers the finding's case.
	Covered bool `json:"covered"`

	excuse catalogue.Excuse
	absent []int // its own cases in the plan without it
}

// Absent returns the indexes in the plan of its own cases that did not show it; none for
// a race that shows only sometimes.
func (k Known) Absent() []int { return k.absent }

// ShownBy reports whether a verdict shows it.
func (k Known) ShownBy(v harness.Verdict) bool {
	return v.Outcome == harness.Violated && slices.ContainsFunc(v.Violations(), func(f finding.Finding) bool {
		return k.excuse.Window.Says(f) >= 0
	})
}

func (k *Known) sum(p plan.Plan) {
	k.Cluster.sum(p)
	k.bounded = 0
	for _, o := range k.occurrences {
		if p.Specs[o.spec].Situation == "" {
			k.bounded++
		}
	}
}

// Exceeds reports whether more cases show it than known: another bug shows the same.
func (k Known) Exceeds() bool { return k.Most > 0 && k.bounded > k.Most }

// shown has the findings of a case.
type shown struct {
	spec  int
	paths []string // the paths on which its faults fired, if known
	found []finding.Finding
}

// split separates the findings that known bugs explain from the rest. It returns the
// rest, and for each known finding of the release the findings that it explains. fired
// reports whether a case's faults happened.
//
// A finding of the catalogue explains its matches, and their companions in the same
// container or pod. The order of a case's symptoms does not matter.
func split(p plan.Plan, known []catalogue.Excuse, all []shown, fired func(spec int) bool) ([]occurrence, []Known) {
	known = slices.DeleteFunc(slices.Clone(known), func(k catalogue.Excuse) bool { return !k.Applies(p.Version) })
	explained := make([][]occurrence, len(known))
	var fresh []occurrence
	for _, c := range all {
		rest := c.found
		// On a busy machine a restart may end during the path, and its fault then fires a
		// little later.
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

// explains returns the findings of a case that each known finding matches, by its index.
// A finding belongs to the known one that matches most specifically, the first of
// several. It checks the paths on which the faults fired first, then the planned paths.
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

// seenOf returns the result for one known finding. Its own case must show it: a finding
// of a neighbour is news about that case.
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
