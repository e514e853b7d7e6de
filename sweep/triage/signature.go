// Package triage groups the findings of a sweep into a few clusters, each with one cause,
// and compares them with the known findings of the catalogue.
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

// Signature is the part of a finding that is equal in other cases with the same cause. It
// omits values of one case, such as ids. It is comparable with ==.
type Signature struct {
	Invariant finding.Invariant `json:"invariant"`
	Class     finding.Class     `json:"class"`
	// Facts has only the facts that describe the cause: see fact.Facts.Cause.
	Facts fact.Facts `json:"facts"`
}

// String returns the form that the match of a known finding has in the catalogue: leak
// shim: task=none bundle=gone.
func (s Signature) String() string {
	return strings.TrimSuffix(string(s.Invariant)+" "+string(s.Class)+": "+s.Facts.String(), ": ")
}

// signatureOf returns the signature of a finding.
func signatureOf(f finding.Finding) Signature {
	return Signature{f.Invariant, f.Class, f.Facts.Cause()}
}

// signatures returns the signatures of a case's findings, each once, the most severe
// first.
func signatures(found []finding.Finding) (all []Signature) {
	for _, f := range found {
		if t := signatureOf(f); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, bySeverity)
	return all
}

// reduced returns the signatures that name a cluster, and the signatures of their
// companions. A companion is a further symptom of the same cause.
func reduced(found []finding.Finding) (main, with []Signature) {
	alone := slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool {
		return slices.ContainsFunc(found, func(o finding.Finding) bool { return compare.FollowsFrom(f, o) })
	})
	main = signatures(alone)
	with = slices.DeleteFunc(signatures(found), func(s Signature) bool { return slices.Contains(main, s) })
	return main, with
}

// families groups the signatures of a case by cause: leaks, wrong exit statuses of one
// kind, and wrong events of one kind. Each family belongs to one cluster. A case may have
// several families.
func families(main []Signature) [][]Signature {
	var out [][]Signature
	for _, s := range main {
		i := slices.IndexFunc(out, func(f []Signature) bool { return Related(f[0], s) })
		if i < 0 {
			out = append(out, []Signature{s})
		} else {
			out[i] = append(out[i], s)
		}
	}
	return out
}

// Families returns the signatures of a case's findings by their cause. It omits findings
// that follow from others.
func Families(found []finding.Finding) [][]Signature {
	main, _ := reduced(found)
	return families(main)
}

// Signatures returns the signatures of a case's findings, each once, the most severe
// first.
func Signatures(found []finding.Finding) []Signature { return signatures(found) }

// Related reports whether two signatures of one case have the same cause. CRI keeps its
// own record of exits, so wrong exit statuses in CRI have causes of their own.
func Related(a, b Signature) bool {
	if a.Invariant != b.Invariant {
		return false
	}
	cri := func(s Signature) bool { return s.Facts[fact.By] == string(exit.ByCRIStatus) }
	if a.Invariant == finding.Exit && cri(a) != cri(b) {
		return false
	}
	f := finding.Finding{Invariant: a.Invariant, Class: a.Class, Facts: a.Facts}
	keys := f.Kind(func(k finding.Kind) bool { return k.Cause != nil }).Cause
	return !slices.ContainsFunc(keys, func(k fact.Key) bool { return a.Facts[k] != b.Facts[k] })
}

// bySeverity orders signatures by their class, the most severe first, and then by their
// facts.
func bySeverity(a, b Signature) int {
	return cmp.Or(
		cmp.Compare(slices.Index(finding.Classes, a.Class), slices.Index(finding.Classes, b.Class)),
		strings.Compare(string(a.Invariant), string(b.Invariant)), strings.Compare(a.Facts.String(), b.Facts.String()),
	)
}

// text returns several signatures as one text, for names and comparisons.
func text(all []Signature) string {
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = s.String()
	}
	return strings.Join(parts, " | ")
}

// subset reports whether all has every element of some.
func subset(some, all []Signature) bool {
	return !slices.ContainsFunc(some, func(s Signature) bool { return !slices.Contains(all, s) })
}
