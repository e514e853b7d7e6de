package plan

import (
	"fmt"
	"os"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/engine"
)

// again is the number of further runs after a finding that may be a race.
const again = 4

// orLostByChance reports whether a run without a fault is acceptable, and returns the
// verdict that decided it. A run is acceptable if it held. It is also acceptable if it
// shows only a known race of its release on a busy machine, and each further run holds.
// orLostByChance reports such a race on stderr.
func orLostByChance(t *engine.Task, v harness.Verdict, workload []string,
	run func() (harness.Verdict, error)) (harness.Verdict, bool, error) {
	if v.Outcome != harness.Violated {
		return v, v.Outcome == harness.Held, nil
	}
	id := catalogue.ByChance(catalogue.Excuses(), v.Version, workload, v.Violations())
	if id == "" {
		return v, false, nil
	}
	for range again {
		switch next, err := run(); {
		case err != nil:
			return v, false, err
		case next.Outcome == harness.Violated:
			return next, false, nil
		case next.Outcome != harness.Held:
			return v, false, nil
		}
	}
	var b quote.Text
	b.Line("shimquake: %s: shows %s without a fault, a known race of %s on a busy machine; "+
		"it held in %d of %d further runs", v.Case.Name, id, v.Version, again, again)
	fmt.Fprint(progress.Writer(t.Context(), os.Stderr), b.String())
	return v, true, nil
}
