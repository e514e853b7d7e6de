// Package search searches for a case that shows the symptoms of a report, if no known
// bug does. It runs cases with one fault on the reported release, the likeliest first.
package search

import (
	"slices"

	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
)

// Targets returns the facts that a case must show to have the reported symptoms.
// Symptoms of one class become one match if their facts agree.
func Targets(r read.Report) (out []finding.Match) {
	all := r.BySort(read.Symptom)
	listed := slices.ContainsFunc(all, func(o read.Observation) bool { return !o.Logged })
	if !listed && len(r.BySort(read.Elsewhere)) > 0 {
		return nil // the report is about other trouble
	}
	for _, o := range all {
		if o.Class() == "" {
			continue
		}
		m := finding.Match{Class: o.Class(), Facts: rank.Comparable(o.Facts)}
		i := slices.IndexFunc(out, func(t finding.Match) bool { return t.Class == m.Class && t.Facts.Agrees(m.Facts) })
		if i >= 0 {
			out[i].Facts = out[i].Facts.With(m.Facts)
		} else {
			out = append(out, m)
		}
	}
	return slices.DeleteFunc(out, func(m finding.Match) bool { return comesWith(out, m) })
}

// comesWith reports whether a target is a consequence of another target.
func comesWith(all []finding.Match, m finding.Match) bool {
	return slices.ContainsFunc(all, func(o finding.Match) bool {
		return o.Class != m.Class && slices.Contains(o.Class.Kind().With, m.Class)
	})
}

// fit is the result of comparing the findings of a case with the targets.
type fit struct {
	has   int // the number of targets that the case shows
	extra int // the number of other findings, without consequences of the targets
}

func fitOf(targets []finding.Match, found []finding.Finding) fit {
	var f fit
	var like []finding.Finding
	for _, t := range targets {
		shows := slices.DeleteFunc(slices.Clone(found), func(x finding.Finding) bool { return !t.Matches(x) })
		like = append(like, shows...)
		f.has += min(len(shows), 1)
	}
	with := compare.Companions(like, found)
	for _, x := range found {
		if !slices.Contains(like, x) && !slices.Contains(with, x) {
			f.extra++
		}
	}
	return f
}

// all reports whether a case shows every target. exact reports whether it shows nothing
// else, too.
func (f fit) all(targets []finding.Match) bool   { return f.has == len(targets) && f.has > 0 }
func (f fit) exact(targets []finding.Match) bool { return f.all(targets) && f.extra == 0 }
