package main

import (
	"slices"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
)

// notSeen are facts that only a history has. They are unknown on a live node, so they
// exclude no bug.
var notSeen = []fact.Key{
	fact.Create, fact.Containerd, fact.Role, fact.Shim, fact.Program,
	fact.Served,
}

// nameBugs adds the matching bugs of the catalogue to each suspect. A bug that is known
// on its version is in Bugs, and an untested bug is in MayBe. They have the order of
// shimquake repro.
func nameBugs(r *audit.Report) {
	ofVersion := map[string][]rank.Fit{}
	type likeness struct {
		finding.Match
		version string
	}
	ofLike := map[likeness]*audit.Suspect{} // a cache, because thousands of suspects may have the same facts
	for i := range r.Suspects {
		s := &r.Suspects[i]
		like := likeness{finding.Match{Class: s.Kind, Facts: s.Facts}, s.Version}
		if same := ofLike[like]; same != nil {
			s.Bugs, s.MayBe = same.Bugs, same.MayBe
			continue
		}
		fits, done := ofVersion[s.Version]
		if !done && s.Version != "" {
			same := audit.Report{Suspects: slices.DeleteFunc(slices.Clone(r.Suspects), func(o audit.Suspect) bool {
				return o.Version != s.Version
			})}
			fits = rank.Rank(read.OfAudit(same), s.Version, catalogue.BySeverity())
			ofVersion[s.Version] = fits
		}
		s.Bugs, s.MayBe = bugsOf(*s, fits, affected.Bad), bugsOf(*s, fits, affected.Unknown)
		ofLike[like] = s
	}
}

// bugsOf returns the ids of the bugs that match the suspect's facts, in the order of
// fits. It leaves out bugs with another state on the suspect's version.
func bugsOf(s audit.Suspect, fits []rank.Fit, state affected.State) []string {
	ids := []string{}
	for _, f := range fits {
		leaves := slices.ContainsFunc(f.Bug.Matches(), func(m finding.Match) bool { return fitting(m, s.Finding()) })
		if leaves && f.Bug.StateOf(s.Version) == state {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// fitting reports whether a finding has the facts of a match, except for the facts that a
// live node does not show.
func fitting(m finding.Match, f finding.Finding) bool {
	for _, k := range notSeen {
		if f.Facts[k] == "" {
			m.Facts[k] = ""
		}
	}
	return m.Matches(f)
}
