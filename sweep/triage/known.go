package triage

import (
	"cmp"
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

// AppliesTo reports whether a known finding may appear in a case. A fault of the case
// must be in a window of the finding, with the window's place, path and action.
func AppliesTo(k catalogue.Excuse, s plan.Spec) bool { return len(windowsOf(k, s)) > 0 }

// windowsOf returns the windows of a known finding that contain a fault of the case.
func windowsOf(k catalogue.Excuse, s plan.Spec) []catalogue.Window {
	// After a crash of containerd, another fault of the case may fire while containerd
	// loads, although its planned path is another one. A shim's fault may also fire
	// during the load.
	loads := len(s.Faults) > 1 && slices.ContainsFunc(s.Faults, func(f plan.Fault) bool {
		return f.Word() == "crash" && f.Point.Who == "containerd"
	})
	return slices.DeleteFunc(k.Windows(), func(w catalogue.Window) bool {
		like := slices.ContainsFunc(plan.WithKnownFindingsOf(s.Workload),
			func(name string) bool { return among(w.Workloads, name) })
		if !like {
			return true
		}
		for n, f := range s.Faults {
			onPath := among(w.Paths, f.Path) ||
				loads && (slices.Contains(w.Paths, "load") || f.Path == "load" && f.Point.Who == "shim")
			follows := len(w.After) == 0 ||
				slices.ContainsFunc(s.Faults[:n], func(e plan.Fault) bool { return slices.Contains(w.After, e.Word()) })
			if onPath && follows && (among(w.Actions, f.Word()) || slices.Contains(w.Actions, f.Action)) && isAt(w.Where, f) {
				return false
			}
		}
		return true
	})
}

// among reports whether a list has a word. An empty list stands for all words.
func among(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }

// isAt reports whether a function or point of the fault matches one of these patterns.
// They are valid, because the parser of findings refuses invalid ones.
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

// sameTerm reports whether the actions of two faults are the same. It compares an error's
// text only if the text names a gRPC code or an errno.
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

// named returns the gRPC code or the errno in a clause, or "".
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
	// Most is the number of cases of this release that show the finding, measured in the
	// default sweep. It is 0 for other sweeps, or if it was not measured.
	Most int `json:"most,omitempty"`
	// bounded is the number of cases that count towards Most. Cases with a Situation do
	// not count, because these cases differ from plan to plan.
	bounded int
	// ByChance counts its cases at places outside its windows, where replays did not
	// reproduce it.
	ByChance int `json:"byChance,omitempty"`
	// Gone is set if neither the sweep nor a replay (see Shown) has found it in the case
	// that the catalogue has for it.
	Gone bool `json:"gone,omitempty"`
	// Covered is set if the sweep ran the catalogue's case for the finding.
	Covered bool `json:"covered"`

	excuse catalogue.Excuse
	absent []int // the indexes of cases that do the same as the catalogue's, and did not show it
}

// Absent returns the indexes in the plan of the cases that do the same as the catalogue's
// and did not show the finding. It returns nothing for a race that shows only sometimes.
func (k Known) Absent() []int { return k.absent }

// ShownBy reports whether a verdict shows the known finding.
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

// Exceeds reports whether more cases show the finding than Most. Another bug then
// probably shows the same.
func (k Known) Exceeds() bool { return k.Most > 0 && k.bounded > k.Most }

// shown is a case with its findings.
type shown struct {
	spec  int
	paths []string // the paths on which its faults fired, if known
	found []finding.Finding
}

// split separates the findings that known bugs explain from all others. It returns the
// others, and a Known for each known finding of the release. fired reports whether a
// case's faults happened.
//
// A known finding explains the findings that it matches, and their companions in the same
// container or pod. The order of a case's findings does not matter. It explains nothing
// of a case with several harmed shims, if its own harm is limited to one.
func split(p plan.Plan, known []catalogue.Excuse, all []shown, fired func(spec int) bool) ([]occurrence, []Known) {
	known = slices.DeleteFunc(slices.Clone(known), func(k catalogue.Excuse) bool { return !k.Applies(p.Version) })
	explained := make([][]occurrence, len(known))
	var fresh []occurrence
	for _, c := range all {
		rest := c.found
		// On a busy machine a restart may take longer, so that the fault fires on another
		// path than planned.
		s := p.Specs[c.spec]
		for i, direct := range explains(known, c.found, s.On(c.paths), s) {
			if len(direct) == 0 || !known[i].Several && harmsSeveral(s, direct) {
				continue
			}
			with := compare.Companions(direct, c.found)
			explained[i] = append(explained[i],
				occurrence{spec: c.spec, left: signatures(direct), with: signatures(with)})
			rest = slices.DeleteFunc(slices.Clone(rest), func(f finding.Finding) bool {
				return slices.Contains(direct, f) || slices.Contains(with, f)
			})
		}
		chance := catalogue.ByChance(known, p.Version, plan.WithKnownFindingsOf(p.Specs[c.spec].Workload), rest)
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

// harmsSeveral reports whether one failed call led to findings about several shims. A
// crash of containerd may harm all shims. A pod has one shim.
func harmsSeveral(s plan.Spec, found []finding.Finding) bool {
	if len(s.Faults) != 1 || s.Faults[0].Kills() || plan.API(s.Workload) != harness.TaskAPI {
		return false
	}
	shims := map[string]bool{}
	for _, f := range found {
		if of := cmp.Or(f.Subject.Pod, f.Subject.ID); of != "" { // Pod is set in a group
			shims[of] = true
		}
	}
	return len(shims) > 1
}

// explains returns, by the index of a known finding, the findings of a case that it
// matches. A finding belongs to the known finding that matches it most specifically, and
// to the first of several. explains first checks the paths on which the faults fired, and
// then the planned paths.
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

// seenOf returns the Known of one known finding. Gone is set if the catalogue's case does
// not show the finding, even if a case at another point of the window does.
func seenOf(p plan.Plan, k catalogue.Excuse, explained []occurrence, fired func(spec int) bool) Known {
	out := Known{ID: k.ID, Title: k.Title, Cluster: Cluster{Name: k.ID, occurrences: explained}, excuse: k}
	out.sum(p)
	if p.IsBounded() {
		out.Most = k.MaxCases(p.Version)
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
