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

// again is how often what may have come by chance is run once more.
const again = 4

// orLostByChance is the verdict of a run without a fault, and whether it will do: it has
// held, or shows nothing but a race of its release that a busy machine loses by itself,
// and holds each time that it is run again. It is told: it has happened. The verdict is
// that which says why it will not do.
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
			return v, true // the caller tells of what was ended
		case next.Outcome == harness.Violated:
			return next, false
		case next.Outcome != harness.Held:
			return v, false
		}
	}
	var b quote.Text
	b.Line("shimquake: %s: %s, known of %s, which a busy machine shows by itself; "+
		"run again without a fault, it held %d of %d times", v.Case.Name, id, v.Version, again, again)
	fmt.Fprint(progress.Writer(ctx, os.Stderr), b.String())
	return v, true
}
