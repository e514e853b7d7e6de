package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// Bad says which releases are known to violate a case, and how. It excuses nothing:
// `shimquake run` calls such a verdict violated. It is what suites and the nightly run
// over old releases compare with, so that a release that is suddenly better, or worse, is
// reported.
type Bad struct {
	// Releases is a range of semantic versions: "< 2.4.0".
	Releases string
	// By are what violates: each of them is found, and everything that is found is like one
	// of them. What a leaked shim keeps, and that its id cannot be used again, goes without
	// saying (compare.Companions).
	By []finding.Match
	// OneOf says that luck decides which of By is found: one is enough.
	OneOf bool
	// May is what may be found besides: what a race within containerd decides about.
	May []finding.Match
	// Issue is where it is known from: "containerd#8981", or words.
	Issue string
}

func (b Bad) check() error {
	if _, err := semver.NewConstraint(b.Releases); err != nil {
		return fmt.Errorf("bad: releases %q: %w", b.Releases, err)
	}
	if len(b.By) == 0 || b.Issue == "" {
		return errors.New("bad: by (what violates, such as shim task=none) and issue are needed")
	}
	for _, m := range slices.Concat(b.By, b.May) {
		if _, err := finding.ParseMatch(m.String()); err != nil {
			return fmt.Errorf("bad: %w", err)
		}
	}
	return nil
}

// BadOn is what is known of a release, "v2.3.7"; nil where the case must hold.
func (c Case) BadOn(version string) *Bad {
	v, err := semver.NewVersion(version)
	if err != nil {
		return nil
	}
	plain := semver.New(v.Major(), v.Minor(), v.Patch(), "", "") // a release candidate counts as its release
	for i, b := range c.Bad {
		if r, err := semver.NewConstraint(b.Releases); err == nil && r.Check(plain) {
			return &c.Bad[i]
		}
	}
	return nil
}

// AsKnown compares the verdict with what is known of the release. The error says what is
// different: nil means that a case without a known bug held, or that one with a known bug
// was violated just so.
func (v Verdict) AsKnown() error {
	bad := v.Case.BadOn(v.Version)
	if bad == nil {
		if v.Outcome != Held {
			return errors.New(v.String())
		}
		return nil
	}
	if v.Outcome != Violated {
		return fmt.Errorf(
			"%s is known to violate this case (%s), and it is %s now: is the range %q still true?\n%s",
			v.Version,
			bad.Issue,
			v.Outcome,
			bad.Releases,
			v,
		)
	}
	lacks, other := bad.Differences(v.Violations())
	if len(lacks)+len(other) > 0 {
		return fmt.Errorf(
			"%s violates this case in another way than is known (%s): missing [%s], besides: %s\n%s",
			v.Version,
			bad.Issue,
			strings.Join(lacks, "; "),
			strings.Join(other, "; "),
			v,
		)
	}
	return nil
}

// Differences are what is known and was not found, and what was found and is not known.
func (b Bad) Differences(found []finding.Finding) (lacks, other []string) {
	for _, m := range b.By {
		if !slices.ContainsFunc(found, m.Like) {
			lacks = append(lacks, m.String())
		}
	}
	if b.OneOf && len(lacks) < len(b.By) {
		lacks = nil
	}
	var known []finding.Finding
	for _, f := range found {
		if finding.AnyLike(b.By, f) || finding.AnyLike(b.May, f) {
			known = append(known, f)
		}
	}
	with := compare.Companions(known, found)
	for _, f := range found {
		if !slices.Contains(known, f) && !slices.Contains(with, f) {
			other = append(other, wording.Of(f))
		}
	}
	return lacks, other
}

// bad is what the text form stands for.
func (t badText) bad() (b Bad, err error) {
	b.Releases, b.Issue, b.OneOf = string(t.Releases), string(t.Issue), t.OneOf
	if b.By, err = parseMatches(t.By); err == nil {
		b.May, err = parseMatches(t.May)
	}
	return b, err
}

func parseMatches(texts []string) (all []finding.Match, err error) {
	for _, text := range texts {
		m, err := finding.ParseMatch(text)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func matchTexts(all []finding.Match) (texts []string) {
	for _, m := range all {
		texts = append(texts, m.String())
	}
	return texts
}
