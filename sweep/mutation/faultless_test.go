package mutation

import (
	"flag"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
)

var faultless = flag.Int("faultless", 20, "how many cases without a fault TestFaultless runs on the untouched release")

func caseRunner(t *testing.T) *runner.Runner {
	t.Helper()
	if err := world.Check(); err != nil {
		t.Skipf("worlds cannot be made here: %v", err)
	}
	return &runner.Runner{Residues: catalogue.Residues(), Evidence: "../../out/mutation/evidence"}
}

// Every single case without a fault holds. `make faultless` runs a thousand.
func TestFaultless(t *testing.T) {
	if *faultless < 1 {
		t.Fatalf("-faultless %d runs nothing: at least 1", *faultless)
	}
	r, begun := caseRunner(t), time.Now()
	held, ran, again := 0, 0, 0
	err := RunFaultless(t.Context(), r, Release, *faultless, func(v harness.Verdict) {
		ran++
		if v.History.Again != "" {
			again++
		}
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
	t.Logf("%d of %d held in %s, %.1f a second; %d ran again, alone", held, *faultless, took.Round(time.Second),
		float64(held)/took.Seconds(), again)
}
