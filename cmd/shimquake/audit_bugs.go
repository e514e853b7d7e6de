package main

import (
	"cmp"
	"slices"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle"
)

// notSeen are facts that only a history tells: of a live node nobody knows them, and a
// known finding that names one may still be it.
var notSeen = []oracle.Key{oracle.FactCreate, oracle.FactContainerd, oracle.FactWhose, oracle.FactShim, oracle.FactProgram}

// nameBugs adds to each suspect the findings of the catalogue that are known of its
// version and leave what it has.
func nameBugs(r *audit.Report) {
	all := catalogue.Findings()
	for i := range r.Suspects {
		r.Suspects[i].Bugs = bugsOf(r.Suspects[i], all)
	}
}

// bugsOf are those whose match has the suspect's facts; those that say most come first.
func bugsOf(s audit.Suspect, all []catalogue.Finding) []string {
	facts, err := oracle.ParseFacts(s.Facts)
	if err != nil || s.Version == "" {
		return []string{}
	}
	found := oracle.Finding{Class: oracle.Class(s.Kind), Facts: facts}
	type fit struct {
		id    string
		facts int // that it names and the suspect has
	}
	var fits []fit
	for _, f := range all {
		if !f.Applies(s.Version) {
			continue
		}
		best := -1
		for _, m := range f.Match {
			best = max(best, fitting(m, found))
		}
		if best >= 0 {
			fits = append(fits, fit{f.ID, best})
		}
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(b.facts, a.facts) })
	ids := make([]string, 0, len(fits))
	for _, f := range fits {
		ids = append(ids, f.id)
	}
	return ids
}

// fitting is how many facts of a match the finding has; -1 where it has another.
func fitting(m oracle.Match, f oracle.Finding) int {
	seen := m
	for _, k := range notSeen {
		if f.Facts[k] == "" {
			seen.Facts[k] = ""
		}
	}
	if !seen.Like(f) {
		return -1
	}
	n := 0
	for _, value := range seen.Facts {
		if value != "" {
			n++
		}
	}
	return n
}
