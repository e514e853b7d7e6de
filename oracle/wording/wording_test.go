package wording

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A value of What without a sentence would be printed as "liveness containerd: : ".
func TestEveryWhatHasWords(t *testing.T) {
	var worded []string
	for invariant, rows := range map[finding.Invariant][]phrase{finding.Others: bystanderWhats,
		finding.Liveness: livenessWhats} {
		for _, row := range rows {
			worded = append(worded, row.value)
			f := finding.Finding{Invariant: invariant, Subject: finding.Subject{ID: "beside"},
				Facts: fact.Facts{fact.What: row.value, fact.Error: "err"}}
			if Subject(f) == "" || Reason(f) == "" {
				t.Errorf("%s: %q, %q", row.value, Subject(f), Reason(f))
			}
		}
	}
	known := fact.What.Values()
	slices.Sort(worded)
	slices.Sort(known)
	if !slices.Equal(worded, known) {
		t.Errorf("worded are %q,\nvalues are %q", worded, known)
	}
}
