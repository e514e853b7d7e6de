package main

import (
	"cmp"
	"slices"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// notSeen are facts that only a history tells: of a live node nobody knows them, and a
// bug that names one may still be it.
var notSeen = []fact.Key{
	fact.Create, fact.Containerd, fact.Whose, fact.Shim, fact.Program,
	fact.Served,
}

// nameBugs adds to each suspect the bugs of the catalogue that leave what it has: those
// that are known of its version, and those of which nobody knows whether it has them.
func nameBugs(r *audit.Report) {
	bugs := catalogue.BySeverity()
	for i := range r.Suspects {
		s := &r.Suspects[i]
		s.Bugs, s.MayBe = bugsOf(*s, bugs, affected.Bad), bugsOf(*s, bugs, affected.Unknown)
	}
}

// bugsOf are those of which that is known of its version and whose facts the suspect has.
// What users have met comes before what sweeps have found, what a newer release has fixed
// first, and that before what can only be if a function could fail that does not; then
// what always leaves it before what may, those that say most, and then the order of bugs.
func bugsOf(s audit.Suspect, bugs []catalogue.Bug, state affected.State) []string {
	facts, err := fact.ParseAll(s.Facts)
	if err != nil || s.Version == "" {
		return []string{}
	}
	found := finding.Finding{Class: finding.Class(s.Kind), Facts: facts}
	said := map[string]int{} // how many of the suspect's facts a bug names
	may := map[string]int{}  // 1: that is among what may come besides
	fits := slices.DeleteFunc(slices.Clone(bugs), func(b catalogue.Bug) bool {
		n, fit := named(b.Matches(), found)
		said[b.ID] = n
		if _, left := named(b.Left, found); !left {
			may[b.ID] = 1
		}
		return !fit || b.Releases.Of(s.Version) != state
	})
	slices.SortStableFunc(fits, func(a, b catalogue.Bug) int {
		return cmp.Or(cmp.Compare(met(a), met(b)), cmp.Compare(may[a.ID], may[b.ID]), cmp.Compare(said[b.ID], said[a.ID]))
	})
	ids := make([]string, len(fits))
	for i, b := range fits {
		ids[i] = b.ID
	}
	return ids
}

// named is how many facts of what was found the matches of a bug name.
func named(matches []finding.Match, found finding.Finding) (n int, fits bool) {
	for _, m := range matches {
		if m, ok := fitting(m, found); ok {
			n, fits = max(n, count(m.Facts)), true
		}
	}
	return n, fits
}

// met is 0 for what users have met and a release has fixed, 1 for what they have met, 2
// for what a fault does, and 3 for what only an unlikely one does.
func met(b catalogue.Bug) int {
	switch {
	case b.Kind == catalogue.Lead:
		return 3
	case !slices.Contains(b.Verified.By, catalogue.Reported):
		return 2
	case b.Releases.Open():
		return 1
	}
	return 0
}

// fitting reports whether a finding is like a match, as far as a live node can tell, and
// returns what of the match that is.
func fitting(m finding.Match, f finding.Finding) (finding.Match, bool) {
	for _, k := range notSeen {
		if f.Facts[k] == "" {
			m.Facts[k] = ""
		}
	}
	return m, m.Like(f)
}

func count(facts fact.Facts) int {
	n := 0
	for _, value := range facts {
		if value != "" {
			n++
		}
	}
	return n
}
