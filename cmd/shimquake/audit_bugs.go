package main

import (
	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// notSeen are facts that only a history has. They are unknown on a live node, so they
// exclude no bug.
var notSeen = []fact.Key{
	fact.Create, fact.Containerd, fact.Role, fact.Shim, fact.Program,
	fact.Served,
}

// nameBugs counts the bugs of the catalogue that may leave each suspect on its version.
// It names a bug only if there is no other. Two bugs that leave the same object differ in
// containerd's log, which an audit does not read.
func nameBugs(r *audit.Report) {
	type likeness struct {
		finding.Match
		version string
	}
	ofLike := map[likeness]*audit.Suspect{} // a cache, because thousands of suspects may have the same facts
	for i := range r.Suspects {
		s := &r.Suspects[i]
		like := likeness{finding.Match{Class: s.Kind, Facts: s.Facts}, s.Version}
		if same := ofLike[like]; same != nil {
			s.Bug, s.Alike = same.Bug, same.Alike
			continue
		}
		ofLike[like] = s
		for _, b := range catalogue.BySeverity() {
			state := b.StateOf(s.Version)
			if state != affected.Bad && state != affected.Unknown || !leaves(b, s.Finding()) {
				continue
			}
			if s.Bug = ""; s.Alike == 0 && state == affected.Bad {
				s.Bug = b.ID
			}
			s.Alike++
		}
	}
}

// leaves reports whether a bug leaves the object of a finding. A hidden bundle differs
// from every other bundle, so a match must name it.
func leaves(b catalogue.Bug, f finding.Finding) bool {
	for _, m := range b.Matches() {
		if f.Facts[fact.Bundle] == fact.Hidden && m.Facts[fact.Bundle] != fact.Hidden {
			continue
		}
		for _, k := range notSeen { // a fact that a live node does not show
			if f.Facts[k] == "" {
				m.Facts[k] = ""
			}
		}
		if m.Matches(f) {
			return true
		}
	}
	return false
}
