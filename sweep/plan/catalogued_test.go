package plan

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
)

// A case of the catalogue stays itself in a plan, and an unknown one is an error.
func TestCasesOfTheCatalogue(t *testing.T) {
	for _, c := range catalogue.Cases() {
		s := Catalogued(c)
		got, err := s.Case("v2.4.2")
		if c.Containerd = "v2.4.2"; err != nil || got.String() != c.String() {
			t.Errorf("%s: %v\n%s", s, err, got)
		}
		for i, f := range s.Faults {
			if f.Point != c.Plan[i].At || f.Action == "" || f.Nth < 1 {
				t.Errorf("%s: fault %d is %s", c.Name, i, f)
			}
		}
	}
	_, err := Spec{Workload: "case ../../etc/passwd"}.Case("")
	if err == nil || !strings.Contains(err.Error(), "case of the catalogue") {
		t.Errorf("got %v", err)
	}
}
