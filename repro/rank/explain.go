package rank

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/read"
)

// left has the findings that a bug or a run leaves. The sure findings identify a bug, and
// the optional findings count only in addition.
type left struct {
	surely, may []finding.Match
	logs        logs // for symptoms without facts
}

func leftBy(b catalogue.Bug, said logs) left {
	l := left{surely: slices.Clone(b.Left), logs: said}
	if b.Residue != nil {
		l.surely = append(l.surely, finding.Match{Class: b.Residue.Class, Facts: b.Residue.Match})
	}
	if len(l.surely) == 0 {
		l.surely = b.Matches()
	}
	for _, m := range b.Matches() {
		if !slices.ContainsFunc(l.surely, func(o finding.Match) bool { return o == m }) {
			l.may = append(l.may, m)
		}
	}
	return l
}

// Explained reports whether the findings of a run explain more than half of a report's
// symptoms. It asks the same of a run as the ranking asks of a bug's data. A symptom
// without facts cannot be compared, and does not count.
func Explained(r read.Report, found []finding.Finding) bool {
	var l left
	for _, f := range found {
		l.surely = append(l.surely, finding.Match{Class: f.Class, Facts: f.Facts})
	}
	r.Seen = slices.DeleteFunc(slices.Clone(r.Seen), func(o read.Observation) bool {
		return o.Sort() == read.Symptom && o.Class() == ""
	})
	_, explained, total := l.explain(r)
	return total == 0 || 2*explained > total
}

// explanation relates remains to a symptom.
type explanation struct {
	Reason
	of read.Observation
}

// explain goes through the kinds of symptoms. It returns an explanation for each, the
// weight of the explained symptoms, and the weight of all.
func (l left) explain(r read.Report) (all []explanation, explained, total int) {
	var brought []explanation
	heads := 0
	done := map[read.Kind]bool{}
	symptoms := r.BySort(read.Symptom)
	for _, o := range symptoms {
		if done[o.What] {
			continue
		}
		done[o.What] = true
		o, why, is := l.best(symptoms, o.What)
		total += weight(o)
		x := explanation{Reason{Why: why, What: o.What, Lines: o.Lines, Is: is}, o}
		switch why {
		case Brings, MayLeave:
			brought = append(brought, x)
			continue
		case Explains:
			heads++
			explained += weight(o)
		}
		all = append(all, x)
	}
	for _, x := range brought { // these count only beside a symptom that the remains explain
		if heads == 0 {
			x.Why, x.Is = Unexplained, ""
		} else {
			explained += weight(x.of)
		}
		all = append(all, x)
	}
	return all, explained, total
}

// weight returns the weight of a symptom. A growing number of shims is weaker evidence
// than a shim without a task.
func weight(o read.Observation) int {
	switch o.What {
	case read.GrowingShims, read.ChildlessShim, read.ShimWithoutPod, read.Zombie:
		return 1
	}
	return 2
}

// best returns the observation of a kind that the bug explains best. A kind may be
// reported with two codes: by containerd, and by a client with a shorter timeout.
func (l left) best(all []read.Observation, w read.Kind) (best read.Observation, why Why, is string) {
	for _, o := range all {
		if o.What != w {
			continue
		}
		if y, i := l.why(o); why == "" || whys[y].points > whys[why].points {
			best, why, is = o, y, i
		}
	}
	return best, why, is
}

// why returns how the remains relate to a symptom.
func (l left) why(o read.Observation) (Why, string) {
	if o.Class() == "" {
		if key, _ := l.logs.weigh(o); key != "" {
			return Explains, key
		}
		return Unexplained, ""
	}
	seen := Comparable(o.Facts)
	if o.Logged && len(o.Made.Chain) > 0 && !l.logs.explain(o) {
		return Unexplained, "" // the call failed with another error
	}
	if m, ok := likeOne(l.surely, o.Class(), seen); ok {
		return Explains, m.String()
	}
	if m, ok := likeOne(l.may, o.Class(), seen); ok {
		return MayLeave, m.String()
	}
	all := slices.Concat(l.surely, l.may)
	ofClass := func(m finding.Match) bool { return m.Class == o.Class() }
	if o.Class() == finding.ClassShim && slices.ContainsFunc(all, ofClass) {
		return Conflicts, "" // a shim without a task is no shim with one
	}
	for _, m := range all {
		if seen[fact.State] == "" && slices.Contains(m.Class.Kind().With, o.Class()) {
			return Brings, m.String()
		}
	}
	return Unexplained, ""
}

// likeOne returns the first match of a class that has the telling facts of an
// observation, and no fact that contradicts it.
func likeOne(all []finding.Match, class finding.Class, seen fact.Facts) (finding.Match, bool) {
	i := slices.IndexFunc(all, func(m finding.Match) bool {
		return sameThing(m, class, seen) && names(m.Facts, seen) && m.Facts.Agrees(seen)
	})
	if i < 0 {
		return finding.Match{}, false
	}
	return all[i], true
}

// sameThing reports whether a match has a class, or means the shim of a task that ctr
// lists.
func sameThing(m finding.Match, class finding.Class, seen fact.Facts) bool {
	return m.Class == class || class == finding.ClassTask && m.Class == finding.ClassShim &&
		m.Facts[fact.Task] == seen[fact.Task]
}

// telling are the facts that identify an observation. A match without them means another
// object.
var telling = []fact.Key{fact.Event, fact.Status, fact.What, fact.Repeat, fact.State, fact.Reported}

// names reports whether a match has the telling facts of an observation.
func names(m, seen fact.Facts) bool {
	if seen[fact.Bundle] == fact.Hidden && m[fact.Bundle] != fact.Hidden {
		return false
	}
	return !slices.ContainsFunc(telling, func(k fact.Key) bool { return seen[k] != "" && m[k] == "" })
}

// Comparable returns the facts that a finding on another machine, with another
// workload, can also have.
func Comparable(fs fact.Facts) fact.Facts {
	out := fs.Cause()
	if strings.HasPrefix(fs[fact.Reported], "CONTAINER_") { // an exit status belongs to one case, a state does not
		out[fact.Reported] = fs[fact.Reported]
	}
	return out
}
