package sweep

import (
	"path"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// explains reports whether a known finding explains a signature of a case: all findings of the case that have it.
func explains(k catalogue.Finding, s Spec, found []oracle.Finding, sig Signature) bool {
	return appliesAt(k, s) && !slices.ContainsFunc(found, func(f oracle.Finding) bool {
		return signatureOf(f) == sig && !slices.ContainsFunc(k.Match, func(m catalogue.Match) bool { return m.Like(f) })
	})
}

// appliesAt says whether a known finding may appear in a case: one of several faults is enough.
func appliesAt(k catalogue.Finding, s Spec) bool {
	among := func(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }
	// Beside a crash of containerd any fault may come while it loads, whatever path its hit has without the crash; and a shim's own, in its midst.
	loads := s.Also != (Others{}) && slices.ContainsFunc(s.deeds(), func(d Deed) bool { return word(d.Action) == "crash" && placeOf(d.Point).who == "containerd" })
	return among(k.Workloads, s.Workload) && slices.ContainsFunc(s.deeds(), func(d Deed) bool {
		onPath := among(k.Paths, d.Path) || loads && (slices.Contains(k.Paths, "load") || d.Path == "load" && placeOf(d.Point).who == "shim")
		if !onPath || !among(k.Actions, word(d.Action)) {
			return false
		}
		at := placeOf(d.Point).String()
		return len(k.Where) == 0 || slices.ContainsFunc(k.Where, func(pattern string) bool {
			here, err := path.Match(pattern, at)
			exactly, _ := path.Match(pattern, d.Point) // a bad pattern is refused when the finding is read
			return err == nil && (here || exactly)
		})
	})
}

// covers says whether a spec does what the case of a known finding does.
func covers(s Spec, c harness.Case) bool {
	w, err := workloadNamed(s.Workload)
	if err != nil || (w.API == harness.CRI) != (c.Workload.API == harness.CRI) || w.Restart != c.Workload.Restart || w.Grouped != c.Workload.Grouped ||
		w.Deleters != c.Workload.Deleters {
		return false
	}
	deeds := s.deeds()
	if len(deeds) != len(c.Plan) {
		return false
	}
	for i, d := range deeds {
		f, err := d.fault()
		if err != nil || f.At != c.Plan[i].At || !slices.Equal(f.While, c.Plan[i].While) || !sameDeed(f, c.Plan[i]) {
			return false
		}
	}
	return true
}

// sameDeed compares terms without the texts of errors.
func sameDeed(a, b failpoints.Fault) bool {
	x, y := a.Do.Clauses(), b.Do.Clauses()
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Count != y[i].Count || x[i].Action != y[i].Action {
			return false
		}
	}
	return true
}

// Known is what a sweep saw of a known finding.
type Known struct {
	ID    string `json:"known"`
	About string `json:"about"`
	Issue int    `json:"issue,omitempty"`
	Group
	// Gone says that the sweep covers the finding's case and did not find it anywhere.
	Gone bool `json:"gone,omitempty"`
	// Covered says that the sweep covers the finding's case.
	Covered bool `json:"covered"`
}

// split takes what known findings explain out of the members, and tells of each known finding of the release what it explains.
func split(p Plan, known []catalogue.Finding, all []member, done func(spec int) bool) (fresh []member, seen []Known) {
	explained := make([][]member, len(known))
	for _, m := range all {
		s := p.Specs[m.spec]
		var rest []Signature
		for _, t := range m.left {
			i := slices.IndexFunc(known, func(k catalogue.Finding) bool { return k.Applies(p.Version) && explains(k, s, m.found, t) })
			if i < 0 {
				rest = append(rest, t)
				continue
			}
			if n := len(explained[i]); n > 0 && explained[i][n-1].spec == m.spec {
				explained[i][n-1].left = append(explained[i][n-1].left, t)
			} else {
				explained[i] = append(explained[i], member{spec: m.spec, left: []Signature{t}, with: m.with, found: m.found})
			}
		}
		if len(rest) > 0 {
			with := m.with
			if len(rest) < len(m.left) {
				with = nil // they come with what is known
			}
			fresh = append(fresh, member{spec: m.spec, left: rest, with: with, found: m.found})
		}
	}
	for i, k := range known {
		if !k.Applies(p.Version) {
			continue
		}
		g := Group{members: explained[i]}
		g.sum(p)
		found := Known{ID: k.ID, About: k.About, Issue: k.Issue, Group: g}
		// Its own case must show it: that a neighbour does is another case's news.
		for n, s := range p.Specs {
			if done(n) && covers(s, k.Case) {
				found.Covered = true
				shown := slices.ContainsFunc(explained[i], func(m member) bool { return m.spec == n })
				found.Gone = found.Gone || !shown && !k.Sometimes
			}
		}
		found.Group.Name = k.ID
		seen = append(seen, found)
	}
	return fresh, seen
}
