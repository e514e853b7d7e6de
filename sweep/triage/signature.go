// Package triage makes of what a sweep has found a few clusters, each with one cause, and
// compares them with the known findings of the catalogue.
package triage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Signature is what a finding has in common with those of other cases: what was left and
// why, without what is of one case only. It is comparable.
type Signature struct {
	Invariant finding.Invariant `json:"invariant"`
	Class     finding.Class     `json:"class"`
	// Facts are those of a cause: see fact.Facts.Cause.
	Facts fact.Facts `json:"facts"`
}

// String is the form in which a known finding is matched: leak shim: task=none
// bundle=gone.
func (s Signature) String() string {
	return strings.TrimSuffix(string(s.Invariant)+" "+string(s.Class)+": "+s.Facts.String(), ": ")
}

// signatureOf takes from a finding what is of one case only.
func signatureOf(f finding.Finding) Signature {
	return Signature{f.Invariant, f.Class, f.Facts.Cause()}
}

// signatures are those of a case's findings, each once, the most severe first.
func signatures(found []finding.Finding) (all []Signature) {
	for _, f := range found {
		if t := signatureOf(f); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, bySeverity)
	return all
}

// reduced are the signatures of what names a cluster, and of what comes with that.
func reduced(found []finding.Finding) (main, with []Signature) {
	alone := slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool {
		return slices.ContainsFunc(found, func(o finding.Finding) bool { return compare.ComesWith(f, o) })
	})
	main = signatures(alone)
	with = slices.DeleteFunc(signatures(found), func(s Signature) bool { return slices.Contains(main, s) })
	return main, with
}

// families puts the signatures of a case that have one cause together: what was left,
// whose exit codes were wrong in one way, which events were wrong alike. Each family is a
// cluster's: a case may show several.
func families(main []Signature) [][]Signature {
	var out [][]Signature
	for _, s := range main {
		i := slices.IndexFunc(out, func(f []Signature) bool { return related(f[0], s) })
		if i < 0 {
			out = append(out, []Signature{s})
		} else {
			out[i] = append(out[i], s)
		}
	}
	return out
}

// related reports whether two signatures of one case belong to one finding. CRI keeps its
// own record of exits, so what it says wrong has causes of its own.
func related(a, b Signature) bool {
	if a.Invariant != b.Invariant {
		return false
	}
	same := func(keys ...fact.Key) bool {
		return !slices.ContainsFunc(keys, func(k fact.Key) bool { return a.Facts[k] != b.Facts[k] })
	}
	cri := func(s Signature) bool { return s.Facts[fact.By] == string(exit.ByCRIStatus) }
	switch a.Invariant {
	case finding.Leak:
		return true
	case finding.Exit:
		return same(fact.Status) && cri(a) == cri(b)
	case finding.Event:
		return same(fact.Event, fact.After, fact.Repeat)
	case finding.Status:
		return same(fact.Object, fact.Field)
	case finding.Forgot:
		return same(fact.Program)
	}
	return same(fact.What)
}

// bySeverity orders signatures: by class as the oracle has them, then by their facts.
func bySeverity(a, b Signature) int {
	return cmp.Or(
		cmp.Compare(slices.Index(finding.Classes, a.Class), slices.Index(finding.Classes, b.Class)),
		strings.Compare(string(a.Invariant), string(b.Invariant)), strings.Compare(a.Facts.String(), b.Facts.String()),
	)
}

// text is the form of several signatures, for names and comparisons.
func text(all []Signature) string {
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = s.String()
	}
	return strings.Join(parts, " | ")
}

// subset reports whether all contains some.
func subset(some, all []Signature) bool {
	return !slices.ContainsFunc(some, func(s Signature) bool { return !slices.Contains(all, s) })
}
