package wording

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A value of What without a sentence would be printed as "liveness containerd: : ".
func TestEveryWhatHasWords(t *testing.T) {
	for _, what := range fact.What.Values() {
		worded := slices.ContainsFunc([]finding.Invariant{finding.Liveness, finding.Others}, func(i finding.Invariant) bool {
			f := finding.Finding{Invariant: i, Facts: fact.Facts{fact.What: what}}
			if i == finding.Others {
				f.Class = finding.ClassBystander
			}
			why := text(f, func(k finding.Kind) string { return k.Why })
			f.Subject.ID, f.Facts[fact.Error] = "beside", "err"
			return (why != "{error}" || what == fact.Boot) && Subject(f) != "" && Reason(f) != ""
		})
		if !worded {
			t.Errorf("%s has no row in the table of kinds", what)
		}
	}
}

// An unknown placeholder would panic in a report.
func TestEveryPlaceholderIsKnown(t *testing.T) {
	var texts []string
	for _, k := range finding.Kinds() {
		texts = append(texts, k.Noun, k.Subject, k.Why, k.Do)
	}
	for _, rows := range phrases {
		for _, p := range rows {
			texts = append(texts, p.words)
		}
	}
	for _, text := range texts {
		for _, hole := range placeholder.FindAllString(text, -1) {
			name := hole[1 : len(hole)-1]
			switch {
			case name[0] == '~' && phrases[name[1:]] == nil && computed()[name[1:]] == nil:
				t.Errorf("%q has the unknown phrase %s", text, hole)
			case name[0] != '~' && finding.Getter(trim(name)) == nil:
				t.Errorf("%q has the unknown fact %s", text, hole)
			}
		}
		if left := placeholder.ReplaceAllString(text, ""); slices.ContainsFunc([]byte(left), isBrace) {
			t.Errorf("%q has a brace without a placeholder", text)
		}
	}
}

func isBrace(b byte) bool { return b == '{' || b == '}' }
