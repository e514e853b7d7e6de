package plan

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// A case of the catalogue stays itself in a plan, and an unknown one is an error.
func TestCasesOfTheCatalogue(t *testing.T) {
	for _, c := range catalogue.Cases() {
		s := Catalogued(c)
		got, err := s.Case("v2.4.2")
		if c.Containerd = "v2.4.2"; err != nil || got.String() != c.String() {
			t.Errorf("%s: %v\n%s", s, err, got)
		}
		var kept harness.Case
		text, err := json.Marshal(got)
		if err = errors.Join(err, json.Unmarshal(text, &kept)); err != nil || !s.Is(kept) {
			t.Errorf("%s is another case after it was kept: %v", c.Name, err)
		}
		if kept.Workload.Settle++; s.Is(kept) {
			t.Errorf("%s: a change is not seen", c.Name)
		}
		for i, f := range s.Faults {
			if f.Point != c.Plan[i].At || f.Action == "" || f.Nth < 1 {
				t.Errorf("%s: fault %d is %s", c.Name, i, f)
			}
		}
	}
	_, err := Spec{Workload: "case ../../etc/passwd"}.Case("")
	must.FailWith(t, err, "case of the catalogue")
}
