package triage

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// AppliesTo reports whether a known finding may appear in a case: a fault of the case is
// in a window of the finding.
func AppliesTo(k catalogue.Excuse, s plan.Spec) bool {
	return slices.ContainsFunc(k.Windows(), func(w catalogue.Window) bool { return contains(w, s) })
}

// contains reports whether a window contains a fault of the case: it has the fault's
// place, path and action.
func contains(w catalogue.Window, s plan.Spec) bool {
	like := func(name string) bool { return among(w.Workloads, name) }
	if !slices.ContainsFunc(plan.WithKnownFindingsOf(s.Workload), like) {
		return false
	}
	// After a crash of containerd, another fault of the case may fire while containerd
	// loads, although its planned path is another one. A shim's fault may also fire
	// during the load.
	loads := len(s.Faults) > 1 && slices.ContainsFunc(s.Faults, func(f plan.Fault) bool {
		return f.Word() == "crash" && f.Point.Who == "containerd"
	})
	for n, f := range s.Faults {
		onPath := among(w.Paths, f.Path) ||
			loads && (slices.Contains(w.Paths, "load") || f.Path == "load" && f.Point.Who == "shim")
		follows := len(w.After) == 0 ||
			slices.ContainsFunc(s.Faults[:n], func(e plan.Fault) bool { return slices.Contains(w.After, e.Word()) })
		if onPath && follows && (among(w.Actions, f.Word()) || slices.Contains(w.Actions, f.Action)) && isAt(w.Where, f) {
			return true
		}
	}
	return false
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

// Cause says whether runs of a case on another containerd show a finding of the sweep.
type Cause struct {
	Spec int // index in the plan
	Left Signature
	// Fix is the fix that the other containerd has. Without one it is the base release of a
	// changed containerd, or the containerd of another sweep, in the folder Baseline.
	Fix      string
	Baseline string
	// Gone is set if the other containerd does not show the finding, and Unsure if too few
	// runs tell.
	Gone, Unsure bool
}

// causes are the causes of one case.
type causes []Cause

// says reports whether there is such a cause of a finding.
func (all causes) says(f finding.Finding, is func(Cause) bool) bool {
	return slices.ContainsFunc(all, func(c Cause) bool { return c.Left == signatureOf(f) && is(c) })
}

// mayClose reports whether a fix explains a finding. After the runs with it, the finding
// is gone, or its rate is too low to tell. Where the fix could not be applied, the base
// release must show the finding, too.
func (all causes) mayClose(fix string, f finding.Finding, ran bool) bool {
	still := all.says(f, func(c Cause) bool { return c.Fix == fix && !c.Gone && !c.Unsure })
	return !still && (!ran || all.says(f, func(c Cause) bool {
		return c.Fix == fix || c.Fix == "" && c.Baseline == "" && !c.Gone
	}))
}

// opened reports whether only the containerd under test shows the finding.
func (all causes) opened(f finding.Finding) bool {
	return all.says(f, func(c Cause) bool { return c.Fix == "" && c.Gone })
}

// The ids of findings that belong to no single bug.
const (
	baselineID = "baseline"             // another sweep shows them, too
	togetherID = "several-bugs-in-turn" // they are gone with all fixes, and with no single one
)

// Known is a known finding in a sweep.
type Known struct {
	ID    string `json:"known"`
	Title string `json:"title"`
	// Fix is the fix that closes the bug, if there is one. Closed is the number of cases
	// that no longer show the finding with it.
	Fix    string `json:"fix,omitempty"`
	Closed int    `json:"closed,omitempty"`
	Cluster
}

// explainer has the findings that the bugs of a containerd explain, with the fix of each.
type explainer struct {
	all   []catalogue.Excuse
	fixes []string
}

// explainerFor leaves out bugs with a fix that the containerd of a plan cannot have. They
// have no places, so without the fix they would explain too much. Bugs with a fix are in
// the order of the fixes.
func explainerFor(known []catalogue.Excuse, p plan.Plan) (of explainer) {
	order := func(k catalogue.Excuse) int {
		return slices.IndexFunc(fixes.List(), func(f fixes.Fix) bool { return slices.Contains(f.Closes, k.ID) })
	}
	for _, k := range slices.SortedStableFunc(slices.Values(known), func(a, b catalogue.Excuse) int {
		return cmp.Compare(order(a), order(b))
	}) {
		fix := catalogue.FixOf(k.ID, p.Version)
		if k.Applies(p.Version) && (len(k.Where) > 0 || fix != "" && !strings.HasPrefix(p.Containerd, "bin:")) {
			of.all, of.fixes = append(of.all, k), append(of.fixes, fix)
		}
	}
	return of
}

// explains returns, by the index of a known finding, the findings of a case that it
// matches. A finding belongs to the known finding that matches it most specifically, and
// to the first of several. A bug with a fix needs no place, because the runs with the fix
// decide; ran is set after them. explains first checks the paths on which the faults
// fired, and then the planned paths.
func (of explainer) explains(r journal.Result, s plan.Spec, known causes, ran bool) map[int][]finding.Finding {
	out := map[int][]finding.Finding{}
	for _, f := range r.Found {
		if known.opened(f) {
			continue
		}
		best, most := -1, -1
		for _, on := range []plan.Spec{s.On(r.Paths), s} {
			for i, k := range of.all {
				fix := of.fixes[i]
				if fix != "" && !known.mayClose(fix, f, ran) {
					continue
				}
				for _, w := range k.Windows() {
					facts := w.Specificity(f)
					better := facts > most || facts == most && best >= 0 && of.fixes[best] != "" && fix == ""
					if better && contains(w, on) {
						best, most = i, facts
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

// ClosedBy returns the findings that a fix closes in other cases, each alone.
func ClosedBy(fix string, found []finding.Finding) (all [][]Signature) {
	closes := slices.DeleteFunc(catalogue.Excuses(), func(k catalogue.Excuse) bool { return !k.ClosedBy(fix) })
	for _, f := range found {
		fits := func(k catalogue.Excuse) bool { return k.Specificity(f) >= 0 }
		one := []Signature{signatureOf(f)}
		if slices.ContainsFunc(closes, fits) &&
			!slices.ContainsFunc(all, func(o []Signature) bool { return o[0] == one[0] }) {
			all = append(all, one)
		}
	}
	return all
}

// Closable returns the cases of a sweep that a fix may close, by the fix.
func Closable(p plan.Plan, known []catalogue.Excuse, results []journal.Result, causes []Cause) map[string][]int {
	of, by := explainerFor(known, p), bySpec(causes)
	out := map[string][]int{}
	for _, r := range journal.Own(results) {
		for i := range of.explains(r, p.Specs[r.I], by[r.I], false) {
			if fix := of.fixes[i]; fix != "" && !slices.Contains(out[fix], r.I) {
				out[fix] = append(out[fix], r.I)
			}
		}
	}
	return out
}

func bySpec(all []Cause) map[int]causes {
	by := map[int]causes{}
	for _, c := range all {
		by[c.Spec] = append(by[c.Spec], c)
	}
	return by
}

// split separates the findings that known bugs explain from all others. It returns the
// others, and a Known for each known finding of the release.
//
// A known finding explains the findings that it matches, and their companions in the same
// container or pod. The order of a case's findings does not matter.
func split(p plan.Plan, known []catalogue.Excuse, results []journal.Result, causes []Cause) ([]occurrence, []Known) {
	of, by := explainerFor(known, p), bySpec(causes)
	explained, closed := make([][]occurrence, len(of.all)), make([]int, len(of.all))
	baseline := Known{ID: baselineID, Title: "the other sweep shows it, too"}
	together := Known{ID: togetherID, Title: "it is gone with all fixes together", Fix: fixes.All}
	var fresh []occurrence
	for _, r := range results {
		mine := by[r.I]
		left := func(found []finding.Finding, drop func(finding.Finding) bool) []finding.Finding {
			return slices.DeleteFunc(slices.Clone(found), drop)
		}
		rest := left(r.Found, func(f finding.Finding) bool {
			return mine.says(f, func(c Cause) bool { return c.Baseline != "" && !c.Gone })
		})
		baseline.add(r, r.Found, rest)
		// On a busy machine a restart may take longer, so that the fault fires on another
		// path than planned.
		for i, direct := range of.explains(r, p.Specs[r.I], mine, true) {
			with := left(compare.Companions(direct, r.Found), mine.opened)
			explained[i] = append(explained[i],
				occurrence{spec: r.I, left: signatures(direct), with: signatures(with)})
			if fix := of.fixes[i]; fix != "" && mine.says(direct[0], func(c Cause) bool { return c.Fix == fix && c.Gone }) {
				closed[i]++
			}
			rest = left(rest, func(f finding.Finding) bool {
				return slices.Contains(direct, f) || slices.Contains(with, f)
			})
		}
		still := left(rest, func(f finding.Finding) bool {
			return mine.says(f, func(c Cause) bool { return c.Fix == fixes.All && c.Gone })
		})
		together.add(r, rest, still)
		fresh = append(fresh, occurrences(r.I, still)...)
	}
	together.Closed = len(together.occurrences)
	var seen []Known
	for i, k := range of.all {
		if len(explained[i]) > 0 {
			seen = append(seen, Known{ID: k.ID, Title: k.Title, Fix: of.fixes[i], Closed: closed[i],
				Cluster: Cluster{Name: k.ID, occurrences: explained[i]}})
		}
	}
	for _, k := range []Known{together, baseline} {
		if len(k.occurrences) > 0 {
			seen = append(seen, k)
		}
	}
	for i := range seen {
		seen[i].sum(p)
	}
	return fresh, seen
}

// add adds a result if it explains findings that were left before, and are not any more.
func (k *Known) add(r journal.Result, before, after []finding.Finding) {
	if len(after) < len(before) {
		gone := slices.DeleteFunc(slices.Clone(before), func(f finding.Finding) bool { return slices.Contains(after, f) })
		k.occurrences = append(k.occurrences, occurrence{spec: r.I, left: signatures(gone)})
	}
}

// StillWithAFix returns the cases with a new finding that ran with a fix and did not lose
// it.
func StillWithAFix(p plan.Plan, known []catalogue.Excuse, results []journal.Result, causes []Cause) (specs []int) {
	fresh, _ := split(p, known, results, causes)
	for _, o := range fresh {
		if slices.ContainsFunc(causes, func(c Cause) bool {
			return c.Fix != "" && c.Spec == o.spec && slices.Contains(o.left, c.Left)
		}) && !slices.Contains(specs, o.spec) {
			specs = append(specs, o.spec)
		}
	}
	return specs
}

// Baseline compares the findings of two sweeps. A finding is gone if no case of the other
// sweep shows it, at any point of the function, after the same kind of fault.
func Baseline(folder string, p plan.Plan, results []journal.Result,
	other plan.Plan, others []journal.Result) (all []Cause) {
	type place struct {
		when, at string
		left     Signature
	}
	of := func(s plan.Spec, left Signature) place { return place{When(s), s.Last().Place(), left} }
	has := map[place]bool{}
	for _, o := range journal.Own(others) {
		for _, left := range signatures(o.Found) {
			has[of(other.Specs[o.I], left)] = true
		}
	}
	for _, r := range journal.Own(results) {
		for _, left := range signatures(r.Found) {
			all = append(all, Cause{Spec: r.I, Left: left, Baseline: folder, Gone: !has[of(p.Specs[r.I], left)]})
		}
	}
	return all
}
