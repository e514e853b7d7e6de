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

// KnownViolations describes releases that are known to violate a case, and their
// findings. It excuses nothing: `shimquake run` still calls such a verdict violated.
// The suites and the nightly runs over old releases compare their verdicts with it, so
// that they report a release that became better or worse.
type KnownViolations struct {
	// Releases is a range of semantic versions, such as "< 2.4.0".
	Releases string
	// By are the expected violations. The case must show each of them, and each of its
	// violations must match one. The consequences of a leaked shim need no entry. These are
	// the files that it keeps open and the id that it blocks (compare.Companions).
	By []finding.Match
	// OneOf means that one of By is enough, because chance decides which of them the run
	// shows.
	OneOf bool
	// May are violations that a run may also show, because of a race in containerd.
	May []finding.Match
	// Issue is the source of this knowledge, such as "containerd#8981", or a sentence.
	Issue string
}

func (b KnownViolations) check() error {
	if _, err := semver.NewConstraint(b.Releases); err != nil {
		return fmt.Errorf("bad: releases %q: %w", b.Releases, err)
	}
	if len(b.By) == 0 || b.Issue == "" {
		return errors.New("bad: add by (the violations, such as shim task=none) and issue")
	}
	for _, m := range slices.Concat(b.By, b.May) {
		if _, err := finding.ParseMatch(m.String()); err != nil {
			return fmt.Errorf("bad: %w", err)
		}
	}
	return nil
}

// KnownViolationsOn returns the known violations of a release, such as "v2.3.7". It
// returns nil if the case must hold there.
func (c Case) KnownViolationsOn(version string) *KnownViolations {
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

// CompareWithKnown compares the verdict with the known violations of the release, and
// returns the difference as an error. It returns nil if the case held and has no known
// violations, or if the run showed exactly the known ones.
func (v Verdict) CompareWithKnown() error {
	bad := v.Case.KnownViolationsOn(v.Version)
	if bad == nil {
		if v.Outcome != Held {
			return errors.New(v.String())
		}
		return nil
	}
	if v.Outcome != Violated {
		return fmt.Errorf(
			"%s is known to violate this case (%s), but the verdict is %s: check the range %q of its key bad\n%s",
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
			"%s violates this case in another way than known (%s): missing [%s], unexpected [%s]\n%s",
			v.Version,
			bad.Issue,
			strings.Join(lacks, "; "),
			strings.Join(other, "; "),
			v,
		)
	}
	return nil
}

// Differences returns the known violations that were not found, and the findings that are
// not known.
func (b KnownViolations) Differences(found []finding.Finding) (lacks, other []string) {
	for _, m := range b.By {
		if !slices.ContainsFunc(found, m.Matches) {
			lacks = append(lacks, m.String())
		}
	}
	if b.OneOf && len(lacks) < len(b.By) {
		lacks = nil
	}
	var known []finding.Finding
	for _, f := range found {
		if finding.AnyMatches(b.By, f) || finding.AnyMatches(b.May, f) {
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

// bad returns the Bad that the text form describes.
func (t badText) bad() (b KnownViolations, err error) {
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
