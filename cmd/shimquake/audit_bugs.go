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
var notSeen = []oracle.Key{
	oracle.FactCreate, oracle.FactContainerd, oracle.FactWhose, oracle.FactShim, oracle.FactProgram,
}

// nameBugs adds to each suspect the bugs of the catalogue that are known of its version
// and leave what it has.
func nameBugs(r *audit.Report) {
	for i := range r.Suspects {
		r.Suspects[i].Bugs = bugsOf(r.Suspects[i], catalogue.Cases(), catalogue.Findings())
	}
}

// bugsOf are those whose match has the suspect's facts. Those that users have met, with
// an issue of containerd's, come before what sweeps have found; then those that say most.
func bugsOf(s audit.Suspect, cases []harness.Case, findings []catalogue.Finding) []string {
	facts, err := oracle.ParseFacts(s.Facts)
	if err != nil || s.Version == "" {
		return []string{}
	}
	found := oracle.Finding{Class: oracle.Class(s.Kind), Facts: facts}
	fits := map[string]int{} // how many of the suspect's facts a bug names
	add := func(id string, match []oracle.Match) {
		var named oracle.Facts
		fit := false
		for _, m := range match {
			if m, ok := fitting(m, found); ok {
				named, fit = named.With(m.Facts), true
			}
		}
		if fit {
			fits[id] = max(fits[id], count(named))
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
	ids := slices.AppendSeq([]string{}, maps.Keys(fits))
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(fits[b], fits[a]), cmp.Compare(a, b))
	})
	return ids
}

func rank(bug string) int {
	if strings.HasPrefix(bug, "containerd#") {
		return 0
	}
	return 1
}

// fitting reports whether a finding is like a match, as far as a live node can tell, and
// returns what of the match that is.
func fitting(m oracle.Match, f oracle.Finding) (oracle.Match, bool) {
	for _, k := range notSeen {
		if f.Facts[k] == "" {
			m.Facts[k] = ""
		}
	}
	return m, m.Like(f)
}

func count(facts oracle.Facts) int {
	n := 0
	for _, value := range facts {
		if value != "" {
			n++
		}
	}
	return n
}
