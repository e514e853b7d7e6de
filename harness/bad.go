package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/shimquake/shimquake/oracle"
)

// Bad says which releases are known to violate a case, and how. It excuses nothing:
// `shimquake run` calls such a verdict violated. It is what suites and the nightly run
// over old releases compare with, so that a release that is suddenly better, or worse, is
// told.
type Bad struct {
	// Releases is a range of semantic versions: "< 2.4.0".
	Releases string `yaml:"releases"`
	// By are the classes of what violates, all of them and no others. A leaked shim keeps
	// its socket, its bundle and its cgroup, and its id cannot be used again; that goes
	// without saying.
	By []oracle.Class `yaml:"by,flow"`
	// May are the classes that may be violated besides: those that a race within containerd
	// decides about.
	May []oracle.Class `yaml:"may,omitempty,flow"`
	// Issue is where it is known from: "containerd#8981", or words.
	Issue string `yaml:"issue"`
}

// companions come with a leaked shim.
var companions = []oracle.Class{oracle.ClassSocket, oracle.ClassBundle, oracle.ClassCgroup, oracle.ClassContainer}

func (b Bad) check() error {
	if _, err := semver.NewConstraint(b.Releases); err != nil {
		return fmt.Errorf("bad: releases %q: %w", b.Releases, err)
	}
	if len(b.By) == 0 || b.Issue == "" {
		return errors.New("bad: by (the classes of what violates) and issue are needed")
	}
	for _, class := range slices.Concat(b.By, b.May) {
		if !slices.Contains(oracle.Classes, class) {
			return fmt.Errorf("bad: no finding is of class %q, only of %v", class, oracle.Classes)
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
	var other, lacks []string
	for _, class := range bad.By {
		if !v.Has(class) {
			lacks = append(lacks, string(class))
		}
	}
	for _, f := range v.Violations() {
		known := slices.Contains(bad.By, f.Class) || slices.Contains(bad.May, f.Class) ||
			(slices.Contains(bad.By, oracle.ClassShim) && slices.Contains(companions, f.Class))
		if !known {
			other = append(other, f.String())
		}
	}
	if len(lacks)+len(other) > 0 {
		return fmt.Errorf(
			"%s violates this case in another way than is known (%s): missing %v, besides: %s\n%s",
			v.Version,
			bad.Issue,
			lacks,
			strings.Join(other, "; "),
			v,
		)
	}
	return nil
}
