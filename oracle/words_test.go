package oracle

import (
	"slices"
	"testing"
)

// A value without words would be reported as "liveness containerd: : ".
func TestEveryWhatHasWords(t *testing.T) {
	var worded []string
	for invariant, rows := range map[Invariant][]what{Others: bystanderWhats, Liveness: livenessWhats} {
		for _, row := range rows {
			worded = append(worded, row.value)
			f := Finding{Invariant: invariant, Subject: Subject{ID: "beside"},
				Facts: Facts{FactWhat: row.value, FactError: "err"}}
			if f.What() == "" || f.Reason() == "" {
				t.Errorf("%s: %q, %q", row.value, f.What(), f.Reason())
			}
		}
	}
	known := FactWhat.Values()
	slices.Sort(worded)
	slices.Sort(known)
	if !slices.Equal(worded, known) {
		t.Errorf("worded are %q,\nvalues are %q", worded, known)
	}
}
