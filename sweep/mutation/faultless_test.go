package mutation

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/harness/runner"
)

var faultless = flag.Int("faultless", 20, "how many cases without a fault TestFaultless runs on the untouched release")

func caseRunner(t *testing.T) *runner.Runner {
	t.Helper()
	if err := world.Check(); err != nil {
		t.Skipf("worlds cannot be made here: %v", err)
	}
	return &runner.Runner{Evidence: "../../out/mutation/evidence"}
}

// Cases without a fault hold, every single one. `make faultless` asks for a thousand.
func TestFaultless(t *testing.T) {
	if *faultless < 1 {
		t.Fatalf("-faultless %d runs nothing: at least 1", *faultless)
	}
	r, begun := caseRunner(t), time.Now()
	held, ran := 0, 0
	err := RunFaultless(t.Context(), r, Release, *faultless, func(v harness.Verdict) {
		ran++
		if v.Outcome == harness.Held {
			held++
			return
		}
		t.Errorf("verdict %d: %v", ran, v)
	})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	t.Logf("%d of %d held in %s, %.1f a second", held, *faultless, took.Round(time.Second), float64(held)/took.Seconds())
}

// What cases without a fault see of a mutation is what its file says. One that they do
// not see can only be found by faults.
func TestMutationsWithoutFault(t *testing.T) {
	long(t)
	r := caseRunner(t)
	all, err := Mutations()
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, m := range append([]Mutation{Untouched}, all...) {
		t.Run(m.ID, func(t *testing.T) {
			ran++
			dir, err := Tree(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			until, enough := context.WithCancel(t.Context())
			defer enough()
			got := Held
			err = RunFaultless(until, r, "src:"+dir, 3*len(plain.Cases()), func(v harness.Verdict) {
				switch {
				case v.Outcome == harness.Held, got == Broken && until.Err() != nil:
				case v.Outcome == harness.Violated:
					got = Broken
					if m.Plain != Held {
						enough() // the rest would say it again
						return
					}
					t.Errorf("%v", v)
				default:
					t.Errorf("nothing was proven: %v", v)
				}
			})
			if err != nil && (got != Broken || t.Context().Err() != nil) {
				t.Fatal(err)
			}
			if got != m.Plain && m.Plain != Raced {
				t.Errorf("cases without a fault: %s, its file says %s", got, m.Plain)
			}
		})
	}
	if ran == 0 {
		t.Error("no mutation has such an id, and nothing ran: sweep/mutation/mutations has them")
	}
}
