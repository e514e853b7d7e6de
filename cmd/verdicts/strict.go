package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed skips.yaml
var skipsFile []byte

// allowedSkip is a reason for which a test may be skipped in a strict run.
type allowedSkip struct {
	Match string `yaml:"match"`
	Why   string `yaml:"why"`
	match *regexp.Regexp
}

func parseSkips(text []byte) ([]allowedSkip, error) {
	var all []allowedSkip
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		return nil, err
	}
	for i, s := range all {
		if s.Match == "" || s.Why == "" {
			return nil, fmt.Errorf("entry %d needs match and why: %+v", i+1, s)
		}
		var err error
		if all[i].match, err = regexp.Compile(s.Match); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// allowed has the entries of skips.yaml; a test reads it, too.
var allowed = func() []allowedSkip {
	all, err := parseSkips(skipsFile)
	if err != nil {
		panic("cmd/verdicts/skips.yaml: " + err.Error())
	}
	return all
}()

// leftOut makes a failed row for each reason of a skip that is not in skips.yaml, and for
// each suite that ran nothing.
func leftOut(rows []row, unselected []unselectedSuite) []row {
	var red []row
	for _, s := range skips(rows) {
		if slices.ContainsFunc(allowed, func(a allowedSkip) bool { return a.match.MatchString(s.reason) }) {
			continue
		}
		name := fmt.Sprintf(
			"%d skipped, of %s, and cmd/verdicts/skips.yaml does not allow it",
			s.count,
			strings.Join(s.suites, ", "),
		)
		red = append(red, row{suite: "strict", name: name, verdict: failed, reason: s.reason})
	}
	idle := func(suite, reason string) {
		red = append(red, row{suite: suite, name: "one of its specs runs", verdict: failed, reason: "strict: " + reason})
	}
	for _, name := range idleSuites(rows) {
		idle(name, "all of it was skipped")
	}
	for _, s := range unselected {
		if s.filter == "" {
			idle(s.name, "it has no spec")
			continue
		}
		idle(s.name, fmt.Sprintf("none of its specs has the label %q", s.filter))
	}
	return red
}

// idleSuites returns the suites and packages in which everything was skipped.
func idleSuites(rows []row) []string {
	var idle []string
	ran := map[string]bool{}
	for _, r := range rows {
		ran[r.suite] = ran[r.suite] || r.verdict != skipped
	}
	for _, r := range rows {
		if !ran[r.suite] && !slices.Contains(idle, r.suite) {
			idle = append(idle, r.suite)
		}
	}
	return idle
}
