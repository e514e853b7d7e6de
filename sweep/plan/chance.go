package plan

import (
	"context"
	"fmt"
	"os"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
)

// again is the number of further runs after a finding that may be a race.
const again = 4

// orLostByChance reports whether a run without a fault is acceptable, and returns the
// verdict that decided it. A run is acceptable if it held. It is also acceptable if it
// shows only a known race of its release on a busy machine, and each further run holds.
// orLostByChance reports such a race on stderr.
func orLostByChance(ctx context.Context, v harness.Verdict, workload []string,
	run func() harness.Verdict) (harness.Verdict, bool) {
	if v.Outcome != harness.Violated {
		return v, v.Outcome == harness.Held
	}
	id := catalogue.ByChance(catalogue.Excuses(), v.Version, workload, v.Violations())
	if id == "" {
		return v, false
	}
	for range again {
		switch next := run(); {
		case ctx.Err() != nil:
			return v, true // the caller reports the end of ctx
		case next.Outcome == harness.Violated:
			return next, false
		case next.Outcome != harness.Held:
			return v, false
		}
	}
	var b quote.Text
	b.Line("shimquake: %s: shows %s without a fault, a known race of %s on a busy machine; "+
		"it held in %d of %d further runs", v.Case.Name, id, v.Version, again, again)
	fmt.Fprint(progress.Writer(ctx, os.Stderr), b.String())
	return v, true
}
