package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// notSeen are facts that only a history tells: of a live node nobody knows them, and a
// known finding that names one may still be it.
var notSeen = []oracle.Key{oracle.FactCreate, oracle.FactContainerd, oracle.FactWhose, oracle.FactShim, oracle.FactProgram}

// nameBugs adds to each suspect the bugs of the catalogue that are known of its version
// and leave what it has.
func nameBugs(r *audit.Report) {
	for i := range r.Suspects {
		r.Suspects[i].Bugs = bugsOf(r.Suspects[i], catalogue.Cases(), catalogue.Findings())
	}
}

// bugsOf are those whose match has the suspect's facts. Those that say most come first,
// and of these the ones with an issue of containerd's.
func bugsOf(s audit.Suspect, cases []harness.Case, findings []catalogue.Finding) []string {
	facts, err := oracle.ParseFacts(s.Facts)
	if err != nil || s.Version == "" {
		return []string{}
	}
	found := oracle.Finding{Class: oracle.Class(s.Kind), Facts: facts}
	fits := map[string]int{} // how many facts a bug names that the suspect has
	add := func(id string, match []oracle.Match) {
		for _, m := range match {
			if n := fitting(m, found); n >= 0 {
				fits[id] = max(fits[id], n)
			}
		}
	}
	for _, c := range cases {
		if bad := c.BadOn(s.Version); bad != nil {
			add(bad.Issue, bad.By)
		}
	}
	for _, f := range findings {
		if f.Applies(s.Version) {
			add(f.ID, f.Match)
		}
	}
	return slices.SortedFunc(maps.Keys(fits), func(a, b string) int {
		return cmp.Or(cmp.Compare(fits[b], fits[a]), cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

func rank(bug string) int {
	if strings.HasPrefix(bug, "containerd#") {
		return 0
	}
	return 1
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
