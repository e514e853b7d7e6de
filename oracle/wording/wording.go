// Package wording answers: how is a finding described to a person? [Of] returns a whole
// line, [Subject] the name of the subject, and [Reason] the explanation. No code reads
// them. The sentences are in the table of package finding.
package wording

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/quote"
)

// Of returns one line for a person.
func Of(f finding.Finding) string {
	s := fmt.Sprintf("%s %s: %s: %s", f.Invariant, f.Class, Subject(f), Reason(f))
	if f.Known != "" {
		s += " (known: " + f.Known + ")"
	}
	return quote.Line(s)
}

// Subject returns the name of the finding's subject for a person: "shim process 41
// (containerd-shim-runc-v2 default/c1)".
func Subject(f finding.Finding) string {
	if f.Invariant == finding.Loss { // its object has the name of a leaked one
		f.Invariant = finding.Leak
	}
	return strings.TrimSpace(fill(f, text(f, func(k finding.Kind) string { return k.Subject })))
}

// Reason returns, for a person, why something is a finding. Its parts are joined by "; ".
func Reason(f finding.Finding) string {
	f.Facts[fact.Error] = strings.ReplaceAll(strings.TrimSpace(f.Facts[fact.Error]), "\n", "; ")
	why := text(f, func(k finding.Kind) string { return k.Why })
	if f.Invariant != finding.Residue {
		why += "; {~in}; {Because}"
	}
	return fill(f, why)
}

// Advice returns what an operator can do about the object of a finding.
func Advice(f finding.Finding) string {
	return fill(f, text(f, func(k finding.Kind) string { return k.Do }))
}

// Check returns what must hold before an operator follows the advice.
func Check(f finding.Finding) string {
	return fill(f, text(f, func(k finding.Kind) string { return k.Check }))
}

// Match names the findings of a match for a person: "a leaked shim". It returns "" for a
// kind of finding without a name.
func Match(m finding.Match) string {
	f := m.Example()
	return fill(f, text(f, func(k finding.Kind) string { return k.Noun }))
}

// text returns a text of the finding's kind.
func text(f finding.Finding, of func(finding.Kind) string) string {
	return of(f.Kind(func(k finding.Kind) bool { return of(k) != "" }))
}

// trim returns the name in a placeholder.
func trim(hole string) string { return strings.Trim(hole, `{~"}`) }

var placeholder = regexp.MustCompile(`\{[~"]?[\w-]+"?\}`)

// fill replaces the placeholders of a text. Its parts are separated by "; ", and it omits
// the parts that become empty.
func fill(f finding.Finding, text string) string {
	parts := strings.Split(text, "; ")
	for i, part := range parts {
		parts[i] = placeholder.ReplaceAllStringFunc(part, func(hole string) string {
			name := trim(hole)
			switch hole[1] {
			case '~':
				return phraseOf(f, name)
			case '"':
				return strconv.Quote(finding.Getter(name)(f))
			}
			return finding.Getter(name)(f)
		})
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// phraseOf returns the phrase with a name for a finding, or "".
func phraseOf(f finding.Finding, name string) string {
	if compute := computed()[name]; compute != nil {
		return compute(f)
	}
	for _, p := range phrases[name] {
		if p.when.Matches(f) {
			return fill(f, p.words)
		}
	}
	return ""
}
