package finding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/spelling"
)

// Match describes findings: it has a class, and facts that the findings must have. Its
// text form is the class and then the facts:
//
//	exit-code by=cri-status status=made-up-255 true=7
//
// The catalogue uses matches for known findings, and the suites use them for the findings
// of old releases.
type Match struct {
	Class Class
	Facts fact.Facts
}

// ParseMatch parses the text form. It rejects a match that would excuse too much. A wrong
// exit status needs its reporter and its error. An event needs its error, and an exit of
// containerd needs its exit status.
func ParseMatch(text string) (Match, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Match{}, errors.New("an empty match: expected a class and facts, such as shim task=none")
	}
	facts, err := fact.ParseAll(words[1:])
	if err != nil {
		return Match{}, fmt.Errorf("match %q: %w", text, err)
	}
	m := Match{Class: Class(words[0]), Facts: facts}
	return m, m.check()
}

// MustMatches parses several text forms for tables. It panics if one is invalid.
func MustMatches(texts ...string) []Match {
	out := make([]Match, len(texts))
	for i, text := range texts {
		m, err := ParseMatch(text)
		if err != nil {
			panic(err)
		}
		out[i] = m
	}
	return out
}

func (m Match) check() error {
	if err := spelling.OneOf("class", m.Class, Classes); err != nil {
		return fmt.Errorf("match %q: %w", m, err)
	}
	if details := m.Facts.Details(); len(details) > 0 {
		return fmt.Errorf("match %q: the fact %s differs from case to case: remove it", m, details[0])
	}
	keys := m.Example().Kind(func(k Kind) bool { return k.Needs != nil }).Needs
	for _, k := range keys {
		if m.Facts[k] == "" {
			return fmt.Errorf("match %q: add the fact %s: without it the match excuses findings of other causes", m, k)
		}
	}
	return nil
}

// Example returns a finding that matches.
func (m Match) Example() Finding {
	f := Finding{Invariant: m.Class.Kind().pattern.invariant, Class: m.Class, Facts: m.Facts}
	if f.Invariant == Leak && m.Facts[fact.What] != "" {
		f.Invariant = Liveness
	}
	return f
}

// Matches reports whether a finding matches. A match about a container's init does not
// match its execs.
func (m Match) Matches(f Finding) bool {
	return m.Class == f.Class && f.Facts.Has(m.Facts) && f.Facts[fact.Of] == m.Facts[fact.Of]
}

// AnyMatches reports whether a finding matches at least one match.
func AnyMatches(all []Match, f Finding) bool {
	return slices.ContainsFunc(all, func(m Match) bool { return m.Matches(f) })
}

// String returns the text form.
func (m Match) String() string {
	return strings.TrimSuffix(string(m.Class)+" "+m.Facts.String(), " ")
}

// MarshalYAML returns the text form, for the YAML library.
func (m Match) MarshalYAML() (any, error) { return m.String(), nil }

// UnmarshalYAML parses the text form, for the YAML library.
func (m *Match) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	parsed, err := ParseMatch(text)
	*m = parsed
	return err
}
