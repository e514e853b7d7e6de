package mutation

import (
	"flag"
	"testing"
	"time"
)

var reuse = flag.Bool("reuse", false, "take the sweeps of the untouched source that the last run has left")

var asked = flag.Bool("mutation", false, "sweep a containerd for each mutation (make mutation)")

// long skips a test that builds a containerd for each mutation, where nobody asked for
// it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() || !*asked {
		t.Skip("builds a containerd for each mutation and takes half an hour: make mutation")
	}
}

// The sweep finds every mutation, and nothing in the untouched source that is not known.
func TestSweepFindsMutations(t *testing.T) {
	long(t)
	tester := &Tester{Runner: caseRunner(t), Out: "../../out/mutation", Reuse: *reuse}
	all, err := Mutations()
	if err != nil {
		t.Fatal(err)
	}
	found, masked, swept := 0, 0, 0
	for _, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			begun := time.Now()
			got, err := tester.Test(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v, %s", got, time.Since(begun).Round(time.Second))
			if m.Masked != "" {
				masked++
				if got.Found() {
					t.Errorf("there is nothing to find: %s", m.Masked)
				}
				return
			}
			swept++
			if !got.Found() {
				t.Errorf("the sweep is blind to it: %s", m.About)
				return
			}
			found++
		})
	}
	t.Logf("%d of %d mutations found, and %d swept that leave nothing", found, swept, masked)
	for scope, s := range tester.untouched {
		for _, c := range s.Report.New {
			t.Errorf("the untouched source, %s: %s is not known: %v, %d cases", scope, c.Name, c.Left, c.Cases)
		}
		for _, id := range s.Report.Gone() {
			t.Errorf("the untouched source, %s: %s is known and was not found", scope, id)
		}
		r := s.Report
		t.Logf("the untouched source, %s: %d planned, %d fired, %d violated", scope, r.Planned, r.Fired, r.Violated)
	}
}
