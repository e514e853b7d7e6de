package judge

import (
	"flag"
	"testing"
	"time"
)

var reuse = flag.Bool("reuse", false, "take the sweeps of the untouched source that the last judge has left")

var judging = flag.Bool("judge", false, "sweep a containerd for each mutation (make judge)")

// long skips a test that builds a containerd for each mutation, where nobody asked for it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() || !*judging {
		t.Skip("builds a containerd for each mutation and takes half an hour: make judge")
	}
}

// The sweep finds every mutation, and nothing in the untouched source that is not known.
func TestJudge(t *testing.T) {
	long(t)
	j := &Judge{Runner: caseRunner(t), Out: "../../out/judge", Reuse: *reuse}
	all, err := Mutations()
	if err != nil {
		t.Fatal(err)
	}
	found, masked, judged := 0, 0, 0
	for _, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			begun := time.Now()
			got, err := j.Judge(t.Context(), m)
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
			judged++
			if !got.Found() {
				t.Errorf("the sweep is blind to it: %s", m.About)
				return
			}
			found++
		})
	}
	t.Logf("%d of %d mutations found, and %d swept that leave nothing", found, judged, masked)
	for scope, s := range j.untouched {
		for _, g := range s.Report.New {
			t.Errorf("the untouched source, %s: %s is not known: %v, %d cases", scope, g.Name, g.Left, g.Cases)
		}
		for _, id := range s.Report.Gone() {
			t.Errorf("the untouched source, %s: %s is known and was not found", scope, id)
		}
		t.Logf("the untouched source, %s: %d planned, %d fired, %d violated", scope, s.Report.Planned, s.Report.Fired, s.Report.Violated)
	}
}
